package icd

import (
	"farside/internal/exec"
	"farside/internal/texel"
	"farside/internal/vk"
)

// What a device with graphics has beyond others: extensions, features, limits, what formats can do. Devices without
// graphics report none of it.

// graphicsExtensions are the device extensions that only devices with graphics have.
var graphicsExtensions = []extension{
	{name: vk.KHR_CREATE_RENDERPASS_2_EXTENSION_NAME},
	{name: vk.KHR_DEPTH_STENCIL_RESOLVE_EXTENSION_NAME},
	{name: vk.KHR_DYNAMIC_RENDERING_EXTENSION_NAME},
	{name: vk.KHR_DYNAMIC_RENDERING_LOCAL_READ_EXTENSION_NAME},
	{name: vk.KHR_IMAGELESS_FRAMEBUFFER_EXTENSION_NAME},
	{name: vk.KHR_LOAD_STORE_OP_NONE_EXTENSION_NAME},
	{name: vk.KHR_MULTIVIEW_EXTENSION_NAME},
	{name: vk.KHR_SEPARATE_DEPTH_STENCIL_LAYOUTS_EXTENSION_NAME},
	{name: vk.KHR_PRESENT_ID_EXTENSION_NAME},
	{name: vk.KHR_PRESENT_ID_2_EXTENSION_NAME},
	{name: vk.KHR_PRESENT_MODE_FIFO_LATEST_READY_EXTENSION_NAME},
	{name: vk.KHR_PRESENT_WAIT_EXTENSION_NAME},
	{name: vk.KHR_PRESENT_WAIT_2_EXTENSION_NAME},
	{name: vk.KHR_SWAPCHAIN_EXTENSION_NAME},
	{name: vk.KHR_SWAPCHAIN_MAINTENANCE_1_EXTENSION_NAME},
	{name: vk.KHR_SWAPCHAIN_MUTABLE_FORMAT_EXTENSION_NAME},
	{name: vk.EXT_LOAD_STORE_OP_NONE_EXTENSION_NAME},
	{name: vk.KHR_DRAW_INDIRECT_COUNT_EXTENSION_NAME},
	{name: vk.KHR_SHADER_DRAW_PARAMETERS_EXTENSION_NAME},
	{name: vk.KHR_DEPTH_CLAMP_ZERO_ONE_EXTENSION_NAME},
	{name: vk.KHR_INDEX_TYPE_UINT8_EXTENSION_NAME},
	{name: vk.KHR_LINE_RASTERIZATION_EXTENSION_NAME},
	{name: vk.KHR_PIPELINE_LIBRARY_EXTENSION_NAME},
	{name: vk.KHR_VERTEX_ATTRIBUTE_DIVISOR_EXTENSION_NAME},
	{name: vk.EXT_ATTACHMENT_FEEDBACK_LOOP_DYNAMIC_STATE_EXTENSION_NAME},
	{name: vk.EXT_ATTACHMENT_FEEDBACK_LOOP_LAYOUT_EXTENSION_NAME},
	{name: vk.EXT_COLOR_WRITE_ENABLE_EXTENSION_NAME},
	{name: vk.EXT_DEPTH_BIAS_CONTROL_EXTENSION_NAME},
	{name: vk.EXT_DEPTH_CLAMP_CONTROL_EXTENSION_NAME},
	{name: vk.EXT_DEPTH_CLAMP_ZERO_ONE_EXTENSION_NAME},
	{name: vk.EXT_DEPTH_CLIP_CONTROL_EXTENSION_NAME},
	{name: vk.EXT_DEPTH_CLIP_ENABLE_EXTENSION_NAME},
	{name: vk.EXT_EXTENDED_DYNAMIC_STATE_EXTENSION_NAME},
	{name: vk.EXT_EXTENDED_DYNAMIC_STATE_2_EXTENSION_NAME},
	{name: vk.EXT_EXTENDED_DYNAMIC_STATE_3_EXTENSION_NAME},
	{name: vk.EXT_GRAPHICS_PIPELINE_LIBRARY_EXTENSION_NAME},
	{name: vk.EXT_INDEX_TYPE_UINT8_EXTENSION_NAME},
	{name: vk.EXT_LINE_RASTERIZATION_EXTENSION_NAME},
	{name: vk.EXT_MULTI_DRAW_EXTENSION_NAME},
	{name: vk.EXT_PRIMITIVE_TOPOLOGY_LIST_RESTART_EXTENSION_NAME},
	{name: vk.EXT_PROVOKING_VERTEX_EXTENSION_NAME},
	{name: vk.EXT_SHADER_OBJECT_EXTENSION_NAME},
	{name: vk.EXT_VERTEX_ATTRIBUTE_DIVISOR_EXTENSION_NAME},
	{name: vk.EXT_VERTEX_INPUT_DYNAMIC_STATE_EXTENSION_NAME},
	{name: vk.EXT_PRESENT_MODE_FIFO_LATEST_READY_EXTENSION_NAME},
	{name: vk.EXT_SWAPCHAIN_MAINTENANCE_1_EXTENSION_NAME},
}

