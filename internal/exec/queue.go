// Package exec runs queues. A queue executes its submissions one after the other in the order of their
// submission (chapter "Synchronization and Cache Control", submission order), each command with all of memory
// visible, so that pipeline barriers have nothing to do; several queues run at once.
//
// A submission that finds its queue idle and its semaphores ready, and that has little to do, is executed by
// the thread that submits it. Other work is left to the queue's goroutine, which exists while there is work. A thread
// that waits without a time limit may execute it before the goroutine begins: Queue.Help.
package exec

import (
	"errors"
	"fmt"
	"math"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"farside/internal/command"
	"farside/internal/cores"
	"farside/internal/ieee"
	"farside/internal/journal"
	"farside/internal/order"
	"farside/internal/syncobj"
	"farside/internal/vk"
)

// CommandBuffer is a command buffer on its way through a queue.
type CommandBuffer interface {
	Stream() *command.Stream
	// Completed is called once for each execution, when it has ended; executed is false for one that was dropped.
	Completed(executed bool)
}

// Device is what the queues of a VkDevice share. Its fields do not change.
type Device struct {
	Resources Resources
	// Stop is a fence payload, signalled when the device is lost or destroyed: nothing is executed and nothing
	// waits any longer.
	Stop *syncobj.Payload
	// Lost is called, outside of any lock, with what ended an execution; the buffer is nil for errors of
	// semaphores. It makes the device lost (chapter "Lost Device").
	Lost func(b CommandBuffer, err error)
	// Told is called with a rule that a command breaks and that changes nothing here: the command is executed; nil: nobody
	// asks.
	Told func(err error)
	// Print is called with what shaders print, from any goroutine; nil drops it.
	Print func(text string)
	// Watch is told of what a command is about to do to memory, from any goroutine; nil: nobody asks.
	Watch func(a *Access)
	// Begins is called before each command buffer; nil: nobody asks.
	Begins func()
	// Around is called before each command, but for waits for events, and what it returns after the command; nil: nobody
	// asks.
	Around func(q *Queue) (after func())
	// Order is told how the work of queues and of the host is ordered; nil: nobody asks.
	Order *order.Tracker
	// Owner is who owns what the queues use, for Order: an instance.
	Owner order.Agent
	// Transferred is told of what a barrier releases to, or acquires from, what is outside of the instance; the access is
	// to the object. nil: nobody asks.
	Transferred func(a *Access, t *command.Transfer)
	// Foreign counts the waits that ended for what other processes or drivers may have signalled.
	Foreign atomic.Uint64
	// Delay waits before the next submission, which no submitting thread executes then; nil: not at all.
	Delay func()
	// Shuffle returns a random number below n, by which commands that nothing orders are put in another order; nil: they
	// are not. It is for queues that have a Delay, and are not of a device group.
	Shuffle func(n int) int
	// Watchdog is how long a dispatch may take in which no workgroup ends (watchdog); 0 is forever.
	Watchdog time.Duration
	// Fault, unless it is nil, is called before a submission, and before each command: it may take its time, and the
	// device is lost where it returns an error. Point is submit, command, and then dispatch or copy where the command
	// is one.
	Fault func(q *Queue, point string) error
	// Graphics says that queues of the device draw.
	Graphics bool
	// DrawInOrder has one core do each draw.
	DrawInOrder bool
	// MaxGroups is maxComputeWorkGroupCount.
	MaxGroups [3]uint32
	// Index is the device index of a physical device, and Group all of them by their indices, this one included, where a
	// logical device has several; nil where it has one. They differ in nothing but Index and Resources.
	Index uint32
	Group []*Device
	// Pieces is held while a command runs that uses images in pieces (Pieced). It is the group's.
	Pieces *sync.Mutex
}

func (d *Device) stopped() bool { return d.Stop.Value() != 0 }

type stepKind uint8

const (
	stepWait stepKind = iota
	stepExecute
	stepSignal
	stepPresent
)

type step struct {
	kind    stepKind
	mask    uint32 // the physical devices that execute buffer, by their indices
	payload *syncobj.Payload
	value   uint64
	buffer  CommandBuffer
	present Presentation
}

// Submission is the batches of one vkQueueSubmit, flattened to steps in their order.
type Submission struct {
	steps  []step
	next   int
	number uint64
	known  order.Known // by the host, when it submitted this; for Device.Order
	// Note is whoever submits' own; see Queue.Submitted.
	Note     any
	begun    bool
	presents bool
}

// Wait adds a semaphore wait; value is the counter's for a timeline semaphore. The payload's reference goes to
// the submission.
func (s *Submission) Wait(p *syncobj.Payload, value uint64) {
	s.steps = append(s.steps, step{kind: stepWait, payload: p, value: value})
}

