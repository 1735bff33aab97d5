package transfer

import (
	"encoding/binary"

	"farside/internal/texel"
)

// likeness says how the bits of two formats' texels are related.
type likeness uint8

const (
	different likeness = iota
	same               // equal bits mean equal numbers
	swapped            // so they do with red and blue exchanged, in texels of four bytes
)

func compare(to, from *texel.Codec) likeness {
	switch {
	case to.SameBits(from):
		return same
	case to.SwappedBytes(from):
		return swapped
	}
	return different
}

// gather copies the texels of src that columns names to dst, one after the other.
func gather(dst, src []byte, columns []int32, size int) {
	switch size {
	case 1:
		dst = dst[:len(columns)]
		for i, c := range columns {
			dst[i] = src[c]
		}
	case 2:
		for i, c := range columns {
			binary.LittleEndian.PutUint16(dst[i*2:], binary.LittleEndian.Uint16(src[c*2:]))
		}
	case 4:
		for i, c := range columns {
			binary.LittleEndian.PutUint32(dst[i*4:], binary.LittleEndian.Uint32(src[c*4:]))
		}
	case 8:
		for i, c := range columns {
			binary.LittleEndian.PutUint64(dst[i*8:], binary.LittleEndian.Uint64(src[c*8:]))
		}
	default:
		for i, c := range columns {
			copy(dst[i*size:][:size], src[int(c)*size:])
		}
	}
}

// convertChunk is how many texels are numbers at the same time.
const convertChunk = 128

// convert turns all texels of src into those of another format of the same class.
func convert(to *texel.Codec, dst []byte, from *texel.Codec, src []byte) {
	switch from.Class() {
	case texel.Float:
		var numbers [convertChunk][4]float64
		for len(src) > 0 {
			n := min(len(src)/from.Size(), convertChunk)
			from.DecodeFloat(numbers[:n], src)
			to.EncodeFloat(dst, numbers[:n])
			dst, src = dst[n*to.Size():], src[n*from.Size():]
		}
	case texel.Uint:
		var numbers [convertChunk][4]uint64
		for len(src) > 0 {
			n := min(len(src)/from.Size(), convertChunk)
			from.DecodeUint(numbers[:n], src)
			to.EncodeUint(dst, numbers[:n])
			dst, src = dst[n*to.Size():], src[n*from.Size():]
		}
	case texel.Sint:
		var numbers [convertChunk][4]int64
		for len(src) > 0 {
			n := min(len(src)/from.Size(), convertChunk)
			from.DecodeSint(numbers[:n], src)
			to.EncodeSint(dst, numbers[:n])
			dst, src = dst[n*to.Size():], src[n*from.Size():]
		}
	}
}

// conversionTexels is how many texels make it worth the time to set up a conversion by table.
const conversionTexels = 1 << 13

// conversion is a table from the texels of one format to those of another. It is kept for the next blit.
type conversion struct {
	to, from *texel.Codec
	table    *texel.Table
}

// set makes the table, if there can be one.
func (c *conversion) set(to, from *texel.Codec) {
	if c.is(to, from) || !from.Tabular() || !to.Separable() || to.Size() > 8 {
		return
	}
	c.to, c.from = to, from
	c.table = from.NewTable(func(words []uint64, texels []byte) {
		converted := make([]byte, len(words)*to.Size()+8)
		convert(to, converted, from, texels)
		for i := range words {
			words[i] = binary.LittleEndian.Uint64(converted[i*to.Size():]) & (1<<(8*to.Size()) - 1)
		}
	})
}

// is says whether the table is that of two formats.
func (c *conversion) is(to, from *texel.Codec) bool { return c.to == to && c.from == from }
