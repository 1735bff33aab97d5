package icd

import (
	"farside/internal/command"
	"farside/internal/vk"
)

// The commands that set a dynamic state. Their values are checked when they are executed.

// setState records a dynamic state.
func (b *commandBuffer) setState(name string, state vk.DynamicState, values ...uint32) {
	b.recordGraphics(name, func() error { return b.stream.SetState(state, values...) })
}

func cmdSetStencilCompareMask(b *commandBuffer, faceMask vk.StencilFaceFlags, compareMask uint32) {
	b.setState("vkCmdSetStencilCompareMask", vk.DYNAMIC_STATE_STENCIL_COMPARE_MASK, uint32(faceMask), compareMask)
}

func cmdSetStencilWriteMask(b *commandBuffer, faceMask vk.StencilFaceFlags, writeMask uint32) {
	b.setState("vkCmdSetStencilWriteMask", vk.DYNAMIC_STATE_STENCIL_WRITE_MASK, uint32(faceMask), writeMask)
}

func cmdSetStencilReference(b *commandBuffer, faceMask vk.StencilFaceFlags, reference uint32) {
	b.setState("vkCmdSetStencilReference", vk.DYNAMIC_STATE_STENCIL_REFERENCE, uint32(faceMask), reference)
}

func cmdSetCullMode(b *commandBuffer, cullMode vk.CullModeFlags) {
	b.setState("vkCmdSetCullMode", vk.DYNAMIC_STATE_CULL_MODE, uint32(cullMode))
}

func cmdSetFrontFace(b *commandBuffer, frontFace vk.FrontFace) {
	b.setState("vkCmdSetFrontFace", vk.DYNAMIC_STATE_FRONT_FACE, uint32(frontFace))
}

func cmdSetPrimitiveTopology(b *commandBuffer, primitiveTopology vk.PrimitiveTopology) {
	b.setState("vkCmdSetPrimitiveTopology", vk.DYNAMIC_STATE_PRIMITIVE_TOPOLOGY, uint32(primitiveTopology))
}

func cmdSetDepthTestEnable(b *commandBuffer, depthTestEnable vk.Bool32) {
	b.setState("vkCmdSetDepthTestEnable", vk.DYNAMIC_STATE_DEPTH_TEST_ENABLE, uint32(depthTestEnable))
}

func cmdSetDepthWriteEnable(b *commandBuffer, depthWriteEnable vk.Bool32) {
	b.setState("vkCmdSetDepthWriteEnable", vk.DYNAMIC_STATE_DEPTH_WRITE_ENABLE, uint32(depthWriteEnable))
}

func cmdSetDepthCompareOp(b *commandBuffer, depthCompareOp vk.CompareOp) {
	b.setState("vkCmdSetDepthCompareOp", vk.DYNAMIC_STATE_DEPTH_COMPARE_OP, uint32(depthCompareOp))
}

func cmdSetDepthBoundsTestEnable(b *commandBuffer, depthBoundsTestEnable vk.Bool32) {
	b.setState("vkCmdSetDepthBoundsTestEnable", vk.DYNAMIC_STATE_DEPTH_BOUNDS_TEST_ENABLE, uint32(depthBoundsTestEnable))
}

func cmdSetStencilTestEnable(b *commandBuffer, stencilTestEnable vk.Bool32) {
	b.setState("vkCmdSetStencilTestEnable", vk.DYNAMIC_STATE_STENCIL_TEST_ENABLE, uint32(stencilTestEnable))
}

func cmdSetStencilOp(b *commandBuffer, faceMask vk.StencilFaceFlags, failOp vk.StencilOp, passOp vk.StencilOp,
	depthFailOp vk.StencilOp, compareOp vk.CompareOp) {
	b.setState("vkCmdSetStencilOp", vk.DYNAMIC_STATE_STENCIL_OP, uint32(faceMask), uint32(failOp), uint32(passOp),
		uint32(depthFailOp), uint32(compareOp))
}

func cmdSetRasterizerDiscardEnable(b *commandBuffer, rasterizerDiscardEnable vk.Bool32) {
	b.setState("vkCmdSetRasterizerDiscardEnable", vk.DYNAMIC_STATE_RASTERIZER_DISCARD_ENABLE,
		uint32(rasterizerDiscardEnable))
}

func cmdSetDepthBiasEnable(b *commandBuffer, depthBiasEnable vk.Bool32) {
	b.setState("vkCmdSetDepthBiasEnable", vk.DYNAMIC_STATE_DEPTH_BIAS_ENABLE, uint32(depthBiasEnable))
}

