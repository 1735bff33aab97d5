package icd

import (
	"farside/internal/descriptor"
	"farside/internal/exec"
	"farside/internal/sampling"
	"farside/internal/transfer"
	"farside/internal/vk"
	"farside/memory"
)

// Limits that the driver itself enforces or that follow from how it stores things.
const (
	// nonCoherentAtomSize: host memory is coherent, so the value only rounds ranges, unless strictness plays the other
	// kind.
	nonCoherentAtomSize = memory.Atom
	// minMemoryMapAlignment: mappings begin at pages, of 4096 bytes at least.
	minMemoryMapAlignment = 4096
	// minOffsetAlignment is 16 bytes, the largest texel or vector, for buffer offsets in descriptors and views.
	minOffsetAlignment = 16
	// maxTexelBufferElements lets a view of the widest texels reach 2 GiB.
	maxTexelBufferElements = 1 << 27
	// maxSamplerAllocationCount bounds nothing here: samplers are small, and are counted by nobody.
	maxSamplerAllocationCount = 1 << 20
	// maxDynamicBuffers: the offset of each is recorded with every vkCmdBindDescriptorSets.
	maxDynamicBuffers = 1024
	// The required minima of render passes with several views.
	maxMultiviewViewCount     = 6
	maxMultiviewInstanceIndex = 1<<27 - 1
	// Workgroups of more invocations would run, but gain nothing over more workgroups.
	maxComputeWorkGroupInvocations = 1024
	maxComputeSharedMemorySize     = 64 << 10
)

var maxComputeWorkGroupSize = [3]uint32{1024, 1024, 1024}

