package icd

import (
	"strings"
	"testing"
	"unsafe"

	"farside/internal/vk"
)

// chainOf links one zeroed structure of each sType, in Go memory that the returned slices keep alive; every
// byte behind the header is set to fill.
func chainOf(t *testing.T, types []vk.StructureType, fill byte) (unsafe.Pointer, map[vk.StructureType][]uint64) {
	t.Helper()
	structs := map[vk.StructureType][]uint64{}
	var chain unsafe.Pointer
	for _, st := range types {
		info, ok := vk.StructureByType(st)
		if !ok {
			t.Fatalf("the registry has no structure with sType %v", st)
		}
		words := make([]uint64, (info.Size+7)/8+1) // one word more: nobody may write behind the structure
		b := unsafe.Slice((*byte)(unsafe.Pointer(&words[0])), len(words)*8)
		for n := 16; n < len(b); n++ {
			b[n] = fill
		}
		s := (*vk.BaseInStructure)(unsafe.Pointer(&words[0]))
		s.SType, s.PNext = st, (*vk.BaseInStructure)(chain)
		chain = unsafe.Pointer(s)
		structs[st] = words
	}
	return chain, structs
}

func TestEveryFeatureStructIsAnswered(t *testing.T) {
	withoutGraphics(t)
	i := testInstance(t, nil)
	var types []vk.StructureType
	for _, f := range vk.FeatureStructs {
		types = append(types, f.SType)
	}
	chain, structs := chainOf(t, types, 0xaa)
	out := vk.PhysicalDeviceFeatures2{SType: vk.STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2, PNext: chain}
	commands.GetPhysicalDeviceFeatures2(i.devices[0].handle, &out)
	seen := map[string]bool{}
	for _, f := range vk.FeatureStructs {
		p := unsafe.Pointer(&structs[f.SType][0])
		for _, field := range f.Fields() {
			v := *vk.Bool32At(p, field.Offset)
			want := vk.Bool32(vk.FALSE)
			if supportsFeature(f.SType, field.Name.String()) {
				want = vk.TRUE
				seen[field.Name.String()] = true
			}
			if v != want {
				t.Errorf("%s.%s is %#x, want %d", f.Name, field.Name, v, want)
			}
		}
		if last := structs[f.SType][len(structs[f.SType])-1]; last != 0xaaaaaaaaaaaaaaaa {
			t.Errorf("%s: written past its end: %#x", f.Name, last)
		}
	}
	for _, f := range vk.CoreFeatures {
		v := *vk.Bool32At(unsafe.Pointer(&out.Features), f.Offset)
		if (v == vk.TRUE) != supportedFeatures()[f.Name.String()] {
			t.Errorf("VkPhysicalDeviceFeatures.%s is %d", f.Name, v)
		}
		seen[f.Name.String()] = seen[f.Name.String()] || v == vk.TRUE
	}
	for name := range supportedFeatures() {
		if !seen[name] {
			t.Errorf("supported feature %s is in no structure of the registry", name)
		}
	}
	var one vk.PhysicalDeviceFeatures
	commands.GetPhysicalDeviceFeatures(i.devices[0].handle, &one)
	if one != out.Features {
		t.Error("vkGetPhysicalDeviceFeatures and vkGetPhysicalDeviceFeatures2 differ")
	}
}

