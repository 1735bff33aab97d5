package vm

import (
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
	case spirv.OpImageSampleImplicitLod, spirv.OpImageSampleExplicitLod:
	default:
		return false
	}
	for _, r := range [...]program.Register{op.Dref, op.Bias, op.MinLod, op.Image.Register, op.Sampler.Register} {
		if r.Size != 0 {
			return false
		}
	}
	for _, r := range op.Dst {
		if r.Size != 0 && r.Size != 32 {
			return false
		}
	}
	gradients := len(op.GradX) == 2 && len(op.GradY) == 2
	return (len(op.Coordinate) == 2 || len(op.Coordinate) == 3) && len(op.Offset) == 0 && (op.Lod.Size != 0 || gradients)
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
	b.spans = b.routine.Spans() && len(op.Coordinate) == b.routine.Coordinates()
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

// imageSpan does an instruction in so many chunks. All operands are read before the result is written.
func (w *worker) imageSpan(index int32, op *program.ImageOp, first, chunks int) {
	b, s := &w.images[index], w.span
	for axis, r := range op.Coordinate {
		w.spanOperand(s.Coordinates[axis][:], r, first, chunks)
	}
	if op.Lod.Size == 0 && b.routine.Derivatives() {
		for axis := range 2 {
			w.spanOperand(s.Dx[axis][:], op.GradX[axis], first, chunks)
			w.spanOperand(s.Dy[axis][:], op.GradY[axis], first, chunks)
		}
	}
	if op.Lod.Size != 0 {
		w.spanOperand(s.Lod[:], op.Lod, first, chunks)
	}
	if !b.routine.SampleSpan(s, chunks*kernel.Width) {
		for chunk := first; chunk < first+chunks; chunk++ {
			if active := w.activeLanes(chunk); active != 0 {
				w.imageChunk(index, op, chunk, active)
			}
		}
		return
	}
	w.spanResults(b.routine, op, first, chunks)
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
		from, to := routine.Component(w.span, c)[:chunks*kernel.Width], w.words(r, first, chunks)
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

// spanOperand copies chunks of a register of 32-bit values. What lies behind them in the last 32 lanes is 0.
func (w *worker) spanOperand(dst []uint32, r program.Register, first, chunks int) {
	n := chunks * kernel.Width
	if r.Uniform() {
		v := w.imageOperand(r, 0)[0]
		for i := range dst[:n] {
			dst[i] = v
		}
	} else {
		copy(dst, w.words(r, first, chunks))
	}
	clear(dst[n:min((n+31)&^31, len(dst))])
}
