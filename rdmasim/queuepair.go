package rdmasim

import (
	"context"
	"encoding/binary"
	"fmt"
	"runtime/debug"
	"sync"
)

// WorkFlags modify posted work.
type WorkFlags uint8

const (
	// FlagSignalled makes work give a completion also when it succeeds.
	FlagSignalled WorkFlags = 1 << iota
	// FlagFence makes work begin only when reads and atomics posted before have completed. All work does, save for
	// writes to strict regions: see FARSIDE_STRICT=rdma.
	FlagFence
)

// Work is an operation to post, as struct ibv_send_wr.
type Work struct {
	ID            uint64 // comes back in the completion
	Opcode        Opcode
	Flags         WorkFlags
	RemoteAddress uint64
	Key           uint64 // that the region must have, 0 for any
	// Local is what to write, or where to read to. For an atomic it is where to put what was there before, in
	// the host's byte order, and its length, 4 or 8, is the atomic's. It must stay as it is until the work has
	// ended.
	Local   []byte
	Operand uint64 // of an atomic: what to add, the value to swap in, or the mask
	Compare uint64 // of OpCompareSwap
}

// Completion says how work ended, as struct ibv_wc.
type Completion struct {
	ID     uint64
	Status Status
	Opcode Opcode
	Length int   // bytes transferred, 0 unless Status is StatusSuccess
	Err    error // what Status stands for, nil for StatusSuccess
}

// maxDepth bounds a queue pair.
const maxDepth = 1 << 16

// QueuePair executes posted work in its order, beside the caller. Work gives a completion if it is signalled
// or fails. The first failure puts the pair into the error state: what was posted behind it, and is posted
// later, is flushed, each with a completion of StatusWRFlushErr, until Reset. Its methods may be called from
// any goroutine. A pair needs no closing; once its peer is closed, its work fails.
type QueuePair struct {
	peer    *Peer
	execute func()        // q.run, made once
	ready   chan struct{} // holds a token while there may be completions

	mu      sync.Mutex
	idle    sync.Cond // nothing is posted
	posted  ring[Work]
	ended   ring[Completion] // with posted never more than the depth
	running bool
	failed  bool

	strict strictPair
	// What strictness knows of each slot of posted and ended; nil without.
	postedMarks, endedMarks []*mark
}

// ring is a queue in a slice that doesn't grow.
type ring[T any] struct {
	slots    []T
	first, n int
}

func (r *ring[T]) push(x T) {
	r.slots[(r.first+r.n)%len(r.slots)] = x
	r.n++
}

func (r *ring[T]) pop() (x T) {
	x, r.slots[r.first] = r.slots[r.first], x
	r.first = (r.first + 1) % len(r.slots)
	r.n--
	return x
}

// NewQueuePair makes a queue pair with room for depth pieces of work that are posted and whose completion, if
// they give one, hasn't been polled. Errors: ErrResources for a depth below 1 or above 65536.
func (p *Peer) NewQueuePair(depth int) (*QueuePair, error) {
	if depth < 1 || depth > maxDepth {
		return nil, fmt.Errorf("rdmasim: queue pair of depth %d: %w", depth, ErrResources)
	}
	q := &QueuePair{peer: p, ready: make(chan struct{}, 1)}
	q.idle.L = &q.mu
	q.posted.slots, q.ended.slots = make([]Work, depth), make([]Completion, depth)
	q.execute = q.run
	return q, nil
}

// Post hands over work, all of it or, with ErrQueueFull, none.
func (q *QueuePair) Post(work []Work) error {
	if q.peer.strict.Load() {
		return q.postStrict(work)
	}
	return q.post(work, nil)
}

// post is Post, with a mark for each piece of work or nil.
func (q *QueuePair) post(work []Work, marks []*mark) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	if free := len(q.posted.slots) - q.posted.n - q.ended.n; len(work) > free {
		return fmt.Errorf("%w: %d pieces of work, room for %d", ErrQueueFull, len(work), free)
	}
	for i := range work {
		if q.postedMarks != nil {
			q.mark(marks, i)
		}
		q.posted.push(work[i])
	}
	if !q.running && q.posted.n > 0 {
		q.running = true
		go q.execute()
	}
	return nil
}

