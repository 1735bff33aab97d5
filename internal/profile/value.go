package profile

import (
	"math"
	"strconv"
	"strings"

	"github.com/google/uuid"

	"farside/internal/vk"
)

// Value is what a member holds: one element for each of the member's, or a text.
type Value struct {
	Words  []uint64  // integers (two's complement), booleans, enumerants and bits
	Floats []float64 // of members that are floats
	Text   string    // of members that are texts
}

// read makes a member's value from the words of a file: numbers, true and false, names of enumerants with or without
// VK_, a UUID, a version such as 1.3.204 with or without the number behind it.
func (m *member) read(words []string) (Value, error) {
	switch {
	case m.kind == kindText:
		if len(words) != 1 {
			return Value{}, errorf("%s: %d texts instead of one", m.key(), len(words))
		}
		if len(words[0]) >= m.count {
			return Value{}, errorf("%s: a text of %d bytes, the most is %d", m.key(), len(words[0]), m.count-1)
		}
		return Value{Text: words[0]}, nil
	case m.kind == kindBits && m.count == 1:
		return m.readBits(words)
	case m.size == 1 && m.count > 1 && len(words) == 1:
		return m.readUUID(words[0])
	case len(words) != m.count:
		return Value{}, errorf("%s: %d values instead of %d", m.key(), len(words), m.count)
	}
	var v Value
	for _, word := range words {
		if m.kind == kindFloat {
			f, err := strconv.ParseFloat(word, 64)
			if err != nil || math.IsNaN(f) {
				return v, errorf("%s: %q is not a number", m.key(), clip(word))
			}
			v.Floats = append(v.Floats, f)
			continue
		}
		n, err := m.readWord(word)
		if err != nil {
			return v, err
		}
		v.Words = append(v.Words, n)
	}
	return v, nil
}

// readUUID reads the bytes of a UUID or of a LUID.
func (m *member) readUUID(word string) (Value, error) {
	digits := strings.ReplaceAll(word, "-", "")
	if m.count == len(uuid.UUID{}) && len(digits) == 2*m.count {
		if u, err := uuid.Parse(digits); err == nil {
			return bytesValue(u[:]), nil
		}
	}
	bytes := make([]byte, m.count)
	for i := range bytes {
		if len(digits) != 2*m.count {
			return Value{}, errorf("%s: %q does not have %d hexadecimal digits", m.key(), clip(word), 2*m.count)
		}
		n, err := strconv.ParseUint(digits[2*i:2*i+2], 16, 8)
		if err != nil {
			return Value{}, errorf("%s: %q does not have %d hexadecimal digits", m.key(), clip(word), 2*m.count)
		}
		bytes[i] = byte(n)
	}
	return bytesValue(bytes), nil
}

func bytesValue(b []byte) Value {
	v := Value{Words: make([]uint64, len(b))}
	for i, x := range b {
		v.Words[i] = uint64(x)
	}
	return v
}

func (m *member) readBits(words []string) (Value, error) {
	bits := uint64(0)
	for _, word := range words {
		n, err := m.enum.read(word)
		if err != nil {
			return Value{}, errorf("%s: %w", m.key(), err)
		}
		bits |= n
	}
	return Value{Words: []uint64{bits}}, nil
}

// readWord reads a member that is no float.
func (m *member) readWord(word string) (uint64, error) {
	switch m.kind {
	case kindBool:
		switch strings.ToLower(word) {
		case "true", "1", "vk_true":
			return 1, nil
		case "false", "0", "vk_false":
			return 0, nil
		}
		return 0, errorf("%s: %q is neither true nor false", m.key(), clip(word))
	case kindEnum, kindBits:
		n, err := m.enum.read(word)
		if err != nil {
			return 0, errorf("%s: %w", m.key(), err)
		}
		return n, nil
	case kindInt:
		n, err := strconv.ParseInt(word, 0, int(8*m.size))
		if err != nil {
			return 0, errorf("%s: %q is not an integer of %d bits", m.key(), clip(word), 8*m.size)
		}
		return uint64(n), nil
	}
	if strings.HasSuffix(m.name, "Version") && strings.Count(word, ".") > 0 {
		return readVersion(m.key(), word)
	}
	n, err := strconv.ParseUint(word, 0, int(8*m.size))
	if err != nil {
		return 0, errorf("%s: %q is not a number of %d bits", m.key(), clip(word), 8*m.size)
	}
	return n, nil
}

