package emit

import (
	"fmt"
	"strings"

	"farside/cmd/icdgen/internal/registry"
)

// cType is a C type as Go spells it, with its size and alignment under LP64.
type cType struct {
	expr        string
	size, align uintptr
}

// field is one Go field of a structure. Padding and bitfield storage have no member.
type field struct {
	goName string
	typ    cType
	offset uintptr
	member *registry.Decl
}

// bitfield is one member inside a storage word.
type bitfield struct {
	member *registry.Decl
	typ    cType
	word   string // the field that stores it
	shift  uintptr
}

// layout is where a structure's members lie.
type layout struct {
	fields      []field
	bits        []bitfield
	size, align uintptr
}

// layouts computes layouts once per structure.
type layouts struct {
	reg  *registry.Registry
	done map[string]*layout
	busy map[string]bool
}

func newLayouts(reg *registry.Registry) *layouts {
	return &layouts{reg: reg, done: map[string]*layout{}, busy: map[string]bool{}}
}

// typeOf is the Go type of a member, parameter or result, qualified by q ("" or "vk.").
func (l *layouts) typeOf(d *registry.Decl, q string) (cType, error) {
	base, stars, err := l.baseOf(d, q)
	if err != nil {
		return cType{}, err
	}
	t := base
	if stars > 0 {
		t = cType{strings.Repeat("*", stars) + base.expr, 8, 8}
	}
	for i := len(d.Array) - 1; i >= 0; i-- {
		t.expr = fmt.Sprintf("[%d]%s", d.Array[i], t.expr)
		t.size *= uintptr(d.Array[i])
	}
	return t, nil
}

// baseOf is the type below the stars, and how many stars are left: void* and pointers to opaque types
// have used one up as unsafe.Pointer.
func (l *layouts) baseOf(d *registry.Decl, q string) (cType, int, error) {
	untyped := cType{"unsafe.Pointer", 8, 8}
	if d.Type == "void" {
		if d.Pointer == 0 {
			return cType{}, 0, fmt.Errorf("%s: void by value", d.Name)
		}
		return untyped, d.Pointer - 1, nil
	}
	if s, ok := scalars[d.Type]; ok {
		return cType{s.goType, s.size, s.size}, d.Pointer, nil
	}
	if e, ok := exceptionFor(d.Type); ok {
		if d.Pointer > 0 && (e.goType == "" || strings.HasPrefix(d.Type, "StdVideo")) {
			return untyped, d.Pointer - 1, nil
		}
		if e.goType == "" {
			return cType{}, 0, fmt.Errorf("%s: %s by value, but %s", d.Name, d.Type, e.reason)
		}
		return cType{e.goType, e.size, e.size}, d.Pointer, nil
	}
	expr := q + TypeName(d.Type)
	switch t := l.reg.Type(l.reg.Resolve(d.Type)).(type) {
	case *registry.Handle, *registry.FuncPointer:
		return cType{expr, 8, 8}, d.Pointer, nil
	case *registry.Enum:
		return cType{expr, uintptr(t.Width / 8), uintptr(t.Width / 8)}, d.Pointer, nil
	case *registry.Bitmask:
		return cType{expr, uintptr(t.Width / 8), uintptr(t.Width / 8)}, d.Pointer, nil
	case *registry.BaseType:
		if t.Pointer {
			return cType{expr, 8, 8}, d.Pointer, nil
		}
		if s, ok := scalars[t.Underlying]; ok {
			return cType{expr, s.size, s.size}, d.Pointer, nil
		}
	case *registry.Struct:
		if d.Pointer > 0 {
			return cType{expr, 0, 0}, d.Pointer, nil
		}
		s, err := l.of(t)
		if err != nil {
			return cType{}, 0, err
		}
		return cType{expr, s.size, s.align}, 0, nil
	}
	return cType{}, 0, fmt.Errorf("%s: no Go type for %s; it needs a row in exceptions.go", d.Name, d.Type)
}

func roundUp(n, align uintptr) uintptr { return (n + align - 1) / align * align }

// of computes a structure's layout, or a union's size and alignment.
func (l *layouts) of(s *registry.Struct) (*layout, error) {
	if done := l.done[s.Name]; done != nil {
		return done, nil
	}
	if l.busy[s.Name] {
		return nil, fmt.Errorf("<type name=%q>: contains itself", s.Name)
	}
	l.busy[s.Name] = true
	lay := &layout{align: 1}
	b := structBuilder{lay: lay}
	for _, m := range s.Members {
		t, err := l.typeOf(m, "")
		if err != nil {
			return nil, fmt.Errorf("<type name=%q>: %w", s.Name, err)
		}
		lay.align = max(lay.align, t.align)
		switch {
		case s.Union:
			lay.fields = append(lay.fields, field{goName: FieldName(m.Name), typ: t, member: m})
			b.end = max(b.end, t.size)
		case m.Bits > 0:
			if uintptr(m.Bits) > t.size*8 {
				return nil, fmt.Errorf("<type name=%q>: %s has more bits than its type", s.Name, m.Name)
			}
			b.addBits(m, t)
		default:
			b.bitType = 0
			b.add(FieldName(m.Name), t, m)
		}
	}
	lay.size = roundUp(b.end, lay.align)
	if !s.Union && lay.size > b.end {
		b.pad(lay.size)
	}
	l.done[s.Name] = lay
	return lay, nil
}

// structBuilder places members one after the other as the System V ABI does.
type structBuilder struct {
	lay     *layout
	end     uintptr // first free byte
	bitType uintptr // size of the open bitfield storage word; 0 when none is open
	bitUsed uintptr // bits of it in use
	words   int
}

func (b *structBuilder) pad(to uintptr) {
	b.lay.fields = append(b.lay.fields, field{goName: "_", typ: cType{fmt.Sprintf("[%d]byte", to-b.end), to - b.end, 1},
		offset: b.end})
	b.end = to
}

func (b *structBuilder) add(name string, t cType, m *registry.Decl) {
	if at := roundUp(b.end, t.align); at > b.end {
		b.pad(at)
	}
	b.lay.fields = append(b.lay.fields, field{goName: name, typ: t, offset: b.end, member: m})
	b.end += t.size
}

// addBits puts a bitfield into the open word, or opens the next. Every bitfield in the registry is declared
// with a type of the size of its neighbours, so that words never overlap.
func (b *structBuilder) addBits(m *registry.Decl, t cType) {
	if b.bitType != t.size || b.bitUsed+uintptr(m.Bits) > t.size*8 {
		b.bitType, b.bitUsed = t.size, 0
		b.words++
		b.add(fmt.Sprintf("bits%d", b.words-1), cType{fmt.Sprintf("uint%d", t.size*8), t.size, t.align}, nil)
	}
	b.lay.bits = append(b.lay.bits, bitfield{member: m, typ: t, word: fmt.Sprintf("bits%d", b.words-1), shift: b.bitUsed})
	b.bitUsed += uintptr(m.Bits)
}