// TestSupportedFeaturesHaveOneMeaning lists the structures that report VK_TRUE: a new one with the name of a
// supported feature must be looked at before it is claimed.
func TestSupportedFeaturesHaveOneMeaning(t *testing.T) {
	want := map[string]bool{
		"VkPhysicalDeviceMaintenance6Features":                        true,
		"VkPhysicalDeviceInlineUniformBlockFeatures":                  true,
		"VkPhysicalDeviceDescriptorIndexingFeatures":                  true,
		"VkPhysicalDeviceRobustness2FeaturesKHR":                      true,
		"VkPhysicalDevice16BitStorageFeatures":                        true,
		"VkPhysicalDevice8BitStorageFeatures":                         true,
		"VkPhysicalDevicePipelineCreationCacheControlFeatures":        true,
		"VkPhysicalDevicePipelineRobustnessFeatures":                  true,
		"VkPhysicalDevicePipelineExecutablePropertiesFeaturesKHR":     true,
		"VkPhysicalDeviceScalarBlockLayoutFeatures":                   true,
		"VkPhysicalDeviceUniformBufferStandardLayoutFeatures":         true,
		"VkPhysicalDeviceShaderAtomicFloat2FeaturesEXT":               true,
		"VkPhysicalDeviceShaderAtomicFloatFeaturesEXT":                true,
		"VkPhysicalDeviceShaderAtomicInt64Features":                   true,
		"VkPhysicalDeviceShaderFloat16Int8Features":                   true,
		"VkPhysicalDeviceShaderIntegerDotProductFeatures":             true,
		"VkPhysicalDeviceShaderSubgroupExtendedTypesFeatures":         true,
		"VkPhysicalDeviceShaderSubgroupRotateFeatures":                true,
		"VkPhysicalDeviceShaderTerminateInvocationFeatures":           true,
		"VkPhysicalDeviceShaderClockFeaturesKHR":                      true,
		"VkPhysicalDeviceShaderExpectAssumeFeatures":                  true,
		"VkPhysicalDeviceShaderFloatControls2Features":                true,
		"VkPhysicalDeviceShaderMaximalReconvergenceFeaturesKHR":       true,
		"VkPhysicalDeviceShaderQuadControlFeaturesKHR":                true,
		"VkPhysicalDeviceShaderSubgroupUniformControlFlowFeaturesKHR": true,
		"VkPhysicalDeviceSubgroupSizeControlFeatures":                 true,
		"VkPhysicalDeviceVariablePointersFeatures":                    true,
		"VkPhysicalDeviceVulkan11Features":                            true,
		"VkPhysicalDeviceVulkanMemoryModelFeatures":                   true,
		"VkPhysicalDeviceWorkgroupMemoryExplicitLayoutFeaturesKHR":    true,
		"VkPhysicalDeviceZeroInitializeWorkgroupMemoryFeatures":       true,
		"VkPhysicalDevice4444FormatsFeaturesEXT":                      true,
		"VkPhysicalDeviceTextureCompressionASTCHDRFeatures":           true,
		"VkPhysicalDeviceCustomBorderColorFeaturesEXT":                true,
		"VkPhysicalDeviceNonSeamlessCubeMapFeaturesEXT":               true,
		"VkPhysicalDeviceShaderImageAtomicInt64FeaturesEXT":           true,
		"VkPhysicalDeviceImageRobustnessFeatures":                     true,
		"VkPhysicalDeviceTexelBufferAlignmentFeaturesEXT":             true,
		"VkPhysicalDeviceBufferDeviceAddressFeatures":                 true,
		"VkPhysicalDeviceDeviceMemoryReportFeaturesEXT":               true,
		"VkPhysicalDeviceExternalMemoryRDMAFeaturesNV":                true,
		"VkPhysicalDeviceGlobalPriorityQueryFeatures":                 true,
		"VkPhysicalDeviceHostImageCopyFeatures":                       true,
		"VkPhysicalDeviceHostQueryResetFeatures":                      true,
		"VkPhysicalDeviceMaintenance4Features":                        true,
		"VkPhysicalDeviceMapMemoryPlacedFeaturesEXT":                  true,
		"VkPhysicalDeviceMemoryPriorityFeaturesEXT":                   true,
		"VkPhysicalDevicePageableDeviceLocalMemoryFeaturesEXT":        true,
		"VkPhysicalDevicePrivateDataFeatures":                         true,
		"VkPhysicalDeviceSeparateDepthStencilLayoutsFeatures":         true,
		"VkPhysicalDeviceSamplerYcbcrConversionFeatures":              true,
		"VkPhysicalDeviceYcbcr2Plane444FormatsFeaturesEXT":            true,
		"VkPhysicalDeviceYcbcrImageArraysFeaturesEXT":                 true,
		"VkPhysicalDeviceShaderDemoteToHelperInvocationFeatures":      true,
		"VkPhysicalDeviceMaintenance5Features":                        true,
		"VkPhysicalDeviceSynchronization2Features":                    true,
		"VkPhysicalDeviceTimelineSemaphoreFeatures":                   true,
		"VkPhysicalDeviceVulkan12Features":                            true,
		"VkPhysicalDeviceVulkan13Features":                            true,
		"VkPhysicalDeviceVulkan14Features":                            true,
	}
	for _, f := range vk.FeatureStructs {
		for _, field := range f.Fields() {
			if supportsFeature(f.SType, field.Name.String()) && !want[f.Name.String()] {
				t.Errorf("%s.%s is reported as supported", f.Name, field.Name)
			}
		}
	}
}

