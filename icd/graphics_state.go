package icd

import (
	"slices"

	"farside/internal/draw"
	"farside/internal/exec"
	"farside/internal/vk"
)

// dynamicRules are the features that dynamic states need. Others need none.
var dynamicRules = map[vk.DynamicState]struct {
	feature string
	rule    vk.VUID
}{
	vk.DYNAMIC_STATE_LOGIC_OP_EXT: {"extendedDynamicState2LogicOp",
		vk.VUID_VkGraphicsPipelineCreateInfo_pDynamicStates_04869},
	vk.DYNAMIC_STATE_VERTEX_INPUT_EXT: {"vertexInputDynamicState",
		vk.VUID_VkGraphicsPipelineCreateInfo_pDynamicStates_04807},
	vk.DYNAMIC_STATE_COLOR_WRITE_ENABLE_EXT: {"colorWriteEnable",
		vk.VUID_VkGraphicsPipelineCreateInfo_pDynamicStates_04800},
	vk.DYNAMIC_STATE_DEPTH_CLAMP_ENABLE_EXT: {"extendedDynamicState3DepthClampEnable",
		vk.VUID_VkGraphicsPipelineCreateInfo_extendedDynamicState3DepthClampEnable_07371},
	vk.DYNAMIC_STATE_POLYGON_MODE_EXT: {"extendedDynamicState3PolygonMode",
		vk.VUID_VkGraphicsPipelineCreateInfo_extendedDynamicState3PolygonMode_07372},
	vk.DYNAMIC_STATE_RASTERIZATION_SAMPLES_EXT: {"extendedDynamicState3RasterizationSamples",
		vk.VUID_VkGraphicsPipelineCreateInfo_extendedDynamicState3RasterizationSamples_07373},
	vk.DYNAMIC_STATE_SAMPLE_MASK_EXT: {"extendedDynamicState3SampleMask",
		vk.VUID_VkGraphicsPipelineCreateInfo_extendedDynamicState3SampleMask_07374},
	vk.DYNAMIC_STATE_ALPHA_TO_COVERAGE_ENABLE_EXT: {"extendedDynamicState3AlphaToCoverageEnable",
		vk.VUID_VkGraphicsPipelineCreateInfo_extendedDynamicState3AlphaToCoverageEnable_07375},
	vk.DYNAMIC_STATE_ALPHA_TO_ONE_ENABLE_EXT: {"extendedDynamicState3AlphaToOneEnable",
		vk.VUID_VkGraphicsPipelineCreateInfo_extendedDynamicState3AlphaToOneEnable_07376},
	vk.DYNAMIC_STATE_LOGIC_OP_ENABLE_EXT: {"extendedDynamicState3LogicOpEnable",
		vk.VUID_VkGraphicsPipelineCreateInfo_extendedDynamicState3LogicOpEnable_07377},
	vk.DYNAMIC_STATE_COLOR_BLEND_ENABLE_EXT: {"extendedDynamicState3ColorBlendEnable",
		vk.VUID_VkGraphicsPipelineCreateInfo_extendedDynamicState3ColorBlendEnable_07378},
	vk.DYNAMIC_STATE_COLOR_BLEND_EQUATION_EXT: {"extendedDynamicState3ColorBlendEquation",
		vk.VUID_VkGraphicsPipelineCreateInfo_extendedDynamicState3ColorBlendEquation_07379},
	vk.DYNAMIC_STATE_COLOR_WRITE_MASK_EXT: {"extendedDynamicState3ColorWriteMask",
		vk.VUID_VkGraphicsPipelineCreateInfo_extendedDynamicState3ColorWriteMask_07380},
	vk.DYNAMIC_STATE_DEPTH_CLIP_ENABLE_EXT: {"extendedDynamicState3DepthClipEnable",
		vk.VUID_VkGraphicsPipelineCreateInfo_extendedDynamicState3DepthClipEnable_07384},
	vk.DYNAMIC_STATE_PROVOKING_VERTEX_MODE_EXT: {"extendedDynamicState3ProvokingVertexMode",
		vk.VUID_VkGraphicsPipelineCreateInfo_extendedDynamicState3ProvokingVertexMode_07387},
	vk.DYNAMIC_STATE_LINE_RASTERIZATION_MODE_EXT: {"extendedDynamicState3LineRasterizationMode",
		vk.VUID_VkGraphicsPipelineCreateInfo_extendedDynamicState3LineRasterizationMode_07388},
	vk.DYNAMIC_STATE_LINE_STIPPLE_ENABLE_EXT: {"extendedDynamicState3LineStippleEnable",
		vk.VUID_VkGraphicsPipelineCreateInfo_extendedDynamicState3LineStippleEnable_07389},
	vk.DYNAMIC_STATE_DEPTH_CLIP_NEGATIVE_ONE_TO_ONE_EXT: {"extendedDynamicState3DepthClipNegativeOneToOne",
		vk.VUID_VkGraphicsPipelineCreateInfo_extendedDynamicState3DepthClipNegativeOneToOne_07390},
}