func cmdSetPrimitiveRestartEnable(b *commandBuffer, primitiveRestartEnable vk.Bool32) {
	b.setState("vkCmdSetPrimitiveRestartEnable", vk.DYNAMIC_STATE_PRIMITIVE_RESTART_ENABLE, uint32(primitiveRestartEnable))
}

func cmdSetLogicOpEXT(b *commandBuffer, logicOp vk.LogicOp) {
	b.setState("vkCmdSetLogicOpEXT", vk.DYNAMIC_STATE_LOGIC_OP_EXT, uint32(logicOp))
}

func cmdSetDepthClampEnableEXT(b *commandBuffer, depthClampEnable vk.Bool32) {
	b.setState("vkCmdSetDepthClampEnableEXT", vk.DYNAMIC_STATE_DEPTH_CLAMP_ENABLE_EXT, uint32(depthClampEnable))
}

// cmdSetDepthClampRangeEXT is VK_EXT_depth_clamp_control's.
func cmdSetDepthClampRangeEXT(b *commandBuffer, mode vk.DepthClampModeEXT, r *vk.DepthClampRangeEXT) {
	b.recordGraphics("vkCmdSetDepthClampRangeEXT", func() error {
		var values [2]uint32
		if mode == vk.DEPTH_CLAMP_MODE_USER_DEFINED_RANGE_EXT {
			if r == nil {
				return vk.Errorf(vk.ERROR_UNKNOWN, vk.VUID_vkCmdSetDepthClampRangeEXT_pDepthClampRange_09647,
					"pDepthClampRange is NULL")
			}
			values = [2]uint32{command.Bits(r.MinDepthClamp), command.Bits(r.MaxDepthClamp)}
		}
		return b.stream.SetState(vk.DYNAMIC_STATE_DEPTH_CLAMP_RANGE_EXT, uint32(mode), values[0], values[1])
	})
}

func cmdSetPolygonModeEXT(b *commandBuffer, polygonMode vk.PolygonMode) {
	b.setState("vkCmdSetPolygonModeEXT", vk.DYNAMIC_STATE_POLYGON_MODE_EXT, uint32(polygonMode))
}

func cmdSetRasterizationSamplesEXT(b *commandBuffer, rasterizationSamples vk.SampleCountFlagBits) {
	b.setState("vkCmdSetRasterizationSamplesEXT", vk.DYNAMIC_STATE_RASTERIZATION_SAMPLES_EXT, uint32(rasterizationSamples))
}

func cmdSetAlphaToCoverageEnableEXT(b *commandBuffer, alphaToCoverageEnable vk.Bool32) {
	b.setState("vkCmdSetAlphaToCoverageEnableEXT", vk.DYNAMIC_STATE_ALPHA_TO_COVERAGE_ENABLE_EXT,
		uint32(alphaToCoverageEnable))
}

func cmdSetAlphaToOneEnableEXT(b *commandBuffer, alphaToOneEnable vk.Bool32) {
	b.setState("vkCmdSetAlphaToOneEnableEXT", vk.DYNAMIC_STATE_ALPHA_TO_ONE_ENABLE_EXT, uint32(alphaToOneEnable))
}

func cmdSetLogicOpEnableEXT(b *commandBuffer, logicOpEnable vk.Bool32) {
	b.setState("vkCmdSetLogicOpEnableEXT", vk.DYNAMIC_STATE_LOGIC_OP_ENABLE_EXT, uint32(logicOpEnable))
}

func cmdSetDepthClipEnableEXT(b *commandBuffer, depthClipEnable vk.Bool32) {
	b.setState("vkCmdSetDepthClipEnableEXT", vk.DYNAMIC_STATE_DEPTH_CLIP_ENABLE_EXT, uint32(depthClipEnable))
}

func cmdSetProvokingVertexModeEXT(b *commandBuffer, provokingVertexMode vk.ProvokingVertexModeEXT) {
	b.setState("vkCmdSetProvokingVertexModeEXT", vk.DYNAMIC_STATE_PROVOKING_VERTEX_MODE_EXT, uint32(provokingVertexMode))
}

func cmdSetLineRasterizationModeEXT(b *commandBuffer, lineRasterizationMode vk.LineRasterizationModeEXT) {
	b.setState("vkCmdSetLineRasterizationModeEXT", vk.DYNAMIC_STATE_LINE_RASTERIZATION_MODE_EXT,
		uint32(lineRasterizationMode))
}