// readVersion reads 1.3.204, or the number that stands in parentheses behind such a text.
func readVersion(key, word string) (uint64, error) {
	text, number, packed := strings.Cut(word, "(")
	if packed {
		if n, err := strconv.ParseUint(strings.TrimRight(number, ") "), 0, 32); err == nil {
			return n, nil
		}
	}
	var n [3]uint32
	parts := strings.Split(strings.TrimSpace(text), ".")
	for i, part := range parts {
		v, err := strconv.ParseUint(part, 10, 12)
		if err != nil || len(parts) > 3 {
			return 0, errorf("%s: %q is not a version", key, clip(word))
		}
		n[i] = uint32(v)
	}
	return uint64(vk.MakeVersion(n[0], n[1], n[2])), nil
}

// read reads a number, or the name of an enumerant: whole, without VK_, or without what all names of the enumeration
// have in common.
func (e *enum) read(word string) (uint64, error) {
	if n, err := strconv.ParseInt(word, 0, 64); err == nil {
		return uint64(n), nil
	}
	if _, number, ok := strings.Cut(word, "UNKNOWN_"+e.name+"_value"); ok { // how vulkaninfo prints what it doesn't know
		if n, err := strconv.ParseInt(number, 0, 64); err == nil {
			return uint64(n), nil
		}
	}
	name := strings.ToUpper(strings.TrimSpace(word))
	prefix := e.prefix()
	for _, try := range [...]string{name, "VK_" + name, prefix + name, "VK_" + name + "_BIT", prefix + name + "_BIT"} {
		if n, ok := e.values[try]; ok {
			return n, nil
		}
	}
	known := e.names
	if !strings.HasPrefix(name, "VK_") {
		known = nil
		for _, n := range e.names {
			known = append(known, strings.TrimSuffix(strings.TrimPrefix(n, prefix), "_BIT"))
		}
	}
	return 0, unknown(e.name, word, known)
}

// prefix is what the names of the enumeration begin with, such as VK_QUEUE_ for VkQueueFlagBits.
func (e *enum) prefix() string {
	var b strings.Builder
	for i, c := range strings.TrimSuffix(strings.TrimSuffix(e.name, "2"), "FlagBits") {
		if i > 1 && c >= 'A' && c <= 'Z' {
			b.WriteByte('_')
		}
		b.WriteRune(c)
	}
	return strings.ToUpper(b.String()) + "_"
}

// text prints a value as messages and tables show it.
func (m *member) text(v Value) string {
	switch {
	case m.kind == kindText:
		return v.Text
	case m.size == 1 && m.count == len(uuid.UUID{}):
		var u uuid.UUID
		for i, w := range v.Words {
			u[i] = byte(w)
		}
		return u.String()
	}
	var parts []string
	for _, f := range v.Floats {
		parts = append(parts, strconv.FormatFloat(f, 'g', -1, 32))
	}
	for _, w := range v.Words {
		parts = append(parts, m.word(w))
	}
	return strings.Join(parts, " ")
}

func (m *member) word(w uint64) string {
	switch m.kind {
	case kindBool:
		return strconv.FormatBool(w != 0)
	case kindInt:
		return strconv.FormatInt(int64(w), 10)
	case kindEnum, kindBits:
		return m.enum.text(w, m.kind == kindBits)
	}
	if m.name == "apiVersion" {
		return versionText(uint32(w))
	}
	return strconv.FormatUint(w, 10)
}

// text prints an enumerant, or the bits of a set, without VK_ and the prefix of the enumeration.
func (e *enum) text(w uint64, bits bool) string {
	var names []string
	prefix := e.prefix()
	left := w
	for _, name := range e.names {
		value := e.values[name]
		if !bits && value == w {
			return strings.TrimPrefix(name, prefix)
		}
		if bits && value&(value-1) == 0 && left&value != 0 {
			names = append(names, strings.TrimSuffix(strings.TrimPrefix(name, prefix), "_BIT"))
			left &^= value
		}
	}
	if left != 0 || names == nil {
		names = append(names, "0x"+strconv.FormatUint(left, 16))
	}
	return strings.Join(names, "|")
}

func versionText(v uint32) string {
	return strconv.Itoa(int(v>>22&0x7f)) + "." + strconv.Itoa(int(v>>12&0x3ff)) + "." + strconv.Itoa(int(v&0xfff))
}
