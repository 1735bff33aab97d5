package icd

import (
	"crypto/sha256"
	"fmt"
	"strconv"
	"strings"

	"farside/internal/config"
	"farside/internal/descriptor"
	"farside/internal/syncobj"
	"farside/internal/texel"
	"farside/internal/vk"
	"farside/memory"
)

const (
	// vendorID spells FARD. The specification wants a registered Khronos vendor ID from a vendor without a
	// PCI one. Farside has none, and another's would let applications apply that vendor's workarounds; this
	// value is neither a PCI ID (16 bits) nor near the registered ones, which count up from 0x10000.
	vendorID = 0x46415244
	deviceID = 1

	// driverID: as for the vendor, none is registered, and 0 is no registered driver's.
	driverID vk.DriverId = 0

	deviceName = "Farside (software, external memory)"
	driverName = "Farside"

	// subgroupSize is what shaders have unless a pipeline requires another size. It suits code that was written for GPUs,
	// and costs what any other costs: all invocations of a workgroup run in lockstep.
	subgroupSize                 = 32
	minSubgroupSize              = 4
	maxSubgroupSize              = 128
	maxComputeWorkgroupSubgroups = maxComputeWorkGroupInvocations / minSubgroupSize
	subgroupOperations           = vk.SUBGROUP_FEATURE_BASIC_BIT | vk.SUBGROUP_FEATURE_VOTE_BIT |
		vk.SUBGROUP_FEATURE_ARITHMETIC_BIT |
		vk.SUBGROUP_FEATURE_BALLOT_BIT | vk.SUBGROUP_FEATURE_SHUFFLE_BIT | vk.SUBGROUP_FEATURE_SHUFFLE_RELATIVE_BIT |
		vk.SUBGROUP_FEATURE_CLUSTERED_BIT | vk.SUBGROUP_FEATURE_QUAD_BIT |
		vk.SUBGROUP_FEATURE_ROTATE_BIT | vk.SUBGROUP_FEATURE_ROTATE_CLUSTERED_BIT
	// maxPerSetDescriptors, of all types together; required are 1024.
	maxPerSetDescriptors = descriptor.MaxDescriptors
)

func getPhysicalDeviceProperties(p *physicalDevice, out *vk.PhysicalDeviceProperties) {
	p.properties(out)
	if p.cut != nil {
		p.cut.Apply(vk.STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2, propertiesBytes(out))
	}
}

// getPhysicalDeviceProperties2 fills the structures that it knows and leaves others as they are.
func getPhysicalDeviceProperties2(p *physicalDevice, out *vk.PhysicalDeviceProperties2) {
	if p.cut != nil {
		p.answerAsProfile(out)
		return
	}
	p.fill(out)
}

// fill answers as the driver's own device.
func (p *physicalDevice) fill(out *vk.PhysicalDeviceProperties2) {
	p.properties(&out.Properties)
	p.coreProperties(out)
	p.memoryRelatedProperties(out)
	p.shaderProperties(out)
	descriptorProperties(out)
	p.drawProperties(out)
	if s := vk.Find[vk.PhysicalDeviceVulkan14Properties](out.PNext); s != nil {
		p.properties14(s)
	}
}

func (p *physicalDevice) properties(out *vk.PhysicalDeviceProperties) {
	out.ApiVersion = p.ownVersion()
	out.DriverVersion = driverVersion(Version)
	out.VendorID = vendorID
	out.DeviceID = deviceID
	out.DeviceType = vk.PHYSICAL_DEVICE_TYPE_CPU
	vk.CopyString(out.DeviceName[:], deviceName)
	out.PipelineCacheUUID = p.pipelineCacheUUID()
	out.Limits = deviceLimits
	if p.graphics() {
		extendLimits(&out.Limits)
	}
	out.SparseProperties = vk.PhysicalDeviceSparseProperties{} // no sparse resources
}

// pipelineCacheUUID changes with version and commit, and with what a profile says, as anything does that changes what a
// pipeline cache holds.
func (p *physicalDevice) pipelineCacheUUID() [vk.UUID_SIZE]byte {
	parts := [][]byte{p.driverUUID[:], []byte("pipeline cache " + Version + " " + Commit)}
	if p.cut != nil && len(p.group) > 0 { // devices of a group are told apart by names alone
		parts = append(parts, p.group[0].cut.Fingerprint())
	}
	return hashUUID(parts...)
}

