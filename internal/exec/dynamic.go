package exec

import (
	"math"
	"slices"

	"farside/internal/command"
	"farside/internal/draw"
	"farside/internal/vk"
)

// Dynamic state. A pipeline says which parts of its draw.State commands set instead (Graphics.Dynamic). What commands
// have set is kept in dynamics, checked, until the command buffer ends. A draw takes the pipeline's state and puts what
// is dynamic over it.

// Limits of what draws have; icd reports them.
const (
	MaxViewports        = 16
	MaxColors           = 8  // colour attachments
	MaxInterface        = 32 // locations between a vertex and a fragment shader
	MaxVertexBindings   = 32
	MaxVertexAttributes = 32
	MaxVertexStride     = 1 << 14
	MaxVertexOffset     = 1<<14 - 1
	MaxVertexDivisor    = math.MaxUint32
	MaxLineWidth        = 64
	MaxPointSize        = draw.MaxPointSize
)

// DynamicStates is a set of dynamic states, a bit for each row of stateRows.
type DynamicStates uint64

// stateRow is a dynamic state.
type stateRow struct {
	state vk.DynamicState
	// values is how many values SetState has for it; -1: set says, 0: a command of its own sets it.
	values int
	// set checks the values and keeps them.
	set func(d *dynamics, v []uint32) error
	// take puts what is kept into the state of a draw.
	take func(s *draw.State, d *dynamics)
}

// dynamics is what commands have set.
type dynamics struct {
	draw.State
	set       DynamicStates
	last      [64][]uint32 // what the last SetState had for each row of stateRows that is in set
	viewports [MaxViewports]vk.Viewport
	scissors  [MaxViewports]vk.Rect2D
	// The counts of vkCmdSetViewportWithCount and vkCmdSetScissorWithCount.
	viewportCount, scissorCount uint32

	blends   [MaxColors]draw.Blend
	unwanted uint32 // attachments for which colour writes are disabled: a bit each
	// The attachments for which the last vkCmdSetColorBlendEnableEXT, vkCmdSetColorWriteMaskEXT and
	// vkCmdSetColorWriteEnableEXT have set a value, likewise.
	enabled, masked, decided uint32

	bindings   [MaxVertexBindings]draw.VertexBinding
	described  uint32 // bindings that vkCmdSetVertexInputEXT has described: a bit each
	attributes [MaxVertexAttributes]draw.VertexAttribute
	inputs     int // attributes in use
}

// row is where a dynamic state is in stateRows, -1 if draws don't know it.
func row(state vk.DynamicState) int {
	for i := range stateRows {
		if stateRows[i].state == state {
			return i
		}
	}
	return -1
}

// DynamicState is the set with one dynamic state. It is empty for states that draws don't know.
func DynamicState(state vk.DynamicState) DynamicStates {
	if i := row(state); i >= 0 {
		return 1 << i
	}
	return 0
}

// Has says whether a state is in the set.
func (s DynamicStates) Has(state vk.DynamicState) bool { return s&DynamicState(state) != 0 }

// The sets that draws ask for.
var (
	dynamicViewport      = DynamicState(vk.DYNAMIC_STATE_VIEWPORT)
	dynamicScissor       = DynamicState(vk.DYNAMIC_STATE_SCISSOR)
	dynamicViewportCount = DynamicState(vk.DYNAMIC_STATE_VIEWPORT_WITH_COUNT)
	dynamicScissorCount  = DynamicState(vk.DYNAMIC_STATE_SCISSOR_WITH_COUNT)
	dynamicVertexInput   = DynamicState(vk.DYNAMIC_STATE_VERTEX_INPUT_EXT)
	dynamicStride        = DynamicState(vk.DYNAMIC_STATE_VERTEX_INPUT_BINDING_STRIDE)
	dynamicDepthClip     = DynamicState(vk.DYNAMIC_STATE_DEPTH_CLIP_ENABLE_EXT)
	dynamicBlendEnable   = DynamicState(vk.DYNAMIC_STATE_COLOR_BLEND_ENABLE_EXT)
	dynamicBlendEquation = DynamicState(vk.DYNAMIC_STATE_COLOR_BLEND_EQUATION_EXT)
	dynamicWriteMask     = DynamicState(vk.DYNAMIC_STATE_COLOR_WRITE_MASK_EXT)
	dynamicWriteEnable   = DynamicState(vk.DYNAMIC_STATE_COLOR_WRITE_ENABLE_EXT)
	dynamicBlends        = dynamicBlendEnable | dynamicBlendEquation | dynamicWriteMask
)

