package icd

import (
	"sync"

	"farside/internal/vk"
)

// supportedFeatures are the features that work, by the registry's name; a structure that repeats a feature of
// another (VkPhysicalDeviceVulkan12Features) reports the same.
//
// Vulkan 1.1 asks for multiview too; the driver has no render passes in which to view anything, and does not
// claim it.
var supportedFeatures = sync.OnceValue(func() map[string]bool {
	return map[string]bool{
		"robustBufferAccess": true, // the kernels look at the range of every access

		"bufferDeviceAddress":         true, // the capture-replay and multi-device variants are not
		"deviceMemoryReport":          true,
		"externalMemoryRDMA":          true,
		"globalPriorityQuery":         true,
		"hostImageCopy":               true,
		"hostQueryReset":              true,
		"maintenance4":                true,
		"maintenance5":                true,
		"memoryMapPlaced":             true,
		"memoryMapRangePlaced":        true,
		"memoryPriority":              true,
		"memoryUnmapReserve":          true,
		"pageableDeviceLocalMemory":   true,
		"privateData":                 true,
		"separateDepthStencilLayouts": true, // images lie the same in all layouts
		"synchronization2":            true,
		"timelineSemaphore":           true,

		// Arithmetic, memory and subgroups in shaders.
		"computeFullSubgroups":            true,
		"scalarBlockLayout":               true,
		"shaderBufferFloat32AtomicAdd":    true,
		"shaderBufferFloat32AtomicMinMax": true,
		"shaderBufferFloat32Atomics":      true,
		"shaderBufferFloat64AtomicAdd":    true,
		"shaderBufferFloat64AtomicMinMax": true,
		"shaderBufferFloat64Atomics":      true,
		"shaderBufferInt64Atomics":        true,
		"shaderFloat16":                   true,
		"shaderFloat64":                   true,
		"shaderInt16":                     true,
		"shaderInt64":                     true,
		"shaderInt8":                      true,
		"shaderIntegerDotProduct":         true,
		"shaderSharedFloat32AtomicAdd":    true,
		"shaderSharedFloat32AtomicMinMax": true,
		"shaderSharedFloat32Atomics":      true,
		"shaderSharedFloat64AtomicAdd":    true,
		"shaderSharedFloat64AtomicMinMax": true,
		"shaderSharedFloat64Atomics":      true,
		"shaderSharedInt64Atomics":        true,
		"shaderSubgroupExtendedTypes":     true,
		// as shaderTerminateInvocation: of fragment shaders, of which there are none
		"shaderDemoteToHelperInvocation":                 true,
		"shaderSubgroupRotate":                           true,
		"subgroupBroadcastDynamicId":                     true,
		"shaderSubgroupRotateClustered":                  true,
		"shaderTerminateInvocation":                      true,
		"shaderZeroInitializeWorkgroupMemory":            true,
		"shaderExpectAssume":                             true, // nothing is made of what they say
		"shaderFloatControls2":                           true, // every operation is exact already, none is contracted
		"shaderMaximalReconvergence":                     true, // lanes always meet as soon as structure lets them
		"shaderQuadControl":                              true,
		"shaderDeviceClock":                              true,
		"shaderSubgroupClock":                            true,
		"shaderSubgroupUniformControlFlow":               true,
		"storageBuffer16BitAccess":                       true,
		"storageBuffer8BitAccess":                        true,
		"storagePushConstant16":                          true,
		"storagePushConstant8":                           true,
		"subgroupSizeControl":                            true,
		"uniformAndStorageBuffer16BitAccess":             true,
		"uniformAndStorageBuffer8BitAccess":              true,
		"uniformBufferStandardLayout":                    true,
		"variablePointers":                               true,
		"variablePointersStorageBuffer":                  true,
		"vulkanMemoryModel":                              true,
		"vulkanMemoryModelAvailabilityVisibilityChains":  true,
		"vulkanMemoryModelDeviceScope":                   true,
		"workgroupMemoryExplicitLayout":                  true,
		"workgroupMemoryExplicitLayout16BitAccess":       true,
		"workgroupMemoryExplicitLayout8BitAccess":        true,
		"workgroupMemoryExplicitLayoutScalarBlockLayout": true,

		// Pipelines.
		"pipelineCreationCacheControl": true,
		"pipelineExecutableInfo":       true,
		"pipelineRobustness":           true, // pipelines have the highest anyway
		"pushDescriptor":               true,

		// Descriptors.
		"descriptorBindingInlineUniformBlockUpdateAfterBind": true,
		"descriptorBindingPartiallyBound":                    true,
		"descriptorBindingSampledImageUpdateAfterBind":       true,
		"descriptorBindingStorageBufferUpdateAfterBind":      true,
		"descriptorBindingStorageImageUpdateAfterBind":       true,
		"descriptorBindingStorageTexelBufferUpdateAfterBind": true,
		"descriptorBindingUniformBufferUpdateAfterBind":      true,
		"descriptorBindingUniformTexelBufferUpdateAfterBind": true,
		"descriptorBindingUpdateUnusedWhilePending":          true,
		"descriptorBindingVariableDescriptorCount":           true,
		"descriptorIndexing":                                 true,
		"inlineUniformBlock":                                 true,
		"maintenance6":                                       true, // most of it is commands for descriptors
		"nullDescriptor":                                     true,
		"robustBufferAccess2":                                true,
		"robustImageAccess2":                                 true,
		"runtimeDescriptorArray":                             true,
		"shaderSampledImageArrayNonUniformIndexing":          true,
		"shaderStorageBufferArrayDynamicIndexing":            true,
		"shaderStorageBufferArrayNonUniformIndexing":         true,
		"shaderStorageImageArrayNonUniformIndexing":          true,
		"shaderStorageTexelBufferArrayDynamicIndexing":       true,
		"shaderStorageTexelBufferArrayNonUniformIndexing":    true,
		"shaderUniformBufferArrayDynamicIndexing":            true,
		"shaderUniformBufferArrayNonUniformIndexing":         true,
		"shaderUniformTexelBufferArrayDynamicIndexing":       true,
		"shaderUniformTexelBufferArrayNonUniformIndexing":    true,

		// Images in shaders.
		"customBorderColorWithoutFormat":         true,
		"customBorderColors":                     true,
		"formatA4B4G4R4":                         true,
		"formatA4R4G4B4":                         true,
		"imageCubeArray":                         true,
		"nonSeamlessCubeMap":                     true,
		"robustImageAccess":                      true,
		"samplerAnisotropy":                      true,
		"samplerFilterMinmax":                    true,
		"samplerMirrorClampToEdge":               true,
		"samplerYcbcrConversion":                 true,
		"ycbcr2plane444Formats":                  true,
		"ycbcrImageArrays":                       true,
		"shaderImageFloat32AtomicAdd":            true,
		"shaderImageFloat32AtomicMinMax":         true,
		"shaderImageFloat32Atomics":              true,
		"shaderImageInt64Atomics":                true,
		"shaderImageGatherExtended":              true,
		"shaderSampledImageArrayDynamicIndexing": true,
		"shaderStorageImageArrayDynamicIndexing": true,
		"shaderStorageImageExtendedFormats":      true,
		"shaderStorageImageReadWithoutFormat":    true,
		"shaderStorageImageWriteWithoutFormat":   true,
		"textureCompressionASTC_HDR":             true,
		"textureCompressionASTC_LDR":             true,
		"textureCompressionBC":                   true,
		"textureCompressionETC2":                 true,
		"texelBufferAlignment":                   true,
	}
})

