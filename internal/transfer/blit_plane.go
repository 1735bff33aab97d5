package transfer

import (
	"sync"

	"farside/internal/texel"
	"farside/internal/vk"
)

// parallelTexels is how many texels a blit writes before other cores are worth their wake-up.
const parallelTexels = 1 << 15

// surface is one aspect of a mip level, from the first layer of a region on.
type surface struct {
	bytes                                            []byte
	offset, layerPitch, depthPitch, rowPitch, length int // length of a row; all in bytes
}

func (s *surface) set(m *Image, aspect vk.ImageAspectFlags, sub *vk.ImageSubresourceLayers) {
	l, ok := m.Layout.Subresource(aspect, sub.MipLevel, sub.BaseArrayLayer)
	if !ok {
		panic("transfer: a checked subresource does not exist")
	}
	*s = surface{
		bytes: m.Bytes, offset: int(l.Offset), layerPitch: int(m.Layout.LayerPitch),
		depthPitch: int(l.DepthPitch), rowPitch: int(l.RowPitch), length: int(l.RowBytes),
	}
}

// place names a row of texels.
type place struct{ layer, z, y int32 }

func (s *surface) row(p place) []byte {
	at := s.offset + int(p.layer)*s.layerPitch + int(p.z)*s.depthPitch + int(p.y)*s.rowPitch
	return s.bytes[at : at+s.length]
}

// planeBlit blits one aspect of one region, row by row.
type planeBlit struct {
	dst, src surface
	to, from *texel.Codec
	x, y, z  axis
	columns  []int32 // the source columns that are read
	index    []int32 // for each column of the destination, which of columns it is; without a filter only
	pairs    []pair  // the taps along x, for the kernels of filterRows8x4 and filterLanes
	conversion
	like likeness
	rows func(b *planeBlit, s *blitScratch, from, to int)
}

// blitScratch is what each core needs for itself.
type blitScratch struct {
	raw, converted []byte
	words          []uint64
	decoded        [][4]float64
	sum            [][4]float64
	floats         rowCache[[4]float64]
	lanes          rowCache[uint64]
}

var (
	planeBlits    = sync.Pool{New: func() any { return new(planeBlit) }}
	blitScratches = sync.Pool{New: func() any { return new(blitScratch) }}
)

// blitPlane executes one aspect of a checked region.
func blitPlane(dst, src *Image, aspect vk.ImageAspectFlags, r *vk.ImageBlit, filter vk.Filter) {
	b := planeBlits.Get().(*planeBlit)
	b.set(dst, src, aspect, r, filter)
	rows := int(r.SrcSubresource.LayerCount) * len(b.z.taps) * len(b.y.taps)
	if rows*len(b.x.taps) < parallelTexels {
		b.run(0, rows)
	} else {
		split(rows, 1, b.run)
	}
	b.dst.bytes, b.src.bytes = nil, nil
	planeBlits.Put(b)
}

func (b *planeBlit) set(dst, src *Image, aspect vk.ImageAspectFlags, r *vk.ImageBlit, filter vk.Filter) {
	b.dst.set(dst, aspect, &r.DstSubresource)
	b.src.set(src, aspect, &r.SrcSubresource)
	b.to, _ = texel.CodecOf(dst.Format, aspect)
	b.from, _ = texel.CodecOf(src.Format, aspect)
	level, to, from := r.SrcSubresource.MipLevel, &r.DstOffsets, &r.SrcOffsets
	b.x.set([2]int32{to[0].X, to[1].X}, [2]int32{from[0].X, from[1].X}, int32(levelSize(src, level, 0)), filter)
	b.y.set([2]int32{to[0].Y, to[1].Y}, [2]int32{from[0].Y, from[1].Y}, int32(levelSize(src, level, 1)), filter)
	b.z.set([2]int32{to[0].Z, to[1].Z}, [2]int32{from[0].Z, from[1].Z}, int32(levelSize(src, level, 2)), filter)
	b.choose()
}

