package exec

import (
	"errors"
	"slices"

	"farside/internal/command"
	"farside/internal/order"
	"farside/internal/syncobj"
)

// Reordering, for who looks for what nothing orders (Device.Shuffle). Transfers and dispatches may be put off: past
// others that come later in the queue, of the same submission or of later ones. They are done, in a random order,
// before the next barrier, event, query or marker, before a wait or a signal of a semaphore or a fence, and before the
// queue is idle: submission order says nothing of those in between (chapter "Synchronization and Cache Control",
// "Implicit Synchronization Guarantees").

// mostPostponed bounds what is put off.
const mostPostponed = 64

// later is a command that was put off.
type later struct {
	record command.Record
	index  int
	labels []string
	bound  *boundState // of a dispatch
	known  order.Known // by the queue when the submission ended, for what is left to a later one
	left   bool
}

// boundState is what a dispatch finds bound.
type boundState struct {
	pipeline  *Pipeline
	sets      []boundSet
	constants [MaxPushConstants]byte
}

// free says whether a command is ordered with others by barriers alone, and whether it uses what is bound.
func free(op command.Op) (isFree, dispatches bool) {
	switch op {
	case command.OpDispatch, command.OpDispatchIndirect, command.OpDispatchBase:
		return true, true
	case command.OpFillBuffer, command.OpUpdateBuffer, command.OpCopyBuffer, command.OpCopyImage, command.OpBlitImage,
		command.OpCopyBufferToImage, command.OpCopyImageToBuffer, command.OpClearColorImage,
		command.OpClearDepthStencilImage, command.OpResolveImage:
		return true, false
	}
	return false, false
}

// shuffled executes a record, postponed it off, or executes first what was put off.
func (r *replay) shuffled(record *command.Record) error {
	isFree, dispatches := free(record.Op)
	switch {
	case isFree && len(r.postponed) < mostPostponed && r.device.Shuffle(2) == 0:
		p := later{record: *record, index: r.index, labels: slices.Clone(r.labels)}
		if dispatches {
			p.bound = r.bound.freeze()
		}
		r.postponed = append(r.postponed, p)
		return nil
	case isFree, setsState(record.Op):
		return r.command(record)
	}
	if err := r.catchUp(); err != nil {
		return err
	}
	return r.command(record)
}

// setsState says whether a command changes nothing but what is bound or named.
func setsState(op command.Op) bool {
	switch op {
	case command.OpBindPipeline, command.OpBindShaders, command.OpBindDescriptorSets, command.OpPushDescriptorSet,
		command.OpPushConstants, command.OpDebugLabel:
		return true
	}
	return false
}

// catchUp executes, in a random order, what was put off.
func (r *replay) catchUp() error {
	if len(r.postponed) == 0 {
		return nil
	}
	op, index, labels := r.op, r.index, r.labels
	defer func() { r.op, r.index, r.labels = op, index, labels }()
	now := r.bound.freeze()
	defer r.bound.thaw(now)
	list := r.postponed
	r.postponed = nil
	for len(list) > 0 {
		i := r.device.Shuffle(len(list))
		p := list[i]
		list[i] = list[len(list)-1]
		list = list[:len(list)-1]
		if err := r.late(&p); err != nil {
			return r.failed(err)
		}
	}
	return nil
}

// late executes a command that was put off.
func (r *replay) late(p *later) error {
	r.op, r.index, r.labels = p.record.Op, p.index, p.labels
	if p.bound != nil {
		r.bound.thaw(p.bound)
	}
	if o := r.device.Order; o != nil && p.left {
		known := o.Swap(r.queue.Line, p.known)
		defer o.Swap(r.queue.Line, known)
	}
	return r.command(&p.record)
}

// freeze returns what is bound. Descriptors that are pushed later don't change it.
func (b *bindings) freeze() *boundState {
	for i := range b.top {
		b.sets[i].frozen = b.sets[i].pushed
	}
	return &boundState{b.pipeline, slices.Clone(b.sets[:b.top]), b.constants}
}

// thaw binds what was bound.
func (b *bindings) thaw(s *boundState) {
	clear(b.sets[:b.top])
	b.pipeline, b.top, b.constants, b.pushed = s.pipeline, copy(b.sets[:], s.sets), s.constants, true
}

// hold leaves what was put off to later submissions.
func (r *replay) hold() {
	if r.device.Order == nil {
		return
	}
	known, asked := order.Known{}, false
	for i := range r.postponed {
		if p := &r.postponed[i]; !p.left {
			if !asked {
				known, asked = r.device.Order.Knows(r.queue.Line), true
			}
			p.known, p.left = known, true
		}
	}
}

// settle executes what earlier command buffers have put off, and ends these.
func (q *Queue) settle() {
	if len(q.held) == 0 {
		return
	}
	if !q.device.stopped() {
		if err := q.guarded(nil, 0); err != nil && !errors.Is(err, syncobj.ErrStopped) {
			q.device.Lost(q.held[len(q.held)-1], err)
		}
	}
	q.replay.postponed = nil
	for _, b := range q.held {
		b.Completed(true)
	}
	clear(q.held)
	q.held = q.held[:0]
	if q.unfinished != 0 {
		q.progressed(q.unfinished)
		q.unfinished = 0
	}
}
