package icd

import (
	"farside/internal/exec"
	"farside/internal/vk"
)

// drawProperties fills the structures about draws. Without graphics they are 0 throughout.
func (p *physicalDevice) drawProperties(out *vk.PhysicalDeviceProperties2) {
	chain, has := out.PNext, vk.Bool32(vk.FALSE)
	if p.graphics() {
		has = vk.TRUE
	}
	if s := vk.Find[vk.PhysicalDeviceLineRasterizationProperties](chain); s != nil {
		s.LineSubPixelPrecisionBits = uint32(has) * subPixelBits
	}
	if s := vk.Find[vk.PhysicalDeviceProvokingVertexPropertiesEXT](chain); s != nil {
		s.ProvokingVertexModePerPipeline, s.TransformFeedbackPreservesTriangleFanProvokingVertex = has, vk.FALSE
	}
	if s := vk.Find[vk.PhysicalDeviceVertexAttributeDivisorProperties](chain); s != nil {
		s.MaxVertexAttribDivisor, s.SupportsNonZeroFirstInstance = uint32(has)*exec.MaxVertexDivisor, has
	}
	if s := vk.Find[vk.PhysicalDeviceVertexAttributeDivisorPropertiesEXT](chain); s != nil {
		s.MaxVertexAttribDivisor = uint32(has) * exec.MaxVertexDivisor
	}
	if s := vk.Find[vk.PhysicalDeviceGraphicsPipelineLibraryPropertiesEXT](chain); s != nil {
		s.GraphicsPipelineLibraryFastLinking, s.GraphicsPipelineLibraryIndependentInterpolationDecoration = has, has
	}
	if s := vk.Find[vk.PhysicalDeviceMultiDrawPropertiesEXT](chain); s != nil {
		s.MaxMultiDrawCount = uint32(has) * maxMultiDrawCount
	}
	if s := vk.Find[vk.PhysicalDeviceExtendedDynamicState3PropertiesEXT](chain); s != nil {
		s.DynamicPrimitiveTopologyUnrestricted = has
	}
	if s := vk.Find[vk.PhysicalDeviceShaderObjectPropertiesEXT](chain); s != nil {
		s.ShaderBinaryUUID, s.ShaderBinaryVersion = [vk.UUID_SIZE]byte{}, uint32(has)*binaryVersion
		if has != vk.FALSE {
			s.ShaderBinaryUUID = binaryUUID
		}
	}
}
