package texel

import (
	"encoding/binary"
	"math/bits"
)

// ASTC in two dimensions, after the Khronos Data Format Specification, chapter "ASTC Compressed Texture Image Formats".
// Numbers are those of its text: colours are decoded in the operation modes linear LDR (to 16-bit floats), sRGB (to
// bytes) and HDR (to 16-bit floats).

type astcMode uint8

const (
	astcLinear astcMode = iota
	astcSRGB
	astcHDR
)

func decodeASTC(b *Blocks, dst, block []byte)     { decodeASTCBlock(b, dst, block, astcLinear) }
func decodeASTCSRGB(b *Blocks, dst, block []byte) { decodeASTCBlock(b, dst, block, astcSRGB) }
func decodeASTCHDR(b *Blocks, dst, block []byte)  { decodeASTCBlock(b, dst, block, astcHDR) }

// astcBlock is a block on its way: what its configuration says, and what is read by that.
type astcBlock struct {
	mode          astcMode
	width, height int // texels

	gridWidth, gridHeight int
	weightRange           astcRange
	planes                int
	second                int // the channel that the second plane is for, -1 without one

	partitions int
	seed       int
	endModes   [4]uint8
	colorStart uint
	colorRange astcRange
	colors     int // numbers that make the ends

	ends    [4]astcEnds
	weights [2][astcMostWeights + 16]uint8 // by plane; filters read beyond the grid, and weigh that 0
}

const (
	astcMostWeights = 64
	astcMostColors  = 18
)

func decodeASTCBlock(b *Blocks, dst, block []byte, mode astcMode) {
	w := newWord128(block)
	a := astcBlock{mode: mode, width: int(b.width), height: int(b.height)}
	if w.bits(0, 9) == 0x1fc {
		a.voidExtent(dst, w)
		return
	}
	if !a.configure(w) {
		a.fill(dst, astcError(mode))
		return
	}
	a.readEnds(w)
	a.readWeights(w)
	a.paint(dst)
}

// astcTexel is a texel as it is written: bytes or 16-bit floats, red lowest.
type astcTexel uint64

// astcError is opaque magenta.
func astcError(mode astcMode) astcTexel {
	if mode == astcSRGB {
		return 0xff_ff_00_ff
	}
	return 0x3c00_3c00_0000_3c00
}

func (a *astcBlock) put(dst []byte, i int, t astcTexel) {
	if a.mode == astcSRGB {
		binary.LittleEndian.PutUint32(dst[i*4:], uint32(t))
	} else {
		binary.LittleEndian.PutUint64(dst[i*8:], uint64(t))
	}
}

func (a *astcBlock) fill(dst []byte, t astcTexel) {
	for i := range a.width * a.height {
		a.put(dst, i, t)
	}
}

// unorm makes a channel of a 16-bit number.
func (a *astcBlock) unorm(v, channel int) astcTexel {
	if a.mode == astcSRGB {
		return astcTexel(v >> 8 << (8 * channel))
	}
	return astcTexel(astcHalf(v)) << (16 * channel)
}

// astcHalf is a number in 65536ths as a 16-bit float, rounded towards zero; the last one is 1.
func astcHalf(v int) uint16 {
	n := bits.Len16(uint16(v))
	switch {
	case v == 0xffff:
		return 0x3c00
	case n < 3: // denormal
		return uint16(v << 8)
	case n <= 11:
		return uint16(v<<(11-n)&0x3ff | (n-2)<<10)
	}
	return uint16(v>>(n-11)&0x3ff | (n-2)<<10)
}

// voidExtent fills a block of one colour.
func (a *astcBlock) voidExtent(dst []byte, w word128) {
	const all = 0x1fff
	t := astcError(a.mode)
	lowS, highS, lowT, highT := w.bits(12, 13), w.bits(25, 13), w.bits(38, 13), w.bits(51, 13)
	extent := lowS < highS && lowT < highT || lowS&highS&lowT&highT == all
	hdr := w.bits(9, 1) != 0
	switch {
	case !extent || w.bits(10, 2) != 3 || hdr && a.mode != astcHDR:
	case hdr:
		t = astcTexel(w.high)
	default:
		t = 0
		for channel := range 4 {
			t |= a.unorm(w.bits(64+16*uint(channel), 16), channel)
		}
	}
	a.fill(dst, t)
}