// coreProperties fills the structures of Vulkan 1.1 to 1.3 that say who the device is and the aggregates,
// which hold the same values as the single ones.
func (p *physicalDevice) coreProperties(out *vk.PhysicalDeviceProperties2) {
	chain := out.PNext
	if s := vk.Find[vk.PhysicalDeviceVulkan11Properties](chain); s != nil {
		*s = vk.PhysicalDeviceVulkan11Properties{SType: s.SType, PNext: s.PNext,
			DeviceUUID:   p.deviceUUID,
			DriverUUID:   p.driverUUID,
			SubgroupSize: subgroupSize,

			SubgroupSupportedStages:     p.subgroupStages(),
			SubgroupSupportedOperations: subgroupOperations,

			PointClippingBehavior:     vk.POINT_CLIPPING_BEHAVIOR_ALL_CLIP_PLANES,
			MaxMultiviewViewCount:     maxMultiviewViewCount,
			MaxMultiviewInstanceIndex: maxMultiviewInstanceIndex,
			MaxPerSetDescriptors:      maxPerSetDescriptors,
			MaxMemoryAllocationSize:   p.maxMemoryAllocationSize(),
		}
	}
	if s := vk.Find[vk.PhysicalDeviceVulkan12Properties](chain); s != nil {
		*s = vk.PhysicalDeviceVulkan12Properties{SType: s.SType, PNext: s.PNext,
			DriverID:                   driverID,
			DenormBehaviorIndependence: vk.SHADER_FLOAT_CONTROLS_INDEPENDENCE_ALL,
			RoundingModeIndependence:   vk.SHADER_FLOAT_CONTROLS_INDEPENDENCE_ALL,

			ShaderSignedZeroInfNanPreserveFloat16: vk.TRUE,
			ShaderSignedZeroInfNanPreserveFloat32: vk.TRUE,
			ShaderSignedZeroInfNanPreserveFloat64: vk.TRUE,
			ShaderDenormPreserveFloat16:           vk.TRUE,
			ShaderDenormPreserveFloat32:           vk.TRUE,
			ShaderDenormPreserveFloat64:           vk.TRUE,
			ShaderRoundingModeRTEFloat16:          vk.TRUE,
			ShaderRoundingModeRTEFloat32:          vk.TRUE,
			ShaderRoundingModeRTEFloat64:          vk.TRUE,

			MaxTimelineSemaphoreValueDifference: maxTimelineSemaphoreValueDifference,
			FramebufferIntegerColorSampleCounts: p.sampleCounts(),
			FilterMinmaxSingleComponentFormats:  vk.TRUE,
			FilterMinmaxImageComponentMapping:   vk.TRUE,
		}
		modes := vk.PhysicalDeviceDepthStencilResolveProperties{}
		p.resolveModes(&modes)
		s.SupportedDepthResolveModes, s.SupportedStencilResolveModes = modes.SupportedDepthResolveModes,
			modes.SupportedStencilResolveModes
		s.IndependentResolveNone, s.IndependentResolve = modes.IndependentResolveNone, modes.IndependentResolve
		vk.CopyString(s.DriverName[:], driverName)
		vk.CopyString(s.DriverInfo[:], p.driverInfo())
	}
	if s := vk.Find[vk.PhysicalDeviceVulkan13Properties](chain); s != nil {
		*s = vk.PhysicalDeviceVulkan13Properties{SType: s.SType, PNext: s.PNext,
			MinSubgroupSize:                        minSubgroupSize,
			MaxSubgroupSize:                        maxSubgroupSize,
			MaxComputeWorkgroupSubgroups:           maxComputeWorkgroupSubgroups,
			RequiredSubgroupSizeStages:             vk.ShaderStageFlags(vk.SHADER_STAGE_COMPUTE_BIT),
			StorageTexelBufferOffsetAlignmentBytes: minOffsetAlignment,
			UniformTexelBufferOffsetAlignmentBytes: minOffsetAlignment,
			MaxBufferSize:                          p.maxMemoryAllocationSize(),
		}
	}
	if s := vk.Find[vk.PhysicalDeviceIDProperties](chain); s != nil {
		s.DeviceUUID, s.DriverUUID = p.deviceUUID, p.driverUUID
		s.DeviceLUID, s.DeviceNodeMask, s.DeviceLUIDValid = [vk.LUID_SIZE]byte{}, 0, vk.FALSE // LUIDs are Windows'
	}
	if s := vk.Find[vk.PhysicalDeviceDriverProperties](chain); s != nil {
		s.DriverID = driverID
		vk.CopyString(s.DriverName[:], driverName)
		vk.CopyString(s.DriverInfo[:], p.driverInfo())
		s.ConformanceVersion = vk.ConformanceVersion{} // not submitted for conformance
	}
	if s := vk.Find[vk.PhysicalDevicePointClippingProperties](chain); s != nil {
		s.PointClippingBehavior = vk.POINT_CLIPPING_BEHAVIOR_ALL_CLIP_PLANES
	}
	if s := vk.Find[vk.PhysicalDeviceMultiviewProperties](chain); s != nil {
		s.MaxMultiviewViewCount, s.MaxMultiviewInstanceIndex = maxMultiviewViewCount, maxMultiviewInstanceIndex
	}
	if s := vk.Find[vk.PhysicalDeviceProtectedMemoryProperties](chain); s != nil {
		s.ProtectedNoFault = vk.FALSE
	}
	if s := vk.Find[vk.PhysicalDeviceSubgroupProperties](chain); s != nil {
		s.SubgroupSize, s.QuadOperationsInAllStages = subgroupSize, vk.FALSE
		s.SupportedStages, s.SupportedOperations = p.subgroupStages(), subgroupOperations
	}
	if s := vk.Find[vk.PhysicalDeviceTimelineSemaphoreProperties](chain); s != nil {
		s.MaxTimelineSemaphoreValueDifference = maxTimelineSemaphoreValueDifference
	}
}

