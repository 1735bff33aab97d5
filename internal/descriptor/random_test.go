package descriptor

import (
	"encoding/binary"
	"math/rand/v2"
	"testing"

	"farside/internal/vk"
)

// model is a set as the specification tells it: an element is found by counting through the bindings, one by one.
type model struct {
	layout   *Layout
	variable uint32
	elements map[[2]uint32]Descriptor
	bytes    map[[2]uint32]byte
}

func newModel(l *Layout, variable uint32) *model {
	m := &model{l, variable, map[[2]uint32]Descriptor{}, map[[2]uint32]byte{}}
	for _, b := range l.Bindings {
		for i, s := range b.Immutable {
			m.elements[[2]uint32{b.Number, uint32(i)}] = Descriptor{Sampler: s}
		}
	}
	return m
}

func (m *model) count(i int) uint32 {
	b := &m.layout.Bindings[i]
	if b.Flags&vk.DESCRIPTOR_BINDING_VARIABLE_DESCRIPTOR_COUNT_BIT != 0 {
		return m.variable
	}
	return b.Count
}

// places lists where n elements from one on are, and the bindings that they belong to; nil if they are not there or
// not alike.
func (m *model) places(binding, element, n uint32) (list [][2]uint32, of *Binding) {
	for i := range m.layout.Bindings {
		b := &m.layout.Bindings[i]
		if b.Number < binding || m.count(i) == 0 {
			if b.Number == binding {
				return nil, nil
			}
			continue
		}
		if of == nil {
			if b.Number != binding {
				return nil, nil
			}
			of = b
		}
		for e := uint32(0); e < m.count(i); e++ {
			if element > 0 {
				element--
				if b.Type != of.Type || (b.Immutable == nil) != (of.Immutable == nil) {
					return nil, nil
				}
				continue
			}
			if len(list) == int(n) {
				return list, of
			}
			if b.Type != of.Type || (b.Immutable == nil) != (of.Immutable == nil) {
				return nil, nil
			}
			list = append(list, [2]uint32{b.Number, e})
		}
	}
	if len(list) < int(n) {
		return nil, nil
	}
	return list, of
}

var kinds = []vk.DescriptorType{
	vk.DESCRIPTOR_TYPE_SAMPLER, vk.DESCRIPTOR_TYPE_COMBINED_IMAGE_SAMPLER, storage, storage,
	vk.DESCRIPTOR_TYPE_UNIFORM_TEXEL_BUFFER, block, block,
}

func randomLayout(t *testing.T, r *rand.Rand) (*Layout, uint32) {
	var list []Binding
	number := uint32(r.IntN(3))
	kind := kinds[r.IntN(len(kinds))]
	for range 1 + r.IntN(6) {
		if r.IntN(3) == 0 {
			kind = kinds[r.IntN(len(kinds))]
		}
		b := Binding{Number: number, Type: kind, Count: uint32(r.IntN(4))}
		if kind == block {
			b.Count *= 4
		}
		if sampled(kind) && r.IntN(2) == 0 {
			for range b.Count {
				b.Immutable = append(b.Immutable, vk.Sampler(1+r.Uint64N(1<<40)))
			}
		}
		list = append(list, b)
		number += 1 + uint32(r.IntN(8))/7
	}
	variable := uint32(0)
	if last := &list[len(list)-1]; r.IntN(2) == 0 && last.Immutable == nil {
		last.Flags = vk.DESCRIPTOR_BINDING_VARIABLE_DESCRIPTOR_COUNT_BIT
		variable = uint32(r.IntN(int(last.Count) + 1))
		if last.Type == block {
			variable &^= 3
		}
	}
	r.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
	return layoutOf(t, 0, list...), variable
}

func (m *model) compare(t *testing.T, s *Set) {
	t.Helper()
	for i := range m.layout.Bindings {
		b := &m.layout.Bindings[i]
		if s.Count(b.Number) != m.count(i) {
			t.Fatalf("binding %d has %d elements, want %d", b.Number, s.Count(b.Number), m.count(i))
		}
		for e := range m.count(i) {
			at := [2]uint32{b.Number, e}
			if b.Type == block {
				if got := s.Inline(b.Number)[e]; got != m.bytes[at] {
					t.Fatalf("byte %v is %d, want %d", at, got, m.bytes[at])
				}
				continue
			}
			if d, ok := s.At(b.Number, e); !ok || *d != m.elements[at] {
				t.Fatalf("element %v is %+v, want %+v", at, d, m.elements[at])
			}
		}
	}
}

