package icd

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"sync"
	"time"

	"farside/internal/command"
	"farside/internal/config"
	"farside/internal/exec"
	"farside/internal/finding"
	"farside/internal/order"
	"farside/internal/syncobj"
	"farside/internal/vk"
	"farside/memory"
)

// Strictness "async". Queues wait a random time before each submission, so that what nothing orders happens in another
// order than the application is used to. And every access of a command is held against all others: see package order.
//
// What copies and clears of buffers do is known before they do it, and so is which subresources of an image a command
// reads. What a shader reads is not known: a buffer or an image that it is given and does not change counts as read,
// for a finding of its own, which is a warning. What a shader, or a command on images, has written is what has changed. So
// that this is known, commands of all queues run one at a time.

// mostDelay is how long a queue waits at most before a submission.
const mostDelay = 2 * time.Millisecond

// mostCompared bounds what is copied to see what a command changes, for each access, and what the host may write in
// each mapping: bytes. Beyond it nothing is found.
const mostCompared = 64 << 20

// async is what the process' devices share, since they may share memory: payloads have numbers that all of it knows.
var async struct {
	once    sync.Once
	tracker *order.Tracker

	command sync.Mutex // held while a command runs

	mu       sync.Mutex
	random   *rand.Rand
	commands uint64
	changes  []change // that the command under way may make
}

// change is memory that a command may change, and what was there before.
type change struct {
	device *device
	access exec.Access
	memory *deviceMemory
	span   memory.Span
	before []byte
}

// act is what the order knows of an access.
type act struct {
	text string
	may  bool // a shader may have read it
	host bool
}

// beginAsync gives the device's queues what async needs.
func (d *device) beginAsync() {
	async.once.Do(func() {
		seed := d.physical.settings.StrictSeed
		if seed == 0 {
			seed = rand.Uint64()
		}
		async.random = rand.New(rand.NewPCG(seed, 0))
		async.tracker = order.NewTracker(order.Agent(uint64(os.Getpid()) << 32))
		logger.Info("queues wait at random", "FARSIDE_STRICT_SEED", seed)
	})
	d.exec.Order = async.tracker
	d.exec.Around = aroundCommand
	d.exec.Delay = func() time.Duration {
		async.mu.Lock()
		defer async.mu.Unlock()
		return time.Duration(async.random.Int64N(int64(mostDelay)))
	}
}

// aroundCommand keeps all other commands away from one, and notes afterwards what it has changed.
func aroundCommand(q *exec.Queue) func() {
	async.command.Lock()
	async.mu.Lock()
	async.commands++
	async.mu.Unlock()
	return func() {
		defer async.command.Unlock()
		async.mu.Lock()
		list, number := async.changes, async.commands
		async.changes = nil
		async.mu.Unlock()
		for i := range list {
			list[i].note(q, number)
		}
	}
}

// watchAsync is told by queues of what a command is about to do.
func (d *device) watchAsync(a *exec.Access) {
	m, objects, spans := d.spans(a)
	if m == nil {
		return
	}
	shader := a.Op == command.OpDispatch || a.Op == command.OpDispatchBase ||
		a.Op == command.OpDispatchIndirect && a.Writes
	changes := shader || a.Writes && a.Type != vk.OBJECT_TYPE_BUFFER
	for _, span := range spans {
		if a.Reads {
			d.hostWrote(a, m, objects, span)
		}
		if !changes {
			async.mu.Lock()
			number := async.commands
			async.mu.Unlock()
			d.do(a, m, objects, span, a.Writes, false, number)
			continue
		}
		all, err := m.payload.Bytes()
		if err != nil || span.Size > mostCompared || span.Offset+span.Size > uint64(len(all)) {
			continue
		}
		c := change{d, *a, m, span, bytes.Clone(all[span.Offset : span.Offset+span.Size])}
		async.mu.Lock()
		async.changes = append(async.changes, c)
		async.mu.Unlock()
	}
}

