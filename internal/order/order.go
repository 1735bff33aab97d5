// Package order finds accesses to the same bytes that nothing orders: by vector clocks over the synchronisation that
// the driver sees, also between processes that share memory.
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
//  6. What the host of one process knows, the hosts of all know from then on: it may have told them, by a pipe or a
//     file. A sync file that is signalled tells all hosts: anybody may poll it.
//
// What the driver doesn't see, such as a sync file of another driver, is taken for ordering everything that came before
// it in time: this package never takes correct programs for wrong ones because of what it can't know.
//
// history.go has what is remembered of accesses, share.go how processes learn of each other. Without the latter, waits
// for what other processes can signal are of what the driver doesn't see.
package order

import (
	"maps"
	"math"
	"slices"
	"sync"

	"golang.org/x/sys/unix"
)

// Agent is who acts. Agents of different processes differ.
type Agent uint64

// agentBits is how many low bits of agents tell those of one process apart.
const agentBits = 24

// Clock has, for each agent, the first of its epochs that is not known to have ended.
type Clock map[Agent]uint64

// Known is what an agent knew at some time to have ended.
type Known struct {
	clock Clock
	floor uint64 // and so has every access with a number below this one
}

// join makes k know what o knows.
func (k *Known) join(o Known) {
	for a, epoch := range o.clock {
		k.clock[a] = max(k.clock[a], epoch)
	}
	k.floor = max(k.floor, o.floor)
}

// Line is what an agent does, in its order. Its methods are those of the tracker that made it.
type Line struct {
	agent Agent
	owner Agent // for whom
	epoch uint64
	seen  Known // what is ordered before what the agent does next
}

// Scope says who can signal what a Key names.
type Scope uint8

// The scopes of keys.
const (
	Local    Scope = iota // this process; numbers of payloads that are gone come back
	Shared                // every process that holds the payload: the number is its file's
	SyncFile              // a pipe that is signalled once; the number is the pipe's
)

// Key names the payload of a fence, a semaphore or an event, or a sync file.
type Key struct {
	Scope Scope
	ID    uint64
}

// Memory names memory: the number is the payload's, in all processes that hold it.
type Memory struct {
	ID     uint64
	Shared bool // other processes may hold it
}

// Kind tells apart accesses that are ordered, or need no order, among themselves.
type Kind uint8

// The kinds of accesses.
const (
	Plain   Kind = iota
	Atomic       // by shaders with atomic instructions: nobody knows whether others did it
	Marker       // of vkCmdWriteBufferMarkerAMD: those of a queue are written in the order of their submission
	Release      // of ownership to what is outside of the owner; no access
	Acquire      // of ownership from there; no access
	Taken        // the owner may have written, and so owns the bytes without an Acquire; no access
	kinds
)

// Way is how an agent uses memory.
type Way uint8

// The ways.
const (
	ByQueue      Way = iota
	ByInvalidate     // a host asks for bytes
	ByHostCopy       // a host copies from or to an image
	ways
)

// Access is something that an agent does to bytes of memory.
type Access struct {
	Begin, End uint64 // offsets in the payload
	Writes     bool
	May        bool // it is not known whether it happens
	Kind       Kind
	Way        Way
	Command    uint64 // accesses of one command don't conflict with each other
	Family     uint32 // of a Release or an Acquire: the queue family that stands for what is outside
	Old, New   uint32 // of a Release or an Acquire: image layouts; 0 and 0 for buffers
	Text       string // for who reports it
	Process    string // whose access it was; empty for this process
}

// record is an access with its place in the order.
type record struct {
	Access
	agent  Agent
	owner  Agent // for whom; 0 for a host
	epoch  uint64
	number uint64 // of all accesses: nanoseconds of CLOCK_MONOTONIC, which all processes share
}

// point is a signal that was given.
type point struct {
	value  uint64
	number uint64 // when, as of accesses
	known  Known
}

