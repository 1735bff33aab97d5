package icd

import (
	"math"

	"farside/internal/descriptor"
	"farside/internal/vk"
)

// descriptorProperties fills the structures about descriptors, and their part of the aggregates. Sets are plain memory,
// whether they are updated after they were bound or not.
func descriptorProperties(out *vk.PhysicalDeviceProperties2) {
	indexingProperties(out)
	inlineProperties(out)
	if s := vk.Find[vk.PhysicalDevicePushDescriptorProperties](out.PNext); s != nil {
		s.MaxPushDescriptors = descriptor.MaxPushDescriptors
	}
	if s := vk.Find[vk.PhysicalDeviceRobustness2PropertiesKHR](out.PNext); s != nil {
		// Each access is held to the last byte of the range.
		s.RobustStorageBufferAccessSizeAlignment, s.RobustUniformBufferAccessSizeAlignment = 1, 1
	}
}

// indexingProperties fills what descriptor indexing says, in its own structure and in Vulkan 1.2's.
func indexingProperties(out *vk.PhysicalDeviceProperties2) {
	chain := out.PNext
	const most = descriptor.MaxDescriptors
	if s := vk.Find[vk.PhysicalDeviceDescriptorIndexingProperties](chain); s != nil {
		*s = vk.PhysicalDeviceDescriptorIndexingProperties{SType: s.SType, PNext: s.PNext,
			MaxUpdateAfterBindDescriptorsInAllPools: math.MaxUint32, // as many as memory holds
			// An instruction takes each lane's own descriptor.
			ShaderUniformBufferArrayNonUniformIndexingNative:     vk.TRUE,
			ShaderSampledImageArrayNonUniformIndexingNative:      vk.TRUE,
			ShaderStorageBufferArrayNonUniformIndexingNative:     vk.TRUE,
			ShaderStorageImageArrayNonUniformIndexingNative:      vk.TRUE,
			ShaderInputAttachmentArrayNonUniformIndexingNative:   vk.FALSE, // no fragment shaders
			RobustBufferAccessUpdateAfterBind:                    vk.TRUE,
			QuadDivergentImplicitLod:                             vk.FALSE,
			MaxPerStageDescriptorUpdateAfterBindSamplers:         most,
			MaxPerStageDescriptorUpdateAfterBindUniformBuffers:   most,
			MaxPerStageDescriptorUpdateAfterBindStorageBuffers:   most,
			MaxPerStageDescriptorUpdateAfterBindSampledImages:    most,
			MaxPerStageDescriptorUpdateAfterBindStorageImages:    most,
			MaxPerStageDescriptorUpdateAfterBindInputAttachments: most,
			MaxPerStageUpdateAfterBindResources:                  most,
			MaxDescriptorSetUpdateAfterBindSamplers:              most,
			MaxDescriptorSetUpdateAfterBindUniformBuffers:        most,
			MaxDescriptorSetUpdateAfterBindUniformBuffersDynamic: maxDynamicBuffers,
			MaxDescriptorSetUpdateAfterBindStorageBuffers:        most,
			MaxDescriptorSetUpdateAfterBindStorageBuffersDynamic: maxDynamicBuffers,
			MaxDescriptorSetUpdateAfterBindSampledImages:         most,
			MaxDescriptorSetUpdateAfterBindStorageImages:         most,
			MaxDescriptorSetUpdateAfterBindInputAttachments:      most,
		}
	}
	if s := vk.Find[vk.PhysicalDeviceVulkan12Properties](chain); s != nil {
		s.MaxUpdateAfterBindDescriptorsInAllPools = math.MaxUint32
		s.ShaderUniformBufferArrayNonUniformIndexingNative = vk.TRUE
		s.ShaderSampledImageArrayNonUniformIndexingNative = vk.TRUE
		s.ShaderStorageBufferArrayNonUniformIndexingNative = vk.TRUE
		s.ShaderStorageImageArrayNonUniformIndexingNative = vk.TRUE
		s.ShaderInputAttachmentArrayNonUniformIndexingNative = vk.FALSE
		s.RobustBufferAccessUpdateAfterBind = vk.TRUE
		s.QuadDivergentImplicitLod = vk.FALSE
		s.MaxPerStageDescriptorUpdateAfterBindSamplers = most
		s.MaxPerStageDescriptorUpdateAfterBindUniformBuffers = most
		s.MaxPerStageDescriptorUpdateAfterBindStorageBuffers = most
		s.MaxPerStageDescriptorUpdateAfterBindSampledImages = most
		s.MaxPerStageDescriptorUpdateAfterBindStorageImages = most
		s.MaxPerStageDescriptorUpdateAfterBindInputAttachments = most
		s.MaxPerStageUpdateAfterBindResources = most
		s.MaxDescriptorSetUpdateAfterBindSamplers = most
		s.MaxDescriptorSetUpdateAfterBindUniformBuffers = most
		s.MaxDescriptorSetUpdateAfterBindUniformBuffersDynamic = maxDynamicBuffers
		s.MaxDescriptorSetUpdateAfterBindStorageBuffers = most
		s.MaxDescriptorSetUpdateAfterBindStorageBuffersDynamic = maxDynamicBuffers
		s.MaxDescriptorSetUpdateAfterBindSampledImages = most
		s.MaxDescriptorSetUpdateAfterBindStorageImages = most
		s.MaxDescriptorSetUpdateAfterBindInputAttachments = most
	}
}

// inlineProperties fills what inline uniform blocks say, in their own structure and in Vulkan 1.3's.
func inlineProperties(out *vk.PhysicalDeviceProperties2) {
	chain := out.PNext
	if s := vk.Find[vk.PhysicalDeviceInlineUniformBlockProperties](chain); s != nil {
		*s = vk.PhysicalDeviceInlineUniformBlockProperties{SType: s.SType, PNext: s.PNext,
			MaxInlineUniformBlockSize:                               descriptor.MaxInlineBytes,
			MaxPerStageDescriptorInlineUniformBlocks:                descriptor.MaxInlineBlocks,
			MaxPerStageDescriptorUpdateAfterBindInlineUniformBlocks: descriptor.MaxInlineBlocks,
			MaxDescriptorSetInlineUniformBlocks:                     descriptor.MaxInlineBlocks,
			MaxDescriptorSetUpdateAfterBindInlineUniformBlocks:      descriptor.MaxInlineBlocks,
		}
	}
	if s := vk.Find[vk.PhysicalDeviceVulkan13Properties](chain); s != nil {
		s.MaxInlineUniformBlockSize = descriptor.MaxInlineBytes
		s.MaxPerStageDescriptorInlineUniformBlocks = descriptor.MaxInlineBlocks
		s.MaxPerStageDescriptorUpdateAfterBindInlineUniformBlocks = descriptor.MaxInlineBlocks
		s.MaxDescriptorSetInlineUniformBlocks = descriptor.MaxInlineBlocks
		s.MaxDescriptorSetUpdateAfterBindInlineUniformBlocks = descriptor.MaxInlineBlocks
		s.MaxInlineUniformTotalSize = descriptor.MaxInlineBytes * descriptor.MaxInlineBlocks
	}
}