func cmdSetLineStippleEnableEXT(b *commandBuffer, stippledLineEnable vk.Bool32) {
	b.setState("vkCmdSetLineStippleEnableEXT", vk.DYNAMIC_STATE_LINE_STIPPLE_ENABLE_EXT, uint32(stippledLineEnable))
}

func cmdSetDepthClipNegativeOneToOneEXT(b *commandBuffer, negativeOneToOne vk.Bool32) {
	b.setState("vkCmdSetDepthClipNegativeOneToOneEXT", vk.DYNAMIC_STATE_DEPTH_CLIP_NEGATIVE_ONE_TO_ONE_EXT,
		uint32(negativeOneToOne))
}

func cmdSetLineStipple(b *commandBuffer, lineStippleFactor uint32, lineStipplePattern uint16) {
	b.setState("vkCmdSetLineStipple", vk.DYNAMIC_STATE_LINE_STIPPLE, lineStippleFactor, uint32(lineStipplePattern))
}

func cmdSetLineWidth(b *commandBuffer, width float32) {
	b.setState("vkCmdSetLineWidth", vk.DYNAMIC_STATE_LINE_WIDTH, command.Bits(width))
}

func cmdSetDepthBias(b *commandBuffer, constant, clamp, slope float32) {
	b.setState("vkCmdSetDepthBias", vk.DYNAMIC_STATE_DEPTH_BIAS, command.Bits(constant), command.Bits(clamp),
		command.Bits(slope), uint32(vk.DEPTH_BIAS_REPRESENTATION_LEAST_REPRESENTABLE_VALUE_FORMAT_EXT), 0)
}

// cmdSetDepthBias2EXT is VK_EXT_depth_bias_control's.
func cmdSetDepthBias2EXT(b *commandBuffer, info *vk.DepthBiasInfoEXT) {
	b.recordGraphics("vkCmdSetDepthBias2EXT", func() error {
		kind, exact := vk.DEPTH_BIAS_REPRESENTATION_LEAST_REPRESENTABLE_VALUE_FORMAT_EXT, uint32(0)
		if r := vk.Find[vk.DepthBiasRepresentationInfoEXT](info.PNext); r != nil {
			kind, exact = r.DepthBiasRepresentation, uint32(r.DepthBiasExact)
		}
		return b.stream.SetState(vk.DYNAMIC_STATE_DEPTH_BIAS, command.Bits(info.DepthBiasConstantFactor),
			command.Bits(info.DepthBiasClamp), command.Bits(info.DepthBiasSlopeFactor), uint32(kind), exact)
	})
}

func cmdSetBlendConstants(b *commandBuffer, constants *float32) {
	b.recordGraphics("vkCmdSetBlendConstants", func() error {
		c := vk.Slice(constants, uint32(4))
		return b.stream.SetState(vk.DYNAMIC_STATE_BLEND_CONSTANTS, command.Bits(c[0]), command.Bits(c[1]),
			command.Bits(c[2]), command.Bits(c[3]))
	})
}

func cmdSetDepthBounds(b *commandBuffer, least, most float32) {
	b.setState("vkCmdSetDepthBounds", vk.DYNAMIC_STATE_DEPTH_BOUNDS, command.Bits(least), command.Bits(most))
}

func cmdSetViewport(b *commandBuffer, first, count uint32, viewports *vk.Viewport) {
	b.recordGraphics("vkCmdSetViewport", func() error {
		list, err := elements(viewports, count, vk.VUID_vkCmdSetViewport_viewportCount_arraylength,
			vk.VUID_vkCmdSetViewport_pViewports_parameter)
		if err != nil {
			return err
		}
		return b.stream.SetViewport(first, list)
	})
}

func cmdSetScissor(b *commandBuffer, first, count uint32, scissors *vk.Rect2D) {
	b.recordGraphics("vkCmdSetScissor", func() error {
		list, err := elements(scissors, count, vk.VUID_vkCmdSetScissor_scissorCount_arraylength,
			vk.VUID_vkCmdSetScissor_pScissors_parameter)
		if err != nil {
			return err
		}
		return b.stream.SetScissor(first, list)
	})
}