// stateRows are the dynamic states that draws know.
var stateRows = [...]stateRow{
	{state: vk.DYNAMIC_STATE_VIEWPORT},
	{state: vk.DYNAMIC_STATE_SCISSOR},
	{state: vk.DYNAMIC_STATE_VIEWPORT_WITH_COUNT},
	{state: vk.DYNAMIC_STATE_SCISSOR_WITH_COUNT},
	{state: vk.DYNAMIC_STATE_VERTEX_INPUT_BINDING_STRIDE},
	{state: vk.DYNAMIC_STATE_VERTEX_INPUT_EXT, values: -1, set: setVertexInput},
	{vk.DYNAMIC_STATE_LINE_WIDTH, 1, setLineWidth, func(s *draw.State, d *dynamics) { s.LineWidth = d.LineWidth }},
	{vk.DYNAMIC_STATE_DEPTH_BIAS, 5, setDepthBias, func(s *draw.State, d *dynamics) {
		enable := s.DepthBias.Enable
		s.DepthBias = d.DepthBias
		s.DepthBias.Enable = enable
	}},
	{vk.DYNAMIC_STATE_BLEND_CONSTANTS, 4, func(d *dynamics, v []uint32) error {
		for i := range d.BlendConstants {
			d.BlendConstants[i] = command.Float(v[i])
		}
		return nil
	}, func(s *draw.State, d *dynamics) { s.BlendConstants = d.BlendConstants }},
	{vk.DYNAMIC_STATE_DEPTH_BOUNDS, 2, setDepthBounds,
		func(s *draw.State, d *dynamics) { s.MinDepth, s.MaxDepth = d.MinDepth, d.MaxDepth }},
	{vk.DYNAMIC_STATE_STENCIL_COMPARE_MASK, 2,
		faces(vk.VUID_vkCmdSetStencilCompareMask_faceMask_parameter,
			func(s *draw.Stencil, v []uint32) { s.CompareMask = v[0] }),
		func(s *draw.State, d *dynamics) {
			s.Front.CompareMask, s.Back.CompareMask = d.Front.CompareMask, d.Back.CompareMask
		}},
	{vk.DYNAMIC_STATE_STENCIL_WRITE_MASK, 2,
		faces(vk.VUID_vkCmdSetStencilWriteMask_faceMask_parameter, func(s *draw.Stencil, v []uint32) { s.WriteMask = v[0] }),
		func(s *draw.State, d *dynamics) {
			s.Front.WriteMask, s.Back.WriteMask = d.Front.WriteMask, d.Back.WriteMask
		}},
	{vk.DYNAMIC_STATE_STENCIL_REFERENCE, 2,
		faces(vk.VUID_vkCmdSetStencilReference_faceMask_parameter, func(s *draw.Stencil, v []uint32) { s.Reference = v[0] }),
		func(s *draw.State, d *dynamics) {
			s.Front.Reference, s.Back.Reference = d.Front.Reference, d.Back.Reference
		}},
	{vk.DYNAMIC_STATE_STENCIL_OP, 5, setStencilOp, func(s *draw.State, d *dynamics) {
		takeOps(&s.Front, &d.Front)
		takeOps(&s.Back, &d.Back)
	}},
	{vk.DYNAMIC_STATE_CULL_MODE, 1, within(uint32(vk.CULL_MODE_FRONT_AND_BACK),
		vk.VUID_vkCmdSetCullMode_cullMode_parameter,
		func(d *dynamics, v uint32) { d.CullMode = vk.CullModeFlags(v) }),
		func(s *draw.State, d *dynamics) { s.CullMode = d.CullMode }},
	{vk.DYNAMIC_STATE_FRONT_FACE, 1, within(uint32(vk.FRONT_FACE_CLOCKWISE), vk.VUID_vkCmdSetFrontFace_frontFace_parameter,
		func(d *dynamics, v uint32) { d.FrontFace = vk.FrontFace(v) }),
		func(s *draw.State, d *dynamics) { s.FrontFace = d.FrontFace }},
	{vk.DYNAMIC_STATE_PRIMITIVE_TOPOLOGY, 1, within(uint32(vk.PRIMITIVE_TOPOLOGY_TRIANGLE_STRIP_WITH_ADJACENCY),
		vk.VUID_vkCmdSetPrimitiveTopology_primitiveTopology_parameter,
		func(d *dynamics, v uint32) { d.Topology = vk.PrimitiveTopology(v) }),
		func(s *draw.State, d *dynamics) { s.Topology = d.Topology }},
	{vk.DYNAMIC_STATE_PRIMITIVE_RESTART_ENABLE, 1, boolean(func(d *dynamics) *bool { return &d.Restart }),
		func(s *draw.State, d *dynamics) { s.Restart = d.Restart }},
	{vk.DYNAMIC_STATE_DEPTH_TEST_ENABLE, 1, boolean(func(d *dynamics) *bool { return &d.DepthTest }),
		func(s *draw.State, d *dynamics) { s.DepthTest = d.DepthTest }},
	{vk.DYNAMIC_STATE_DEPTH_WRITE_ENABLE, 1, boolean(func(d *dynamics) *bool { return &d.DepthWrite }),
		func(s *draw.State, d *dynamics) { s.DepthWrite = d.DepthWrite }},
	{vk.DYNAMIC_STATE_DEPTH_COMPARE_OP, 1, within(uint32(vk.COMPARE_OP_ALWAYS),
		vk.VUID_vkCmdSetDepthCompareOp_depthCompareOp_parameter,
		func(d *dynamics, v uint32) { d.DepthCompare = vk.CompareOp(v) }),
		func(s *draw.State, d *dynamics) { s.DepthCompare = d.DepthCompare }},
	{vk.DYNAMIC_STATE_DEPTH_BOUNDS_TEST_ENABLE, 1, boolean(func(d *dynamics) *bool { return &d.DepthBounds }),
		func(s *draw.State, d *dynamics) { s.DepthBounds = d.DepthBounds }},
	{vk.DYNAMIC_STATE_STENCIL_TEST_ENABLE, 1, boolean(func(d *dynamics) *bool { return &d.StencilTest }),
		func(s *draw.State, d *dynamics) { s.StencilTest = d.StencilTest }},
	{vk.DYNAMIC_STATE_RASTERIZER_DISCARD_ENABLE, 1, boolean(func(d *dynamics) *bool { return &d.NoRasterizer }),
		func(s *draw.State, d *dynamics) { s.NoRasterizer = d.NoRasterizer }},
	{vk.DYNAMIC_STATE_DEPTH_BIAS_ENABLE, 1, boolean(func(d *dynamics) *bool { return &d.DepthBias.Enable }),
		func(s *draw.State, d *dynamics) { s.DepthBias.Enable = d.DepthBias.Enable }},
	{vk.DYNAMIC_STATE_LOGIC_OP_EXT, 1, within(uint32(vk.LOGIC_OP_SET), vk.VUID_vkCmdSetLogicOpEXT_logicOp_parameter,
		func(d *dynamics, v uint32) { d.LogicOp = vk.LogicOp(v) }),
		func(s *draw.State, d *dynamics) { s.LogicOp = d.LogicOp }},
	{vk.DYNAMIC_STATE_LOGIC_OP_ENABLE_EXT, 1, boolean(func(d *dynamics) *bool { return &d.LogicOpEnable }),
		func(s *draw.State, d *dynamics) { s.LogicOpEnable = d.LogicOpEnable }},
	{vk.DYNAMIC_STATE_DEPTH_CLAMP_ENABLE_EXT, 1, boolean(func(d *dynamics) *bool { return &d.DepthClamp }),
		func(s *draw.State, d *dynamics) { s.DepthClamp = d.DepthClamp }},
	{vk.DYNAMIC_STATE_DEPTH_CLAMP_RANGE_EXT, 3, setClampRange, func(s *draw.State, d *dynamics) {
		s.ClampRange, s.ClampMin, s.ClampMax = d.ClampRange, d.ClampMin, d.ClampMax
	}},
	{vk.DYNAMIC_STATE_DEPTH_CLIP_ENABLE_EXT, 1, boolean(func(d *dynamics) *bool { return &d.DepthClip }),
		func(s *draw.State, d *dynamics) { s.DepthClip = d.DepthClip }},
	{vk.DYNAMIC_STATE_DEPTH_CLIP_NEGATIVE_ONE_TO_ONE_EXT, 1, boolean(func(d *dynamics) *bool { return &d.MinusOneToOne }),
		func(s *draw.State, d *dynamics) { s.MinusOneToOne = d.MinusOneToOne }},
	{vk.DYNAMIC_STATE_POLYGON_MODE_EXT, 1, within(uint32(vk.POLYGON_MODE_POINT),
		vk.VUID_vkCmdSetPolygonModeEXT_polygonMode_parameter,
		func(d *dynamics, v uint32) { d.PolygonMode = vk.PolygonMode(v) }),
		func(s *draw.State, d *dynamics) { s.PolygonMode = d.PolygonMode }},
	{vk.DYNAMIC_STATE_RASTERIZATION_SAMPLES_EXT, 1, setSamples,
		func(s *draw.State, d *dynamics) { s.Samples = d.Samples }},
	{vk.DYNAMIC_STATE_SAMPLE_MASK_EXT, 2, func(d *dynamics, v []uint32) error {
		d.SampleMask = v[1]
		return nil
	}, func(s *draw.State, d *dynamics) { s.SampleMask = d.SampleMask }},
	{vk.DYNAMIC_STATE_ALPHA_TO_COVERAGE_ENABLE_EXT, 1, boolean(func(d *dynamics) *bool { return &d.AlphaToCoverage }),
		func(s *draw.State, d *dynamics) { s.AlphaToCoverage = d.AlphaToCoverage }},
	{vk.DYNAMIC_STATE_ALPHA_TO_ONE_ENABLE_EXT, 1, boolean(func(d *dynamics) *bool { return &d.AlphaToOne }),
		func(s *draw.State, d *dynamics) { s.AlphaToOne = d.AlphaToOne }},
	{vk.DYNAMIC_STATE_PROVOKING_VERTEX_MODE_EXT, 1, within(uint32(vk.PROVOKING_VERTEX_MODE_LAST_VERTEX_EXT),
		vk.VUID_vkCmdSetProvokingVertexModeEXT_provokingVertexMode_parameter,
		func(d *dynamics, v uint32) { d.ProvokingLast = v != 0 }),
		func(s *draw.State, d *dynamics) { s.ProvokingLast = d.ProvokingLast }},
	// Draws see what earlier ones wrote, whether a feedback loop is enabled or not.
	{state: vk.DYNAMIC_STATE_ATTACHMENT_FEEDBACK_LOOP_ENABLE_EXT, values: 1,
		set: within(uint32(vk.IMAGE_ASPECT_COLOR_BIT|vk.IMAGE_ASPECT_DEPTH_BIT|vk.IMAGE_ASPECT_STENCIL_BIT),
			vk.VUID_vkCmdSetAttachmentFeedbackLoopEnableEXT_aspectMask_08863, func(*dynamics, uint32) {})},
	{vk.DYNAMIC_STATE_LINE_RASTERIZATION_MODE_EXT, 1, within(uint32(vk.LINE_RASTERIZATION_MODE_RECTANGULAR_SMOOTH),
		vk.VUID_vkCmdSetLineRasterizationModeEXT_lineRasterizationMode_parameter,
		func(d *dynamics, v uint32) { d.LineMode = vk.LineRasterizationMode(v) }),
		func(s *draw.State, d *dynamics) { s.LineMode = d.LineMode }},
	{vk.DYNAMIC_STATE_LINE_STIPPLE_ENABLE_EXT, 1, boolean(func(d *dynamics) *bool { return &d.StippleLines }),
		func(s *draw.State, d *dynamics) { s.StippleLines = d.StippleLines }},
	{vk.DYNAMIC_STATE_LINE_STIPPLE, 2, setStipple,
		func(s *draw.State, d *dynamics) {
			s.StippleFactor, s.StipplePattern = d.StippleFactor, d.StipplePattern
		}},
	{state: vk.DYNAMIC_STATE_COLOR_BLEND_ENABLE_EXT, values: -1, set: attachments(1,
		vk.VUID_vkCmdSetColorBlendEnableEXT_pColorBlendEnables_parameter,
		func(d *dynamics) *uint32 { return &d.enabled }, func(d *dynamics, i uint32, v []uint32) bool {
			d.blends[i].BlendEnable = vk.Bool32(v[0])
			return true
		})},
	{state: vk.DYNAMIC_STATE_COLOR_WRITE_MASK_EXT, values: -1, set: attachments(1,
		vk.VUID_vkCmdSetColorWriteMaskEXT_pColorWriteMasks_parameter,
		func(d *dynamics) *uint32 { return &d.masked }, func(d *dynamics, i uint32, v []uint32) bool {
			d.blends[i].ColorWriteMask = vk.ColorComponentFlags(v[0])
			return v[0] <= 15
		})},
	{state: vk.DYNAMIC_STATE_COLOR_BLEND_EQUATION_EXT, values: -1, set: attachments(6,
		vk.VUID_vkCmdSetColorBlendEquationEXT_pColorBlendEquations_parameter, nil, setEquation)},
	{state: vk.DYNAMIC_STATE_COLOR_WRITE_ENABLE_EXT, values: -1, set: attachments(1,
		vk.VUID_vkCmdSetColorWriteEnableEXT_pColorWriteEnables_parameter,
		func(d *dynamics) *uint32 { return &d.decided }, func(d *dynamics, i uint32, v []uint32) bool {
			if d.unwanted &^= 1 << i; v[0] == 0 {
				d.unwanted |= 1 << i
			}
			return true
		})},
}

