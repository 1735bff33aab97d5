package vm

import (
	"math"
	"math/bits"

	"farside/compute/internal/kernel"
	"farside/compute/internal/program"
	"farside/internal/sampling"
	"farside/spirv"
)

// spanChunks is how many chunks a span has.
const spanChunks = sampling.SpanLanes / kernel.Width

// spans says whether an instruction asks for nothing but what a sampling.Span has, from one image and one sampler.
func spans(op *program.ImageOp) bool {
	switch op.Op {
	case spirv.OpImageSampleImplicitLod, spirv.OpImageSampleExplicitLod, spirv.OpImageSampleProjImplicitLod,
		spirv.OpImageSampleDrefImplicitLod, spirv.OpImageSampleDrefExplicitLod, spirv.OpImageSampleProjDrefImplicitLod,
		spirv.OpImageGather, spirv.OpImageDrefGather:
	default:
		return false
	}
	for _, r := range [...]program.Register{op.MinLod, op.Image.Register, op.Sampler.Register} {
		if r.Size != 0 {
			return false
		}
	}
	for _, r := range append([]program.Register{op.Bias, op.Component}, op.Offset...) {
		if r.Size != 0 && !r.Uniform() {
			return false
		}
	}
	for _, r := range op.Dst {
		if r.Size != 0 && r.Size != 32 {
			return false
		}
	}
	gradients := len(op.GradX) == 2 && len(op.GradY) == 2
	return (len(op.Coordinate) == 2 || len(op.Coordinate) == 3) && len(op.Offset) <= 2 && !op.Projective &&
		!op.HasOffsets && (op.Lod.Size != 0 || gradients || gathers(op))
}

// gathers says whether an instruction reads one component of four texels.
func gathers(op *program.ImageOp) bool {
	return op.Op == spirv.OpImageGather || op.Op == spirv.OpImageDrefGather
}

// imageSpans does an instruction in the active lanes, a span of chunks at a time; false: nothing has been done, since
// only imageChunk can.
func (w *worker) imageSpans(index int32, op *program.ImageOp) bool {
	b := &w.images[index]
	if !b.found {
		b.view, b.sampler = w.bound(op, op.Image.Constant, op.Sampler.Constant)
		b.found, b.spans = true, spans(op)
	}
	if !b.spans {
		return false
	}
	if b.routine == nil {
		b.routineOf(w.imageLookup(op, w.active.first))
	}
	b.spans = b.routine.Spans() || gathers(op) && b.routine.Gathers()
	b.spans = b.spans && len(op.Coordinate) == b.routine.Coordinates()
	if !b.spans {
		return false
	}
	if w.span == nil {
		w.span = new(sampling.Span)
	}
	for first := w.active.first; first < w.active.end; first += spanChunks {
		w.imageSpan(index, op, first, min(w.active.end-first, spanChunks))
	}
	return true
}

// partChunks is how many chunks are sampled at once in a span in which not all can be.
const partChunks = 4

// imageSpan does an instruction in so many chunks. All operands are read before the result is written.
func (w *worker) imageSpan(index int32, op *program.ImageOp, first, chunks int) {
	b, s := &w.images[index], w.span
	for axis, r := range op.Coordinate {
		w.spanOperand(s.Coordinates[axis][:], r, first, chunks, middle)
	}
	s.Bias = math.Float32frombits(w.imageOperand(op.Bias, 0)[0])
	s.Shift = [2]int32{}
	for axis, r := range op.Offset {
		s.Shift[axis&1] = int32(w.imageOperand(r, 0)[0])
	}
	if op.Dref.Size != 0 {
		w.spanOperand(s.References[:], op.Dref, first, chunks, 0)
	}
	if op.Lod.Size == 0 && len(op.GradX) > 0 && b.routine.Derivatives() {
		for axis := range 2 {
			w.spanOperand(s.Dx[axis][:], op.GradX[axis], first, chunks, 0)
			w.spanOperand(s.Dy[axis][:], op.GradY[axis], first, chunks, 0)
		}
	}
	if op.Lod.Size != 0 {
		w.spanOperand(s.Lod[:], op.Lod, first, chunks, 0)
	}
	sampled := false
	if gathers(op) {
		sampled = b.routine.GatherSpan(s, w.imageOperand(op.Component, 0)[0], chunks*kernel.Width)
	} else {
		sampled = b.routine.SampleSpan(s, chunks*kernel.Width)
	}
	switch {
	case sampled:
		w.spanResults(b.routine, op, first, chunks)
	case chunks > partChunks: // most parts may be such that they can
		for part := 0; part < chunks; part += partChunks {
			w.imageSpan(index, op, first+part, min(chunks-part, partChunks))
		}
	default:
		for chunk := first; chunk < first+chunks; chunk++ {
			if active := w.activeLanes(chunk); active != 0 {
				w.imageChunk(index, op, chunk, active)
			}
		}
	}
}

// spanResults copies what a span has found to the active lanes of registers.
func (w *worker) spanResults(routine *sampling.Routine, op *program.ImageOp, first, chunks int) {
	var active [spanChunks]sampling.Mask
	whole := 0 // so many chunks from the first on have all lanes
	for chunk := range chunks {
		active[chunk] = w.activeLanes(first + chunk)
		if whole == chunk && active[chunk] == sampling.All {
			whole++
		}
	}
	for c, r := range op.Dst {
		if r.Size == 0 {
			continue
		}
		found := &w.span.Result[c&3]
		if !gathers(op) {
			found = routine.Component(w.span, c)
		}
		from, to := found[:chunks*kernel.Width], w.words(r, first, chunks)
		copy(to, from[:whole*kernel.Width])
		for chunk, lanes := range active[whole:chunks] {
			at := (whole + chunk) * kernel.Width
			if lanes == sampling.All {
				*(*[kernel.Width]uint32)(to[at:]) = [kernel.Width]uint32(from[at:])
				continue
			}
			for ; lanes != 0; lanes &= lanes - 1 {
				lane := at + bits.TrailingZeros8(uint8(lanes))
				to[lane] = from[lane]
			}
		}
	}
}

// middle is a half as a float: a coordinate that lies inside of an image.
const middle = 0x3f000000

// spanOperand copies chunks of a register of 32-bit values, and puts rest behind them in the last 32 lanes.
func (w *worker) spanOperand(dst []uint32, r program.Register, first, chunks int, rest uint32) {
	n := chunks * kernel.Width
	if r.Uniform() {
		v := w.imageOperand(r, 0)[0]
		for i := range dst[:n] {
			dst[i] = v
		}
	} else {
		copy(dst, w.words(r, first, chunks))
	}
	behind := dst[n:min((n+31)&^31, len(dst))]
	for i := range behind {
		behind[i] = rest
	}
}
