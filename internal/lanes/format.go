package lanes

import (
	"encoding/binary"
	"math"
	"sync"

	"farside/internal/cpuid"
	"farside/internal/texel"
	"farside/internal/vk"
)

// Format reads and writes the texels of one aspect of a format, as the lanes of shaders see them. It does not change
// once it is made.
type Format struct {
	// Of texels of up to four bytes with channels of up to 11 bits: what the bits at shift mean. A component that the
	// format lacks has a mask of 0. The assembly knows where these lie.
	tables [4]*[tableSize]uint32
	shifts [4]uint64
	masks  [4]uint32
	srgb   *srgbPlanes // of formats of sRGB bytes

	Class    texel.Class
	Size     int // bytes of a texel, or of a block
	Channels []texel.Channel
	Present  [4]bool   // the components that the format has
	Missing  [4]uint32 // what the others read as: 0, 0, 0, 1
	Unorm    bool      // of a depth aspect: comparisons clamp the reference
	Wide     bool      // one integer of 64 bits: the lanes of red and green hold its low and its high word

	Blocks   *texel.Blocks // of a compressed format
	unpacked *Format       // of its texels

	codec   *texel.Codec
	kind    vk.NumericFormat // of all channels
	reads   plainWay
	writes  plainWay
	vectors bool // filters run in assembly
	way     way  // how texels are read, filtered and encoded there; 0 for none
	outside Texels
}

// Linear says whether the format can be filtered.
func (f *Format) Linear() bool { return f.Class == texel.Float }

// plainWay is how texels are read or written in Go.
type plainWay uint8

const (
	byCodec    plainWay = iota
	byTable             // reads only
	byUnorm8            // writes only
	byHalves            // reads; writes of floats
	byIntegers          // writes of 8 and 16 bits only
	byWords
	byWide
	byBlocks // reads only
)

// Read reads a texel for each lane; those of negative offsets are what lies outside of the image: 0, 0, 0, and an alpha
// of 1 if the format has none.
func (f *Format) Read(dst *Texels, data []byte, at *Offsets) { f.ReadOr(dst, data, at, &f.outside) }

// ReadOr is Read with other texels for what is outside.
func (f *Format) ReadOr(dst *Texels, data []byte, at *Offsets, outside *Texels) {
	if f.way != 0 && len(data) >= f.Size { // what is outside is read, too, at the beginning
		avx2Read(f.way, f, dst, data, at, outside)
		return
	}
	f.read(dst, data, at)
	for i, o := range at {
		if o < 0 {
			dst.Set(i, &[4]uint32{outside[0][i], outside[1][i], outside[2][i], outside[3][i]})
		}
	}
}

// read is Read in Go.
func (f *Format) read(dst *Texels, data []byte, at *Offsets) {
	switch f.reads {
	case byTable:
		f.readTable(dst, data, at)
	case byHalves:
		f.readHalves(dst, data, at)
	case byWords:
		f.readWords(dst, data, at)
	case byWide:
		f.readWide(dst, data, at)
	case byBlocks:
		f.readBlocks(dst, data, at)
	default:
		f.readAny(dst, data, at)
	}
}

// HasQuads says whether Quad can be called.
func (f *Format) HasQuads() bool { return f.way != 0 && f.Linear() }

// Quad filters between the texels at the sums of the offsets of a pair along each axis and of a base, which all lie
// inside: along x, then along y.
func (f *Format) Quad(dst *Texels, data []byte, x, y *Pair, base *Offsets) {
	avx2Quad(f.way, f, dst, data, x, y, base)
}

// Write writes a texel for each lane, in the order of the lanes; those of negative offsets do nothing. Blocks are not
// written.
func (f *Format) Write(data []byte, at *Offsets, src *Texels) {
	switch {
	case f.Blocks != nil:
	case f.way.encodes():
		f.writeEncoded(data, at, src)
	default:
		f.write(data, at, src)
	}
}

// write is Write in Go.
func (f *Format) write(data []byte, at *Offsets, src *Texels) {
	switch f.writes {
	case byUnorm8:
		f.writeUnorm8(data, at, src)
	case byHalves:
		f.writeHalves(data, at, src)
	case byIntegers:
		f.writeIntegers(data, at, src)
	case byWords:
		f.writeWords(data, at, src)
	case byWide:
		f.writeWide(data, at, src)
	default:
		f.writeAny(data, at, src)
	}
}

