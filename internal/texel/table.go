package texel

import (
	"encoding/binary"
	"math"

	"farside/internal/vk"
)

// Table computes a function of texels that treats each channel by itself, for formats whose channels have at most
// eight bits each: it looks up every channel and puts the results together.
type Table struct {
	size  int  // bytes of a texel
	bytes bool // the channels are the texel's four bytes, in this order
	base  uint64
	shift [4]uint8
	mask  [4]uint8
	words [4][256]uint64 // what a channel changes in base
}

// Tabular says whether there are tables for the format.
func (c *Codec) Tabular() bool {
	for i := range c.channels {
		if c.channels[i].bits > 8 {
			return false
		}
	}
	return c.size <= 4 && c.Separable()
}

// Separable says whether the channels of a texel have nothing to do with each other.
func (c *Codec) Separable() bool { return !c.sharedExponent }

// NewTable makes a table of f, which computes one word for each texel. f must treat the channels by themselves.
func (c *Codec) NewTable(f func(words []uint64, texels []byte)) *Table {
	t := &Table{size: c.size, bytes: c.bytesOf4()}
	var zero [4]byte
	var base [1]uint64
	f(base[:], zero[:c.size])
	t.base = base[0]
	for i := range c.channels {
		ch := &c.channels[i]
		if t.bytes {
			i = ch.first() / 8
		}
		t.shift[i], t.mask[i] = uint8(ch.first()), uint8(ch.mask())
		n := 1 << ch.bits
		texels := make([]byte, 0, (n+1)*4)
		for v := range n {
			texels = binary.LittleEndian.AppendUint32(texels[:v*c.size], uint32(v)<<t.shift[i])
		}
		words := t.words[i][:n]
		f(words, texels[:n*c.size])
		for v := range words {
			words[v] ^= t.base
		}
	}
	return t
}

// Words computes the function for as many texels as dst has words.
func (t *Table) Words(dst []uint64, src []byte) {
	src = src[:len(dst)*t.size]
	w0, w1, w2, w3 := &t.words[0], &t.words[1], &t.words[2], &t.words[3]
	base := t.base
	if t.bytes {
		for i := range dst {
			texel := binary.LittleEndian.Uint32(src[i*4:])
			dst[i] = base ^ w0[uint8(texel)] ^ w1[uint8(texel>>8)] ^ w2[uint8(texel>>16)] ^ w3[texel>>24]
		}
		return
	}
	switch t.size {
	case 1:
		for i := range dst {
			dst[i] = uint64(src[i])
		}
	case 2:
		for i := range dst {
			dst[i] = uint64(binary.LittleEndian.Uint16(src[i*2:]))
		}
	case 3:
		for i := range dst {
			dst[i] = uint64(src[i*3]) | uint64(src[i*3+1])<<8 | uint64(src[i*3+2])<<16
		}
	case 4:
		for i := range dst {
			dst[i] = uint64(binary.LittleEndian.Uint32(src[i*4:]))
		}
	}
	// Always four channels: those that the format lacks change nothing.
	s0, s1, s2, s3 := t.shift[0]&31, t.shift[1]&31, t.shift[2]&31, t.shift[3]&31
	m0, m1, m2, m3 := t.mask[0], t.mask[1], t.mask[2], t.mask[3]
	for i, w := range dst {
		texel := uint32(w)
		dst[i] = base ^ w0[uint8(texel>>s0)&m0] ^ w1[uint8(texel>>s1)&m1] ^ w2[uint8(texel>>s2)&m2] ^ w3[uint8(texel>>s3)&m3]
	}
}

// lanes are the other way to see texels of class Float: a word of four numbers of 16 bits, red lowest, in which
// 65535 is 1. They hold the 8-bit formats that are normalized or sRGB, with bits to spare for a filter.
type lanes struct {
	decode *Table
	encode [4]*[1 << 16]uint8 // by slot
	shift  [4]uint8
}

// Laned says whether the format has lanes.
func (c *Codec) Laned() bool {
	for i := range c.channels {
		if kind := c.channels[i].kind; kind != vk.NumericUNORM && kind != vk.NumericSRGB {
			return false
		}
	}
	return c.Tabular()
}

