package icd

import (
	"bytes"
	"cmp"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"farside/internal/command"
	"farside/internal/exec"
	"farside/internal/finding"
	"farside/internal/order"
	"farside/internal/unlike"
	"farside/internal/vk"
	"farside/memory"
)

// Strictness "async". Queues wait a random time before each submission and shuffle commands, so that what nothing
// orders happens in another order than the application is used to. And every access of a command is held against all
// others: see package order.
//
// What copies and clears of buffers do is known before they do it, and so is which subresources of an image a command
// reads. What a shader reads is not known: a buffer or an image that it is given and does not change counts as read,
// for a finding of its own, which is a warning. What a shader, or a command on images, has written is what has changed.
// So that this is known, commands of all queues run one at a time, and of all processes those that use the same memory.

// mostDelay is how long a queue waits at most before a submission.
const mostDelay = 2 * time.Millisecond

// mostDelays is how long the queues of a device wait together without a pause: what they have waited comes back with an
// eighth of the time that passes. Short waits take milliseconds on a busy machine; what counts is how long they took.
const mostDelays = 20 * time.Millisecond

// mostCompared bounds what is copied to see what a command changes, for each access, and what the host may write in
// each mapping: bytes. Beyond it nothing is found.
const mostCompared = 64 << 20

// async is what the process' devices share, since they may share memory: payloads have numbers that all of it knows.
var async struct {
	once    sync.Once
	seed    uint64
	tracker *order.Tracker
	devices atomic.Int32 // that live: with the last one, other processes are forgotten
	sharing sync.Once    // that the first attempt is to be told, and undone at exit

	command sync.Mutex // held while a command runs

	// given is held while one of the threads that run a shader looks at what the shader is given, before any of them can
	// write there.
	given sync.Mutex
	seen  map[gift]bool // what the command under way has been given

	time atomic.Uint64 // of shots

	mu       sync.Mutex
	random   *rand.Rand // of orders
	commands uint64
	changes  []change // that the command under way may make
	lasting  []change // that commands of queues may make until they say that these have ended

	alone   sync.Mutex
	claimed map[*memory.Payload]bool // by the command under way: whether no other process' commands use it meanwhile
}

// gift is what an access of a shader, or of a command that changes an image, is to.
type gift struct {
	objectType           vk.ObjectType
	handle, offset, size uint64
}

// change is memory that a command may change, and what was there before.
type change struct {
	device *device
	access exec.Access
	memory *deviceMemory
	span   memory.Span
	before []byte
	may    bool // others may make the change
}

// beginAsync gives the device's queues what async needs.
func (d *device) beginAsync() {
	async.once.Do(func() {
		async.seen = map[gift]bool{}
		seed := d.physical.settings.StrictSeed
		if seed == 0 {
			seed = unlike.Uint64()
		}
		async.seed, async.random = seed, rand.New(rand.NewPCG(seed, 0))
		async.tracker = order.NewTracker(order.Agent(unlike.Uint64() &^ (1<<24 - 1)))
		logger.Info("queues wait at random", "FARSIDE_STRICT_SEED", seed)
	})
	d.exec.Order = async.tracker
	d.exec.Owner = d.physical.instance.asyncOwner.get()
	d.exec.Transferred = d.transferred
	d.exec.Around = aroundCommand
	d.exec.Delay = (&delays{left: mostDelays, last: time.Now(), random: rand.New(rand.NewPCG(async.seed, 1))}).wait
	d.exec.Shuffle = func(n int) int {
		async.mu.Lock()
		defer async.mu.Unlock()
		return async.random.IntN(n)
	}
}

// delays is how long the queues of a device may still wait. How often they are asked depends on when work comes, so
// they have random numbers of their own: the order of commands follows from the seed.
type delays struct {
	mu     sync.Mutex
	random *rand.Rand
	left   time.Duration // below 0 where waits have taken longer than they were asked to
	last   time.Time     // when left grew
}