func cmdSetViewportWithCount(b *commandBuffer, count uint32, viewports *vk.Viewport) {
	b.recordGraphics("vkCmdSetViewportWithCount", func() error {
		list, err := elements(viewports, count, vk.VUID_vkCmdSetViewportWithCount_viewportCount_arraylength,
			vk.VUID_vkCmdSetViewportWithCount_pViewports_parameter)
		if err != nil {
			return err
		}
		return b.stream.SetViewportWithCount(list)
	})
}

func cmdSetScissorWithCount(b *commandBuffer, count uint32, scissors *vk.Rect2D) {
	b.recordGraphics("vkCmdSetScissorWithCount", func() error {
		list, err := elements(scissors, count, vk.VUID_vkCmdSetScissorWithCount_scissorCount_arraylength,
			vk.VUID_vkCmdSetScissorWithCount_pScissors_parameter)
		if err != nil {
			return err
		}
		return b.stream.SetScissorWithCount(list)
	})
}

// cmdSetSampleMaskEXT takes the first 32 samples: there are no more.
func cmdSetSampleMaskEXT(b *commandBuffer, samples vk.SampleCountFlagBits, mask *vk.SampleMask) {
	b.recordGraphics("vkCmdSetSampleMaskEXT", func() error {
		if mask == nil {
			return vk.Errorf(vk.ERROR_UNKNOWN, vk.VUID_vkCmdSetSampleMaskEXT_pSampleMask_parameter, "pSampleMask is NULL")
		}
		return b.stream.SetState(vk.DYNAMIC_STATE_SAMPLE_MASK_EXT, uint32(samples), uint32(*mask))
	})
}

func cmdSetColorBlendEnableEXT(b *commandBuffer, first, count uint32, enables *vk.Bool32) {
	attachmentState(b, "vkCmdSetColorBlendEnableEXT", vk.DYNAMIC_STATE_COLOR_BLEND_ENABLE_EXT, first, count, enables,
		vk.VUID_vkCmdSetColorBlendEnableEXT_attachmentCount_arraylength,
		vk.VUID_vkCmdSetColorBlendEnableEXT_pColorBlendEnables_parameter,
		func(to []uint32, e *vk.Bool32) []uint32 { return append(to, uint32(*e)) })
}

func cmdSetColorWriteMaskEXT(b *commandBuffer, first, count uint32, masks *vk.ColorComponentFlags) {
	attachmentState(b, "vkCmdSetColorWriteMaskEXT", vk.DYNAMIC_STATE_COLOR_WRITE_MASK_EXT, first, count, masks,
		vk.VUID_vkCmdSetColorWriteMaskEXT_attachmentCount_arraylength,
		vk.VUID_vkCmdSetColorWriteMaskEXT_pColorWriteMasks_parameter,
		func(to []uint32, m *vk.ColorComponentFlags) []uint32 { return append(to, uint32(*m)) })
}

func cmdSetColorBlendEquationEXT(b *commandBuffer, first, count uint32, list *vk.ColorBlendEquationEXT) {
	attachmentState(b, "vkCmdSetColorBlendEquationEXT", vk.DYNAMIC_STATE_COLOR_BLEND_EQUATION_EXT, first, count, list,
		vk.VUID_vkCmdSetColorBlendEquationEXT_attachmentCount_arraylength,
		vk.VUID_vkCmdSetColorBlendEquationEXT_pColorBlendEquations_parameter,
		func(to []uint32, e *vk.ColorBlendEquationEXT) []uint32 {
			return append(to, uint32(e.SrcColorBlendFactor), uint32(e.DstColorBlendFactor), uint32(e.ColorBlendOp),
				uint32(e.SrcAlphaBlendFactor), uint32(e.DstAlphaBlendFactor), uint32(e.AlphaBlendOp))
		})
}

func cmdSetColorWriteEnableEXT(b *commandBuffer, count uint32, enables *vk.Bool32) {
	attachmentState(b, "vkCmdSetColorWriteEnableEXT", vk.DYNAMIC_STATE_COLOR_WRITE_ENABLE_EXT, 0, count, enables,
		vk.VUID_vkCmdSetColorWriteEnableEXT_attachmentCount_arraylength,
		vk.VUID_vkCmdSetColorWriteEnableEXT_pColorWriteEnables_parameter,
		func(to []uint32, e *vk.Bool32) []uint32 { return append(to, uint32(*e)) })
}