// memoryRelatedProperties fills the structures about memory, buffers and images.
func (p *physicalDevice) memoryRelatedProperties(out *vk.PhysicalDeviceProperties2) {
	chain := out.PNext
	if s := vk.Find[vk.PhysicalDeviceMaintenance3Properties](chain); s != nil {
		s.MaxPerSetDescriptors = maxPerSetDescriptors
		s.MaxMemoryAllocationSize = p.maxMemoryAllocationSize()
	}
	if s := vk.Find[vk.PhysicalDeviceMaintenance4Properties](chain); s != nil {
		s.MaxBufferSize = p.maxMemoryAllocationSize()
	}
	if s := vk.Find[vk.PhysicalDeviceMaintenance5Properties](chain); s != nil {
		*s = vk.PhysicalDeviceMaintenance5Properties{SType: s.SType, PNext: s.PNext}
		s.DepthStencilSwizzleOneSupport = vk.TRUE
		if p.graphics() {
			s.PolygonModePointSize = vk.TRUE
			s.EarlyFragmentMultisampleCoverageAfterSampleCounting = vk.TRUE
			s.EarlyFragmentSampleMaskTestBeforeSampleCounting = vk.TRUE
		}
	}
	if s := vk.Find[vk.PhysicalDeviceMaintenance6Properties](chain); s != nil {
		*s = vk.PhysicalDeviceMaintenance6Properties{SType: s.SType, PNext: s.PNext,
			BlockTexelViewCompatibleMultipleLayers: vk.TRUE,
			MaxCombinedImageSamplerDescriptorCount: 1, // there are no formats of several planes
		}
	}
	if s := vk.Find[vk.PhysicalDeviceExternalMemoryHostPropertiesEXT](chain); s != nil {
		s.MinImportedHostPointerAlignment = memory.PageSize()
	}
	if s := vk.Find[vk.PhysicalDeviceMapMemoryPlacedPropertiesEXT](chain); s != nil {
		s.MinPlacedMemoryMapAlignment = memory.PageSize()
	}
	if s := vk.Find[vk.PhysicalDeviceHostImageCopyProperties](chain); s != nil {
		vk.WriteArray(&s.CopySrcLayoutCount, s.PCopySrcLayouts, hostCopyLayouts)
		vk.WriteArray(&s.CopyDstLayoutCount, s.PCopyDstLayouts, hostCopyLayouts)
		s.OptimalTilingLayoutUUID, s.IdenticalMemoryTypeRequirements = optimalTilingUUID, vk.TRUE
	}
	if s := vk.Find[vk.PhysicalDeviceTexelBufferAlignmentProperties](chain); s != nil {
		s.StorageTexelBufferOffsetAlignmentBytes, s.UniformTexelBufferOffsetAlignmentBytes = minOffsetAlignment,
			minOffsetAlignment
		s.StorageTexelBufferOffsetSingleTexelAlignment, s.UniformTexelBufferOffsetSingleTexelAlignment = vk.FALSE, vk.FALSE
	}
}