// otherExtension is the structure of an extension that is not advertised although a feature of its has the name of a
// supported one: VK_EXT_buffer_device_address, which VK_KHR_buffer_device_address replaced.
const otherExtension = vk.STRUCTURE_TYPE_PHYSICAL_DEVICE_BUFFER_DEVICE_ADDRESS_FEATURES_EXT

func getPhysicalDeviceFeatures(p *physicalDevice, out *vk.PhysicalDeviceFeatures) {
	p.writeCoreFeatures(out)
}

// getPhysicalDeviceFeatures2 answers every feature structure of the registry: those of extensions that are not
// advertised with VK_FALSE throughout. Other structures are left as they are.
func getPhysicalDeviceFeatures2(p *physicalDevice, out *vk.PhysicalDeviceFeatures2) {
	p.writeCoreFeatures(&out.Features)
	for s := range vk.Chain(out.PNext) {
		p.writeFeatures(s)
	}
}

// supportsFeature says whether the driver has the feature name of a structure.
func supportsFeature(structure vk.StructureType, name string) bool {
	return structure != otherExtension && supportedFeatures()[name]
}

// enabledFeatures returns the names of the features that info asks for, in pEnabledFeatures or its pNext chain.
// It fails with VK_ERROR_FEATURE_NOT_PRESENT for one that the device does not have. Any value but 0 asks.
func (p *physicalDevice) enabledFeatures(info *vk.DeviceCreateInfo) (map[string]bool, error) {
	requested := map[string]bool{}
	if info.PEnabledFeatures != nil {
		if err := p.requestCoreFeatures(info.PEnabledFeatures, requested); err != nil {
			return nil, err
		}
	}
	if f := vk.Find[vk.PhysicalDeviceFeatures2](info.PNext); f != nil {
		if err := p.requestCoreFeatures(&f.Features, requested); err != nil {
			return nil, err
		}
	}
	for s := range vk.Chain(info.PNext) {
		if err := p.requestFeatures(s, requested); err != nil {
			return nil, err
		}
	}
	return requested, nil
}

// request adds one feature that the application asked for.
func (p *physicalDevice) request(structure vk.StructureType, structName, feature string, into map[string]bool) error {
	if !p.supportsFeature(structure, feature) {
		return vk.Errorf(vk.ERROR_FEATURE_NOT_PRESENT, vk.NoVUID, "feature %s of %s is not supported", feature, structName)
	}
	into[feature] = true
	return nil
}
