package icd

import (
	"bytes"
	"fmt"
	"math"
	"slices"

	"golang.org/x/sys/unix"

	"farside/export"
	"farside/internal/config"
	"farside/internal/exec"
	"farside/internal/finding"
	"farside/internal/gate"
	"farside/internal/order"
	"farside/internal/syncobj"
	"farside/internal/vk"
	"farside/memory"
)

// What the host does, for strictness "async", and what other processes are told.

// shot is what lay in mapped memory at some time.
type shot struct {
	bytes  []byte
	number uint64 // of the last access before
}

// shots are those of all memory of a device that the host has mapped and that no other process can reach: from when
// something was submitted, or from when the host signalled.
type shots struct {
	of      map[*deviceMemory]shot
	time    uint64 // it grows
	foreign uint64 // exec.Device.Foreign then
}

// shots takes some.
func (d *device) shots() *shots {
	list := &shots{of: map[*deviceMemory]shot{}, time: async.time.Add(1), foreign: d.exec.Foreign.Load()}
	for _, m := range deviceMemories.All() {
		if m.device != d || m.imported != 0 || !m.exports.Empty() || m.size > mostCompared {
			continue
		}
		m.mu.Lock()
		mapped := m.isMapped()
		m.mu.Unlock()
		if !mapped || m.shadow.Load() != nil || !m.payload.TryRetain() { // another thread may free it meanwhile
			continue
		}
		number := async.tracker.Number() // first: what is written meanwhile is noted later
		if all, err := m.payload.Bytes(); err == nil {
			list.of[m] = shot{bytes.Clone(all), number}
		}
		m.payload.Release()
	}
	return list
}

// hostWrote returns bytes that the host has changed after it submitted the command that reads them; none if there are
// none. What the host wrote before it signalled an event or a semaphore, it may have written in time. Whether it did
// before another process signalled something, or another driver, nobody knows.
func (d *device) hostWrote(a *exec.Access, m *deviceMemory, s memory.Span) memory.Span {
	taken, _ := a.Queue.Submitted().(*shots)
	if taken == nil || taken.foreign != d.exec.Foreign.Load() {
		return memory.Span{}
	}
	if later := d.signalled.Load(); later != nil && later.time > taken.time {
		taken = later
	}
	was, ok := taken.of[m]
	if !ok || s.Offset+s.Size > uint64(len(was.bytes)) {
		return memory.Span{}
	}
	now, err := m.payload.Bytes()
	if err != nil || bytes.Equal(now[s.Offset:s.Offset+s.Size], was.bytes[s.Offset:s.Offset+s.Size]) {
		return memory.Span{}
	}
	list, _ := differences(was.bytes[s.Offset:s.Offset+s.Size], now[s.Offset:s.Offset+s.Size])
	for _, x := range list {
		x.Offset += s.Offset
		if !async.tracker.Written(m.payload.ID(), x.Offset, x.Offset+x.Size, was.number) && !changing(m, x) {
			return x
		}
	}
	return memory.Span{}
}

func (d *device) tellHostWrote(a *exec.Access, m *deviceMemory, objects []object, x memory.Span) {
	d.physical.instance.find(finding.HostWrote, x.Offset, nil, append([]object{m.object()}, objects...),
		"%v, command %d on %s, uses bytes of the memory of which the host has written [%d, %d) since it submitted the "+
			"command", a.Op, a.Command, a.Queue.Journaled.Name, x.Offset, x.Offset+x.Size)
}

// hostWaited tells the order of waits of the host that have ended.
func (d *device) hostWaited(points []syncobj.Point, all bool) {
	if d.strict(config.StrictAsync) {
		tellHostWaited(points, all)
	}
}

func tellHostWaited(points []syncobj.Point, all bool) {
	for _, p := range points {
		if all || p.Payload.Value() >= max(p.Value, 1) {
			async.tracker.HostWait(exec.OrderKey(p.Payload), exec.OrderValue(p.Payload, p.Value))
		}
	}
}

// hostSignals tells the order of a signal that the host is about to give.
func (d *device) hostSignals(p *syncobj.Payload, value uint64) {
	if d.strict(config.StrictAsync) {
		d.signalled.Store(d.shots())
		async.tracker.HostSignal(exec.OrderKey(p), exec.OrderValue(p, value))
	}
}

// shareAsync makes the process tell others what it does to what they share, from the first such object on.
func (d *device) shareAsync() {
	if !d.strict(config.StrictAsync) {
		return
	}
	err := async.tracker.Share(order.Directory())
	async.sharing.Do(func() {
		gate.AtExit(async.tracker.Close)
		if err != nil {
			logger.Warn("what other processes do to shared memory is not seen", "error", err)
		}
	})
}