// boolean is the set of a VkBool32.
func boolean(at func(*dynamics) *bool) func(*dynamics, []uint32) error {
	return func(d *dynamics, v []uint32) error {
		*at(d) = v[0] != 0
		return nil
	}
}

// within is the set of an enumeration, or of flags, whose values go up to most.
func within(most uint32, rule vk.VUID, set func(*dynamics, uint32)) func(*dynamics, []uint32) error {
	return func(d *dynamics, v []uint32) error {
		if v[0] > most {
			return invalid(rule, "the value is %d", v[0])
		}
		set(d, v[0])
		return nil
	}
}

// faces is the set of a value of one or both stencil faces.
func faces(rule vk.VUID, set func(*draw.Stencil, []uint32)) func(*dynamics, []uint32) error {
	return func(d *dynamics, v []uint32) error {
		if v[0] == 0 || v[0]&^uint32(vk.STENCIL_FACE_FRONT_AND_BACK) != 0 {
			return invalid(rule, "faces %#x", v[0])
		}
		if v[0]&uint32(vk.STENCIL_FACE_FRONT_BIT) != 0 {
			set(&d.Front, v[1:])
		}
		if v[0]&uint32(vk.STENCIL_FACE_BACK_BIT) != 0 {
			set(&d.Back, v[1:])
		}
		return nil
	}
}

