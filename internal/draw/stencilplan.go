package draw

import "farside/internal/vk"

// stencilFace is VkStencilOpState for vectors of four samples.
type stencilFace struct {
	mask, reference       [4]uint32 // of the comparison; the reference is masked
	less, equal, greater  [4]uint32 // all bits: a reference passes that is this, beside what is stored
	write                 [4]uint32
	fail, depthFail, pass stencilMade
}

// stencilMade is VkStencilOp as arithmetic on what is stored. What is beyond 8 bits is cut off.
type stencilMade struct {
	and, xor, add, low, high [4]int32
	replaces                 uint32 // 1: xor is the reference
}

// same4 is the same number four times.
func same4[T any](v T) [4]T { return [4]T{v, v, v, v} }

// newStencilFace takes in the state of a face.
func newStencilFace(s *vk.StencilOpState) stencilFace {
	yes := func(bits ...vk.CompareOp) [4]uint32 { return same4(anyOp(s.CompareOp, bits...)) }
	mask, reference := s.CompareMask&0xff, s.Reference&0xff
	return stencilFace{mask: same4(mask), reference: same4(reference & mask), write: same4(s.WriteMask & 0xff),
		less:      yes(lessOps...),
		equal:     yes(equalOps...),
		greater:   yes(greaterOps...),
		fail:      newStencilMade(s.FailOp, reference),
		depthFail: newStencilMade(s.DepthFailOp, reference), pass: newStencilMade(s.PassOp, reference)}
}

// newStencilMade is an operation, as stencilWrite has it.
func newStencilMade(op vk.StencilOp, reference uint32) stencilMade {
	m := stencilMade{and: same4[int32](-1), low: same4[int32](-1), high: same4[int32](256)}
	switch op {
	case vk.STENCIL_OP_ZERO:
		m.and = same4[int32](0)
	case vk.STENCIL_OP_REPLACE:
		m.and, m.xor, m.replaces = same4[int32](0), same4(int32(reference)), 1
	case vk.STENCIL_OP_INCREMENT_AND_CLAMP:
		m.add, m.high = same4[int32](1), same4[int32](255)
	case vk.STENCIL_OP_DECREMENT_AND_CLAMP:
		m.add, m.low = same4[int32](-1), same4[int32](0)
	case vk.STENCIL_OP_INVERT:
		m.xor = same4[int32](255)
	case vk.STENCIL_OP_INCREMENT_AND_WRAP:
		m.add = same4[int32](1)
	case vk.STENCIL_OP_DECREMENT_AND_WRAP:
		m.add = same4[int32](-1)
	}
	return m
}
