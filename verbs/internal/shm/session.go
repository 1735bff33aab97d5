package shm

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"farside/internal/fd"
	"farside/internal/garbage"
	"farside/internal/socket"
	"farside/verbs/internal/fabric"
	"farside/verbs/internal/packet"
)

// The first packet that each side of a new connection sends: magic, version, the number that the sender is known by,
// and three descriptors: its page, its file with the ring, its eventfd. The second one is a byte: the sender has the
// session on its list.
const (
	magic       = 0x56425246 // "FRBV"
	version     = 3
	helloSize   = 16
	helloFiles  = 3
	joinTimeout = 5 * time.Second
)

// Session is what two processes share.
type Session struct {
	host   *Host
	number uint32 // of the other process, by which it was found
	first  uint32 // that by which it is known
	ready  atomic.Bool
	down   atomic.Bool

	early     []early // under the host's mu, until ready
	earlySize uint64  // bytes of a ring

	// Set before ready.
	conn    *socket.Conn
	page    []byte // the other's
	mine    *producer
	theirs  *consumer
	rousing sync.RWMutex // keeps event open
	event   *fd.FD       // wakes the other

	reminded atomic.Uint64 // the other's head at the last reminder, if there was something in the ring
}

// rouse wakes the other side, if it sleeps; with request false not if threads that poll take answers.
func (s *Session) rouse(request bool) {
	switch word(s.page, sleepsAt).Load() {
	case awake:
		return
	case answers:
		if !request {
			return
		}
	}
	s.ring()
}

// ring wakes the other side's goroutine.
func (s *Session) ring() {
	s.rousing.RLock()
	defer s.rousing.RUnlock()
	if event := s.event.Int(); event >= 0 {
		wake(event)
	}
}

// greet exchanges greetings on a new connection, whose deadline lasts until the session is listed.
func (s *Session) greet(conn *socket.Conn) error {
	defer context.AfterFunc(s.host.life, func() { _ = conn.Close() })()
	if err := conn.SetDeadline(time.Now().Add(joinTimeout)); err != nil {
		return err
	}
	mine, file, err := newProducer()
	if err != nil {
		return err
	}
	defer file.Close()
	runtime.AddCleanup(s, unmapTwice, mine.mapping)
	s.mine = mine
	var hello [helloSize]byte
	binary.LittleEndian.PutUint32(hello[:], magic)
	binary.LittleEndian.PutUint32(hello[4:], version)
	binary.LittleEndian.PutUint32(hello[8:], s.host.number)
	if _, err := conn.WriteMsg(hello[:],
		unix.UnixRights(s.host.page.file.Int(), file.Int(), s.host.event.Int())); err != nil {
		return err
	}
	if err := s.greeted(conn); err != nil {
		return err
	}
	s.conn = conn
	return nil
}

// listed tells the other side that the session is on the list, and waits until it is on the other one, too.
func (s *Session) listed() error {
	var all [2]byte
	if _, err := s.conn.Write(all[:1]); err != nil {
		return err
	}
	switch n, err := s.conn.Read(all[:]); {
	case err != nil:
		return err
	case n != 1:
		return fmt.Errorf("%d bytes behind a greeting make no sense", n)
	}
	return s.conn.SetDeadline(time.Time{})
}

// greeted takes the other side's greeting.
func (s *Session) greeted(conn *socket.Conn) error {
	var hello [helloSize + 1]byte
	n, files, _, err := conn.ReadFiles(hello[:], helloFiles)
	defer func() {
		for _, f := range files {
			_ = f.Close()
		}
	}()
	if err != nil {
		return err
	}
	word := func(i int) uint32 { return binary.LittleEndian.Uint32(hello[4*i:]) }
	if n != helloSize || len(files) != helloFiles || word(0) != magic || word(1) != version || word(2) == 0 ||
		word(2) >= 1<<numberBits {
		return fmt.Errorf("a greeting of %d bytes and %d descriptors makes no sense", n, len(files))
	}
	if s.first = word(2); s.number == 0 {
		s.number = s.first
	}
	page, err := openPage(files[0])
	if err != nil {
		return err
	}
	runtime.AddCleanup(s, unmap, page)
	theirs, err := newConsumer(files[1])
	if err != nil {
		return err
	}
	runtime.AddCleanup(s, unmapTwice, theirs.mapping)
	if err := checkEvent(files[2]); err != nil {
		return err
	}
	s.page, s.theirs, s.event = page, theirs, files[2]
	files = files[:2]
	return nil
}