// Bounds of what is remembered: what is older is forgotten, and a conflict with it not found.
const (
	mostRecords  = 4096 // of a payload
	mostPoints   = 256  // of a timeline
	mostMemories = 1024 // that other processes use and this one doesn't
	mostKeys     = 8192 // that other processes may signal
)

// Tracker knows the agents of a process and what they have done. Its methods may be called from any goroutine.
type Tracker struct {
	mu       sync.Mutex
	agents   Agent
	last     uint64 // number
	host     *Line
	points   map[Key][]point
	memories map[uint64]*history
	lost     map[uint64]uint64 // by memory: the number of the last access that is not remembered and was not ordered
	exported map[Key][]Key     // the sync files of payloads that were not signalled yet
	imported map[Key]Key       // the sync file whose signal a payload waits for
	same     map[uint64]uint64
	handed   map[uint64]bool // memory of which somebody has released or acquired something
	foreign  int             // keys of points that are not Local
	share    *share          // nil: with nobody
	refused  bool            // there is no sharing with what others have written
}

// NewTracker makes a tracker. first is below the numbers of its agents: trackers whose agents must differ have numbers
// that differ above the lowest 24 bits, which are 0.
func NewTracker(first Agent) *Tracker {
	t := &Tracker{agents: first, points: map[Key][]point{}, memories: map[uint64]*history{}, lost: map[uint64]uint64{},
		exported: map[Key][]Key{}, imported: map[Key]Key{}, same: map[uint64]uint64{}, handed: map[uint64]bool{}}
	t.host = t.NewLine(0)
	return t
}

// NewLine makes an agent that acts for an owner.
func (t *Tracker) NewLine(owner Agent) *Line {
	return &Line{agent: t.NewOwner(), owner: owner, seen: Known{clock: Clock{}}}
}

// NewOwner returns the number of one more owner of memory, that is of a Vulkan instance.
func (t *Tracker) NewOwner() Agent {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.agents++
	return t.agents
}

// number returns a number for what happens now, which is above all that were given here.
func (t *Tracker) number() uint64 {
	var now unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_MONOTONIC, &now) // the clock exists
	t.last = max(t.last+1, uint64(now.Nano()))
	return t.last
}

// release ends the line's epoch and returns what it knows, with all that it did.
func (l *Line) release() Known {
	l.epoch++
	c := maps.Clone(l.seen.clock)
	c[l.agent] = l.epoch
	return Known{c, l.seen.floor}
}

// Host returns what the host knows to have ended, for a submission.
func (t *Tracker) Host() Known {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.learn()
	return t.host.release()
}

// Begin makes a line begin a submission that the host made when it knew k.
func (t *Tracker) Begin(l *Line, k Known) {
	t.mu.Lock()
	defer t.mu.Unlock()
	l.seen.join(k)
}

// Knows returns what a line knows.
func (t *Tracker) Knows(l *Line) Known {
	t.mu.Lock()
	defer t.mu.Unlock()
	return Known{maps.Clone(l.seen.clock), l.seen.floor}
}

// Swap makes a line know k and nothing else, and returns what it knew. What k is made of is the line's then.
func (t *Tracker) Swap(l *Line, k Known) Known {
	t.mu.Lock()
	defer t.mu.Unlock()
	was := l.seen
	l.seen = k
	return was
}

// Barrier orders what a line did before what it will do.
func (t *Tracker) Barrier(l *Line) {
	t.mu.Lock()
	defer t.mu.Unlock()
	l.epoch++
	l.seen.clock[l.agent] = l.epoch
}

// Fresh tells that a payload is new, though one that is gone may have had its key. It has been signalled, with value,
// by nobody if signalled; value is 0 for all but timelines.
func (t *Tracker) Fresh(k Key, value uint64, signalled bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.forget(k)
	delete(t.exported, k)
	delete(t.imported, k)
	if signalled {
		t.put(k, point{value, t.number(), Known{clock: Clock{}}})
		t.tellPoint(k)
	}
}