// wait waits a random time, as far as there is some left.
func (d *delays) wait() {
	delay := d.take(time.Now())
	if delay == 0 {
		return
	}
	began := time.Now()
	time.Sleep(delay)
	d.mu.Lock()
	d.left -= time.Since(began) - delay
	d.mu.Unlock()
}

// take takes a random time from what is left.
func (d *delays) take(now time.Time) time.Duration {
	d.mu.Lock()
	defer d.mu.Unlock()
	delay := time.Duration(d.random.Int64N(int64(mostDelay)))
	d.left = min(d.left+now.Sub(d.last)/8, mostDelays)
	d.last = now
	if delay > d.left {
		return 0
	}
	d.left -= delay
	return delay
}

// aroundCommand keeps all other commands away from one, and notes afterwards what it has changed.
func aroundCommand(q *exec.Queue) func() {
	async.command.Lock()
	async.mu.Lock()
	async.commands++
	for i := range async.lasting {
		if c := &async.lasting[i]; c.access.Queue != q {
			c.may = true
		}
	}
	async.mu.Unlock()
	return func() {
		defer async.command.Unlock()
		defer disclaim()
		async.mu.Lock()
		list, number := async.changes, async.commands
		async.changes = nil
		async.mu.Unlock()
		clear(async.seen) // nobody runs the command any more
		for i := range list {
			list[i].note(q, number)
		}
	}
}

// watchAsync is told by queues of what a command is about to do.
func (d *device) watchAsync(a *exec.Access) {
	if a.Addressed != nil {
		async.tracker.Blur(a.Addressed.ID())
		return
	}
	if a.Ends {
		endLasting(a.Queue)
		return
	}
	if a.Shader || a.Writes && a.Type != vk.OBJECT_TYPE_BUFFER {
		d.watchChange(a)
		return
	}
	objects, parts := d.spans(a)
	if len(parts) == 0 {
		return
	}
	async.mu.Lock()
	number := async.commands
	async.mu.Unlock()
	for _, p := range parts {
		m := p.memory
		if m.orderKey().Shared {
			claim(m.payload)
		}
		for _, span := range p.spans {
			if x := d.hostWrote(a, m, span); x.Size > 0 {
				d.tellHostWrote(a, m, objects, x)
			}
			if a.Reads {
				d.checkOwner(a, m, objects, span, false)
			}
			d.tell(d.do(a, m, objects, span, a.Writes, false, number))
		}
	}
}

// endLasting notes what a queue's lasting accesses have changed. Its command is still under way.
func endLasting(q *exec.Queue) {
	var list []change
	async.mu.Lock()
	number := async.commands
	async.lasting = slices.DeleteFunc(async.lasting, func(c change) bool {
		if c.access.Queue == q {
			list = append(list, c)
		}
		return c.access.Queue == q
	})
	async.mu.Unlock()
	for i := range list {
		list[i].note(q, number)
	}
}

// watchChange keeps what lies where a command may write what is not known before.
func (d *device) watchChange(a *exec.Access) {
	var found []part // that the host wrote
	objects, parts := d.spans(a)
	if len(parts) == 0 {
		return
	}
	async.given.Lock()
	if g := (gift{a.Type, a.Handle, a.Offset, a.Size}); !a.Shader || !async.seen[g] {
		async.seen[g] = true
		for _, p := range parts {
			for _, span := range p.spans {
				if a.Shader && lasts(a.Queue, p.memory, span) {
					continue // of an attachment: what a draw does to it is the render pass's
				}
				found = append(found, part{p.memory, d.keep(a, p.memory, span)})
			}
		}
	}
	async.given.Unlock()
	for _, p := range found { // with no lock held: who listens may call the driver
		for _, x := range p.spans {
			d.tellHostWrote(a, p.memory, objects, x)
		}
	}
}

