package main

import "strconv"

// General registers of the kernels of private memory, beside those of memory.
const (
	regElements = regLimit // of the array
	regDistance = 20       // of two registers of the array, bytes
	regChunk    = 21       // of two chunks of one
)

// private writes the kernels of arrays of registers, in which each lane has an element of its own. They look whether
// the lanes of a chunk access the same register.
func (g *generator) private() {
	for _, store := range []bool{false, true} {
		for _, bits := range []int{32, 64} {
			op := "LoadPrivate" + strconv.Itoa(bits)
			if store {
				op = "StorePrivate" + strconv.Itoa(bits)
			}
			g.begin(op, "(a *Args, first, n int)", 24)
			g.kernels = append(g.kernels, op)
			(&memory{generator: g, size: bits / 8, bits: bits, keys: 32, store: store}).writePrivate()
		}
	}
}

func (m *memory) writePrivate() {
	m.parameters()
	m.open(argsA, regKeys)
	if m.store {
		m.open(argsB, regValues)
	} else {
		m.open(argsDst, regValues)
	}
	m.text("MOVD %d(R%d), R%d", argsMemory, regArgs, regScratch)
	m.text("MOVD 0(R%d), R%d", regScratch, regBase)
	m.text("MOVD 8(R%d), R%d", regScratch, regDistance)
	m.text("MOVD %d(R%d), R%d", argsImmediate, regArgs, regElements)
	m.text("CMP $1, R%d", regElements)
	m.text("CSINC HI, R%d, ZR, R%d", regElements, regScratch)
	m.text("UDIV R%d, R%d, R%[2]d", regScratch, regDistance)
	// The registers of one chunk are those of uniform values.
	m.text("MOVD $%d, R%d", m.bits, regScratch)
	m.text("CMP R%d, R%d", regScratch, regDistance)
	m.text("CSEL EQ, ZR, R%d, R%d", regScratch, regChunk)
	m.text("MUL R%d, R%d, R%d", regFirst, regChunk, regScratch)
	m.text("ADD R%d, R%d", regScratch, regBase)
	masked := m.named("masked")
	m.text("MOVD %d(R%d), R%d", argsMask, regArgs, regScratch)
	m.text("CBNZ R%d, %s", regScratch, masked)
	m.each(m.privateChunk)
	m.text("RET")
	m.label(masked)
	m.masked = true
	m.open(argsMask, regMask)
	m.each(m.privateChunk)
	m.text("RET")
}

func (m *memory) privateChunk(string) {
	lanes, end := m.named("lanes"), m.named("end")
	if m.store && m.masked {
		m.unlessAll(m.and(m.part(regMask, 0), m.part(regMask, 1)), lanes)
	}
	m.compare(0, lanes)
	m.element(0, lanes)
	if m.store {
		m.putWords()
	} else {
		m.result(m.fetch())
	}
	m.text("JMP %s", end)
	m.label(lanes)
	for lane := range 8 {
		m.privateLane(lane)
	}
	m.label(end)
	m.text("ADD R%d, R%d", regChunk, regBase)
}

// element leaves the address of the chunk of the register that a lane has the index of.
func (m *memory) element(lane int, otherwise string) {
	m.offset(lane)
	m.text("CMP R%d, R%d", regElements, regOffset)
	m.text("BHS %s", otherwise)
	m.text("MUL R%d, R%d", regDistance, regOffset)
	m.text("ADD R%d, R%d, R%d", regBase, regOffset, regPlace)
}

func (m *memory) privateLane(lane int) {
	next, move, at := m.named("lane"), loads[m.size], m.size*lane
	if m.masked {
		m.text("MOVWU %d(R%d), R%d", 4*lane, regMask, regScratch)
		m.text("CBZ R%d, %s", regScratch, next)
	}
	if m.store {
		m.element(lane, next)
		m.text("%s %d(R%d), R%d", move, at, regValues, regScratch)
		m.text("%s R%d, %d(R%d)", stores[m.size], regScratch, at, regPlace)
		m.label(next)
		return
	}
	out := m.named("out")
	m.text("MOVD ZR, R%d", regScratch)
	m.element(lane, out)
	m.text("%s %d(R%d), R%d", move, at, regPlace, regScratch)
	m.label(out)
	m.text("%s R%d, %d(R%d)", stores[m.size], regScratch, at, regValues)
	m.label(next)
}
