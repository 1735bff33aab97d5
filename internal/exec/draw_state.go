package exec

import (
	"slices"

	"farside/internal/draw"
	"farside/internal/vk"
)

// stateNeed says when a draw takes a dynamic state, which commands must have set then (chapter "Drawing Commands"; for
// shader objects, "Setting State").
type stateNeed struct {
	state vk.DynamicState
	need  func(s *draw.State, p *draw.Pass) bool
}

// stateNeeds are the dynamic states that a draw can do without: it takes what the pipeline has for them, or for shader
// objects what does no harm. It fails without the others, viewports, scissors and vertex input.
var stateNeeds = [...]stateNeed{
	{vk.DYNAMIC_STATE_LINE_WIDTH, drawsLines},
	{vk.DYNAMIC_STATE_DEPTH_BIAS, biases},
	{vk.DYNAMIC_STATE_BLEND_CONSTANTS, blendsWithConstants},
	{vk.DYNAMIC_STATE_DEPTH_BOUNDS, boundsDepths},
	{vk.DYNAMIC_STATE_STENCIL_COMPARE_MASK, testsStencils},
	{vk.DYNAMIC_STATE_STENCIL_WRITE_MASK, testsStencils},
	{vk.DYNAMIC_STATE_STENCIL_REFERENCE, testsStencils},
	{vk.DYNAMIC_STATE_STENCIL_OP, testsStencils},
	{vk.DYNAMIC_STATE_CULL_MODE, rasterizes},
	{vk.DYNAMIC_STATE_FRONT_FACE, rasterizes},
	{vk.DYNAMIC_STATE_PRIMITIVE_TOPOLOGY, always},
	{vk.DYNAMIC_STATE_PRIMITIVE_RESTART_ENABLE, always},
	{vk.DYNAMIC_STATE_DEPTH_TEST_ENABLE, rasterizes},
	{vk.DYNAMIC_STATE_DEPTH_WRITE_ENABLE, testsDepths},
	{vk.DYNAMIC_STATE_DEPTH_COMPARE_OP, testsDepths},
	{vk.DYNAMIC_STATE_DEPTH_BOUNDS_TEST_ENABLE, rasterizes},
	{vk.DYNAMIC_STATE_STENCIL_TEST_ENABLE, rasterizes},
	{vk.DYNAMIC_STATE_RASTERIZER_DISCARD_ENABLE, always},
	{vk.DYNAMIC_STATE_DEPTH_BIAS_ENABLE, rasterizes},
	{vk.DYNAMIC_STATE_LOGIC_OP_EXT, hasLogicOp},
	{vk.DYNAMIC_STATE_LOGIC_OP_ENABLE_EXT, writesFragments},
	{vk.DYNAMIC_STATE_DEPTH_CLAMP_ENABLE_EXT, rasterizes},
	{vk.DYNAMIC_STATE_DEPTH_CLAMP_RANGE_EXT, clampsDepths},
	{vk.DYNAMIC_STATE_DEPTH_CLIP_ENABLE_EXT, always},
	{vk.DYNAMIC_STATE_DEPTH_CLIP_NEGATIVE_ONE_TO_ONE_EXT, always},
	{vk.DYNAMIC_STATE_POLYGON_MODE_EXT, rasterizes},
	{vk.DYNAMIC_STATE_RASTERIZATION_SAMPLES_EXT, rasterizes},
	{vk.DYNAMIC_STATE_SAMPLE_MASK_EXT, rasterizes},
	{vk.DYNAMIC_STATE_ALPHA_TO_COVERAGE_ENABLE_EXT, rasterizes},
	{vk.DYNAMIC_STATE_ALPHA_TO_ONE_ENABLE_EXT, rasterizes},
	{vk.DYNAMIC_STATE_PROVOKING_VERTEX_MODE_EXT, rasterizes},
	{vk.DYNAMIC_STATE_ATTACHMENT_FEEDBACK_LOOP_ENABLE_EXT, writesFragments},
	{vk.DYNAMIC_STATE_LINE_RASTERIZATION_MODE_EXT, drawsLines},
	{vk.DYNAMIC_STATE_LINE_STIPPLE_ENABLE_EXT, drawsLines},
	{vk.DYNAMIC_STATE_LINE_STIPPLE, stipplesLines},
	{vk.DYNAMIC_STATE_COLOR_BLEND_ENABLE_EXT, writesColors},
	{vk.DYNAMIC_STATE_COLOR_WRITE_MASK_EXT, writesColors},
	{vk.DYNAMIC_STATE_COLOR_BLEND_EQUATION_EXT, blends},
	{vk.DYNAMIC_STATE_COLOR_WRITE_ENABLE_EXT, writesFragments},
}

