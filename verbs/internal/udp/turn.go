package udp

import (
	"context"
	"errors"
	"net"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"farside/internal/fd"
	"farside/internal/socket"
)

// portName is the abstract unix address of the process that receives in a turn, in net's notation. The highest turn is
// the one that counts.
func portName(turn uint64) string { return "@" + portPrefix + strconv.FormatUint(turn, 10) }

const portPrefix = "farside-verbs-port-"

// What a process that waits says to the one that receives, and hears from it.
const (
	areYouThere = 'a'
	youAreNot   = 'n' // somebody else receives now
	yesIAm      = 'y'
	askEvery    = 100 * time.Millisecond
	// answerWithin is how long an answer may take, twice. Most programs let peers try again for half a second.
	answerWithin = 250 * time.Millisecond
)

// lastTurn is the highest turn that a process has, 0 if none has one.
func lastTurn() (last uint64) {
	text, err := fd.ReadFile("/proc/net/unix")
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(text)) {
		if _, number, found := strings.Cut(line, "@"+portPrefix); found {
			if n, err := strconv.ParseUint(strings.TrimSpace(number), 10, 62); err == nil {
				last = max(last, n)
			}
		}
	}
	return last
}

// run receives, or waits until nobody does.
func (p *Port) run() {
	defer p.drop()
	first := sync.OnceFunc(func() { close(p.claimed) })
	pause := firstPause
	for p.life.Err() == nil {
		began := time.Now()
		turn := lastTurn()
		hung, next := p.follow(turn, first)
		if next {
			if l, err := socket.ListenPacket(portName(turn + 1)); err == nil {
				p.receive(turn+1, l, hung, first)
			}
		}
		if hung != nil {
			_ = hung.Close()
		}
		if time.Since(began) > longestPause {
			pause = firstPause
		}
		select {
		case <-p.life.Done():
		case <-time.After(pause):
		}
		pause = min(2*pause, longestPause)
	}
}

// follow waits until the process that has a turn has gone or does not answer any more. next says that the turn after it
// is free to have; then hung is the connection to that process, if there is one.
func (p *Port) follow(turn uint64, first func()) (hung *socket.Conn, next bool) {
	if turn == 0 {
		return nil, true
	}
	conn, err := socket.DialPacket(p.life, portName(turn))
	if errors.Is(err, unix.EAGAIN) { // it has not taken connections for long
		p.drop()
		return nil, true
	}
	if err != nil {
		return nil, false
	}
	defer context.AfterFunc(p.life, func() { _ = conn.Close() })()
	if _, err := p.users.Check(conn); err != nil {
		p.drop()
		first() // of another user: it may keep what is its own
		var none [1]byte
		_, _ = conn.Read(none[:])
		_ = conn.Close()
		return nil, false
	}
	for answered := false; ; {
		_, err := conn.Write([]byte{areYouThere})
		var files []*fd.FD
		if err == nil {
			files, err = hear(conn, p.patience)
		}
		if errors.Is(err, os.ErrDeadlineExceeded) {
			files, err = hear(conn, p.patience) // it may have been this process that had no processor
		}
		if errors.Is(err, os.ErrDeadlineExceeded) {
			if !answered {
				p.drop()
			}
			return conn, true
		}
		if err == nil {
			answered = true
			p.keepSockets(files)
			first()
			files, err = hear(conn, askEvery)
			closeAll(files)
		}
		if !errors.Is(err, os.ErrDeadlineExceeded) {
			_ = conn.Close()
			return nil, false
		}
	}
}

// hear waits for a word for some time, and returns what sockets come with it.
func hear(conn *socket.Conn, within time.Duration) ([]*fd.FD, error) {
	if err := conn.SetReadDeadline(time.Now().Add(within)); err != nil {
		return nil, err
	}
	var word [1]byte
	_, files, _, err := conn.ReadFiles(word[:], len(domains))
	return files, err
}

// receive hands out what arrives, and keeps the connections of all who wait, until the port is closed or somebody has
// the next turn. hung, if there is one, is of the process that had the one before.
func (p *Port) receive(turn uint64, l *socket.Listener, hung *socket.Conn, first func()) {
	defer l.Close()
	p.begin()
	defer p.stopReceiving()
	if hung != nil {
		_, _ = hung.Write([]byte{youAreNot})
	}
	first()
	life, end := context.WithCancel(p.life) // while this process receives
	defer end()
	var followers sync.WaitGroup
	followers.Go(func() { p.admit(life, turn, l, &followers) })
	p.read()
	_ = l.Close()
	end()
	followers.Wait()
	var woken [8]byte
	_, _ = unix.Read(p.stop.Int(), woken[:])
}

// admit takes the connections of processes that wait for their turn, until the listener is closed: all of users whom
// this process deals with, and some of others.
func (p *Port) admit(life context.Context, turn uint64, l *socket.Listener, followers *sync.WaitGroup) {
	var strangers atomic.Int32
	for {
		conn, err := l.AcceptConn()
		switch {
		case errors.Is(err, net.ErrClosed):
			return
		case err != nil: // out of descriptors: the connection waits in the queue until there are some
			time.Sleep(10 * time.Millisecond)
			continue
		}
		if _, err := p.users.Check(conn); err == nil {
			if lastTurn() > turn { // this process was stopped for so long that the queue was full
				p.wake()
			}
			followers.Go(func() { p.keep(life, turn, conn, true) })
		} else if strangers.Load() < maxStrangers {
			strangers.Add(1)
			followers.Go(func() {
				defer strangers.Add(-1)
				p.keep(life, turn, conn, false)
			})
		} else {
			_ = conn.Close()
		}
	}
}

// keep answers a process that waits for its turn, until either of the two goes. Who is trusted may end this turn, and
// gets the sockets.
func (p *Port) keep(life context.Context, turn uint64, conn *socket.Conn, trusted bool) {
	defer conn.Close()
	defer context.AfterFunc(life, func() { _ = conn.Close() })()
	var word [1]byte
	for given := 0; ; {
		if n, err := conn.Read(word[:]); err != nil || n == 0 {
			return
		}
		switch {
		case word[0] == youAreNot && trusted && lastTurn() > turn:
			p.wake()
		case word[0] == areYouThere && !p.stuck():
			var files []byte
			if trusted {
				files, given = p.rights(given)
			}
			if _, err := conn.WriteMsg([]byte{yesIAm}, files); err != nil {
				return
			}
		}
	}
}

// now is the time since the port was made, nanoseconds, at least one. It goes on evenly when somebody sets the clock.
func (p *Port) now() int64 { return int64(time.Since(p.start)) + 1 }

// stuck says that packets have been being handed out for long.
func (p *Port) stuck() bool {
	began := p.busy.Load()
	return began != 0 && p.now()-began > int64(p.patience)
}
