package descriptor

import (
	"testing"

	"farside/internal/vk"
)

// BenchmarkWrite is one write of one buffer.
func BenchmarkWrite(b *testing.B) {
	l, err := NewLayout(0, []Binding{{Type: vk.DESCRIPTOR_TYPE_STORAGE_BUFFER, Count: 4}})
	if err != nil {
		b.Fatal(err)
	}
	s := NewSet(l, 0)
	w := Write{Element: 2, Count: 1, Type: vk.DESCRIPTOR_TYPE_STORAGE_BUFFER, Data: infos(1, 0, 16), Stride: 24}
	for b.Loop() {
		if err := s.Write(&w); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkAllocate is one set of four descriptors, and its end.
func BenchmarkAllocate(b *testing.B) {
	l, err := NewLayout(0, []Binding{{Type: vk.DESCRIPTOR_TYPE_STORAGE_BUFFER, Count: 4}})
	if err != nil {
		b.Fatal(err)
	}
	p, err := NewPool(0, 1, []vk.DescriptorPoolSize{{Type: vk.DESCRIPTOR_TYPE_STORAGE_BUFFER, DescriptorCount: 4}}, 0)
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		s, err := p.Allocate(l, 0)
		if err != nil {
			b.Fatal(err)
		}
		p.Free(s)
	}
}
