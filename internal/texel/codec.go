package texel

import (
	"encoding/binary"
	"math"
	"sync"

	"farside/internal/vk"
)

// Class is the kind of number that a format's texels stand for. Values convert within a class only
// (chapter "Image Copies With Scaling").
type Class uint8

const (
	Float Class = iota + 1 // normalized, sRGB and floating-point numbers
	Uint
	Sint
)

// Codec converts rows of texels of one aspect of a format to numbers and back: to [4]float64, [4]uint64 or
// [4]int64, which hold every channel of every format exactly. Red comes first; depth and stencil count as red.
// Channels that the format lacks read as 0, 0, 0, 1 and are not written.
//
// Each Decode and Encode works on as many texels as the slice of numbers holds; the bytes must hold as many.
type Codec struct {
	class          Class
	size           int // bytes of a texel
	channels       []channel
	described      []Channel
	sharedExponent bool // E5B9G9R9, whose channels cannot be taken one by one
	quad           int  // 2 or 4 if the texel is red, green, blue and alpha in words of as many bytes, otherwise 0
	lanes          func() *lanes
}

// channel is where one number of a texel lies, and what its bits mean.
type channel struct {
	slot   int // of [4]float64: 0 is red
	offset int // bytes from the start of the texel to the word
	width  int // bytes of the word: 1, 2, 4 or 8
	shift  uint
	bits   uint
	kind   vk.NumericFormat
	// A number is raw/scale; at encoding it is clamped to low..high first. For fixed-point kinds only.
	scale, low, high float64
	numbers          *[256]float64 // what the bits mean, if there are 8 at most
}

// chunk is how many texels pass through the buffer of raw bits at once: it stays in the first-level cache.
const chunk = 128

// codecKey names one aspect of a format.
type codecKey struct {
	format vk.Format
	aspect vk.ImageAspectFlags
}

var codecs = sync.OnceValue(func() map[codecKey]*Codec {
	all := make(map[codecKey]*Codec)
	for _, f := range vk.AllFormats {
		t, ok := FormatOf(f)
		if !ok || t.Compressed || t.MultiPlanar() || t.Chroma && t.Block[0] > 1 {
			continue
		}
		for _, p := range t.Planes[:t.PlaneCount] {
			all[codecKey{f, p.Aspect}] = newCodec(f, p)
		}
	}
	return all
})

// CodecOf returns the codec of one aspect of a format; false for compressed formats, those of several planes, those in
// which texels share their chroma, those that FormatOf does not know, and aspects that the format does not have.
func CodecOf(f vk.Format, aspect vk.ImageAspectFlags) (*Codec, bool) {
	c, ok := codecs()[codecKey{f, aspect}]
	return c, ok
}

// Class returns which of the Decode and Encode functions fit.
func (c *Codec) Class() Class { return c.class }

// Size returns the bytes of a texel.
func (c *Codec) Size() int { return c.size }

// Wide reports whether the channels have 64 bits each.
func (c *Codec) Wide() bool { return c.channels[0].bits == 64 }

func newCodec(f vk.Format, p Plane) *Codec {
	info, _ := vk.FormatInfo(f)
	c := &Codec{class: Float, size: int(p.BlockSize), sharedExponent: f == vk.FORMAT_E5B9G9R9_UFLOAT_PACK32}
	words := wordPlacer{width: int(info.Packed) / 8}
	for _, component := range info.Components() {
		ch := channel{bits: uint(component.Bits), kind: component.Numeric}
		switch {
		case p.Aspect != vk.IMAGE_ASPECT_COLOR_BIT:
			if component.Name == 'D' != (p.Aspect == vk.IMAGE_ASPECT_DEPTH_BIT) {
				continue
			}
			ch.width = c.size // in the low bits of a word of its own
		default:
			ch.slot = map[byte]int{'R': 0, 'G': 1, 'B': 2, 'A': 3}[component.Name]
			words.place(&ch)
		}
		ch.setRange()
		switch ch.kind {
		case vk.NumericUINT:
			c.class = Uint
		case vk.NumericSINT:
			c.class = Sint
		}
		if c.class == Float && ch.bits <= 8 {
			ch.numbers = ch.allNumbers()
		}
		c.channels = append(c.channels, ch)
		c.described = append(c.described, Channel{ch.slot, ch.first(), int(ch.bits), ch.kind})
	}
	if len(c.channels) == 4 && c.channels[0].slot == 0 && info.Packed == 0 && (c.size == 8 || c.size == 16) {
		c.quad = c.size / 4
	}
	c.lanes = sync.OnceValue(func() *lanes { return newLanes(c) })
	return c
}

