package draw

import (
	"encoding/binary"
	"math"
	"math/bits"

	"farside/internal/vk"
)

// depthKind is how depths are stored.
type depthKind uint8

const (
	depthNone  depthKind = iota
	depth16              // unorm in 16 bits
	depth24              // unorm in the low 24 of 32 bits
	depthFloat           // 32 bits
)

// fragmentTests are the tests of depth and stencil, and the writes that belong to them.
type fragmentTests struct {
	kind          depthKind
	bits          uint
	scale         float64
	bounds        bool
	low, high     float64 // of the bounds
	depth, write  bool
	compare       vk.CompareOp
	stencil       bool
	faces         [2]vk.StencilOpState // front, back
	clamp         bool
	ranged        bool       // clamping is to limit
	limit         [2]float64 // low, high
	some          bool       // there is something to test
	simple        bool       // there is nothing but depth, of one sample
	writesStencil bool
	rows          depthPlan // of tests on vectors
}

// prepare takes in the state. Tests without an attachment pass and write nothing.
func (t *fragmentTests) prepare(r *run) {
	s := r.state
	*t = fragmentTests{clamp: s.DepthClamp, ranged: s.DepthClamp && s.ClampRange,
		limit: [2]float64{float64(s.ClampMin), float64(s.ClampMax)}}
	if r.depth.present() {
		t.bounds, t.low, t.high = s.DepthBounds, float64(s.MinDepth), float64(s.MaxDepth)
		t.depth, t.write, t.compare = s.DepthTest, s.DepthTest && s.DepthWrite, s.DepthCompare
		switch channel := r.depth.codec.Channels()[0]; {
		case channel.Kind == vk.NumericSFLOAT:
			t.kind = depthFloat
		case channel.Bits == 16:
			t.kind, t.bits, t.scale = depth16, 16, 1<<16-1
		default:
			t.kind, t.bits, t.scale = depth24, 24, 1<<24-1
		}
	}
	if r.stencil.present() && s.StencilTest {
		t.stencil = true
		t.faces = [2]vk.StencilOpState{s.Front, s.Back}
		for i := range t.faces {
			f := &t.faces[i]
			keeps := f.FailOp == vk.STENCIL_OP_KEEP && f.PassOp == vk.STENCIL_OP_KEEP && f.DepthFailOp == vk.STENCIL_OP_KEEP
			t.writesStencil = t.writesStencil || !keeps && f.WriteMask&0xff != 0
		}
	}
	t.some = t.bounds || t.depth || t.stencil
	t.simple = t.depth && !t.bounds && !t.stencil && r.raster.samples == 1 && r.depth.samples == 1
}

// overrides are what a fragment shader has said of depth and stencil.
type overrides struct {
	depth, stencil     bool
	depthValue         float64
	stencilReferenceOf uint32
}

// run tests the samples of a pixel, and writes depth and stencil. It gives those that pass.
func (t *fragmentTests) run(r *run, p *prim, x, y int32, cover uint16, o *overrides) uint16 {
	var depth, stencil []byte
	size := 0
	if r.depth.present() {
		s := &r.depth
		size = s.size
		depth = s.bytes[s.at(x, y, p.layer):][:size*s.samples]
	}
	if t.stencil {
		s := &r.stencil
		stencil = s.bytes[s.at(x, y, p.layer):][:s.samples]
	}
	face := &t.faces[0]
	if p.back {
		face = &t.faces[1]
	}
	reference := uint8(face.Reference)
	if o != nil && o.stencil {
		reference = uint8(o.stencilReferenceOf)
	}
	for left := cover; left != 0; left &= left - 1 {
		i := bits.TrailingZeros16(left)
		var stored []byte
		if size > 0 {
			if (i+1)*size > len(depth) {
				cover &^= 1 << i
				continue
			}
			stored = depth[i*size:][:size]
		}
		if t.bounds {
			if z := t.stored(stored); z < t.low || z > t.high {
				cover &^= 1 << i
				continue
			}
		}
		value := uint8(0)
		if t.stencil {
			if i >= len(stencil) {
				cover &^= 1 << i
				continue
			}
			value = stencil[i]
			mask := uint8(face.CompareMask)
			if !compare(face.CompareOp, reference&mask, value&mask) {
				stencil[i] = stencilWrite(face.FailOp, value, reference, uint8(face.WriteMask))
				cover &^= 1 << i
				continue
			}
		}
		op := face.PassOp
		if t.depth && !t.testDepth(r, p, x, y, i, stored, o) {
			op = face.DepthFailOp
			cover &^= 1 << i
		}
		if t.stencil {
			stencil[i] = stencilWrite(op, value, reference, uint8(face.WriteMask))
		}
	}
	return cover
}

// stored is the depth of a sample in the attachment.
func (t *fragmentTests) stored(at []byte) float64 {
	switch t.kind {
	case depth16:
		return float64(binary.LittleEndian.Uint16(at)) / t.scale
	case depth24:
		return float64(binary.LittleEndian.Uint32(at)&0xffffff) / t.scale
	}
	return float64(math.Float32frombits(binary.LittleEndian.Uint32(at)))
}

