package main

import (
	"fmt"
	"math"

	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// Offsets in lanes.Tables, which begins a lanes.Format.
const (
	tablesShifts = 32
	tablesMasks  = 64
	tablesPlanes = 80
)

// decoder decodes a texel in each lane. raw holds what is read of each: a word or, of larger texels, several. Of the
// components it gives those that the format has.
type decoder struct {
	way    string
	bytes  int // of a texel
	linear bool
	one    uint32 // an alpha that the format lacks
	decode func(g *generator, raw []vector, format reg.GPVirtual) [4]vector
}

// numeric is what the bits of a channel mean.
type numeric uint8

const (
	unorm numeric = iota
	snorm
	uinteger
	sinteger
)

var numerics = [...]string{"Unorm", "Snorm", "Uint", "Sint"}

// field takes a channel of so many bits out of a word, and makes a number of it.
func (g *generator) field(word vector, first, bits int, kind numeric) vector {
	v := word
	if kind == snorm || kind == sinteger {
		if first+bits < 32 {
			v = g.v(g.VPSLLD, operand.U8(32-first-bits), v)
		}
		if bits < 32 {
			v = g.v(g.VPSRAD, operand.U8(32-bits), v)
		}
	} else {
		if first > 0 {
			v = g.v(g.VPSRLD, operand.U8(first), v)
		}
		if first+bits < 32 {
			v = g.and(g.words(1<<bits-1), v)
		}
	}
	switch kind {
	case unorm:
		return g.quotient(v, 1<<bits-1)
	case snorm:
		return g.v(g.VMAXPS, g.words(math.Float32bits(-1)), g.quotient(v, 1<<(bits-1)-1))
	}
	return v
}

// quotient is the float nearest to an integer of 24 bits at most, divided by a number: the product with the nearest
// float to its inverse, and with what that is off by, rounded once.
func (g *generator) quotient(v vector, by int) vector {
	high := float32(1 / float64(by))
	low := float32(1/float64(by) - float64(high))
	number := g.v(g.VCVTDQ2PS, v)
	r := g.v(g.VMULPS, g.words(math.Float32bits(low)), number)
	g.VFMADD231PS(g.words(math.Float32bits(high)), number, r)
	return r
}

func (g *generator) decoders() {
	for _, d := range allDecoders() {
		g.read(&d)
		if d.linear {
			g.quad(&d)
		}
	}
}

func allDecoders() []decoder {
	one := math.Float32bits(1)
	var all []decoder
	for kind, name := range numerics {
		integer := numeric(kind) >= uinteger
		unit := one
		if integer {
			unit = 1
		}
		for _, bits := range []int{8, 16} {
			for _, n := range []int{1, 2, 4} {
				all = append(all, decoder{fmt.Sprintf("%s%dx%d", name, bits, n), bits * n / 8, !integer, unit,
					func(g *generator, raw []vector, _ reg.GPVirtual) (c [4]vector) {
						for i := range n {
							c[i] = g.field(raw[i*bits/32], i*bits%32, bits, numeric(kind))
						}
						return c
					}})
			}
		}
	}
	all = append(all, decoder{"Unorm8x4BGRA", 4, true, one,
		func(g *generator, raw []vector, _ reg.GPVirtual) (c [4]vector) {
			for i, slot := range [4]int{2, 1, 0, 3} {
				c[slot] = g.field(raw[0], i*8, 8, unorm)
			}
			return c
		}})
	for name, order := range [2][3]int{{0, 1, 2}, {2, 1, 0}} {
		all = append(all, decoder{[]string{"Unorm10x3", "Unorm10x3BGR"}[name], 4, true, one,
			func(g *generator, raw []vector, _ reg.GPVirtual) (c [4]vector) {
				for i, slot := range order {
					c[slot] = g.field(raw[0], i*10, 10, unorm)
				}
				c[3] = g.field(raw[0], 30, 2, unorm)
				return c
			}})
	}
	all = append(all, decoder{"Unorm24", 4, true, one,
		func(g *generator, raw []vector, _ reg.GPVirtual) (c [4]vector) {
			c[0] = g.field(raw[0], 0, 24, unorm)
			return c
		}})
	for _, n := range []int{1, 2, 4} {
		all = append(all, decoder{fmt.Sprintf("Half%d", n), 2 * n, true, one, halves(n)})
		for _, integers := range []bool{false, true} { // which differ by the alpha
			name, unit := "Single", one
			if integers {
				name, unit = "Word", 1
			}
			if integers && n == 4 {
				continue
			}
			all = append(all, decoder{fmt.Sprintf("%s%d", name, n), 4 * n, !integers, unit,
				func(_ *generator, raw []vector, _ reg.GPVirtual) (c [4]vector) {
					copy(c[:], raw)
					return c
				}})
		}
	}
	all = append(all, decoder{"SharedExponent", 4, true, one, sharedExponent})
	for _, bytes := range []int{1, 2, 4} {
		all = append(all, decoder{fmt.Sprintf("Table%d", bytes), bytes, true, one, tables})
	}
	for _, n := range []int{1, 2, 4} {
		all = append(all, decoder{fmt.Sprintf("Srgb8x%d", n), n, true, one, srgbs([]int{0, 1, 2, 3}[:n])})
	}
	return append(all, decoder{"Srgb8x4BGRA", 4, true, one, srgbs([]int{2, 1, 0, 3})})
}

// halves decodes 16-bit floats.
func halves(n int) func(g *generator, raw []vector, _ reg.GPVirtual) [4]vector {
	return func(g *generator, raw []vector, _ reg.GPVirtual) (c [4]vector) {
		low, high := g.words(0xffff), operand.U8(16)
		single := func(v vector) vector {
			if g.wide {
				return g.z(g.VCVTPH2PS, g.y(g.VPMOVDW, v))
			}
			return g.y(g.VCVTPH2PS, g.y(g.VPERMQ, operand.U8(0xd8), g.y(g.VPACKUSDW, v, v)).AsX())
		}
		switch n {
		case 1:
			c[0] = single(raw[0])
		case 2:
			c[0], c[1] = single(g.and(low, raw[0])), single(g.v(g.VPSRLD, high, raw[0]))
		default: // two components in a register
			both := func(a, b vector) (vector, vector) {
				if g.wide {
					return single(a), single(b)
				}
				v := g.y(g.VPERMQ, operand.U8(0xd8), g.y(g.VPACKUSDW, b, a))
				return g.y(g.VCVTPH2PS, v.AsX()), g.y(g.VCVTPH2PS, g.upper(v))
			}
			c[0], c[2] = both(g.and(low, raw[0]), g.and(low, raw[1]))
			c[1], c[3] = both(g.v(g.VPSRLD, high, raw[0]), g.v(g.VPSRLD, high, raw[1]))
		}
		return c
	}
}

// sharedExponent decodes E5B9G9R9: integers of nine bits, times a power of two.
func sharedExponent(g *generator, raw []vector, _ reg.GPVirtual) (c [4]vector) {
	const least = 127 - 15 - 9 // the exponent of a float that stands for 0
	scale := g.v(g.VPSLLD, operand.U8(23), g.v(g.VPADDD, g.words(least), g.v(g.VPSRLD, operand.U8(27), raw[0])))
	for i := range 3 {
		c[i] = g.v(g.VMULPS, scale, g.v(g.VCVTDQ2PS, g.field(raw[0], i*9, 9, uinteger)))
	}
	return c
}

// tables looks each component up.
func tables(g *generator, raw []vector, format reg.GPVirtual) (c [4]vector) {
	for i := range c {
		shift := g.XMM()
		g.VMOVQ(at(format, tablesShifts+8*i), shift)
		index := g.v(g.VPSRLD, shift, raw[0])
		index = g.and(g.v(g.VPBROADCASTD, at(format, tablesMasks+4*i)), index)
		table := g.GP64()
		g.MOVQ(at(format, 8*i), table)
		entries := operand.Mem{Base: table, Index: index, Scale: 4}
		if g.wide {
			all, ones := g.K(), g.GP32()
			g.MOVL(operand.U32(1<<16-1), ones)
			g.KMOVW(ones, all)
			c[i] = g.zero512()
			g.VPGATHERDD(entries, all, c[i])
			continue
		}
		c[i] = g.zero()
		g.VPGATHERDD(g.ones(), entries, c[i])
	}
	return c
}

// srgbs decodes bytes, of which those of red, green and blue are sRGB; order has the byte of each component. Vectors of
// 512 bits look up all bytes of their texels at once, and have each byte of the floats for itself.
func srgbs(order []int) func(g *generator, raw []vector, format reg.GPVirtual) [4]vector {
	return func(g *generator, raw []vector, format reg.GPVirtual) (c [4]vector) {
		if !g.wide {
			return tables(g, raw, format)
		}
		const bytes, register = 256, 64
		planes, upper := g.GP64(), g.K()
		g.MOVQ(at(format, tablesPlanes), planes)
		g.VPMOVB2M(raw[0], upper)
		var found [4]vector
		for i := range found {
			var halves [2]vector
			for half := range halves {
				from := bytes*i + 2*register*half
				halves[half] = g.z(g.VMOVDQU64, at(planes, from))
				g.VPERMT2B(at(planes, from+register), raw[0], halves[half])
			}
			g.VMOVDQU8(halves[1], upper, halves[0])
			found[i] = halves[0]
		}
		for slot, from := range order {
			if slot == 3 {
				c[slot] = g.field(raw[0], 8*from, 8, unorm)
				continue
			}
			var parts [4]vector
			for i, plane := range found {
				parts[i] = g.z(g.VPSHUFB, g.listed(fmt.Sprintf("byte%dto%d", from, i), func(word int) uint32 {
					const nothing = 0x80
					place := uint32(nothing * 0x01010101)
					return place&^(0xff<<(8*i)) | uint32(4*(word%4)+from)<<(8*i)
				}), plane)
			}
			const anyOf = 0xfe
			g.VPTERNLOGD(operand.U8(anyOf), parts[2], parts[1], parts[0])
			c[slot] = g.z(g.VPORD, parts[3], parts[0])
		}
		return c
	}
}

// load reads texels at eight offsets: the words of each, in lanes.
func (g *generator) load(bytes int, data reg.GPVirtual, offsets operand.Mem) []vector {
	return g.loadAt(bytes, func(lane int) operand.Mem {
		o, m := g.GP64(), offsets
		m.Disp += 8 * lane
		g.MOVQ(m, o)
		return operand.Mem{Base: data, Index: o, Scale: 1}
	})
}

// loadAt is load with the texels' places.
func (g *generator) loadAt(bytes int, place func(lane int) operand.Mem) []vector {
	switch bytes {
	case 8:
		var pairs [4]vector
		for i := range pairs {
			pairs[i] = g.XMM()
			g.VMOVQ(place(2*i), pairs[i])
			g.VMOVHPS(place(2*i+1), pairs[i], pairs[i])
		}
		a, b := g.join(pairs[0], pairs[2]), g.join(pairs[1], pairs[3])
		return []vector{g.y(g.VSHUFPS, operand.U8(0x88), b, a), g.y(g.VSHUFPS, operand.U8(0xdd), b, a)}
	case 16:
		var t [4]vector
		for i := range t {
			low := g.XMM()
			g.VMOVUPS(place(i), low)
			insert := instruction(g.VINSERTF128)
			if g.wide {
				insert = g.VINSERTF32X4
			}
			t[i] = g.y(insert, operand.U8(1), place(i+4), low.AsY())
		}
		var words []vector
		for _, unpack := range []instruction{g.VUNPCKLPS, g.VUNPCKHPS} {
			a, b := g.y(unpack, t[1], t[0]), g.y(unpack, t[3], t[2])
			words = append(words, g.y(g.VUNPCKLPD, b, a), g.y(g.VUNPCKHPD, b, a))
		}
		return words
	}
	var halves [2]vector
	for half := range halves {
		x := g.XMM()
		halves[half] = x
		if bytes < 4 {
			g.VPXOR(x, x, x)
		}
		for i := range 4 {
			m := place(4*half + i)
			switch {
			case bytes == 1:
				g.VPINSRB(operand.U8(4*i), m, x, x)
			case bytes == 2:
				g.VPINSRW(operand.U8(2*i), m, x, x)
			case i == 0:
				g.VMOVD(m, x)
			default:
				g.VPINSRD(operand.U8(i), m, x, x)
			}
		}
	}
	return []vector{g.join(halves[0], halves[1])}
}

// missing gives a component that the format lacks.
func (g *generator) missing(d *decoder, c int) vector {
	if c < 3 {
		return g.zero()
	}
	return g.y(g.VMOVDQU, g.words(d.one))
}

// line is room for a vector of 64 bytes, whose words are read one by one. It lies in one line of the cache: a stack may
// begin anywhere, and what lies in two lines is read only when it has been written there.
func (g *generator) line() operand.Mem {
	room, at := g.AllocLocal(128), g.GP64()
	room.Disp += 63
	g.LEAQ(room, at)
	g.ANDQ(operand.I8(-64), at)
	return operand.Mem{Base: at}
}

// read writes the function that reads a texel for each lane. Negative offsets are outside.
func (g *generator) read(d *decoder) {
	g.begin("avx2Read", "way"+d.way, "(f *Format, dst *Texels, data []byte, at *Offsets, outside *Texels)",
		"func(f, dst *byte, data []byte, at, outside *byte)")
	format, offsets := g.pointer("f"), g.pointer("at")
	data, dst := g.GP64(), g.GP64()
	g.Load(g.Param("data").Base(), data)
	// The lanes that are outside read the first texel.
	inside := g.line()
	var masks [2]vector
	for half := range masks {
		o := g.y(g.VMOVDQU, at(offsets, 32*half))
		masks[half] = g.y(g.VPCMPGTQ, o, g.zero())
		store := inside
		store.Disp += 32 * half
		g.VMOVDQU(g.y(g.VPANDN, o, masks[half]), store)
	}
	out := g.y(g.VPERMQ, operand.U8(0xd8), g.y(g.VSHUFPS, operand.U8(0x88), masks[1], masks[0]))
	t := d.decode(g, g.load(d.bytes, data, inside), format)
	outside := g.pointer("outside")
	g.Load(g.Param("dst"), dst)
	for c, v := range t {
		if v == nil {
			v = g.missing(d, c)
		}
		g.VMOVUPS(g.y(g.VBLENDVPS, out, at(outside, 32*c), v), at(dst, 32*c))
	}
	g.end()
}

// quad writes the function that filters between four texels, which all lie inside.
func (g *generator) quad(d *decoder) {
	g.begin("avx2Quad", "way"+d.way, "(f *Format, dst *Texels, data []byte, x, y *Pair, base *Offsets)",
		"func(f, dst *byte, data []byte, x, y, base *byte)")
	format, xs, ys, base := g.pointer("f"), g.pointer("x"), g.pointer("y"), g.pointer("base")
	data := g.GP64()
	g.Load(g.Param("data").Base(), data)
	sums := g.line()
	var rows [2][4]vector
	for row := range rows {
		var t [2][4]vector
		for column := range t {
			for half := range 2 {
				o := g.y(g.VMOVDQU, at(xs, pairSecond*column+32*half))
				o = g.y(g.VPADDQ, at(ys, pairSecond*row+32*half), o)
				store := sums
				store.Disp += 32 * half
				g.VMOVDQU(g.y(g.VPADDQ, at(base, 32*half), o), store)
			}
			t[column] = d.decode(g, g.load(d.bytes, data, sums), format)
		}
		for c := range t[0] {
			if t[0][c] != nil {
				rows[row][c] = g.lerp(t[0][c], t[1][c], at(xs, pairWeights))
			}
		}
	}
	dst := g.pointer("dst")
	for c := range rows[0] {
		var v vector
		if rows[0][c] == nil {
			v = g.missing(d, c)
		} else {
			v = g.lerp(rows[0][c], rows[1][c], at(ys, pairWeights))
		}
		g.VMOVUPS(v, at(dst, 32*c))
	}
	g.end()
}
