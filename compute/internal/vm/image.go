package vm

import (
	"math"
	"math/bits"

	"farside/compute/internal/kernel"
	"farside/compute/internal/program"
	"farside/internal/sampling"
	"farside/spirv"
)

// imageBinding is what an ImageOp of an execution works on where no lane chooses it: found once.
type imageBinding struct {
	found   bool
	spans   bool // it may be done in spans of lanes
	view    *sampling.View
	sampler *sampling.Sampler
	routine *sampling.Routine // of both and the instruction, from its first call on; nil if it does not sample
}

// routineOf returns the routine of the instruction that a lookup was read for.
func (b *imageBinding) routineOf(q *sampling.Lookup) *sampling.Routine {
	if b.routine == nil {
		b.routine = b.view.Routine(b.sampler, q)
	}
	return b.routine
}

// bound finds the view and the sampler of an instruction, for element numbers that the shader chooses or that it names.
func (w *worker) bound(op *program.ImageOp, image, sampler uint32) (*sampling.View, *sampling.Sampler) {
	var v *sampling.View
	var s *sampling.Sampler
	if op.Image.Resource >= 0 {
		r := &w.program.Resources[op.Image.Resource]
		v = w.run.Bindings.Image(r.Set, r.Binding, image)
	}
	if op.Sampler.Resource >= 0 {
		r := &w.program.Resources[op.Sampler.Resource]
		s = w.run.Bindings.Sampler(r.Set, r.Binding, sampler)
	}
	return v, s
}

// image does an instruction on an image in the active lanes; where the result is the same in all of them, in one.
func (w *worker) image(index int32) {
	op := &w.program.Images[index]
	if op.Uniform() {
		w.imageChunk(index, op, 0, 1)
		for _, r := range op.Dst {
			switch r.Size {
			case 64:
				w.setUniform(r, w.chunk64(r, 0)[0])
			case 32:
				w.setUniform(r, uint64(w.chunk32(r, 0)[0]))
			}
		}
		return
	}
	if w.imageSpans(index, op) {
		return
	}
	for chunk := w.active.first; chunk < w.active.end; chunk++ {
		if active := w.activeLanes(chunk); active != 0 {
			w.imageChunk(index, op, chunk, active)
		}
	}
}

// activeLanes is the lanes of a chunk that are active.
func (w *worker) activeLanes(chunk int) (active sampling.Mask) {
	if w.active.full() {
		return sampling.All
	}
	for lane, m := range w.activeMask(chunk) {
		active |= sampling.Mask(m&1) << lane
	}
	return active
}

// imageChunk does an instruction in lanes of a chunk, for one image after the other if lanes choose different ones.
func (w *worker) imageChunk(index int32, op *program.ImageOp, chunk int, active sampling.Mask) {
	if op.Image.Register.Size == 0 && op.Sampler.Register.Size == 0 {
		b := &w.images[index]
		if !b.found {
			b.view, b.sampler = w.bound(op, op.Image.Constant, op.Sampler.Constant)
			b.found = true
		}
		w.imageLanes(op, b, chunk, active)
		return
	}
	for active != 0 {
		first := bits.TrailingZeros8(uint8(active))
		image, sampler := w.elementOf(&op.Image, chunk, first), w.elementOf(&op.Sampler, chunk, first)
		var same sampling.Mask
		for lane := first; lane < kernel.Width; lane++ {
			if w.elementOf(&op.Image, chunk, lane) == image && w.elementOf(&op.Sampler, chunk, lane) == sampler {
				same |= 1 << lane
			}
		}
		var b imageBinding
		b.view, b.sampler = w.bound(op, image, sampler)
		w.imageLanes(op, &b, chunk, active&same)
		active &^= same
	}
}

// elementOf is the number of the element that a lane chooses.
func (w *worker) elementOf(e *program.Element, chunk, lane int) uint32 {
	if e.Register.Size == 0 {
		return e.Constant
	}
	return w.chunk32(e.Register, chunk)[lane]
}

// imageOperand is a chunk of a register of 32-bit values; of none zeros.
func (w *worker) imageOperand(r program.Register, chunk int) *sampling.Lanes {
	if r.Size == 0 {
		return &noLanes
	}
	return (*sampling.Lanes)(w.chunk32(r, chunk))
}

var noLanes sampling.Lanes

