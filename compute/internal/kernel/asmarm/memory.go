package main

// General registers of the kernels of memory. Those of keys, values and mask are pairs of an address and a step.
const (
	regBase   = 3
	regKeys   = 4 // offsets, addresses or indices
	regValues = 6 // of stores B, of loads Dst
	regMask   = 8
	regLimit  = 10 // the largest offset at which there is a word
	regOffset = 11 // of the first lane, or of a lane
	regPlace  = 13 // an address, or what is moved
	regAdded  = 19 // to addresses
)

// memory is a kernel of memory while it is written.
type memory struct {
	*generator
	size  int // bytes in memory
	bits  int // of a lane of the values
	keys  int // bits of an offset or address
	store bool

	masked bool // in the loop for where there is a mask
}

// memories writes the kernels of loads and stores, by offsets of 32 bits and by addresses. They look at chunk after
// chunk whether the offsets follow each other, or are all the same; else they access lane after lane.
func (g *generator) memories() {
	for _, kind := range []struct {
		name       string
		size, bits int
		store      bool
	}{
		{"U8", 1, 32, false}, {"U16", 2, 32, false}, {"32", 4, 32, false}, {"64", 8, 64, false},
		{"8", 1, 32, true}, {"16", 2, 32, true}, {"32", 4, 32, true}, {"64", 8, 64, true},
	} {
		for i, infix := range []string{"", "Physical"} {
			op := "Load" + infix + kind.name
			if kind.store {
				op = "Store" + infix + kind.name
			}
			g.begin(op, "(a *Args, first, n int)", 24)
			g.kernels = append(g.kernels, op)
			(&memory{generator: g, size: kind.size, bits: kind.bits, keys: 32 << i, store: kind.store}).write()
		}
	}
}

func (m *memory) write() {
	nothing, masked := m.named("nothing"), m.named("masked")
	m.parameters()
	m.open(argsA, regKeys)
	if m.store {
		m.open(argsB, regValues)
	} else {
		m.open(argsDst, regValues)
	}
	m.text("MOVD %d(R%d), R%d", argsMemory, regArgs, regScratch)
	m.text("MOVD 0(R%d), R%d", regScratch, regBase)
	m.text("MOVD 8(R%d), R%d", regScratch, regLimit)
	m.text("MOVD %d(R%d), R%d", argsImmediate, regArgs, regAdded)
	m.text("SUBS $%d, R%d, R%[2]d", m.size, regLimit)
	m.text("BLO %s", nothing)
	if m.keys == 32 {
		// The limit is no more than 2**32 - 1, as offsets are: what is behind such a one then doesn't begin anew at 0.
		m.text("SUBS R%d, R%d, R%[2]d", regAdded, regLimit)
		m.text("BLO %s", nothing)
		m.text("ADD R%d, R%d", regAdded, regBase)
		m.text("MOVD $0xffffffff, R%d", regScratch)
		m.text("CMP R%d, R%d", regScratch, regLimit)
		m.text("CSEL HI, R%d, R%d, R%[2]d", regScratch, regLimit)
	}
	m.text("MOVD %d(R%d), R%d", argsMask, regArgs, regScratch)
	m.text("CBNZ R%d, %s", regScratch, masked)
	m.each(m.chunk)
	m.text("RET")

	m.label(masked)
	m.masked = true
	m.open(argsMask, regMask)
	m.each(m.chunk)
	m.text("RET")

	m.label(nothing)
	if !m.store {
		m.nothing()
	}
	m.text("RET")
}

// each writes the loop over the chunks. A jump to next ends what is done to one.
func (m *memory) each(body func(next string)) {
	loop, next, done := m.named("loop"), m.named("next"), m.named("done")
	m.text("CBZ R%d, %s", regCount, done)
	m.label(loop)
	body(next)
	m.label(next)
	for _, r := range []int{regKeys, regValues, regMask} {
		if r != regMask || m.masked {
			m.text("ADD R%d, R%d", r+1, r)
		}
	}
	m.text("SUB $1, R%d", regCount)
	m.text("CBNZ R%d, %s", regCount, loop)
	m.label(done)
}