// stateRules are the rules of a draw command that the states of stateNeeds have been set, in their order.
type stateRules [len(stateNeeds)]vk.VUID

var (
	plainStates = stateRules{
		vk.VUID_vkCmdDraw_None_08617,
		vk.VUID_vkCmdDraw_None_07834,
		vk.VUID_vkCmdDraw_None_07835,
		vk.VUID_vkCmdDraw_None_07836,
		vk.VUID_vkCmdDraw_None_07837,
		vk.VUID_vkCmdDraw_None_07838,
		vk.VUID_vkCmdDraw_None_07839,
		vk.VUID_vkCmdDraw_None_07848,
		vk.VUID_vkCmdDraw_None_07840,
		vk.VUID_vkCmdDraw_None_07841,
		vk.VUID_vkCmdDraw_None_07842,
		vk.VUID_vkCmdDraw_None_04879,
		vk.VUID_vkCmdDraw_None_07843,
		vk.VUID_vkCmdDraw_None_07844,
		vk.VUID_vkCmdDraw_None_07845,
		vk.VUID_vkCmdDraw_None_07846,
		vk.VUID_vkCmdDraw_None_07847,
		vk.VUID_vkCmdDraw_None_04876,
		vk.VUID_vkCmdDraw_None_04877,
		vk.VUID_vkCmdDraw_logicOp_04878,
		vk.VUID_vkCmdDraw_None_07626,
		vk.VUID_vkCmdDraw_None_07620,
		vk.VUID_vkCmdDraw_None_09650,
		vk.VUID_vkCmdDraw_None_07633,
		vk.VUID_vkCmdDraw_None_07639,
		vk.VUID_vkCmdDraw_None_07621,
		vk.VUID_vkCmdDraw_None_07622,
		vk.VUID_vkCmdDraw_None_07623,
		vk.VUID_vkCmdDraw_None_07624,
		vk.VUID_vkCmdDraw_None_07625,
		vk.VUID_vkCmdDraw_None_07636,
		vk.VUID_vkCmdDraw_None_08877,
		vk.VUID_vkCmdDraw_None_08666,
		vk.VUID_vkCmdDraw_None_08669,
		vk.VUID_vkCmdDraw_None_07849,
		vk.VUID_vkCmdDraw_None_07627,
		vk.VUID_vkCmdDraw_None_07629,
		vk.VUID_vkCmdDraw_None_10862,
		vk.VUID_vkCmdDraw_None_07749,
	}
	indexedStates = stateRules{
		vk.VUID_vkCmdDrawIndexed_None_08617,
		vk.VUID_vkCmdDrawIndexed_None_07834,
		vk.VUID_vkCmdDrawIndexed_None_07835,
		vk.VUID_vkCmdDrawIndexed_None_07836,
		vk.VUID_vkCmdDrawIndexed_None_07837,
		vk.VUID_vkCmdDrawIndexed_None_07838,
		vk.VUID_vkCmdDrawIndexed_None_07839,
		vk.VUID_vkCmdDrawIndexed_None_07848,
		vk.VUID_vkCmdDrawIndexed_None_07840,
		vk.VUID_vkCmdDrawIndexed_None_07841,
		vk.VUID_vkCmdDrawIndexed_None_07842,
		vk.VUID_vkCmdDrawIndexed_None_04879,
		vk.VUID_vkCmdDrawIndexed_None_07843,
		vk.VUID_vkCmdDrawIndexed_None_07844,
		vk.VUID_vkCmdDrawIndexed_None_07845,
		vk.VUID_vkCmdDrawIndexed_None_07846,
		vk.VUID_vkCmdDrawIndexed_None_07847,
		vk.VUID_vkCmdDrawIndexed_None_04876,
		vk.VUID_vkCmdDrawIndexed_None_04877,
		vk.VUID_vkCmdDrawIndexed_logicOp_04878,
		vk.VUID_vkCmdDrawIndexed_None_07626,
		vk.VUID_vkCmdDrawIndexed_None_07620,
		vk.VUID_vkCmdDrawIndexed_None_09650,
		vk.VUID_vkCmdDrawIndexed_None_07633,
		vk.VUID_vkCmdDrawIndexed_None_07639,
		vk.VUID_vkCmdDrawIndexed_None_07621,
		vk.VUID_vkCmdDrawIndexed_None_07622,
		vk.VUID_vkCmdDrawIndexed_None_07623,
		vk.VUID_vkCmdDrawIndexed_None_07624,
		vk.VUID_vkCmdDrawIndexed_None_07625,
		vk.VUID_vkCmdDrawIndexed_None_07636,
		vk.VUID_vkCmdDrawIndexed_None_08877,
		vk.VUID_vkCmdDrawIndexed_None_08666,
		vk.VUID_vkCmdDrawIndexed_None_08669,
		vk.VUID_vkCmdDrawIndexed_None_07849,
		vk.VUID_vkCmdDrawIndexed_None_07627,
		vk.VUID_vkCmdDrawIndexed_None_07629,
		vk.VUID_vkCmdDrawIndexed_None_10862,
		vk.VUID_vkCmdDrawIndexed_None_07749,
	}
	indirectDrawsStates = stateRules{
		vk.VUID_vkCmdDrawIndirect_None_08617,
		vk.VUID_vkCmdDrawIndirect_None_07834,
		vk.VUID_vkCmdDrawIndirect_None_07835,
		vk.VUID_vkCmdDrawIndirect_None_07836,
		vk.VUID_vkCmdDrawIndirect_None_07837,
		vk.VUID_vkCmdDrawIndirect_None_07838,
		vk.VUID_vkCmdDrawIndirect_None_07839,
		vk.VUID_vkCmdDrawIndirect_None_07848,
		vk.VUID_vkCmdDrawIndirect_None_07840,
		vk.VUID_vkCmdDrawIndirect_None_07841,
		vk.VUID_vkCmdDrawIndirect_None_07842,
		vk.VUID_vkCmdDrawIndirect_None_04879,
		vk.VUID_vkCmdDrawIndirect_None_07843,
		vk.VUID_vkCmdDrawIndirect_None_07844,
		vk.VUID_vkCmdDrawIndirect_None_07845,
		vk.VUID_vkCmdDrawIndirect_None_07846,
		vk.VUID_vkCmdDrawIndirect_None_07847,
		vk.VUID_vkCmdDrawIndirect_None_04876,
		vk.VUID_vkCmdDrawIndirect_None_04877,
		vk.VUID_vkCmdDrawIndirect_logicOp_04878,
		vk.VUID_vkCmdDrawIndirect_None_07626,
		vk.VUID_vkCmdDrawIndirect_None_07620,
		vk.VUID_vkCmdDrawIndirect_None_09650,
		vk.VUID_vkCmdDrawIndirect_None_07633,
		vk.VUID_vkCmdDrawIndirect_None_07639,
		vk.VUID_vkCmdDrawIndirect_None_07621,
		vk.VUID_vkCmdDrawIndirect_None_07622,
		vk.VUID_vkCmdDrawIndirect_None_07623,
		vk.VUID_vkCmdDrawIndirect_None_07624,
		vk.VUID_vkCmdDrawIndirect_None_07625,
		vk.VUID_vkCmdDrawIndirect_None_07636,
		vk.VUID_vkCmdDrawIndirect_None_08877,
		vk.VUID_vkCmdDrawIndirect_None_08666,
		vk.VUID_vkCmdDrawIndirect_None_08669,
		vk.VUID_vkCmdDrawIndirect_None_07849,
		vk.VUID_vkCmdDrawIndirect_None_07627,
		vk.VUID_vkCmdDrawIndirect_None_07629,
		vk.VUID_vkCmdDrawIndirect_None_10862,
		vk.VUID_vkCmdDrawIndirect_None_07749,
	}
	indexedIndirectDrawsStates = stateRules{
		vk.VUID_vkCmdDrawIndexedIndirect_None_08617,
		vk.VUID_vkCmdDrawIndexedIndirect_None_07834,
		vk.VUID_vkCmdDrawIndexedIndirect_None_07835,
		vk.VUID_vkCmdDrawIndexedIndirect_None_07836,
		vk.VUID_vkCmdDrawIndexedIndirect_None_07837,
		vk.VUID_vkCmdDrawIndexedIndirect_None_07838,
		vk.VUID_vkCmdDrawIndexedIndirect_None_07839,
		vk.VUID_vkCmdDrawIndexedIndirect_None_07848,
		vk.VUID_vkCmdDrawIndexedIndirect_None_07840,
		vk.VUID_vkCmdDrawIndexedIndirect_None_07841,
		vk.VUID_vkCmdDrawIndexedIndirect_None_07842,
		vk.VUID_vkCmdDrawIndexedIndirect_None_04879,
		vk.VUID_vkCmdDrawIndexedIndirect_None_07843,
		vk.VUID_vkCmdDrawIndexedIndirect_None_07844,
		vk.VUID_vkCmdDrawIndexedIndirect_None_07845,
		vk.VUID_vkCmdDrawIndexedIndirect_None_07846,
		vk.VUID_vkCmdDrawIndexedIndirect_None_07847,
		vk.VUID_vkCmdDrawIndexedIndirect_None_04876,
		vk.VUID_vkCmdDrawIndexedIndirect_None_04877,
		vk.VUID_vkCmdDrawIndexedIndirect_logicOp_04878,
		vk.VUID_vkCmdDrawIndexedIndirect_None_07626,
		vk.VUID_vkCmdDrawIndexedIndirect_None_07620,
		vk.VUID_vkCmdDrawIndexedIndirect_None_09650,
		vk.VUID_vkCmdDrawIndexedIndirect_None_07633,
		vk.VUID_vkCmdDrawIndexedIndirect_None_07639,
		vk.VUID_vkCmdDrawIndexedIndirect_None_07621,
		vk.VUID_vkCmdDrawIndexedIndirect_None_07622,
		vk.VUID_vkCmdDrawIndexedIndirect_None_07623,
		vk.VUID_vkCmdDrawIndexedIndirect_None_07624,
		vk.VUID_vkCmdDrawIndexedIndirect_None_07625,
		vk.VUID_vkCmdDrawIndexedIndirect_None_07636,
		vk.VUID_vkCmdDrawIndexedIndirect_None_08877,
		vk.VUID_vkCmdDrawIndexedIndirect_None_08666,
		vk.VUID_vkCmdDrawIndexedIndirect_None_08669,
		vk.VUID_vkCmdDrawIndexedIndirect_None_07849,
		vk.VUID_vkCmdDrawIndexedIndirect_None_07627,
		vk.VUID_vkCmdDrawIndexedIndirect_None_07629,
		vk.VUID_vkCmdDrawIndexedIndirect_None_10862,
		vk.VUID_vkCmdDrawIndexedIndirect_None_07749,
	}
	countedStates = stateRules{
		vk.VUID_vkCmdDrawIndirectCount_None_08617,
		vk.VUID_vkCmdDrawIndirectCount_None_07834,
		vk.VUID_vkCmdDrawIndirectCount_None_07835,
		vk.VUID_vkCmdDrawIndirectCount_None_07836,
		vk.VUID_vkCmdDrawIndirectCount_None_07837,
		vk.VUID_vkCmdDrawIndirectCount_None_07838,
		vk.VUID_vkCmdDrawIndirectCount_None_07839,
		vk.VUID_vkCmdDrawIndirectCount_None_07848,
		vk.VUID_vkCmdDrawIndirectCount_None_07840,
		vk.VUID_vkCmdDrawIndirectCount_None_07841,
		vk.VUID_vkCmdDrawIndirectCount_None_07842,
		vk.VUID_vkCmdDrawIndirectCount_None_04879,
		vk.VUID_vkCmdDrawIndirectCount_None_07843,
		vk.VUID_vkCmdDrawIndirectCount_None_07844,
		vk.VUID_vkCmdDrawIndirectCount_None_07845,
		vk.VUID_vkCmdDrawIndirectCount_None_07846,
		vk.VUID_vkCmdDrawIndirectCount_None_07847,
		vk.VUID_vkCmdDrawIndirectCount_None_04876,
		vk.VUID_vkCmdDrawIndirectCount_None_04877,
		vk.VUID_vkCmdDrawIndirectCount_logicOp_04878,
		vk.VUID_vkCmdDrawIndirectCount_None_07626,
		vk.VUID_vkCmdDrawIndirectCount_None_07620,
		vk.VUID_vkCmdDrawIndirectCount_None_09650,
		vk.VUID_vkCmdDrawIndirectCount_None_07633,
		vk.VUID_vkCmdDrawIndirectCount_None_07639,
		vk.VUID_vkCmdDrawIndirectCount_None_07621,
		vk.VUID_vkCmdDrawIndirectCount_None_07622,
		vk.VUID_vkCmdDrawIndirectCount_None_07623,
		vk.VUID_vkCmdDrawIndirectCount_None_07624,
		vk.VUID_vkCmdDrawIndirectCount_None_07625,
		vk.VUID_vkCmdDrawIndirectCount_None_07636,
		vk.VUID_vkCmdDrawIndirectCount_None_08877,
		vk.VUID_vkCmdDrawIndirectCount_None_08666,
		vk.VUID_vkCmdDrawIndirectCount_None_08669,
		vk.VUID_vkCmdDrawIndirectCount_None_07849,
		vk.VUID_vkCmdDrawIndirectCount_None_07627,
		vk.VUID_vkCmdDrawIndirectCount_None_07629,
		vk.VUID_vkCmdDrawIndirectCount_None_10862,
		vk.VUID_vkCmdDrawIndirectCount_None_07749,
	}
	indexedCountedStates = stateRules{
		vk.VUID_vkCmdDrawIndexedIndirectCount_None_08617,
		vk.VUID_vkCmdDrawIndexedIndirectCount_None_07834,
		vk.VUID_vkCmdDrawIndexedIndirectCount_None_07835,
		vk.VUID_vkCmdDrawIndexedIndirectCount_None_07836,
		vk.VUID_vkCmdDrawIndexedIndirectCount_None_07837,
		vk.VUID_vkCmdDrawIndexedIndirectCount_None_07838,
		vk.VUID_vkCmdDrawIndexedIndirectCount_None_07839,
		vk.VUID_vkCmdDrawIndexedIndirectCount_None_07848,
		vk.VUID_vkCmdDrawIndexedIndirectCount_None_07840,
		vk.VUID_vkCmdDrawIndexedIndirectCount_None_07841,
		vk.VUID_vkCmdDrawIndexedIndirectCount_None_07842,
		vk.VUID_vkCmdDrawIndexedIndirectCount_None_04879,
		vk.VUID_vkCmdDrawIndexedIndirectCount_None_07843,
		vk.VUID_vkCmdDrawIndexedIndirectCount_None_07844,
		vk.VUID_vkCmdDrawIndexedIndirectCount_None_07845,
		vk.VUID_vkCmdDrawIndexedIndirectCount_None_07846,
		vk.VUID_vkCmdDrawIndexedIndirectCount_None_07847,
		vk.VUID_vkCmdDrawIndexedIndirectCount_None_04876,
		vk.VUID_vkCmdDrawIndexedIndirectCount_None_04877,
		vk.VUID_vkCmdDrawIndexedIndirectCount_logicOp_04878,
		vk.VUID_vkCmdDrawIndexedIndirectCount_None_07626,
		vk.VUID_vkCmdDrawIndexedIndirectCount_None_07620,
		vk.VUID_vkCmdDrawIndexedIndirectCount_None_09650,
		vk.VUID_vkCmdDrawIndexedIndirectCount_None_07633,
		vk.VUID_vkCmdDrawIndexedIndirectCount_None_07639,
		vk.VUID_vkCmdDrawIndexedIndirectCount_None_07621,
		vk.VUID_vkCmdDrawIndexedIndirectCount_None_07622,
		vk.VUID_vkCmdDrawIndexedIndirectCount_None_07623,
		vk.VUID_vkCmdDrawIndexedIndirectCount_None_07624,
		vk.VUID_vkCmdDrawIndexedIndirectCount_None_07625,
		vk.VUID_vkCmdDrawIndexedIndirectCount_None_07636,
		vk.VUID_vkCmdDrawIndexedIndirectCount_None_08877,
		vk.VUID_vkCmdDrawIndexedIndirectCount_None_08666,
		vk.VUID_vkCmdDrawIndexedIndirectCount_None_08669,
		vk.VUID_vkCmdDrawIndexedIndirectCount_None_07849,
		vk.VUID_vkCmdDrawIndexedIndirectCount_None_07627,
		vk.VUID_vkCmdDrawIndexedIndirectCount_None_07629,
		vk.VUID_vkCmdDrawIndexedIndirectCount_None_10862,
		vk.VUID_vkCmdDrawIndexedIndirectCount_None_07749,
	}
	multiStates = stateRules{
		vk.VUID_vkCmdDrawMultiEXT_None_08617,
		vk.VUID_vkCmdDrawMultiEXT_None_07834,
		vk.VUID_vkCmdDrawMultiEXT_None_07835,
		vk.VUID_vkCmdDrawMultiEXT_None_07836,
		vk.VUID_vkCmdDrawMultiEXT_None_07837,
		vk.VUID_vkCmdDrawMultiEXT_None_07838,
		vk.VUID_vkCmdDrawMultiEXT_None_07839,
		vk.VUID_vkCmdDrawMultiEXT_None_07848,
		vk.VUID_vkCmdDrawMultiEXT_None_07840,
		vk.VUID_vkCmdDrawMultiEXT_None_07841,
		vk.VUID_vkCmdDrawMultiEXT_None_07842,
		vk.VUID_vkCmdDrawMultiEXT_None_04879,
		vk.VUID_vkCmdDrawMultiEXT_None_07843,
		vk.VUID_vkCmdDrawMultiEXT_None_07844,
		vk.VUID_vkCmdDrawMultiEXT_None_07845,
		vk.VUID_vkCmdDrawMultiEXT_None_07846,
		vk.VUID_vkCmdDrawMultiEXT_None_07847,
		vk.VUID_vkCmdDrawMultiEXT_None_04876,
		vk.VUID_vkCmdDrawMultiEXT_None_04877,
		vk.VUID_vkCmdDrawMultiEXT_logicOp_04878,
		vk.VUID_vkCmdDrawMultiEXT_None_07626,
		vk.VUID_vkCmdDrawMultiEXT_None_07620,
		vk.VUID_vkCmdDrawMultiEXT_None_09650,
		vk.VUID_vkCmdDrawMultiEXT_None_07633,
		vk.VUID_vkCmdDrawMultiEXT_None_07639,
		vk.VUID_vkCmdDrawMultiEXT_None_07621,
		vk.VUID_vkCmdDrawMultiEXT_None_07622,
		vk.VUID_vkCmdDrawMultiEXT_None_07623,
		vk.VUID_vkCmdDrawMultiEXT_None_07624,
		vk.VUID_vkCmdDrawMultiEXT_None_07625,
		vk.VUID_vkCmdDrawMultiEXT_None_07636,
		vk.VUID_vkCmdDrawMultiEXT_None_08877,
		vk.VUID_vkCmdDrawMultiEXT_None_08666,
		vk.VUID_vkCmdDrawMultiEXT_None_08669,
		vk.VUID_vkCmdDrawMultiEXT_None_07849,
		vk.VUID_vkCmdDrawMultiEXT_None_07627,
		vk.VUID_vkCmdDrawMultiEXT_None_07629,
		vk.VUID_vkCmdDrawMultiEXT_None_10862,
		vk.VUID_vkCmdDrawMultiEXT_None_07749,
	}
	indexedMultiStates = stateRules{
		vk.VUID_vkCmdDrawMultiIndexedEXT_None_08617,
		vk.VUID_vkCmdDrawMultiIndexedEXT_None_07834,
		vk.VUID_vkCmdDrawMultiIndexedEXT_None_07835,
		vk.VUID_vkCmdDrawMultiIndexedEXT_None_07836,
		vk.VUID_vkCmdDrawMultiIndexedEXT_None_07837,
		vk.VUID_vkCmdDrawMultiIndexedEXT_None_07838,
		vk.VUID_vkCmdDrawMultiIndexedEXT_None_07839,
		vk.VUID_vkCmdDrawMultiIndexedEXT_None_07848,
		vk.VUID_vkCmdDrawMultiIndexedEXT_None_07840,
		vk.VUID_vkCmdDrawMultiIndexedEXT_None_07841,
		vk.VUID_vkCmdDrawMultiIndexedEXT_None_07842,
		vk.VUID_vkCmdDrawMultiIndexedEXT_None_04879,
		vk.VUID_vkCmdDrawMultiIndexedEXT_None_07843,
		vk.VUID_vkCmdDrawMultiIndexedEXT_None_07844,
		vk.VUID_vkCmdDrawMultiIndexedEXT_None_07845,
		vk.VUID_vkCmdDrawMultiIndexedEXT_None_07846,
		vk.VUID_vkCmdDrawMultiIndexedEXT_None_07847,
		vk.VUID_vkCmdDrawMultiIndexedEXT_None_04876,
		vk.VUID_vkCmdDrawMultiIndexedEXT_None_04877,
		vk.VUID_vkCmdDrawMultiIndexedEXT_logicOp_04878,
		vk.VUID_vkCmdDrawMultiIndexedEXT_None_07626,
		vk.VUID_vkCmdDrawMultiIndexedEXT_None_07620,
		vk.VUID_vkCmdDrawMultiIndexedEXT_None_09650,
		vk.VUID_vkCmdDrawMultiIndexedEXT_None_07633,
		vk.VUID_vkCmdDrawMultiIndexedEXT_None_07639,
		vk.VUID_vkCmdDrawMultiIndexedEXT_None_07621,
		vk.VUID_vkCmdDrawMultiIndexedEXT_None_07622,
		vk.VUID_vkCmdDrawMultiIndexedEXT_None_07623,
		vk.VUID_vkCmdDrawMultiIndexedEXT_None_07624,
		vk.VUID_vkCmdDrawMultiIndexedEXT_None_07625,
		vk.VUID_vkCmdDrawMultiIndexedEXT_None_07636,
		vk.VUID_vkCmdDrawMultiIndexedEXT_None_08877,
		vk.VUID_vkCmdDrawMultiIndexedEXT_None_08666,
		vk.VUID_vkCmdDrawMultiIndexedEXT_None_08669,
		vk.VUID_vkCmdDrawMultiIndexedEXT_None_07849,
		vk.VUID_vkCmdDrawMultiIndexedEXT_None_07627,
		vk.VUID_vkCmdDrawMultiIndexedEXT_None_07629,
		vk.VUID_vkCmdDrawMultiIndexedEXT_None_10862,
		vk.VUID_vkCmdDrawMultiIndexedEXT_None_07749,
	}
)