// readDynamic takes over which states are dynamic.
func (m *graphicsMaker) readDynamic() error {
	s := &m.made.state.State
	if m.own&vertexPart != 0 {
		s.LineWidth, s.StippleFactor = 1, 1 // where nothing else says it
	}
	if m.own&outputPart != 0 {
		s.Samples, s.SampleMask = 1, ^uint32(0)
	}
	info := m.info.PDynamicState
	if info == nil {
		return nil
	}
	for _, state := range vk.Slice(info.PDynamicStates, info.DynamicStateCount) {
		bit := exec.DynamicState(state)
		switch need := dynamicRules[state]; {
		case bit == 0:
			return vk.Errorf(vk.ERROR_UNKNOWN, vk.VUID_VkPipelineDynamicStateCreateInfo_pDynamicStates_parameter,
				"%v needs features that the device does not have", state)
		case m.dynamic&bit != 0:
			return vk.Errorf(vk.ERROR_UNKNOWN, vk.VUID_VkPipelineDynamicStateCreateInfo_pDynamicStates_01442,
				"%v appears twice", state)
		case need.feature != "" && !m.allows(need.feature, need.rule):
			return vk.Errorf(vk.ERROR_UNKNOWN, need.rule, "%v needs the feature %s", state, need.feature)
		}
		m.dynamic |= bit
	}
	// States of parts that the structure does not describe don't count: a library, or nobody, has those.
	m.dynamic &= ownStates(m.own)
	m.made.state.Dynamic |= m.dynamic
	return nil
}

// inputStates, fragmentStates and outputStates are the dynamic states of parts. All others are of the
// pre-rasterization shaders.
var (
	inputStates = statesOf(vk.DYNAMIC_STATE_VERTEX_INPUT_EXT, vk.DYNAMIC_STATE_VERTEX_INPUT_BINDING_STRIDE,
		vk.DYNAMIC_STATE_PRIMITIVE_TOPOLOGY, vk.DYNAMIC_STATE_PRIMITIVE_RESTART_ENABLE)
	fragmentStates = statesOf(vk.DYNAMIC_STATE_DEPTH_BOUNDS, vk.DYNAMIC_STATE_STENCIL_COMPARE_MASK,
		vk.DYNAMIC_STATE_STENCIL_WRITE_MASK, vk.DYNAMIC_STATE_STENCIL_REFERENCE, vk.DYNAMIC_STATE_DEPTH_TEST_ENABLE,
		vk.DYNAMIC_STATE_DEPTH_WRITE_ENABLE, vk.DYNAMIC_STATE_DEPTH_COMPARE_OP,
		vk.DYNAMIC_STATE_DEPTH_BOUNDS_TEST_ENABLE, vk.DYNAMIC_STATE_STENCIL_TEST_ENABLE, vk.DYNAMIC_STATE_STENCIL_OP)
	outputStates = statesOf(vk.DYNAMIC_STATE_BLEND_CONSTANTS, vk.DYNAMIC_STATE_LOGIC_OP_EXT,
		vk.DYNAMIC_STATE_LOGIC_OP_ENABLE_EXT, vk.DYNAMIC_STATE_COLOR_WRITE_ENABLE_EXT,
		vk.DYNAMIC_STATE_COLOR_BLEND_ENABLE_EXT, vk.DYNAMIC_STATE_COLOR_BLEND_EQUATION_EXT,
		vk.DYNAMIC_STATE_COLOR_WRITE_MASK_EXT, vk.DYNAMIC_STATE_RASTERIZATION_SAMPLES_EXT,
		vk.DYNAMIC_STATE_SAMPLE_MASK_EXT, vk.DYNAMIC_STATE_ALPHA_TO_COVERAGE_ENABLE_EXT,
		vk.DYNAMIC_STATE_ALPHA_TO_ONE_ENABLE_EXT)
)

func statesOf(list ...vk.DynamicState) (set exec.DynamicStates) {
	for _, state := range list {
		set |= exec.DynamicState(state)
	}
	return set
}

// ownStates are the dynamic states of parts.
func ownStates(parts vk.GraphicsPipelineLibraryFlagsEXT) (set exec.DynamicStates) {
	if parts&inputPart != 0 {
		set |= inputStates
	}
	if parts&vertexPart != 0 {
		set |= ^(inputStates | fragmentStates | outputStates)
	}
	if parts&fragmentPart != 0 {
		set |= fragmentStates
	}
	if parts&outputPart != 0 {
		set |= outputStates
	}
	return set
}

// wants holds a state that a feature allows to it.
func (m *graphicsMaker) wants(state bool, feature string, rule vk.VUID) error {
	if state && !m.allows(feature, rule) {
		return vk.Errorf(vk.ERROR_UNKNOWN, rule, "the state needs the feature %s", feature)
	}
	return nil
}

// enumerated holds the value of an enumeration to its range.
func enumerated[T ~int32](v, most T, rule vk.VUID) error {
	if v < 0 || v > most {
		return vk.Errorf(vk.ERROR_UNKNOWN, rule, "the value is %d", v)
	}
	return nil
}

// firstError is the first of errors that is one.
func firstError(list ...error) error {
	for _, err := range list {
		if err != nil {
			return err
		}
	}
	return nil
}

