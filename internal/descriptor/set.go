package descriptor

import (
	"slices"

	"farside/internal/vk"
)

// Set is a VkDescriptorSet, or the set that push descriptors make. Its size never changes.
type Set struct {
	layout      *Layout
	variable    uint32 // elements of the last binding, if that is variable
	descriptors []Descriptor
	inline      []byte
}

// NewSet makes a set. variable is the count of the binding with a variable count, if there is one, cut to its limit.
// Immutable samplers are in place, all else was not written.
func NewSet(l *Layout, variable uint32) *Set {
	s := &Set{layout: l, variable: variable}
	descriptors, bytes := l.sizes(variable)
	s.descriptors, s.inline = make([]Descriptor, descriptors), make([]byte, bytes)
	for i := range l.Bindings {
		b := &l.Bindings[i]
		for e := range min(uint32(len(b.Immutable)), s.count(b)) {
			s.descriptors[b.first+e].Sampler = b.Immutable[e]
		}
	}
	return s
}

// Clone returns a set with the same layout and content.
func (s *Set) Clone() *Set {
	return &Set{layout: s.layout, variable: s.variable, descriptors: slices.Clone(s.descriptors),
		inline: slices.Clone(s.inline)}
}

// sizes is how many descriptors and how many bytes of inline uniform blocks a set has.
func (l *Layout) sizes(variable uint32) (descriptors, bytes uint32) {
	for i := range l.Bindings {
		b := &l.Bindings[i]
		if b.inline() {
			bytes += b.count(variable)
		} else {
			descriptors += b.count(variable)
		}
	}
	return descriptors, bytes
}

// count is how many elements the binding has in a set with this variable count.
func (b *Binding) count(variable uint32) uint32 {
	if b.Variable() {
		return min(b.Count, variable)
	}
	return b.Count
}

func (s *Set) count(b *Binding) uint32 { return b.count(s.variable) }

// Layout is what the set was made with.
func (s *Set) Layout() *Layout { return s.layout }

// Count is how many elements a binding has, 0 if the set has no such binding; of an inline uniform block its bytes.
func (s *Set) Count(binding uint32) uint32 {
	b, ok := s.layout.Binding(binding)
	if !ok {
		return 0
	}
	return s.count(b)
}

// At returns the descriptor of an element, and false if there is none: the binding or the element does not exist, or is
// an inline uniform block. The pointer stays valid for the life of the set; others may write through theirs.
func (s *Set) At(binding, element uint32) (*Descriptor, bool) {
	b, ok := s.layout.Binding(binding)
	if !ok || b.inline() || element >= s.count(b) {
		return nil, false
	}
	return &s.descriptors[b.first+element], true
}

// Inline returns the bytes of an inline uniform block, and nil for any other binding. They are the set's own and stay
// where they are.
func (s *Set) Inline(binding uint32) []byte {
	b, ok := s.layout.Binding(binding)
	if !ok || !b.inline() {
		return nil
	}
	end := b.first + s.count(b)
	return s.inline[b.first:end:end]
}

// rules are the VUIDs of a range of descriptors that an update names.
type rules struct{ binding, elements, kind, immutable vk.VUID }

var (
	writeRules = rules{
		binding: vk.VUID_VkWriteDescriptorSet_dstBinding_00316, elements: vk.VUID_VkWriteDescriptorSet_dstArrayElement_00321,
		kind:      vk.VUID_VkWriteDescriptorSet_descriptorCount_00317,
		immutable: vk.VUID_VkWriteDescriptorSet_descriptorCount_00318,
	}
	srcRules = rules{
		binding: vk.VUID_VkCopyDescriptorSet_srcBinding_00345, elements: vk.VUID_VkCopyDescriptorSet_srcArrayElement_00346,
		kind: vk.VUID_VkCopyDescriptorSet_srcArrayElement_00346, immutable: vk.VUID_VkCopyDescriptorSet_srcArrayElement_00346,
	}
	dstRules = rules{
		binding: vk.VUID_VkCopyDescriptorSet_dstBinding_00347, elements: vk.VUID_VkCopyDescriptorSet_dstArrayElement_00348,
		kind: vk.VUID_VkCopyDescriptorSet_dstArrayElement_00348, immutable: vk.VUID_VkCopyDescriptorSet_dstArrayElement_00348,
	}
)