// writeEncoded writes what the assembly encodes.
func (f *Format) writeEncoded(data []byte, at *Offsets, src *Texels) {
	var words [2]Lanes
	avx2Encode(f.way, &words, src)
	for i, o := range at {
		if o < 0 {
			continue
		}
		t := data[o : o+f.Size]
		switch f.Size {
		case 1:
			t[0] = byte(words[0][i])
		case 2:
			binary.LittleEndian.PutUint16(t, uint16(words[0][i]))
		case 4:
			binary.LittleEndian.PutUint32(t, words[0][i])
		default:
			binary.LittleEndian.PutUint64(t, uint64(words[0][i])|uint64(words[1][i])<<32)
		}
	}
}

const (
	tableBits = 11 // B10G11R11 has the largest channels of the packed formats
	tableSize = 1 << tableBits
)

type formatKey struct {
	format  vk.Format
	aspect  vk.ImageAspectFlags
	vectors bool
}

// formats has the formats that views were made of; formatKey to *Format.
var formats sync.Map

// FormatOf returns how to read one aspect of a format, in assembly where there is one if vectors is set; false for what
// has no codec, or numbers wider than a lane.
func FormatOf(f vk.Format, aspect vk.ImageAspectFlags, vectors bool) (*Format, bool) {
	key := formatKey{f, aspect, vectors}
	if known, ok := formats.Load(key); ok {
		return known.(*Format), true
	}
	made := newBlockFormat(f)
	if codec, ok := texel.CodecOf(f, aspect); ok {
		made = newFormat(codec)
	}
	if made == nil {
		return nil, false
	}
	made.outside.Fill(&made.Missing)
	if made.vectors = vectors; vectors {
		made.way = made.vectorWay()
	}
	known, _ := formats.LoadOrStore(key, made)
	return known.(*Format), true
}

// newBlockFormat makes the format of compressed blocks that can be decoded, or nil.
func newBlockFormat(f vk.Format) *Format {
	blocks, ok := texel.BlocksOf(f)
	if !ok {
		return nil
	}
	codec, ok := texel.CodecOf(blocks.Unpacked(), vk.IMAGE_ASPECT_COLOR_BIT)
	if !ok {
		return nil
	}
	unpacked := newFormat(codec)
	of := *unpacked
	of.Blocks, of.unpacked = blocks, unpacked
	of.Size, of.reads = blocks.Size(), byBlocks
	info, _ := vk.FormatInfo(f)
	if len(info.Components()) == 3 { // an alpha of 1 is decoded, too, but the border's does not count
		of.Present[3], of.Missing[3] = false, Bits(1)
	}
	return &of
}

func newFormat(codec *texel.Codec) *Format {
	f := &Format{Class: codec.Class(), Size: codec.Size(), codec: codec, Channels: codec.Channels()}
	f.Missing[3] = 1
	if f.Class == texel.Float {
		f.Missing[3] = Bits(1)
	}
	width, alike := f.Channels[0].Bits, true // of the channels, if they are words of one size, one after the other
	f.kind = f.Channels[0].Kind
	small := f.Size <= 4 && codec.Separable()
	bytes := f.Size == len(f.Channels)
	for i, c := range f.Channels {
		bytes = bytes && c.Bits == 8 && c.Kind == f.kind
		f.Present[c.Slot], f.Missing[c.Slot] = true, 0
		alike = alike && c.Bits == width && c.Kind == f.kind && c.First == i*width && c.Slot == i
		small = small && c.Bits <= tableBits
	}
	f.Unorm = f.kind == vk.NumericUNORM
	alike = alike && f.Size*8 == width*len(f.Channels)
	switch {
	case alike && width == 64 && len(f.Channels) == 1 && f.Class != texel.Float:
		f.reads, f.writes, f.Wide = byWide, byWide, true
	case alike && width == 32:
		f.reads, f.writes = byWords, byWords
	case alike && width == 16:
		f.reads = byHalves
		switch {
		case f.kind == vk.NumericSFLOAT:
			f.writes = byHalves
		case f.Class != texel.Float:
			f.writes = byIntegers
		}
	case small:
		f.reads = byTable
		f.makeTables()
		switch {
		case bytes && f.Unorm:
			f.writes = byUnorm8
		case bytes && f.Class != texel.Float:
			f.writes = byIntegers
		}
	}
	return f
}