// keep keeps what lies in a span of memory, and returns the first bytes there that the host has written, if any.
func (d *device) keep(a *exec.Access, m *deviceMemory, span memory.Span) (wrote []memory.Span) {
	all, err := m.payload.Bytes()
	if err != nil {
		return nil
	}
	if span.Size > mostCompared || span.Offset+span.Size > uint64(len(all)) {
		async.tracker.Blur(m.payload.ID())
		return nil
	}
	if a.Reads {
		if x := d.hostWrote(a, m, span); x.Size > 0 {
			wrote = []memory.Span{x}
		}
	}
	shared := m.orderKey().Shared
	may := shared && (a.Lasts || !claim(m.payload)) || a.Shader && m.open()
	c := change{d, *a, m, span, bytes.Clone(all[span.Offset : span.Offset+span.Size]), may}
	async.mu.Lock()
	if a.Lasts {
		async.lasting = append(async.lasting, c)
	} else {
		async.changes = append(async.changes, c)
	}
	async.mu.Unlock()
	return wrote
}

// lasts says whether an access that lasts on a queue is to some of these bytes.
func lasts(q *exec.Queue, m *deviceMemory, s memory.Span) bool {
	async.mu.Lock()
	defer async.mu.Unlock()
	return slices.ContainsFunc(async.lasting, func(c change) bool { return c.access.Queue == q && c.meets(m, s) })
}

// meets says whether the change is to some of these bytes.
func (c *change) meets(m *deviceMemory, s memory.Span) bool {
	return c.memory == m && c.span.Offset < s.Offset+s.Size && s.Offset < c.span.Offset+c.span.Size
}

// changing says whether the command under way may have written to some bytes already.
func changing(m *deviceMemory, s memory.Span) bool {
	async.mu.Lock()
	defer async.mu.Unlock()
	meets := func(c change) bool { return c.meets(m, s) }
	return slices.ContainsFunc(async.changes, meets) || slices.ContainsFunc(async.lasting, meets)
}

// note tells the order what a command has changed, or that it may have read what it did not change.
func (c *change) note(q *exec.Queue, number uint64) {
	all, err := c.memory.payload.Bytes()
	if err != nil {
		return
	}
	objects, _ := c.device.accessed(&c.access)
	now := all[c.span.Offset : c.span.Offset+c.span.Size]
	changed := !bytes.Equal(now, c.before)
	if c.memory.external() && (changed || !c.access.Shader) {
		c.takes()
	}
	if !changed {
		if c.access.Reads {
			c.device.checkOwner(&c.access, c.memory, objects, c.span, true)
			c.device.tell(c.device.do(&c.access, c.memory, objects, c.span, false, true, number))
		}
		return
	}
	list, complete := differences(c.before, now)
	if !complete {
		c.takes()
	}
	var first conflict
	for _, s := range list {
		s.Offset += c.span.Offset
		if found := c.device.do(&c.access, c.memory, objects, s, true, c.may, number); first.was == nil {
			first = found
		}
	}
	c.device.tell(first)
}

// mostDifferences is how many ranges of one access are noted.
const mostDifferences = 256

// differences are the ranges in which two slices of one length differ. Where there are more than some hundred they are
// some of them, from all over, and all is false: what is noted as written has been written.
func differences(a, b []byte) (list []memory.Span, all bool) {
	const word = 64
	every, n := uint64(1), uint64(0) // one in so many is taken
	for at := 0; at < len(a); {
		end := min(at+word, len(a))
		if bytes.Equal(a[at:end], b[at:end]) {
			at = end
			continue
		}
		for ; at < end; at++ {
			if a[at] == b[at] {
				continue
			}
			if k := len(list); k > 0 && list[k-1].Offset+list[k-1].Size == uint64(at) {
				list[k-1].Size++
				continue
			}
			if at > 0 && a[at-1] != b[at-1] {
				continue // of a range that was not taken
			}
			if n++; (n-1)%every == 0 {
				list = append(list, memory.Span{Offset: uint64(at), Size: 1})
			}
		}
		if len(list) > 2*mostDifferences {
			every *= 2
			for i := range list {
				if i%2 == 0 {
					list[i/2] = list[i]
				}
			}
			list = list[:(len(list)+1)/2]
		}
	}
	return list, every == 1
}

