package profile

import (
	"encoding/binary"
	"math"
	"strings"
)

// baseName is the name of the outermost member.
func baseName(name string) string {
	base, _, _ := strings.Cut(name, ".")
	return base
}

// get reads the member out of the bytes of its structure.
func (m *member) get(structure []byte) Value {
	var v Value
	at := structure[m.offset:]
	if m.kind == kindText {
		text, _, _ := strings.Cut(string(at[:m.count]), "\x00")
		return Value{Text: text}
	}
	for i := range m.count {
		w := word(at[uintptr(i)*m.size:], m.size)
		switch {
		case m.kind == kindFloat && m.size == 4:
			v.Floats = append(v.Floats, float64(math.Float32frombits(uint32(w))))
		case m.kind == kindFloat:
			v.Floats = append(v.Floats, math.Float64frombits(w))
		case m.kind == kindInt && m.size == 4:
			v.Words = append(v.Words, uint64(int64(int32(w))))
		default:
			v.Words = append(v.Words, w)
		}
	}
	return v
}

// word reads an integer of 1, 2, 4 or 8 bytes.
func word(b []byte, size uintptr) uint64 {
	switch size {
	case 1:
		return uint64(b[0])
	case 2:
		return uint64(binary.NativeEndian.Uint16(b))
	case 4:
		return uint64(binary.NativeEndian.Uint32(b))
	}
	return binary.NativeEndian.Uint64(b)
}

// put is the bytes of a member that holds v.
func (m *member) put(v Value) []byte {
	if m.kind == kindText {
		bytes := make([]byte, m.count)
		copy(bytes[:m.count-1], v.Text)
		return bytes
	}
	words := v.Words
	for _, f := range v.Floats {
		if m.size == 4 {
			words = append(words, uint64(math.Float32bits(float32(f))))
		} else {
			words = append(words, math.Float64bits(f))
		}
	}
	var bytes []byte
	for _, w := range words {
		switch m.size {
		case 1:
			bytes = append(bytes, byte(w))
		case 2:
			bytes = binary.NativeEndian.AppendUint16(bytes, uint16(w))
		case 4:
			bytes = binary.NativeEndian.AppendUint32(bytes, uint32(w))
		default:
			bytes = binary.NativeEndian.AppendUint64(bytes, w)
		}
	}
	return bytes
}

// less is the greatest value that promises no more than either of two, by the registry's limittype. A device that has
// one value and no other keeps its own.
func (m *member) less(own, claimed Value) Value {
	is := Value{}
	for i, a := range own.Floats {
		is.Floats = append(is.Floats, m.lessFloat(i, a, claimed.Floats[i]))
	}
	for i, a := range own.Words {
		b := claimed.Words[i]
		switch {
		case m.limit == limitExact:
		case m.limit == limitBitmask:
			a &= b
		case m.kind == kindBits:
			a &= b
		case m.kind == kindInt:
			a = uint64(int64(m.lessFloat(i, float64(int64(a)), float64(int64(b)))))
		case m.limit == limitMax:
			a = min(a, b)
		case m.limit == limitMul:
			a = commonMultiple(a, b)
		case m.limit == limitMin, m.limit == limitRange && i == 0:
			a = max(a, b)
		case m.limit == limitRange:
			a = min(a, b)
		}
		is.Words = append(is.Words, a)
	}
	if m.kind == kindText {
		return own
	}
	return is
}

func (m *member) lessFloat(i int, own, claimed float64) float64 {
	switch {
	case m.limit == limitMax, m.limit == limitRange && i > 0:
		return min(own, claimed)
	case m.limit == limitMin, m.limit == limitMul, m.limit == limitRange:
		return max(own, claimed)
	}
	return own
}

// commonMultiple is the least common multiple, or a where there is none.
func commonMultiple(a, b uint64) uint64 {
	if a == 0 || b == 0 {
		return max(a, b)
	}
	x, y := a, b
	for y != 0 {
		x, y = y, x%y
	}
	if b/x > math.MaxUint64/a {
		return a
	}
	return a / x * b
}