func TestEnabledFeatures(t *testing.T) {
	rdma := vk.PhysicalDeviceExternalMemoryRDMAFeaturesNV{
		SType: vk.STRUCTURE_TYPE_PHYSICAL_DEVICE_EXTERNAL_MEMORY_RDMA_FEATURES_NV, ExternalMemoryRDMA: 2,
	}
	v12 := vk.PhysicalDeviceVulkan12Features{SType: vk.STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES,
		PNext: unsafe.Pointer(&rdma), BufferDeviceAddress: vk.TRUE}
	two := vk.PhysicalDeviceFeatures2{SType: vk.STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2, PNext: unsafe.Pointer(&v12)}
	two.Features.RobustBufferAccess = vk.TRUE
	got, err := new(physicalDevice).enabledFeatures(&vk.DeviceCreateInfo{PNext: unsafe.Pointer(&two)})
	if err != nil {
		t.Fatal(err)
	}
	if len(got) != 3 || !got["externalMemoryRDMA"] || !got["bufferDeviceAddress"] || !got["robustBufferAccess"] {
		t.Errorf("enabled %v", got)
	}
	if got, err := new(physicalDevice).enabledFeatures(&vk.DeviceCreateInfo{}); err != nil || len(got) != 0 {
		t.Errorf("no features asked for: %v, %v", got, err)
	}
	if got,
		err := new(physicalDevice).enabledFeatures(
		&vk.DeviceCreateInfo{PEnabledFeatures: &vk.PhysicalDeviceFeatures{RobustBufferAccess: vk.TRUE}}); err != nil ||
		!got["robustBufferAccess"] {
		t.Errorf("pEnabledFeatures: %v, %v", got, err)
	}
}

func TestEnabledFeaturesRefusesOthers(t *testing.T) {
	ext := vk.PhysicalDeviceBufferDeviceAddressFeaturesEXT{
		SType: vk.STRUCTURE_TYPE_PHYSICAL_DEVICE_BUFFER_DEVICE_ADDRESS_FEATURES_EXT, BufferDeviceAddress: vk.TRUE,
	}
	replay := vk.PhysicalDeviceBufferDeviceAddressFeatures{
		SType: vk.STRUCTURE_TYPE_PHYSICAL_DEVICE_BUFFER_DEVICE_ADDRESS_FEATURES, BufferDeviceAddress: vk.TRUE,
		BufferDeviceAddressCaptureReplay: vk.TRUE,
	}
	two := vk.PhysicalDeviceFeatures2{SType: vk.STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2}
	two.Features.GeometryShader = 0xff00
	for _, c := range []struct {
		info vk.DeviceCreateInfo
		want []string
	}{
		{vk.DeviceCreateInfo{PEnabledFeatures: &vk.PhysicalDeviceFeatures{SparseBinding: vk.TRUE}},
			[]string{"sparseBinding", "VkPhysicalDeviceFeatures"}},
		{vk.DeviceCreateInfo{PNext: unsafe.Pointer(&two)}, []string{"geometryShader"}},
		{vk.DeviceCreateInfo{PNext: unsafe.Pointer(&ext)},
			[]string{"bufferDeviceAddress", "VkPhysicalDeviceBufferDeviceAddressFeaturesEXT"}},
		{vk.DeviceCreateInfo{PNext: unsafe.Pointer(&replay)},
			[]string{"bufferDeviceAddressCaptureReplay", "VkPhysicalDeviceBufferDeviceAddressFeatures"}},
	} {
		_, err := new(physicalDevice).enabledFeatures(&c.info)
		if vk.ResultOf(err) != vk.ERROR_FEATURE_NOT_PRESENT {
			t.Errorf("%v: error %v", c.want, err)
			continue
		}
		for _, w := range c.want {
			if !strings.Contains(err.Error(), w) {
				t.Errorf("%q does not name %s", err, w)
			}
		}
	}
}

