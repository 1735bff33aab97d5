package main

import (
	"fmt"
	"math"

	"github.com/mmcloughlin/avo/operand"
)

// encoders writes the functions that make texels of components: a word for each lane, or two.
func (g *generator) encoders() {
	for _, bits := range []int{8, 16} {
		for _, n := range []int{1, 2, 4} {
			for _, kind := range []numeric{unorm, uinteger, sinteger} {
				if kind == unorm && bits == 16 {
					continue // which the codec writes
				}
				g.encoder(fmt.Sprintf("%s%dx%d", numerics[kind], bits, n), bits, []int{0, 1, 2, 3}[:n],
					func(v vector) vector { return g.encoded(v, bits, kind) })
			}
		}
	}
	g.encoder("Unorm8x4BGRA", 8, []int{2, 1, 0, 3}, func(v vector) vector { return g.encoded(v, 8, unorm) })
	for _, n := range []int{1, 2, 4} {
		g.encoder(fmt.Sprintf("Half%d", n), 16, []int{0, 1, 2, 3}[:n], func(v vector) vector {
			return g.y(g.VPMOVZXWD, g.x(g.VCVTPS2PH, operand.U8(0), v))
		})
	}
}

// encoded makes the bits of a channel from numbers.
func (g *generator) encoded(v vector, bits int, kind numeric) vector {
	most := uint32(1)<<bits - 1
	switch kind {
	case unorm:
		// The bounds are the last operands, which the instructions give for a NaN: 0.
		v = g.y(g.VMINPS, g.words(math.Float32bits(1)), g.y(g.VMAXPS, g.zero(), v))
		var halves [2]vector
		for half := range halves {
			number := g.y(g.VMULPD, g.quads(math.Float64bits(float64(most))), g.y(g.VCVTPS2PD, g.halfOf(v, half)))
			halves[half] = g.x(g.VCVTTPD2DQY, g.y(g.VADDPD, g.quads(math.Float64bits(0.5)), number))
		}
		return g.join(halves[0], halves[1])
	case uinteger:
		return g.y(g.VPMINUD, g.words(most), v)
	}
	high := most >> 1
	return g.y(g.VPAND, g.words(most), g.y(g.VPMAXSD, g.words(^high), g.y(g.VPMINSD, g.words(high), v)))
}

// encoder writes a function for channels of so many bits, one after the other, from these components.
func (g *generator) encoder(way string, bits int, slots []int, encode func(v vector) vector) {
	g.begin("avx2Encode", "way"+way, "(to *[2]Lanes, src *Texels)", "func(to, src *byte)")
	to, src := g.pointer("to"), g.pointer("src")
	for word := range (len(slots)*bits + 31) / 32 {
		var all vector
		for i, slot := range slots {
			if i*bits/32 != word {
				continue
			}
			v := encode(g.y(g.VMOVUPS, at(src, 32*slot)))
			if first := i * bits % 32; first > 0 {
				v = g.y(g.VPOR, g.y(g.VPSLLD, operand.U8(first), v), all)
			}
			all = v
		}
		g.VMOVDQU(all, at(to, 32*word))
	}
	g.end()
}