// imageLanes does an instruction on one image. All operands are read before the result is written, whose registers may
// be the operands'.
func (w *worker) imageLanes(op *program.ImageOp, b *imageBinding, chunk int, active sampling.Mask) {
	var result sampling.Texels
	v := b.view
	switch op.Op {
	case spirv.OpImageRead:
		at := w.imageCoordinates(op, chunk)
		v.Read(&result, &at, active)
	case spirv.OpImageFetch:
		at := w.imageCoordinates(op, chunk)
		for axis, r := range op.Offset {
			for lane, offset := range w.imageOperand(r, chunk) {
				at[axis][lane] += offset
			}
		}
		var lod, sample *sampling.Lanes
		if op.Lod.Size != 0 {
			lod = w.imageOperand(op.Lod, chunk)
		}
		if op.Sample.Size != 0 {
			sample = w.imageOperand(op.Sample, chunk)
		}
		v.Fetch(&result, &at, lod, sample, active)
	case spirv.OpImageWrite:
		at := w.imageCoordinates(op, chunk)
		texels := w.imageTexels(op.Texel, chunk)
		v.Write(&at, &texels, active)
		return
	case spirv.OpImageQuerySize, spirv.OpImageQuerySizeLod:
		level := w.imageOperand(op.Lod, chunk)
		for lane := range kernel.Width {
			size := v.Size(level[lane])
			result[0][lane], result[1][lane], result[2][lane] = size[0], size[1], size[2]
		}
	case spirv.OpImageQueryLevels:
		for lane := range kernel.Width {
			result[0][lane] = v.Levels()
		}
	case spirv.OpImageQuerySamples:
		for lane := range kernel.Width {
			result[0][lane] = v.Samples()
		}
	case spirv.OpImageGather, spirv.OpImageDrefGather:
		q := w.imageLookup(op, chunk)
		var shifts *[4][2]int32
		if op.HasOffsets {
			shifts = &op.Offsets
		}
		component := w.imageOperand(op.Component, chunk)[bits.TrailingZeros8(uint8(active))]
		b.routineOf(q).Gather(&result, q, component, shifts, active)
	case spirv.OpImageQueryLod:
		q := w.imageLookup(op, chunk)
		b.routineOf(q).QueryLod(&result, q, active)
	case spirv.OpImageSampleImplicitLod, spirv.OpImageSampleExplicitLod, spirv.OpImageSampleDrefImplicitLod,
		spirv.OpImageSampleDrefExplicitLod, spirv.OpImageSampleProjImplicitLod, spirv.OpImageSampleProjExplicitLod,
		spirv.OpImageSampleProjDrefImplicitLod, spirv.OpImageSampleProjDrefExplicitLod:
		q := w.imageLookup(op, chunk)
		b.routineOf(q).Sample(&result, q, active)
	default:
		atomic := imageAtomics[op.Op]
		w.imageAtomic(op, &atomic, v, chunk, active, &result)
	}
	w.imageResult(op, &result, chunk, active, v.Wide())
}

// imageCoordinates are integer coordinates.
func (w *worker) imageCoordinates(op *program.ImageOp, chunk int) (at [3]sampling.Lanes) {
	for i := range min(len(op.Coordinate), len(at)) {
		at[i] = *w.imageOperand(op.Coordinate[i], chunk)
	}
	return at
}

// imageTexels are the operands that are written: of 64 bits one, whose words become the first two components.
func (w *worker) imageTexels(from []program.Register, chunk int) (t sampling.Texels) {
	if len(from) > 0 && from[0].Size == 64 {
		for lane, v := range w.chunk64(from[0], chunk) {
			t[0][lane], t[1][lane] = uint32(v), uint32(v>>32)
		}
		return t
	}
	for c := range min(len(from), len(t)) {
		t[c] = *w.imageOperand(from[c], chunk)
	}
	return t
}

// imageResult writes the lanes of a result. 64-bit integers have the words of the first component in two, and 0, 0 and
// 1 in the others.
func (w *worker) imageResult(op *program.ImageOp, result *sampling.Texels, chunk int, active sampling.Mask, wide bool) {
	for c, r := range op.Dst {
		if c >= len(result) || r.Size == 0 {
			continue
		}
		if r.Size == 64 {
			dst := w.chunk64(r, chunk)
			for lane := range dst {
				if active>>lane&1 == 0 {
					continue
				}
				switch {
				case c > 0 && wide:
					dst[lane] = uint64(c / 3)
				case c > 0:
					dst[lane] = uint64(result[c][lane])
				case wide:
					dst[lane] = uint64(result[0][lane]) | uint64(result[1][lane])<<32
				default:
					dst[lane] = uint64(result[0][lane])
				}
			}
			continue
		}
		dst := w.chunk32(r, chunk)
		if active == sampling.All {
			*dst = result[c]
			continue
		}
		for lane := range dst {
			if active>>lane&1 != 0 {
				dst[lane] = result[c][lane]
			}
		}
	}
}

