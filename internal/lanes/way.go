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
		if ways, ok := alike[tableKey{f.kind, bits}]; ok {
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
		if f.Size == 4 && f.has(channels) {
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
	wayUnorm8x4BGRA: {{Slot: 0, First: 16, Bits: 8}, {Slot: 1, First: 8, Bits: 8}, {Slot: 2, First: 0, Bits: 8},
		{Slot: 3, First: 24, Bits: 8}},
	wayUnorm10x3: {{Slot: 0, First: 0, Bits: 10}, {Slot: 1, First: 10, Bits: 10}, {Slot: 2, First: 20, Bits: 10},
		{Slot: 3, First: 30, Bits: 2}},
	wayUnorm10x3BGR: {{Slot: 0, First: 20, Bits: 10}, {Slot: 1, First: 10, Bits: 10}, {Slot: 2, First: 0, Bits: 10},
		{Slot: 3, First: 30, Bits: 2}},
	wayUnorm24: {{Slot: 0, First: 0, Bits: 24}},
}

// has says whether the format has these channels, in any order, and no others, and they are UNORM.
func (f *Format) has(channels []texel.Channel) bool {
	if len(f.Channels) != len(channels) {
		return false
	}
	for _, c := range channels {
		c.Kind = vk.NumericUNORM
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
