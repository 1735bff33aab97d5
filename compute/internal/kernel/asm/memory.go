package main

import (
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// access is a kernel of memory while it is written.
type access struct {
	*generator
	size  int  // bytes in memory
	width int  // bytes of a chunk of values
	store bool // values go to memory

	offsets, values, mask stream // values: of stores B, of loads Dst
	base, limit, count    reg.Register
	far                   reg.Register // base + 2**31: gathers take signed indices
	limits                vector
	offset, scratch       reg.Register  // offset: the first of a chunk
	steps                 [4]operand.Op // distances, if they are in registers
	dense                 bool          // chunks of offsets and values lie behind each other, as no uniform operand's do
}

// memory writes the kernels of loads and stores. They look at chunk after chunk, or, for 32 bits, at four or two at
// once, whether the offsets follow each other or are all the same. Which of these has been true is tried first the next
// time.
func (g *generator) memory() {
	for _, kind := range []struct {
		op          string
		size, width int
		store       bool
	}{
		{"LoadU8", 1, 32, false}, {"LoadU16", 2, 32, false}, {"Load32", 4, 32, false}, {"Load64", 8, 64, false},
		{"Store8", 1, 32, true}, {"Store16", 2, 32, true}, {"Store32", 4, 32, true}, {"Store64", 8, 64, true},
	} {
		g.begin(kind.op)
		g.kernels = append(g.kernels, kind.op)
		m := &access{generator: g, size: kind.size, width: kind.width, store: kind.store}
		m.write()
	}
}

func (m *access) write() {
	args := m.Load(m.Param("a"), m.GP64())
	first := m.Load(m.Param("first"), m.GP64())
	m.count = m.Load(m.Param("n"), m.GP64())
	m.scratch, m.offset = m.GP64(), m.GP64()
	open := func(at int) stream {
		s := stream{base: m.GP64(), step: m.GP64()}
		m.MOVQ(operand.Mem{Base: args, Disp: at}, s.base)
		m.MOVQ(operand.Mem{Base: args, Disp: at + 8}, s.step)
		m.MOVQ(first, m.scratch)
		m.IMULQ(s.step, m.scratch)
		m.ADDQ(m.scratch, s.base)
		return s
	}
	m.offsets = open(argsA)
	if m.store {
		m.values = open(argsB)
	} else {
		m.values = open(argsDst)
	}
	m.base, m.limit = m.GP64(), m.GP64()
	nothing, masked, done := m.label("nothing"), m.label("masked"), m.label("done")

	// limit is the largest offset at which a word lies in the memory. It is no more than 2**32 - 1, as offsets are.
	m.MOVQ(operand.Mem{Base: args, Disp: argsMemory}, m.scratch)
	m.MOVQ(operand.Mem{Base: m.scratch, Disp: 0}, m.base)
	m.MOVQ(operand.Mem{Base: m.scratch, Disp: 8}, m.limit)
	m.MOVQ(operand.Mem{Base: args, Disp: argsImmediate}, m.scratch)
	m.SUBQ(operand.U8(m.size), m.limit)
	m.JCS(operand.LabelRef(nothing))
	m.SUBQ(m.scratch, m.limit)
	m.JCS(operand.LabelRef(nothing))
	m.ADDQ(m.scratch, m.base)
	m.MOVL(operand.U32(1<<32-1), m.scratch.(reg.GPVirtual).As32())
	m.CMPQ(m.limit, m.scratch)
	m.CMOVQHI(m.scratch, m.limit)
	m.limits = m.y(m.VPBROADCASTD, m.x(m.VMOVQ, m.limit))
	if m.gathers() {
		m.far = m.GP64()
		m.MOVL(operand.U32(1<<31), m.far.(reg.GPVirtual).As32())
		m.ADDQ(m.base, m.far)
	}
	m.MOVQ(operand.Mem{Base: args, Disp: argsMask}, m.scratch)
	m.TESTQ(m.scratch, m.scratch)
	m.JNE(operand.LabelRef(masked))

	if m.size == 4 {
		m.several()
	}
	m.unmasked(1)
	m.JMP(operand.LabelRef(done))

	m.Label(masked)
	m.mask = open(argsMask)
	m.each(m.maskedChunk)
	m.JMP(operand.LabelRef(done))

	m.Label(nothing)
	if !m.store {
		m.nothing(args, open)
	}
	m.Label(done)
	m.VZEROUPPER()
	m.RET()
}

// gathers says whether the lanes of a chunk are loaded by an instruction, wherever they are.
func (m *access) gathers() bool { return !m.store && m.size >= 4 }

// advance moves on by one chunk, or by more if they are dense.
func (m *access) advance(chunks int) {
	for _, s := range []stream{m.offsets, m.values, m.mask} {
		switch {
		case s.base == nil:
		case m.dense:
			m.ADDQ(operand.U32(chunks*m.width), s.base)
		default:
			m.ADDQ(s.step, s.base)
		}
	}
}

// each writes a loop over the chunks.
func (m *access) each(body func()) {
	loop, done := m.label("loop"), m.label("done")
	m.TESTQ(m.count, m.count)
	m.JZ(operand.LabelRef(done))
	m.Label(loop)
	body()
	m.advance(1)
	m.DECQ(m.count)
	m.JNZ(operand.LabelRef(loop))
	m.Label(done)
}

// place is where a half of a chunk of a stream is, which is the first one unless they are dense.
func (m *access) place(s stream, chunk, half int) operand.Mem {
	return operand.Mem{Base: s.base, Disp: m.width*chunk + 32*half}
}

// word is where the words are in memory, so many after that at the first offset.
func (m *access) word(after int) operand.Mem {
	return operand.Mem{Base: m.base, Index: m.offset, Scale: 1, Disp: after * m.size}
}

// several writes the loops over four chunks and over two at once. They end with the first ones that are not as they
// expect: four chunks whose offsets follow each other, as they do in workgroups of one dimension, and two chunks whose
// offsets follow each other or are the same, as in rows of 16.
func (m *access) several() {
	loop, end, other := m.label("loop"), m.label("end"), m.label("other")
	for _, s := range []stream{m.offsets, m.values} {
		m.CMPQ(s.step, operand.U8(m.width))
		m.JNE(operand.LabelRef(other))
	}
	m.dense = true
	for chunk := range m.steps {
		m.steps[chunk] = m.y(m.VMOVDQU, m.distances(chunk))
	}
	m.Label(loop)
	m.SUBQ(operand.U8(4), m.count)
	m.JL(operand.LabelRef(end))
	m.unlessConsecutive(4, end)
	m.inRange(32, end)
	m.move(4)
	m.advance(4)
	m.JMP(operand.LabelRef(loop))
	m.Label(end)
	m.ADDQ(operand.U8(4), m.count)
	m.unmasked(2)
	m.dense, m.steps = false, [4]operand.Op{}
	m.Label(other)
}

// order is a kind of offsets that an access is made for.
type order struct {
	unless func(to string) // jumps if the offsets are not of the kind, and loads the first one
	words  int             // from the first offset on, which have to be in the memory
	access func()
}

// orders returns those that loops over one chunk or two look for.
func (m *access) orders(unit int) []order {
	orders := []order{{func(to string) { m.unlessConsecutive(unit, to) }, 8 * unit, func() { m.move(unit) }}}
	if m.store {
		return orders
	}
	orders = append(orders, order{func(to string) { m.unlessEqual(unit, to) }, 1, func() { m.spread(unit) }})
	if m.size == 4 && unit == 1 {
		for _, stride := range []int{8, 16} {
			orders = append(orders, order{func(to string) { m.unlessStrided(stride, to) }, 2 * stride, func() {
				m.pick(stride)
			}})
		}
	}
	return orders
}

// unmasked writes the loop over all chunks, one or two at once. It ends when less than that are left; that over two
// ends also where their offsets have no order.
func (m *access) unmasked(unit int) {
	choose, none, done := m.label("choose"), m.label("none"), m.label("done")
	next := func() {
		m.SUBQ(operand.U8(unit), m.count)
		m.JL(operand.LabelRef(done))
	}
	// Each order has a loop of its own, which goes on while the offsets have it.
	orders := m.orders(unit)
	var found []string
	for _, o := range orders {
		loop, here := m.label("loop"), m.label("found")
		m.Label(loop)
		next()
		o.unless(choose)
		m.Label(here)
		m.inRange(o.words, none)
		o.access()
		m.advance(unit)
		m.JMP(operand.LabelRef(loop))
		found = append(found, here)
	}
	m.Label(choose)
	for i, o := range orders {
		other := m.label("other")
		o.unless(other)
		m.JMP(operand.LabelRef(found[i]))
		m.Label(other)
	}
	m.Label(none)
	if unit == 1 {
		m.disordered()
		m.advance(1)
		next()
		m.JMP(operand.LabelRef(choose))
	}
	m.Label(done)
	m.ADDQ(operand.U8(unit), m.count)
}

// disordered writes the access to a chunk whose offsets may be anything.
func (m *access) disordered() {
	if m.gathers() {
		for half := range m.width / 32 {
			m.VMOVDQU(m.gather(half, nil), m.place(m.values, 0, half))
		}
		return
	}
	some, end := m.label("some"), m.label("end")
	m.unlessAll(m.within(m.y(m.VMOVDQU, m.place(m.offsets, 0, 0))), some)
	m.lanes(false, false)
	m.JMP(operand.LabelRef(end))
	m.Label(some)
	m.lanes(false, true)
	m.Label(end)
}

// unlessConsecutive jumps if the offsets do not follow each other. It loads the first one.
func (m *access) unlessConsecutive(unit int, to string) {
	m.MOVL(m.place(m.offsets, 0, 0), m.offset.(reg.GPVirtual).As32())
	from := m.y(m.VPBROADCASTD, m.place(m.offsets, 0, 0))
	var all vector
	for chunk := range unit {
		steps := m.steps[chunk]
		if steps == nil {
			steps = m.distances(chunk)
		}
		equal := m.y(m.VPCMPEQD, m.place(m.offsets, chunk, 0), m.y(m.VPADDD, steps, from))
		if chunk > 0 {
			equal = m.y(m.VPAND, all, equal)
		}
		all = equal
	}
	m.unlessAll(all, to)
}

// distances returns the constant of the distances from the first offset to those of a chunk.
func (m *access) distances(chunk int) operand.Mem {
	var steps [8]uint32
	for lane := range steps {
		steps[lane] = uint32((8*chunk + lane) * m.size)
	}
	return m.list(steps)
}

// unlessEqual jumps if the offsets are not the same.
func (m *access) unlessEqual(unit int, to string) {
	m.MOVL(m.place(m.offsets, 0, 0), m.offset.(reg.GPVirtual).As32())
	from := m.y(m.VPBROADCASTD, m.place(m.offsets, 0, 0))
	all := m.y(m.VPCMPEQD, m.place(m.offsets, 0, 0), from)
	if unit == 2 {
		all = m.y(m.VPAND, all, m.y(m.VPCMPEQD, m.place(m.offsets, 1, 0), from))
	}
	m.unlessAll(all, to)
}

func (m *access) unlessAll(mask vector, to string) {
	bits := m.GP32()
	m.VMOVMSKPS(mask, bits)
	m.CMPL(bits, operand.U32(0xff))
	m.JNE(operand.LabelRef(to))
}

// inRange jumps if so many words after the offset are not all in the memory.
func (m *access) inRange(words int, otherwise string) {
	last := m.offset
	if words > 1 {
		last = m.scratch
		m.LEAQ(operand.Mem{Base: m.offset, Disp: (words - 1) * m.size}, last)
	}
	m.CMPQ(last, m.limit)
	m.JHI(operand.LabelRef(otherwise))
}

// move loads or stores words that follow each other.
func (m *access) move(unit int) {
	var values []vector
	for chunk := range unit {
		for half := range m.width / 32 {
			if m.store {
				values = append(values, m.y(m.VMOVDQU, m.place(m.values, chunk, half)))
			} else {
				values = append(values, m.fetch(8*chunk+4*half))
			}
		}
	}
	for i, v := range values {
		if m.store {
			m.put(v, 32/m.size*i)
		} else {
			m.VMOVDQU(v, m.place(m.values, i*32/m.width, i%(m.width/32)))
		}
	}
}

// fetch loads the words of half a chunk.
func (m *access) fetch(after int) vector {
	switch m.size {
	case 1:
		return m.y(m.VPMOVZXBD, m.word(after))
	case 2:
		return m.y(m.VPMOVZXWD, m.word(after))
	}
	return m.y(m.VMOVDQU, m.word(after))
}

// put stores the words of half a chunk.
func (m *access) put(v vector, after int) {
	switch m.size {
	case 1:
		bytes := m.y(m.VPSHUFB,
			m.bytes("low8", [16]uint8{0, 4, 8, 12, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80}), v)
		m.VMOVQ(m.x(m.VPUNPCKLDQ, m.x(m.VEXTRACTI128, operand.U8(1), bytes), bytes.AsX()), m.word(after))
	case 2:
		words := m.y(m.VPSHUFB, m.bytes("low16",
			[16]uint8{0, 1, 4, 5, 8, 9, 12, 13, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80}), v)
		m.VMOVDQU(m.x(m.VPUNPCKLQDQ, m.x(m.VEXTRACTI128, operand.U8(1), words), words.AsX()), m.word(after))
	default:
		m.VMOVDQU(v, m.word(after))
	}
}

// spread loads one word for all lanes.
func (m *access) spread(unit int) {
	var v vector
	switch m.size {
	case 8:
		v = m.y(m.VPBROADCASTQ, m.word(0))
	case 4:
		v = m.y(m.VPBROADCASTD, m.word(0))
	default:
		m.loadWord(m.scratch)
		v = m.y(m.VPBROADCASTD, m.x(m.VMOVQ, m.scratch))
	}
	for chunk := range unit {
		for half := range m.width / 32 {
			m.VMOVDQU(v, m.place(m.values, chunk, half))
		}
	}
}

// within says of each lane whether its word is in the memory.
func (m *access) within(offsets vector) vector {
	return m.y(m.VPCMPEQD, offsets, m.y(m.VPMINUD, m.limits, offsets))
}

// unlessStrided jumps if the offsets are not at a distance in bytes from each other: words in structures. What is
// loaded is whole structures.
func (m *access) unlessStrided(stride int, to string) {
	m.MOVL(m.place(m.offsets, 0, 0), m.offset.(reg.GPVirtual).As32())
	var steps [8]uint32
	for lane := range steps {
		steps[lane] = uint32(lane * stride)
	}
	from := m.y(m.VPBROADCASTD, m.place(m.offsets, 0, 0))
	m.unlessAll(m.y(m.VPCMPEQD, m.place(m.offsets, 0, 0), m.y(m.VPADDD, m.list(steps), from)), to)
}

// pick loads a word from each of eight structures of 8 or 16 bytes.
func (m *access) pick(stride int) {
	part := func(i int) operand.Mem { return m.word(8 * i) }
	var v vector
	if stride == 8 {
		v = m.pack(m.y(m.VMOVDQU, part(0)), part(1), lowWords)
	} else {
		first := m.y(m.VUNPCKLPS, part(1), m.y(m.VMOVDQU, part(0)))
		second := m.y(m.VUNPCKLPS, part(3), m.y(m.VMOVDQU, part(2)))
		even := m.y(m.VUNPCKLPD, second, first) // lanes 0, 2, 4, 6, and then the odd ones
		v = m.y(m.VPERMD, even, m.y(m.VMOVDQU, m.list([8]uint32{0, 4, 1, 5, 2, 6, 3, 7})))
	}
	m.VMOVDQU(v, m.place(m.values, 0, 0))
}

// gather loads half a chunk: 0 where the offset is out of range or the mask is not set.
func (m *access) gather(half int, mask reg.Register) vector {
	offsets := m.YMM()
	if m.width == 64 {
		place := m.place(m.offsets, 0, 0)
		place.Disp += 16 * half
		m.VMOVDQU(place, offsets.AsX())
	} else {
		m.VMOVDQU(m.place(m.offsets, 0, 0), offsets)
	}
	in := m.within(offsets)
	if m.width == 64 {
		in = m.y(m.VPMOVSXDQ, in.AsX())
	}
	if mask != nil {
		in = m.y(m.VPAND, mask, in)
	}
	index := m.y(m.VPXOR, m.words(1<<31), offsets)
	v := m.zero()
	if m.width == 64 {
		m.VPGATHERDQ(in, operand.Mem{Base: m.far, Index: index.AsX(), Scale: 1}, v)
	} else {
		m.VPGATHERDD(in, operand.Mem{Base: m.far, Index: index, Scale: 1}, v)
	}
	return v
}

// lanes loads or stores lane after lane, with a check of each if some may be out of range.
func (m *access) lanes(masked, checked bool) {
	for lane := range 8 {
		next := m.label("lane")
		if masked {
			place := m.place(m.mask, 0, 0)
			place.Disp = 4 * lane
			m.CMPL(place, operand.U8(0))
			m.JE(operand.LabelRef(next))
		}
		place := m.place(m.offsets, 0, 0)
		place.Disp = 4 * lane
		m.MOVL(place, m.offset.(reg.GPVirtual).As32())
		place = m.place(m.values, 0, 0)
		place.Disp = m.width / 8 * lane
		out := m.label("out")
		if checked {
			if m.store {
				out = next
			} else {
				m.XORL(m.scratch.(reg.GPVirtual).As32(), m.scratch.(reg.GPVirtual).As32())
			}
			m.CMPQ(m.offset, m.limit)
			m.JHI(operand.LabelRef(out))
		}
		if m.store {
			m.loadValue(place, m.scratch)
			m.storeWord(m.scratch)
		} else {
			m.loadWord(m.scratch)
			m.Label(out)
			m.MOVL(m.scratch.(reg.GPVirtual).As32(), place)
		}
		m.Label(next)
	}
}

// loadWord loads a small word, zero-extended.
func (m *access) loadWord(to reg.Register) {
	if m.size == 1 {
		m.MOVBLZX(m.word(0), to.(reg.GPVirtual).As32())
	} else {
		m.MOVWLZX(m.word(0), to.(reg.GPVirtual).As32())
	}
}

// loadValue loads a lane of the values.
func (m *access) loadValue(from operand.Mem, to reg.Register) {
	if m.width == 64 {
		m.MOVQ(from, to)
	} else {
		m.MOVL(from, to.(reg.GPVirtual).As32())
	}
}

func (m *access) storeWord(from reg.Register) {
	r := from.(reg.GPVirtual)
	switch m.size {
	case 1:
		m.MOVB(r.As8(), m.word(0))
	case 2:
		m.MOVW(r.As16(), m.word(0))
	case 4:
		m.MOVL(r.As32(), m.word(0))
	case 8:
		m.MOVQ(r, m.word(0))
	}
}

// maskedChunk writes what is done to a chunk of which not all lanes take part.
func (m *access) maskedChunk() {
	slow, done := m.label("slow"), m.label("done")
	mask := m.y(m.VMOVDQU, m.place(m.mask, 0, 0))
	m.VPTEST(mask, mask)
	m.JZ(operand.LabelRef(done))
	if !m.gathers() && m.size < 4 {
		m.lanes(true, true)
		m.Label(done)
		return
	}
	halves := []vector{mask}
	if m.width == 64 {
		halves = []vector{m.y(m.VPMOVSXDQ, m.place(m.mask, 0, 0)), nil}
		upper := m.place(m.mask, 0, 0)
		upper.Disp += 16
		halves[1] = m.y(m.VPMOVSXDQ, upper)
	}
	m.unlessConsecutive(1, slow)
	m.inRange(8, slow)
	for half, mask := range halves {
		v := m.YMM()
		switch {
		case m.store && m.size == 8:
			m.VMOVDQU(m.place(m.values, 0, half), v)
			m.VPMASKMOVQ(v, mask, m.word(4*half))
		case m.store:
			m.VMOVDQU(m.place(m.values, 0, half), v)
			m.VPMASKMOVD(v, mask, m.word(0))
		default:
			m.VMOVDQU(m.blend(mask, m.word(4*half), m.y(m.VMOVDQU, m.place(m.values, 0, half))), m.place(m.values, 0, half))
		}
	}
	m.JMP(operand.LabelRef(done))
	m.Label(slow)
	if m.store {
		m.lanes(true, true)
	} else {
		for half, mask := range halves {
			v := m.gather(half, mask)
			m.VMOVDQU(m.blend(mask, v, m.y(m.VMOVDQU, m.place(m.values, 0, half))), m.place(m.values, 0, half))
		}
	}
	m.Label(done)
}

// nothing writes the loads from a memory in which there is no word.
func (m *access) nothing(args reg.Register, open func(int) stream) {
	masked, done := m.label("masked"), m.label("done")
	m.MOVQ(operand.Mem{Base: args, Disp: argsMask}, m.scratch)
	m.TESTQ(m.scratch, m.scratch)
	m.JNE(operand.LabelRef(masked))
	mask := m.mask
	m.mask = stream{}
	zero := m.zero()
	m.each(func() {
		for half := range m.width / 32 {
			m.VMOVDQU(zero, m.place(m.values, 0, half))
		}
	})
	m.JMP(operand.LabelRef(done))
	m.Label(masked)
	m.mask = open(argsMask)
	m.each(func() {
		for half := range m.width / 32 {
			set := m.y(m.VMOVDQU, m.place(m.mask, 0, 0))
			if m.width == 64 {
				place := m.place(m.mask, 0, 0)
				place.Disp += 16 * half
				set = m.y(m.VPMOVSXDQ, place)
			}
			m.VMOVDQU(m.y(m.VPANDN, m.place(m.values, 0, half), set), m.place(m.values, 0, half))
		}
	})
	m.mask = mask
	m.Label(done)
}