// write does what Set.Write should do, and says whether that is allowed.
func (m *model) write(w *Write) bool {
	list, of := m.places(w.Binding, w.Element, w.Count)
	for i, at := range list {
		if of.Type == block {
			m.bytes[at] = w.Data[i]
			continue
		}
		d := w.Info(uint32(i))
		if of.Immutable != nil {
			d.Sampler = m.elements[at].Sampler
		}
		m.elements[at] = d
	}
	return list != nil
}

// copy does what Set.Copy should do, and says whether that is allowed.
func (m *model) copy(from *model, c *Copy) bool {
	src, srcOf := from.places(c.SrcBinding, c.SrcElement, c.Count)
	dst, dstOf := m.places(c.DstBinding, c.DstElement, c.Count)
	if src == nil || dst == nil || srcOf.Type != dstOf.Type ||
		dstOf.Type == vk.DESCRIPTOR_TYPE_SAMPLER && dstOf.Immutable != nil {
		return false
	}
	for i := range src {
		m.bytes[dst[i]] = from.bytes[src[i]]
		d := from.elements[src[i]]
		if dstOf.Immutable != nil {
			d.Sampler = m.elements[dst[i]].Sampler
		}
		m.elements[dst[i]] = d
	}
	return true
}

// TestRandomUpdates holds sets of random layouts to the model, after random writes and copies, most of them within the
// rules, with random numbers for what they write.
func TestRandomUpdates(t *testing.T) {
	done, refused := 0, 0
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 1))
		l, variable := randomLayout(t, r)
		other, otherVariable := l, variable
		if r.IntN(2) == 0 {
			other, otherVariable = randomLayout(t, r)
		}
		sets := []*Set{NewSet(l, variable), NewSet(other, otherVariable)}
		models := []*model{newModel(l, variable), newModel(other, otherVariable)}
		place := func(m *model) (binding, element uint32) {
			b := m.layout.Bindings[r.IntN(len(m.layout.Bindings))]
			if b.Type == block {
				return b.Number, 4 * uint32(r.IntN(4))
			}
			return b.Number, uint32(r.IntN(4))
		}
		for range 60 {
			to := r.IntN(2)
			m := models[to]
			var err error
			allowed := false
			binding, element := place(m)
			count := uint32(1 + r.IntN(5))
			if b, _ := m.layout.Binding(binding); b.Type == block {
				count *= 4
			}
			if r.IntN(2) == 0 {
				b, _ := m.layout.Binding(binding)
				w := Write{Binding: binding, Element: element, Count: count, Type: b.Type,
					Stride: uint64(InfoSize(b.Type) + r.IntN(9))}
				for range 256 {
					w.Data = append(w.Data, byte(r.Uint32()))
				}
				allowed, err = m.write(&w), sets[to].Write(&w)
			} else {
				from := 1 - to
				c := Copy{DstBinding: binding, DstElement: element, Count: count}
				c.SrcBinding, c.SrcElement = place(models[from])
				allowed, err = m.copy(models[from], &c), sets[to].Copy(sets[from], &c)
			}
			if (err == nil) != allowed {
				t.Fatalf("seed %d: %v, and the model says %v", seed, err, allowed)
			}
			if allowed {
				done++
			} else {
				refused++
			}
			models[0].compare(t, sets[0])
			models[1].compare(t, sets[1])
		}
	}
	if done < 2000 || refused < 2000 {
		t.Errorf("%d updates were done and %d refused", done, refused)
	}
}