// attachments is the set of a state of colour attachments: the first, then size values for each. What is set for those
// beyond MaxColors is of no use. last is where it notes the attachments; nil: nowhere. set says whether the values are
// in order.
func attachments(size int, rule vk.VUID, last func(d *dynamics) *uint32,
	set func(d *dynamics, i uint32, v []uint32) bool) func(*dynamics, []uint32) error {
	return func(d *dynamics, v []uint32) error {
		if len(v) == 0 || (len(v)-1)%size != 0 {
			return invalid(vk.NoVUID, "the recorded command is damaged")
		}
		first, list := v[0], v[1:]
		noted := new(uint32)
		if last != nil {
			noted = last(d)
			*noted = 0
		}
		for i := 0; len(list) > 0 && uint64(first)+uint64(i) < MaxColors; i++ {
			if !set(d, first+uint32(i), list[:size]) {
				return invalid(rule, "the value of attachment %d is %d", int(first)+i, list[:size])
			}
			list = list[size:]
			*noted |= 1 << (first + uint32(i))
		}
		return nil
	}
}

func setEquation(d *dynamics, i uint32, v []uint32) bool {
	const factors, ops = uint32(vk.BLEND_FACTOR_ONE_MINUS_SRC1_ALPHA), uint32(vk.BLEND_OP_MAX)
	b := &d.blends[i]
	b.SrcColorBlendFactor, b.DstColorBlendFactor = vk.BlendFactor(v[0]), vk.BlendFactor(v[1])
	b.ColorBlendOp = vk.BlendOp(v[2])
	b.SrcAlphaBlendFactor, b.DstAlphaBlendFactor = vk.BlendFactor(v[3]), vk.BlendFactor(v[4])
	b.AlphaBlendOp = vk.BlendOp(v[5])
	return max(v[0], v[1], v[3], v[4]) <= factors && max(v[2], v[5]) <= ops
}