func unmap(mapping []byte) { _ = unix.Munmap(mapping) }

// watch waits for the connection's end: nobody sends anything after that.
func (s *Session) watch() {
	var none [1]byte
	_, _, _, _ = s.conn.ReadFiles(none[:], 0)
	s.end()
}

// end takes the session down, once.
func (s *Session) end() {
	if s.down.Swap(true) {
		return
	}
	paths := s.host.forget(s)
	if s.conn != nil {
		_ = s.conn.Close()
	}
	s.rousing.Lock()
	_ = s.event.Close()
	s.rousing.Unlock()
	if s.theirs != nil {
		// What the other process sent before it went has arrived.
		s.theirs.mu.Lock()
		_, _ = s.theirs.take(s.mine.word(headAt), s.host.receiver.Receive)
		s.theirs.mu.Unlock()
	}
	for _, p := range paths {
		s.host.receiver.Down(p)
	}
	garbage.Soon() // the session's mappings
}

// drain hands what has arrived to the receiver, unless somebody does so already: then it says busy.
func (s *Session) drain() (some, busy bool) {
	if s.mine.writable(s.theirs.word(headAt)) {
		for _, p := range s.host.pathsOf(s) {
			s.host.receiver.Writable(p)
		}
	}
	if !s.theirs.mu.TryLock() {
		return false, true
	}
	some, err := s.take()
	if err != nil {
		go s.end()
		return false, false
	}
	if some && s.theirs.word(wantAt).Load() != 0 {
		s.rouse(true)
	}
	runtime.KeepAlive(s)
	return some, false
}

// take empties the ring, whose lock it has and lets go also if the receiver panics.
func (s *Session) take() (bool, error) {
	defer s.theirs.mu.Unlock()
	return s.theirs.take(s.mine.word(headAt), s.host.receiver.Receive)
}

// Number is that of the other process.
func (s *Session) Number() uint32 { return s.first }

// Path is the way to another process, between two addresses. It implements fabric.Path.
type Path struct {
	*Session
	route route
}

// MTU implements fabric.Path.
func (p *Path) MTU() int { return maxPayload }

// Reliable implements fabric.Path.
func (p *Path) Reliable() bool { return true }

// Send implements fabric.Path.
func (p *Path) Send(header []byte, payload [][]byte) error {
	s := p.Session
	switch {
	case s.down.Load():
		return fabric.ErrDown
	case !s.ready.Load():
		return fabric.ErrFull
	}
	return s.send(&p.route, header, payload)
}

// send puts a packet into the ring of a session that is ready.
func (s *Session) send(r *route, header []byte, payload [][]byte) error {
	if err := s.mine.put(s.theirs.word(headAt), r, header, payload); err != nil {
		if errors.Is(err, fabric.ErrDown) {
			go s.end()
		}
		return err
	}
	s.rouse(!isAnswer(header))
	runtime.KeepAlive(s)
	return nil
}

// isAnswer says whether a packet is one that a requester waits for.
func isAnswer(header []byte) bool {
	if len(header) == 0 {
		return false
	}
	o := packet.Opcode(header[0]).Operation()
	return o >= packet.ReadResponseFirst && o <= packet.AtomicAcknowledge
}

// dial connects to the process with the session's number.
func (s *Session) dial() error {
	ctx, cancel := context.WithTimeout(s.host.life, joinTimeout)
	defer cancel()
	for {
		conn, err := socket.DialPacket(ctx, socketName(s.number))
		if errors.Is(err, unix.EAGAIN) { // its queue is full
			time.Sleep(time.Millisecond)
			continue
		}
		if err != nil {
			return err
		}
		if _, err = s.host.users.Check(conn); err == nil {
			err = s.greet(conn)
		}
		if err != nil {
			_ = conn.Close()
		}
		return err
	}
}
