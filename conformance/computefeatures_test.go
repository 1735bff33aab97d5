package conformance

import (
	"reflect"
	"slices"
	"unsafe"

	"farside/conformance/vulkan"
	"farside/internal/vk"
)

// featureStructs are the structures in which a case's needs are looked for, each with the extension that it came
// with, which a device offers until the version that has it in the core.
var featureStructs = []struct {
	extension string
	make      func(a *vulkan.Arena) any
}{
	{vk.KHR_16BIT_STORAGE_EXTENSION_NAME, featureStruct[vk.PhysicalDevice16BitStorageFeatures]},
	{vk.KHR_8BIT_STORAGE_EXTENSION_NAME, featureStruct[vk.PhysicalDevice8BitStorageFeatures]},
	{vk.KHR_SHADER_FLOAT16_INT8_EXTENSION_NAME, featureStruct[vk.PhysicalDeviceShaderFloat16Int8Features]},
	{vk.KHR_SHADER_ATOMIC_INT64_EXTENSION_NAME, featureStruct[vk.PhysicalDeviceShaderAtomicInt64Features]},
	{vk.EXT_SHADER_ATOMIC_FLOAT_EXTENSION_NAME, featureStruct[vk.PhysicalDeviceShaderAtomicFloatFeaturesEXT]},
	{vk.EXT_SHADER_ATOMIC_FLOAT_2_EXTENSION_NAME, featureStruct[vk.PhysicalDeviceShaderAtomicFloat2FeaturesEXT]},
	{vk.EXT_SHADER_IMAGE_ATOMIC_INT64_EXTENSION_NAME, featureStruct[vk.PhysicalDeviceShaderImageAtomicInt64FeaturesEXT]},
	{vk.EXT_SCALAR_BLOCK_LAYOUT_EXTENSION_NAME, featureStruct[vk.PhysicalDeviceScalarBlockLayoutFeatures]},
	{vk.KHR_UNIFORM_BUFFER_STANDARD_LAYOUT_EXTENSION_NAME,
		featureStruct[vk.PhysicalDeviceUniformBufferStandardLayoutFeatures]},
	{vk.KHR_VARIABLE_POINTERS_EXTENSION_NAME, featureStruct[vk.PhysicalDeviceVariablePointersFeatures]},
	{vk.KHR_VULKAN_MEMORY_MODEL_EXTENSION_NAME, featureStruct[vk.PhysicalDeviceVulkanMemoryModelFeatures]},
	{vk.KHR_BUFFER_DEVICE_ADDRESS_EXTENSION_NAME, featureStruct[vk.PhysicalDeviceBufferDeviceAddressFeatures]},
	{vk.KHR_SHADER_SUBGROUP_EXTENDED_TYPES_EXTENSION_NAME,
		featureStruct[vk.PhysicalDeviceShaderSubgroupExtendedTypesFeatures]},
	{vk.EXT_SUBGROUP_SIZE_CONTROL_EXTENSION_NAME, featureStruct[vk.PhysicalDeviceSubgroupSizeControlFeatures]},
	{vk.KHR_SHADER_SUBGROUP_ROTATE_EXTENSION_NAME, featureStruct[vk.PhysicalDeviceShaderSubgroupRotateFeatures]},
	{vk.KHR_SHADER_INTEGER_DOT_PRODUCT_EXTENSION_NAME, featureStruct[vk.PhysicalDeviceShaderIntegerDotProductFeatures]},
	{vk.KHR_ZERO_INITIALIZE_WORKGROUP_MEMORY_EXTENSION_NAME,
		featureStruct[vk.PhysicalDeviceZeroInitializeWorkgroupMemoryFeatures]},
	{vk.KHR_WORKGROUP_MEMORY_EXPLICIT_LAYOUT_EXTENSION_NAME,
		featureStruct[vk.PhysicalDeviceWorkgroupMemoryExplicitLayoutFeaturesKHR]},
	{vk.KHR_SHADER_TERMINATE_INVOCATION_EXTENSION_NAME, featureStruct[vk.PhysicalDeviceShaderTerminateInvocationFeatures]},
	{vk.KHR_SHADER_CLOCK_EXTENSION_NAME, featureStruct[vk.PhysicalDeviceShaderClockFeaturesKHR]},
	{vk.KHR_SHADER_EXPECT_ASSUME_EXTENSION_NAME, featureStruct[vk.PhysicalDeviceShaderExpectAssumeFeatures]},
	{vk.KHR_SHADER_FLOAT_CONTROLS_2_EXTENSION_NAME, featureStruct[vk.PhysicalDeviceShaderFloatControls2Features]},
	{vk.KHR_SHADER_MAXIMAL_RECONVERGENCE_EXTENSION_NAME,
		featureStruct[vk.PhysicalDeviceShaderMaximalReconvergenceFeaturesKHR]},
	{vk.KHR_SHADER_QUAD_CONTROL_EXTENSION_NAME, featureStruct[vk.PhysicalDeviceShaderQuadControlFeaturesKHR]},
	{vk.KHR_SHADER_SUBGROUP_UNIFORM_CONTROL_FLOW_EXTENSION_NAME,
		featureStruct[vk.PhysicalDeviceShaderSubgroupUniformControlFlowFeaturesKHR]},
	{vk.EXT_DESCRIPTOR_INDEXING_EXTENSION_NAME, featureStruct[vk.PhysicalDeviceDescriptorIndexingFeatures]},
	{vk.EXT_INLINE_UNIFORM_BLOCK_EXTENSION_NAME, featureStruct[vk.PhysicalDeviceInlineUniformBlockFeatures]},
	{vk.KHR_MAINTENANCE_6_EXTENSION_NAME, featureStruct[vk.PhysicalDeviceMaintenance6Features]},
	{vk.EXT_ROBUSTNESS_2_EXTENSION_NAME, featureStruct[vk.PhysicalDeviceRobustness2FeaturesEXT]},
	{vk.EXT_IMAGE_ROBUSTNESS_EXTENSION_NAME, featureStruct[vk.PhysicalDeviceImageRobustnessFeatures]},
	{vk.KHR_TIMELINE_SEMAPHORE_EXTENSION_NAME, featureStruct[vk.PhysicalDeviceTimelineSemaphoreFeatures]},
	{vk.KHR_SYNCHRONIZATION_2_EXTENSION_NAME, featureStruct[vk.PhysicalDeviceSynchronization2Features]},
	{vk.KHR_MAINTENANCE_4_EXTENSION_NAME, featureStruct[vk.PhysicalDeviceMaintenance4Features]},
	{vk.EXT_PIPELINE_CREATION_CACHE_CONTROL_EXTENSION_NAME,
		featureStruct[vk.PhysicalDevicePipelineCreationCacheControlFeatures]},
	{vk.KHR_PIPELINE_EXECUTABLE_PROPERTIES_EXTENSION_NAME,
		featureStruct[vk.PhysicalDevicePipelineExecutablePropertiesFeaturesKHR]},
	{vk.EXT_SHADER_OBJECT_EXTENSION_NAME, featureStruct[vk.PhysicalDeviceShaderObjectFeaturesEXT]},
	{vk.KHR_SAMPLER_YCBCR_CONVERSION_EXTENSION_NAME, featureStruct[vk.PhysicalDeviceSamplerYcbcrConversionFeatures]},
	{vk.KHR_DYNAMIC_RENDERING_EXTENSION_NAME, featureStruct[vk.PhysicalDeviceDynamicRenderingFeatures]},
	{vk.KHR_DYNAMIC_RENDERING_LOCAL_READ_EXTENSION_NAME,
		featureStruct[vk.PhysicalDeviceDynamicRenderingLocalReadFeatures]},
	{vk.KHR_MULTIVIEW_EXTENSION_NAME, featureStruct[vk.PhysicalDeviceMultiviewFeatures]},
	{vk.KHR_IMAGELESS_FRAMEBUFFER_EXTENSION_NAME, featureStruct[vk.PhysicalDeviceImagelessFramebufferFeatures]},
	{vk.KHR_SHADER_DRAW_PARAMETERS_EXTENSION_NAME, featureStruct[vk.PhysicalDeviceShaderDrawParametersFeatures]},
	{vk.EXT_SHADER_DEMOTE_TO_HELPER_INVOCATION_EXTENSION_NAME,
		featureStruct[vk.PhysicalDeviceShaderDemoteToHelperInvocationFeatures]},
	{vk.EXT_HOST_QUERY_RESET_EXTENSION_NAME, featureStruct[vk.PhysicalDeviceHostQueryResetFeatures]},
	{vk.EXT_LINE_RASTERIZATION_EXTENSION_NAME, featureStruct[vk.PhysicalDeviceLineRasterizationFeatures]},
	{vk.EXT_PROVOKING_VERTEX_EXTENSION_NAME, featureStruct[vk.PhysicalDeviceProvokingVertexFeaturesEXT]},
	{vk.EXT_VERTEX_ATTRIBUTE_DIVISOR_EXTENSION_NAME, featureStruct[vk.PhysicalDeviceVertexAttributeDivisorFeatures]},
	{vk.EXT_PRIMITIVE_TOPOLOGY_LIST_RESTART_EXTENSION_NAME,
		featureStruct[vk.PhysicalDevicePrimitiveTopologyListRestartFeaturesEXT]},
	{vk.EXT_MULTI_DRAW_EXTENSION_NAME, featureStruct[vk.PhysicalDeviceMultiDrawFeaturesEXT]},
	{vk.EXT_DEPTH_BIAS_CONTROL_EXTENSION_NAME, featureStruct[vk.PhysicalDeviceDepthBiasControlFeaturesEXT]},
	{vk.EXT_DEPTH_CLAMP_CONTROL_EXTENSION_NAME, featureStruct[vk.PhysicalDeviceDepthClampControlFeaturesEXT]},
	{vk.EXT_DEPTH_CLAMP_ZERO_ONE_EXTENSION_NAME, featureStruct[vk.PhysicalDeviceDepthClampZeroOneFeaturesKHR]},
	{vk.EXT_DEPTH_CLIP_CONTROL_EXTENSION_NAME, featureStruct[vk.PhysicalDeviceDepthClipControlFeaturesEXT]},
	{vk.EXT_DEPTH_CLIP_ENABLE_EXTENSION_NAME, featureStruct[vk.PhysicalDeviceDepthClipEnableFeaturesEXT]},
	{vk.EXT_INDEX_TYPE_UINT8_EXTENSION_NAME, featureStruct[vk.PhysicalDeviceIndexTypeUint8Features]},
	{vk.EXT_ATTACHMENT_FEEDBACK_LOOP_LAYOUT_EXTENSION_NAME,
		featureStruct[vk.PhysicalDeviceAttachmentFeedbackLoopLayoutFeaturesEXT]},
	{vk.EXT_ATTACHMENT_FEEDBACK_LOOP_DYNAMIC_STATE_EXTENSION_NAME,
		featureStruct[vk.PhysicalDeviceAttachmentFeedbackLoopDynamicStateFeaturesEXT]},
	{vk.EXT_COLOR_WRITE_ENABLE_EXTENSION_NAME, featureStruct[vk.PhysicalDeviceColorWriteEnableFeaturesEXT]},
	{vk.EXT_EXTENDED_DYNAMIC_STATE_EXTENSION_NAME, featureStruct[vk.PhysicalDeviceExtendedDynamicStateFeaturesEXT]},
	{vk.EXT_EXTENDED_DYNAMIC_STATE_2_EXTENSION_NAME, featureStruct[vk.PhysicalDeviceExtendedDynamicState2FeaturesEXT]},
	{vk.EXT_EXTENDED_DYNAMIC_STATE_3_EXTENSION_NAME, featureStruct[vk.PhysicalDeviceExtendedDynamicState3FeaturesEXT]},
	{vk.EXT_VERTEX_INPUT_DYNAMIC_STATE_EXTENSION_NAME, featureStruct[vk.PhysicalDeviceVertexInputDynamicStateFeaturesEXT]},
	{vk.EXT_GRAPHICS_PIPELINE_LIBRARY_EXTENSION_NAME, featureStruct[vk.PhysicalDeviceGraphicsPipelineLibraryFeaturesEXT]},
	{vk.EXT_NON_SEAMLESS_CUBE_MAP_EXTENSION_NAME, featureStruct[vk.PhysicalDeviceNonSeamlessCubeMapFeaturesEXT]},
	{vk.KHR_MAINTENANCE_5_EXTENSION_NAME, featureStruct[vk.PhysicalDeviceMaintenance5Features]},
}