// orderKey is how the order knows the memory.
func (m *deviceMemory) orderKey() order.Memory {
	return order.Memory{ID: m.payload.ID(), Shared: m.revealed.Load()}
}

// open says whether others than queues of this process may write to the memory: other processes, peers of the fabric.
func (m *deviceMemory) open() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.region != nil || m.revealed.Load()
}

// longestClaim is how long a command waits for other processes' commands on the same memory.
const longestClaim = 20 * time.Millisecond

// claim keeps commands of other processes away from memory until the command under way has ended, and says whether it
// can: not if they take long. The lock is one of the process, and goes with it.
func claim(p *memory.Payload) bool {
	async.alone.Lock()
	defer async.alone.Unlock()
	if got, ok := async.claimed[p]; ok {
		return got
	}
	raw, _ := p.FD()
	lock := unix.Flock_t{Type: unix.F_WRLCK, Len: 1}
	var err error
	for began := time.Now(); ; time.Sleep(100 * time.Microsecond) {
		err = unix.FcntlFlock(uintptr(raw), unix.F_SETLK, &lock)
		if err != unix.EAGAIN && err != unix.EACCES || time.Since(began) > longestClaim {
			break
		}
	}
	if async.claimed == nil {
		async.claimed = map[*memory.Payload]bool{}
	}
	async.claimed[p.Retain()] = err == nil
	return err == nil
}

// disclaim ends what claim has begun.
func disclaim() {
	async.alone.Lock()
	defer async.alone.Unlock()
	for p, got := range async.claimed {
		if raw, _ := p.FD(); got {
			_ = unix.FcntlFlock(uintptr(raw), unix.F_SETLK, &unix.Flock_t{Type: unix.F_UNLCK, Len: 1})
		}
		p.Release()
	}
	clear(async.claimed)
}

// conflict is two accesses that nothing orders; was is nil for none.
type conflict struct {
	memory  *deviceMemory
	objects []object
	is      order.Access
	was     *order.Access
}

// do notes a queue's access.
func (d *device) do(
	a *exec.Access, m *deviceMemory, objects []object, s memory.Span, writes, may bool, number uint64,
) conflict {
	verb := "reads"
	switch {
	case writes && may:
		verb = "may write"
	case writes:
		verb = "writes"
	case may:
		verb = "may read"
	}
	kind := order.Plain
	switch {
	case a.Atomics:
		kind = order.Atomic
	case a.Op == command.OpWriteBufferMarkerAMD:
		kind = order.Marker
	}
	key := m.orderKey()
	is := order.Access{Begin: s.Offset, End: s.Offset + s.Size, Writes: writes, May: may, Kind: kind, Command: number,
		Text: d.describe(a, key, objects) + ", " + verb}
	return conflict{m, objects, is, async.tracker.Do(a.Queue.Line, key, is)}
}

// describe says which command has an access.
func (d *device) describe(a *exec.Access, key order.Memory, objects []object) string {
	return fmt.Sprintf("%v, command %d on %s%s", a.Op, a.Command, a.Queue.Journaled.Name, d.named(key, objects))
}

// named says on which object an access to shared memory is, for other processes.
func (d *device) named(key order.Memory, objects []object) string {
	if !key.Shared || len(objects) == 0 {
		return ""
	}
	o := d.physical.instance.journaled(objects[len(objects)-1])
	if o.Name == "" {
		return fmt.Sprintf(" for %s %#x", o.Type, o.Handle)
	}
	return fmt.Sprintf(" for %s %#x %q", o.Type, o.Handle, o.Name)
}

