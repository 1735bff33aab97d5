package icd

import (
	"farside/internal/config"
	"farside/internal/exec"
	"farside/internal/finding"
	"farside/internal/vk"
	"farside/memory"
)

// strict says whether strictness looks out for what, on this device.
func (d *device) strict(what config.Strict) bool { return d.strictness&what != 0 }

// shown returns the payload that mappings show. For memory that is not coherent, and with strictness, that is the
// host's own view, which the first mapping makes. Called with m.mu.
func (m *deviceMemory) shown() (*memory.Payload, error) {
	if s := m.shadow.Load(); s != nil {
		return s.Host(), nil
	}
	if !m.device.strict(config.StrictNoncoherent) || m.kind().Flags&vk.MEMORY_PROPERTY_HOST_COHERENT_BIT != 0 ||
		m.payload.Foreign() {
		return m.payload, nil
	}
	var initial byte
	if m.imported != 0 || m.poisoned() {
		initial = pattern
	}
	s, err := memory.NewShadow(m.payload, initial, m.imported != 0)
	if err != nil {
		return nil, err
	}
	m.shadow.Store(s)
	return s.Host(), nil
}

func (m *deviceMemory) object() object { return object{vk.OBJECT_TYPE_DEVICE_MEMORY, m.handle} }

// flush is what vkFlushMappedMemoryRanges does to a range of memory with a view of the host.
func (m *deviceMemory) flush(s *memory.Shadow, r memory.Span) {
	if lost := s.Flush(r); lost.Size > 0 {
		m.device.find(finding.FlushOverDevice, []object{m.object()}, "vkFlushMappedMemoryRanges: the host wrote to "+
			"bytes [%d, %d), and so did a device, whose bytes were not invalidated and are lost", lost.Offset,
			lost.Offset+lost.Size)
	}
}

// invalidate is what vkInvalidateMappedMemoryRanges does.
func (m *deviceMemory) invalidate(s *memory.Shadow, r memory.Span) {
	if lost := s.Invalidate(r); lost.Size > 0 {
		m.device.find(finding.InvalidateUnflushed, []object{m.object()}, "vkInvalidateMappedMemoryRanges: bytes "+
			"[%d, %d) have something that the host wrote and did not flush; it is lost", lost.Offset, lost.Offset+lost.Size)
	}
}

// aligned tells of a range that is not made of whole atoms. It is rounded to such.
func (m *deviceMemory) aligned(command string, r *vk.MappedMemoryRange) {
	if r.Offset%memory.Atom != 0 || r.Size != vk.WHOLE_SIZE && r.Size%memory.Atom != 0 && r.Offset+r.Size != m.size {
		m.device.find(finding.UnalignedRange, []object{m.object()}, "%s: offset %d and size %d are no multiples of "+
			"nonCoherentAtomSize, %d (%v, %v)", command, r.Offset, r.Size, memory.Atom,
			vk.VUID_VkMappedMemoryRange_offset_00687, vk.VUID_VkMappedMemoryRange_size_01390)
	}
}

// unseen tells, before a mapping ends, of what the host never asked for.
func (m *deviceMemory) unseen(command string) {
	if s := m.shadow.Load(); s != nil {
		m.tellUnseen(s, command)
	}
}

func (m *deviceMemory) tellUnseen(s *memory.Shadow, command string) {
	m.mu.Lock()
	isMapped := m.isMapped()
	m.mu.Unlock()
	if !isMapped {
		return
	}
	if r := s.Unseen(); r.Size > 0 {
		m.device.find(finding.MissingInvalidate, []object{m.object()}, "%s: a device wrote to bytes [%d, %d), and the host "+
			"invalidated nothing while the memory was mapped", command, r.Offset, r.Offset+r.Size)
	}
}

// watch is told by queues of what a command is about to do.
func (d *device) watch(a *exec.Access) {
	if d.strict(config.StrictAsync) {
		d.watchAsync(a)
	}
	if d.strict(config.StrictRDMA) {
		d.watchRemote(a)
	}
	if !a.Reads || !d.strict(config.StrictNoncoherent) {
		return
	}
	objects, list := d.accessed(a)
	for _, x := range list {
		s := x.memory.shadow.Load()
		if s == nil {
			continue
		}
		if found := s.Unflushed(x.Span); found.Size > 0 {
			d.find(finding.MissingFlush, append([]object{x.memory.object()}, objects...), "%v, command %d, uses bytes [%d, %d) "+
				"of the memory, of which the host has written [%d, %d) and not flushed them", a.Op, a.Command, x.Offset,
				x.Offset+x.Size, found.Offset, found.Offset+found.Size)
		}
	}
}

// touched is bytes of memory that an access is to: those of the object, or of a plane of a disjoint image.
type touched struct {
	memory *deviceMemory
	plane  int
	memory.Span
}

// accessed returns the memory that an access is to, and the objects in between. A disjoint image lies in as much as it
// has planes.
func (d *device) accessed(a *exec.Access) (objects []object, list []touched) {
	add := func(m *deviceMemory, plane int, base, size, offset, length uint64) {
		if m != nil && base != noInstance {
			offset = min(offset, size)
			list = append(list, touched{m, plane, memory.Span{Offset: base + offset, Size: min(length, size-offset)}})
		}
	}
	image := func(img *image) {
		objects = append(objects, object{vk.OBJECT_TYPE_IMAGE, img.handle})
		if img.pieced != nil { // what lies in several instances at once is no range of bytes
			return
		}
		for i := range img.bindings() {
			b := &img.bound[i]
			size, _, _ := img.requirements(i)
			add(b.boundTo(), i, b.of(a.Device), size, a.Offset, a.Size)
		}
	}
	switch a.Type {
	case vk.OBJECT_TYPE_BUFFER:
		if b := buffers.Get(a.Handle); b != nil {
			objects = append(objects, object{vk.OBJECT_TYPE_BUFFER, b.handle})
			add(b.boundTo(), 0, b.of(a.Device), b.size, a.Offset, a.Size)
		}
	case vk.OBJECT_TYPE_BUFFER_VIEW:
		if v := bufferViews.Get(a.Handle); v != nil {
			objects = append(objects, object{vk.OBJECT_TYPE_BUFFER, v.buffer.handle})
			if base := v.buffer.of(a.Device); base != noInstance {
				add(v.buffer.boundTo(), 0, base+v.offset, v.bytes, a.Offset, a.Size)
			}
		}
	case vk.OBJECT_TYPE_IMAGE:
		if img := images.Get(a.Handle); img != nil {
			image(img)
		}
	case vk.OBJECT_TYPE_IMAGE_VIEW:
		if v := imageViews.Get(a.Handle); v != nil {
			image(v.image)
		}
	}
	return objects, list
}