// choose takes the fastest way that the formats and filters allow.
func (b *planeBlit) choose() {
	b.columns, b.index, b.pairs = b.columns[:0], b.index[:0], b.pairs[:0]
	b.like = compare(b.to, b.from)
	filtered := b.x.filtered || b.y.filtered || b.z.filtered
	switch {
	case !filtered && b.like != different:
		b.rows = (*planeBlit).moveRows
	case !filtered:
		b.rows = (*planeBlit).convertRows
		b.columns = b.x.used(b.columns)
		if len(b.x.taps)*len(b.y.taps) >= conversionTexels {
			b.conversion.set(b.to, b.from)
		}
	case b.like != different && !b.z.filtered && b.to.IsUnorm8x4() && b.src.length > 4:
		b.rows = (*planeBlit).filterRows8x4
		b.setPairs8x4(int32(b.src.length / 4))
		return
	case !b.z.filtered && b.to.Laned() && b.from.Laned():
		b.rows = (*planeBlit).filterLanes
		b.columns = b.x.used(b.columns)
		b.setPairsLanes()
		return
	default:
		b.rows = (*planeBlit).filterRows
		b.columns = b.x.used(b.columns)
		return
	}
	for _, t := range b.x.taps {
		b.index = append(b.index, t.a)
	}
}

// run writes rows from..to of all those of the region.
func (b *planeBlit) run(from, to int) {
	if from >= to || len(b.x.taps) == 0 {
		return
	}
	s := blitScratches.Get().(*blitScratch)
	b.rows(b, s, from, to)
	blitScratches.Put(s)
}

// target returns the bytes of a row of the region, and the taps that it is made of.
func (b *planeBlit) target(row int) (dst []byte, layer int32, z, y tap) {
	iy := row % len(b.y.taps)
	iz := row / len(b.y.taps) % len(b.z.taps)
	layer = int32(row / len(b.y.taps) / len(b.z.taps))
	size := b.to.Size()
	dst = b.dst.row(place{layer, int32(b.z.start + iz), int32(b.y.start + iy)})
	return dst[b.x.start*size:][:len(b.x.taps)*size], layer, b.z.taps[iz], b.y.taps[iy]
}

// moveRows is for the nearest filter between formats of the same bits.
func (b *planeBlit) moveRows(_ *blitScratch, from, to int) {
	size := b.to.Size()
	whole := consecutive(b.index)
	var last []byte
	var lastPlace place
	for r := from; r < to; r++ {
		dst, layer, z, y := b.target(r)
		p := place{layer, z.a, y.a}
		if last != nil && p == lastPlace {
			copy(dst, last)
			continue
		}
		if src := b.src.row(p); whole {
			copy(dst, src[int(b.index[0])*size:])
		} else {
			gather(dst, src, b.index, size)
		}
		if b.like == swapped {
			swapBytes(dst)
		}
		last, lastPlace = dst, p
	}
}

// convertRows is for the nearest filter between other formats. Each source texel is converted once.
func (b *planeBlit) convertRows(s *blitScratch, from, to int) {
	whole := consecutive(b.index) // each column is wanted once
	s.converted = grow(s.converted, len(b.columns)*b.to.Size())
	var last []byte
	var lastPlace place
	for r := from; r < to; r++ {
		dst, layer, z, y := b.target(r)
		p := place{layer, z.a, y.a}
		switch {
		case last != nil && p == lastPlace:
			copy(dst, last)
		case whole:
			b.convert(s, dst, b.read(s, p))
		default:
			b.convert(s, s.converted, b.read(s, p))
			gather(dst, s.converted, b.index, b.to.Size())
		}
		last, lastPlace = dst, p
	}
}

// convert converts the texels of all columns.
func (b *planeBlit) convert(s *blitScratch, dst, src []byte) {
	if !b.conversion.is(b.to, b.from) {
		convert(b.to, dst, b.from, src)
		return
	}
	s.words = grow(s.words, len(b.columns))
	b.conversion.table.Words(s.words, src)
	texel.PutWords(dst, s.words, b.to.Size())
}

