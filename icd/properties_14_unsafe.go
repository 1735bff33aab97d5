package icd

import (
	"unsafe"

	"farside/internal/vk"
)

// properties14 fills the aggregate of Vulkan 1.4 from what the single structures say.
func (p *physicalDevice) properties14(s *vk.PhysicalDeviceVulkan14Properties) {
	var (
		lines    vk.PhysicalDeviceLineRasterizationProperties
		divisors vk.PhysicalDeviceVertexAttributeDivisorProperties
		push     vk.PhysicalDevicePushDescriptorProperties
		five     vk.PhysicalDeviceMaintenance5Properties
		six      vk.PhysicalDeviceMaintenance6Properties
		robust   vk.PhysicalDevicePipelineRobustnessProperties
		host     vk.PhysicalDeviceHostImageCopyProperties
		out      vk.PhysicalDeviceProperties2
	)
	host.CopySrcLayoutCount, host.PCopySrcLayouts = s.CopySrcLayoutCount, s.PCopySrcLayouts
	host.CopyDstLayoutCount, host.PCopyDstLayouts = s.CopyDstLayoutCount, s.PCopyDstLayouts
	link(&out, lines.StructureType(), unsafe.Pointer(&lines))
	link(&out, divisors.StructureType(), unsafe.Pointer(&divisors))
	link(&out, push.StructureType(), unsafe.Pointer(&push))
	link(&out, five.StructureType(), unsafe.Pointer(&five))
	link(&out, six.StructureType(), unsafe.Pointer(&six))
	link(&out, robust.StructureType(), unsafe.Pointer(&robust))
	link(&out, host.StructureType(), unsafe.Pointer(&host))
	p.fill(&out)
	*s = vk.PhysicalDeviceVulkan14Properties{SType: s.SType, PNext: s.PNext,
		LineSubPixelPrecisionBits:    lines.LineSubPixelPrecisionBits,
		MaxVertexAttribDivisor:       divisors.MaxVertexAttribDivisor,
		SupportsNonZeroFirstInstance: divisors.SupportsNonZeroFirstInstance,
		MaxPushDescriptors:           push.MaxPushDescriptors,

		// Input attachments of all aspects and sample counts are read where they lie.
		DynamicRenderingLocalReadDepthStencilAttachments: bool32(p.graphics()),
		DynamicRenderingLocalReadMultisampledAttachments: bool32(p.graphics()),

		EarlyFragmentMultisampleCoverageAfterSampleCounting: five.EarlyFragmentMultisampleCoverageAfterSampleCounting,
		EarlyFragmentSampleMaskTestBeforeSampleCounting:     five.EarlyFragmentSampleMaskTestBeforeSampleCounting,
		DepthStencilSwizzleOneSupport:                       five.DepthStencilSwizzleOneSupport,
		PolygonModePointSize:                                five.PolygonModePointSize,
		NonStrictSinglePixelWideLinesUseParallelogram:       five.NonStrictSinglePixelWideLinesUseParallelogram,
		NonStrictWideLinesUseParallelogram:                  five.NonStrictWideLinesUseParallelogram,

		BlockTexelViewCompatibleMultipleLayers: six.BlockTexelViewCompatibleMultipleLayers,
		MaxCombinedImageSamplerDescriptorCount: six.MaxCombinedImageSamplerDescriptorCount,
		FragmentShadingRateClampCombinerInputs: six.FragmentShadingRateClampCombinerInputs,

		DefaultRobustnessStorageBuffers: robust.DefaultRobustnessStorageBuffers,
		DefaultRobustnessUniformBuffers: robust.DefaultRobustnessUniformBuffers,
		DefaultRobustnessVertexInputs:   robust.DefaultRobustnessVertexInputs,
		DefaultRobustnessImages:         robust.DefaultRobustnessImages,

		CopySrcLayoutCount:              host.CopySrcLayoutCount,
		PCopySrcLayouts:                 host.PCopySrcLayouts,
		CopyDstLayoutCount:              host.CopyDstLayoutCount,
		PCopyDstLayouts:                 host.PCopyDstLayouts,
		OptimalTilingLayoutUUID:         host.OptimalTilingLayoutUUID,
		IdenticalMemoryTypeRequirements: host.IdenticalMemoryTypeRequirements,
	}
}

// link puts a structure at the head of a chain.
func link(out *vk.PhysicalDeviceProperties2, t vk.StructureType, s unsafe.Pointer) {
	base := (*vk.BaseInStructure)(s)
	base.SType, base.PNext = t, (*vk.BaseInStructure)(out.PNext)
	out.PNext = s
}