// readInput takes over the vertex input.
func (m *graphicsMaker) readInput() error {
	s := &m.made.state.State
	if !m.dynamic.Has(vk.DYNAMIC_STATE_VERTEX_INPUT_EXT) {
		if m.info.PVertexInputState == nil {
			return vk.Errorf(vk.ERROR_UNKNOWN, vk.VUID_VkGraphicsPipelineCreateInfo_pStages_02097,
				"there is no vertex input state")
		}
		if err := m.readBindings(m.info.PVertexInputState); err != nil {
			return err
		}
		if err := m.readAttributes(m.info.PVertexInputState); err != nil {
			return err
		}
	}
	a := m.info.PInputAssemblyState
	if a == nil {
		if m.dynamic.Has(vk.DYNAMIC_STATE_PRIMITIVE_TOPOLOGY) && m.dynamic.Has(vk.DYNAMIC_STATE_PRIMITIVE_RESTART_ENABLE) {
			return nil
		}
		return vk.Errorf(vk.ERROR_UNKNOWN, vk.VUID_VkGraphicsPipelineCreateInfo_pStages_08888,
			"there is no input assembly state")
	}
	s.Topology, s.Restart = a.Topology, a.PrimitiveRestartEnable != vk.FALSE
	switch a.Topology {
	case vk.PRIMITIVE_TOPOLOGY_PATCH_LIST:
		return vk.Errorf(vk.ERROR_UNKNOWN, vk.VUID_VkPipelineInputAssemblyStateCreateInfo_topology_00430,
			"%v needs the feature tessellationShader", a.Topology)
	case vk.PRIMITIVE_TOPOLOGY_LINE_LIST_WITH_ADJACENCY, vk.PRIMITIVE_TOPOLOGY_LINE_STRIP_WITH_ADJACENCY,
		vk.PRIMITIVE_TOPOLOGY_TRIANGLE_LIST_WITH_ADJACENCY, vk.PRIMITIVE_TOPOLOGY_TRIANGLE_STRIP_WITH_ADJACENCY:
		return vk.Errorf(vk.ERROR_UNKNOWN, vk.VUID_VkPipelineInputAssemblyStateCreateInfo_topology_00429,
			"%v needs the feature geometryShader", a.Topology)
	}
	list := a.Topology == vk.PRIMITIVE_TOPOLOGY_POINT_LIST || a.Topology == vk.PRIMITIVE_TOPOLOGY_LINE_LIST ||
		a.Topology == vk.PRIMITIVE_TOPOLOGY_TRIANGLE_LIST
	return firstError(enumerated(a.Topology, vk.PRIMITIVE_TOPOLOGY_PATCH_LIST,
		vk.VUID_VkPipelineInputAssemblyStateCreateInfo_topology_parameter),
		m.wants(s.Restart && list && !m.dynamic.Has(vk.DYNAMIC_STATE_PRIMITIVE_RESTART_ENABLE) &&
			!m.dynamic.Has(vk.DYNAMIC_STATE_PRIMITIVE_TOPOLOGY), "primitiveTopologyListRestart",
			vk.VUID_VkPipelineInputAssemblyStateCreateInfo_topology_06252))
}

func (m *graphicsMaker) readBindings(info *vk.PipelineVertexInputStateCreateInfo) error {
	s := &m.made.state.State
	if info.VertexBindingDescriptionCount > exec.MaxVertexBindings {
		return vk.Errorf(vk.ERROR_UNKNOWN, vk.VUID_VkPipelineVertexInputStateCreateInfo_vertexBindingDescriptionCount_00613,
			"%d bindings are more than maxVertexInputBindings, %d", info.VertexBindingDescriptionCount, exec.MaxVertexBindings)
	}
	s.Bindings = map[uint32]draw.VertexBinding{}
	for _, b := range vk.Slice(info.PVertexBindingDescriptions, info.VertexBindingDescriptionCount) {
		_, twice := s.Bindings[b.Binding]
		switch {
		case b.Binding >= exec.MaxVertexBindings:
			return vk.Errorf(vk.ERROR_UNKNOWN, vk.VUID_VkVertexInputBindingDescription_binding_00618,
				"binding %d is not below maxVertexInputBindings, %d", b.Binding, exec.MaxVertexBindings)
		case b.Stride > exec.MaxVertexStride && !m.dynamic.Has(vk.DYNAMIC_STATE_VERTEX_INPUT_BINDING_STRIDE):
			return vk.Errorf(vk.ERROR_UNKNOWN, vk.VUID_VkVertexInputBindingDescription_stride_00619,
				"stride %d is more than maxVertexInputBindingStride, %d", b.Stride, exec.MaxVertexStride)
		case twice:
			return vk.Errorf(vk.ERROR_UNKNOWN, vk.VUID_VkPipelineVertexInputStateCreateInfo_pVertexBindingDescriptions_00616,
				"binding %d appears twice", b.Binding)
		}
		if err := enumerated(b.InputRate, vk.VERTEX_INPUT_RATE_INSTANCE,
			vk.VUID_VkVertexInputBindingDescription_inputRate_parameter); err != nil {
			return err
		}
		s.Bindings[b.Binding] = draw.VertexBinding{Stride: b.Stride, Divisor: 1,
			Instanced: b.InputRate == vk.VERTEX_INPUT_RATE_INSTANCE}
	}
	divisors := vk.Find[vk.PipelineVertexInputDivisorStateCreateInfo](info.PNext)
	if divisors == nil {
		return nil
	}
	for _, v := range vk.Slice(divisors.PVertexBindingDivisors, divisors.VertexBindingDivisorCount) {
		b, ok := s.Bindings[v.Binding]
		if !ok || !b.Instanced {
			return vk.Errorf(vk.ERROR_UNKNOWN, vk.VUID_VkVertexInputBindingDivisorDescription_inputRate_01871,
				"binding %d has a divisor, and is not walked through by instance", v.Binding)
		}
		if err := firstError(
			m.wants(v.Divisor == 0, "vertexAttributeInstanceRateZeroDivisor",
				vk.VUID_VkVertexInputBindingDivisorDescription_vertexAttributeInstanceRateZeroDivisor_02228),
			m.wants(v.Divisor != 1, "vertexAttributeInstanceRateDivisor",
				vk.VUID_VkVertexInputBindingDivisorDescription_vertexAttributeInstanceRateDivisor_02229),
		); err != nil {
			return err
		}
		b.Divisor = v.Divisor
		s.Bindings[v.Binding] = b
	}
	return nil
}