// graphicsFeatures are the features that only devices with graphics have.
var graphicsFeatures = map[string]bool{
	"dynamicRendering":          true,
	"dynamicRenderingLocalRead": true,
	"imagelessFramebuffer":      true,
	"multiview":                 true,

	// Draws.
	"alphaToOne":                true,
	"depthBiasClamp":            true,
	"depthBounds":               true,
	"depthClamp":                true,
	"drawIndirectCount":         true,
	"drawIndirectFirstInstance": true,
	"dualSrcBlend":              true,
	"fillModeNonSolid":          true,
	"fullDrawIndexUint32":       true,
	"independentBlend":          true,
	"inheritedQueries":          true, // draws count for what is active, whatever command buffer they are in
	"largePoints":               true,
	"logicOp":                   true,
	"multiDrawIndirect":         true,
	"multiViewport":             true,
	"occlusionQueryPrecise":     true, // all are
	"pipelineStatisticsQuery":   true,
	"wideLines":                 true,

	// Shaders.
	"fragmentStoresAndAtomics":       true,
	"sampleRateShading":              true,
	"shaderClipDistance":             true,
	"shaderCullDistance":             true,
	"shaderDrawParameters":           true,
	"shaderObject":                   true,
	"vertexPipelineStoresAndAtomics": true,

	// Dynamic state, and state of extensions.
	"attachmentFeedbackLoopDynamicState":              true, // draws see what earlier ones wrote, asked for or not
	"attachmentFeedbackLoopLayout":                    true,
	"colorWriteEnable":                                true,
	"depthClampControl":                               true,
	"depthClipControl":                                true,
	"depthClipEnable":                                 true,
	"extendedDynamicState":                            true,
	"extendedDynamicState2":                           true,
	"extendedDynamicState2LogicOp":                    true,
	"indexTypeUint8":                                  true,
	"vertexInputDynamicState":                         true,
	"bresenhamLines":                                  true,
	"depthBiasControl":                                true,
	"depthBiasExact":                                  true,
	"depthClampZeroOne":                               true,
	"graphicsPipelineLibrary":                         true,
	"floatRepresentation":                             true,
	"leastRepresentableValueForceUnormRepresentation": true,
	"multiDraw":                                       true,
	"primitiveTopologyListRestart":                    true,
	"provokingVertexLast":                             true,
	"rectangularLines":                                true,
	"smoothLines":                                     true,
	"stippledBresenhamLines":                          true,
	"stippledRectangularLines":                        true,
	"stippledSmoothLines":                             true,
	"vertexAttributeInstanceRateDivisor":              true,
	"vertexAttributeInstanceRateZeroDivisor":          true,
	"extendedDynamicState3AlphaToCoverageEnable":      true,
	"extendedDynamicState3AlphaToOneEnable":           true,
	"extendedDynamicState3ColorBlendEnable":           true,
	"extendedDynamicState3ColorBlendEquation":         true,
	"extendedDynamicState3ColorWriteMask":             true,
	"extendedDynamicState3DepthClampEnable":           true,
	"extendedDynamicState3DepthClipEnable":            true,
	"extendedDynamicState3DepthClipNegativeOneToOne":  true,
	"extendedDynamicState3LineRasterizationMode":      true,
	"extendedDynamicState3LineStippleEnable":          true,
	"extendedDynamicState3LogicOpEnable":              true,
	"extendedDynamicState3PolygonMode":                true,
	"extendedDynamicState3ProvokingVertexMode":        true,
	"extendedDynamicState3RasterizationSamples":       true,
	"extendedDynamicState3SampleMask":                 true,

	// Presentation.
	"presentId":                  true,
	"presentId2":                 true,
	"presentModeFifoLatestReady": true,
	"presentWait":                true,
	"presentWait2":               true,
	"swapchainMaintenance1":      true,
}

const (
	// manySampleCounts are those that attachments and sampled images can have where there is graphics.
	manySampleCounts = sampleCounts | vk.SAMPLE_COUNT_8_BIT
	// interpolationOffset is how far from the center of a pixel an input is evaluated at least: shaders compute with any
	// offset as it is.
	interpolationOffset = 2
	// subPixelBits are the bits of a window coordinate behind the point.
	subPixelBits = 8
)