func setLineWidth(d *dynamics, v []uint32) error {
	d.LineWidth = SupportedLineWidth(command.Float(v[0]))
	return nil
}

// SupportedLineWidth is the width, in pixels, that lines have for which an application says another: the nearest one
// within lineWidthRange, and 1 for a NaN. No rule keeps applications that enable wideLines to that range.
func SupportedLineWidth(width float32) float32 {
	if !(width > 1) {
		return 1
	}
	return min(width, MaxLineWidth)
}

func setDepthBias(d *dynamics, v []uint32) error {
	if v[3] > uint32(vk.DEPTH_BIAS_REPRESENTATION_FLOAT_EXT) {
		return invalid(vk.VUID_VkDepthBiasRepresentationInfoEXT_depthBiasRepresentation_parameter, "the value is %d", v[3])
	}
	b := &d.DepthBias
	b.Constant, b.Clamp, b.Slope = command.Float(v[0]), command.Float(v[1]), command.Float(v[2])
	b.Representation, b.Exact = vk.DepthBiasRepresentationEXT(v[3]), v[4] != 0
	return nil
}

func setDepthBounds(d *dynamics, v []uint32) error {
	d.MinDepth, d.MaxDepth = command.Float(v[0]), command.Float(v[1])
	if !(d.MinDepth >= 0 && d.MinDepth <= 1) {
		return invalid(vk.VUID_vkCmdSetDepthBounds_minDepthBounds_00600, "minDepthBounds is %v", d.MinDepth)
	}
	if !(d.MaxDepth >= 0 && d.MaxDepth <= 1) {
		return invalid(vk.VUID_vkCmdSetDepthBounds_maxDepthBounds_00601, "maxDepthBounds is %v", d.MaxDepth)
	}
	return nil
}