// attachmentState records a dynamic state of some colour attachments: the first of them, and the values of each.
func attachmentState[T any](b *commandBuffer, name string, state vk.DynamicState, first, count uint32, list *T,
	empty, null vk.VUID, add func([]uint32, *T) []uint32) {
	b.recordGraphics(name, func() error {
		elements, err := elements(list, count, empty, null)
		if err != nil {
			return err
		}
		var room [64]uint32
		values := append(room[:0], first)
		for i := range elements {
			values = add(values, &elements[i])
		}
		return b.stream.SetState(state, values...)
	})
}

// cmdSetVertexInputEXT is recorded as the counts of bindings and attributes, then four values for each.
func cmdSetVertexInputEXT(
	b *commandBuffer, bindingCount uint32, bindings *vk.VertexInputBindingDescription2EXT, attributeCount uint32,
	attributes *vk.VertexInputAttributeDescription2EXT,
) {
	b.recordGraphics("vkCmdSetVertexInputEXT", func() error {
		switch {
		case bindings == nil && bindingCount > 0:
			return vk.Errorf(vk.ERROR_UNKNOWN, vk.VUID_vkCmdSetVertexInputEXT_pVertexBindingDescriptions_parameter,
				"pVertexBindingDescriptions is NULL")
		case attributes == nil && attributeCount > 0:
			return vk.Errorf(vk.ERROR_UNKNOWN, vk.VUID_vkCmdSetVertexInputEXT_pVertexAttributeDescriptions_parameter,
				"pVertexAttributeDescriptions is NULL")
		}
		var room [2 + 8*32]uint32
		values := append(room[:0], bindingCount, attributeCount)
		for i := range vk.Slice(bindings, bindingCount) {
			d := &vk.Slice(bindings, bindingCount)[i]
			values = append(values, d.Binding, d.Stride, uint32(d.InputRate), d.Divisor)
		}
		for i := range vk.Slice(attributes, attributeCount) {
			d := &vk.Slice(attributes, attributeCount)[i]
			values = append(values, d.Location, d.Binding, uint32(d.Format), d.Offset)
		}
		return b.stream.SetState(vk.DYNAMIC_STATE_VERTEX_INPUT_EXT, values...)
	})
}

func cmdSetAttachmentFeedbackLoopEnableEXT(b *commandBuffer, aspects vk.ImageAspectFlags) {
	b.recordGraphics("vkCmdSetAttachmentFeedbackLoopEnableEXT", func() error {
		const dynamic = vk.VUID_vkCmdSetAttachmentFeedbackLoopEnableEXT_attachmentFeedbackLoopDynamicState_08862
		const layout = vk.VUID_vkCmdSetAttachmentFeedbackLoopEnableEXT_attachmentFeedbackLoopLayout_08864
		switch d := b.owner(); {
		case !d.allows("attachmentFeedbackLoopDynamicState", dynamic):
			return vk.Errorf(vk.ERROR_UNKNOWN, dynamic, "the device has no feature attachmentFeedbackLoopDynamicState")
		case aspects != 0 && !d.allows("attachmentFeedbackLoopLayout", layout):
			return vk.Errorf(vk.ERROR_UNKNOWN, layout, "the device has no feature attachmentFeedbackLoopLayout")
		}
		return b.stream.SetState(vk.DYNAMIC_STATE_ATTACHMENT_FEEDBACK_LOOP_ENABLE_EXT, uint32(aspects))
	})
}

// cmdSetPatchControlPointsEXT is a command of VK_EXT_extended_dynamic_state2, one feature of which is not there.
func cmdSetPatchControlPointsEXT(b *commandBuffer, _ uint32) {
	b.ignoreState("vkCmdSetPatchControlPointsEXT", vk.VUID_vkCmdSetPatchControlPointsEXT_None_09422)
}

// cmdSetTessellationDomainOriginEXT is VK_EXT_extended_dynamic_state3's.
func cmdSetTessellationDomainOriginEXT(b *commandBuffer, _ vk.TessellationDomainOrigin) {
	b.ignoreState("vkCmdSetTessellationDomainOriginEXT", vk.VUID_vkCmdSetTessellationDomainOriginEXT_None_09423)
}

// ignoreState takes a state of shaders that the device doesn't have. Shader objects allow to set it all the same.
func (b *commandBuffer) ignoreState(command string, rule vk.VUID) {
	b.recordGraphics(command, func() error {
		if !b.owner().allows("shaderObject", rule) {
			return vk.Errorf(vk.ERROR_UNKNOWN, rule, "the device has no feature for it")
		}
		return nil
	})
}