type tableKey struct {
	kind vk.NumericFormat
	bits int
}

// tables are shared: most channels of most formats mean the same. tableKey to *[tableSize]uint32.
var tables sync.Map

func (f *Format) makeTables() {
	for i := range f.tables {
		f.tables[i] = &[tableSize]uint32{f.Missing[i]}
	}
	for _, c := range f.Channels {
		f.shifts[c.Slot], f.masks[c.Slot] = uint64(c.First), uint32(1<<c.Bits-1)
		key := tableKey{c.Kind, c.Bits}
		table, ok := tables.Load(key)
		if !ok {
			table, _ = tables.LoadOrStore(key, f.newTable(c))
		}
		f.tables[c.Slot] = table.(*[tableSize]uint32)
		if c.Kind == vk.NumericSRGB && c.Bits == 8 && cpuid.X86().AVX512Bits {
			f.srgb = srgbPlanesOf(f.tables[c.Slot])
		}
	}
}

// srgbPlanes are the first, second, third and fourth bytes of the floats that bytes mean.
type srgbPlanes [4][256]byte

func srgbPlanesOf(table *[tableSize]uint32) *srgbPlanes {
	var planes srgbPlanes
	for value, float := range table[:256] {
		for i := range planes {
			planes[i][value] = byte(float >> (8 * i))
		}
	}
	return &planes
}

func (f *Format) newTable(c texel.Channel) *[tableSize]uint32 {
	table := new([tableSize]uint32)
	for v := range 1 << c.Bits {
		var word [4]byte
		binary.LittleEndian.PutUint32(word[:], uint32(v)<<c.First)
		table[v] = f.decode(word[:])[c.Slot]
	}
	return table
}

// decode reads one texel by the codec.
func (f *Format) decode(texel1 []byte) (t [4]uint32) {
	switch f.Class {
	case texel.Float:
		var v [1][4]float64
		f.codec.DecodeFloat(v[:], texel1)
		for c := range t {
			t[c] = Bits(float32(v[0][c]))
		}
	case texel.Sint:
		var v [1][4]int64
		f.codec.DecodeSint(v[:], texel1)
		for c := range t {
			t[c] = uint32(v[0][c])
		}
	default:
		var v [1][4]uint64
		f.codec.DecodeUint(v[:], texel1)
		for c := range t {
			t[c] = uint32(v[0][c])
		}
	}
	return t
}

func (f *Format) readAny(dst *Texels, data []byte, at *Offsets) {
	for i, o := range at {
		t := f.Missing
		if o >= 0 {
			t = f.decode(data[o : o+f.Size])
		}
		dst.Set(i, &t)
	}
}

// BlockBits are the lowest bits of an offset in a compressed format, which count the texels of a block.
const BlockBits = 8

// readBlocks decodes the blocks in which the texels are. The lowest BlockBits of an offset count the texels of a block.
// What is decoded is read in turn, by a format without blocks.
func (f *Format) readBlocks(dst *Texels, data []byte, at *Offsets) {
	if f.Blocks.UnpackedSize() <= 16*16 { // all but ASTC: less to clear
		var decoded [16 * 16]byte
		f.readDecoded(dst, data, at, decoded[:])
		return
	}
	var decoded [texel.MostBlockBytes]byte
	f.readDecoded(dst, data, at, decoded[:])
}

// readDecoded decodes one block after the other, and puts the texels of its lanes together.
func (f *Format) readDecoded(dst *Texels, data []byte, at *Offsets, decoded []byte) {
	const most = 16 // bytes of a decoded texel
	var texels [Width * most]byte
	var in Offsets // in texels
	last, size := -1, f.unpacked.Size
	for i, o := range at {
		if o < 0 {
			in[i] = Outside
			continue
		}
		if o>>BlockBits != last {
			last = o >> BlockBits
			f.Blocks.Decode(decoded, data[last:])
		}
		in[i] = i * most
		copy(texels[i*most:][:size], decoded[o&(1<<BlockBits-1)*size:])
	}
	f.unpacked.read(dst, texels[:], &in)
	if !f.Present[3] {
		for i := range dst[3] {
			dst[3][i] = f.Missing[3]
		}
	}
}