// FuzzTemplate applies templates of any content to structures of any length: they are refused, or they write what a
// look at the same bytes says.
func FuzzTemplate(f *testing.F) {
	entry := func(binding, element, count, kind uint32, offset, stride uint64) []byte {
		b := binary.NativeEndian.AppendUint32(nil, binding)
		b = binary.NativeEndian.AppendUint32(b, element)
		b = binary.NativeEndian.AppendUint32(b, count)
		b = binary.NativeEndian.AppendUint32(b, kind)
		b = binary.NativeEndian.AppendUint64(b, offset)
		return binary.NativeEndian.AppendUint64(b, stride)
	}
	f.Add(entry(0, 0, 2, uint32(storage), 8, 24), make([]byte, 64))
	f.Add(entry(0, 1, 3, uint32(storage), 8, 32), make([]byte, 200))
	f.Add(entry(2, 4, 12, uint32(block), 3, 0), make([]byte, 15))
	f.Add(append(entry(4, 0, 1, 0, 0, 0), entry(4, 1, 1, 1, 1<<63, 1<<40)...), make([]byte, 24))
	f.Fuzz(func(t *testing.T, description, data []byte) {
		l := layoutOf(t, 0,
			Binding{Number: 0, Type: storage, Count: 2}, Binding{Number: 1, Type: storage, Count: 3},
			Binding{Number: 2, Type: block, Count: 8}, Binding{Number: 3, Type: block, Count: 8},
			Binding{Number: 4, Type: vk.DESCRIPTOR_TYPE_SAMPLER, Count: 2},
			Binding{Number: 5, Type: vk.DESCRIPTOR_TYPE_COMBINED_IMAGE_SAMPLER, Count: 2, Immutable: []vk.Sampler{1, 2}},
			Binding{Number: 7, Type: vk.DESCRIPTOR_TYPE_STORAGE_TEXEL_BUFFER, Count: 4,
				Flags: vk.DESCRIPTOR_BINDING_VARIABLE_DESCRIPTOR_COUNT_BIT})
		var entries []Entry
		for ; len(description) >= 32; description = description[32:] {
			word := func(i int) uint32 { return binary.NativeEndian.Uint32(description[4*i:]) }
			entries = append(entries, Entry{
				Binding: word(0), Element: word(1), Count: word(2), Type: vk.DescriptorType(word(3)),
				Offset: binary.NativeEndian.Uint64(description[16:]), Stride: binary.NativeEndian.Uint64(description[24:]),
			})
		}
		template, err := NewTemplate(entries)
		if err != nil {
			return
		}
		s := NewSet(l, 2)
		for i := range template.Len() {
			w := template.Write(i, data)
			if err := s.Write(&w); err != nil {
				continue
			}
			if template.Len() > 1 || w.Count == 0 || w.Binding > 7 {
				continue
			}
			if w.Type == block {
				if got := s.inline[w.Element+8*(w.Binding-2)]; got != w.Data[0] {
					t.Errorf("the first byte is %d, want %d", got, w.Data[0])
				}
			} else if d, ok := s.At(w.Binding, w.Element); ok && w.Binding != 5 && *d != w.Info(0) {
				t.Errorf("the first descriptor is %+v, want %+v", *d, w.Info(0))
			}
		}
		if len(data) >= template.Size() {
			for i := range template.Len() {
				if w := template.Write(i, data); !w.Complete() {
					t.Errorf("%d bytes are enough for the template, and not for write %d, %+v", len(data), i, w)
				}
			}
		}
		for i, want := range []vk.Sampler{1, 2} {
			if d, _ := s.At(5, uint32(i)); d.Sampler != want {
				t.Errorf("immutable sampler %d is %d", i, d.Sampler)
			}
		}
	})
}

func TestTemplatesThatAreTooLarge(t *testing.T) {
	for _, e := range []Entry{
		{Count: 1, Type: storage, Offset: 1<<64 - 8},
		{Count: 2, Type: storage, Stride: 1<<64 - 1},
		{Count: 1<<32 - 1, Type: storage, Stride: 1 << 62},
		{Count: 1, Type: vk.DESCRIPTOR_TYPE_ACCELERATION_STRUCTURE_KHR},
	} {
		if _, err := NewTemplate([]Entry{e}); err == nil {
			t.Errorf("%+v made a template", e)
		}
	}
	template,
		err := NewTemplate([]Entry{{Count: 3, Type: storage, Offset: 4, Stride: 100},
		{Count: 0, Type: storage, Offset: 1 << 40}, {Count: 9, Type: block, Offset: 1, Stride: 77}})
	if err != nil || template.Size() != 4+200+24 {
		t.Errorf("size %d, %v", template.Size(), err)
	}
}