// extendLimits makes the limits of a device with graphics.
func extendLimits(l *vk.PhysicalDeviceLimits) {
	l.MaxFramebufferLayers = maxImageArrayLayers
	l.MaxColorAttachments, l.MaxFragmentOutputAttachments = exec.MaxColors, exec.MaxColors
	for _, counts := range []*vk.SampleCountFlags{
		&l.FramebufferColorSampleCounts, &l.FramebufferDepthSampleCounts, &l.FramebufferStencilSampleCounts,
		&l.FramebufferNoAttachmentsSampleCounts, &l.SampledImageColorSampleCounts, &l.SampledImageIntegerSampleCounts,
		&l.SampledImageDepthSampleCounts, &l.SampledImageStencilSampleCounts,
	} {
		*counts = manySampleCounts
	}
	l.SubPixelPrecisionBits, l.ViewportSubPixelBits = subPixelBits, subPixelBits
	l.StandardSampleLocations = vk.TRUE
	l.MinInterpolationOffset, l.MaxInterpolationOffset = -interpolationOffset, interpolationOffset
	l.SubPixelInterpolationOffsetBits = subPixelBits
	extendDrawLimits(l)
}

// subgroupStages are the stages whose shaders have subgroups.
func (p *physicalDevice) subgroupStages() vk.ShaderStageFlags {
	if p.graphics() {
		return vk.SHADER_STAGE_COMPUTE_BIT | vk.SHADER_STAGE_VERTEX_BIT | vk.SHADER_STAGE_FRAGMENT_BIT
	}
	return vk.SHADER_STAGE_COMPUTE_BIT
}

// sampleCounts are those that attachments can have.
func (p *physicalDevice) sampleCounts() vk.SampleCountFlags {
	if p.graphics() {
		return manySampleCounts
	}
	return sampleCounts
}

// resolveModes fills what depths and stencils are resolved by.
func (p *physicalDevice) resolveModes(s *vk.PhysicalDeviceDepthStencilResolveProperties) {
	*s = vk.PhysicalDeviceDepthStencilResolveProperties{SType: s.SType, PNext: s.PNext}
	if p.graphics() {
		s.SupportedDepthResolveModes = vk.RESOLVE_MODE_SAMPLE_ZERO_BIT | vk.RESOLVE_MODE_AVERAGE_BIT |
			vk.RESOLVE_MODE_MIN_BIT | vk.RESOLVE_MODE_MAX_BIT
		s.SupportedStencilResolveModes = vk.RESOLVE_MODE_SAMPLE_ZERO_BIT | vk.RESOLVE_MODE_MIN_BIT | vk.RESOLVE_MODE_MAX_BIT
		s.IndependentResolveNone, s.IndependentResolve = vk.TRUE, vk.TRUE
	}
}

// formatFeatures returns what images of a format can do on the device, in every tiling.
func (p *physicalDevice) formatFeatures(format vk.Format) vk.FormatFeatureFlags2 {
	features := formatFeatures(format)
	if features == 0 || !p.graphics() {
		return features
	}
	return features | drawnFeatures(format)
}

// drawnFeatures returns what a format can do as an attachment where there is graphics. Of the colours that the codecs
// encode, components of 64 bits are more than a fragment shader's output has, and a shared exponent doesn't
// let a channel be written alone (VkPipelineColorBlendAttachmentState::colorWriteMask).
func drawnFeatures(format vk.Format) vk.FormatFeatureFlags2 {
	t, ok := texel.FormatOf(format)
	if !ok || t.Compressed || t.Chroma || format == vk.FORMAT_E5B9G9R9_UFLOAT_PACK32 {
		return 0
	}
	if t.Planes[0].Aspect != vk.IMAGE_ASPECT_COLOR_BIT {
		return vk.FORMAT_FEATURE_2_DEPTH_STENCIL_ATTACHMENT_BIT
	}
	codec, ok := texel.CodecOf(format, vk.IMAGE_ASPECT_COLOR_BIT)
	switch {
	case !ok || codec.Wide():
		return 0
	case codec.Class() == texel.Float:
		return vk.FORMAT_FEATURE_2_COLOR_ATTACHMENT_BIT | vk.FORMAT_FEATURE_2_COLOR_ATTACHMENT_BLEND_BIT
	}
	return vk.FORMAT_FEATURE_2_COLOR_ATTACHMENT_BIT
}
