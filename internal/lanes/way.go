package lanes

import (
	"farside/internal/texel"
	"farside/internal/vk"
)

// way is how the assembly reads, filters and encodes the texels of a format.
type way uint8

const (
	wayUnorm8x1 way = iota + 1
	wayUnorm8x2
	wayUnorm8x4
	wayUnorm8x4BGRA
	wayUint8x1
	wayUint8x2
	wayUint8x4
	waySint8x1
	waySint8x2
	waySint8x4
	wayUint16x1
	wayUint16x2
	wayUint16x4
	waySint16x1
	waySint16x2
	waySint16x4
	wayHalf1
	wayHalf2
	wayHalf4
	// Those below are not encoded.
	waySnorm8x1
	waySnorm8x2
	waySnorm8x4
	wayUnorm16x1
	wayUnorm16x2
	wayUnorm16x4
	waySnorm16x1
	waySnorm16x2
	waySnorm16x4
	wayUnorm24
	wayUnorm10x3
	wayUnorm10x3BGR
	waySingle1
	waySingle2
	waySingle4
	wayWord1
	wayWord2
	waySharedExponent
	wayTable1
	wayTable2
	wayTable4
	waySrgb8x1
	waySrgb8x2
	waySrgb8x4
	waySrgb8x4BGRA
)

// encodes says whether texels are encoded by the assembly, too.
func (w way) encodes() bool { return w >= wayUnorm8x1 && w <= wayHalf4 }

// alike are the ways of formats whose channels are alike and lie one after the other: of one, of two and of four.
var alike = map[tableKey][3]way{
	{vk.NumericUNORM, 8}:   {wayUnorm8x1, wayUnorm8x2, wayUnorm8x4},
	{vk.NumericSNORM, 8}:   {waySnorm8x1, waySnorm8x2, waySnorm8x4},
	{vk.NumericUINT, 8}:    {wayUint8x1, wayUint8x2, wayUint8x4},
	{vk.NumericSINT, 8}:    {waySint8x1, waySint8x2, waySint8x4},
	{vk.NumericUNORM, 16}:  {wayUnorm16x1, wayUnorm16x2, wayUnorm16x4},
	{vk.NumericSNORM, 16}:  {waySnorm16x1, waySnorm16x2, waySnorm16x4},
	{vk.NumericUINT, 16}:   {wayUint16x1, wayUint16x2, wayUint16x4},
	{vk.NumericSINT, 16}:   {waySint16x1, waySint16x2, waySint16x4},
	{vk.NumericSFLOAT, 16}: {wayHalf1, wayHalf2, wayHalf4},
	{vk.NumericSFLOAT, 32}: {waySingle1, waySingle2, waySingle4},
	{vk.NumericUINT, 32}:   {wayWord1, wayWord2, waySingle4},
	{vk.NumericSINT, 32}:   {wayWord1, wayWord2, waySingle4},
	{vk.NumericSRGB, 8}:    {waySrgb8x1, waySrgb8x2}, // with AVX512Bits
}

// vectorWay returns the way of a format in the assembly; 0 if it has none.
func (f *Format) vectorWay() way {
	if f.Blocks != nil || f.Wide {
		return 0
	}
	if !f.codec.Separable() {
		return waySharedExponent
	}
	bits, inOrder := f.Channels[0].Bits, true
	for i, c := range f.Channels {
		inOrder = inOrder && c.Kind == f.kind && c.Bits == bits && c.Slot == i && c.First == i*bits
	}
	if inOrder && f.Size*8 == bits*len(f.Channels) {
		if ways, ok := alike[tableKey{f.kind, bits}]; ok && (f.kind != vk.NumericSRGB || f.srgb != nil) {
			switch len(f.Channels) {
			case 1:
				return ways[0]
			case 2:
				return ways[1]
			case 4:
				return ways[2]
			}
		}
	}
	for w, channels := range packed {
		if f.Size == 4 && f.has(channels) && (f.kind != vk.NumericSRGB || f.srgb != nil) {
			return w
		}
	}
	if f.reads == byTable {
		switch f.Size {
		case 1:
			return wayTable1
		case 2:
			return wayTable2
		case 4:
			return wayTable4
		}
	}
	return 0
}

// packed are the ways of texels of four bytes with channels that are not alike, or not in order.
var packed = map[way][]texel.Channel{
	wayUnorm8x4BGRA: channels(vk.NumericUNORM, [4]int{16, 8, 0, 24}, 8, 8),
	wayUnorm10x3:    channels(vk.NumericUNORM, [4]int{0, 10, 20, 30}, 10, 2),
	wayUnorm10x3BGR: channels(vk.NumericUNORM, [4]int{20, 10, 0, 30}, 10, 2),
	wayUnorm24:      {{Slot: 0, First: 0, Bits: 24, Kind: vk.NumericUNORM}},
	waySrgb8x4:      channels(vk.NumericSRGB, [4]int{0, 8, 16, 24}, 8, 8),
	waySrgb8x4BGRA:  channels(vk.NumericSRGB, [4]int{16, 8, 0, 24}, 8, 8),
}

// channels are three of a kind, and an alpha.
func channels(kind vk.NumericFormat, first [4]int, bits, alpha int) (all []texel.Channel) {
	for slot, bit := range first[:3] {
		all = append(all, texel.Channel{Slot: slot, First: bit, Bits: bits, Kind: kind})
	}
	return append(all, texel.Channel{Slot: 3, First: first[3], Bits: alpha, Kind: vk.NumericUNORM})
}

// has says whether the format has these channels, in any order, and no others.
func (f *Format) has(channels []texel.Channel) bool {
	if len(f.Channels) != len(channels) {
		return false
	}
	for _, c := range channels {
		found := false
		for _, own := range f.Channels {
			found = found || own == c
		}
		if !found {
			return false
		}
	}
	return true
}