// imageLookup reads the operands of an instruction that samples, into the worker's only lookup.
func (w *worker) imageLookup(op *program.ImageOp, chunk int) *sampling.Lookup {
	q := &w.lookup
	q.Mode, q.Compare = sampling.LodZero, op.Dref.Size != 0
	q.HasBias, q.HasMinLod, q.HasOffset = false, false, false
	coordinates := op.Coordinate
	if op.Projective {
		coordinates = coordinates[:len(coordinates)-1]
	}
	clear(q.Coordinates[:])
	for i := range min(len(coordinates), len(q.Coordinates)) {
		q.Coordinates[i] = *w.imageOperand(coordinates[i], chunk)
	}
	if q.Compare {
		q.Dref = *w.imageOperand(op.Dref, chunk)
	}
	if op.Projective {
		by := w.imageOperand(op.Coordinate[len(coordinates)], chunk)
		for lane := range by {
			divisor := math.Float32frombits(by[lane])
			for i := range coordinates {
				divide(&q.Coordinates[i&3][lane], divisor)
			}
			divide(&q.Dref[lane], divisor)
		}
	}
	switch {
	case op.Lod.Size != 0:
		q.Mode, q.Lod = sampling.LodExplicit, *w.imageOperand(op.Lod, chunk)
	case len(op.GradX) > 0:
		q.Mode, q.Dx, q.Dy = sampling.LodGradient, [3]sampling.Lanes{}, [3]sampling.Lanes{}
		for axis := range min(len(op.GradX), len(op.GradY), len(q.Dx)) {
			q.Dx[axis], q.Dy[axis] = *w.imageOperand(op.GradX[axis], chunk), *w.imageOperand(op.GradY[axis], chunk)
		}
	}
	if op.Bias.Size != 0 {
		q.HasBias, q.Bias = true, *w.imageOperand(op.Bias, chunk)
	}
	if op.MinLod.Size != 0 {
		q.HasMinLod, q.MinLod = true, *w.imageOperand(op.MinLod, chunk)
	}
	clear(q.Offset[:])
	for axis := range min(len(op.Offset), len(q.Offset)) {
		q.HasOffset, q.Offset[axis] = true, *w.imageOperand(op.Offset[axis], chunk)
	}
	return q
}

func divide(bits *uint32, by float32) {
	*bits = math.Float32bits(math.Float32frombits(*bits) / by)
}

// imageAtomic is how an atomic instruction on a texel is done.
type imageAtomic struct {
	op     sampling.AtomicOp
	one    bool // the value is 1
	negate bool // the value counts negated
}

var imageAtomics = map[spirv.Op]imageAtomic{
	spirv.OpAtomicLoad:                {op: sampling.AtomicLoad},
	spirv.OpAtomicStore:               {op: sampling.AtomicExchange},
	spirv.OpAtomicExchange:            {op: sampling.AtomicExchange},
	spirv.OpAtomicCompareExchange:     {op: sampling.AtomicCompareExchange},
	spirv.OpAtomicCompareExchangeWeak: {op: sampling.AtomicCompareExchange},
	spirv.OpAtomicIIncrement:          {op: sampling.AtomicAdd, one: true},
	spirv.OpAtomicIDecrement:          {op: sampling.AtomicAdd, one: true, negate: true},
	spirv.OpAtomicIAdd:                {op: sampling.AtomicAdd},
	spirv.OpAtomicISub:                {op: sampling.AtomicAdd, negate: true},
	spirv.OpAtomicSMin:                {op: sampling.AtomicMinS},
	spirv.OpAtomicUMin:                {op: sampling.AtomicMinU},
	spirv.OpAtomicSMax:                {op: sampling.AtomicMaxS},
	spirv.OpAtomicUMax:                {op: sampling.AtomicMaxU},
	spirv.OpAtomicAnd:                 {op: sampling.AtomicAnd},
	spirv.OpAtomicOr:                  {op: sampling.AtomicOr},
	spirv.OpAtomicXor:                 {op: sampling.AtomicXor},
	spirv.OpAtomicFAddEXT:             {op: sampling.AtomicAddF},
	spirv.OpAtomicFMinEXT:             {op: sampling.AtomicMinF},
	spirv.OpAtomicFMaxEXT:             {op: sampling.AtomicMaxF},
}

func (w *worker) imageAtomic(op *program.ImageOp, a *imageAtomic, v *sampling.View, chunk int, active sampling.Mask,
	result *sampling.Texels) {
	var value, comparator, old sampling.Word
	operand := func(word *sampling.Word, i int) {
		if i < len(op.Texel) {
			t := w.imageTexels(op.Texel[i:i+1], chunk)
			word[0], word[1] = t[0], t[1]
		}
	}
	operand(&value, 0)
	operand(&comparator, 1)
	for lane := range kernel.Width {
		n := uint64(value[0][lane]) | uint64(value[1][lane])<<32
		if a.one {
			n = 1
		}
		if a.negate {
			n = -n
		}
		value[0][lane], value[1][lane] = uint32(n), uint32(n>>32)
	}
	at := w.imageCoordinates(op, chunk)
	v.Atomic(a.op, &old, &at, &value, &comparator, active)
	result[0], result[1] = old[0], old[1]
}