// setClampRange takes the mode of vkCmdSetDepthClampRangeEXT and the range, which counts if the application defines it.
func setClampRange(d *dynamics, v []uint32) error {
	if v[0] > uint32(vk.DEPTH_CLAMP_MODE_USER_DEFINED_RANGE_EXT) {
		return invalid(vk.VUID_vkCmdSetDepthClampRangeEXT_depthClampMode_parameter, "the value is %d", v[0])
	}
	d.ClampRange = v[0] == uint32(vk.DEPTH_CLAMP_MODE_USER_DEFINED_RANGE_EXT)
	r := vk.DepthClampRangeEXT{MinDepthClamp: command.Float(v[1]), MaxDepthClamp: command.Float(v[2])}
	d.ClampMin, d.ClampMax = r.MinDepthClamp, r.MaxDepthClamp
	if !d.ClampRange {
		return nil
	}
	return CheckClampRange(&r)
}

func setStencilOp(d *dynamics, v []uint32) error {
	for i, rule := range [3]vk.VUID{vk.VUID_vkCmdSetStencilOp_failOp_parameter, vk.VUID_vkCmdSetStencilOp_passOp_parameter,
		vk.VUID_vkCmdSetStencilOp_depthFailOp_parameter} {
		if v[1+i] > uint32(vk.STENCIL_OP_DECREMENT_AND_WRAP) {
			return invalid(rule, "the value is %d", v[1+i])
		}
	}
	if v[4] > uint32(vk.COMPARE_OP_ALWAYS) {
		return invalid(vk.VUID_vkCmdSetStencilOp_compareOp_parameter, "the value is %d", v[4])
	}
	return setStencilFaces(d, v)
}