// deviceLimits is VkPhysicalDeviceLimits. Every value obeys the table "Required Limits" of the specification, in the
// chapter "Limits". Where the driver has no such stage the value is the required minimum: an application that only
// reads the table must find a legal one. Limits of features that are not supported are what the table says for that
// case, mostly 0.
var deviceLimits = vk.PhysicalDeviceLimits{
	// Images and memory: what Farside does; required are 4096 (3D: 256), 256 layers, 4096 allocations,
	// a granularity of at most 131072.
	MaxImageDimension1D:      maxImageDimension1D,
	MaxImageDimension2D:      maxImageDimension2D,
	MaxImageDimension3D:      maxImageDimension3D,
	MaxImageDimensionCube:    maxImageDimension2D,
	MaxImageArrayLayers:      maxImageArrayLayers,
	MaxTexelBufferElements:   maxTexelBufferElements,
	MaxMemoryAllocationCount: maxMemoryAllocationCount,
	BufferImageGranularity:   1, // buffers and images lie in memory alike, byte by byte
	SparseAddressSpaceSize:   0, // no sparse binding

	// Descriptors: they lie in plain memory, in which nothing sets one type apart from another.
	MaxUniformBufferRange:                 1 << 16,
	MaxStorageBufferRange:                 1<<32 - 1,
	MaxPushConstantsSize:                  maxPushConstantsSize,
	MaxSamplerAllocationCount:             maxSamplerAllocationCount,
	MaxBoundDescriptorSets:                maxBoundDescriptorSets,
	MaxPerStageDescriptorSamplers:         descriptor.MaxDescriptors,
	MaxPerStageDescriptorUniformBuffers:   descriptor.MaxDescriptors,
	MaxPerStageDescriptorStorageBuffers:   descriptor.MaxDescriptors,
	MaxPerStageDescriptorSampledImages:    descriptor.MaxDescriptors,
	MaxPerStageDescriptorStorageImages:    descriptor.MaxDescriptors,
	MaxPerStageDescriptorInputAttachments: descriptor.MaxDescriptors,
	MaxPerStageResources:                  descriptor.MaxDescriptors,
	MaxDescriptorSetSamplers:              descriptor.MaxDescriptors,
	MaxDescriptorSetUniformBuffers:        descriptor.MaxDescriptors,
	MaxDescriptorSetUniformBuffersDynamic: maxDynamicBuffers,
	MaxDescriptorSetStorageBuffers:        descriptor.MaxDescriptors,
	MaxDescriptorSetStorageBuffersDynamic: maxDynamicBuffers,
	MaxDescriptorSetSampledImages:         descriptor.MaxDescriptors,
	MaxDescriptorSetStorageImages:         descriptor.MaxDescriptors,
	MaxDescriptorSetInputAttachments:      descriptor.MaxDescriptors,

	// Vertex input and output: required minima. Tessellation, geometry shaders and dual-source blending are
	// features that are not supported: 0.
	MaxVertexInputAttributes:           16,
	MaxVertexInputBindings:             16,
	MaxVertexInputAttributeOffset:      2047,
	MaxVertexInputBindingStride:        2048,
	MaxVertexOutputComponents:          64,
	MaxFragmentInputComponents:         64,
	MaxFragmentOutputAttachments:       4,
	MaxFragmentDualSrcAttachments:      0,
	MaxFragmentCombinedOutputResources: 4,

	// Compute: required are 16384 bytes, 65535 workgroups in each dimension, 128 invocations, 128×128×64.
	MaxComputeSharedMemorySize:     maxComputeSharedMemorySize,
	MaxComputeWorkGroupCount:       [3]uint32{exec.MaxGroupsX, exec.MaxGroupsYZ, exec.MaxGroupsYZ},
	MaxComputeWorkGroupInvocations: maxComputeWorkGroupInvocations,
	MaxComputeWorkGroupSize:        maxComputeWorkGroupSize,

	// Drawing, samplers, viewports: required minima without the features fullDrawIndexUint32,
	// multiDrawIndirect, multiViewport, sampleRateShading.
	SubPixelPrecisionBits:           4,
	SubTexelPrecisionBits:           transfer.WeightBits, // blits filter already
	MipmapPrecisionBits:             8,                   // of the 23 of a 32-bit float
	MaxDrawIndexedIndexValue:        1<<24 - 1,
	MaxDrawIndirectCount:            1,
	MaxSamplerLodBias:               sampling.MaxLodBias,
	MaxSamplerAnisotropy:            sampling.MaxAnisotropy,
	MaxViewports:                    1,
	MaxViewportDimensions:           [2]uint32{maxImageDimension2D, maxImageDimension2D},
	ViewportBoundsRange:             [2]float32{-2 * maxImageDimension2D, 2*maxImageDimension2D - 1},
	ViewportSubPixelBits:            0,
	MinTexelOffset:                  -8,
	MaxTexelOffset:                  7,
	MinTexelGatherOffset:            -8,
	MaxTexelGatherOffset:            7,
	MinInterpolationOffset:          0,
	MaxInterpolationOffset:          0,
	SubPixelInterpolationOffsetBits: 0,

	// Alignments: required are at least 64 for maps, at most 256 for the others.
	MinMemoryMapAlignment:              minMemoryMapAlignment,
	MinTexelBufferOffsetAlignment:      minOffsetAlignment,
	MinUniformBufferOffsetAlignment:    minOffsetAlignment,
	MinStorageBufferOffsetAlignment:    minOffsetAlignment,
	NonCoherentAtomSize:                nonCoherentAtomSize,
	OptimalBufferCopyOffsetAlignment:   1, // the processor copies from any address
	OptimalBufferCopyRowPitchAlignment: 64,

	// Framebuffers: required minima, but for the extent, so that images of any extent can be attachments.
	MaxFramebufferWidth:                  maxImageDimension2D,
	MaxFramebufferHeight:                 maxImageDimension2D,
	MaxFramebufferLayers:                 256,
	FramebufferColorSampleCounts:         sampleCounts,
	FramebufferDepthSampleCounts:         sampleCounts,
	FramebufferStencilSampleCounts:       sampleCounts,
	FramebufferNoAttachmentsSampleCounts: sampleCounts,
	MaxColorAttachments:                  4,
	SampledImageColorSampleCounts:        sampleCounts,
	SampledImageIntegerSampleCounts:      sampleCounts,
	SampledImageDepthSampleCounts:        sampleCounts,
	SampledImageStencilSampleCounts:      sampleCounts,
	StorageImageSampleCounts:             vk.SAMPLE_COUNT_1_BIT,
	MaxSampleMaskWords:                   1,

	// Queries: every queue has timestamps (timestampValidBits), which count nanoseconds.
	TimestampComputeAndGraphics: vk.TRUE,
	TimestampPeriod:             1,

	// Rasterisation: required minima without the features shaderClipDistance, shaderCullDistance,
	// largePoints and wideLines; two queue priorities, which share the one queue.
	MaxClipDistances:                0,
	MaxCullDistances:                0,
	MaxCombinedClipAndCullDistances: 0,
	DiscreteQueuePriorities:         2,
	PointSizeRange:                  [2]float32{1, 1},
	LineWidthRange:                  [2]float32{1, 1},
	PointSizeGranularity:            0,
	LineWidthGranularity:            0,
	StrictLines:                     vk.FALSE,
	StandardSampleLocations:         vk.FALSE,
}

// limits is what the device's answers say of the limits that the driver holds applications to.
type limits struct {
	vk.PhysicalDeviceLimits
	memory    vk.PhysicalDeviceMaintenance3Properties
	buffer    vk.PhysicalDeviceMaintenance4Properties
	subgroup  vk.PhysicalDeviceSubgroupProperties
	subgroups vk.PhysicalDeviceSubgroupSizeControlProperties
	indexing  vk.PhysicalDeviceDescriptorIndexingProperties
	inline    vk.PhysicalDeviceInlineUniformBlockProperties
	push      vk.PhysicalDevicePushDescriptorProperties
	host      vk.PhysicalDeviceExternalMemoryHostPropertiesEXT
	placed    vk.PhysicalDeviceMapMemoryPlacedPropertiesEXT
	border    vk.PhysicalDeviceCustomBorderColorPropertiesEXT
	texels    vk.PhysicalDeviceTexelBufferAlignmentProperties
	timeline  vk.PhysicalDeviceTimelineSemaphoreProperties
}

// descriptors are the limits of a descriptor set's layout.
func (l *limits) descriptors() descriptor.Limits {
	return descriptor.Limits{Descriptors: l.memory.MaxPerSetDescriptors, Pushed: l.push.MaxPushDescriptors,
		InlineBytes: l.inline.MaxInlineUniformBlockSize, InlineBlocks: l.inline.MaxDescriptorSetInlineUniformBlocks}
}