// TestMandatoryFeatures14: what Vulkan 1.4 asks of every device beyond what 1.3 does.
func TestMandatoryFeatures14(t *testing.T) {
	p := graphicsInstance(t).devices[0]
	for _, name := range []string{
		"fullDrawIndexUint32", "imageCubeArray", "independentBlend", "sampleRateShading", "drawIndirectFirstInstance",
		"depthClamp", "depthBiasClamp", "samplerAnisotropy", "fragmentStoresAndAtomics", "shaderStorageImageExtendedFormats",
		"shaderUniformBufferArrayDynamicIndexing", "shaderSampledImageArrayDynamicIndexing",
		"shaderStorageBufferArrayDynamicIndexing", "shaderStorageImageArrayDynamicIndexing", "shaderImageGatherExtended",
		"shaderInt16", "largePoints", "samplerYcbcrConversion", "storageBuffer16BitAccess", "variablePointers",
		"variablePointersStorageBuffer", "samplerMirrorClampToEdge", "scalarBlockLayout",
		"shaderUniformTexelBufferArrayDynamicIndexing", "shaderStorageTexelBufferArrayDynamicIndexing", "shaderInt8",
		"storageBuffer8BitAccess", "globalPriorityQuery", "shaderSubgroupRotate", "shaderSubgroupRotateClustered",
		"shaderFloatControls2", "shaderExpectAssume", "bresenhamLines", "vertexAttributeInstanceRateDivisor",
		"indexTypeUint8", "maintenance5", "maintenance6", "pushDescriptor", "dynamicRenderingLocalRead",
		"pipelineRobustness", "multiview", "imagelessFramebuffer", "dynamicRendering", "hostImageCopy",
	} {
		if !p.hasFeature(name) {
			t.Errorf("%s is not supported", name)
		}
	}
}

// TestMandatoryFeatures: what Vulkan 1.0 to 1.3 ask of every device (chapter "Feature Requirements"), without what is
// asked of those with graphics: multiview, imagelessFramebuffer, dynamicRendering.
func TestMandatoryFeatures(t *testing.T) {
	for _, name := range []string{
		"robustBufferAccess",
		"storageBuffer16BitAccess", // because of uniformAndStorageBuffer16BitAccess
		"subgroupBroadcastDynamicId", "uniformBufferStandardLayout", "shaderSubgroupExtendedTypes",
		"separateDepthStencilLayouts",
		"hostQueryReset", "timelineSemaphore", "samplerMirrorClampToEdge", "storageBuffer8BitAccess", "shaderInt64",
		"samplerFilterMinmax",
		"descriptorIndexing", "shaderSampledImageArrayDynamicIndexing", "shaderStorageBufferArrayDynamicIndexing",
		"shaderUniformTexelBufferArrayDynamicIndexing", "shaderStorageTexelBufferArrayDynamicIndexing",
		"shaderSampledImageArrayNonUniformIndexing", "shaderStorageBufferArrayNonUniformIndexing",
		"shaderUniformTexelBufferArrayNonUniformIndexing", "descriptorBindingSampledImageUpdateAfterBind",
		"descriptorBindingStorageImageUpdateAfterBind", "descriptorBindingStorageBufferUpdateAfterBind",
		"descriptorBindingUniformTexelBufferUpdateAfterBind", "descriptorBindingStorageTexelBufferUpdateAfterBind",
		"descriptorBindingUpdateUnusedWhilePending", "descriptorBindingPartiallyBound", "runtimeDescriptorArray",
		"shaderTerminateInvocation", "shaderDemoteToHelperInvocation", "privateData", "pipelineCreationCacheControl",
		"synchronization2",
		"shaderZeroInitializeWorkgroupMemory", "robustImageAccess", "subgroupSizeControl", "computeFullSubgroups",
		"shaderIntegerDotProduct", "maintenance4", "vulkanMemoryModel", "vulkanMemoryModelDeviceScope", "inlineUniformBlock",
		"descriptorBindingInlineUniformBlockUpdateAfterBind", "bufferDeviceAddress",
	} {
		if !supportedFeatures()[name] {
			t.Errorf("%s is not supported", name)
		}
	}
}