var setStencilFaces = faces(vk.VUID_vkCmdSetStencilOp_faceMask_parameter, func(s *draw.Stencil, v []uint32) {
	s.FailOp, s.PassOp, s.DepthFailOp = vk.StencilOp(v[0]), vk.StencilOp(v[1]), vk.StencilOp(v[2])
	s.CompareOp = vk.CompareOp(v[3])
})

func takeOps(s, d *draw.Stencil) {
	s.FailOp, s.PassOp, s.DepthFailOp, s.CompareOp = d.FailOp, d.PassOp, d.DepthFailOp, d.CompareOp
}

func setSamples(d *dynamics, v []uint32) error {
	switch v[0] {
	case 1, 4, 8:
		d.Samples = v[0]
		return nil
	}
	return invalid(vk.VUID_vkCmdSetRasterizationSamplesEXT_rasterizationSamples_parameter, "%d samples", v[0])
}

func setStipple(d *dynamics, v []uint32) error {
	if v[0] < 1 || v[0] > 256 {
		return invalid(vk.VUID_vkCmdSetLineStipple_lineStippleFactor_02776, "lineStippleFactor %d is not from 1 to 256", v[0])
	}
	d.StippleFactor, d.StipplePattern = v[0], uint16(v[1])
	return nil
}

// setVertexInput keeps what vkCmdSetVertexInputEXT says: the counts of bindings and attributes, then four values each.
func setVertexInput(d *dynamics, v []uint32) error {
	if len(v) < 2 || uint64(len(v)) != 2+4*(uint64(v[0])+uint64(v[1])) {
		return invalid(vk.NoVUID, "the recorded command is damaged")
	}
	bindings, attributes := v[2:2+4*v[0]], v[2+4*v[0]:]
	d.described, d.inputs = 0, 0
	for ; len(bindings) > 0; bindings = bindings[4:] {
		n := bindings[0]
		switch {
		case n >= MaxVertexBindings:
			return invalid(vk.VUID_VkVertexInputBindingDescription2EXT_binding_04796,
				"binding %d is not below maxVertexInputBindings, %d", n, MaxVertexBindings)
		case d.described&(1<<n) != 0:
			return invalid(vk.VUID_vkCmdSetVertexInputEXT_pVertexBindingDescriptions_04794, "binding %d appears twice", n)
		case bindings[1] > MaxVertexStride:
			return invalid(vk.VUID_VkVertexInputBindingDescription2EXT_stride_04797,
				"stride %d is more than maxVertexInputBindingStride, %d", bindings[1], MaxVertexStride)
		case bindings[2] > uint32(vk.VERTEX_INPUT_RATE_INSTANCE):
			return invalid(vk.VUID_VkVertexInputBindingDescription2EXT_inputRate_parameter, "the value is %d", bindings[2])
		}
		d.described |= 1 << n
		d.bindings[n] = draw.VertexBinding{Stride: bindings[1], Instanced: bindings[2] != 0, Divisor: bindings[3]}
	}
	seen := uint32(0)
	for ; len(attributes) > 0; attributes = attributes[4:] {
		a := draw.VertexAttribute{Location: attributes[0], Binding: attributes[1], Format: vk.Format(attributes[2]),
			Offset: attributes[3]}
		if err := checkAttribute(&a); err != nil {
			return err
		}
		if seen&(1<<a.Location) != 0 {
			return invalid(vk.VUID_vkCmdSetVertexInputEXT_pVertexAttributeDescriptions_04795, "location %d appears twice",
				a.Location)
		}
		if a.Binding >= MaxVertexBindings || d.described&(1<<a.Binding) == 0 {
			return invalid(vk.VUID_vkCmdSetVertexInputEXT_binding_04793, "no description of binding %d", a.Binding)
		}
		seen |= 1 << a.Location
		d.attributes[d.inputs] = a
		d.inputs++
	}
	return nil
}