// wordPlacer gives each component its place. In a packed word the first component has the highest bits; what
// follows a component that does not fit any more begins the next word (R10X6G10X6). Components of formats that
// are not packed are words of their own.
type wordPlacer struct {
	width  int // bytes of a packed word, 0 if the format is not packed
	offset int
	used   uint // bits of the word at offset
}

func (w *wordPlacer) place(ch *channel) {
	if w.width == 0 {
		ch.offset, ch.width = w.offset, int(ch.bits/8)
		w.offset += ch.width
		return
	}
	word := uint(w.width) * 8
	if w.used+ch.bits > word {
		w.offset += w.width
		w.used = 0
	}
	w.used += ch.bits
	ch.offset, ch.width, ch.shift = w.offset, w.width, word-w.used
}

// setRange fills in how fixed-point numbers scale (chapter "Fixed-Point Data Conversions").
func (ch *channel) setRange() {
	all := math.Ldexp(1, int(ch.bits)) - 1
	positive := math.Ldexp(1, int(ch.bits)-1) - 1
	switch ch.kind {
	case vk.NumericUNORM:
		ch.scale, ch.low, ch.high = all, 0, 1
	case vk.NumericSNORM:
		ch.scale, ch.low, ch.high = positive, -1, 1
	}
}

func (ch *channel) mask() uint64 { return math.MaxUint64 >> (64 - ch.bits) }

// signed says whether raw bits are a number in two's complement.
func (ch *channel) signed() bool {
	return ch.kind == vk.NumericSNORM || ch.kind == vk.NumericSINT
}

// load reads the channel's bits of len(raw) texels of size bytes each.
func (ch *channel) load(raw [][4]uint64, src []byte, size int) {
	src = src[ch.offset:]
	slot, shift, mask := ch.slot&3, ch.shift&63, ch.mask()
	switch ch.width {
	case 1:
		for i := range raw {
			raw[i][slot] = uint64(src[i*size]) >> shift & mask
		}
	case 2:
		for i := range raw {
			raw[i][slot] = uint64(binary.LittleEndian.Uint16(src[i*size:])) >> shift & mask
		}
	case 4:
		for i := range raw {
			raw[i][slot] = uint64(binary.LittleEndian.Uint32(src[i*size:])) >> shift & mask
		}
	case 8:
		for i := range raw {
			raw[i][slot] = binary.LittleEndian.Uint64(src[i*size:])
		}
	}
}

// store adds the channel's bits to len(raw) texels, whose bytes were zero.
func (ch *channel) store(dst []byte, raw [][4]uint64, size int) {
	dst = dst[ch.offset:]
	slot, shift := ch.slot&3, ch.shift&63
	switch ch.width {
	case 1:
		for i := range raw {
			dst[i*size] |= byte(raw[i][slot] << shift)
		}
	case 2:
		for i := range raw {
			word := dst[i*size:]
			binary.LittleEndian.PutUint16(word, binary.LittleEndian.Uint16(word)|uint16(raw[i][slot]<<shift))
		}
	case 4:
		for i := range raw {
			word := dst[i*size:]
			binary.LittleEndian.PutUint32(word, binary.LittleEndian.Uint32(word)|uint32(raw[i][slot]<<shift))
		}
	case 8:
		for i := range raw {
			binary.LittleEndian.PutUint64(dst[i*size:], raw[i][slot])
		}
	}
}

// load reads the bits of every channel; those of a missing one are 0, 0, 0, 1.
func (c *Codec) load(raw [][4]uint64, src []byte) {
	if c.quad != 0 {
		c.loadQuads(raw, src)
		return
	}
	if len(c.channels) < 4 {
		for i := range raw {
			raw[i] = [4]uint64{3: 1}
		}
	}
	for i := range c.channels {
		c.channels[i].load(raw, src, c.size)
	}
}