func (m *graphicsMaker) readAttributes(info *vk.PipelineVertexInputStateCreateInfo) error {
	s := &m.made.state.State
	if info.VertexAttributeDescriptionCount > exec.MaxVertexAttributes {
		return vk.Errorf(vk.ERROR_UNKNOWN,
			vk.VUID_VkPipelineVertexInputStateCreateInfo_vertexAttributeDescriptionCount_00614,
			"%d attributes are more than maxVertexInputAttributes, %d", info.VertexAttributeDescriptionCount,
			exec.MaxVertexAttributes)
	}
	for _, a := range vk.Slice(info.PVertexAttributeDescriptions, info.VertexAttributeDescriptionCount) {
		_, bound := s.Bindings[a.Binding]
		switch {
		case a.Location >= exec.MaxVertexAttributes:
			return vk.Errorf(vk.ERROR_UNKNOWN, vk.VUID_VkVertexInputAttributeDescription_location_00620,
				"location %d is not below maxVertexInputAttributes, %d", a.Location, exec.MaxVertexAttributes)
		case !bound:
			return vk.Errorf(vk.ERROR_UNKNOWN, vk.VUID_VkPipelineVertexInputStateCreateInfo_binding_00615,
				"attribute %d is of binding %d, which is not described", a.Location, a.Binding)
		case a.Offset > exec.MaxVertexOffset:
			return vk.Errorf(vk.ERROR_UNKNOWN, vk.VUID_VkVertexInputAttributeDescription_offset_00622,
				"offset %d is more than maxVertexInputAttributeOffset, %d", a.Offset, exec.MaxVertexOffset)
		case !exec.VertexFormat(a.Format):
			return vk.Errorf(vk.ERROR_UNKNOWN, vk.VUID_VkVertexInputAttributeDescription_format_00623,
				"%v is no format of vertices", a.Format)
		case slices.ContainsFunc(s.Attributes, func(o draw.VertexAttribute) bool { return o.Location == a.Location }):
			return vk.Errorf(vk.ERROR_UNKNOWN,
				vk.VUID_VkPipelineVertexInputStateCreateInfo_pVertexAttributeDescriptions_00617, "location %d appears twice",
				a.Location)
		}
		s.Attributes = append(s.Attributes,
			draw.VertexAttribute{Location: a.Location, Binding: a.Binding, Offset: a.Offset, Format: a.Format})
	}
	return nil
}

