package wire

import (
	"bytes"
	"errors"
	"testing"
)

type sample struct {
	a    uint8
	b    uint16
	c    uint32
	d    uint64
	id   [3]byte
	name string
	pad  string
}

func (s *sample) layout(c *Codec) {
	Uint8(c, &s.a)
	Uint16(c, &s.b)
	Uint32(c, &s.c)
	Uint64(c, &s.d)
	c.Bytes(s.id[:])
	c.Reserved(2)
	c.Text(&s.name)
	c.PaddedText(&s.pad, 5)
}

var full = sample{a: 1, b: 0x203, c: 0x4050607, d: 0x8090a0b0c0d0e0f, id: [3]byte{7, 8, 9}, name: "näme", pad: "pad"}

// The bytes of each kind of field are fixed: other versions of the programs read them.
func TestLayout(t *testing.T) {
	want := []byte{1, 3, 2, 7, 6, 5, 4, 0xf, 0xe, 0xd, 0xc, 0xb, 0xa, 9, 8, 7, 8, 9, 0, 0,
		5, 'n', 0xc3, 0xa4, 'm', 'e', 3, 0, 0, 0, 'p', 'a', 'd', 0, 0}
	b := Encode(nil, full.layout)
	if !bytes.Equal(b, want) {
		t.Fatalf("encoded as %x, want %x", b, want)
	}
	var got sample
	if err := Decode(b, got.layout); err != nil || got != full {
		t.Errorf("decoded as %+v, %v", got, err)
	}
}

func TestMalformed(t *testing.T) {
	b := Encode(nil, full.layout)
	var got sample
	for n := range b {
		if err := Decode(b[:n], got.layout); !errors.Is(err, ErrMalformed) {
			t.Errorf("%d of %d bytes: %v", n, len(b), err)
		}
	}
	for name, change := range map[string]func([]byte) []byte{
		"a byte too many":      func(b []byte) []byte { return append(b, 0) },
		"reserved bits":        func(b []byte) []byte { b[19] = 1; return b },
		"bad UTF-8":            func(b []byte) []byte { b[22] = 0xff; return b },
		"a text that is long":  func(b []byte) []byte { b[20] = 255; return b },
		"a pad that is long":   func(b []byte) []byte { b[26] = 6; return b },
		"a pad that is huge":   func(b []byte) []byte { b[29] = 0xff; return b },
		"a pad that isn't one": func(b []byte) []byte { b[len(b)-1] = 1; return b },
	} {
		if err := Decode(change(bytes.Clone(b)), got.layout); !errors.Is(err, ErrMalformed) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Text that is too long is cut, not refused: names are for people.
func TestLongText(t *testing.T) {
	long := sample{name: string(bytes.Repeat([]byte{'a'}, 300)), pad: "0123456"}
	var got sample
	if err := Decode(Encode(nil, long.layout), got.layout); err != nil || got.name != long.name[:255] ||
		got.pad != "01234" {
		t.Errorf("%d bytes, %q, %v", len(got.name), got.pad, err)
	}
}

// FuzzDecode: what is accepted is encoded to the same bytes.
func FuzzDecode(f *testing.F) {
	f.Add(Encode(nil, full.layout))
	f.Fuzz(func(t *testing.T, b []byte) {
		var s sample
		if Decode(b, s.layout) == nil && !bytes.Equal(Encode(nil, s.layout), b) {
			t.Errorf("%x is encoded as %x", b, Encode(nil, s.layout))
		}
	})
}