// span is a range of descriptors or inline bytes of a set that goes from one binding on into the next ones.
type span struct {
	binding *Binding // the first one
	first   uint32   // index in the set
}

// span finds count elements from an element of a binding on. What is too many for the binding goes on in the next one
// that has elements, which must be of the same kind (chapter "Consecutive Binding Updates"). Since descriptors lie in
// the order of their bindings, the range has no gaps.
func (l *Layout) span(variable, number, element, count uint32, r *rules) (span, error) {
	bindings := l.Bindings
	i, ok := l.find(number)
	if !ok || bindings[i].count(variable) == 0 && count > 0 {
		return span{}, vk.Errorf(vk.ERROR_UNKNOWN, r.binding, "the set has no elements at binding %d", number)
	}
	b := &bindings[i]
	room := uint64(b.count(variable))
	for need := uint64(element) + uint64(count); room < need; {
		if i++; i == len(bindings) {
			return span{}, vk.Errorf(vk.ERROR_UNKNOWN, r.elements,
				"%d elements from %d on: binding %d and those behind it have %d", count, element, number, room)
		}
		next := &bindings[i]
		n := next.count(variable)
		if n == 0 {
			continue
		}
		if next.Type != b.Type {
			return span{}, vk.Errorf(vk.ERROR_UNKNOWN, r.kind,
				"%d elements from %d of binding %d on reach binding %d, which is %v, not %v",
				count, element, number, next.Number, next.Type, b.Type)
		}
		if (len(next.Immutable) == 0) != (len(b.Immutable) == 0) {
			return span{}, vk.Errorf(vk.ERROR_UNKNOWN, r.immutable,
				"%d elements from %d of binding %d on reach binding %d; one has immutable samplers, the other has not", count,
				element, number, next.Number)
		}
		room += uint64(n)
	}
	return span{b, b.first + element}, nil
}

// Write is an update of descriptors by what the application says about them.
type Write struct {
	Binding, Element uint32
	Count            uint32 // descriptors; bytes of an inline uniform block
	Type             vk.DescriptorType
	// Data is one structure for each descriptor, as C lays it out (InfoSize), Stride bytes apart. The bytes of an inline
	// uniform block have no stride.
	Data   []byte
	Stride uint64
}

// Info decodes what the write says about one of its descriptors. It must not be an inline uniform block.
func (w *Write) Info(i uint32) Descriptor { return decode(w.Type, w.Data[uint64(i)*w.Stride:]) }

// Complete says whether Data has what Count asks for.
func (w *Write) Complete() bool {
	if w.Count == 0 {
		return true
	}
	size, stride := uint64(InfoSize(w.Type)), w.Stride
	if w.Type == vk.DESCRIPTOR_TYPE_INLINE_UNIFORM_BLOCK {
		stride = 1
	}
	n := uint64(len(w.Data))
	return size <= n && (w.Count == 1 || stride <= (n-size)/uint64(w.Count-1))
}

// Check says which rule of VkWriteDescriptorSet a write to a set of this layout breaks, for layouts without a variable
// count.
func (l *Layout) Check(w *Write) error {
	_, err := l.check(0, w)
	return err
}

