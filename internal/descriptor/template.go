package descriptor

import (
	"math"
	"math/bits"

	"farside/internal/vk"
)

// Entry is a write of a template: Count descriptors, described from Offset on, Stride bytes apart.
type Entry struct {
	Binding, Element uint32
	Count            uint32 // descriptors; bytes of an inline uniform block
	Type             vk.DescriptorType
	Offset, Stride   uint64
}

// Template is a VkDescriptorUpdateTemplate: writes that take what they need from the application's own structure.
type Template struct {
	entries []Entry
	size    int
}

// NewTemplate makes a template of entries, which it takes over. It fails where a type can't be written, and where the
// structure would be larger than memory.
func NewTemplate(entries []Entry) (*Template, error) {
	t := &Template{entries: entries}
	for i := range entries {
		e := &entries[i]
		size := uint64(InfoSize(e.Type))
		if size == 0 {
			return nil, vk.Errorf(vk.ERROR_UNKNOWN, vk.VUID_VkDescriptorUpdateTemplateEntry_descriptorType_parameter,
				"entry %d: the device has no descriptors of type %v", i, e.Type)
		}
		if e.Type == vk.DESCRIPTOR_TYPE_INLINE_UNIFORM_BLOCK {
			e.Stride = 1 // it has none (VkDescriptorUpdateTemplateEntry)
		}
		if e.Count == 0 {
			continue
		}
		over, last := bits.Mul64(uint64(e.Count-1), e.Stride)
		end, carry := bits.Add64(last, size, 0)
		end, carry2 := bits.Add64(end, e.Offset, 0)
		if over|carry|carry2 != 0 || end > math.MaxInt64>>8 {
			return nil, vk.Errorf(vk.ERROR_UNKNOWN, vk.NoVUID,
				"entry %d: %d descriptors from offset %d on, %d bytes apart, are more than memory has", i, e.Count, e.Offset,
				e.Stride)
		}
		t.size = max(t.size, int(end))
	}
	return t, nil
}

// Len is the number of writes.
func (t *Template) Len() int { return len(t.entries) }

// Size is how many bytes of the application's structure the writes look at.
func (t *Template) Size() int { return t.size }

// Write is write i with data, which should have Size bytes.
func (t *Template) Write(i int, data []byte) Write {
	e := &t.entries[i]
	return Write{
		Binding: e.Binding, Element: e.Element, Count: e.Count, Type: e.Type,
		Data: data[min(e.Offset, uint64(len(data))):], Stride: e.Stride,
	}
}