// countAsync counts a device that begins or ends.
func (d *device) countAsync(by int32) {
	if d.strict(config.StrictAsync) && async.devices.Add(by) == 0 {
		async.tracker.Close()
	}
}

// fresh tells the order that a payload is new, though one that is gone may have had its number.
func (d *device) fresh(p *syncobj.Payload) *syncobj.Payload {
	if d.strict(config.StrictAsync) {
		value := p.Value()
		async.tracker.Fresh(exec.OrderKey(p), exec.OrderValue(p, value), p.Kind() == syncobj.Timeline || value != 0)
	}
	return p
}

// syncFile is how the order knows the sync file that a descriptor stands for. Those of other drivers have no inodes of
// their own: nothing is known of them.
func syncFile(raw int) (order.Key, bool) {
	var st unix.Stat_t
	if unix.Fstat(raw, &st) != nil || st.Mode&unix.S_IFMT != unix.S_IFIFO {
		return order.Key{}, false
	}
	return order.Key{Scope: order.SyncFile, ID: st.Ino}, true
}

// madeSyncFile tells the order that raw is signalled with p.
func (d *device) madeSyncFile(p *syncobj.Payload, raw int) {
	if !d.strict(config.StrictAsync) {
		return
	}
	if key, ok := syncFile(raw); ok {
		d.shareAsync()
		async.tracker.Export(exec.OrderKey(p), key)
	}
}

// importSyncFile imports raw, and tells the order that the payload is signalled with it.
func (d *device) importSyncFile(raw int, kind syncobj.Kind) (*syncobj.Payload, error) {
	if !d.strict(config.StrictAsync) {
		return syncobj.ImportSyncFile(raw, kind)
	}
	file, ok := syncFile(raw)
	p, err := syncobj.ImportSyncFile(raw, kind)
	if err == nil {
		d.shareAsync()
		key := exec.OrderKey(p)
		async.tracker.Fresh(key, 0, false)
		if ok {
			async.tracker.Import(key, file)
		}
	}
	return p, err
}

// reveal tells others what has been done to the memory, of which raw is a descriptor that they may get or come from.
// Importers of a dma-buf know it by another number.
func (m *deviceMemory) reveal(t vk.ExternalMemoryHandleTypeFlagBits, raw int) {
	if !m.device.strict(config.StrictAsync) {
		return
	}
	m.device.shareAsync()
	id := m.payload.ID()
	if t == vk.EXTERNAL_MEMORY_HANDLE_TYPE_DMA_BUF_BIT_EXT {
		if other := export.DMABufID(raw); other != 0 {
			async.tracker.Same(id, other)
		}
	}
	if !m.revealed.Swap(true) {
		async.tracker.Reveal(id)
	}
}

// hostReads notes that the host asks for bytes.
func (m *deviceMemory) hostReads(s memory.Span) {
	if m.device.strict(config.StrictAsync) && s.Size > 0 {
		m.hostDoes(nil, s, order.Access{Way: order.ByInvalidate,
			Text: "the host, by vkInvalidateMappedMemoryRanges, asks for"})
	}
}

// hostCopies notes that a command of the host is about to read or write subresources of the image. It may use less of
// them.
func (img *image) hostCopies(command string, layers vk.ImageSubresourceLayers, writes bool) {
	if !img.device.strict(config.StrictAsync) {
		return
	}
	a := exec.Access{Type: vk.OBJECT_TYPE_IMAGE, Handle: img.handle, Size: math.MaxUint64,
		Layers: []vk.ImageSubresourceLayers{layers}}
	objects, parts := img.device.spans(&a)
	verb := "reads"
	if writes {
		verb = "writes"
	}
	for _, p := range parts {
		for _, s := range p.spans {
			p.memory.hostDoes(objects, s, order.Access{Way: order.ByHostCopy, Writes: writes,
				Text: fmt.Sprintf("the host, by %s, %s", command, verb)})
		}
	}
}

func (m *deviceMemory) hostDoes(objects []object, s memory.Span, is order.Access) {
	is.Begin, is.End = s.Offset, s.Offset+s.Size
	m.device.tell(conflict{m, objects, is, async.tracker.HostDo(m.orderKey(), is)})
}

// forget drops what the order knows of memory that is freed.
func (m *deviceMemory) forget() {
	if m.device.strict(config.StrictAsync) {
		async.tracker.Forget(m.payload.ID())
		async.mu.Lock()
		async.lasting = slices.DeleteFunc(async.lasting, func(c change) bool { return c.memory == m })
		async.mu.Unlock()
	}
}
