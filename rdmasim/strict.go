package rdmasim

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"farside/internal/finding"
	"farside/internal/journal"
	"farside/internal/late"
	"farside/rdmasim/internal/verbs"
)

// What an initiator does with FARSIDE_STRICT=rdma, its own or that of a region's owner: work takes its time, writes
// overtake reads that no fence holds back, and what rests on more than adapters promise is found. The owner does the
// rest: rdmasim/internal/local/strict.go.

// mostKept bounds the local memory that is looked at, bytes.
const mostKept = 1 << 20

// mark is what strictness knows of posted work.
type mark struct {
	verbs.Operation
	work   Work
	region *verbs.Region
	view   verbs.StrictView // nil where the owner isn't to be told
	kept   []byte           // what local memory held when a write was posted, nil if nobody looks
	fenced bool             // later work waits for it
	first  bool             // the queue pair was idle
	done   bool             // before its turn
	err    error            // if done
}

// strictPair is what strictness knows of a queue pair.
type strictPair struct {
	mu     sync.Mutex // held while work is posted
	flow   uint64
	number uint64  // of the last work
	list   []*mark // of which nobody knows that they have ended, oldest first
}

// postStrict is Post with marks.
func (q *QueuePair) postStrict(work []Work) error {
	s := &q.strict
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.flow == 0 {
		s.flow = verbs.NewFlow()
		q.peer.pairs.add(q)
		q.mu.Lock()
		q.postedMarks, q.endedMarks = make([]*mark, len(q.posted.slots)), make([]*mark, len(q.ended.slots))
		q.mu.Unlock()
	}
	before := len(s.list)
	marks := make([]*mark, len(work))
	for i := range work {
		marks[i] = q.announce(&work[i])
	}
	err := q.post(work, marks)
	if err != nil {
		tellKnown(s.list[before:])
		s.list = s.list[:before]
	}
	return err
}

// mark marks the slot that the next work gets, or leaves it without if there are no marks. Under q.mu.
func (q *QueuePair) mark(marks []*mark, i int) {
	slot := &q.postedMarks[(q.posted.first+q.posted.n)%len(q.postedMarks)]
	if *slot = nil; marks != nil {
		*slot = marks[i]
		marks[i].first = i == 0 && !q.running
	}
}

// announce marks work and looks at what comes before it. With strict.mu.
func (q *QueuePair) announce(w *Work) *mark {
	s := &q.strict
	s.number++
	m := &mark{work: *w, Operation: verbs.Operation{Flow: s.flow, Number: s.number, Opcode: w.Opcode,
		Length: uint64(len(w.Local)), Fence: w.Flags&FlagFence != 0}}
	if w.Opcode == OpWrite && len(w.Local) <= mostKept {
		m.kept = copied(w.Local)
	}
	if r, err := q.peer.find(context.Background(), w.RemoteAddress, w.Key); err == nil && w.Opcode <= OpFetchXor {
		m.region, m.Offset = r, w.RemoteAddress-r.Info.Address
		if v, ok := r.View.(verbs.StrictView); ok && v.Announce(&m.Operation) == nil {
			m.view = v
		}
	}
	for _, earlier := range s.list {
		if earlier.Opcode != OpWrite && overlap(earlier.work.Local, w.Local) {
			m.kept = nil // the adapter is to change it
		}
		if m.Fence {
			earlier.fenced = true
		} else if what := earlier.overtakenBy(m); what != "" {
			m.found(finding.MissingFence, "%s %s %s, which was posted before, with no fence and nobody having polled its "+
				"completion", m.describe(), what, earlier.describe())
		}
	}
	s.list = append(s.list, m)
	return m
}

// copied is what lies in local memory, nil if it can't be read.
func copied(b []byte) (c []byte) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if v := recover(); v != nil {
			_ = localFault(v, b)
			c = nil
		}
	}()
	return bytes.Clone(b)
}

// overtakenBy says, in words, what goes wrong if m overtakes n; "" if nothing does. Reads and atomics are what can be
// overtaken: by work that changes what they get, or that sends what they give.
func (n *mark) overtakenBy(m *mark) string {
	reads, writes := n.Opcode == OpRead, m.Opcode == OpWrite
	near := n.work.RemoteAddress < m.work.RemoteAddress+m.Length && m.work.RemoteAddress < n.work.RemoteAddress+n.Length
	switch {
	case n.Opcode == OpWrite || n.fenced || n.Length == 0 || m.Length == 0 || m.Opcode == OpRead:
		return ""
	case writes && overlap(n.work.Local, m.work.Local):
		return "sends the local memory that is filled by"
	case near && (writes || reads):
		return "writes where it overlaps"
	}
	return ""
}

func (m *mark) describe() string {
	return fmt.Sprintf("%v of %d bytes at %#x (work %d)", m.Opcode, m.Length, m.work.RemoteAddress, m.work.ID)
}

func (m *mark) found(id finding.ID, format string, args ...any) {
	f := &finding.Finding{ID: id, Place: m.work.RemoteAddress, Text: fmt.Sprintf(format, args...)}
	if m.region != nil {
		f.Objects = []journal.Object{{Type: "region", Handle: m.region.Info.Address, Name: m.region.Info.Name}}
	}
	finding.Tell(f)
}

// doMarked executes marked work, which the work behind it may overtake.
func (q *QueuePair) doMarked(m *mark) error {
	if m.done {
		return m.err
	}
	time.Sleep(late.Posted(m.first))
	if next := q.overtaking(m); next != nil && late.Chance(2) == 0 {
		next.err, next.done = q.doOne(next), true
	}
	return q.doOne(m)
}