// Execute adds a command buffer, to be executed by the first physical device.
func (s *Submission) Execute(b CommandBuffer) { s.ExecuteOn(b, 1) }

// ExecuteOn adds a command buffer that the physical devices of a mask execute, a bit for each device index. With an
// empty mask it is executed by none.
func (s *Submission) ExecuteOn(b CommandBuffer, mask uint32) {
	s.steps = append(s.steps, step{kind: stepExecute, buffer: b, mask: mask})
}

// Signal adds the signal of a semaphore or of a fence. The payload's reference goes to the submission.
func (s *Submission) Signal(p *syncobj.Payload, value uint64) {
	p.Pending(1)
	s.steps = append(s.steps, step{kind: stepSignal, payload: p, value: value})
}

// Presentation is an image on its way to the presentation engine.
type Presentation interface {
	// Ready is called when the queue has come to the presentation, and Drop instead of it when it never will.
	Ready(q *Queue)
	Drop()
}

// Present adds a presentation. What has one is no submission to Device.Fault.
func (s *Submission) Present(p Presentation) {
	s.presents = true
	s.steps = append(s.steps, step{kind: stepPresent, present: p})
}

// Cancel drops a submission that is not submitted: its references go, nothing else happens.
func (s *Submission) Cancel() {
	for s.next = range s.steps {
		s.skip(&s.steps[s.next])
	}
	s.reset()
}

// skip ends a step without doing it.
func (s *Submission) skip(st *step) {
	switch st.kind {
	case stepExecute:
		st.buffer.Completed(false)
	case stepSignal:
		st.payload.Pending(-1)
		st.payload.Release()
	case stepWait:
		st.payload.Release()
	case stepPresent:
		st.present.Drop()
	}
}

func (s *Submission) reset() {
	clear(s.steps)
	*s = Submission{steps: s.steps[:0]}
	submissions.Put(s)
}

var submissions = sync.Pool{New: func() any { return new(Submission) }}

// NewSubmission returns an empty submission, which ends with Queue.Submit or Cancel.
func NewSubmission() *Submission { return submissions.Get().(*Submission) }

// Queue is a VkQueue.
type Queue struct {
	// Journaled is how the journal names the queue. Set it before the first Submit.
	Journaled journal.Object
	// Line is the queue for Device.Order, nil without one.
	Line *order.Line

	device     *Device
	replay     replay
	note       any             // of the submission that is executed
	held       []CommandBuffer // that have ended but for commands that were put off
	unfinished uint64          // the number of the last submission of which that is so
	submitted  atomic.Uint64
	progress   *syncobj.Payload           // a timeline: the number of the last submission that ended
	handed     atomic.Pointer[Submission] // what the executor has left to whoever takes it first

	mu      sync.Mutex
	running bool          // somebody executes; guarded by mu, as are the submissions that wait for it
	waiting []*Submission // oldest first
}

// NewQueue returns an idle queue.
func NewQueue(d *Device) *Queue {
	q := &Queue{device: d, progress: syncobj.New(syncobj.Timeline, 0)}
	q.replay.device, q.replay.queue = d, q
	if d.Order != nil {
		q.Line = d.Order.NewLine(d.Owner)
	}
	q.replay.bound.ready(&q.replay)
	q.replay.graphics.ready(&q.replay)
	q.replay.lead()
	return q
}

// Submit takes s over and executes it after all that was submitted before.
func (q *Queue) Submit(s *Submission) {
	if o := q.device.Order; o != nil {
		s.known = o.Host()
	}
	q.mu.Lock()
	s.number = q.submitted.Add(1)
	if q.running {
		q.waiting = append(q.waiting, s)
		q.mu.Unlock()
		return
	}
	q.running = true
	q.mu.Unlock()
	if q.device.Delay != nil || !q.advance(s, false) {
		q.handOver(s)
		return
	}
	if s = q.finish(s); s != nil {
		q.handOver(s)
	}
}

// Submitted is the Note of the submission that is executed. Only Device.Watch and Device.Around may ask.
func (q *Queue) Submitted() any { return q.note }

// handOver leaves s, and all that comes after it, to the queue's goroutine or to a thread that helps.
func (q *Queue) handOver(s *Submission) {
	cores.Widen()
	q.handed.Store(s)
	go func() { q.drain(q.handed.Swap(nil)) }()
}

