// Package order finds accesses to the same bytes that nothing orders: by vector clocks over the synchronisation that
// the driver sees.
//
// An agent is whoever acts: a queue, or the host's side of the process, all of its threads together. An agent's time
// goes in epochs. What an agent does is unordered within an epoch; a barrier ends the epoch and orders all of it before
// what follows. A [Clock] says for each agent which epochs have ended before something. Signals carry clocks from agent
// to agent: of semaphores, fences, events and submissions.
//
// The rules, from the chapter "Synchronization and Cache Control":
//
//  1. A pipeline barrier, or a wait for an event, orders what the queue did before, up to the event's set, before what
//     it does after. Stages and access masks are not looked at.
//  2. The signal of a semaphore or a fence comes after all that the queue did before it, and, for what the queue does
//     later, orders nothing.
//  3. A wait for a semaphore comes before all that the queue does later.
//  4. A submission comes after all that the host knew to be ended.
//  5. A wait of the host, or a look at a fence or semaphore that says it is signalled, tells the host what the signal's
//     clock holds.
//
// What the driver doesn't see, such as a sync file of another driver, is taken for ordering everything that came before
// it in time: this package never takes correct programs for wrong ones because of what it can't know.
package order

import (
	"maps"
	"sync"
)

// Agent is who acts. Agents of different processes differ.
type Agent uint64

// Clock has, for each agent, the first of its epochs that is not known to have ended.
type Clock map[Agent]uint64

// join makes c know what o knows.
func (c Clock) join(o Clock) {
	for a, epoch := range o {
		c[a] = max(c[a], epoch)
	}
}

// Line is what an agent does, in its order. Its methods are those of the tracker that made it.
type Line struct {
	agent Agent
	epoch uint64
	seen  Clock  // what is ordered before what the agent does next
	floor uint64 // so is every access with a number below this one
}

// Access is something that an agent does to bytes of memory.
type Access struct {
	Begin, End uint64 // offsets in the payload
	Writes     bool
	Command    uint64 // accesses of one command don't conflict with each other
	What       any    // for who reports it
}

// record is an access with its place in the order.
type record struct {
	Access
	agent  Agent
	epoch  uint64
	number uint64 // of all accesses
}

// point is a signal that was given.
type point struct {
	value uint64
	clock Clock
}

// Bounds of what is remembered: what is older is forgotten, and a conflict with it not found.
const (
	mostRecords = 4096 // of a payload
	mostPoints  = 256  // of a timeline
)

// Tracker knows the agents of a process and what they have done. Its methods may be called from any goroutine.
type Tracker struct {
	mu       sync.Mutex
	agents   Agent
	numbers  uint64
	host     *Line
	points   map[uint64][]point
	memories map[uint64][]record
}

// NewTracker makes a tracker. first is the number of its first agent: trackers whose agents must differ have numbers
// far apart.
func NewTracker(first Agent) *Tracker {
	t := &Tracker{agents: first, numbers: 1, points: map[uint64][]point{}, memories: map[uint64][]record{}}
	t.host = t.NewLine()
	return t
}

// NewLine makes an agent.
func (t *Tracker) NewLine() *Line {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.agents++
	return &Line{agent: t.agents, seen: Clock{}}
}

// release ends the line's epoch and returns a clock that knows all that it did.
func (l *Line) release() Clock {
	l.epoch++
	c := maps.Clone(l.seen)
	c[l.agent] = l.epoch
	return c
}

// Known is what an agent knew at some time.
type Known struct {
	clock Clock
	floor uint64
}

// Host returns what the host knows to have ended, for a submission.
func (t *Tracker) Host() Known {
	t.mu.Lock()
	defer t.mu.Unlock()
	return Known{t.host.release(), t.host.floor}
}

// Begin makes a line begin a submission that the host made when it knew k.
func (t *Tracker) Begin(l *Line, k Known) {
	t.mu.Lock()
	defer t.mu.Unlock()
	l.seen.join(k.clock)
	l.floor = max(l.floor, k.floor)
}

// Barrier orders what a line did before what it will do.
func (t *Tracker) Barrier(l *Line) {
	t.mu.Lock()
	defer t.mu.Unlock()
	l.epoch++
	l.seen[l.agent] = l.epoch
}

// Signal is a line's signal of a fence, an event or a semaphore with a payload; value is 0 for all but timelines. Call
// it before the payload is signalled.
func (t *Tracker) Signal(l *Line, payload, value uint64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.signal(l, payload, value)
}

// HostSignal is Signal by the host.
func (t *Tracker) HostSignal(payload, value uint64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.signal(t.host, payload, value)
}

func (t *Tracker) signal(l *Line, payload, value uint64) {
	c := l.release()
	if value == 0 {
		t.points[payload] = []point{{0, c}}
		return
	}
	list := t.points[payload]
	if n := len(list); n > 0 {
		c.join(list[n-1].clock) // who waits for a value has waited for all before it
	}
	if len(list) >= mostPoints {
		list = list[1:]
	}
	t.points[payload] = append(list, point{value, c})
}

// Wait is a line's wait for a payload, which has ended.
func (t *Tracker) Wait(l *Line, payload, value uint64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.wait(l, payload, value)
}

// HostWait is Wait by the host.
func (t *Tracker) HostWait(payload, value uint64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.wait(t.host, payload, value)
}

// HostKnowsAll tells that the host has waited for something that the tracker knows nothing of.
func (t *Tracker) HostKnowsAll() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.host.floor = t.numbers + 1
}

func (t *Tracker) wait(l *Line, payload, value uint64) {
	for _, p := range t.points[payload] {
		if p.value >= value {
			l.seen.join(p.clock)
			return
		}
	}
	l.floor = t.numbers + 1
}

// Idle tells the host that a line has nothing left to do.
func (t *Tracker) Idle(l *Line) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.host.seen.join(l.release())
}

// Do notes an access and returns one that conflicts with it, nil if there is none.
func (t *Tracker) Do(l *Line, memory uint64, a Access) *Access {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.do(l, memory, a)
}

// HostDo is Do by the host.
func (t *Tracker) HostDo(memory uint64, a Access) *Access {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.do(t.host, memory, a)
}

func (t *Tracker) do(l *Line, memory uint64, a Access) *Access {
	t.numbers++
	list := t.memories[memory]
	kept := list[:0]
	var found *Access
	for _, r := range list {
		ordered := l.seen[r.agent] > r.epoch || r.number < l.floor
		overlaps := r.Begin < a.End && a.Begin < r.End
		if overlaps && !ordered && found == nil && (r.Writes || a.Writes) && (r.Command != a.Command || r.agent != l.agent) {
			one := r.Access
			found = &one
		}
		// Whoever comes after a write comes after what was ordered before that.
		if !(a.Writes && ordered && a.Begin <= r.Begin && r.End <= a.End) {
			kept = append(kept, r)
		}
	}
	if len(kept) >= mostRecords {
		kept = kept[1:]
	}
	t.memories[memory] = append(kept, record{a, l.agent, l.epoch, t.numbers})
	return found
}

// Written says whether an agent has written to a byte range since an access number.
func (t *Tracker) Written(memory, begin, end, since uint64) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, r := range t.memories[memory] {
		if r.Writes && r.number > since && r.Begin < end && begin < r.End {
			return true
		}
	}
	return false
}

// Number is that of the last access.
func (t *Tracker) Number() uint64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.numbers
}

// Forget drops what is known of a payload's accesses.
func (t *Tracker) Forget(memory uint64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.memories, memory)
}

// ForgetSignals drops what is known of a payload's signals.
func (t *Tracker) ForgetSignals(payload uint64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.points, payload)
}
