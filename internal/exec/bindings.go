package exec

import (
	"cmp"
	"slices"

	"farside/compute"
	"farside/internal/descriptor"
	"farside/internal/sampling"
	"farside/internal/vk"
)

// boundSets are descriptor sets as shaders find them: those that a command buffer has bound, or a copy of these.
type boundSets struct {
	of   *bindings // whose resources are found
	list []boundSet
}

// at is the set that is bound to a number; nil: none.
func (s *boundSets) at(set uint32) *descriptor.Set {
	if uint64(set) >= uint64(len(s.list)) {
		return nil
	}
	return s.list[set].Set
}

// descriptor returns an element of a binding; nil if there is none.
func (s *boundSets) descriptor(set, binding, element uint32) *descriptor.Descriptor {
	b := s.at(set)
	if b == nil {
		return nil
	}
	d, _ := b.At(binding, element)
	return d
}

// Memory implements compute.Bindings. A buffer that does not exist has no bytes: a binding that is partially bound may
// name one that was destroyed, as long as the shader does not use it.
func (s *boundSets) Memory(set, binding, element uint32) compute.Memory {
	d := s.descriptor(set, binding, element)
	if d == nil {
		if b := s.at(set); b != nil && element == 0 {
			return memoryOf(b.Inline(binding))
		}
		return compute.Memory{}
	}
	b := s.of
	offset, size := d.Offset, d.Range
	bound := &s.list[set]
	if i, ok := bound.Layout().DynamicIndex(binding, element); ok && int(i) < len(bound.offsets) {
		offset += uint64(bound.offsets[i])
	}
	b.given(vk.OBJECT_TYPE_BUFFER, uint64(d.Buffer), offset, size)
	b.mu.Lock()
	defer b.mu.Unlock()
	buffer, err := b.replay.buffer(b.replay.device.Resources, d.Buffer)
	if err != nil || offset >= uint64(len(buffer.Bytes)) {
		return compute.Memory{}
	}
	bytes := buffer.Bytes[offset:]
	return memoryOf(bytes[:min(size, uint64(len(bytes)))])
}

// Image implements compute.Bindings.
func (s *boundSets) Image(set, binding, element uint32) *sampling.View {
	d := s.descriptor(set, binding, element)
	if d == nil {
		return nil
	}
	b := s.of
	if d.BufferView != 0 {
		b.given(vk.OBJECT_TYPE_BUFFER_VIEW, uint64(d.BufferView), 0, wholeObject)
	} else {
		b.given(vk.OBJECT_TYPE_IMAGE_VIEW, uint64(d.ImageView), 0, wholeObject)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	var v *View
	var err error
	if d.BufferView != 0 {
		v, err = b.replay.bufferView(b.replay.device.Resources, d.BufferView)
	} else {
		v, err = b.replay.imageView(b.replay.device.Resources, d.ImageView)
	}
	if err != nil {
		return nil
	}
	return v.View
}

// Sampler implements compute.Bindings.
func (s *boundSets) Sampler(set, binding, element uint32) *sampling.Sampler {
	d := s.descriptor(set, binding, element)
	if d == nil {
		return nil
	}
	sampler, err := s.of.replay.device.Resources.Sampler(d.Sampler)
	if err != nil {
		return nil
	}
	return sampler
}

// Physical implements compute.Bindings. What it has found is kept, with a reference, until the command buffer ends.
func (s *boundSets) Physical(address uint64) (m compute.Memory, start uint64, found bool) {
	b := s.of
	if m, start, ok := b.known(address); ok {
		return m, start, true
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if m, start, ok := b.known(address); ok {
		return m, start, true
	}
	r, ok := b.replay.device.Resources.Physical(address)
	if !ok {
		return compute.Memory{}, 0, false
	}
	b.replay.held = append(b.replay.held, r.Payload)
	b.replay.addressed(r.Payload)
	var ranges []Range
	if p := b.ranges.Load(); p != nil {
		ranges = *p
	}
	// Others may be reading the old slice.
	ranges = slices.Insert(slices.Clone(ranges), lastRange(ranges, r.Address)+1, r)
	b.ranges.Store(&ranges)
	return b.known(address)
}

// known looks an address up among the ranges that this command buffer has used.
func (b *bindings) known(address uint64) (m compute.Memory, start uint64, found bool) {
	p := b.ranges.Load()
	if p == nil {
		return compute.Memory{}, 0, false
	}
	i := lastRange(*p, address)
	if i < 0 {
		return compute.Memory{}, 0, false
	}
	r := &(*p)[i]
	if address-r.Address >= uint64(len(r.Bytes)) {
		return compute.Memory{}, 0, false
	}
	return memoryOf(r.Bytes), r.Address, true
}

// lastRange is where the last range is that begins at an address or below, -1 if there is none.
func lastRange(ranges []Range, address uint64) int {
	i, found := slices.BinarySearchFunc(ranges, address,
		func(r Range, want uint64) int { return cmp.Compare(r.Address, want) })
	if !found {
		i--
	}
	return i
}