// readRasterization takes over the state of the rasterizer and of viewports.
func (m *graphicsMaker) readRasterization() error {
	s := &m.made.state.State
	r := m.info.PRasterizationState
	if r == nil {
		if !m.dynamic.Has(vk.DYNAMIC_STATE_POLYGON_MODE_EXT) { // nor are others then, without which it can't be NULL
			return vk.Errorf(vk.ERROR_UNKNOWN, vk.VUID_VkGraphicsPipelineCreateInfo_pRasterizationState_06601,
				"there is no rasterization state")
		}
		m.made.state.ClipsUnclamped = true
		return m.readViewports()
	}
	s.NoRasterizer, s.DepthClamp = r.RasterizerDiscardEnable != vk.FALSE, r.DepthClampEnable != vk.FALSE
	s.PolygonMode, s.CullMode, s.FrontFace = r.PolygonMode, r.CullMode&vk.CULL_MODE_FRONT_AND_BACK, r.FrontFace
	s.DepthBias = draw.DepthBias{Enable: r.DepthBiasEnable != vk.FALSE, Constant: r.DepthBiasConstantFactor,
		Clamp: r.DepthBiasClamp, Slope: r.DepthBiasSlopeFactor}
	if b := vk.Find[vk.DepthBiasRepresentationInfoEXT](r.PNext); b != nil {
		s.DepthBias.Representation, s.DepthBias.Exact = b.DepthBiasRepresentation, b.DepthBiasExact != vk.FALSE
	}
	if s.LineWidth = 1; !m.dynamic.Has(vk.DYNAMIC_STATE_LINE_WIDTH) {
		s.LineWidth = exec.SupportedLineWidth(r.LineWidth)
	}
	if c := vk.Find[vk.PipelineRasterizationDepthClipStateCreateInfoEXT](r.PNext); c != nil {
		s.DepthClip = c.DepthClipEnable != vk.FALSE
	} else {
		m.made.state.ClipsUnclamped = true
		s.DepthClip = !s.DepthClamp
	}
	if p := vk.Find[vk.PipelineRasterizationProvokingVertexStateCreateInfoEXT](r.PNext); p != nil {
		s.ProvokingLast = p.ProvokingVertexMode == vk.PROVOKING_VERTEX_MODE_LAST_VERTEX_EXT
	}
	dynamic := m.dynamic.Has
	if err := firstError(m.readLines(r),
		m.wants(s.ProvokingLast && !dynamic(vk.DYNAMIC_STATE_PROVOKING_VERTEX_MODE_EXT), "provokingVertexLast",
			vk.VUID_VkPipelineRasterizationProvokingVertexStateCreateInfoEXT_provokingVertexMode_04883),
		enumerated(s.PolygonMode, vk.POLYGON_MODE_POINT,
			vk.VUID_VkPipelineRasterizationStateCreateInfo_polygonMode_parameter),
		enumerated(s.FrontFace, vk.FRONT_FACE_CLOCKWISE,
			vk.VUID_VkPipelineRasterizationStateCreateInfo_frontFace_parameter),
		m.wants(s.DepthClamp && !dynamic(vk.DYNAMIC_STATE_DEPTH_CLAMP_ENABLE_EXT), "depthClamp",
			vk.VUID_VkPipelineRasterizationStateCreateInfo_depthClampEnable_00782),
		m.wants((s.PolygonMode == vk.POLYGON_MODE_LINE || s.PolygonMode == vk.POLYGON_MODE_POINT) &&
			!dynamic(vk.DYNAMIC_STATE_POLYGON_MODE_EXT), "fillModeNonSolid",
			vk.VUID_VkPipelineRasterizationStateCreateInfo_polygonMode_01507),
		m.wants(s.DepthBias.Enable && s.DepthBias.Clamp != 0 && !dynamic(vk.DYNAMIC_STATE_DEPTH_BIAS), "depthBiasClamp",
			vk.VUID_VkGraphicsPipelineCreateInfo_pDynamicStates_00754),
		m.wants(r.LineWidth > 0 && r.LineWidth != 1 && !dynamic(vk.DYNAMIC_STATE_LINE_WIDTH), "wideLines",
			vk.VUID_VkGraphicsPipelineCreateInfo_pDynamicStates_00749),
	); err != nil {
		return err
	}
	if m.never() {
		return nil
	}
	return m.readViewports()
}

// readLines takes over how lines are drawn.
func (m *graphicsMaker) readLines(r *vk.PipelineRasterizationStateCreateInfo) error {
	s := &m.made.state.State
	l := vk.Find[vk.PipelineRasterizationLineStateCreateInfo](r.PNext)
	if l == nil {
		return nil
	}
	s.LineMode, s.StippleLines = l.LineRasterizationMode, l.StippledLineEnable != vk.FALSE
	enable := m.dynamic.Has(vk.DYNAMIC_STATE_LINE_STIPPLE_ENABLE_EXT)
	if !m.dynamic.Has(vk.DYNAMIC_STATE_LINE_STIPPLE) && (s.StippleLines || enable) {
		s.StippleFactor, s.StipplePattern = l.LineStippleFactor, l.LineStipplePattern
		if !enable && (s.StippleFactor < 1 || s.StippleFactor > 256) {
			return vk.Errorf(vk.ERROR_UNKNOWN, vk.VUID_VkGraphicsPipelineCreateInfo_stippledLineEnable_02767,
				"lineStippleFactor %d is not from 1 to 256", s.StippleFactor)
		}
	}
	mode := s.LineMode
	if m.dynamic.Has(vk.DYNAMIC_STATE_LINE_RASTERIZATION_MODE_EXT) {
		return nil
	}
	return firstError(m.checkStipple(),
		m.wants(mode == vk.LINE_RASTERIZATION_MODE_RECTANGULAR, "rectangularLines",
			vk.VUID_VkPipelineRasterizationLineStateCreateInfo_lineRasterizationMode_02768),
		m.wants(mode == vk.LINE_RASTERIZATION_MODE_BRESENHAM, "bresenhamLines",
			vk.VUID_VkPipelineRasterizationLineStateCreateInfo_lineRasterizationMode_02769),
		m.wants(mode == vk.LINE_RASTERIZATION_MODE_RECTANGULAR_SMOOTH, "smoothLines",
			vk.VUID_VkPipelineRasterizationLineStateCreateInfo_lineRasterizationMode_02770),
		enumerated(mode, vk.LINE_RASTERIZATION_MODE_RECTANGULAR_SMOOTH,
			vk.VUID_VkPipelineRasterizationLineStateCreateInfo_lineRasterizationMode_parameter))
}

