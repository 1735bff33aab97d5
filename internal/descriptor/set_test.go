package descriptor

import (
	"encoding/binary"
	"errors"
	"slices"
	"sync"
	"testing"

	"farside/internal/vk"
)

func layoutOf(t *testing.T, flags vk.DescriptorSetLayoutCreateFlags, bindings ...Binding) *Layout {
	t.Helper()
	l, err := NewLayout(flags, bindings)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// infos lays structures of 64-bit words out as C does; those of images end with a layout and padding.
func infos(words ...uint64) []byte {
	var b []byte
	for _, w := range words {
		b = binary.NativeEndian.AppendUint64(b, w)
	}
	return b
}

func mustFail(t *testing.T, err error, vuid string) {
	t.Helper()
	if err == nil || vk.VUIDOf(err).String() != vuid {
		t.Errorf("error %v with %q, want %q", err, vk.VUIDOf(err).String(), vuid)
	}
}

func TestBindingsInAnyOrderAndWithGaps(t *testing.T) {
	l := layoutOf(t, 0,
		Binding{Number: 40, Type: vk.DESCRIPTOR_TYPE_STORAGE_BUFFER_DYNAMIC, Count: 2},
		Binding{Number: 7, Type: vk.DESCRIPTOR_TYPE_UNIFORM_BUFFER_DYNAMIC, Count: 3},
		Binding{Number: 9, Type: vk.DESCRIPTOR_TYPE_STORAGE_BUFFER, Count: 0},
		Binding{Number: 8, Type: vk.DESCRIPTOR_TYPE_INLINE_UNIFORM_BLOCK, Count: 16},
		Binding{Number: 0, Type: vk.DESCRIPTOR_TYPE_STORAGE_IMAGE, Count: 1},
	)
	s := NewSet(l, 0)
	for binding, want := range map[uint32]uint32{0: 1, 1: 0, 7: 3, 8: 16, 9: 0, 40: 2, 41: 0} {
		if got := s.Count(binding); got != want {
			t.Errorf("binding %d has %d elements, want %d", binding, got, want)
		}
	}
	seen := map[*Descriptor]bool{}
	for _, at := range [][2]uint32{{0, 0}, {7, 0}, {7, 1}, {7, 2}, {40, 0}, {40, 1}} {
		d, ok := s.At(at[0], at[1])
		if !ok || seen[d] {
			t.Errorf("element %v: %v, or one that another element has", at, ok)
		}
		seen[d] = true
	}
	for _, at := range [][2]uint32{{0, 1}, {1, 0}, {7, 3}, {8, 0}, {9, 0}, {40, 2}, {41, 0}, {1 << 31, 0},
		{40, 1<<32 - 1}} {
		if _, ok := s.At(at[0], at[1]); ok {
			t.Errorf("there is an element %v", at)
		}
	}
	if n := len(s.Inline(8)); n != 16 || s.Inline(7) != nil || s.Inline(99) != nil {
		t.Errorf("%d inline bytes", n)
	}
	if l.DynamicCount() != 5 {
		t.Errorf("%d dynamic offsets", l.DynamicCount())
	}
	for i, at := range [][2]uint32{{7, 0}, {7, 1}, {7, 2}, {40, 0}, {40, 1}} {
		if n, ok := l.DynamicIndex(at[0], at[1]); !ok || n != uint32(i) {
			t.Errorf("dynamic offset of %v is %d, %v, want %d", at, n, ok, i)
		}
	}
	for _, at := range [][2]uint32{{0, 0}, {7, 3}, {9, 0}, {5, 0}} {
		if n, ok := l.DynamicIndex(at[0], at[1]); ok {
			t.Errorf("%v has the dynamic offset %d", at, n)
		}
	}
}

func TestVariableCount(t *testing.T) {
	l := layoutOf(t, 0,
		Binding{Number: 0, Type: vk.DESCRIPTOR_TYPE_STORAGE_BUFFER, Count: 2},
		Binding{Number: 1, Type: vk.DESCRIPTOR_TYPE_STORAGE_BUFFER, Count: 100,
			Flags: vk.DESCRIPTOR_BINDING_VARIABLE_DESCRIPTOR_COUNT_BIT})
	for variable, want := range map[uint32]uint32{0: 0, 3: 3, 100: 100, 101: 100} {
		s := NewSet(l, variable)
		if got := s.Count(1); got != want {
			t.Errorf("variable count %d: %d elements, want %d", variable, got, want)
		}
		w := Write{Element: 1, Count: want + 1, Type: vk.DESCRIPTOR_TYPE_STORAGE_BUFFER, Stride: 24,
			Data: make([]byte, 24*102)}
		if err := s.Write(&w); err != nil {
			t.Errorf("variable count %d: %v", variable, err)
		}
		w.Count++
		mustFail(t, s.Write(&w), "VUID-VkWriteDescriptorSet-dstArrayElement-00321")
	}
}

func TestWritesOfEachType(t *testing.T) {
	// Words of a structure in which every member has a value, also those that a type ignores.
	image := infos(0x11, 0x22, 0xffffffff00000001)
	for kind, want := range map[vk.DescriptorType]Descriptor{
		vk.DESCRIPTOR_TYPE_SAMPLER:                {Sampler: 0x11},
		vk.DESCRIPTOR_TYPE_COMBINED_IMAGE_SAMPLER: {Sampler: 0x11, ImageView: 0x22, ImageLayout: vk.IMAGE_LAYOUT_GENERAL},
		vk.DESCRIPTOR_TYPE_SAMPLED_IMAGE:          {ImageView: 0x22, ImageLayout: vk.IMAGE_LAYOUT_GENERAL},
		vk.DESCRIPTOR_TYPE_STORAGE_IMAGE:          {ImageView: 0x22, ImageLayout: vk.IMAGE_LAYOUT_GENERAL},
		vk.DESCRIPTOR_TYPE_INPUT_ATTACHMENT:       {ImageView: 0x22, ImageLayout: vk.IMAGE_LAYOUT_GENERAL},
		vk.DESCRIPTOR_TYPE_UNIFORM_TEXEL_BUFFER:   {BufferView: 0x11},
		vk.DESCRIPTOR_TYPE_STORAGE_TEXEL_BUFFER:   {BufferView: 0x11},
		vk.DESCRIPTOR_TYPE_UNIFORM_BUFFER:         {Buffer: 0x11, Offset: 0x22, Range: 0xffffffff00000001},
		vk.DESCRIPTOR_TYPE_STORAGE_BUFFER:         {Buffer: 0x11, Offset: 0x22, Range: 0xffffffff00000001},
		vk.DESCRIPTOR_TYPE_UNIFORM_BUFFER_DYNAMIC: {Buffer: 0x11, Offset: 0x22, Range: 0xffffffff00000001},
		vk.DESCRIPTOR_TYPE_STORAGE_BUFFER_DYNAMIC: {Buffer: 0x11, Offset: 0x22, Range: 0xffffffff00000001},
	} {
		s := NewSet(layoutOf(t, 0, Binding{Number: 3, Type: kind, Count: 2}), 0)
		if err := s.Write(&Write{Binding: 3, Element: 1, Count: 1, Type: kind, Data: image}); err != nil {
			t.Errorf("%v: %v", kind, err)
		}
		if d, _ := s.At(3, 1); *d != want {
			t.Errorf("%v: %+v, want %+v", kind, *d, want)
		}
		if d, _ := s.At(3, 0); *d != (Descriptor{}) {
			t.Errorf("%v: the other element is %+v", kind, *d)
		}
	}
	s := NewSet(layoutOf(t, 0, Binding{Type: vk.DESCRIPTOR_TYPE_INLINE_UNIFORM_BLOCK, Count: 8}), 0)
	inline := Write{Element: 4, Count: 4, Type: vk.DESCRIPTOR_TYPE_INLINE_UNIFORM_BLOCK, Data: []byte{1, 2, 3, 4}}
	if err := s.Write(&inline); err != nil || !slices.Equal(s.Inline(0), []byte{0, 0, 0, 0, 1, 2, 3, 4}) {
		t.Errorf("inline uniform block %v: %v", s.Inline(0), err)
	}
}

func TestUpdatesGoOnInTheNextBindings(t *testing.T) {
	const buffer, inline = vk.DESCRIPTOR_TYPE_UNIFORM_BUFFER, vk.DESCRIPTOR_TYPE_INLINE_UNIFORM_BLOCK
	l := layoutOf(t, 0,
		Binding{Number: 0, Type: buffer, Count: 2},
		Binding{Number: 1, Type: vk.DESCRIPTOR_TYPE_SAMPLER, Count: 0},
		Binding{Number: 3, Type: buffer, Count: 1},
		Binding{Number: 4, Type: buffer, Count: 2},
		Binding{Number: 5, Type: vk.DESCRIPTOR_TYPE_STORAGE_BUFFER, Count: 1},
		Binding{Number: 6, Type: inline, Count: 8},
		Binding{Number: 7, Type: inline, Count: 8})
	s := NewSet(l, 0)
	w := Write{Element: 1, Count: 4, Type: buffer, Stride: 24, Data: infos(1, 0, 0, 2, 0, 0, 3, 0, 0, 4, 0, 0, 5, 0, 0)}
	if err := s.Write(&w); err != nil {
		t.Fatal(err)
	}
	got := []vk.Buffer{}
	for _, at := range [][2]uint32{{0, 0}, {0, 1}, {3, 0}, {4, 0}, {4, 1}, {5, 0}} {
		d, _ := s.At(at[0], at[1])
		got = append(got, d.Buffer)
	}
	if !slices.Equal(got, []vk.Buffer{0, 1, 2, 3, 4, 0}) {
		t.Errorf("buffers %v", got)
	}
	w.Count = 5
	mustFail(t, s.Write(&w), "VUID-VkWriteDescriptorSet-descriptorCount-00317")
	mustFail(t, s.Write(&Write{Binding: 1, Count: 1, Type: buffer, Data: w.Data}),
		"VUID-VkWriteDescriptorSet-dstBinding-00316")
	mustFail(t, s.Write(&Write{Binding: 3, Count: 1, Type: vk.DESCRIPTOR_TYPE_SAMPLER, Data: w.Data}),
		"VUID-VkWriteDescriptorSet-descriptorType-00319")

	bytes := Write{Binding: 6, Element: 4, Count: 8, Type: inline, Data: []byte{1, 2, 3, 4, 5, 6, 7, 8}}
	if err := s.Write(&bytes); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(s.Inline(6), []byte{0, 0, 0, 0, 1, 2, 3, 4}) ||
		!slices.Equal(s.Inline(7), []byte{5, 6, 7, 8, 0, 0, 0, 0}) {
		t.Errorf("inline uniform blocks %v and %v", s.Inline(6), s.Inline(7))
	}

	other := NewSet(l, 0)
	if err := other.Copy(s, &Copy{SrcBinding: 0, SrcElement: 1, DstBinding: 3, DstElement: 0, Count: 3}); err != nil {
		t.Fatal(err)
	}
	if a, _ := other.At(3, 0); a.Buffer != 1 {
		t.Errorf("binding 3 after the copy: %+v", *a)
	}
	if a, _ := other.At(4, 1); a.Buffer != 3 {
		t.Errorf("binding 4 after the copy: %+v", *a)
	}
	if err := other.Copy(s, &Copy{SrcBinding: 6, SrcElement: 4, DstBinding: 7, Count: 8}); err != nil ||
		!slices.Equal(other.Inline(7), bytes.Data) {
		t.Errorf("inline uniform block after the copy: %v, %v", other.Inline(7), err)
	}
	mustFail(t, other.Copy(s, &Copy{SrcBinding: 0, DstBinding: 5, Count: 1}), "VUID-VkCopyDescriptorSet-dstBinding-02632")
	mustFail(t, other.Copy(s, &Copy{SrcBinding: 7, DstBinding: 7, Count: 12}),
		"VUID-VkCopyDescriptorSet-srcArrayElement-00346")
	mustFail(t, other.Copy(s, &Copy{SrcBinding: 2, DstBinding: 0, Count: 1}), "VUID-VkCopyDescriptorSet-srcBinding-00345")
	mustFail(t, other.Copy(s, &Copy{SrcBinding: 0, DstBinding: 1, Count: 1}), "VUID-VkCopyDescriptorSet-dstBinding-00347")
}

func TestImmutableSamplersStay(t *testing.T) {
	const combined = vk.DESCRIPTOR_TYPE_COMBINED_IMAGE_SAMPLER
	l := layoutOf(t, 0,
		Binding{Number: 0, Type: combined, Count: 2, Immutable: []vk.Sampler{71, 72}},
		Binding{Number: 1, Type: combined, Count: 1},
		Binding{Number: 2, Type: vk.DESCRIPTOR_TYPE_SAMPLER, Count: 1, Immutable: []vk.Sampler{73}})
	s := NewSet(l, 0)
	image := infos(0x11, 0x22, 1, 0x33, 0x44, 1)
	if err := s.Write(&Write{Count: 2, Type: combined, Stride: 24, Data: image}); err != nil {
		t.Fatal(err)
	}
	if err := s.Write(&Write{Binding: 1, Count: 1, Type: combined, Data: image}); err != nil {
		t.Fatal(err)
	}
	if d, _ := s.At(0, 1); *d != (Descriptor{Sampler: 72, ImageView: 0x44, ImageLayout: 1}) {
		t.Errorf("with an immutable sampler: %+v", *d)
	}
	if d, _ := s.At(1, 0); d.Sampler != 0x11 {
		t.Errorf("without: %+v", *d)
	}
	if err := s.Copy(s, &Copy{SrcBinding: 1, DstBinding: 0, Count: 1}); err != nil {
		t.Fatal(err)
	}
	if d, _ := s.At(0, 0); *d != (Descriptor{Sampler: 71, ImageView: 0x22, ImageLayout: 1}) {
		t.Errorf("with an immutable sampler, after a copy: %+v", *d)
	}
	mustFail(t, s.Write(&Write{Element: 1, Count: 2, Type: combined, Stride: 24, Data: image}),
		"VUID-VkWriteDescriptorSet-descriptorCount-00318")
	mustFail(t, s.Copy(s, &Copy{SrcBinding: 2, DstBinding: 2, Count: 1}), "VUID-VkCopyDescriptorSet-dstBinding-02753")
	if d, _ := s.At(2, 0); d.Sampler != 73 {
		t.Errorf("an immutable sampler alone: %+v", *d)
	}
}

// TestUpdatesBesideReaders has threads write and copy descriptors of one set while others read their own, which the
// race detector looks at.
func TestUpdatesBesideReaders(t *testing.T) {
	const buffer = vk.DESCRIPTOR_TYPE_STORAGE_BUFFER
	s := NewSet(layoutOf(t, 0, Binding{Number: 0, Type: buffer, Count: 8},
		Binding{Number: 1, Type: vk.DESCRIPTOR_TYPE_INLINE_UNIFORM_BLOCK, Count: 64}), 0)
	var threads sync.WaitGroup
	for n := range uint32(4) {
		threads.Go(func() {
			for i := range uint64(500) {
				w := Write{Element: 2 * n, Count: 1, Type: buffer, Data: infos(i+1, uint64(n), 5)}
				bytes := Write{Binding: 1, Element: 16 * n, Count: 16, Type: vk.DESCRIPTOR_TYPE_INLINE_UNIFORM_BLOCK,
					Data: infos(i, i)}
				if err := errors.Join(s.Write(&w), s.Copy(s, &Copy{SrcElement: 2 * n, DstElement: 2*n + 1, Count: 1}),
					s.Write(&bytes)); err != nil {
					t.Error(err)
				}
				if d, _ := s.At(0, 2*n+1); *d != (Descriptor{Buffer: vk.Buffer(i + 1), Offset: uint64(n), Range: 5}) {
					t.Errorf("thread %d reads %+v", n, *d)
				}
				if !slices.Equal(s.Inline(1)[16*n:][:16], bytes.Data) {
					t.Errorf("thread %d reads other bytes", n)
				}
			}
		})
	}
	threads.Wait()
}