// note tells the order what a command has changed, or that it may have read what it did not change.
func (c *change) note(q *exec.Queue, number uint64) {
	all, err := c.memory.payload.Bytes()
	if err != nil {
		return
	}
	_, objects, _ := c.device.spans(&c.access)
	now := all[c.span.Offset : c.span.Offset+c.span.Size]
	if bytes.Equal(now, c.before) {
		if c.access.Reads {
			c.device.do(&c.access, c.memory, objects, c.span, false, true, number)
		}
		return
	}
	for _, s := range differences(c.before, now) {
		s.Offset += c.span.Offset
		c.device.do(&c.access, c.memory, objects, s, true, false, number)
	}
}

// differences are the ranges in which two slices of one length differ, at most some hundred: those that lie closest
// together are joined when there are more.
func differences(a, b []byte) (list []memory.Span) {
	const word, most = 64, 256
	gap := uint64(0)
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
			if n := len(list); n > 0 && uint64(at)-(list[n-1].Offset+list[n-1].Size) <= gap {
				list[n-1].Size = uint64(at) + 1 - list[n-1].Offset
			} else {
				list = append(list, memory.Span{Offset: uint64(at), Size: 1})
			}
		}
		for len(list) > most {
			gap = gap*4 + 4
			list = joined(list, gap)
		}
	}
	return list
}

// joined joins ranges that are at most gap bytes apart.
func joined(list []memory.Span, gap uint64) []memory.Span {
	out := list[:1]
	for _, s := range list[1:] {
		if last := &out[len(out)-1]; s.Offset-(last.Offset+last.Size) <= gap {
			last.Size = s.Offset + s.Size - last.Offset
		} else {
			out = append(out, s)
		}
	}
	return out
}

// do notes a queue's access, and tells of one that it conflicts with.
func (d *device) do(
	a *exec.Access, m *deviceMemory, objects []object, s memory.Span, writes, may bool, number uint64,
) {
	verb := "reads"
	switch {
	case writes:
		verb = "writes"
	case may:
		verb = "may read"
	}
	is := act{text: fmt.Sprintf("%v, command %d on %s, %s", a.Op, a.Command, a.Queue.Journaled.Name, verb), may: may}
	other := async.tracker.Do(a.Queue.Line, m.payload.ID(), order.Access{
		Begin: s.Offset, End: s.Offset + s.Size, Writes: writes, Command: number, What: is,
	})
	m.conflict(objects, is, s, other)
}

// conflict tells of an access that nothing orders with another one, nil if there is none.
func (m *deviceMemory) conflict(objects []object, is act, s memory.Span, other *order.Access) {
	if other == nil {
		return
	}
	was := other.What.(act)
	id := finding.Unordered
	switch {
	case is.host || was.host:
		id = finding.HostReads
	case is.may || was.may:
		id = finding.MaybeUnordered
	}
	m.device.physical.instance.find(id, s.Offset, nil, append([]object{m.object()}, objects...), "%s bytes [%d, %d) of "+
		"the memory; %s bytes [%d, %d), and nothing orders the two: no barrier, event, semaphore or fence", is.text,
		s.Offset, s.Offset+s.Size, was.text, other.Begin, other.End)
}

// spans returns the memory that an access is to, nil if there is none, the objects in between, and the bytes.
func (d *device) spans(a *exec.Access) (*deviceMemory, []object, []memory.Span) {
	m, objects, whole := d.accessed(a)
	if m == nil || whole.Size == 0 {
		return nil, nil, nil
	}
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
	if img == nil || layers == nil {
		return m, objects, []memory.Span{whole}
	}
	var spans []memory.Span
	for _, l := range layers {
		count := min(l.LayerCount, img.layout.Layers) // VK_REMAINING_ARRAY_LAYERS is more
		for layer := range count {
			for aspects := l.AspectMask; aspects != 0; aspects &= aspects - 1 {
				if s, ok := img.layout.Subresource(aspects&-aspects, l.MipLevel, l.BaseArrayLayer+layer); ok {
					spans = append(spans, memory.Span{Offset: img.offset + s.Offset, Size: s.Size})
				}
			}
		}
	}
	return m, objects, spans
}