// forget drops what is known of a payload's signals.
func (t *Tracker) forget(k Key) {
	if _, ok := t.points[k]; ok && k.Scope != Local {
		t.foreign--
	}
	delete(t.points, k)
}

// put notes a signal. Those of timelines are kept in the order of their values.
func (t *Tracker) put(k Key, p point) {
	if k.Scope != Local && t.share == nil {
		return // others signal it, too, and of them nothing is known
	}
	list, ok := t.points[k]
	if !ok && k.Scope != Local {
		if t.foreign >= mostKeys {
			for other := range t.points {
				if other.Scope != Local {
					t.forget(other)
					break
				}
			}
		}
		t.foreign++
	}
	if p.value == 0 && len(list) == 1 && list[0].value == 0 {
		if list[0].number <= p.number {
			list[0] = p
		}
		return
	}
	at := len(list)
	for at > 0 && list[at-1].value > p.value {
		at--
	}
	list = slices.Insert(list, at, p)
	if len(list) > mostPoints {
		list = slices.Delete(list, 0, 1)
	}
	t.points[k] = list
}

// Signal is a line's signal of a fence, an event or a semaphore with a payload; value is 0 for all but timelines. Call
// it before the payload is signalled.
func (t *Tracker) Signal(l *Line, k Key, value uint64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.signal(l, k, value)
}

// HostSignal is Signal by the host.
func (t *Tracker) HostSignal(k Key, value uint64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.signal(t.host, k, value)
}

func (t *Tracker) signal(l *Line, k Key, value uint64) {
	p := point{value, 0, l.release()}
	if k.Scope == Shared {
		t.learn()
	}
	if n := len(t.points[k]); n > 0 && (value > 0 || k.Scope == Shared) {
		// Who waits for a value has waited for all before it. Who waits for a signal that is waited for once does so after
		// who waited for the one before it.
		p.known.join(t.points[k][n-1].known)
	}
	p.number = t.number()
	t.put(k, p)
	t.tellPoint(k)
	if files := t.exported[k]; len(files) > 0 {
		delete(t.exported, k)
		t.signalFiles(files, p)
	}
}

// signalFiles signals sync files. From now on anybody may have polled them.
func (t *Tracker) signalFiles(files []Key, p point) {
	for _, f := range files {
		t.put(f, p)
		t.tellPoint(f)
	}
	t.host.seen.join(p.known)
	t.tellHost()
}

// Export tells that a payload's signal, which may have been given, signals a sync file as well.
func (t *Tracker) Export(k, file Key) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if from, ok := t.imported[k]; ok {
		t.learn()
		if k = from; k == file || len(t.points[k]) == 0 {
			return // it is the same file, or nobody knows of its signal
		}
	}
	if list := t.points[k]; len(list) > 0 {
		t.signalFiles([]Key{file}, list[len(list)-1])
		return
	}
	t.exported[k] = append(t.exported[k], file)
}

// Import tells that a payload, which is fresh, is signalled by a sync file.
func (t *Tracker) Import(k, file Key) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.imported[k] = file
}

// Wait is a line's wait for a payload, which has ended.
func (t *Tracker) Wait(l *Line, k Key, value uint64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.wait(l, k, value)
}

// HostWait is Wait by the host.
func (t *Tracker) HostWait(k Key, value uint64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.wait(t.host, k, value)
	t.tellHost()
}

func (t *Tracker) wait(l *Line, k Key, value uint64) {
	if file, ok := t.imported[k]; ok {
		k = file
	}
	if k.Scope != Local {
		t.learn()
	}
	for i, p := range t.points[k] {
		if p.value >= value {
			for _, before := range t.points[k][:i+1] {
				l.seen.join(before.known)
			}
			return
		}
	}
	l.seen.floor = t.number()
}

// Idle tells the host that a line has nothing left to do.
func (t *Tracker) Idle(l *Line) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.host.seen.join(l.release())
	t.tellHost()
}

// Do notes an access and returns one that conflicts with it, nil if there is none.
func (t *Tracker) Do(l *Line, m Memory, a Access) *Access {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.do(l, m, a)
}

