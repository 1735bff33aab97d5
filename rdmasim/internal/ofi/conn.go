package ofi

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

// DefaultTimeout is how long a Conn waits for a completion before it calls the target unreachable.
const DefaultTimeout = 5 * time.Second

const (
	connDepth = 64      // operations that a Conn has under way at most
	window    = 16      // of these, those of one transfer
	chunk     = 1 << 20 // bytes of an operation, at most: a deadline means this much
)

// errLost is what operations under way come to when their endpoint is closed.
var errLost = errors.New("ofi: endpoint closed")

// Options are for Connect.
type Options struct {
	Timeout time.Duration // the longest time without a completion; 0 is DefaultTimeout
}

// Conn reads, writes and changes the memory of one target. Its methods may be called from any goroutine, and
// what several do is under way at once.
//
// Errors of its operations: ErrRemoteAccess, ErrUnreachable, ErrClosed, ErrLibrary, ErrProvider, the
// context's, and, for atomics, ErrFlushed.
type Conn struct {
	address Address
	timeout time.Duration
	page    page // completions, then the contexts of the slots
	slots   [connDepth]slot
	free    chan *slot
	turn    chan struct{}   // held by the goroutine that takes completions, for all
	lone    chan struct{}   // held by the goroutine that does an operation again by itself
	ctx     context.Context // ends when the Conn is closed
	cancel  context.CancelFunc

	use        sync.RWMutex // held for reading in functions of the endpoint
	endpoint   *endpoint    // nil until needed
	peer       uint64       // the target's number in the endpoint
	generation uint64       // number of endpoints there were
	closed     bool
}

// slot is an operation that can be under way.
type slot struct {
	context    uintptr // what the library calls it
	busy       atomic.Bool
	done       chan error
	generation uint64 // of the endpoint that has it
	pin        runtime.Pinner
	local      memory // registration of the buffer, where the provider needs that
	operands   operands
}

// operands are an atomic's; words of 32 bits are in the first half.
type operands struct{ operand, compare, result [8]byte }

// Connect opens an endpoint and makes sure that the target answers.
func Connect(ctx context.Context, address Address, options Options) (*Conn, error) {
	if err := address.check(); err != nil {
		return nil, err
	}
	if options.Timeout == 0 {
		options.Timeout = DefaultTimeout
	}
	return connect(ctx, address, options.Timeout)
}

func connect(ctx context.Context, address Address, timeout time.Duration) (*Conn, error) {
	p, err := newPage(entriesSize + connDepth*contextSize)
	if err != nil {
		return nil, err
	}
	c := &Conn{address: address, timeout: timeout, page: p, free: make(chan *slot, connDepth),
		turn: make(chan struct{}, 1), lone: make(chan struct{}, 1)}
	c.ctx, c.cancel = context.WithCancel(context.Background())
	for i := range c.slots {
		c.slots[i].context = p.address(entriesSize + i*contextSize)
		c.slots[i].done = make(chan error, 1)
		c.free <- &c.slots[i]
	}
	if err := c.beat(ctx); err != nil {
		c.Close()
		var failed *CallError
		if errors.As(err, &failed) && !errors.Is(err, ErrProvider) {
			err = fmt.Errorf("%w: %w", ErrUnreachable, err)
		}
		return nil, err
	}
	return c, nil
}

// beat reads the target's pulse.
func (c *Conn) beat(ctx context.Context) error {
	return c.transfer(ctx, work{op: opRead, remote: c.address.Pulse}, make([]byte, pulseSize))
}

// Read copies bytes of a remote region, from an offset on, to b.
func (c *Conn) Read(ctx context.Context, remote Remote, offset uint64, b []byte) error {
	return c.repeatable(ctx, work{op: opRead, remote: remote, offset: offset}, b)
}

// Write copies b to a remote region, from an offset on. When it returns nil, the bytes are there.
func (c *Conn) Write(ctx context.Context, remote Remote, offset uint64, b []byte) error {
	return c.repeatable(ctx, work{op: opWrite, remote: remote, offset: offset}, b)
}

func (c *Conn) repeatable(ctx context.Context, w work, b []byte) error {
	err := c.transfer(ctx, w, b)
	if err == nil || final(err) {
		return err
	}
	return c.again(ctx, func(c *Conn) error { return c.transfer(ctx, w, b) })
}

// final tells errors that say what happened from those of a connection that ended for any reason.
func final(err error) bool {
	var failed *CallError
	return !errors.Is(err, errLost) && (!errors.As(err, &failed) || errors.Is(err, ErrProvider))
}