// checkAttribute looks at an attribute that vkCmdSetVertexInputEXT describes.
func checkAttribute(a *draw.VertexAttribute) error {
	switch {
	case a.Location >= MaxVertexAttributes:
		return invalid(vk.VUID_VkVertexInputAttributeDescription2EXT_location_06228,
			"location %d is not below maxVertexInputAttributes, %d", a.Location, MaxVertexAttributes)
	case a.Offset > MaxVertexOffset:
		return invalid(vk.VUID_VkVertexInputAttributeDescription2EXT_offset_06230,
			"offset %d is more than maxVertexInputAttributeOffset, %d", a.Offset, MaxVertexOffset)
	case !VertexFormat(a.Format):
		return invalid(vk.VUID_VkVertexInputAttributeDescription2EXT_format_04805, "%v is no format of vertices", a.Format)
	}
	return nil
}

// setState keeps a dynamic state.
func (r *replay) setState(c *command.SetState) error {
	i := row(c.State)
	if i < 0 || stateRows[i].set == nil || stateRows[i].values >= 0 && stateRows[i].values != len(c.Values) {
		return r.malformed()
	}
	g := &r.graphics
	d := &g.dynamics
	if d.set&(1<<i) != 0 && slices.Equal(d.last[i], c.Values) {
		return nil
	}
	g.changed = true
	d.set |= 1 << i
	d.last[i] = append(d.last[i][:0], c.Values...)
	if err := stateRows[i].set(d, c.Values); err != nil {
		return vk.Errorf(vk.ERROR_DEVICE_LOST, vk.VUIDOf(err), "%v: %w", c.State, err)
	}
	return nil
}

// setViewports keeps viewports from number first on; counted says that there are no others.
func (r *replay) setViewports(first uint32, list []vk.Viewport, counted bool) error {
	rule := vk.VUID_vkCmdSetViewport_firstViewport_01223
	if counted {
		rule = vk.VUID_vkCmdSetViewportWithCount_viewportCount_03394
	}
	if uint64(first)+uint64(len(list)) > MaxViewports {
		return invalid(rule, "%d viewports from number %d on are more than maxViewports, %d", len(list), first, MaxViewports)
	}
	for i := range list {
		if err := CheckViewport(&list[i]); err != nil {
			return err
		}
	}
	g := &r.graphics
	d, set := &g.dynamics, dynamicViewport
	old := d.viewports[first:][:len(list)]
	if counted {
		set |= dynamicViewportCount
		g.moved = g.moved || d.viewportCount != uint32(len(list))
		d.viewportCount = uint32(len(list))
	}
	if d.set&set != set || !slices.Equal(old, list) {
		copy(old, list)
		d.set |= set
		g.moved = true
	}
	return nil
}

// setScissors is setViewports for scissors.
func (r *replay) setScissors(first uint32, list []vk.Rect2D, counted bool) error {
	rule := vk.VUID_vkCmdSetScissor_firstScissor_00592
	if counted {
		rule = vk.VUID_vkCmdSetScissorWithCount_scissorCount_03397
	}
	if uint64(first)+uint64(len(list)) > MaxViewports {
		return invalid(rule, "%d scissors from number %d on are more than maxViewports, %d", len(list), first, MaxViewports)
	}
	for i := range list {
		if err := CheckScissor(&list[i], vk.VUID_vkCmdSetScissor_x_00595, vk.VUID_vkCmdSetScissor_offset_00596,
			vk.VUID_vkCmdSetScissor_offset_00597); err != nil {
			return err
		}
	}
	g := &r.graphics
	d, set := &g.dynamics, dynamicScissor
	old := d.scissors[first:][:len(list)]
	if counted {
		set |= dynamicScissorCount
		g.moved = g.moved || d.scissorCount != uint32(len(list))
		d.scissorCount = uint32(len(list))
	}
	if d.set&set != set || !slices.Equal(old, list) {
		copy(old, list)
		d.set |= set
		g.moved = true
	}
	return nil
}
