package transfer

import (
	"math"
	"math/bits"
)

// box is the shape of what a region copies, in bytes: slices of rows. A slice is a depth slice of a 3D image or
// an array layer of another. No member is 0.
type box struct {
	rowBytes, rows, slices uint64
}

// side is where a box lies in the source or in the destination: its first byte, and the distances of its rows
// and of its slices.
type side struct {
	offset, rowPitch, slicePitch uint64
}

// end returns the offset behind the last byte of the box, the largest number if that does not fit in 64 bits.
func (b box) end(s side) uint64 {
	return advance(advance(advance(s.offset, b.slices-1, s.slicePitch), b.rows-1, s.rowPitch), 1, b.rowBytes)
}

// advance returns offset + count*pitch, the largest number if that does not fit in 64 bits.
func advance(offset, count, pitch uint64) uint64 {
	hi, lo := bits.Mul64(count, pitch)
	sum, carry := bits.Add64(offset, lo, 0)
	if hi|carry != 0 {
		return math.MaxUint64
	}
	return sum
}

// copy copies the box, which lies in both slices. Large ones are copied on all cores.
func (b box) copy(dst []byte, d side, src []byte, s side) {
	b, d, s = merge(b, d, s)
	switch rows := b.rows * b.slices; {
	case b.rowBytes >= parallelBytes:
		for i := range b.slices {
			for j := range b.rows {
				to, from := d.offset+i*d.slicePitch+j*d.rowPitch, s.offset+i*s.slicePitch+j*s.rowPitch
				Copy(dst[to:][:b.rowBytes], src[from:][:b.rowBytes])
			}
		}
	case b.rowBytes*rows < parallelBytes:
		b.copyRows(dst, d, src, s, 0, rows)
	default:
		split(int(rows), int(1+partBytes/b.rowBytes),
			func(from, to int) { b.copyRows(dst, d, src, s, uint64(from), uint64(to)) })
	}
}

// copyRows copies the rows [from, to) of the box, counted through its slices.
func (b box) copyRows(dst []byte, d side, src []byte, s side, from, to uint64) {
	for from < to {
		slice, row := from/b.rows, from%b.rows
		at, of := d.offset+slice*d.slicePitch+row*d.rowPitch, s.offset+slice*s.slicePitch+row*s.rowPitch
		n := min(b.rows-row, to-from)
		for range n {
			copy(dst[at:at+b.rowBytes], src[of:of+b.rowBytes])
			at, of = at+d.rowPitch, of+s.rowPitch
		}
		from += n
	}
}

// merge makes rows and slices longer where they follow each other without a gap on both sides.
func merge(b box, d, s side) (box, side, side) {
	if d.rowPitch == b.rowBytes && s.rowPitch == b.rowBytes {
		b.rowBytes, b.rows = b.rowBytes*b.rows, 1
	}
	if b.rows == 1 {
		b.rows, b.slices = b.slices, 1
		d.rowPitch, s.rowPitch = d.slicePitch, s.slicePitch
		if d.rowPitch == b.rowBytes && s.rowPitch == b.rowBytes {
			b.rowBytes, b.rows = b.rowBytes*b.rows, 1
		}
	}
	return b, d, s
}