// loadQuads is load in one go, for the formats that are read most apart from those of bytes.
func (c *Codec) loadQuads(raw [][4]uint64, src []byte) {
	src = src[:len(raw)*c.size]
	if c.quad == 2 {
		for i := range raw {
			t := binary.LittleEndian.Uint64(src[i*8:])
			raw[i] = [4]uint64{t & 0xffff, t >> 16 & 0xffff, t >> 32 & 0xffff, t >> 48}
		}
		return
	}
	for i := range raw {
		low, high := binary.LittleEndian.Uint64(src[i*16:]), binary.LittleEndian.Uint64(src[i*16+8:])
		raw[i] = [4]uint64{low & 0xffffffff, low >> 32, high & 0xffffffff, high >> 32}
	}
}

// storeQuads is store in one go.
func (c *Codec) storeQuads(dst []byte, raw [][4]uint64) {
	dst = dst[:len(raw)*c.size]
	if c.quad == 2 {
		for i := range raw {
			r := &raw[i]
			binary.LittleEndian.PutUint64(dst[i*8:], r[0]|r[1]<<16|r[2]<<32|r[3]<<48)
		}
		return
	}
	for i := range raw {
		r := &raw[i]
		binary.LittleEndian.PutUint64(dst[i*16:], r[0]|r[1]<<32)
		binary.LittleEndian.PutUint64(dst[i*16+8:], r[2]|r[3]<<32)
	}
}

func (c *Codec) store(dst []byte, raw [][4]uint64) {
	if c.quad != 0 {
		c.storeQuads(dst, raw)
		return
	}
	clear(dst[:len(raw)*c.size])
	for i := range c.channels {
		c.channels[i].store(dst, raw, c.size)
	}
}

// DecodeUint decodes texels of class Uint.
func (c *Codec) DecodeUint(dst [][4]uint64, src []byte) { c.load(dst, src) }

// EncodeUint encodes texels of class Uint, clamped to the format's range.
func (c *Codec) EncodeUint(dst []byte, src [][4]uint64) {
	var raw [chunk][4]uint64
	for len(src) > 0 {
		n := min(len(src), chunk)
		for i := range c.channels {
			ch := &c.channels[i]
			slot, mask := ch.slot&3, ch.mask()
			for t := range n {
				raw[t][slot] = min(src[t][slot], mask)
			}
		}
		c.store(dst, raw[:n])
		dst, src = dst[n*c.size:], src[n:]
	}
}

// DecodeSint decodes texels of class Sint.
func (c *Codec) DecodeSint(dst [][4]int64, src []byte) {
	var raw [chunk][4]uint64
	for len(dst) > 0 {
		n := min(len(dst), chunk)
		c.load(raw[:n], src)
		for t := range n {
			dst[t] = [4]int64{3: 1}
		}
		for i := range c.channels {
			ch := &c.channels[i]
			slot, unused := ch.slot&3, (64-ch.bits)&63
			for t := range n {
				dst[t][slot] = int64(raw[t][slot]<<unused) >> unused
			}
		}
		dst, src = dst[n:], src[n*c.size:]
	}
}

// EncodeSint encodes texels of class Sint, clamped to the format's range.
func (c *Codec) EncodeSint(dst []byte, src [][4]int64) {
	var raw [chunk][4]uint64
	for len(src) > 0 {
		n := min(len(src), chunk)
		for i := range c.channels {
			ch := &c.channels[i]
			slot, mask := ch.slot&3, ch.mask()
			high := int64(mask >> 1)
			for t := range n {
				raw[t][slot] = uint64(min(max(src[t][slot], -high-1), high)) & mask
			}
		}
		c.store(dst, raw[:n])
		dst, src = dst[n*c.size:], src[n:]
	}
}

// DecodeFloat decodes texels of class Float.
func (c *Codec) DecodeFloat(dst [][4]float64, src []byte) {
	if c.sharedExponent {
		decodeSharedExponent(dst, src)
		return
	}
	if len(c.channels) < 4 {
		for t := range dst {
			dst[t] = [4]float64{3: 1}
		}
	}
	for i := range c.channels {
		if !c.channels[i].inByte() {
			c.decodeRaw(dst, src)
			return
		}
	}
	for i := range c.channels {
		c.channels[i].bytesToFloat(dst, src, c.size)
	}
}

