package udp

import (
	"context"
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"farside/internal/fd"
	"farside/internal/trust"
	"farside/verbs/internal/fabric"
)

const (
	// maxStrangers bounds the connections of processes of other users that wait for their turn.
	maxStrangers = 64
	// A process that got no turn tries again after a pause, which doubles up to longestPause.
	firstPause, longestPause = time.Millisecond, 256 * time.Millisecond
	// A socket that couldn't be opened is tried again after a pause, which doubles up to longestRetry.
	firstRetry, longestRetry = 10 * time.Millisecond, time.Second
	// drains is how many system calls take what is at one socket before the others get their turn.
	drains = 8
	// napping is how long the port's goroutine leaves receiving to threads that poll before it looks whether they still
	// do.
	napping = 100 * time.Microsecond
)

// receiveBuffer is what the kernel keeps while the process does not receive, bytes.
const receiveBuffer = 8 << 20

// Port is a process' part in receiving from other hosts (turn.go has how processes agree who receives).
type Port struct {
	users    trust.Users
	patience time.Duration // that an answer of who receives may take
	nap      time.Duration // how long a socket is left to a thread that has polled it
	start    time.Time
	busy     atomic.Int64 // when the packets that are being handed out were there, by now; 0 for none
	deliver  func(from *fabric.Source, header, payload []byte)
	stop     *fd.FD // eventfd
	life     context.Context
	end      context.CancelFunc
	running  sync.WaitGroup
	claimed  chan struct{} // closed once somebody receives
	polled   atomic.Int32  // bits of the sockets that threads have polled since the port's goroutine looked

	mu      sync.Mutex
	sockets []*receiver // by domain, while this process receives
	in      *incoming

	kept [len(domains)]*fd.FD // by domain, the sockets of who receives; of the port's goroutine
}

// OpenPort begins to receive, or to wait for the turn to. deliver gets each packet that looks like one; header and
// payload are valid during the call. Errors: the operating system's, those of trust.Read.
func OpenPort(deliver func(from *fabric.Source, header, payload []byte)) (*Port, error) {
	users, err := trust.Read()
	if err != nil {
		return nil, err
	}
	return openPort(users, answerWithin, napping, deliver)
}

func openPort(
	users trust.Users, patience, nap time.Duration, deliver func(from *fabric.Source, header, payload []byte),
) (*Port, error) {
	var err error
	p := &Port{users: users, start: time.Now(), patience: patience, nap: nap, deliver: deliver,
		claimed: make(chan struct{})}
	if p.stop, err = fd.Fresh(unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK)); err != nil {
		return nil, err
	}
	p.life, p.end = context.WithCancel(context.Background())
	p.running.Go(p.run)
	select {
	case <-p.claimed:
	case <-time.After(time.Second): // whoever has the name does not answer
	}
	return p, nil
}

// Close stops receiving. deliver is not called any more when it returns.
func (p *Port) Close() {
	p.end()
	p.wake()
	p.running.Wait()
	_ = p.stop.Close()
}

// wake ends read.
func (p *Port) wake() {
	var one [8]byte
	one[0] = 1
	_, _ = unix.Write(p.stop.Int(), one[:])
}

// read hands out what arrives at the sockets until the port is closed or somebody else receives. What has arrived by
// then is handed out too. While other threads poll a socket, it leaves that to them.
func (p *Port) read() {
	sockets := p.sockets // which change in this goroutine alone
	pause, retry, stopping := firstRetry, time.Now().Add(firstRetry), false
	for {
		polled, timeout := p.polled.Swap(0), time.Duration(math.MaxInt64)
		if stopping {
			polled = 0
		}
		if polled != 0 {
			timeout = p.nap
		}
		if time.Now().After(retry) {
			p.reopen()
			pause = min(2*pause, longestRetry)
			retry = time.Now().Add(pause)
		}
		fds := []unix.PollFd{{Fd: int32(p.stop.Int()), Events: unix.POLLIN}}
		for i, r := range sockets {
			raw := -1 // which is left out
			if polled>>i&1 == 0 {
				raw = r.file.Int()
			}
			if r.later {
				timeout = min(timeout, pause)
			}
			fds = append(fds, unix.PollFd{Fd: int32(raw), Events: unix.POLLIN})
		}
		most := unix.NsecToTimespec(int64(timeout))
		if _, err := unix.Ppoll(fds, &most, nil); err != nil && err != unix.EINTR {
			return
		}
		p.mu.Lock()
		for i := range sockets {
			if fds[1+i].Revents != 0 {
				p.drain(sockets[i].file)
			}
		}
		p.mu.Unlock()
		stopping = fds[0].Revents != 0
		if stopping && polled == 0 && (p.life.Err() != nil || !slices.ContainsFunc(fds[1:], readable)) {
			return
		}
	}
}

// Poll hands out what has arrived by IPv4 (bit 0 of domains) and IPv6 (bit 1), if this process receives and no other
// thread is at it, and says whether there was something.
func (p *Port) Poll(domains int32) (some bool) {
	if p.polled.Load()&domains != domains {
		p.polled.Or(domains)
	}
	if !p.mu.TryLock() {
		return false
	}
	defer p.mu.Unlock()
	for i := range p.sockets {
		if domains>>i&1 != 0 && p.drain(p.sockets[i].file) {
			some = true
		}
	}
	if !some && p.sockets != nil {
		// Who polls and finds nothing has time. On a busy machine the other end may have waited for this processor.
		_, _, _ = unix.RawSyscall(unix.SYS_SCHED_YIELD, 0, 0, 0)
	}
	return some
}

// drain hands out some of what has arrived at a socket, and says whether there was something. Under mu.
func (p *Port) drain(file *fd.FD) (some bool) {
	if file.Int() < 0 {
		return false
	}
	if p.in == nil {
		p.in = newIncoming()
	}
	for range drains {
		n := p.in.receive(file.Int())
		if n == 0 {
			break
		}
		if !some {
			some = true
			p.busy.Store(p.now())
		}
		for k := range n {
			p.in.each(k, p.deliver)
		}
		if n < burst {
			break
		}
	}
	if some {
		p.busy.Store(0)
	}
	return some
}

func readable(p unix.PollFd) bool { return p.Revents&unix.POLLIN != 0 }