func featureStruct[T any, P interface {
	*T
	StructureType() vk.StructureType
}](a *vulkan.Arena) any {
	return vulkan.Struct[T, P](a)
}

// header is how every structure of a chain begins.
type header struct {
	sType vk.StructureType
	next  unsafe.Pointer
}

func headerOf(s any) *header { return (*header)(reflect.ValueOf(s).UnsafePointer()) }

// computeDevice makes a device that can run shaders, with the features that the case needs.
func (c *Case) computeDevice() *vulkan.Device {
	lacks := func(what string) {
		c.inst.Destroy()
		c.inst = nil
		c.Unsupported(what)
	}
	if c.inst.QueueFamilies(c.pd)[0].QueueFlags&vk.QueueFlags(vk.QUEUE_COMPUTE_BIT) == 0 {
		lacks("a family of queues with VK_QUEUE_COMPUTE_BIT")
	}
	if c.def.graphics && c.inst.QueueFamilies(c.pd)[0].QueueFlags&vk.QueueFlags(vk.QUEUE_GRAPHICS_BIT) == 0 {
		lacks("a family of queues with VK_QUEUE_GRAPHICS_BIT")
	}
	have, r := c.inst.DeviceExtensions(c.pd)
	c.must("vkEnumerateDeviceExtensionProperties", r)
	a := c.inst.Arena
	core := vulkan.Struct[vk.PhysicalDeviceFeatures2](a)
	extensions := slices.Clone(c.def.extensions)
	tail := headerOf(core)
	if c.def.features != nil {
		tail.next = c.def.features(a)
		for tail.next != nil {
			tail = (*header)(tail.next)
		}
	}
	supported := c.inst.Features2(c.pd, nil).Features
	made := map[int]any{}
	// What is compiled for Vulkan 1.3 has the execution mode LocalSizeId (VUID-RuntimeSpirv-LocalSizeId-06434).
	four := vulkan.Struct[vk.PhysicalDeviceMaintenance4Features](a)
	c.inst.Features2(c.pd, unsafe.Pointer(four))
	needs := slices.Clone(c.def.needs)
	minor := c.inst.Properties2(c.pd, nil).Properties.ApiVersion >> 12 & 0x3ff
	c.target = min(minor, 2)
	if four.Maintenance4 == vk.TRUE && minor >= 3 {
		c.target = 3
		needs = append(needs, "Maintenance4")
	}
	if c.def.graphics {
		needs = append(needs, "DynamicRendering")
	}
	for _, need := range needs {
		if f := reflect.ValueOf(&core.Features).Elem().FieldByName(need); f.IsValid() {
			if reflect.ValueOf(supported).FieldByName(need).Uint() == 0 {
				lacks("feature " + need)
			}
			f.SetUint(vk.TRUE)
			continue
		}
		at := slices.IndexFunc(featureStructs, func(s struct {
			extension string
			make      func(a *vulkan.Arena) any
		}) bool {
			return reflect.ValueOf(s.make(a)).Elem().FieldByName(need).IsValid()
		})
		if at < 0 {
			c.Fatalf("no structure of features has %s", need)
		}
		s := featureStructs[at]
		ask := s.make(a)
		c.inst.Features2(c.pd, reflect.ValueOf(ask).UnsafePointer())
		if reflect.ValueOf(ask).Elem().FieldByName(need).Uint() == 0 {
			lacks("feature " + need)
		}
		if slices.Contains(have, s.extension) && !slices.Contains(extensions, s.extension) {
			extensions = append(extensions, s.extension)
		}
		if made[at] == nil {
			made[at] = s.make(a)
			tail.next = reflect.ValueOf(made[at]).UnsafePointer()
			tail = (*header)(tail.next)
		}
		reflect.ValueOf(made[at]).Elem().FieldByName(need).SetUint(vk.TRUE)
	}
	return c.device(extensions, func(*vulkan.Arena) unsafe.Pointer { return unsafe.Pointer(core) })
}