// overtaking is the mark of the work that may overtake m, nil if there is none. What fails at the owner is overtaken by
// nothing: he takes requests in their order, and drops those behind.
func (q *QueuePair) overtaking(m *mark) *mark {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.posted.n < 2 || m.Opcode != OpRead || m.view == nil {
		return nil
	}
	next := q.postedMarks[(q.posted.first+1)%len(q.postedMarks)]
	if next == nil || next.Opcode != OpWrite || next.Fence || next.view == nil {
		return nil
	}
	return next
}

// doOne is do for marked work.
func (q *QueuePair) doOne(m *mark) (err error) {
	w := &m.work
	defer func() {
		if v := recover(); v != nil {
			err = localFault(v, w.Local)
		}
	}()
	m.unchanged()
	width := uint64(len(w.Local))
	if m.view == nil || w.Opcode > OpWrite && (width != 4 && width != 8 || w.RemoteAddress&(width-1) != 0) {
		return q.do(w)
	}
	var old uint64
	do := func(_ uint64, b []byte) (err error) {
		old, err = m.view.Perform(&m.Operation, b, w.Operand, w.Compare)
		return err
	}
	if journal.On() || q.peer.faults != nil {
		err = q.peer.watched(w.Opcode, w.RemoteAddress, w.Local, do)
	} else {
		err = do(w.RemoteAddress, w.Local)
	}
	if err != nil {
		q.peer.used.failed(w.Opcode, w.RemoteAddress, err)
		return failed(w.Opcode, w.RemoteAddress, err)
	}
	if w.Opcode > OpWrite {
		w.store(old)
	}
	return nil
}

// unchanged looks whether the local memory of a write is what it was.
func (m *mark) unchanged() {
	if m.kept != nil && !bytes.Equal(m.kept, m.work.Local) {
		at := 0
		for m.kept[at] == m.work.Local[at] {
			at++
		}
		m.found(finding.LocalChanged, "the local memory of the %s changed at byte %d after it was posted", m.describe(), at)
	}
	m.kept = nil
}

// known notes that the user knows that work has ended, up to a number.
func (q *QueuePair) known(number uint64) {
	s := &q.strict
	s.mu.Lock()
	defer s.mu.Unlock()
	n := 0
	for n < len(s.list) && s.list[n].Number <= number {
		n++
	}
	tellKnown(s.list[:n])
	s.list = slices.Delete(s.list, 0, n)
}

// tellKnown tells the owners of what work was about.
func tellKnown(list []*mark) {
	last := map[verbs.StrictView]*mark{}
	for _, m := range list {
		if m.view != nil {
			last[m.view] = m
		}
	}
	for v, m := range last {
		v.Known(m.Flow, m.Number)
	}
}

// leave ends what strictness knows of a queue pair whose peer is closed.
func (q *QueuePair) leave() {
	q.mu.Lock()
	var bad *mark
	var c Completion
	for i := range q.ended.n {
		slot := (q.ended.first + i) % len(q.ended.slots)
		e, m := q.ended.slots[slot], q.endedMarks[slot]
		if e.Err != nil && !errors.Is(e.Err, ErrFlushed) && !errors.Is(e.Err, ErrClosed) && m != nil {
			bad, c = m, e
			break
		}
	}
	q.mu.Unlock()
	if bad != nil {
		bad.found(finding.IgnoredFailure, "%s failed with %v, and nobody polled its completion: %v", bad.describe(), c.Status,
			c.Err)
	}
	q.known(^uint64(0))
}

// pairs are the queue pairs of a peer that have marked work.
type pairs struct {
	mu   sync.Mutex
	list []*QueuePair
}

func (p *pairs) add(q *QueuePair) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.list = append(p.list, q)
}

func (p *pairs) leave() {
	p.mu.Lock()
	list := p.list
	p.list = nil
	p.mu.Unlock()
	for _, q := range list {
		q.leave()
	}
}

// refused is failed, and tells of what a program can't mean.
func (p *Peer) refused(op Opcode, address uint64, err error) error {
	if p.strict.Load() {
		f := &finding.Finding{Place: address, Text: fmt.Sprintf("%v at remote address %#x: %v", op, address, err)}
		switch {
		case errors.Is(err, ErrOutOfRange):
			f.ID = finding.RemoteRange
		case errors.Is(err, ErrMisaligned):
			f.ID = finding.MisalignedAtomic
		}
		if r := p.table.Lookup(address); r != nil {
			f.Objects = []journal.Object{{Type: "region", Handle: r.Info.Address, Name: r.Info.Name}}
		}
		if f.ID != "" {
			finding.Tell(f)
		}
	}
	return failed(op, address, err)
}

// Synchronize makes visible to the devices of this process what peers have written to its memory and know to have
// ended, with FARSIDE_STRICT=rdma; without, it is so already. Devices do it where work is submitted or begins.
func Synchronize() {
	process.mu.Lock()
	o := process.owner
	process.mu.Unlock()
	if o != nil {
		o.local.Synchronize()
	}
}

// Conflict is an operation of a peer that nothing orders with what a device does to length bytes at offset, in words;
// "" if there is none, and without FARSIDE_STRICT=rdma. A device that reads conflicts with writes that it doesn't see,
// one that writes with all that is under way.
func (r *Region) Conflict(offset, length uint64, writes bool) string {
	return r.local.Conflict(offset, length, writes)
}