// inByte says whether bytesToFloat can read the channel.
func (ch *channel) inByte() bool { return ch.numbers != nil && ch.width == 1 }

// decodeRaw is DecodeFloat where not all channels lie in bytes: the others pass through raw bits, room for which takes
// longer to clear than a few texels to decode.
func (c *Codec) decodeRaw(dst [][4]float64, src []byte) {
	var raw [chunk][4]uint64
	for len(dst) > 0 {
		n := min(len(dst), chunk)
		if c.quad != 0 {
			c.loadQuads(raw[:n], src)
		}
		for i := range c.channels {
			ch := &c.channels[i]
			if ch.inByte() {
				ch.bytesToFloat(dst[:n], src, c.size)
				continue
			}
			if c.quad == 0 {
				ch.load(raw[:n], src, c.size)
			}
			ch.toFloat(dst, raw[:n])
		}
		dst, src = dst[n:], src[n*c.size:]
	}
}

// EncodeFloat encodes texels of class Float: numbers outside of the format's range are clamped to it, others
// rounded to the nearest that it has; NaN becomes 0 where the format has no NaN.
func (c *Codec) EncodeFloat(dst []byte, src [][4]float64) {
	if c.sharedExponent {
		encodeSharedExponent(dst, src)
		return
	}
	var raw [chunk][4]uint64
	for len(src) > 0 {
		n := min(len(src), chunk)
		for i := range c.channels {
			c.channels[i].fromFloat(raw[:n], src)
		}
		c.store(dst, raw[:n])
		dst, src = dst[n*c.size:], src[n:]
	}
}

// SameBits says whether equal bits mean equal numbers in both formats.
func (c *Codec) SameBits(d *Codec) bool { return c.alike(d, func(slot int) int { return slot }) }

// SwappedBytes says whether the texels have four bytes, one for each channel, and mean the same numbers once the
// first and the third byte are exchanged, as R8G8B8A8 and B8G8R8A8 do.
func (c *Codec) SwappedBytes(d *Codec) bool {
	return c.bytesOf4() && d.bytesOf4() && c.alike(d, func(slot int) int { return [4]int{2, 1, 0, 3}[slot] })
}

// IsUnorm8x4 says whether each of the texel's four bytes is a channel of kind UNORM.
func (c *Codec) IsUnorm8x4() bool {
	for i := range c.channels {
		if c.channels[i].kind != vk.NumericUNORM {
			return false
		}
	}
	return c.bytesOf4()
}

// IsSRGB8x4 says whether the texel's four bytes are three channels of kind SRGB and an alpha of kind UNORM.
func (c *Codec) IsSRGB8x4() bool {
	for i := range c.channels {
		kind := vk.NumericFormat(vk.NumericSRGB)
		if c.channels[i].slot == 3 {
			kind = vk.NumericUNORM
		}
		if c.channels[i].kind != kind {
			return false
		}
	}
	return c.bytesOf4()
}

func (c *Codec) bytesOf4() bool {
	for i := range c.channels {
		if c.channels[i].bits != 8 {
			return false
		}
	}
	return c.size == 4 && len(c.channels) == 4
}

// alike compares the places and kinds of all channels of c with those of the channels of d that exchange names.
func (c *Codec) alike(d *Codec, exchange func(slot int) int) bool {
	if c.size != d.size || c.sharedExponent != d.sharedExponent || len(c.channels) != len(d.channels) {
		return false
	}
	for i := range c.channels {
		a := &c.channels[i]
		found := false
		for j := range d.channels {
			b := &d.channels[j]
			found = found || b.slot == exchange(a.slot) && b.kind == a.kind && b.bits == a.bits && b.first() == a.first()
		}
		if !found {
			return false
		}
	}
	return true
}

// first is the lowest bit of the channel in the texel.
func (ch *channel) first() int { return ch.offset*8 + int(ch.shift) }

// Channel is where one number of a texel lies, and what its bits mean.
type Channel struct {
	Slot        int // 0 is red; depth and stencil count as red
	First, Bits int // the lowest bit in the texel, and how many
	Kind        vk.NumericFormat
}

// Channels returns what a texel is made of. Nobody may change it.
func (c *Codec) Channels() []Channel { return c.described }