// Poll takes completions, in the order in which the work was posted, and returns how many. It waits for the
// first one until ctx is done, and then returns the context's error. With a context that is done already it
// takes what is there.
func (q *QueuePair) Poll(ctx context.Context, completions []Completion) (int, error) {
	for len(completions) > 0 {
		q.mu.Lock()
		n := min(len(completions), q.ended.n)
		var last *mark
		for i := range n {
			if q.endedMarks != nil {
				last = q.endedMarks[q.ended.first]
			}
			completions[i] = q.ended.pop()
		}
		if q.ended.n > 0 {
			q.signal() // for others who poll
		}
		q.mu.Unlock()
		if last != nil {
			q.known(last.Number)
		}
		if n > 0 {
			return n, nil
		}
		select {
		case <-q.ready:
		case <-ctx.Done():
			return 0, ctx.Err()
		}
	}
	return 0, nil
}

// Reset ends the error state, once everything that was posted has ended. Completions stay to be polled. On a
// pair that isn't in the error state it only waits.
func (q *QueuePair) Reset() {
	q.mu.Lock()
	for q.running {
		q.idle.Wait()
	}
	q.failed = false
	q.mu.Unlock()
	if q.peer.strict.Load() {
		q.known(^uint64(0))
	}
}

// signal wakes one who polls.
func (q *QueuePair) signal() {
	select {
	case q.ready <- struct{}{}:
	default:
	}
}

// run executes until nothing is posted.
func (q *QueuePair) run() {
	debug.SetPanicOnFault(true) // callers in C may give any local memory
	q.mu.Lock()
	defer q.mu.Unlock()
	for q.posted.n > 0 {
		w := &q.posted.slots[q.posted.first]
		err := ErrFlushed
		var m *mark
		if q.postedMarks != nil {
			m = q.postedMarks[q.posted.first]
		}
		if !q.failed {
			q.mu.Unlock()
			if m != nil {
				err = q.doMarked(m)
			} else {
				err = q.do(w)
			}
			q.mu.Lock()
		}
		c := Completion{ID: w.ID, Opcode: w.Opcode, Status: StatusOf(err), Err: err}
		if err == nil {
			c.Length = len(w.Local)
		} else {
			q.failed = true
		}
		if q.posted.pop().Flags&FlagSignalled != 0 || err != nil {
			if q.endedMarks != nil {
				q.endedMarks[(q.ended.first+q.ended.n)%len(q.endedMarks)] = m
			}
			q.ended.push(c)
			q.signal()
		}
	}
	q.running = false
	q.idle.Broadcast()
}

// do executes one piece of work.
func (q *QueuePair) do(w *Work) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = localFault(v, w.Local)
		}
	}()
	if w.Key != 0 {
		if _, err := q.peer.find(context.Background(), w.RemoteAddress, w.Key); err != nil {
			return err
		}
	}
	switch {
	case w.Opcode == OpRead:
		return q.peer.Read(w.RemoteAddress, w.Local)
	case w.Opcode == OpWrite:
		return q.peer.Write(w.RemoteAddress, w.Local)
	case w.Opcode == 0 || w.Opcode > OpFetchXor:
		return fmt.Errorf("%w: %v", ErrBadWork, w.Opcode)
	case len(w.Local) != 4 && len(w.Local) != 8:
		return fmt.Errorf("%w: %v of %d bytes", ErrLocalLength, w.Opcode, len(w.Local))
	}
	old, err := q.peer.atomic(w.Opcode, uint64(len(w.Local)), w.RemoteAddress, w.Operand, w.Compare)
	if err == nil {
		w.store(old)
	}
	return err
}

// store gives what an atomic found to its local memory, of 4 or 8 bytes.
func (w *Work) store(old uint64) {
	if len(w.Local) == 4 {
		binary.NativeEndian.PutUint32(w.Local, uint32(old))
	} else {
		binary.NativeEndian.PutUint64(w.Local, old)
	}
}

// localFault is the error of a panic because of local memory. Any other panic goes on.
func localFault(v any, local []byte) error {
	// A runtime error of a fault has its address.
	if f, ok := v.(interface{ Addr() uintptr }); !ok || !holds(local, f.Addr()) {
		panic(v)
	}
	return ErrLocalFault
}
