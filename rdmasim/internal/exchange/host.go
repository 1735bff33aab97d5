package exchange

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync/atomic"
	"time"
)

const (
	// maxLanes is how many connections a host has at most. More than one is for the processors: each side
	// encrypts a connection with one.
	maxLanes = 4
	// window is how many pieces of one transfer are under way.
	window = 8
	// dialTries is how often a connection is tried that ends in the handshake, as a server's may under attack.
	dialTries = 5
	dialPause = 50 * time.Millisecond
)

// Host is a server as its clients see it. It connects when there is something to ask, and again when a
// connection has ended. Its methods may be called from any goroutine.
//
// Errors of its methods: ErrGone, ErrBusy, ErrAuthentication, ErrProtocol, and the context's.
type Host struct {
	address     string
	credentials *Credentials
	ctx         context.Context // ends with ErrGone when the host is closed
	cancel      context.CancelCauseFunc
	lanes       []lane // the first is for all, the others for large transfers
}

// lane is a place for a connection.
type lane struct {
	turn   chan struct{} // held by who connects
	client atomic.Pointer[client]
}

// Open makes sure that the server answers.
func Open(ctx context.Context, address string, c *Credentials) (*Host, error) {
	h := &Host{address: address, credentials: c, lanes: make([]lane, min(maxLanes, runtime.GOMAXPROCS(0)))}
	h.ctx, h.cancel = context.WithCancelCause(context.Background())
	for i := range h.lanes {
		h.lanes[i].turn = make(chan struct{}, 1)
	}
	if _, err := h.client(ctx, 0); err != nil {
		_ = h.Close()
		return nil, err
	}
	return h, nil
}

