package main

import (
	"math"

	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// Offsets in lanes.Axis, lanes.Level and lanes.Pair, which a test of package lanes holds against the types.
const (
	axisTexels  = 0
	axisInverse = 64
	axisStep    = 128
	axisSize    = 192
	axisBytes   = 240

	levelStart = 3 * axisBytes

	pairSecond  = 64
	pairWeights = 128
)

// Indices of modes.
const (
	repeat = iota
	mirroredRepeat
	clampToEdge
	clampToBorder
	mirrorClampToEdge
)

var modes = [...]string{"REPEAT", "MIRRORED_REPEAT", "CLAMP_TO_EDGE", "CLAMP_TO_BORDER", "MIRROR_CLAMP_TO_EDGE"}

const addressMode = "vk.SAMPLER_ADDRESS_MODE_"

const down = operand.U8(9) // of VROUNDPD

// outside is lanes.Outside.
const outside = math.MinInt64 / 8

// axis is a function that finds texels along an axis.
type axis struct {
	*generator
	of reg.GPVirtual // lanes.Axis
}

func (g *generator) addresses() {
	for mode, name := range modes {
		for _, wide := range []bool{false, true} {
			suffix, lanes := "", "*Lanes"
			if wide {
				suffix, lanes = "Wide", "*Places"
			}
			const plain = "func(to, u, scale, a, shift *byte)"
			g.begin("avx2Nearest"+suffix, addressMode+name,
				"(to *Offsets, u "+lanes+", scale *Places, a *Axis, shift *Lanes)", plain)
			g.findTexels(mode, wide, false)
			g.begin("avx2Pairs"+suffix, addressMode+name,
				"(to *Pair, u "+lanes+", scale *Places, a *Axis, shift *Lanes)", plain)
			g.findTexels(mode, wide, true)
		}
	}
}

// findTexels writes the body: from coordinates to offsets and, for a linear filter, the weights of the second texels.
func (g *generator) findTexels(mode int, wide, linear bool) {
	to, u, scale := g.pointer("to"), g.pointer("u"), g.pointer("scale")
	a := &axis{generator: g, of: g.pointer("a")}
	const far = 1 << 30
	var halves [2]vector
	for half := range halves {
		var c vector
		if wide {
			c = g.y(g.VMULPD, at(u, 32*half), g.y(g.VMOVUPD, at(scale, 32*half)))
		} else {
			c = g.y(g.VMULPD, at(scale, 32*half), g.y(g.VCVTPS2PD, at(u, 16*half)))
		}
		// The instruction gives its last operand, the bound, for a NaN.
		c = g.y(g.VMAXPD, g.quads(math.Float64bits(-far)), c)
		c = g.y(g.VMINPD, g.quads(math.Float64bits(far)), c)
		if linear {
			c = g.y(g.VSUBPD, g.quads(math.Float64bits(0.5)), c)
		}
		floor := g.y(g.VROUNDPD, down, c)
		if linear {
			g.VMOVUPS(g.x(g.VCVTPD2PSY, g.y(g.VSUBPD, floor, c)), at(to, pairWeights+16*half))
		}
		halves[half] = g.x(g.VCVTTPD2DQY, floor)
	}
	n := g.y(g.VPADDD, at(g.pointer("shift"), 0), g.join(halves[0], halves[1]))
	switch mode {
	case repeat:
		n = a.modulo(n, false)
		a.put(to, 0, n, nil)
		if linear {
			next := a.add(n, 1)
			a.put(to, pairSecond, g.y(g.VPANDN, next, g.y(g.VPCMPEQD, at(a.of, axisSize), next)), nil)
		}
	case mirroredRepeat:
		n = a.modulo(n, true)
		size := g.y(g.VMOVDQU, at(a.of, axisSize))
		twice := g.y(g.VPADDD, size, size)
		last := a.add(twice, -1)
		fold := func(n vector) vector { return g.y(g.VPMINSD, n, g.y(g.VPSUBD, n, last)) }
		a.put(to, 0, fold(n), nil)
		if linear {
			next := a.add(n, 1)
			next = g.y(g.VPANDN, next, g.y(g.VPCMPEQD, twice, next))
			a.put(to, pairSecond, fold(next), nil)
		}
	default:
		a.wrapped(mode, to, 0, n)
		if linear {
			a.wrapped(mode, to, pairSecond, a.add(n, 1))
		}
	}
	g.end()
}

func (a *axis) add(n vector, by int) vector { return a.y(a.VPADDD, a.words(uint32(by)), n) }

// wrapped puts the offsets of coordinates in the modes that clamp.
func (a *axis) wrapped(mode int, to reg.GPVirtual, bytes int, n vector) {
	last := a.add(a.y(a.VMOVDQU, at(a.of, axisSize)), -1)
	switch mode {
	case clampToEdge:
		n = a.y(a.VPMAXSD, a.zero(), a.y(a.VPMINSD, last, n))
		a.put(to, bytes, n, nil)
	case mirrorClampToEdge:
		n = a.y(a.VPXOR, n, a.y(a.VPSRAD, operand.U8(31), n))
		a.put(to, bytes, a.y(a.VPMINSD, last, n), nil)
	case clampToBorder:
		a.put(to, bytes, n, a.y(a.VPOR, a.y(a.VPCMPGTD, last, n), a.y(a.VPSRAD, operand.U8(31), n)))
	}
}

// modulo is n modulo the size, or twice the size; it is done where all lanes are inside. The quotient of 64-bit floats
// may be off by one.
func (a *axis) modulo(n vector, twice bool) vector {
	size := a.y(a.VMOVDQU, at(a.of, axisSize))
	if twice {
		size = a.y(a.VPADDD, size, size)
	}
	result := a.y(a.VMOVDQA, n)
	beyond := a.y(a.VPCMPEQD, n, a.y(a.VPMAXUD, size, n))
	inside := a.label("inside")
	a.VPTEST(beyond, beyond)
	a.JEQ(operand.LabelRef(inside))
	var halves [2]vector
	for half := range halves {
		number := a.y(a.VCVTDQ2PD, a.halfOf(n, half))
		inverse, texels := a.y(a.VMOVUPD, at(a.of, axisInverse+32*half)), a.y(a.VMOVUPD, at(a.of, axisTexels+32*half))
		if twice {
			inverse = a.y(a.VMULPD, a.quads(math.Float64bits(0.5)), inverse)
			texels = a.y(a.VADDPD, texels, texels)
		}
		quotient := a.y(a.VROUNDPD, down, a.y(a.VMULPD, number, inverse))
		halves[half] = a.x(a.VCVTTPD2DQY, a.y(a.VSUBPD, a.y(a.VMULPD, quotient, texels), number))
	}
	r := a.join(halves[0], halves[1])
	r = a.y(a.VPADDD, a.y(a.VPAND, size, a.y(a.VPSRAD, operand.U8(31), r)), r)
	a.VPSUBD(a.y(a.VPANDN, size, a.y(a.VPCMPGTD, r, size)), r, result)
	a.Label(inside)
	return result
}

// put stores where the texels at coordinates lie; those of the lanes of out are outside.
func (a *axis) put(to reg.GPVirtual, bytes int, n, out vector) {
	for half := range 2 {
		offsets := a.y(a.VPMULDQ, at(a.of, axisStep+32*half), a.y(a.VPMOVSXDQ, a.halfOf(n, half)))
		if out != nil {
			offsets = a.orOutside(offsets, out, half)
		}
		a.VMOVDQU(offsets, at(to, bytes+32*half))
	}
}

// orOutside replaces the offsets of the lanes of out.
func (g *generator) orOutside(offsets, out vector, half int) vector {
	return g.y(g.VBLENDVPD, g.y(g.VPMOVSXDQ, g.halfOf(out, half)), g.quads(outsideBits), offsets)
}

// locate writes the function that finds texels by integer coordinates.
func (g *generator) locate() {
	g.begin("avx2Locate", "", "(to *Offsets, x, y, z *Lanes, l *Level, active Mask)",
		"func(to, x, y, z, l *byte, active uint8)")
	level := g.pointer("l")
	active := g.GP32()
	g.Load(g.Param("active"), active)
	x := g.XMM()
	g.VMOVD(active, x)
	out := g.y(g.VPCMPEQD, g.zero(), g.y(g.VPAND, g.bits(), g.y(g.VPBROADCASTD, x)))
	offsets := [2]vector{g.y(g.VMOVDQU, at(level, levelStart)), g.y(g.VMOVDQU, at(level, levelStart+32))}
	for i, name := range []string{"x", "y", "z"} {
		c := g.pointer(name)
		n := g.y(g.VMOVDQU, at(c, 0))
		beyond := g.y(g.VPCMPEQD, n, g.y(g.VPMAXUD, at(level, i*axisBytes+axisSize), n))
		out = g.y(g.VPOR, beyond, out)
		for half := range offsets {
			product := g.y(g.VPMULUDQ, at(level, i*axisBytes+axisStep+32*half),
				g.y(g.VPMOVZXDQ, at(c, 16*half)))
			offsets[half] = g.y(g.VPADDQ, product, offsets[half])
		}
	}
	to := g.pointer("to")
	for half := range offsets {
		g.VMOVDQU(g.orOutside(offsets[half], out, half), at(to, 32*half))
	}
	g.end()
}

// outsideBits is outside in two's complement.
const outsideBits = 1<<64 + outside