// readTable looks every channel up.
func (f *Format) readTable(dst *Texels, data []byte, at *Offsets) {
	t0, t1, t2, t3 := f.tables[0], f.tables[1], f.tables[2], f.tables[3]
	s0, s1, s2, s3 := f.shifts[0]&31, f.shifts[1]&31, f.shifts[2]&31, f.shifts[3]&31
	m0, m1, m2, m3 := f.masks[0], f.masks[1], f.masks[2], f.masks[3]
	for i, o := range at {
		if o < 0 {
			dst.Set(i, &f.Missing)
			continue
		}
		var w uint32
		switch f.Size {
		case 1:
			w = uint32(data[o])
		case 2:
			w = uint32(binary.LittleEndian.Uint16(data[o:]))
		case 3:
			w = uint32(binary.LittleEndian.Uint16(data[o:])) | uint32(data[o+2])<<16
		default:
			w = binary.LittleEndian.Uint32(data[o:])
		}
		const most = tableSize - 1
		dst[0][i] = t0[w>>s0&m0&most]
		dst[1][i] = t1[w>>s1&m1&most]
		dst[2][i] = t2[w>>s2&m2&most]
		dst[3][i] = t3[w>>s3&m3&most]
	}
}

// readWords reads channels of 32 bits, which are what lanes hold.
func (f *Format) readWords(dst *Texels, data []byte, at *Offsets) {
	n := len(f.Channels)
	for i, o := range at {
		dst.Set(i, &f.Missing)
		if o < 0 {
			continue
		}
		t := data[o : o+f.Size]
		dst[0][i] = binary.LittleEndian.Uint32(t)
		if n >= 2 {
			dst[1][i] = binary.LittleEndian.Uint32(t[4:])
		}
		if n >= 3 {
			dst[2][i] = binary.LittleEndian.Uint32(t[8:])
		}
		if n == 4 {
			dst[3][i] = binary.LittleEndian.Uint32(t[12:])
		}
	}
}

func (f *Format) writeWords(data []byte, at *Offsets, src *Texels) {
	n := len(f.Channels)
	for i, o := range at {
		if o < 0 {
			continue
		}
		t := data[o : o+f.Size]
		for c := range n {
			binary.LittleEndian.PutUint32(t[c*4:], src[c&3][i])
		}
	}
}

func (f *Format) readWide(dst *Texels, data []byte, at *Offsets) {
	for i, o := range at {
		dst.Set(i, &[4]uint32{3: 1})
		if o >= 0 {
			word := binary.LittleEndian.Uint64(data[o:])
			dst[0][i], dst[1][i] = uint32(word), uint32(word>>32)
		}
	}
}

func (f *Format) writeWide(data []byte, at *Offsets, src *Texels) {
	for i, o := range at {
		if o >= 0 {
			binary.LittleEndian.PutUint64(data[o:], uint64(src[0][i])|uint64(src[1][i])<<32)
		}
	}
}

// readHalves reads channels of 16 bits.
func (f *Format) readHalves(dst *Texels, data []byte, at *Offsets) {
	for i, o := range at {
		dst.Set(i, &f.Missing)
		if o < 0 {
			continue
		}
		t := data[o : o+f.Size]
		for c := range len(t) / 2 {
			dst[c&3][i] = uint32(binary.LittleEndian.Uint16(t[c*2:]))
		}
	}
	if f.kind == vk.NumericUINT {
		return
	}
	for c := range f.Channels {
		lanes := &dst[c&3]
		for i, o := range at {
			if o < 0 {
				continue
			}
			raw := lanes[i]
			switch f.kind {
			case vk.NumericSINT:
				lanes[i] = uint32(int16(raw))
			case vk.NumericUNORM:
				lanes[i] = Bits(float32(float64(raw) / math.MaxUint16))
			case vk.NumericSNORM:
				lanes[i] = Bits(float32(max(float64(int16(raw))/math.MaxInt16, -1)))
			case vk.NumericSFLOAT:
				lanes[i] = fromHalf(raw)
			}
		}
	}
}

