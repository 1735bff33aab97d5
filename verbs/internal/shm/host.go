package shm

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"farside/internal/fd"
	"farside/internal/socket"
	"farside/internal/trust"
	"farside/internal/unlike"
	"farside/verbs/internal/fabric"
)

const (
	// queueBits are the bits of a queue pair's number that its process gives out, numberBits those of the process.
	queueBits, numberBits = 12, 12
	// maxNumbers bounds the numbers of one process.
	maxNumbers = 16
	// maxStrangers bounds the connections that have not greeted yet. More of them wait in the socket's queue.
	maxStrangers = 64
)

// socketName is the abstract unix address of the process with a number; net's notation.
func socketName(number uint32) string { return fmt.Sprintf("@farside-verbs-%03x", number) }

// Host is a process as others of this host find it.
type Host struct {
	users    trust.Users
	number   uint32 // the first of its numbers
	page     *page
	event    *fd.FD
	receiver fabric.Receiver

	life    context.Context // until Close
	end     context.CancelFunc
	closed  atomic.Bool
	running sync.WaitGroup

	polled    atomic.Bool // since the goroutine last looked
	fruitless atomic.Uint32
	turn      turn         // of threads that poll
	watched   atomic.Int32 // how many are going to sleep
	settling  sync.Mutex
	patience  time.Duration              // of settle
	sessions  atomic.Pointer[[]*Session] // those that are ready; the slice is never changed
	strangers chan struct{}              // has a token for each

	mu    sync.Mutex
	names []*block
	paths map[pathKey]*Path
	open  map[uint32]*Session // by number, ready or about to be
	// When a number was last asked for on behalf of another host; there are 4096.
	refused map[uint32]time.Time
}

type pathKey struct {
	number        uint32
	local, remote netip.Addr
}

// block is a number of this process with the queue pairs that it stands for.
type block struct {
	number   uint32
	listener *socket.Listener
	used     [queuePairs]bool
	count    int
	next     uint32
}

// reserved are the numbers 0 and 1 of each block: 1 is for messages of communication management.
const reserved = 2

// Open claims a number on this host. Errors: the operating system's.
func Open() (*Host, error) {
	users, err := trust.Read()
	if err != nil {
		return nil, err
	}
	h := &Host{users: users, patience: patience, paths: map[pathKey]*Path{}, open: map[uint32]*Session{},
		refused: map[uint32]time.Time{}, strangers: make(chan struct{}, maxStrangers)}
	h.life, h.end = context.WithCancel(context.Background())
	if h.page, err = newPage(); err != nil {
		return nil, err
	}
	if h.event, err = fd.Fresh(unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK)); err == nil {
		_, err = h.claim()
	}
	if err != nil {
		_ = h.event.Close()
		h.page.close()
		return nil, err
	}
	h.number = h.names[0].number
	return h, nil
}

// claim takes one more number. Under mu, but for the first.
func (h *Host) claim() (*block, error) {
	if len(h.names) == maxNumbers {
		return nil, fabric.ErrNoQPN
	}
	// Number 0 is not given out, since queue pairs 0 and 1 are special.
	first := unlike.Uint32N(1<<numberBits - 1)
	for try := range uint32(1<<numberBits - 1) {
		number := 1 + (first+try)%(1<<numberBits-1)
		l, err := socket.ListenPacket(socketName(number))
		if errors.Is(err, unix.EADDRINUSE) {
			continue
		}
		if err != nil {
			return nil, err
		}
		b := &block{number: number, listener: l, next: unlike.Uint32N(queuePairs), count: reserved}
		b.used[0], b.used[1] = true, true
		h.names = append(h.names, b)
		return b, nil
	}
	return nil, fabric.ErrNoQPN
}

// Attach sets who receives, and begins to serve other processes.
func (h *Host) Attach(r fabric.Receiver) {
	h.receiver = r
	h.running.Go(h.wait)
	b := h.names[0]
	h.running.Go(func() { h.serve(b) })
}

// Number is the process' first number.
func (h *Host) Number() uint32 { return h.number }

// Has says whether a queue pair's number is one of this process.
func (h *Host) Has(qpn uint32) bool {
	if qpn>>queueBits == h.number {
		return true
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.ContainsFunc(h.names, func(b *block) bool { return b.number == qpn>>queueBits })
}

// QPN returns the number of a new queue pair. Error: fabric.ErrNoQPN.
func (h *Host) QPN() (uint32, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, b := range h.names {
		if qpn, ok := b.take(); ok {
			return qpn, nil
		}
	}
	b, err := h.claim()
	if err != nil {
		return 0, err
	}
	h.running.Go(func() { h.serve(b) })
	qpn, _ := b.take()
	return qpn, nil
}

// take gives out a number, each in its turn, so that one comes back late.
func (b *block) take() (uint32, bool) {
	if b.count == queuePairs {
		return 0, false
	}
	for b.used[b.next] {
		b.next = (b.next + 1) % queuePairs
	}
	n := b.next
	b.used[n] = true
	b.count++
	b.next = (n + 1) % queuePairs
	return b.number<<queueBits | n, true
}

// FreeQPN gives a number back.
func (h *Host) FreeQPN(qpn uint32) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, b := range h.names {
		if n := qpn % queuePairs; n >= reserved && b.number == qpn>>queueBits && b.used[n] {
			b.used[n] = false
			b.count--
		}
	}
}