// tell tells of a conflict, if it is one.
func (d *device) tell(c conflict) {
	is, was := &c.is, c.was
	if was == nil {
		return
	}
	id := finding.Unordered
	switch ways := [...]order.Way{is.Way, was.Way}; {
	case slices.Contains(ways[:], order.ByHostCopy):
		id = finding.HostCopies
	case slices.Contains(ways[:], order.ByInvalidate):
		id = finding.HostReads
	case is.May || was.May:
		id = finding.MaybeUnordered
	}
	here, there := "", ""
	if was.Process != "" {
		here, there = fmt.Sprintf("process %d: ", os.Getpid()), was.Process+": "
	}
	d.physical.instance.find(id, is.Begin, nil, append([]object{c.memory.object()}, c.objects...),
		"%s%s bytes [%d, %d) of the memory; %s%s bytes [%d, %d), and nothing orders the two: no barrier, event, "+
			"semaphore or fence", here, is.Text, is.Begin, is.End, there, was.Text, was.Begin, was.End)
}

// part is memory that an access is to, and the bytes there.
type part struct {
	memory *deviceMemory
	spans  []memory.Span
}

// spans returns the memory that an access is to, none if there is none, and the objects in between.
func (d *device) spans(a *exec.Access) (objects []object, parts []part) {
	objects, list := d.accessed(a)
	var img *image
	layers := a.Layers
	switch a.Type {
	case vk.OBJECT_TYPE_IMAGE:
		img = images.Get(a.Handle)
	case vk.OBJECT_TYPE_IMAGE_VIEW:
		if v := imageViews.Get(a.Handle); v != nil {
			img = v.image
			for l := range v.levelCount {
				layers = append(layers, vk.ImageSubresourceLayers{AspectMask: v.aspects, MipLevel: v.baseLevel + l,
					BaseArrayLayer: v.baseLayer, LayerCount: v.layerCount})
			}
		}
	}
	for _, t := range list {
		switch {
		case t.Size == 0:
		case img == nil || layers == nil:
			parts = append(parts, part{t.memory, []memory.Span{t.Span}})
		default:
			parts = append(parts, part{t.memory, img.subresources(a.Device, t.plane, layers)})
		}
	}
	return objects, parts
}

// subresources are the bytes of parts of an image on a physical device, ascending, with gaps in between. Of a disjoint
// image they are those of one plane.
func (img *image) subresources(index uint32, plane int, layers []vk.ImageSubresourceLayers) (spans []memory.Span) {
	format := &img.layout.Format
	for _, l := range layers {
		count := min(l.LayerCount, img.layout.Layers) // VK_REMAINING_ARRAY_LAYERS is more
		all := l.AspectMask
		if format.MultiPlanar() && all&vk.IMAGE_ASPECT_COLOR_BIT != 0 {
			all = format.Aspects()
		}
		for layer := range count {
			for aspects := all; aspects != 0; aspects &= aspects - 1 {
				aspect := aspects & -aspects
				if img.disjoint() && format.PlaneOf(aspect) != plane {
					continue
				}
				if s, ok := img.layout.Subresource(aspect, l.MipLevel, l.BaseArrayLayer+layer); ok {
					spans = append(spans, memory.Span{Offset: img.bound[plane].of(index) + s.Offset, Size: s.Size})
				}
			}
		}
	}
	slices.SortFunc(spans, func(a, b memory.Span) int { return cmp.Compare(a.Offset, b.Offset) })
	joined := spans[:0]
	for _, s := range spans {
		if n := len(joined); n > 0 && s.Offset <= joined[n-1].Offset+joined[n-1].Size {
			joined[n-1].Size = max(joined[n-1].Size, s.Offset+s.Size-joined[n-1].Offset)
			continue
		}
		joined = append(joined, s)
	}
	return joined
}