// chunk writes the access to a chunk.
func (m *memory) chunk(next string) {
	lanes, other := m.named("lanes"), m.named("other")
	if m.store && m.masked {
		m.unlessAll(m.and(m.part(regMask, 0), m.part(regMask, 1)), lanes)
	}
	m.offset(0)
	if m.store {
		other = lanes
	}
	m.compare(m.size, other)
	m.inRange(regOffset, lanes)
	m.text("ADD $%d, R%d, R%d", 7*m.size, regOffset, regScratch)
	m.inRange(regScratch, lanes)
	m.text("ADD R%d, R%d, R%d", regBase, regOffset, regPlace)
	if m.store {
		m.putWords()
	} else {
		m.result(m.fetch())
	}
	m.text("JMP %s", next)
	if !m.store {
		m.label(other)
		m.compare(0, lanes)
		m.inRange(regOffset, lanes)
		m.result(m.spread())
		m.text("JMP %s", next)
	}
	m.label(lanes)
	for lane := range 8 {
		m.lane(lane)
	}
}

// part loads 128 bits of a chunk.
func (m *memory) part(register, part int) vector {
	return m.do(access(false, "q", 16*part), x(register))
}

// unlessAll jumps if not all lanes of a mask are set.
func (m *memory) unlessAll(mask vector, to string) {
	m.emit(lane32, x(regScratch), m.v("uminv.4s", mask))
	m.text("CBZ R%d, %s", regScratch, to)
}

// offset loads the offset of a lane.
func (m *memory) offset(lane int) {
	if m.keys == 32 {
		m.text("MOVWU %d(R%d), R%d", 4*lane, regKeys, regOffset)
		return
	}
	m.text("MOVD %d(R%d), R%d", 8*lane, regKeys, regOffset)
	m.text("ADD R%d, R%d", regAdded, regOffset)
}

// compare jumps if the keys are not at a distance from each other.
func (m *memory) compare(distance int, otherwise string) {
	from := m.do(map[int]operation{32: spread32, 64: spread64}[m.keys], m.part(regKeys, 0))
	t := lanes(m.keys)
	var all vector
	for part := range m.keys / 16 {
		expected := from
		if distance > 0 {
			expected = m.v("add"+t, from, m.steps(part, distance))
		}
		equal := m.v("cmeq"+t, expected, m.part(regKeys, part))
		if part > 0 {
			equal = m.and(all, equal)
		}
		all = equal
	}
	m.unlessAll(all, otherwise)
}

// steps is the constant of the distances of the lanes of a part of the keys from the first one.
func (m *memory) steps(part, distance int) vector {
	if m.keys == 64 {
		return m.constant(uint64(2*part*distance), uint64((2*part+1)*distance))
	}
	pair := func(lane int) uint64 { return uint64((lane+1)*distance)<<32 | uint64(lane*distance) }
	return m.constant(pair(4*part), pair(4*part+2))
}

// inRange jumps if there is no word at an offset.
func (m *memory) inRange(offset int, otherwise string) {
	m.text("CMP R%d, R%d", regLimit, offset)
	m.text("BHI %s", otherwise)
}

// fetch loads words that lie behind each other, the parts of a chunk of values.
func (m *memory) fetch() (parts []vector) {
	switch m.size {
	case 1:
		words := m.do(extend("uxtl", 8, false), m.do(access(false, "d", 0), x(regPlace)))
		return []vector{m.do(extend("uxtl", 16, false), words), m.do(extend("uxtl", 16, true), words)}
	case 2:
		words := m.part(regPlace, 0)
		return []vector{m.do(extend("uxtl", 16, false), words), m.do(extend("uxtl", 16, true), words)}
	}
	for part := range m.bits / 16 {
		parts = append(parts, m.part(regPlace, part))
	}
	return parts
}