// limits are the depths that a primitive's fragments may have (chapter "Depth Clamping and Range Adjustment"). A
// viewport may leave 0..1 only with depthRangeUnrestricted.
func (t *fragmentTests) limits(p *prim) (low, high float64) {
	switch low, high = p.low, p.high; {
	case t.ranged:
		low, high = t.limit[0], t.limit[1]
	case !t.clamp:
		low, high = min(low, 0), max(high, 1)
	}
	if t.kind != depthFloat {
		low, high = max(low, 0), min(high, 1)
	}
	return low, high
}

// testDepth compares the depth of a fragment at one of its samples with what is stored, and writes it.
func (t *fragmentTests) testDepth(r *run, p *prim, x, y int32, sample int, stored []byte, o *overrides) bool {
	low, high := t.limits(p)
	if o != nil && o.depth {
		return t.compareDepth(within(o.depthValue, low, high), stored)
	}
	at := &r.raster.positions[sample]
	return t.compareDepth(within(p.depthAt(x, y, at[0], at[1]), low, high), stored)
}

// runQuad is run for a quad where nothing but depth is tested, of one sample.
func (t *fragmentTests) runQuad(r *run, p *prim, x, y int32, cover *[4]uint16) {
	s := &r.depth
	low, high := t.limits(p)
	first := s.at(x, y, p.layer)
	for i := range cover {
		if cover[i] == 0 {
			continue
		}
		z := p.depthAt(x+int32(i&1), y+int32(i>>1), subpixels/2, subpixels/2)
		if !t.compareDepth(within(z, low, high), s.bytes[first+i>>1*s.rowPitch+i&1*s.size:][:s.size]) {
			cover[i] = 0
		}
	}
}

// depthAt is the depth of a primitive in a pixel, at a place in 1/256 pixels.
func (p *prim) depthAt(x, y int32, sx, sy int64) float64 {
	dx := float64(x) + float64(sx)/subpixels - p.x0
	dy := float64(y) + float64(sy)/subpixels - p.y0
	return p.z.c + float64(p.z.x*dx) + float64(p.z.y*dy)
}

// within clamps; NaN stays.
func within(z, low, high float64) float64 {
	switch {
	case z < low:
		return low
	case z > high:
		return high
	}
	return z
}

// compareDepth compares with what is stored, and writes.
func (t *fragmentTests) compareDepth(z float64, stored []byte) bool {
	if t.kind == depthFloat {
		f := float32(z)
		pass := compare(t.compare, f, math.Float32frombits(binary.LittleEndian.Uint32(stored)))
		if pass && t.write {
			binary.LittleEndian.PutUint32(stored, math.Float32bits(f))
		}
		return pass
	}
	raw := uint32(0)
	if z > 0 { // not NaN
		raw = uint32(float64(z*t.scale) + 0.5)
	}
	if t.kind == depth16 {
		pass := compare(t.compare, raw, uint32(binary.LittleEndian.Uint16(stored)))
		if pass && t.write {
			binary.LittleEndian.PutUint16(stored, uint16(raw))
		}
		return pass
	}
	pass := compare(t.compare, raw, binary.LittleEndian.Uint32(stored)&0xffffff)
	if pass && t.write {
		binary.LittleEndian.PutUint32(stored, raw)
	}
	return pass
}

// compare is VkCompareOp.
func compare[T uint8 | uint32 | float32](op vk.CompareOp, a, b T) bool {
	switch op {
	case vk.COMPARE_OP_NEVER:
		return false
	case vk.COMPARE_OP_LESS:
		return a < b
	case vk.COMPARE_OP_EQUAL:
		return a == b
	case vk.COMPARE_OP_LESS_OR_EQUAL:
		return a <= b
	case vk.COMPARE_OP_GREATER:
		return a > b
	case vk.COMPARE_OP_NOT_EQUAL:
		return a != b
	case vk.COMPARE_OP_GREATER_OR_EQUAL:
		return a >= b
	}
	return true
}

// stencilWrite is VkStencilOp: what is stored afterwards.
func stencilWrite(op vk.StencilOp, value, reference, mask uint8) uint8 {
	made := value
	switch op {
	case vk.STENCIL_OP_ZERO:
		made = 0
	case vk.STENCIL_OP_REPLACE:
		made = reference
	case vk.STENCIL_OP_INCREMENT_AND_CLAMP:
		if made < 255 {
			made++
		}
	case vk.STENCIL_OP_DECREMENT_AND_CLAMP:
		if made > 0 {
			made--
		}
	case vk.STENCIL_OP_INVERT:
		made = ^made
	case vk.STENCIL_OP_INCREMENT_AND_WRAP:
		made++
	case vk.STENCIL_OP_DECREMENT_AND_WRAP:
		made--
	}
	return value&^mask | made&mask
}