// configure reads all that isn't a weight or a colour. It fails for what is no legal block.
func (a *astcBlock) configure(w word128) bool {
	if !a.blockMode(w.bits(0, 11)) || a.gridWidth > a.width || a.gridHeight > a.height {
		return false
	}
	weights := a.gridWidth * a.gridHeight * a.planes
	weightBits := a.weightRange.size(weights)
	if weights > astcMostWeights || weightBits < 24 || weightBits > 96 {
		return false
	}
	a.partitions = w.bits(11, 2) + 1
	if a.planes == 2 && a.partitions == 4 {
		return false
	}
	end := 128 - uint(weightBits) // of what is left for colours
	end = a.readEndModes(w, end)
	a.second = -1
	if a.planes == 2 {
		end -= 2
		a.second = w.bits(end, 2)
	}
	for _, mode := range a.endModes[:a.partitions] {
		a.colors += int(mode>>2+1) * 2
	}
	left := int(end) - int(a.colorStart)
	if a.colors > astcMostColors || left < (13*a.colors+4)/5 {
		return false
	}
	for _, r := range astcColorRanges {
		if r.size(a.colors) <= left {
			a.colorRange = r
			return true
		}
	}
	return false
}

// blockMode reads the size of the grid and the range of its weights.
func (a *astcBlock) blockMode(m int) bool {
	field := func(at, n int) int { return m >> at & (1<<n - 1) }
	precise, planes, number := field(9, 1), 1+field(10, 1), field(4, 1)
	if m&3 != 0 {
		number |= field(0, 2) << 1
		low, high := field(5, 2), field(7, 2)
		switch field(2, 2) {
		case 0:
			a.gridWidth, a.gridHeight = high+4, low+2
		case 1:
			a.gridWidth, a.gridHeight = high+8, low+2
		case 2:
			a.gridWidth, a.gridHeight = low+2, high+8
		case 3:
			if high < 2 {
				a.gridWidth, a.gridHeight = low+2, high+6
			} else {
				a.gridWidth, a.gridHeight = high&1+2, low+2
			}
		}
	} else {
		number |= field(2, 2) << 1
		low := field(5, 2)
		switch field(7, 2) {
		case 0:
			a.gridWidth, a.gridHeight = 12, low+2
		case 1:
			a.gridWidth, a.gridHeight = low+2, 12
		case 2:
			a.gridWidth, a.gridHeight = low+6, field(9, 2)+6
			precise, planes = 0, 1
		case 3:
			switch low {
			case 0:
				a.gridWidth, a.gridHeight = 6, 10
			case 1:
				a.gridWidth, a.gridHeight = 10, 6
			default:
				return false // reserved
			}
		}
	}
	if number < 2 {
		return false // reserved
	}
	a.planes, a.weightRange = planes, astcWeightRanges[precise*6+number-2]
	return true
}

// readEndModes reads how the ends of each partition are made, and where colours begin. Some bits of that lie directly
// below end; it returns where they begin.
func (a *astcBlock) readEndModes(w word128, end uint) uint {
	if a.partitions == 1 {
		a.endModes[0], a.colorStart = uint8(w.bits(13, 4)), 17
		return end
	}
	a.seed, a.colorStart = w.bits(13, 10), 29
	class := w.bits(23, 2)
	if class == 0 {
		for i := range a.partitions {
			a.endModes[i] = uint8(w.bits(25, 4))
		}
		return end
	}
	// A bit for each partition that chooses one of two classes, then two bits for each: four of them here, the others
	// below end.
	more := uint(3*a.partitions - 4)
	end -= more
	choices := w.bits(25, 4) | w.bits(end, more)<<4
	for i := range a.partitions {
		a.endModes[i] = uint8((class-1+choices>>i&1)<<2 | choices>>(a.partitions+2*i)&3)
	}
	return end
}

func (a *astcBlock) readEnds(w word128) {
	var values [astcMostColors + 4]uint8 // the last group is read as a whole
	stream := w.from(a.colorStart).first(uint(a.colorRange.size(a.colors)))
	a.colorRange.read(values[:], stream, a.colors)
	for i := range values[:a.colors] {
		values[i] = a.colorRange.color(values[i])
	}
	next := values[:]
	for i, mode := range a.endModes[:a.partitions] {
		a.ends[i].read(mode, next)
		next = next[int(mode>>2+1)*2:]
	}
}

func (a *astcBlock) readWeights(w word128) {
	var values [astcMostWeights + 4]uint8
	n := a.gridWidth * a.gridHeight
	stream := word128{bits.Reverse64(w.high), bits.Reverse64(w.low)}.first(uint(a.weightRange.size(n * a.planes)))
	a.weightRange.read(values[:], stream, n*a.planes)
	if a.planes == 1 {
		for i := range n {
			a.weights[0][i] = a.weightRange.weight(values[i])
		}
		return
	}
	for i := range n {
		a.weights[0][i] = a.weightRange.weight(values[2*i])
		a.weights[1][i] = a.weightRange.weight(values[2*i+1])
	}
}