// shot is what lay in mapped memory when something was submitted.
type shot struct {
	bytes  []byte
	number uint64 // of the last access then
}

// shots are those of a submission, of memory that the host has mapped and that no other process can reach.
func (d *device) shots() map[*deviceMemory]shot {
	list := map[*deviceMemory]shot{}
	for _, m := range deviceMemories.All() {
		if m.device != d || m.imported != 0 || !m.exports.Empty() || m.size > mostCompared {
			continue
		}
		m.mu.Lock()
		mapped := m.mapping.at != nil
		m.mu.Unlock()
		if !mapped || m.shadow.Load() != nil {
			continue
		}
		if all, err := m.payload.Bytes(); err == nil {
			list[m] = shot{bytes.Clone(all), async.tracker.Number()}
		}
	}
	return list
}

// hostWrote tells of bytes that the host has changed after it submitted the command that reads them.
func (d *device) hostWrote(a *exec.Access, m *deviceMemory, objects []object, s memory.Span) {
	shots, _ := a.Queue.Submitted().(map[*deviceMemory]shot)
	was, ok := shots[m]
	if !ok || s.Offset+s.Size > uint64(len(was.bytes)) {
		return
	}
	now, err := m.payload.Bytes()
	if err != nil || bytes.Equal(now[s.Offset:s.Offset+s.Size], was.bytes[s.Offset:s.Offset+s.Size]) {
		return
	}
	for _, x := range differences(was.bytes[s.Offset:s.Offset+s.Size], now[s.Offset:s.Offset+s.Size]) {
		x.Offset += s.Offset
		if async.tracker.Written(m.payload.ID(), x.Offset, x.Offset+x.Size, was.number) {
			continue // it was a queue
		}
		d.physical.instance.find(finding.HostWrote, x.Offset, nil, append([]object{m.object()}, objects...),
			"%v, command %d on %s, uses bytes [%d, %d) of the memory, of which the host has written [%d, %d) since it "+
				"submitted the command", a.Op, a.Command, a.Queue.Journaled.Name, s.Offset, s.Offset+s.Size, x.Offset, x.Offset+x.Size)
		return
	}
}

// hostWaited tells the order of waits of the host that have ended.
func (d *device) hostWaited(points []syncobj.Point, all bool) {
	if !d.strict(config.StrictAsync) {
		return
	}
	for _, p := range points {
		if all || p.Payload.Value() >= max(p.Value, 1) {
			async.tracker.HostWait(p.Payload.ID(), exec.OrderValue(p.Payload, p.Value))
		}
	}
}

// hostSignals tells the order of a signal of the host.
func (d *device) hostSignals(p *syncobj.Payload, value uint64) {
	if d.strict(config.StrictAsync) {
		async.tracker.HostSignal(p.ID(), exec.OrderValue(p, value))
	}
}

// fresh tells the order that a payload is new, though one that is gone may have had its number.
func (d *device) fresh(p *syncobj.Payload) *syncobj.Payload {
	if d.strict(config.StrictAsync) {
		async.tracker.ForgetSignals(p.ID())
	}
	return p
}

// hostReads notes that the host asks for bytes.
func (m *deviceMemory) hostReads(s memory.Span) {
	if !m.device.strict(config.StrictAsync) || s.Size == 0 {
		return
	}
	is := act{text: "the host, by vkInvalidateMappedMemoryRanges, asks for", host: true}
	other := async.tracker.HostDo(m.payload.ID(), order.Access{Begin: s.Offset, End: s.Offset + s.Size, What: is})
	m.conflict(nil, is, s, other)
}