// check finds what a write updates.
func (l *Layout) check(variable uint32, w *Write) (span, error) {
	at, err := l.span(variable, w.Binding, w.Element, w.Count, &writeRules)
	switch {
	case err != nil:
		return at, err
	case w.Count > 0 && at.binding.Type != w.Type:
		return at, vk.Errorf(vk.ERROR_UNKNOWN, vk.VUID_VkWriteDescriptorSet_descriptorType_00319,
			"%v for binding %d, which is %v", w.Type, w.Binding, at.binding.Type)
	case !w.Complete():
		return at, vk.Errorf(vk.ERROR_UNKNOWN, vk.NoVUID, "%d bytes do not describe %d of %v", len(w.Data), w.Count, w.Type)
	case at.binding.inline() && w.Element%4 != 0:
		return at, vk.Errorf(vk.ERROR_UNKNOWN, vk.VUID_VkWriteDescriptorSet_descriptorType_02219,
			"byte %d of an inline uniform block is no multiple of 4", w.Element)
	case at.binding.inline() && w.Count%4 != 0:
		return at, vk.Errorf(vk.ERROR_UNKNOWN, vk.VUID_VkWriteDescriptorSet_descriptorType_02220,
			"%d bytes of an inline uniform block are no multiple of 4", w.Count)
	}
	return at, nil
}

// Write updates the set. Nothing changes where it breaks a rule of VkWriteDescriptorSet.
func (s *Set) Write(w *Write) error {
	at, err := s.layout.check(s.variable, w)
	if err != nil {
		return err
	}
	if at.binding.inline() {
		copy(s.inline[at.first:at.first+w.Count], w.Data)
		return nil
	}
	immutable := len(at.binding.Immutable) > 0
	to := s.descriptors[at.first : at.first+w.Count]
	for i := range to {
		d := w.Info(uint32(i))
		if immutable {
			d.Sampler = to[i].Sampler
		}
		to[i] = d
	}
	return nil
}

// Copy is an update of descriptors by those of another set, or of the same.
type Copy struct {
	SrcBinding, SrcElement uint32
	DstBinding, DstElement uint32
	Count                  uint32 // descriptors; bytes of an inline uniform block
}

// Copy copies descriptors of src to the set. Nothing changes where it breaks a rule of VkCopyDescriptorSet.
func (s *Set) Copy(src *Set, c *Copy) error {
	from, err := src.layout.span(src.variable, c.SrcBinding, c.SrcElement, c.Count, &srcRules)
	if err != nil {
		return err
	}
	to, err := s.layout.span(s.variable, c.DstBinding, c.DstElement, c.Count, &dstRules)
	if err != nil {
		return err
	}
	if from.binding.Type != to.binding.Type {
		return vk.Errorf(vk.ERROR_UNKNOWN, vk.VUID_VkCopyDescriptorSet_dstBinding_02632, "binding %d is %v, binding %d is %v",
			c.SrcBinding, from.binding.Type, c.DstBinding, to.binding.Type)
	}
	if to.binding.inline() {
		switch {
		case c.SrcElement%4 != 0:
			return vk.Errorf(vk.ERROR_UNKNOWN, vk.VUID_VkCopyDescriptorSet_srcBinding_02223,
				"byte %d of an inline uniform block is no multiple of 4", c.SrcElement)
		case c.DstElement%4 != 0:
			return vk.Errorf(vk.ERROR_UNKNOWN, vk.VUID_VkCopyDescriptorSet_dstBinding_02224,
				"byte %d of an inline uniform block is no multiple of 4", c.DstElement)
		case c.Count%4 != 0:
			return vk.Errorf(vk.ERROR_UNKNOWN, vk.VUID_VkCopyDescriptorSet_srcBinding_02225,
				"%d bytes of an inline uniform block are no multiple of 4", c.Count)
		}
		copy(s.inline[to.first:to.first+c.Count], src.inline[from.first:from.first+c.Count])
		return nil
	}
	dst := s.descriptors[to.first : to.first+c.Count]
	if len(to.binding.Immutable) == 0 {
		copy(dst, src.descriptors[from.first:])
		return nil
	}
	if to.binding.Type == vk.DESCRIPTOR_TYPE_SAMPLER && c.Count > 0 {
		return vk.Errorf(vk.ERROR_UNKNOWN, vk.VUID_VkCopyDescriptorSet_dstBinding_02753, "binding %d has immutable samplers",
			c.DstBinding)
	}
	for i := range dst {
		d := src.descriptors[from.first+uint32(i)]
		d.Sampler = dst[i].Sampler
		dst[i] = d
	}
	return nil
}