// Help executes on the calling thread what has been left to the queue's goroutine, if that has not begun: a thread that
// would sleep until the queue has done it spares both a wake-up. The thread has no time limit, and done says whether it
// has waited long enough; what is left then is the goroutine's.
func (q *Queue) Help(done func() bool) {
	if q.handed.Load() == nil || done() {
		return
	}
	s := q.handed.Swap(nil)
	for s != nil && !done() {
		q.advance(s, true)
		s = q.finish(s)
	}
	if s != nil {
		q.handOver(s)
	}
}

// drain executes s and then all that has been submitted meanwhile.
func (q *Queue) drain(s *Submission) {
	for s != nil {
		if q.device.Delay != nil {
			q.device.Delay()
		}
		q.advance(s, true)
		s = q.finish(s)
	}
}

// finish ends a submission and returns the next one to execute, nil when the queue is idle.
func (q *Queue) finish(s *Submission) *Submission {
	number := s.number
	s.reset()
	if len(q.held) > 0 {
		q.settleOrHold()
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	var next *Submission
	if len(q.waiting) > 0 {
		next = q.waiting[0]
		q.waiting[0] = nil
		if q.waiting = q.waiting[1:]; len(q.waiting) == 0 {
			q.waiting = nil
		}
	} else {
		q.running = false
	}
	if len(q.held) > 0 {
		q.unfinished = number
		return next
	}
	// Signalled last, so that a queue that WaitIdle finds idle does execute on the submitting thread.
	q.progressed(number)
	return next
}

// settleOrHold executes what was put off if no other submission waits, and leaves it to the next one otherwise.
func (q *Queue) settleOrHold() {
	q.mu.Lock()
	last := len(q.waiting) == 0
	q.mu.Unlock()
	if last {
		q.settle()
	} else {
		q.replay.hold()
	}
}

// progressed tells that all up to a submission has ended.
func (q *Queue) progressed(number uint64) {
	if err := q.progress.Signal(number); err != nil {
		panic(fmt.Sprintf("exec: submission %d ended out of order: %v", number, err))
	}
}

// advance does what is left of s. Without block it returns false before a step that may block or that takes
// long.
func (q *Queue) advance(s *Submission, block bool) bool {
	q.note = s.Note
	if o := q.device.Order; o != nil && !s.begun {
		s.begun = true
		o.Begin(q.Line, s.known)
	}
	if q.device.Fault != nil && s.next == 0 && !s.presents && !q.device.stopped() {
		if !block {
			return false // it may take its time
		}
		if err := q.device.Fault(q, "submit"); err != nil {
			q.device.Lost(nil, err)
		}
	}
	for ; s.next < len(s.steps); s.next++ {
		st := &s.steps[s.next]
		if q.device.stopped() {
			s.skip(st)
			continue
		}
		began := int64(0)
		if journal.On() {
			began = journal.Now()
		}
		if st.kind != stepExecute && len(q.held) > 0 {
			q.settle()
		}
		switch st.kind {
		case stepWait:
			if !st.payload.TryWait(st.value) {
				if !block {
					return false
				}
				q.await(st)
			}
			if o := q.device.Order; o != nil {
				o.Wait(q.Line, OrderKey(st.payload), OrderValue(st.payload, st.value))
			}
			if st.payload.Foreign() {
				q.device.Foreign.Add(1)
			}
			if began != 0 {
				q.journal(journal.Wait, s, st, began)
			}
			st.payload.Release()
		case stepExecute:
			if !block && (q.replay.members != nil || !immediate(st.buffer.Stream(), q.device.Resources)) {
				return false
			}
			if q.device.Begins != nil {
				q.device.Begins()
			}
			if err := q.execute(st.buffer.Stream(), st.mask); err != nil && !errors.Is(err, syncobj.ErrStopped) {
				q.device.Lost(st.buffer, err)
			}
			if began != 0 {
				q.journal(journal.Execute, s, st, began)
			}
			if len(q.replay.postponed) > 0 || len(q.held) > 0 {
				q.held = append(q.held, st.buffer)
			} else {
				st.buffer.Completed(true)
			}
		case stepSignal:
			q.signal(s, st, began)
		case stepPresent:
			st.present.Ready(q)
		}
	}
	return true
}

// signal does a step that signals; it began at a time of the journal.
func (q *Queue) signal(s *Submission, st *step, began int64) {
	if o := q.device.Order; o != nil {
		o.Signal(q.Line, OrderKey(st.payload), OrderValue(st.payload, st.value))
	}
	if began != 0 {
		q.journal(journal.Signal, s, st, began)
	}
	err := st.payload.SignalPending(st.value)
	if err != nil {
		q.device.Lost(nil, vk.Errorf(vk.ERROR_DEVICE_LOST, vk.NoVUID, "signal of a semaphore: %w", err))
	}
	st.payload.Release()
}

// OrderKey is how Device.Order knows a payload.
func OrderKey(p *syncobj.Payload) order.Key {
	k := order.Key{ID: p.ID()}
	if p.Shared() {
		k.Scope = order.Shared
	}
	return k
}

// OrderValue is the value by which Device.Order knows a signal of a payload: 0 for all but timelines.
func OrderValue(p *syncobj.Payload, value uint64) uint64 {
	if p.Kind() == syncobj.Timeline {
		return value
	}
	return 0
}

// journal tells of a step that began at a time of the journal.
func (q *Queue) journal(kind journal.Kind, s *Submission, st *step, began int64) {
	e := journal.Event{Kind: kind, Object: q.Journaled, Number: s.number, Time: began, Duration: journal.Now() - began}
	if st.payload != nil {
		e.Payload, e.Value = st.payload.ID(), OrderValue(st.payload, st.value)
		if st.payload.Kind() == syncobj.Fence {
			e.Operation = journal.OfFence
		}
	}
	journal.Emit(e)
}

// await blocks until the wait of st is done, or the device is lost.
func (q *Queue) await(st *step) {
	points := [1]syncobj.Point{{Payload: st.payload, Value: st.value}}
	for {
		err := syncobj.Wait(points[:], true, math.MaxUint64, q.device.Stop)
		switch {
		case errors.Is(err, syncobj.ErrStopped):
			return
		case err != nil:
			q.device.Lost(nil, vk.Errorf(vk.ERROR_DEVICE_LOST, vk.NoVUID, "wait for a semaphore: %w", err))
			return
		case st.payload.TryWait(st.value):
			return
		}
		// A binary semaphore that somebody else's wait was faster to take.
	}
}

// execute replays a stream. A fault, for instance in host memory that the application imported and then
// unmapped, comes back as an error.
func (q *Queue) execute(s *command.Stream, mask uint32) error {
	if mask == 0 {
		return nil
	}
	return q.guarded(s, mask)
}

// guarded runs the replay of a stream, or without one that of commands that were put off.
func (q *Queue) guarded(s *command.Stream, mask uint32) (err error) {
	before := debug.SetPanicOnFault(true)
	floats := ieee.Enter()
	defer func() {
		if v := recover(); v != nil {
			err = q.replay.failed(vk.Errorf(vk.ERROR_DEVICE_LOST, vk.NoVUID, "panic: %v", v))
		}
		e := q.replay.release()
		q.replay.bound.release()
		q.replay.graphics.release()
		q.replay.pass = nil
		if q.replay.members != nil {
			e = q.replay.leaveMembers(e)
		}
		if err == nil && e != nil {
			err = q.replay.failed(e)
		}
		ieee.Leave(floats)
		debug.SetPanicOnFault(before)
	}()
	if s == nil {
		return q.replay.catchUp()
	}
	return q.replay.run(s, mask)
}

// WaitIdle waits until all that has been submitted is executed. It fails with syncobj.ErrStopped when the
// device is lost.
func (q *Queue) WaitIdle() error { return WaitIdle([]*Queue{q}) }

// WaitIdle waits until the queues, which are of one device, are idle. It fails with syncobj.ErrStopped when
// the device is lost.
func WaitIdle(queues []*Queue) error {
	if len(queues) == 0 {
		return nil
	}
	points := make([]syncobj.Point, len(queues))
	for i, q := range queues {
		points[i] = syncobj.Point{Payload: q.progress, Value: q.submitted.Load()}
	}
	for i, q := range queues {
		q.Help(func() bool { return q.progress.Value() >= points[i].Value })
	}
	device := queues[0].device
	if err := syncobj.Wait(points, true, math.MaxUint64, device.Stop); err != nil {
		return err
	}
	if o := device.Order; o != nil {
		for _, q := range queues {
			o.Idle(q.Line)
		}
	}
	if device.stopped() { // the queues are idle because they gave up
		return syncobj.ErrStopped
	}
	return nil
}

// Close waits for the queue's goroutine to leave once Device.Stop is signalled, and frees the queue. Nothing
// is submitted any more.
func (q *Queue) Close() {
	points := [1]syncobj.Point{{Payload: q.progress, Value: q.submitted.Load()}}
	// Nothing interrupts this wait, and nothing needs to: a stopped queue does not block.
	if err := syncobj.Wait(points[:], true, math.MaxUint64, nil); err != nil {
		panic(fmt.Sprintf("exec: a stopped queue does not end: %v", err))
	}
	if o := q.device.Order; o != nil {
		o.Idle(q.Line)
	}
	q.progress.Release()
}