// shaderProperties fills the structures about shaders and attachments. None of these features is
// supported: they are 0 throughout, with the exceptions that a 0 would make illegal.
func (p *physicalDevice) shaderProperties(out *vk.PhysicalDeviceProperties2) {
	chain := out.PNext
	if s := vk.Find[vk.PhysicalDeviceDepthStencilResolveProperties](chain); s != nil {
		p.resolveModes(s)
	}
	if s := vk.Find[vk.PhysicalDeviceFloatControlsProperties](chain); s != nil {
		// Kernels compute as IEEE 754 has it: to nearest even, with denormals, infinities and signed zeros.
		*s = vk.PhysicalDeviceFloatControlsProperties{SType: s.SType, PNext: s.PNext,
			DenormBehaviorIndependence:            vk.SHADER_FLOAT_CONTROLS_INDEPENDENCE_ALL,
			RoundingModeIndependence:              vk.SHADER_FLOAT_CONTROLS_INDEPENDENCE_ALL,
			ShaderSignedZeroInfNanPreserveFloat16: vk.TRUE,
			ShaderSignedZeroInfNanPreserveFloat32: vk.TRUE,
			ShaderSignedZeroInfNanPreserveFloat64: vk.TRUE,
			ShaderDenormPreserveFloat16:           vk.TRUE,
			ShaderDenormPreserveFloat32:           vk.TRUE,
			ShaderDenormPreserveFloat64:           vk.TRUE,
			ShaderRoundingModeRTEFloat16:          vk.TRUE,
			ShaderRoundingModeRTEFloat32:          vk.TRUE,
			ShaderRoundingModeRTEFloat64:          vk.TRUE,
		}
	}
	if s := vk.Find[vk.PhysicalDevicePipelineRobustnessProperties](chain); s != nil {
		s.DefaultRobustnessStorageBuffers = vk.PIPELINE_ROBUSTNESS_BUFFER_BEHAVIOR_ROBUST_BUFFER_ACCESS_2
		s.DefaultRobustnessUniformBuffers = vk.PIPELINE_ROBUSTNESS_BUFFER_BEHAVIOR_ROBUST_BUFFER_ACCESS_2
		s.DefaultRobustnessVertexInputs = vk.PIPELINE_ROBUSTNESS_BUFFER_BEHAVIOR_ROBUST_BUFFER_ACCESS_2
		s.DefaultRobustnessImages = vk.PIPELINE_ROBUSTNESS_IMAGE_BEHAVIOR_ROBUST_IMAGE_ACCESS_2
	}
	if s := vk.Find[vk.PhysicalDeviceSamplerFilterMinmaxProperties](chain); s != nil {
		*s = vk.PhysicalDeviceSamplerFilterMinmaxProperties{SType: s.SType, PNext: s.PNext,
			FilterMinmaxSingleComponentFormats: vk.TRUE,
			FilterMinmaxImageComponentMapping:  vk.TRUE,
		}
	}
	if s := vk.Find[vk.PhysicalDeviceCustomBorderColorPropertiesEXT](chain); s != nil {
		s.MaxCustomBorderColorSamplers = maxSamplerAllocationCount
	}
	if s := vk.Find[vk.PhysicalDeviceSubgroupSizeControlProperties](chain); s != nil {
		*s = vk.PhysicalDeviceSubgroupSizeControlProperties{SType: s.SType, PNext: s.PNext,
			MinSubgroupSize:              minSubgroupSize,
			MaxSubgroupSize:              maxSubgroupSize,
			MaxComputeWorkgroupSubgroups: maxComputeWorkgroupSubgroups,
			RequiredSubgroupSizeStages:   vk.ShaderStageFlags(vk.SHADER_STAGE_COMPUTE_BIT),
		}
	}
	if s := vk.Find[vk.PhysicalDeviceShaderIntegerDotProductProperties](chain); s != nil {
		*s = vk.PhysicalDeviceShaderIntegerDotProductProperties{SType: s.SType, PNext: s.PNext}
	}
}

func driverInfo() string { return Version + " (" + Commit + ")" }

// driverVersion packs a version such as 1.2.3 as Vulkan packs its own; what is no number counts as 0.
func driverVersion(version string) uint32 {
	var n [3]uint32
	version, _, _ = strings.Cut(strings.TrimPrefix(version, "v"), "-")
	for i, part := range strings.SplitN(version, ".", 3) {
		if v, err := strconv.ParseUint(part, 10, 10); err == nil {
			n[i] = uint32(v)
		}
	}
	return vk.MakeVersion(n[0], n[1], n[2])
}

// driverUUID is the same for every build that understands the others' exported memory: it follows from the versions
// of all that lies in such memory. FARSIDE_DRIVER_UUID replaces it.
func driverUUID(s *config.Settings) [vk.UUID_SIZE]byte {
	if s.DriverUUID != nil {
		return *s.DriverUUID
	}
	return hashUUID(fmt.Appendf(nil, "farside memory %d sync %d images %d",
		memory.MetadataVersion, syncobj.MetadataVersion, texel.LayoutVersion))
}

// deviceUUID follows from the driver's and the device's place in the instance. FARSIDE_DEVICE_UUID replaces that of the
// first, from which the others' follow then.
func deviceUUID(s *config.Settings, driver [vk.UUID_SIZE]byte, index int) [vk.UUID_SIZE]byte {
	if s.DeviceUUID != nil {
		if index == 0 {
			return *s.DeviceUUID
		}
		driver = *s.DeviceUUID
	}
	return hashUUID(driver[:], fmt.Appendf(nil, "device %d", index))
}

func hashUUID(parts ...[]byte) (uuid [vk.UUID_SIZE]byte) {
	h := sha256.New()
	for _, p := range parts {
		h.Write(p)
	}
	copy(uuid[:], h.Sum(nil))
	return uuid
}