// checkStipple looks whether lines of the mode can be stippled.
func (m *graphicsMaker) checkStipple() error {
	s := &m.made.state.State
	if !s.StippleLines || m.dynamic.Has(vk.DYNAMIC_STATE_LINE_STIPPLE_ENABLE_EXT) {
		return nil
	}
	switch s.LineMode {
	case vk.LINE_RASTERIZATION_MODE_RECTANGULAR:
		return m.wants(true, "stippledRectangularLines",
			vk.VUID_VkPipelineRasterizationLineStateCreateInfo_stippledLineEnable_02771)
	case vk.LINE_RASTERIZATION_MODE_BRESENHAM:
		return m.wants(true, "stippledBresenhamLines",
			vk.VUID_VkPipelineRasterizationLineStateCreateInfo_stippledLineEnable_02772)
	case vk.LINE_RASTERIZATION_MODE_RECTANGULAR_SMOOTH:
		return m.wants(true, "stippledSmoothLines",
			vk.VUID_VkPipelineRasterizationLineStateCreateInfo_stippledLineEnable_02773)
	}
	return m.wants(true, "stippledRectangularLines",
		vk.VUID_VkPipelineRasterizationLineStateCreateInfo_stippledLineEnable_02774)
}

// readViewports takes over viewports and scissors, or how many there are.
func (m *graphicsMaker) readViewports() error {
	s, v := &m.made.state.State, m.info.PViewportState
	viewports := !m.dynamic.Has(vk.DYNAMIC_STATE_VIEWPORT_WITH_COUNT)
	scissors := !m.dynamic.Has(vk.DYNAMIC_STATE_SCISSOR_WITH_COUNT)
	switch {
	case v == nil && (viewports || scissors):
		return vk.Errorf(vk.ERROR_UNKNOWN, vk.VUID_VkGraphicsPipelineCreateInfo_rasterizerDiscardEnable_09024,
			"there is no viewport state")
	case v == nil:
		return nil
	}
	if c := vk.Find[vk.PipelineViewportDepthClipControlCreateInfoEXT](v.PNext); c != nil {
		s.MinusOneToOne = c.NegativeOneToOne != vk.FALSE
	}
	if err := m.readClampRange(v); err != nil {
		return err
	}
	most := m.physical.limits.MaxViewports
	switch {
	case viewports && v.ViewportCount > most:
		return vk.Errorf(vk.ERROR_UNKNOWN, vk.VUID_VkPipelineViewportStateCreateInfo_viewportCount_01218,
			"%d viewports are more than maxViewports, %d", v.ViewportCount, most)
	case scissors && v.ScissorCount > most:
		return vk.Errorf(vk.ERROR_UNKNOWN, vk.VUID_VkPipelineViewportStateCreateInfo_scissorCount_01219,
			"%d scissors are more than maxViewports, %d", v.ScissorCount, most)
	case viewports && v.ViewportCount == 0 || scissors && v.ScissorCount == 0:
		return vk.Errorf(vk.ERROR_UNKNOWN, vk.VUID_VkPipelineViewportStateCreateInfo_viewportCount_04135,
			"there are %d viewports and %d scissors", v.ViewportCount, v.ScissorCount)
	case viewports && scissors && v.ViewportCount != v.ScissorCount:
		return vk.Errorf(vk.ERROR_UNKNOWN, vk.VUID_VkPipelineViewportStateCreateInfo_scissorCount_04134,
			"there are %d viewports and %d scissors", v.ViewportCount, v.ScissorCount)
	}
	m.made.state.Viewports, m.made.state.Scissors = v.ViewportCount, v.ScissorCount
	if viewports && !m.dynamic.Has(vk.DYNAMIC_STATE_VIEWPORT) {
		s.Viewports = slices.Clone(vk.Slice(v.PViewports, v.ViewportCount))
	}
	if scissors && !m.dynamic.Has(vk.DYNAMIC_STATE_SCISSOR) {
		s.Scissors = slices.Clone(vk.Slice(v.PScissors, v.ScissorCount))
	}
	for i := range s.Viewports {
		if err := exec.CheckViewport(&s.Viewports[i]); err != nil {
			return vk.Errorf(vk.ERROR_UNKNOWN, vk.VUIDOf(err), "%w", err)
		}
	}
	for i := range s.Scissors {
		if err := exec.CheckScissor(&s.Scissors[i], vk.VUID_VkPipelineViewportStateCreateInfo_x_02821,
			vk.VUID_VkPipelineViewportStateCreateInfo_offset_02822,
			vk.VUID_VkPipelineViewportStateCreateInfo_offset_02823); err != nil {
			return vk.Errorf(vk.ERROR_UNKNOWN, vk.VUIDOf(err), "%w", err)
		}
	}
	return nil
}

