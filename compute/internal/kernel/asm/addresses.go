package main

import (
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// addressed is a kernel of physical or private memory while it is written. Both look at a chunk at once, with a mask.
type addressed struct {
	*generator
	width int // bytes of a chunk
	store bool

	keys, values, mask           stream // keys: addresses or indices
	base, limit, offset, scratch reg.GPVirtual
	masks                        []vector // of the chunk, for each half
}

func (m *addressed) size() int { return m.width / 8 }

// open loads the operands of a kernel, from the first chunk on. Without a mask all lanes take part.
func (m *addressed) open(args, first reg.Register) {
	m.base, m.limit, m.offset, m.scratch = m.GP64(), m.GP64(), m.GP64(), m.GP64()
	load := func(at int) stream {
		s := stream{base: m.GP64(), step: m.GP64()}
		m.MOVQ(operand.Mem{Base: args, Disp: at}, s.base)
		m.MOVQ(operand.Mem{Base: args, Disp: at + 8}, s.step)
		m.MOVQ(first, m.scratch)
		m.IMULQ(s.step, m.scratch)
		m.ADDQ(m.scratch, s.base)
		return s
	}
	m.keys = load(argsA)
	if m.store {
		m.values = load(argsB)
	} else {
		m.values = load(argsDst)
	}
	given := m.label("given")
	m.mask = load(argsMask)
	m.CMPQ(operand.Mem{Base: args, Disp: argsMask}, operand.U8(0))
	m.JNE(operand.LabelRef(given))
	m.LEAQ(m.words(1<<32-1), m.mask.base)
	m.XORL(m.mask.step.As32(), m.mask.step.As32())
	m.Label(given)
	m.MOVQ(operand.Mem{Base: args, Disp: argsMemory}, m.scratch)
	m.MOVQ(operand.Mem{Base: m.scratch, Disp: 0}, m.base)
	m.MOVQ(operand.Mem{Base: m.scratch, Disp: 8}, m.limit)
}

// takePart loads the mask of a chunk, and goes on to next if no lane takes part.
func (m *addressed) takePart(next string) {
	mask := m.y(m.VMOVDQU, m.mask.chunk())
	m.VPTEST(mask, mask)
	m.JZ(operand.LabelRef(next))
	m.masks = []vector{mask}
	if m.width == 64 {
		upper := m.mask.chunk()
		upper.Disp = 16
		m.masks = []vector{m.y(m.VPMOVSXDQ, m.mask.chunk()), m.y(m.VPMOVSXDQ, upper)}
	}
}

func (m *addressed) value(half int) operand.Mem {
	return operand.Mem{Base: m.values.base, Disp: 32 * half}
}

// put writes half of a chunk of Dst, in the lanes that take part.
func (m *addressed) put(v operand.Op, half int) {
	m.VMOVDQU(m.blend(m.masks[half], v, m.y(m.VMOVDQU, m.value(half))), m.value(half))
}

// copy loads or stores what lies behind each other at a place.
func (m *addressed) copy(at operand.Mem) {
	for half, mask := range m.masks {
		p := at
		p.Disp += 32 * half
		switch {
		case !m.store:
			m.put(p, half)
		case m.width == 64:
			m.VPMASKMOVQ(m.y(m.VMOVDQU, m.value(half)), mask, p)
		default:
			m.VPMASKMOVD(m.y(m.VMOVDQU, m.value(half)), mask, p)
		}
	}
}

// move moves a lane from one place to another.
func (m *addressed) move(from, to operand.Mem) {
	if m.width == 64 {
		m.MOVQ(from, m.scratch)
		m.MOVQ(m.scratch, to)
	} else {
		m.MOVL(from, m.scratch.As32())
		m.MOVL(m.scratch.As32(), to)
	}
}

// lane writes what is done to a lane that takes part: place leaves the place in memory, or jumps if there is none.
func (m *addressed) lane(lane int, place func(outside string) operand.Mem) {
	next, outside := m.label("next"), m.label("outside")
	m.CMPL(operand.Mem{Base: m.mask.base, Disp: 4 * lane}, operand.U8(0))
	m.JE(operand.LabelRef(next))
	value := operand.Mem{Base: m.values.base, Disp: m.size() * lane}
	if m.store {
		m.move(value, place(next))
	} else {
		m.move(place(outside), value)
		m.JMP(operand.LabelRef(next))
		m.Label(outside)
		if m.width == 64 {
			m.MOVQ(operand.U32(0), value)
		} else {
			m.MOVL(operand.U32(0), value)
		}
	}
	m.Label(next)
}

// physical writes the kernels of 64-bit addresses. A memory without a word is left to Go.
func (g *generator) physical() {
	for _, kind := range []struct {
		op    string
		width int
		store bool
	}{
		{"LoadPhysical32", 32, false}, {"LoadPhysical64", 64, false},
		{"StorePhysical32", 32, true}, {"StorePhysical64", 64, true},
	} {
		g.beginPartial(kind.op)
		m := &addressed{generator: g, width: kind.width, store: kind.store}
		m.writePhysical()
	}
}

func (m *addressed) writePhysical() {
	stop := m.label("stop")
	args, first := m.Load(m.Param("a"), m.GP64()), m.Load(m.Param("first"), m.GP64())
	count := m.Load(m.Param("n"), m.GP64())
	m.open(args, first)
	immediate := m.GP64()
	m.MOVQ(operand.Mem{Base: args, Disp: argsImmediate}, immediate)
	m.SUBQ(operand.U8(m.size()), m.limit)
	m.JCS(operand.LabelRef(stop))
	m.chunks(count, []stream{m.keys, m.values, m.mask}, func() {
		next, other, lanes := m.label("next"), m.label("other"), m.label("lanes")
		m.takePart(next)
		m.MOVQ(m.keys.chunk(), m.offset)
		m.ADDQ(immediate, m.offset)
		from := m.y(m.VPBROADCASTQ, m.keys.chunk())
		compare := func(distance int, otherwise string) {
			var all vector
			for half := range 2 {
				expected := from
				if distance > 0 {
					expected = m.y(m.VPADDQ, m.distances64(4*half*distance, distance), from)
				}
				equal := m.y(m.VPCMPEQQ, operand.Mem{Base: m.keys.base, Disp: 32 * half}, expected)
				if half == 1 {
					equal = m.y(m.VPAND, all, equal)
				}
				all = equal
			}
			m.VMOVMSKPS(all, m.scratch.As32())
			m.CMPL(m.scratch.As32(), operand.U32(0xff))
			m.JNE(operand.LabelRef(otherwise))
			m.CMPQ(m.offset, m.limit)
			m.JHI(operand.LabelRef(lanes))
		}
		at := operand.Mem{Base: m.base, Index: m.offset, Scale: 1}
		if m.store {
			other = lanes
		}
		compare(m.size(), other)
		m.LEAQ(operand.Mem{Base: m.offset, Disp: 7 * m.size()}, m.scratch)
		m.CMPQ(m.scratch, m.limit)
		m.JHI(operand.LabelRef(lanes))
		m.copy(at)
		m.JMP(operand.LabelRef(next))
		if !m.store {
			m.Label(other)
			compare(0, lanes)
			broadcast := instruction(m.VPBROADCASTD)
			if m.width == 64 {
				broadcast = m.VPBROADCASTQ
			}
			v := m.y(broadcast, at)
			for half := range m.masks {
				m.put(v, half)
			}
			m.JMP(operand.LabelRef(next))
		}
		m.Label(lanes)
		for lane := range 8 {
			m.lane(lane, func(outside string) operand.Mem {
				m.MOVQ(operand.Mem{Base: m.keys.base, Disp: 8 * lane}, m.offset)
				m.ADDQ(immediate, m.offset)
				m.CMPQ(m.offset, m.limit)
				m.JHI(operand.LabelRef(outside))
				return at
			})
		}
		m.Label(next)
	})
	m.Label(stop)
	m.endPartial(count)
}

// private writes the kernels of arrays of registers.
func (g *generator) private() {
	for _, kind := range []struct {
		op    string
		width int
		store bool
	}{
		{"LoadPrivate32", 32, false}, {"LoadPrivate64", 64, false},
		{"StorePrivate32", 32, true}, {"StorePrivate64", 64, true},
	} {
		g.begin(kind.op)
		g.kernels = append(g.kernels, kind.op)
		m := &addressed{generator: g, width: kind.width, store: kind.store}
		m.writePrivate()
	}
}

func (m *addressed) writePrivate() {
	args, first := m.Load(m.Param("a"), m.GP64()), m.Load(m.Param("first"), m.GP64())
	count := m.Load(m.Param("n"), m.GP64())
	m.open(args, first)
	elements, register, chunk := m.GP64(), m.GP64(), m.GP64()
	m.MOVQ(operand.Mem{Base: args, Disp: argsImmediate}, elements)
	some, varying := m.label("some"), m.label("varying")
	m.MOVQ(m.limit, register)
	m.TESTQ(elements, elements)
	m.JZ(operand.LabelRef(some))
	m.MOVQ(m.limit, reg.RAX)
	m.XORL(reg.EDX, reg.EDX)
	m.DIVQ(elements)
	m.MOVQ(reg.RAX, register)
	m.Label(some)
	// The registers of one chunk are those of uniform values.
	m.MOVQ(operand.U32(m.width), chunk)
	m.CMPQ(register, chunk)
	m.JNE(operand.LabelRef(varying))
	m.XORL(chunk.As32(), chunk.As32())
	m.Label(varying)
	m.MOVQ(first, m.scratch)
	m.IMULQ(chunk, m.scratch)
	m.ADDQ(m.scratch, m.base)
	elementsAll := m.y(m.VPBROADCASTD, m.x(m.VMOVQ, elements))
	registerAll := m.y(m.VPBROADCASTD, m.x(m.VMOVQ, register))

	streams := []stream{m.keys, m.values, m.mask, {base: m.base, step: chunk}}
	m.chunks(count, streams, func() {
		next, lanes := m.label("next"), m.label("lanes")
		m.takePart(next)
		// index leaves the address of the element in offset.
		index := func(lane int, otherwise string) {
			m.MOVL(operand.Mem{Base: m.keys.base, Disp: 4 * lane}, m.offset.As32())
			m.CMPQ(m.offset, elements)
			m.JCC(operand.LabelRef(otherwise))
			m.IMULQ(register, m.offset)
			m.ADDQ(m.base, m.offset)
		}
		equal := m.y(m.VPCMPEQD, m.keys.chunk(), m.y(m.VPBROADCASTD, m.keys.chunk()))
		m.VMOVMSKPS(equal, m.scratch.As32())
		m.CMPL(m.scratch.As32(), operand.U32(0xff))
		m.JNE(operand.LabelRef(lanes))
		index(0, lanes)
		m.copy(operand.Mem{Base: m.offset})
		m.JMP(operand.LabelRef(next))
		m.Label(lanes)
		if m.store {
			for lane := range 8 {
				m.lane(lane, func(outside string) operand.Mem {
					index(lane, outside)
					return operand.Mem{Base: m.offset, Disp: m.size() * lane}
				})
			}
		} else {
			m.gather(elementsAll, registerAll)
		}
		m.Label(next)
	})
	m.VZEROUPPER()
	m.RET()
}

// gather loads the element of each lane. Arrays are smaller than 2**31 bytes.
func (m *addressed) gather(elements, register vector) {
	keys := m.y(m.VMOVDQU, m.keys.chunk())
	outside := m.y(m.VPCMPEQD, keys, m.y(m.VPMAXUD, keys, elements))
	var steps [8]uint32
	for lane := range steps {
		steps[lane] = uint32(lane * m.size())
	}
	places := m.y(m.VPADDD, m.list(steps), m.y(m.VPMULLD, register, keys))
	for half, mask := range m.masks {
		v := m.zero()
		if m.width == 32 {
			m.VPGATHERDD(m.y(m.VPANDN, mask, outside), operand.Mem{Base: m.base, Index: places, Scale: 1}, v)
		} else {
			x, o := places.AsX().(vector), outside.AsX().(vector)
			if half == 1 {
				x, o = m.x(m.VEXTRACTI128, operand.U8(1), places), m.x(m.VEXTRACTI128, operand.U8(1), outside)
			}
			in := m.y(m.VPANDN, mask, m.y(m.VPMOVSXDQ, o))
			m.VPGATHERDQ(in, operand.Mem{Base: m.base, Index: x, Scale: 1}, v)
		}
		m.put(v, half)
	}
}