// paint interpolates between the ends.
func (a *astcBlock) paint(dst []byte) {
	p := newASTCPattern(a.seed, a.partitions, a.width*a.height < 31)
	scaleX, scaleY := (1024+a.width/2)/(a.width-1), (1024+a.height/2)/(a.height-1)
	for y := range a.height {
		gridY := (scaleY*y*(a.gridHeight-1) + 32) >> 6
		for x := range a.width {
			gridX := (scaleX*x*(a.gridWidth-1) + 32) >> 6
			at := gridX>>4 + gridY>>4*a.gridWidth
			fracX, fracY := gridX&15, gridY&15
			var weights [2]int
			for plane := range a.planes {
				g := a.weights[plane][at:][:a.gridWidth+2]
				w11 := (fracX*fracY + 8) >> 4
				w10, w01, w00 := fracY-w11, fracX-w11, 16-fracX-fracY+w11
				weights[plane] = (int(g[0])*w00 + int(g[1])*w01 + int(g[a.gridWidth])*w10 + int(g[a.gridWidth+1])*w11 + 8) >> 4
			}
			a.put(dst, y*a.width+x, a.texel(&a.ends[p.partition(x, y)], &weights))
		}
	}
}

// texel mixes two ends by the weight of each plane.
func (a *astcBlock) texel(e *astcEnds, weights *[2]int) (t astcTexel) {
	if e.log != 0 && a.mode != astcHDR {
		return astcError(a.mode)
	}
	for channel := range 4 {
		weight := weights[0]
		if channel == a.second {
			weight = weights[1]
		}
		low, high := e.low[channel], e.high[channel]
		mix := func(low, high int) int { return (low*(64-weight) + high*weight + 32) >> 6 }
		switch {
		case e.log>>channel&1 != 0:
			t |= astcTexel(astcLogarithmic(mix(low<<4, high<<4))) << (16 * channel)
		case a.mode == astcSRGB:
			t |= a.unorm(mix(low<<8|0x80, high<<8|0x80), channel)
		default:
			t |= a.unorm(mix(low<<8|low, high<<8|high), channel)
		}
	}
	return t
}

// astcLogarithmic makes a 16-bit float of a number in the representation of HDR ends; not infinity.
func astcLogarithmic(v int) uint16 {
	e, m := v>>11, v&0x7ff
	switch {
	case m < 512:
		m *= 3
	case m >= 1536:
		m = 5*m - 2048
	default:
		m = 4*m - 512
	}
	return uint16(min(e<<10+m>>3, 0x7bff))
}

// from is what begins at bit at, below 64.
func (w word128) from(at uint) word128 {
	return word128{w.low>>at | w.high<<(64-at), w.high >> at}
}

// first is the first n bits; the others are 0.
func (w word128) first(n uint) word128 {
	if n < 64 {
		return word128{w.low & (1<<n - 1), 0}
	}
	return word128{w.low, w.high & (1<<(n-64) - 1)}
}

// astcPattern gives texels their partition, by a hash of the pattern's number.
type astcPattern struct {
	shift  uint // of coordinates, in small blocks
	counts [4][3]int
	n      int
}

func newASTCPattern(seed, partitions int, small bool) (p astcPattern) {
	p.n = partitions
	if partitions == 1 {
		return p
	}
	if small {
		p.shift = 1
	}
	seed += (partitions - 1) * 1024
	hash := astcHash(uint32(seed))
	first, second := uint(5), uint(5)
	if seed&2 != 0 {
		first = 4
	}
	if partitions == 3 {
		second = 6
	}
	if seed&1 == 0 {
		first, second = second, first
	}
	for i := range p.counts {
		square := func(at uint, shift uint) int {
			n := int(hash >> at & 15)
			return n * n >> shift
		}
		p.counts[i] = [3]int{square(uint(i)*8, first), square(uint(i)*8+4, second), int(hash >> (14 - 4*i))}
	}
	return p
}

func astcHash(p uint32) uint32 {
	p ^= p >> 15
	p -= p << 17
	p += p << 7
	p += p << 4
	p ^= p >> 5
	p += p << 16
	p ^= p >> 7
	p ^= p >> 3
	p ^= p << 6
	p ^= p >> 17
	return p
}

func (p *astcPattern) partition(x, y int) (best int) {
	if p.n == 1 {
		return 0
	}
	most := -1
	for i := range p.n {
		c := &p.counts[i]
		if v := (c[0]*(x<<p.shift) + c[1]*(y<<p.shift) + c[2]) & 0x3f; v > most {
			best, most = i, v
		}
	}
	return best
}