// HostDo is Do by the host, for an access that ends before the next call of Host.
func (t *Tracker) HostDo(m Memory, a Access) *Access {
	t.mu.Lock()
	defer t.mu.Unlock()
	found := t.do(t.host, m, a)
	if m.Shared {
		t.host.seen.join(t.host.release())
		t.tellHost()
	}
	return found
}

func (t *Tracker) do(l *Line, m Memory, a Access) *Access {
	r := record{a, l.agent, l.owner, l.epoch, t.number()}
	if m.Shared {
		t.tellAccess(m.ID, &r) // before others are read: of two accesses at a time, one sees the other
		t.learn()
	}
	id := t.canonical(m.ID)
	h := t.history(id)
	var found *Access
	for i := h.next(0, a.Begin, a.End); i < len(h.places); i = h.next(i+1, a.Begin, a.End) {
		o := &h.places[i]
		ordered := l.seen.clock[o.agent] > o.epoch || o.number < l.seen.floor
		if !ordered && a.conflicts(&o.Access, o.agent == l.agent) && (found == nil || found.May && !o.May) {
			one := o.Access
			found = &one
		}
		if ordered && r.replaces(o) {
			h.drop(i)
		}
	}
	t.remember(id, h, &r)
	return found
}

// replaces says whether nobody needs to know of o any more, which is ordered before r. Whoever comes after a write
// comes after what was ordered before that. And whoever does not come after a read of an agent does not come after its
// later reads.
func (r *record) replaces(o *record) bool {
	if !o.Kind.isAccess() || o.Begin < r.Begin || r.End < o.End {
		return false
	}
	again := !r.Writes && !o.Writes && r.agent == o.agent && r.Kind == o.Kind && (o.May || !r.May)
	return again || r.Writes && !r.May
}

// isAccess says whether something of the kind is an access.
func (k Kind) isAccess() bool { return k < Release }

// conflicts says whether two accesses must be ordered that have bytes in common.
func (a *Access) conflicts(b *Access, sameAgent bool) bool {
	switch {
	case !a.Writes && !b.Writes, sameAgent && a.Command == b.Command, !a.Kind.isAccess(), !b.Kind.isAccess():
		return false
	case a.Kind == Atomic && b.Kind == Atomic, a.Kind == Marker && b.Kind == Marker && sameAgent:
		return false
	}
	return true
}

// canonical is the number under which the accesses of memory are noted.
func (t *Tracker) canonical(id uint64) uint64 {
	if other, ok := t.same[id]; ok {
		return other
	}
	return id
}

// Same tells that two numbers name the same memory, as those of a payload and of a dma-buf of its pages. Accesses are
// noted under the first.
func (t *Tracker) Same(id, other uint64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if id != other && t.same[other] != id {
		t.same[other] = id
		t.tellSame(id, other)
	}
}

// Reveal tells others what has been done to memory that they may get from now on.
func (t *Tracker) Reveal(id uint64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, r := range t.memories[t.canonical(id)].all() {
		if r.Process == "" {
			t.tellAccess(id, r)
		}
	}
}

// Blur tells that agents do to memory what nobody knows: Written is true for all of it from now on.
func (t *Tracker) Blur(memory uint64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.lost[memory] = math.MaxUint64
}

// Written says whether an agent has written to a byte range since an access number, or may have.
func (t *Tracker) Written(memory, begin, end, since uint64) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.lost[memory] > since {
		return true
	}
	for _, r := range t.memories[memory].all() {
		if (r.Writes || r.Kind == Taken) && r.number > since && r.Begin < end && begin < r.End {
			return true
		}
	}
	return false
}

// Number is one that is above those of all accesses so far.
func (t *Tracker) Number() uint64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.number()
}

// Forget drops what is known of the accesses of memory that is gone.
func (t *Tracker) Forget(id uint64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.memories, id)
	delete(t.lost, id)
	delete(t.handed, id)
}
