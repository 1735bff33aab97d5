package transfer

import (
	"encoding/binary"
	"math"
	"math/bits"

	"farside/internal/lanes"
	"farside/internal/texel"
	"farside/internal/vk"
)

// average makes texels of one format of the averages of samples of another one, of which a texel has a power of two.
type average struct {
	to, from *texel.Codec
	read     *lanes.Format
	samples  int
	bytes    bool // both have four bytes of kind UNORM in the same places
	fixed    bool // both have the same fixed-point numbers
}

// newAverage prepares averages between two formats of numbers that aren't integers.
func newAverage(to vk.Format, toAspect vk.ImageAspectFlags, from vk.Format, fromAspect vk.ImageAspectFlags,
	samples int) average {
	a := average{samples: samples}
	a.to, _ = texel.CodecOf(to, toAspect)
	a.from, _ = texel.CodecOf(from, fromAspect)
	a.read, _ = lanes.FormatOf(from, fromAspect, lanes.Vectors())
	a.bytes = to == from && samples > 1 && a.to.IsUnorm8x4()
	size := a.to.Size()
	a.fixed = to == from && samples <= mostSamples && size <= 8
	for _, ch := range a.to.Channels() {
		a.fixed = a.fixed && (ch.Kind == vk.NumericUNORM || ch.Kind == vk.NumericSNORM)
	}
	return a
}

const mostSamples = 64 // that Vulkan has

// row makes a row of texels.
func (a *average) row(dst, src []byte) {
	switch {
	case a.bytes:
		meanBytes(dst, src, a.samples)
	case a.fixed:
		a.fixedRow(dst, src)
	case a.from.Wide() || a.to.Wide():
		a.wideRow(dst, src)
	default:
		a.laneRow(dst, src)
	}
}

// fixedRow is row for fixed-point numbers. What lies in the middle of two becomes the greater one, as in meanBytes.
func (a *average) fixedRow(dst, src []byte) {
	size, shift := a.to.Size(), bits.TrailingZeros(uint(a.samples))
	var words [mostSamples]uint64
	samples := words[:a.samples]
	for ; len(dst) > 0; dst, src = dst[size:], src[size*len(samples):] {
		for i := range samples {
			samples[i] = word(src[i*size:], size)
		}
		var made uint64
		for _, ch := range a.to.Channels() {
			unused := uint(64 - ch.Bits)
			sum := int64(len(samples) / 2)
			for _, w := range samples {
				if w <<= (unused - uint(ch.First)) & 63; ch.Kind == vk.NumericUNORM {
					sum += int64(w >> (unused & 63))
				} else { // the lowest number means what the one above it does
					sum += max(int64(w)>>(unused&63), -1<<(ch.Bits-1)+1)
				}
			}
			made |= uint64(sum>>shift) << (unused & 63) >> ((unused - uint(ch.First)) & 63)
		}
		putWord(dst, size, made)
	}
}

// word is a texel of up to 8 bytes.
func word(texel []byte, size int) uint64 {
	switch size {
	case 1:
		return uint64(texel[0])
	case 2:
		return uint64(binary.LittleEndian.Uint16(texel))
	case 4:
		return uint64(binary.LittleEndian.Uint32(texel))
	case 8:
		return binary.LittleEndian.Uint64(texel)
	}
	w := uint64(0)
	for i, b := range texel[:size] {
		w |= uint64(b) << (8 * i)
	}
	return w
}

// putWord is the inverse of word.
func putWord(texel []byte, size int, w uint64) {
	switch size {
	case 1:
		texel[0] = byte(w)
	case 2:
		binary.LittleEndian.PutUint16(texel, uint16(w))
	case 4:
		binary.LittleEndian.PutUint32(texel, uint32(w))
	case 8:
		binary.LittleEndian.PutUint64(texel, w)
	default:
		for i := range texel[:size] {
			texel[i] = byte(w >> (8 * i))
		}
	}
}

// wideRow is row for numbers of 64 bits.
func (a *average) wideRow(dst, src []byte) {
	var numbers [convertChunk][4]float64
	for len(dst) > 0 {
		n := min(len(dst)/a.to.Size(), convertChunk/a.samples)
		a.from.DecodeFloat(numbers[:n*a.samples], src)
		for i := range n {
			samples := numbers[i*a.samples:][:a.samples]
			var sum [4]float64
			for c := range sum {
				sum[c] = samples[0][c] / float64(a.samples) // zeros keep their signs
				for _, s := range samples[1:] {
					sum[c] += s[c] / float64(a.samples)
				}
			}
			numbers[i] = sum
		}
		a.to.EncodeFloat(dst, numbers[:n])
		dst, src = dst[n*a.to.Size():], src[n*a.samples*a.from.Size():]
	}
}

// laneRow is row in float32, of eight texels at a time. A part of each sample is a sum that can't become too large.
func (a *average) laneRow(dst, src []byte) {
	var numbers [convertChunk][4]float64
	for len(dst) > 0 {
		n := min(len(dst)/a.to.Size(), convertChunk)
		for first := 0; first < n; first += lanes.Width {
			var sum lanes.Texels
			a.sum(&sum, src, first, n)
			for i := range min(n-first, lanes.Width) {
				for c := range sum {
					v := float64(lanes.Float(sum[c][i]))
					if v != v { // the sign of the sum of two depends on which the processor takes first
						v = math.NaN()
					}
					numbers[first+i][c] = v
				}
			}
		}
		a.to.EncodeFloat(dst, numbers[:n])
		dst, src = dst[n*a.to.Size():], src[n*a.samples*a.from.Size():]
	}
}

// sum makes the averages of eight texels from the first one on, of n that there are.
func (a *average) sum(sum *lanes.Texels, src []byte, first, n int) {
	part := 1 / float32(a.samples)
	for s := range a.samples {
		var at lanes.Offsets
		for i := range at {
			if at[i] = lanes.Outside; first+i < n {
				at[i] = ((first+i)*a.samples + s) * a.from.Size()
			}
		}
		var sample lanes.Texels
		a.read.Read(&sample, src, &at)
		for c := range sum {
			to, from := &sum[c], &sample[c]
			switch {
			case !a.read.Present[c]:
				*to = *from
			case s == 0: // so that zeros keep their signs
				for i, v := range from {
					to[i] = lanes.Bits(lanes.Float(v) * part)
				}
			default:
				for i, v := range from {
					to[i] = lanes.Bits(lanes.Float(to[i]) + float32(lanes.Float(v)*part))
				}
			}
		}
	}
}