// needBits are the sets of the states of stateNeeds, in their order.
var needBits = func() (bits [len(stateNeeds)]DynamicStates) {
	for i := range stateNeeds {
		bits[i] = DynamicState(stateNeeds[i].state)
	}
	return bits
}()

// tellUnset tells of dynamic states that nothing has set and that the draw takes. Each is told of once for a pipeline.
func (r *replay) tellUnset(p *Graphics, rules *drawRules) {
	g := &r.graphics
	unset := p.Needs &^ g.dynamics.set
	if unset == 0 {
		return
	}
	for i, bit := range needBits {
		if unset&bit == 0 || !stateNeeds[i].need(&g.state, r.pass) {
			continue
		}
		if told := uint64(1) << i; p.toldStates.Or(told)&told == 0 {
			rule := rules.states[i]
			if bit == dynamicBlendEquation && p.objects != nil {
				rule = rules.objects.equation
			}
			r.told(rule, "works, but nothing has set %v", stateNeeds[i].state)
		}
	}
}

func always(*draw.State, *draw.Pass) bool { return true }

func rasterizes(s *draw.State, _ *draw.Pass) bool { return !s.NoRasterizer }

// drawsLines says whether lines are rasterized (section "Rasterization Input Topology").
func drawsLines(s *draw.State, _ *draw.Pass) bool {
	switch s.Topology {
	case vk.PRIMITIVE_TOPOLOGY_POINT_LIST:
		return false
	case vk.PRIMITIVE_TOPOLOGY_LINE_LIST, vk.PRIMITIVE_TOPOLOGY_LINE_STRIP,
		vk.PRIMITIVE_TOPOLOGY_LINE_LIST_WITH_ADJACENCY, vk.PRIMITIVE_TOPOLOGY_LINE_STRIP_WITH_ADJACENCY:
		return !s.NoRasterizer
	}
	return !s.NoRasterizer && s.PolygonMode == vk.POLYGON_MODE_LINE
}