// readClampRange takes over what depths are clamped to.
func (m *graphicsMaker) readClampRange(v *vk.PipelineViewportStateCreateInfo) error {
	c := vk.Find[vk.PipelineViewportDepthClampControlCreateInfoEXT](v.PNext)
	if c == nil || m.dynamic.Has(vk.DYNAMIC_STATE_DEPTH_CLAMP_RANGE_EXT) {
		return nil
	}
	if err := enumerated(c.DepthClampMode, vk.DEPTH_CLAMP_MODE_USER_DEFINED_RANGE_EXT,
		vk.VUID_VkPipelineViewportDepthClampControlCreateInfoEXT_depthClampMode_parameter); err != nil {
		return err
	}
	if c.DepthClampMode != vk.DEPTH_CLAMP_MODE_USER_DEFINED_RANGE_EXT {
		return nil
	}
	r := c.PDepthClampRange
	if r == nil {
		return vk.Errorf(vk.ERROR_UNKNOWN,
			vk.VUID_VkPipelineViewportDepthClampControlCreateInfoEXT_pDepthClampRange_09646, "pDepthClampRange is NULL")
	}
	if err := exec.CheckClampRange(r); err != nil {
		return vk.Errorf(vk.ERROR_UNKNOWN, vk.VUIDOf(err), "%w", err)
	}
	s := &m.made.state.State
	s.ClampRange, s.ClampMin, s.ClampMax = true, r.MinDepthClamp, r.MaxDepthClamp
	return nil
}

// readFragment takes over the tests of depths and stencils.
func (m *graphicsMaker) readFragment() error {
	s, i := &m.made.state.State, m.info.PDepthStencilState
	if i == nil || m.never() {
		return nil
	}
	s.DepthTest, s.DepthWrite, s.DepthCompare = i.DepthTestEnable != vk.FALSE, i.DepthWriteEnable != vk.FALSE,
		i.DepthCompareOp
	s.DepthBounds, s.MinDepth, s.MaxDepth = i.DepthBoundsTestEnable != vk.FALSE, i.MinDepthBounds, i.MaxDepthBounds
	s.StencilTest, s.Front, s.Back = i.StencilTestEnable != vk.FALSE, i.Front, i.Back
	bounds := s.DepthBounds && !m.dynamic.Has(vk.DYNAMIC_STATE_DEPTH_BOUNDS_TEST_ENABLE)
	if err := firstError(
		m.wants(bounds, "depthBounds", vk.VUID_VkPipelineDepthStencilStateCreateInfo_depthBoundsTestEnable_00598),
		enumerated(s.DepthCompare, vk.COMPARE_OP_ALWAYS,
			vk.VUID_VkPipelineDepthStencilStateCreateInfo_depthCompareOp_parameter)); err != nil {
		return err
	}
	if bounds && !m.dynamic.Has(vk.DYNAMIC_STATE_DEPTH_BOUNDS) &&
		!(s.MinDepth >= 0 && s.MinDepth <= 1 && s.MaxDepth >= 0 && s.MaxDepth <= 1) {
		return vk.Errorf(vk.ERROR_UNKNOWN, vk.VUID_VkGraphicsPipelineCreateInfo_pDynamicStates_02510,
			"the bounds of depths are %v and %v", s.MinDepth, s.MaxDepth)
	}
	for _, o := range []*draw.Stencil{&s.Front, &s.Back} {
		const most = vk.STENCIL_OP_DECREMENT_AND_WRAP
		if err := firstError(enumerated(o.FailOp, most, vk.VUID_VkStencilOpState_failOp_parameter),
			enumerated(o.PassOp, most, vk.VUID_VkStencilOpState_passOp_parameter),
			enumerated(o.DepthFailOp, most, vk.VUID_VkStencilOpState_depthFailOp_parameter),
			enumerated(o.CompareOp, vk.COMPARE_OP_ALWAYS, vk.VUID_VkStencilOpState_compareOp_parameter)); err != nil {
			return err
		}
	}
	return nil
}

// readOutput takes over samples and blending.
func (m *graphicsMaker) readOutput() error {
	if m.never() {
		return nil
	}
	s, i := &m.made.state.State, m.info.PMultisampleState
	switch {
	case i == nil && !m.dynamic.Has(vk.DYNAMIC_STATE_RASTERIZATION_SAMPLES_EXT):
		return vk.Errorf(vk.ERROR_UNKNOWN, vk.VUID_VkGraphicsPipelineCreateInfo_pMultisampleState_09026,
			"there is no multisample state")
	case i != nil:
		if err := m.readSamples(i); err != nil {
			return err
		}
	}
	if err := m.readLocations(); err != nil {
		return err
	}
	m.readTargets()
	c := m.info.PColorBlendState
	if c == nil {
		return nil
	}
	s.LogicOpEnable, s.LogicOp, s.BlendConstants = c.LogicOpEnable != vk.FALSE, c.LogicOp, c.BlendConstants
	if s.LogicOpEnable {
		if err := firstError(
			m.wants(!m.dynamic.Has(vk.DYNAMIC_STATE_LOGIC_OP_ENABLE_EXT), "logicOp",
				vk.VUID_VkPipelineColorBlendStateCreateInfo_logicOpEnable_00606),
			enumerated(s.LogicOp, vk.LOGIC_OP_SET, vk.VUID_VkPipelineColorBlendStateCreateInfo_logicOpEnable_00607),
		); err != nil {
			return err
		}
	}
	if c.PAttachments == nil {
		return nil // its states are dynamic
	}
	if c.AttachmentCount > exec.MaxColors {
		return vk.Errorf(vk.ERROR_UNKNOWN, vk.VUID_VkPipelineColorBlendStateCreateInfo_pAttachments_parameter,
			"%d attachments are more than maxColorAttachments, %d", c.AttachmentCount, exec.MaxColors)
	}
	s.Blends = slices.Clone(vk.Slice(c.PAttachments, c.AttachmentCount))
	if w := vk.Find[vk.PipelineColorWriteCreateInfoEXT](c.PNext); w != nil &&
		!m.dynamic.Has(vk.DYNAMIC_STATE_COLOR_WRITE_ENABLE_EXT) {
		for i, enable := range vk.Slice(w.PColorWriteEnables, min(w.AttachmentCount, c.AttachmentCount)) {
			if enable == vk.FALSE {
				s.Blends[i].ColorWriteMask = 0
			}
		}
	}
	return m.checkBlends()
}