// absent encodes a channel that the format lacks.
var absent [1 << 16]uint8

func newLanes(c *Codec) *lanes {
	l := &lanes{decode: c.NewTable(func(words []uint64, texels []byte) {
		numbers := make([][4]float64, len(words))
		c.DecodeFloat(numbers, texels)
		for i := range numbers {
			words[i] = 0
			for slot, v := range numbers[i] {
				words[i] |= uint64(math.Round(v*math.MaxUint16)) << (16 * slot)
			}
		}
	})}
	numbers, raw := make([][4]float64, 1<<16), make([][4]uint64, 1<<16)
	for i := range numbers {
		v := float64(i) / math.MaxUint16
		numbers[i] = [4]float64{v, v, v, v}
	}
	type meaning struct {
		kind vk.NumericFormat
		bits uint
	}
	l.encode = [4]*[1 << 16]uint8{&absent, &absent, &absent, &absent}
	made := make(map[meaning]*[1 << 16]uint8) // three of four channels are mostly alike: one table in the cache, not three
	for i := range c.channels {
		ch := &c.channels[i]
		m := meaning{ch.kind, ch.bits}
		if made[m] == nil {
			made[m] = new([1 << 16]uint8)
			ch.fromFloat(raw, numbers)
			for v := range raw {
				made[m][v] = uint8(raw[v][ch.slot])
			}
		}
		l.shift[ch.slot], l.encode[ch.slot] = uint8(ch.first()), made[m]
	}
	return l
}

// DecodeLanes decodes texels of a format that has lanes.
func (c *Codec) DecodeLanes(dst []uint64, src []byte) { c.lanes().decode.Words(dst, src) }

// EncodeLanes encodes texels of a format that has lanes, and overwrites the lanes.
func (c *Codec) EncodeLanes(dst []byte, src []uint64) {
	l := c.lanes()
	if c.size == 4 && l.shift == [4]uint8{0, 8, 16, 24} {
		l.encodeBytes(dst, src)
		return
	}
	e0, e1, e2, e3 := l.encode[0], l.encode[1], l.encode[2], l.encode[3]
	s0, s1, s2, s3 := l.shift[0]&31, l.shift[1]&31, l.shift[2]&31, l.shift[3]&31
	for i, w := range src {
		src[i] = uint64(uint32(e0[uint16(w)])<<s0 | uint32(e1[uint16(w>>16)])<<s1 |
			uint32(e2[uint16(w>>32)])<<s2 | uint32(e3[uint16(w>>48)])<<s3)
	}
	PutWords(dst, src, c.size)
}

// encodeBytes is EncodeLanes for R8G8B8A8.
func (l *lanes) encodeBytes(dst []byte, src []uint64) {
	e0, e1, e2, e3 := l.encode[0], l.encode[1], l.encode[2], l.encode[3]
	dst = dst[:len(src)*4]
	for i, w := range src {
		binary.LittleEndian.PutUint32(dst[i*4:], uint32(e0[uint16(w)])|uint32(e1[uint16(w>>16)])<<8|
			uint32(e2[uint16(w>>32)])<<16|uint32(e3[uint16(w>>48)])<<24)
	}
}

// PutWords writes the low bytes of each word, size of them.
func PutWords(dst []byte, words []uint64, size int) {
	dst = dst[:len(words)*size]
	switch size {
	case 1:
		for i, w := range words {
			dst[i] = byte(w)
		}
	case 2:
		for i, w := range words {
			binary.LittleEndian.PutUint16(dst[i*2:], uint16(w))
		}
	case 4:
		for i, w := range words {
			binary.LittleEndian.PutUint32(dst[i*4:], uint32(w))
		}
	case 8:
		for i, w := range words {
			binary.LittleEndian.PutUint64(dst[i*8:], w)
		}
	default:
		var bytes [8]byte
		for i, w := range words {
			binary.LittleEndian.PutUint64(bytes[:], w)
			copy(dst[i*size:][:size], bytes[:])
		}
	}
}
