package icd

import (
	"slices"
	"sync"

	"farside/internal/command"
	"farside/internal/exec"
	"farside/internal/finding"
	"farside/internal/order"
	"farside/internal/vk"
	"farside/memory"
)

// Ownership of external memory, for strictness "async": instances own it, and hand it over by barriers.

// asyncOwner is an instance as an owner, once one of its devices asks.
type asyncOwner struct {
	once  sync.Once
	agent order.Agent
}

func (o *asyncOwner) get() order.Agent {
	o.once.Do(func() { o.agent = async.tracker.NewOwner() })
	return o.agent
}

// external says whether the memory may be another instance's as well.
func (m *deviceMemory) external() bool { return m.imported != 0 || !m.exports.Empty() }

// transferred notes what a barrier releases or acquires.
func (d *device) transferred(a *exec.Access, t *command.Transfer) {
	if t.Type == vk.OBJECT_TYPE_IMAGE {
		a.Layers = layersOf(&t.Range)
	}
	objects, parts := d.spans(a)
	if !slices.ContainsFunc(parts, func(p part) bool { return len(p.spans) > 0 }) { // aspects that the image does not have
		a.Layers = nil
		objects, parts = d.spans(a)
	}
	told := false
	for _, p := range parts {
		if p.memory.external() {
			told = d.transferredPart(a, t, objects, &p, told)
		}
	}
}

// transferredPart notes what a barrier releases or acquires of a part of an object, and tells of what is wrong with it
// unless told. It says whether it has been told.
func (d *device) transferredPart(a *exec.Access, t *command.Transfer, objects []object, p *part, told bool) bool {
	m, key := p.memory, p.memory.orderKey()
	is := order.Access{Kind: order.Release, Family: t.Dst, Old: uint32(t.Old), New: uint32(t.New)}
	verb := ", releases"
	if command.Outside(t.Src) {
		is.Kind, is.Family, verb = order.Acquire, t.Src, ", acquires"
	}
	is.Text = d.describe(a, key, objects) + verb
	for _, s := range p.spans {
		is.Begin, is.End = s.Offset, s.Offset+s.Size
		breach, was := async.tracker.Transfer(a.Queue.Line, key, is)
		if breach != order.NoBreach && !told {
			told = true
			d.tellBreach(breach, false, m, objects, &is, was)
		}
	}
	return told
}

// layersOf are the subresources of a range, of which levels and layers may be all that remain.
func layersOf(r *vk.ImageSubresourceRange) (list []vk.ImageSubresourceLayers) {
	const mostLevels = 32 // of an extent of 32 bits
	for level := r.BaseMipLevel; level < mostLevels && level-r.BaseMipLevel < r.LevelCount; level++ {
		list = append(list, vk.ImageSubresourceLayers{AspectMask: r.AspectMask, MipLevel: level,
			BaseArrayLayer: r.BaseArrayLayer, LayerCount: r.LayerCount})
	}
	return list
}

// takes notes that a command may have written to any of the bytes: what others had there is given up.
func (c *change) takes() {
	async.tracker.Transfer(c.access.Queue.Line, c.memory.orderKey(),
		order.Access{Kind: order.Taken, Begin: c.span.Offset, End: c.span.Offset + c.span.Size})
}

// checkOwner looks whether a command that reads bytes, or may do so, finds there what belongs to another instance.
func (d *device) checkOwner(a *exec.Access, m *deviceMemory, objects []object, s memory.Span, may bool) {
	if !m.external() {
		return
	}
	key := m.orderKey()
	breach, was := async.tracker.Unowned(a.Queue.Line, key, s.Offset, s.Offset+s.Size)
	if breach == order.NoBreach {
		return
	}
	m.mu.Lock()
	may = may || m.isMapped() // the host may have written what is read
	m.mu.Unlock()
	verb := ", reads"
	if may {
		verb = ", may read"
	}
	is := order.Access{Begin: s.Offset, End: s.Offset + s.Size, Text: d.describe(a, key, objects) + verb}
	d.tellBreach(breach, may, m, objects, &is, was)
}

// tellBreach tells how ownership was handed over wrongly.
func (d *device) tellBreach(b order.Breach, may bool, m *deviceMemory, objects []object, is, was *order.Access) {
	var id finding.ID
	var rest string
	switch b {
	case order.NotAcquired:
		id, rest = finding.NotAcquired, "and this instance has not acquired them since"
	case order.NotReleased:
		id, rest = finding.NotReleased, "and that instance has not released them since"
	case order.WrittenBeforeAcquire:
		id, rest = finding.WrittenBeforeAcquire, "after another instance had released them: what was written is undefined"
	case order.Mismatched:
		id, rest = finding.MismatchedTransfer, "and the two differ in queue family or layouts"
	}
	if may {
		id = finding.MaybeNotTransferred
	}
	there := ""
	if was.Process != "" {
		there = was.Process + ": "
	}
	d.physical.instance.find(id, is.Begin, nil, append([]object{m.object()}, objects...),
		"%s bytes [%d, %d) of the memory; %s%s bytes [%d, %d), %s "+
			"(chapter \"Resource Creation\", \"External Resource Sharing\")",
		is.Text, is.Begin, is.End, there, was.Text, was.Begin, was.End, rest)
}