func (m *graphicsMaker) readSamples(i *vk.PipelineMultisampleStateCreateInfo) error {
	s := &m.made.state.State
	if !m.dynamic.Has(vk.DYNAMIC_STATE_RASTERIZATION_SAMPLES_EXT) {
		switch i.RasterizationSamples {
		case vk.SAMPLE_COUNT_1_BIT, vk.SAMPLE_COUNT_4_BIT, vk.SAMPLE_COUNT_8_BIT:
		default:
			return vk.Errorf(vk.ERROR_UNKNOWN,
				vk.VUID_VkPipelineMultisampleStateCreateInfo_rasterizationSamples_parameter,
				"the device can't draw with %v", i.RasterizationSamples)
		}
		s.Samples = uint32(i.RasterizationSamples)
	}
	if i.PSampleMask != nil {
		s.SampleMask = uint32(*i.PSampleMask)
	}
	s.SampleShading, s.MinSamples = i.SampleShadingEnable != vk.FALSE, i.MinSampleShading
	s.AlphaToCoverage, s.AlphaToOne = i.AlphaToCoverageEnable != vk.FALSE, i.AlphaToOneEnable != vk.FALSE
	if s.SampleShading && !(s.MinSamples >= 0 && s.MinSamples <= 1) {
		return vk.Errorf(vk.ERROR_UNKNOWN, vk.VUID_VkPipelineMultisampleStateCreateInfo_minSampleShading_00786,
			"minSampleShading is %v", s.MinSamples)
	}
	return firstError(
		m.wants(s.SampleShading, "sampleRateShading",
			vk.VUID_VkPipelineMultisampleStateCreateInfo_sampleShadingEnable_00784),
		m.wants(s.AlphaToOne && !m.dynamic.Has(vk.DYNAMIC_STATE_ALPHA_TO_ONE_ENABLE_EXT), "alphaToOne",
			vk.VUID_VkPipelineMultisampleStateCreateInfo_alphaToOneEnable_00785))
}

// checkBlends looks at the blending of each attachment.
func (m *graphicsMaker) checkBlends() error {
	list := m.made.state.State.Blends
	for i := range list {
		b := &list[i]
		if b.BlendEnable == vk.FALSE && !m.dynamic.Has(vk.DYNAMIC_STATE_COLOR_BLEND_ENABLE_EXT) {
			continue
		}
		const most = vk.BLEND_FACTOR_ONE_MINUS_SRC1_ALPHA
		dual := func(f vk.BlendFactor) bool { return f >= vk.BLEND_FACTOR_SRC1_COLOR && f <= most }
		if err := firstError(
			enumerated(b.SrcColorBlendFactor, most,
				vk.VUID_VkPipelineColorBlendAttachmentState_srcColorBlendFactor_parameter),
			enumerated(b.DstColorBlendFactor, most,
				vk.VUID_VkPipelineColorBlendAttachmentState_dstColorBlendFactor_parameter),
			enumerated(b.SrcAlphaBlendFactor, most,
				vk.VUID_VkPipelineColorBlendAttachmentState_srcAlphaBlendFactor_parameter),
			enumerated(b.DstAlphaBlendFactor, most,
				vk.VUID_VkPipelineColorBlendAttachmentState_dstAlphaBlendFactor_parameter),
			enumerated(b.ColorBlendOp, vk.BLEND_OP_MAX,
				vk.VUID_VkPipelineColorBlendAttachmentState_colorBlendOp_parameter),
			enumerated(b.AlphaBlendOp, vk.BLEND_OP_MAX,
				vk.VUID_VkPipelineColorBlendAttachmentState_alphaBlendOp_parameter),
			m.wants(dual(b.SrcColorBlendFactor) || dual(b.DstColorBlendFactor) || dual(b.SrcAlphaBlendFactor) ||
				dual(b.DstAlphaBlendFactor), "dualSrcBlend",
				vk.VUID_VkPipelineColorBlendAttachmentState_srcColorBlendFactor_00608),
		); err != nil {
			return err
		}
		if *b != list[0] {
			if err := m.wants(true, "independentBlend",
				vk.VUID_VkPipelineColorBlendStateCreateInfo_pAttachments_00605); err != nil {
				return err
			}
		}
	}
	return nil
}