// read returns the texels of the columns that a source row contributes.
func (b *planeBlit) read(s *blitScratch, p place) []byte {
	src, size := b.src.row(p), b.from.Size()
	if consecutive(b.columns) {
		return src[int(b.columns[0])*size:][:len(b.columns)*size]
	}
	s.raw = grow(s.raw, len(b.columns)*size)
	gather(s.raw, src, b.columns, size)
	return s.raw
}

// filterRows is for the linear filter between any formats.
func (b *planeBlit) filterRows(s *blitScratch, from, to int) {
	width := len(b.x.taps)
	s.floats.reset(width)
	s.sum = grow(s.sum, width)
	s.decoded = grow(s.decoded, len(b.columns))
	sampled := func(p place) [][4]float64 {
		row, fresh := s.floats.row(p)
		if fresh {
			b.from.DecodeFloat(s.decoded, b.read(s, p))
			mixColumns(row, s.decoded, b.x.taps)
		}
		return row
	}
	for r := from; r < to; r++ {
		dst, layer, z, y := b.target(r)
		sum := sampled(place{layer, z.a, y.a})
		if y.weight != 0 {
			sum = mixRows(s.sum, sum, sampled(place{layer, z.a, y.b}), y.weight)
		}
		if z.weight != 0 {
			// The second slice's rows weigh weight/256 in all, so that sum is a mean of four rows.
			second := sampled(place{layer, z.b, y.a})
			if y.weight == 0 {
				sum = mixRows(s.sum, sum, second, z.weight)
			} else {
				addSlice(sum, second, sampled(place{layer, z.b, y.b}), y.weight, z.weight)
			}
		}
		b.to.EncodeFloat(dst, sum)
	}
}

// mixColumns filters a row along x.
func mixColumns(dst, src [][4]float64, taps []tap) {
	dst = dst[:len(taps)]
	for i := range taps {
		t := &taps[i]
		if t.weight == 0 { // b may be infinite, or no number
			dst[i] = src[t.a]
			continue
		}
		mix(&dst[i], &src[t.a], &src[t.b], float64(t.weight)/(1<<WeightBits))
	}
}

// mixRows filters between two rows of equal length, into dst.
func mixRows(dst, u, v [][4]float64, weight int32) [][4]float64 {
	w := float64(weight) / (1 << WeightBits)
	dst, v = dst[:len(u)], v[:len(u)]
	for i := range u {
		mix(&dst[i], &u[i], &v[i], w)
	}
	return dst
}

// mix is u and v weighed 1-w to w.
func mix(dst, u, v *[4]float64, w float64) {
	dst[0] = u[0]*(1-w) + v[0]*w
	dst[1] = u[1]*(1-w) + v[1]*w
	dst[2] = u[2]*(1-w) + v[2]*w
	dst[3] = u[3]*(1-w) + v[3]*w
}

// addSlice filters between what sum has from one slice and two rows of the next.
func addSlice(sum, u, v [][4]float64, weightY, weightZ int32) {
	y, z := float64(weightY)/(1<<WeightBits), float64(weightZ)/(1<<WeightBits)
	u, v = u[:len(sum)], v[:len(sum)]
	for i := range sum {
		for c := range sum[i] {
			sum[i][c] = sum[i][c]*(1-z) + (u[i][c]*(1-y)+v[i][c]*y)*z
		}
	}
}

// rowCache keeps the rows that are filtered along x and may be needed again for the next row of the destination:
// two slices of two rows. Neighbouring rows differ in the lowest bit of y or z.
type rowCache[T any] struct {
	rows  [4][]T
	owner [4]place
}

func (c *rowCache[T]) reset(width int) {
	for i := range c.rows {
		c.rows[i] = grow(c.rows[i], width)
		c.owner[i] = place{layer: -1}
	}
}

// row returns the row for a place, and whether the caller must fill it.
func (c *rowCache[T]) row(p place) (row []T, fresh bool) {
	i := p.z&1<<1 | p.y&1
	fresh = c.owner[i] != p
	c.owner[i] = p
	return c.rows[i], fresh
}

// grow returns a slice of n elements, which is s where that is long enough. Their values are unspecified.
func grow[T any](s []T, n int) []T {
	if cap(s) < n {
		return make([]T, n)
	}
	return s[:n]
}