// again does an operation that failed with its connection once more, on a connection of its own, to find out
// what is wrong.
func (c *Conn) again(ctx context.Context, operation func(*Conn) error) error {
	limited, cancel := context.WithTimeoutCause(ctx, 2*c.timeout, ErrUnreachable)
	defer cancel()
	limited, end := context.WithCancelCause(limited)
	defer end(nil)
	defer context.AfterFunc(c.ctx, func() { end(ErrClosed) })()
	select {
	case c.lone <- struct{}{}:
		defer func() { <-c.lone }()
	case <-limited.Done():
		return context.Cause(limited)
	}
	private, err := connect(limited, c.address, c.timeout)
	if err != nil {
		return err
	}
	defer private.Close()
	defer context.AfterFunc(c.ctx, func() { private.Close() })()
	if err = operation(private); err == nil || final(err) {
		return err
	}
	for {
		// The library may notice the end of the connection more than once.
		switch again := private.beat(limited); {
		case again == nil:
			return fmt.Errorf("%w: %w", ErrRemoteAccess, err)
		case final(again) || limited.Err() != nil:
			return fmt.Errorf("%w: %w", ErrUnreachable, err)
		}
	}
}

// transfer does a read or a write in pieces, many at a time.
func (c *Conn) transfer(ctx context.Context, w work, b []byte) (failed error) {
	var under [window]*slot
	first, next := 0, 0 // pieces under way
	for {
		for failed == nil && len(b) > 0 && next-first < window {
			// Who holds slots must not wait for more.
			s, err := c.take(ctx, next == first)
			if s == nil {
				failed = err
				break
			}
			w.local = b[:min(len(b), chunk)]
			if failed = c.post(ctx, s, &w); failed != nil {
				c.release(s)
				break
			}
			n := len(w.local)
			b, w.offset = b[n:], w.offset+uint64(n)
			under[next%window] = s
			next++
		}
		if first == next {
			return failed
		}
		s := under[first%window]
		first++
		err := c.finish(ctx, s)
		c.release(s)
		if failed == nil {
			failed = err
		}
	}
}