// spread loads one word for all lanes.
func (m *memory) spread() (parts []vector) {
	var v vector
	switch m.size {
	case 4, 8:
		m.text("ADD R%d, R%d, R%d", regBase, regOffset, regPlace)
		v = m.do(map[int]operation{4: repeat32, 8: repeat64}[m.size], x(regPlace))
	default:
		m.text("%s (R%d)(R%d), R%d", loads[m.size], regBase, regOffset, regPlace)
		v = m.do(broadcast32, x(regPlace))
	}
	for range m.bits / 16 {
		parts = append(parts, v)
	}
	return parts
}

// result stores the values of a chunk that was loaded, in the lanes that take part.
func (m *memory) result(parts []vector) {
	for part, v := range parts {
		if m.masked {
			v = m.choose(m.lanesOfMask(part), v, m.part(regValues, part))
		}
		m.emit(access(true, "q", 16*part), v, x(regValues))
	}
}

// lanesOfMask loads what of the mask belongs to a part of the values.
func (m *memory) lanesOfMask(part int) vector {
	if m.bits == 64 {
		return m.do(extend("sxtl", 32, false), m.do(access(false, "d", 8*part), x(regMask)))
	}
	return m.part(regMask, part)
}

// putWords stores a chunk of values behind each other.
func (m *memory) putWords() {
	if m.size < 4 {
		words := m.v("xtn2.4h", m.v("xtn.4h", m.part(regValues, 0)), m.part(regValues, 1))
		if m.size == 1 {
			m.emit(access(true, "d", 0), m.v("xtn.8b", words), x(regPlace))
		} else {
			m.emit(access(true, "q", 0), words, x(regPlace))
		}
		return
	}
	for part := range m.bits / 16 {
		m.emit(access(true, "q", 16*part), m.part(regValues, part), x(regPlace))
	}
}

// Mnemonics of loads and stores of so many bytes by Go's assembler.
var (
	loads  = map[int]string{1: "MOVBU", 2: "MOVHU", 4: "MOVWU", 8: "MOVD"}
	stores = map[int]string{1: "MOVB", 2: "MOVH", 4: "MOVW", 8: "MOVD"}
)

// lane writes the access of one lane.
func (m *memory) lane(lane int) {
	next, value := m.named("lane"), m.bits/8
	if m.masked {
		m.text("MOVWU %d(R%d), R%d", 4*lane, regMask, regScratch)
		m.text("CBZ R%d, %s", regScratch, next)
	}
	m.offset(lane)
	if m.store {
		m.inRange(regOffset, next)
		m.text("%s %d(R%d), R%d", loads[value], value*lane, regValues, regPlace)
		m.text("%s R%d, (R%d)(R%d)", stores[m.size], regPlace, regBase, regOffset)
		m.label(next)
		return
	}
	out := m.named("out")
	m.text("MOVD ZR, R%d", regPlace)
	m.inRange(regOffset, out)
	m.text("%s (R%d)(R%d), R%d", loads[m.size], regBase, regOffset, regPlace)
	m.label(out)
	m.text("%s R%d, %d(R%d)", stores[value], regPlace, value*lane, regValues)
	if m.masked {
		m.label(next)
	}
}

// nothing writes the loads from a memory in which there is no word.
func (m *memory) nothing() {
	masked := m.named("masked")
	m.text("MOVD %d(R%d), R%d", argsMask, regArgs, regScratch)
	m.text("CBNZ R%d, %s", regScratch, masked)
	var zeros []vector
	for range m.bits / 16 {
		zeros = append(zeros, m.zero())
	}
	m.masked = false
	m.each(func(string) { m.result(zeros) })
	m.text("RET")
	m.label(masked)
	m.masked = true
	m.open(argsMask, regMask)
	m.each(func(string) { m.result(zeros) })
}