// client returns the connection of a lane, which it makes if there is none.
func (h *Host) client(ctx context.Context, i int) (*client, error) {
	l := &h.lanes[i]
	if k := l.client.Load(); k != nil && k.alive() {
		return k, nil
	}
	ctx, cancel := context.WithTimeoutCause(ctx, patience, ErrGone)
	defer cancel()
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	defer context.AfterFunc(h.ctx, func() { end(context.Cause(h.ctx)) })()
	select {
	case l.turn <- struct{}{}:
		defer func() { <-l.turn }()
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	if k := l.client.Load(); k != nil && k.alive() { // somebody else has made it
		return k, nil
	}
	if h.ctx.Err() != nil {
		return nil, context.Cause(h.ctx)
	}
	for try := 1; ; try++ {
		k, err := dial(ctx, h.address, h.credentials)
		switch {
		case err == nil:
			l.client.Store(k)
			return k, nil
		case ctx.Err() != nil:
			return nil, context.Cause(ctx)
		case !errors.Is(err, errInterrupted) || try == dialTries:
			return nil, err
		}
		select {
		case <-time.After(dialPause):
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// begin sends a request on a lane, or on the first if there is no connection for that one.
func (h *Host) begin(ctx context.Context, i int, m *message, b *buffer, want kind) (*client, *call, error) {
	for try := 1; ; try++ {
		k, err := h.client(ctx, i)
		if errors.Is(err, ErrBusy) && i != 0 {
			k, err = h.client(ctx, 0)
		}
		if err != nil {
			return nil, nil, err
		}
		c, err := k.begin(ctx, m, b, want)
		switch {
		case !errors.Is(err, errUnsent):
			return k, c, err
		case try == dialTries:
			return nil, nil, fmt.Errorf("%w: %w", ErrGone, err)
		}
	}
}

// ask sends a request without data and waits for its answer.
func (h *Host) ask(ctx context.Context, m *message, want kind) (*message, error) {
	k, c, err := h.begin(ctx, 0, m, nil, want)
	if err != nil {
		return nil, err
	}
	a, err := k.finish(ctx, c)
	if err != nil {
		return nil, err
	}
	a.free()
	return a.message, nil
}

// repeat does something that can be done twice, and does so if the connection ended.
func repeat(do func() (Outcome, error)) (Outcome, error) {
	o, err := do()
	if errors.Is(err, ErrGone) {
		o, err = do()
	}
	return o, err
}

// Resolve asks for the region around an address. An outcome other than 0 has no description.
func (h *Host) Resolve(ctx context.Context, q Question) (d Description, o Outcome, err error) {
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	defer context.AfterFunc(h.ctx, func() { end(context.Cause(h.ctx)) })()
	o, err = repeat(func() (Outcome, error) {
		m, err := h.ask(ctx, &message{kind: kindResolve, question: q}, kindReply)
		if err != nil {
			return 0, err
		}
		d = m.description
		return m.outcome, nil
	})
	return d, o, err
}

// Atomic runs an atomic operation and returns what was there before. After ErrGone it may have happened.
func (h *Host) Atomic(a Atomic) (old uint64, o Outcome, err error) {
	m, err := h.ask(h.ctx, &message{kind: kindAtomic, atomic: a}, kindDone)
	if err != nil {
		return 0, 0, err
	}
	return m.old, m.outcome, nil
}

// Read fills p, all of it if the outcome is 0.
func (h *Host) Read(at Place, p []byte) (Outcome, error) {
	return repeat(func() (Outcome, error) { return h.transfer(message{kind: kindRead, place: at}, p) })
}

// Write writes p. When the outcome is 0, the bytes are there. After ErrGone, or another outcome, some may be,
// and, while the server has not noticed that the connection ended, may still come.
func (h *Host) Write(at Place, p []byte) (Outcome, error) {
	return h.transfer(message{kind: kindWrite, place: at}, p)
}

// Announce tells of an operation on a strict region that is under way; Known, that all of its flow has ended.
func (h *Host) Announce(at Place, o Operation) (Outcome, error) { return h.tell(kindAnnounce, at, o) }

// Known tells that this side knows of the end of a flow's operations, up to that with a number.
func (h *Host) Known(at Place, flow, number uint64) (Outcome, error) {
	return h.tell(kindKnown, at, Operation{Flow: flow, Number: number})
}

func (h *Host) tell(k kind, at Place, o Operation) (Outcome, error) {
	m, err := h.ask(h.ctx, &message{kind: k, place: at, operation: o}, kindDone)
	if err != nil {
		return 0, err
	}
	return m.outcome, nil
}

// ReadOf, WriteOf and AtomicOf are Read, Write and Atomic for what has been announced.
func (h *Host) ReadOf(at Place, o Operation, p []byte) (Outcome, error) {
	return repeat(func() (Outcome, error) {
		return h.transfer(message{kind: kindReadOf, place: at, operation: o}, p)
	})
}

// WriteOf is Write for what has been announced.
func (h *Host) WriteOf(at Place, o Operation, p []byte) (Outcome, error) {
	return h.transfer(message{kind: kindWriteOf, place: at, operation: o}, p)
}

// AtomicOf is Atomic for what has been announced.
func (h *Host) AtomicOf(a Atomic, operation Operation) (old uint64, o Outcome, err error) {
	m, err := h.ask(h.ctx, &message{kind: kindAtomicOf, atomic: a, operation: operation}, kindDone)
	if err != nil {
		return 0, 0, err
	}
	return m.old, m.outcome, nil
}

// flight is a piece of a transfer that is under way.
type flight struct {
	client *client
	call   *call
	piece  []byte
}

// transfer does a read or a write, as m says, in pieces, several at a time. It touches p on the caller's goroutine
// only, which may be prepared for faults.
func (h *Host) transfer(m message, p []byte) (outcome Outcome, failed error) {
	var under [window]flight
	first, next := 0, 0 // pieces under way
	defer func() {      // after a fault
		for ; first < next; first++ {
			f := &under[first%window]
			f.client.forget(f.call)
		}
	}()
	for rest := p; ; {
		for failed == nil && outcome == 0 && next-first < window && (len(rest) > 0 || next == 0) {
			f := &under[next%window]
			f.piece = rest[:min(len(rest), MaxData)]
			if failed = h.post(f, m, next%len(h.lanes)); failed != nil {
				break
			}
			next++
			rest, m.place.Address = rest[len(f.piece):], m.place.Address+uint64(len(f.piece))
		}
		if first == next {
			return outcome, failed
		}
		f := &under[first%window]
		first++
		a, err := f.client.finish(h.ctx, f.call)
		switch {
		case err != nil:
			if failed == nil {
				failed = err
			}
			continue
		case a.outcome != 0 && outcome == 0:
			outcome = a.outcome
		case a.data != nil && outcome == 0 && failed == nil:
			copy(f.piece, a.data.data())
		}
		a.free()
	}
}

// post begins a piece of a transfer.
func (h *Host) post(f *flight, m message, lane int) (err error) {
	m.size = uint32(len(f.piece))
	if m.kind == kindRead || m.kind == kindReadOf {
		f.client, f.call, err = h.begin(h.ctx, lane, &m, nil, kindData)
		return err
	}
	b := buffers.Get().(*buffer)
	copy(b.data(), f.piece)
	f.client, f.call, err = h.begin(h.ctx, lane, &m, b, kindDone)
	buffers.Put(b)
	return err
}

// Close ends the connections; operations under way fail with ErrGone. A second Close does nothing. It returns
// no error today.
func (h *Host) Close() error {
	h.cancel(fmt.Errorf("%w: closed", ErrGone))
	for i := range h.lanes {
		h.lanes[i].turn <- struct{}{}
		if k := h.lanes[i].client.Load(); k != nil {
			k.end()
		}
		<-h.lanes[i].turn
	}
	return nil
}