// fromHalf turns the bits of a 16-bit float into those of a 32-bit one.
func fromHalf(h uint32) uint32 {
	sign, magnitude := h&0x8000<<16, h&0x7fff
	switch {
	case magnitude >= 0x7c00: // infinity and NaN
		return sign | 0x7f800000 | magnitude<<13&0x007fffff
	case magnitude < 0x0400: // a multiple of the least denormal number
		return sign | Bits(float32(magnitude)*(1.0/(1<<24)))
	}
	return sign | (magnitude<<13 + (127-15)<<23)
}

// writeHalves writes 16-bit floats.
func (f *Format) writeHalves(data []byte, at *Offsets, src *Texels) {
	for i, o := range at {
		if o < 0 {
			continue
		}
		t := data[o : o+f.Size]
		for c := range len(t) / 2 {
			binary.LittleEndian.PutUint16(t[c*2:], uint16(toHalf(src[c&3][i])))
		}
	}
}

// toHalf turns the bits of a 32-bit float into those of the nearest 16-bit one, the even one of two.
func toHalf(b uint32) uint32 {
	const least = (127 - 14) << 23 // of the normal numbers
	sign, magnitude := b>>16&0x8000, b&0x7fffffff
	switch {
	case magnitude > 0x7f800000:
		return sign | 0x7e00 // NaN
	case magnitude < least:
		// In the sum with 0.5 the last bit is worth as much as that of a denormal number.
		return sign | (Bits(Float(magnitude)+0.5) - Bits(0.5))
	}
	magnitude -= (127 - 15) << 23
	return sign | min((magnitude+0xfff+magnitude>>13&1)>>13, 0x7c00)
}

// writeIntegers writes integers of 8 or 16 bits, clamped to their range.
func (f *Format) writeIntegers(data []byte, at *Offsets, src *Texels) {
	width := f.Channels[0].Bits
	signed := f.Class == texel.Sint
	most := uint32(1)<<width - 1
	for n := range f.Channels {
		c := &f.Channels[n]
		values, first := &src[c.Slot&3], c.First/8
		for i, o := range at {
			if o < 0 {
				continue
			}
			v := min(values[i], most)
			if signed {
				high := int32(most >> 1)
				v = uint32(min(max(int32(values[i]), -high-1), high))
			}
			if width == 8 {
				data[o+first] = byte(v)
			} else {
				binary.LittleEndian.PutUint16(data[o+first:], uint16(v))
			}
		}
	}
}

// writeUnorm8 writes channels of one byte, as the codec rounds them.
func (f *Format) writeUnorm8(data []byte, at *Offsets, src *Texels) {
	var order [4]*Lanes
	for _, c := range f.Channels {
		order[c.First/8&3] = &src[c.Slot&3]
	}
	for i, o := range at {
		if o < 0 {
			continue
		}
		t := data[o : o+f.Size]
		for b := range t {
			t[b] = unorm8(Float(order[b&3][i]))
		}
	}
}

func unorm8(v float32) byte {
	switch {
	case v >= 1:
		return 255
	case !(v > 0): // also NaN
		return 0
	}
	return byte(float64(v)*255 + 0.5)
}

func (f *Format) writeAny(data []byte, at *Offsets, src *Texels) {
	for i, o := range at {
		if o < 0 {
			continue
		}
		t := data[o : o+f.Size]
		switch f.Class {
		case texel.Float:
			var v [1][4]float64
			for c := range v[0] {
				v[0][c] = float64(Float(src[c][i]))
			}
			f.codec.EncodeFloat(t, v[:])
		case texel.Sint:
			var v [1][4]int64
			for c := range v[0] {
				v[0][c] = int64(int32(src[c][i]))
			}
			f.codec.EncodeSint(t, v[:])
		default:
			var v [1][4]uint64
			for c := range v[0] {
				v[0][c] = uint64(src[c][i])
			}
			f.codec.EncodeUint(t, v[:])
		}
	}
}