// Path is the way to the process of a queue pair of this host, whose address may be any of the host's. It comes at
// once; where the process can't be reached, Down follows.
func (h *Host) Path(local, remote netip.Addr, qpn uint32) (*Path, error) {
	number := qpn >> queueBits
	if number == 0 {
		return nil, fmt.Errorf("%w: no process has queue pair %d", fabric.ErrUnreachable, qpn)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed.Load() {
		return nil, net.ErrClosed
	}
	key := pathKey{number, local, remote}
	if p := h.paths[key]; p != nil {
		return p, nil
	}
	p := &Path{Session: h.session(number), route: route{local.As16(), remote.As16()}}
	h.paths[key] = p
	return p, nil
}

// session is the one with the process of a number, maybe one that is about to be. Under mu.
func (h *Host) session(number uint32) *Session {
	s := h.open[number]
	if s == nil {
		s = &Session{host: h, number: number}
		h.open[number] = s
		h.running.Go(func() { h.join(s) })
	}
	return s
}

// refusal is how long a number that nobody has is not asked for again on behalf of other hosts.
const refusal = time.Second

// early is a packet that came before its session was ready.
type early struct {
	route           route
	header, payload []byte
}

// Forward hands a packet of another host to the process of this one that has the queue pair. It is lost where there is
// no such process, or no room. The first packets, as many as a ring holds, wait until there is a session with it:
// datagrams that open a connection come once, and programs such as UCX are slow to send them again.
func (h *Host) Forward(from *fabric.Source, qpn uint32, header, payload []byte) {
	number, r := qpn>>queueBits, route{from.Remote.As16(), from.Local.As16()}
	h.mu.Lock()
	s := h.open[number]
	if s == nil && number != 0 && !h.closed.Load() && time.Since(h.refused[number]) > refusal {
		s = h.session(number)
		h.refused[number] = time.Now() // until it is ready
	}
	waits := s != nil && !s.ready.Load()
	if size := recordSize(wordSize + routeSize + len(header) + len(payload)); waits && s.earlySize+size <= ringSize {
		s.early = append(s.early, early{r, bytes.Clone(header), bytes.Clone(payload)})
		s.earlySize += size
	}
	h.mu.Unlock()
	if s != nil && !waits && !s.down.Load() {
		_ = s.send(&r, header, [][]byte{payload})
	}
}

// join makes a session by connecting.
func (h *Host) join(s *Session) {
	if err := s.dial(); err != nil {
		s.end()
		return
	}
	h.begin(s)
}

// begin puts a session that has greeted to use: on the list first, since settle looks there for those who use what this
// process publishes. So neither side uses anything before both have it on their lists.
func (h *Host) begin(s *Session) {
	h.mu.Lock()
	if h.closed.Load() {
		h.mu.Unlock()
		_ = s.conn.Close()
		_ = s.event.Close()
		return
	}
	list := append(slices.Clone(h.current()), s)
	h.sessions.Store(&list)
	if h.open[s.number] == nil {
		h.open[s.number] = s
	}
	h.mu.Unlock()
	if s.listed() != nil {
		s.end()
		return
	}
	h.mu.Lock()
	for _, e := range s.early {
		_ = s.send(&e.route, e.header, [][]byte{e.payload})
	}
	s.early = nil
	s.ready.Store(true)
	h.running.Go(s.watch)
	h.mu.Unlock()
	// The other side may have sent something before it was on the list.
	wake(h.event.Int())
	for _, p := range h.pathsOf(s) {
		h.receiver.Writable(p)
	}
}

// current is the list of sessions that have greeted.
func (h *Host) current() []*Session {
	if list := h.sessions.Load(); list != nil {
		return *list
	}
	return nil
}

// pathsOf lists the ways that use a session.
func (h *Host) pathsOf(s *Session) (list []*Path) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, p := range h.paths {
		if p.Session == s {
			list = append(list, p)
		}
	}
	return list
}

// forget takes a session, whose end has come, from the lists, and returns the ways that used it.
func (h *Host) forget(s *Session) (paths []*Path) {
	h.mu.Lock()
	defer h.mu.Unlock()
	list := slices.DeleteFunc(slices.Clone(h.current()), func(o *Session) bool { return o == s })
	h.sessions.Store(&list)
	if h.open[s.number] == s {
		delete(h.open, s.number)
	}
	for key, p := range h.paths {
		if p.Session == s {
			paths = append(paths, p)
			delete(h.paths, key)
		}
	}
	return paths
}

// serve accepts connections until the host is closed.
func (h *Host) serve(b *block) {
	for {
		conn, err := b.listener.AcceptConn()
		switch {
		case err == nil:
			h.admit(conn)
		case errors.Is(err, net.ErrClosed):
			return
		default: // out of descriptors: the connection waits in the queue until there are some
			time.Sleep(10 * time.Millisecond)
		}
	}
}

// admit greets a new connection, if its user is one whom this process deals with.
func (h *Host) admit(conn *socket.Conn) {
	if _, err := h.users.Check(conn); err != nil {
		_ = conn.Close()
		return
	}
	select {
	case h.strangers <- struct{}{}:
	case <-h.life.Done():
		_ = conn.Close()
		return
	}
	h.running.Go(func() {
		defer func() { <-h.strangers }()
		s := &Session{host: h}
		if err := s.greet(conn); err != nil {
			_ = conn.Close()
			return
		}
		h.begin(s)
	})
}

// Close ends all sessions and gives the numbers back. The receiver is not called any more when it returns.
func (h *Host) Close() {
	h.mu.Lock()
	if h.closed.Swap(true) {
		h.mu.Unlock()
		return
	}
	for _, b := range h.names {
		_ = b.listener.Close()
	}
	list := h.current()
	h.mu.Unlock()
	h.end()
	for _, s := range list {
		_ = s.conn.Close()
	}
	wake(h.event.Int())
	h.running.Wait()
	_ = h.event.Close()
	h.page.close()
}