// take returns a free slot, nil if there is none and it may not wait.
func (c *Conn) take(ctx context.Context, wait bool) (*slot, error) {
	select {
	case s := <-c.free:
		return s, nil
	default:
	}
	if !wait {
		return nil, nil
	}
	select {
	case s := <-c.free:
		return s, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// release gives a slot back, and with it the buffer.
func (c *Conn) release(s *slot) {
	c.use.RLock()
	_ = s.local.close()
	s.local = memory{}
	c.use.RUnlock()
	s.pin.Unpin()
	c.free <- s
}

// post begins an operation. It waits while the connection is being made and while the queue is full.
func (c *Conn) post(ctx context.Context, s *slot, w *work) error {
	s.hold(w)
	var deadline time.Time
	for {
		again, err := c.try(s, w)
		if !again {
			return err
		}
		if now := time.Now(); deadline.IsZero() {
			deadline = now.Add(c.timeout)
		} else if ctx.Err() != nil {
			return context.Cause(ctx)
		} else if now.After(deadline) {
			c.reset(s.generation)
			return ErrUnreachable
		}
		const pause = 2 // ms; the library doesn't wake who waits for a connection
		select {
		case c.turn <- struct{}{}:
			c.poll(pause)
			<-c.turn
		case <-time.After(pause * time.Millisecond):
		}
	}
}

// try begins an operation unless the library says that it should be tried again.
func (c *Conn) try(s *slot, w *work) (again bool, err error) {
	c.use.RLock()
	if c.endpoint == nil {
		c.use.RUnlock()
		err = c.open()
		return err == nil, err
	}
	defer c.use.RUnlock()
	s.generation = c.generation
	if c.endpoint.local && s.local == (memory{}) {
		if s.local, err = c.endpoint.registerMemory(s.buffer(w), accessRead|accessWrite); err != nil {
			return false, err
		}
	}
	s.busy.Store(true)
	n := c.endpoint.start(s, w, c.peer)
	if n == 0 {
		return false, nil
	}
	s.busy.Store(false)
	return n == -eAgain, c.endpoint.library.failure(w.op.String(), n)
}

// open makes an endpoint if there is none.
func (c *Conn) open() error {
	c.use.Lock()
	defer c.use.Unlock()
	switch {
	case c.closed:
		return ErrClosed
	case c.endpoint != nil:
		return nil
	}
	source, err := c.address.source()
	if err != nil {
		return err
	}
	e, err := openEndpoint(c.address.Provider, source, 2*connDepth)
	if err != nil {
		return err
	}
	if c.peer, err = e.insert(c.address.Name); err != nil {
		e.close()
		return err
	}
	c.endpoint = e
	return nil
}

// finish waits for an operation. Who waits and finds nobody doing it takes completions, for everybody.
func (c *Conn) finish(ctx context.Context, s *slot) error {
	deadline := time.Now().Add(c.timeout)
	for {
		select {
		case err := <-s.done:
			return err
		default:
		}
		select {
		case c.turn <- struct{}{}:
		default:
			turn, cause := c.follow(ctx, s, deadline)
			if cause != nil {
				return c.abort(s, cause)
			}
			if !turn {
				continue
			}
		}
		cause := c.lead(ctx, s, deadline)
		<-c.turn
		if cause != nil {
			return c.abort(s, cause)
		}
	}
}

// lead takes completions once. It is called with the turn, and returns an error if it is time to give up.
func (c *Conn) lead(ctx context.Context, s *slot, deadline time.Time) (cause error) {
	left := time.Until(deadline)
	switch {
	case len(s.done) > 0:
		return nil
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case left <= 0:
		return ErrUnreachable
	}
	return c.poll(min(tick, int(left/time.Millisecond)+1))
}

// follow waits while another goroutine takes completions: until the operation is done, the other one has
// given the turn to this one, or it is time to give up.
func (c *Conn) follow(ctx context.Context, s *slot, deadline time.Time) (turn bool, cause error) {
	timer := time.NewTimer(time.Until(deadline))
	defer timer.Stop()
	select {
	case err := <-s.done:
		s.done <- err // has room for one
		return false, nil
	case c.turn <- struct{}{}:
		return true, nil
	case <-timer.C:
		return false, ErrUnreachable
	case <-ctx.Done():
		return false, context.Cause(ctx)
	}
}

// abort takes an operation back from the library.
func (c *Conn) abort(s *slot, cause error) error {
	c.reset(s.generation)
	if err := <-s.done; err == nil || errors.Is(err, ErrClosed) {
		return err
	}
	return cause
}

// reset closes the endpoint of a generation, if that is the one in use.
func (c *Conn) reset(generation uint64) {
	c.wake()
	c.use.Lock()
	defer c.use.Unlock()
	if c.generation == generation {
		c.drop(errLost)
	}
}

// wake makes the goroutine that waits in the library leave it.
func (c *Conn) wake() {
	c.use.RLock()
	defer c.use.RUnlock()
	if c.endpoint != nil {
		c.endpoint.wake()
	}
}

// drop closes the endpoint and ends what is under way on it. It is called with use held.
func (c *Conn) drop(reason error) {
	if c.endpoint == nil {
		return
	}
	var local []memory
	for i := range c.slots {
		local = append(local, c.slots[i].local)
		c.slots[i].local = memory{}
	}
	c.endpoint.close(local...)
	c.endpoint = nil
	c.generation++
	for i := range c.slots {
		if c.slots[i].busy.Swap(false) {
			c.slots[i].done <- reason
		}
	}
}

// poll takes completions, and waits up to so many milliseconds for one. It is called with the turn.
func (c *Conn) poll(milliseconds int) error {
	c.use.RLock()
	defer c.use.RUnlock()
	if c.endpoint == nil {
		return nil
	}
	n, err := c.endpoint.wait(c.page.address(0), milliseconds)
	if err != nil {
		return err
	}
	if n < 0 {
		context, err := c.endpoint.takeError()
		c.complete(context, err)
		return nil
	}
	for i := range n {
		c.complete(c.page.word(i), nil)
	}
	return nil
}

// complete tells who waits for an operation. Contexts that aren't of a slot are left alone.
func (c *Conn) complete(context uintptr, err error) {
	i := (context - c.slots[0].context) / contextSize
	if i < connDepth && c.slots[i].busy.Swap(false) {
		c.slots[i].done <- err
	}
}

// Close ends what is under way with ErrClosed.
func (c *Conn) Close() error {
	c.cancel()
	c.wake()
	c.use.Lock()
	defer c.use.Unlock()
	if c.closed {
		return nil
	}
	c.closed = true
	c.drop(ErrClosed)
	c.page.free()
	return nil
}