func stipplesLines(s *draw.State, p *draw.Pass) bool { return s.StippleLines && drawsLines(s, p) }

func biases(s *draw.State, _ *draw.Pass) bool { return !s.NoRasterizer && s.DepthBias.Enable }

func testsDepths(s *draw.State, _ *draw.Pass) bool { return !s.NoRasterizer && s.DepthTest }

func boundsDepths(s *draw.State, _ *draw.Pass) bool { return !s.NoRasterizer && s.DepthBounds }

func testsStencils(s *draw.State, _ *draw.Pass) bool { return !s.NoRasterizer && s.StencilTest }

func clampsDepths(s *draw.State, _ *draw.Pass) bool { return s.DepthClamp }

func writesFragments(s *draw.State, _ *draw.Pass) bool { return !s.NoRasterizer && s.Fragment != nil }

func hasLogicOp(s *draw.State, p *draw.Pass) bool { return s.LogicOpEnable && writesFragments(s, p) }

func writesColors(s *draw.State, p *draw.Pass) bool {
	return writesFragments(s, p) && slices.ContainsFunc(p.Colors, func(t draw.Target) bool { return t.Image != nil })
}

// blending looks for an attachment that is blended, and whose blending is as asked for.
func blending(s *draw.State, p *draw.Pass, is func(b *draw.Blend) bool) bool {
	for i := range p.Colors {
		if p.Colors[i].Image != nil && i < len(s.Blends) && s.Blends[i].BlendEnable != vk.FALSE && is(&s.Blends[i]) {
			return writesFragments(s, p)
		}
	}
	return false
}

func blends(s *draw.State, p *draw.Pass) bool {
	return blending(s, p, func(*draw.Blend) bool { return true })
}

func blendsWithConstants(s *draw.State, p *draw.Pass) bool {
	constant := func(f vk.BlendFactor) bool {
		return f >= vk.BLEND_FACTOR_CONSTANT_COLOR && f <= vk.BLEND_FACTOR_ONE_MINUS_CONSTANT_ALPHA
	}
	return blending(s, p, func(b *draw.Blend) bool {
		return constant(b.SrcColorBlendFactor) || constant(b.DstColorBlendFactor) || constant(b.SrcAlphaBlendFactor) ||
			constant(b.DstAlphaBlendFactor)
	})
}
