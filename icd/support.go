package icd

import (
	"farside/export"
	"farside/internal/cabi"
	"farside/internal/vk"
)

// supportedVersion is the Vulkan version that instance and device report.
var supportedVersion = vk.MakeVersion(1, 3, vk.HEADER_VERSION)

// extension is one row of the support table.
type extension struct {
	name      string
	available func() bool // nil: always
	note      string      // what of it is not there, or where it is not there
	graphics  bool        // only devices with graphics have it
}

// withGraphics is the note of what only devices with graphics have.
const withGraphics = "with FARSIDE_GRAPHICS=on"

// instanceExtensions and deviceExtensions say what is advertised; revision, dependencies and commands come
// from the registry. VK_KHR_device_group_creation, core in 1.1, is left out with its device half
// VK_KHR_device_group: whoever sees it also asks for the groups' swapchains.
var instanceExtensions = []extension{
	{name: vk.KHR_EXTERNAL_FENCE_CAPABILITIES_EXTENSION_NAME},
	{name: vk.KHR_EXTERNAL_MEMORY_CAPABILITIES_EXTENSION_NAME},
	{name: vk.KHR_EXTERNAL_SEMAPHORE_CAPABILITIES_EXTENSION_NAME},
	{name: vk.KHR_GET_PHYSICAL_DEVICE_PROPERTIES_2_EXTENSION_NAME},
	{name: vk.KHR_GET_SURFACE_CAPABILITIES_2_EXTENSION_NAME},
	{name: vk.KHR_SURFACE_EXTENSION_NAME},
	{name: vk.KHR_SURFACE_MAINTENANCE_1_EXTENSION_NAME},
	{name: vk.EXT_DEBUG_UTILS_EXTENSION_NAME},
	{name: vk.EXT_HEADLESS_SURFACE_EXTENSION_NAME},
	{name: vk.EXT_SURFACE_MAINTENANCE_1_EXTENSION_NAME},
	{name: vk.NV_EXTERNAL_MEMORY_CAPABILITIES_EXTENSION_NAME},
}

var deviceExtensions = []extension{
	{name: vk.KHR_16BIT_STORAGE_EXTENSION_NAME},
	{name: vk.KHR_8BIT_STORAGE_EXTENSION_NAME},
	{name: vk.KHR_BIND_MEMORY_2_EXTENSION_NAME},
	{name: vk.KHR_BUFFER_DEVICE_ADDRESS_EXTENSION_NAME},
	{name: vk.KHR_COPY_COMMANDS_2_EXTENSION_NAME},
	{name: vk.KHR_CALIBRATED_TIMESTAMPS_EXTENSION_NAME},
	{name: vk.KHR_DEDICATED_ALLOCATION_EXTENSION_NAME},
	{name: vk.KHR_DRIVER_PROPERTIES_EXTENSION_NAME},
	{name: vk.KHR_EXTERNAL_FENCE_EXTENSION_NAME},
	{name: vk.KHR_EXTERNAL_FENCE_FD_EXTENSION_NAME},
	{name: vk.KHR_EXTERNAL_MEMORY_EXTENSION_NAME},
	{name: vk.KHR_EXTERNAL_MEMORY_FD_EXTENSION_NAME},
	{name: vk.KHR_EXTERNAL_SEMAPHORE_EXTENSION_NAME},
	{name: vk.KHR_EXTERNAL_SEMAPHORE_FD_EXTENSION_NAME},
	{name: vk.KHR_FORMAT_FEATURE_FLAGS_2_EXTENSION_NAME},
	{name: vk.KHR_GET_MEMORY_REQUIREMENTS_2_EXTENSION_NAME},
	{name: vk.KHR_GLOBAL_PRIORITY_EXTENSION_NAME},
	{name: vk.KHR_IMAGE_FORMAT_LIST_EXTENSION_NAME},
	{name: vk.KHR_MAINTENANCE_1_EXTENSION_NAME},
	{name: vk.KHR_MAINTENANCE_2_EXTENSION_NAME},
	{name: vk.KHR_MAINTENANCE_3_EXTENSION_NAME},
	{name: vk.KHR_MAINTENANCE_4_EXTENSION_NAME},
	{name: vk.KHR_MAINTENANCE_5_EXTENSION_NAME},
	{name: vk.KHR_MAP_MEMORY_2_EXTENSION_NAME},
	{name: vk.EXT_CALIBRATED_TIMESTAMPS_EXTENSION_NAME},
	{name: vk.KHR_RELAXED_BLOCK_LAYOUT_EXTENSION_NAME},
	{name: vk.KHR_SAMPLER_MIRROR_CLAMP_TO_EDGE_EXTENSION_NAME},
	{name: vk.KHR_SAMPLER_YCBCR_CONVERSION_EXTENSION_NAME},
	{name: vk.KHR_PIPELINE_EXECUTABLE_PROPERTIES_EXTENSION_NAME},
	{name: vk.KHR_SHADER_ATOMIC_INT64_EXTENSION_NAME},
	{name: vk.KHR_SHADER_FLOAT16_INT8_EXTENSION_NAME},
	{name: vk.KHR_SHADER_CLOCK_EXTENSION_NAME},
	{name: vk.KHR_SHADER_EXPECT_ASSUME_EXTENSION_NAME},
	{name: vk.KHR_SHADER_FLOAT_CONTROLS_EXTENSION_NAME},
	{name: vk.KHR_SHADER_FLOAT_CONTROLS_2_EXTENSION_NAME},
	{name: vk.KHR_SHADER_INTEGER_DOT_PRODUCT_EXTENSION_NAME},
	{name: vk.KHR_SHADER_MAXIMAL_RECONVERGENCE_EXTENSION_NAME},
	{name: vk.KHR_SHADER_NON_SEMANTIC_INFO_EXTENSION_NAME},
	{name: vk.KHR_SHADER_QUAD_CONTROL_EXTENSION_NAME},
	{name: vk.KHR_SHADER_SUBGROUP_EXTENDED_TYPES_EXTENSION_NAME},
	{name: vk.KHR_SHADER_SUBGROUP_ROTATE_EXTENSION_NAME},
	{name: vk.KHR_SHADER_SUBGROUP_UNIFORM_CONTROL_FLOW_EXTENSION_NAME},
	{name: vk.KHR_SHADER_TERMINATE_INVOCATION_EXTENSION_NAME},
	{name: vk.KHR_SPIRV_1_4_EXTENSION_NAME},
	{name: vk.KHR_STORAGE_BUFFER_STORAGE_CLASS_EXTENSION_NAME},
	{name: vk.KHR_SYNCHRONIZATION_2_EXTENSION_NAME},
	{name: vk.KHR_TIMELINE_SEMAPHORE_EXTENSION_NAME},
	{name: vk.KHR_UNIFORM_BUFFER_STANDARD_LAYOUT_EXTENSION_NAME},
	{name: vk.KHR_VARIABLE_POINTERS_EXTENSION_NAME},
	{name: vk.KHR_VULKAN_MEMORY_MODEL_EXTENSION_NAME},
	{name: vk.KHR_WORKGROUP_MEMORY_EXPLICIT_LAYOUT_EXTENSION_NAME},
	{name: vk.KHR_ZERO_INITIALIZE_WORKGROUP_MEMORY_EXTENSION_NAME},
	{name: vk.KHR_DESCRIPTOR_UPDATE_TEMPLATE_EXTENSION_NAME},
	{name: vk.KHR_MAINTENANCE_6_EXTENSION_NAME},
	{name: vk.KHR_PUSH_DESCRIPTOR_EXTENSION_NAME},
	{name: vk.KHR_ROBUSTNESS_2_EXTENSION_NAME},
	{name: vk.EXT_DESCRIPTOR_INDEXING_EXTENSION_NAME},
	{name: vk.EXT_INLINE_UNIFORM_BLOCK_EXTENSION_NAME},
	{name: vk.EXT_ROBUSTNESS_2_EXTENSION_NAME},
	{name: vk.AMD_BUFFER_MARKER_EXTENSION_NAME},
	{name: vk.EXT_4444_FORMATS_EXTENSION_NAME},
	{name: vk.EXT_CUSTOM_BORDER_COLOR_EXTENSION_NAME},
	{name: vk.EXT_DEVICE_MEMORY_REPORT_EXTENSION_NAME},
	{name: vk.EXT_EXTERNAL_MEMORY_DMA_BUF_EXTENSION_NAME, available: export.DMABufAvailable,
		note: "on machines with /dev/udmabuf"},
	{name: vk.EXT_EXTERNAL_MEMORY_HOST_EXTENSION_NAME},
	{name: vk.EXT_GLOBAL_PRIORITY_EXTENSION_NAME},
	{name: vk.EXT_GLOBAL_PRIORITY_QUERY_EXTENSION_NAME},
	{name: vk.EXT_HOST_IMAGE_COPY_EXTENSION_NAME},
	{name: vk.EXT_HOST_QUERY_RESET_EXTENSION_NAME},
	{name: vk.EXT_IMAGE_DRM_FORMAT_MODIFIER_EXTENSION_NAME},
	{name: vk.EXT_IMAGE_ROBUSTNESS_EXTENSION_NAME},
	{name: vk.EXT_MAP_MEMORY_PLACED_EXTENSION_NAME},
	{name: vk.EXT_MEMORY_BUDGET_EXTENSION_NAME},
	{name: vk.EXT_MEMORY_PRIORITY_EXTENSION_NAME},
	{name: vk.EXT_PAGEABLE_DEVICE_LOCAL_MEMORY_EXTENSION_NAME},
	{name: vk.EXT_PIPELINE_CREATION_CACHE_CONTROL_EXTENSION_NAME},
	{name: vk.EXT_PIPELINE_CREATION_FEEDBACK_EXTENSION_NAME},
	{name: vk.EXT_PIPELINE_ROBUSTNESS_EXTENSION_NAME},
	{name: vk.EXT_PRIVATE_DATA_EXTENSION_NAME},
	{name: vk.EXT_QUEUE_FAMILY_FOREIGN_EXTENSION_NAME},
	{name: vk.EXT_SAMPLER_FILTER_MINMAX_EXTENSION_NAME},
	{name: vk.EXT_SCALAR_BLOCK_LAYOUT_EXTENSION_NAME},
	{name: vk.EXT_SEPARATE_STENCIL_USAGE_EXTENSION_NAME},
	{name: vk.EXT_SHADER_ATOMIC_FLOAT_EXTENSION_NAME},
	{name: vk.EXT_SHADER_ATOMIC_FLOAT_2_EXTENSION_NAME},
	{name: vk.EXT_SHADER_IMAGE_ATOMIC_INT64_EXTENSION_NAME},
	{name: vk.EXT_SHADER_DEMOTE_TO_HELPER_INVOCATION_EXTENSION_NAME},
	{name: vk.EXT_SUBGROUP_SIZE_CONTROL_EXTENSION_NAME},
	{name: vk.EXT_TEXEL_BUFFER_ALIGNMENT_EXTENSION_NAME},
	{name: vk.EXT_TEXTURE_COMPRESSION_ASTC_HDR_EXTENSION_NAME},
	{name: vk.EXT_TOOLING_INFO_EXTENSION_NAME},
	{name: vk.EXT_YCBCR_2PLANE_444_FORMATS_EXTENSION_NAME},
	{name: vk.EXT_YCBCR_IMAGE_ARRAYS_EXTENSION_NAME},
	{name: vk.KHR_PRESENT_ID_EXTENSION_NAME, graphics: true, note: withGraphics},
	{name: vk.KHR_PRESENT_ID_2_EXTENSION_NAME, graphics: true, note: withGraphics},
	{name: vk.KHR_PRESENT_MODE_FIFO_LATEST_READY_EXTENSION_NAME, graphics: true, note: withGraphics},
	{name: vk.KHR_PRESENT_WAIT_EXTENSION_NAME, graphics: true, note: withGraphics},
	{name: vk.KHR_PRESENT_WAIT_2_EXTENSION_NAME, graphics: true, note: withGraphics},
	{name: vk.KHR_SWAPCHAIN_EXTENSION_NAME, graphics: true, note: withGraphics},
	{name: vk.KHR_SWAPCHAIN_MAINTENANCE_1_EXTENSION_NAME, graphics: true, note: withGraphics},
	{name: vk.KHR_SWAPCHAIN_MUTABLE_FORMAT_EXTENSION_NAME, graphics: true, note: withGraphics},
	{name: vk.EXT_PRESENT_MODE_FIFO_LATEST_READY_EXTENSION_NAME, graphics: true, note: withGraphics},
	{name: vk.EXT_SWAPCHAIN_MAINTENANCE_1_EXTENSION_NAME, graphics: true, note: withGraphics},
	{name: vk.NV_EXTERNAL_MEMORY_EXTENSION_NAME},
	{name: vk.NV_EXTERNAL_MEMORY_RDMA_EXTENSION_NAME},
}

// advertised says whether this machine has the extension. The answer stays the same for the life of the process.
func (e *extension) advertised() bool { return e.available == nil || e.available() }

// onlyGraphics says whether devices without graphics lack an extension that this machine has.
func onlyGraphics(name string) bool {
	for i := range deviceExtensions {
		if deviceExtensions[i].name == name {
			return deviceExtensions[i].graphics
		}
	}
	return false
}

// supports says whether table advertises the named extension on this machine, on some device.
func supports(table []extension, name string) bool {
	for i := range table {
		if table[i].name == name {
			return table[i].advertised()
		}
	}
	return false
}

func init() {
	cabi.OnRefused = refuseGraphics
	cabi.OnPanic = reportPanic
	cabi.RecordInto(commandBuffers.Slab())
	cabi.Install(&commands)
	cabi.LendMemoryFD(lendMemoryFD)
}

// The commands that the driver implements; icdgen reads the keys of this literal and generates a C stub and
// a frame reader for each. An alias (vkFooKHR of a core vkFoo) shares its core command's line.
var commands = cabi.Commands{
	// Loader
	EnumerateInstanceVersion:             enumerateInstanceVersion,
	EnumerateInstanceExtensionProperties: enumerateInstanceExtensionProperties,
	EnumerateInstanceLayerProperties:     enumerateInstanceLayerProperties,
	GetInstanceProcAddr:                  getInstanceProcAddr,
	GetDeviceProcAddr:                    vkGetDeviceProcAddr,

	// Instance
	CreateInstance:                createInstance,
	DestroyInstance:               vkDestroyInstance,
	EnumeratePhysicalDevices:      vkEnumeratePhysicalDevices,
	EnumeratePhysicalDeviceGroups: vkEnumeratePhysicalDeviceGroups,
	CreateDebugUtilsMessengerEXT:  vkCreateDebugUtilsMessengerEXT,
	DestroyDebugUtilsMessengerEXT: vkDestroyDebugUtilsMessengerEXT,
	SubmitDebugUtilsMessageEXT:    vkSubmitDebugUtilsMessageEXT,
	SetDebugUtilsObjectNameEXT:    vkSetDebugUtilsObjectNameEXT,
	SetDebugUtilsObjectTagEXT:     vkSetDebugUtilsObjectTagEXT,
	QueueBeginDebugUtilsLabelEXT:  vkQueueBeginDebugUtilsLabelEXT,
	QueueEndDebugUtilsLabelEXT:    vkQueueEndDebugUtilsLabelEXT,
	QueueInsertDebugUtilsLabelEXT: vkQueueInsertDebugUtilsLabelEXT,

	// Physical device
	GetPhysicalDeviceProperties:                      vkGetPhysicalDeviceProperties,
	GetPhysicalDeviceProperties2:                     vkGetPhysicalDeviceProperties2,
	GetPhysicalDeviceFeatures:                        vkGetPhysicalDeviceFeatures,
	GetPhysicalDeviceFeatures2:                       vkGetPhysicalDeviceFeatures2,
	GetPhysicalDeviceQueueFamilyProperties:           vkGetPhysicalDeviceQueueFamilyProperties,
	GetPhysicalDeviceQueueFamilyProperties2:          vkGetPhysicalDeviceQueueFamilyProperties2,
	GetPhysicalDeviceMemoryProperties:                vkGetPhysicalDeviceMemoryProperties,
	GetPhysicalDeviceMemoryProperties2:               vkGetPhysicalDeviceMemoryProperties2,
	GetPhysicalDeviceFormatProperties:                vkGetPhysicalDeviceFormatProperties,
	GetPhysicalDeviceFormatProperties2:               vkGetPhysicalDeviceFormatProperties2,
	GetPhysicalDeviceImageFormatProperties:           vkGetPhysicalDeviceImageFormatProperties,
	GetPhysicalDeviceImageFormatProperties2:          vkGetPhysicalDeviceImageFormatProperties2,
	GetPhysicalDeviceSparseImageFormatProperties:     vkGetPhysicalDeviceSparseImageFormatProperties,
	GetPhysicalDeviceSparseImageFormatProperties2:    vkGetPhysicalDeviceSparseImageFormatProperties2,
	GetPhysicalDeviceExternalBufferProperties:        vkGetPhysicalDeviceExternalBufferProperties,
	GetPhysicalDeviceExternalFenceProperties:         vkGetPhysicalDeviceExternalFenceProperties,
	GetPhysicalDeviceExternalSemaphoreProperties:     vkGetPhysicalDeviceExternalSemaphoreProperties,
	GetPhysicalDeviceExternalImageFormatPropertiesNV: vkGetPhysicalDeviceExternalImageFormatPropertiesNV,
	GetPhysicalDeviceCalibrateableTimeDomainsKHR:     vkGetPhysicalDeviceCalibrateableTimeDomainsKHR,
	GetPhysicalDeviceToolProperties:                  vkGetPhysicalDeviceToolProperties,
	EnumerateDeviceExtensionProperties:               vkEnumerateDeviceExtensionProperties,
	EnumerateDeviceLayerProperties:                   vkEnumerateDeviceLayerProperties,

	// Device and queue
	CreateDevice:                     vkCreateDevice,
	DestroyDevice:                    vkDestroyDevice,
	GetDeviceQueue:                   vkGetDeviceQueue,
	GetDeviceQueue2:                  vkGetDeviceQueue2,
	GetDeviceGroupPeerMemoryFeatures: vkGetDeviceGroupPeerMemoryFeatures,
	CreatePrivateDataSlot:            vkCreatePrivateDataSlot,
	DestroyPrivateDataSlot:           vkDestroyPrivateDataSlot,
	SetPrivateData:                   vkSetPrivateData,
	GetPrivateData:                   vkGetPrivateData,
	DeviceWaitIdle:                   vkDeviceWaitIdle,
	QueueWaitIdle:                    vkQueueWaitIdle,
	QueueSubmit:                      vkQueueSubmit,
	QueueSubmit2:                     vkQueueSubmit2,
	QueueBindSparse:                  vkQueueBindSparse,

	// Graphics
	CreateRenderPass:            vkCreateRenderPass,
	CreateRenderPass2:           vkCreateRenderPass2,
	DestroyRenderPass:           vkDestroyRenderPass,
	CreateFramebuffer:           vkCreateFramebuffer,
	DestroyFramebuffer:          vkDestroyFramebuffer,
	CreateGraphicsPipelines:     vkCreateGraphicsPipelines,
	GetRenderAreaGranularity:    vkGetRenderAreaGranularity,
	GetRenderingAreaGranularity: vkGetRenderingAreaGranularity,

	// Synchronisation
	CreateFence:              vkCreateFence,
	DestroyFence:             vkDestroyFence,
	ResetFences:              vkResetFences,
	GetFenceStatus:           vkGetFenceStatus,
	WaitForFences:            vkWaitForFences,
	GetFenceFdKHR:            vkGetFenceFdKHR,
	ImportFenceFdKHR:         vkImportFenceFdKHR,
	CreateSemaphore:          vkCreateSemaphore,
	DestroySemaphore:         vkDestroySemaphore,
	GetSemaphoreCounterValue: vkGetSemaphoreCounterValue,
	WaitSemaphores:           vkWaitSemaphores,
	SignalSemaphore:          vkSignalSemaphore,
	GetSemaphoreFdKHR:        vkGetSemaphoreFdKHR,
	ImportSemaphoreFdKHR:     vkImportSemaphoreFdKHR,
	CreateEvent:              vkCreateEvent,
	DestroyEvent:             vkDestroyEvent,
	GetEventStatus:           vkGetEventStatus,
	SetEvent:                 vkSetEvent,
	ResetEvent:               vkResetEvent,

	// Queries and clocks
	CreateQueryPool:            vkCreateQueryPool,
	DestroyQueryPool:           vkDestroyQueryPool,
	GetQueryPoolResults:        vkGetQueryPoolResults,
	ResetQueryPool:             vkResetQueryPool,
	GetCalibratedTimestampsKHR: vkGetCalibratedTimestampsKHR,

	// Command buffers
	CreateCommandPool:      vkCreateCommandPool,
	DestroyCommandPool:     vkDestroyCommandPool,
	ResetCommandPool:       vkResetCommandPool,
	TrimCommandPool:        vkTrimCommandPool,
	AllocateCommandBuffers: vkAllocateCommandBuffers,
	FreeCommandBuffers:     vkFreeCommandBuffers,
	BeginCommandBuffer:     vkBeginCommandBuffer,
	EndCommandBuffer:       vkEndCommandBuffer,
	ResetCommandBuffer:     vkResetCommandBuffer,

	// Commands
	CmdBindPipeline:             vkCmdBindPipeline,
	CmdBindDescriptorSets:       vkCmdBindDescriptorSets,
	CmdBindDescriptorSets2:      vkCmdBindDescriptorSets2,
	CmdPushDescriptorSet:        vkCmdPushDescriptorSet,
	CmdPushDescriptorSet2:       vkCmdPushDescriptorSet2,
	CmdPushConstants:            vkCmdPushConstants,
	CmdPushConstants2:           vkCmdPushConstants2,
	CmdDispatch:                 vkCmdDispatch,
	CmdDispatchIndirect:         vkCmdDispatchIndirect,
	CmdDispatchBase:             vkCmdDispatchBase,
	CmdFillBuffer:               vkCmdFillBuffer,
	CmdUpdateBuffer:             vkCmdUpdateBuffer,
	CmdCopyBuffer:               vkCmdCopyBuffer,
	CmdCopyBuffer2:              vkCmdCopyBuffer2,
	CmdCopyImage:                vkCmdCopyImage,
	CmdCopyImage2:               vkCmdCopyImage2,
	CmdCopyBufferToImage:        vkCmdCopyBufferToImage,
	CmdCopyBufferToImage2:       vkCmdCopyBufferToImage2,
	CmdCopyImageToBuffer:        vkCmdCopyImageToBuffer,
	CmdCopyImageToBuffer2:       vkCmdCopyImageToBuffer2,
	CmdBlitImage:                vkCmdBlitImage,
	CmdBlitImage2:               vkCmdBlitImage2,
	CmdResolveImage:             vkCmdResolveImage,
	CmdResolveImage2:            vkCmdResolveImage2,
	CmdClearColorImage:          vkCmdClearColorImage,
	CmdClearDepthStencilImage:   vkCmdClearDepthStencilImage,
	CmdPipelineBarrier:          vkCmdPipelineBarrier,
	CmdPipelineBarrier2:         vkCmdPipelineBarrier2,
	CmdSetEvent:                 vkCmdSetEvent,
	CmdSetEvent2:                vkCmdSetEvent2,
	CmdResetEvent:               vkCmdResetEvent,
	CmdResetEvent2:              vkCmdResetEvent2,
	CmdWaitEvents:               vkCmdWaitEvents,
	CmdWaitEvents2:              vkCmdWaitEvents2,
	CmdBeginQuery:               vkCmdBeginQuery,
	CmdEndQuery:                 vkCmdEndQuery,
	CmdResetQueryPool:           vkCmdResetQueryPool,
	CmdWriteTimestamp:           vkCmdWriteTimestamp,
	CmdWriteTimestamp2:          vkCmdWriteTimestamp2,
	CmdCopyQueryPoolResults:     vkCmdCopyQueryPoolResults,
	CmdExecuteCommands:          vkCmdExecuteCommands,
	CmdSetDeviceMask:            vkCmdSetDeviceMask,
	CmdWriteBufferMarkerAMD:     vkCmdWriteBufferMarkerAMD,
	CmdWriteBufferMarker2AMD:    vkCmdWriteBufferMarker2AMD,
	CmdBeginDebugUtilsLabelEXT:  vkCmdBeginDebugUtilsLabelEXT,
	CmdEndDebugUtilsLabelEXT:    vkCmdEndDebugUtilsLabelEXT,
	CmdInsertDebugUtilsLabelEXT: vkCmdInsertDebugUtilsLabelEXT,

	// Surfaces and swapchains
	CreateHeadlessSurfaceEXT:                 vkCreateHeadlessSurfaceEXT,
	DestroySurfaceKHR:                        vkDestroySurfaceKHR,
	GetPhysicalDeviceSurfaceSupportKHR:       vkGetPhysicalDeviceSurfaceSupportKHR,
	GetPhysicalDeviceSurfaceCapabilitiesKHR:  vkGetPhysicalDeviceSurfaceCapabilitiesKHR,
	GetPhysicalDeviceSurfaceCapabilities2KHR: vkGetPhysicalDeviceSurfaceCapabilities2KHR,
	GetPhysicalDeviceSurfaceFormatsKHR:       vkGetPhysicalDeviceSurfaceFormatsKHR,
	GetPhysicalDeviceSurfaceFormats2KHR:      vkGetPhysicalDeviceSurfaceFormats2KHR,
	GetPhysicalDeviceSurfacePresentModesKHR:  vkGetPhysicalDeviceSurfacePresentModesKHR,
	GetPhysicalDevicePresentRectanglesKHR:    vkGetPhysicalDevicePresentRectanglesKHR,
	GetDeviceGroupPresentCapabilitiesKHR:     vkGetDeviceGroupPresentCapabilitiesKHR,
	GetDeviceGroupSurfacePresentModesKHR:     vkGetDeviceGroupSurfacePresentModesKHR,
	CreateSwapchainKHR:                       vkCreateSwapchainKHR,
	DestroySwapchainKHR:                      vkDestroySwapchainKHR,
	GetSwapchainImagesKHR:                    vkGetSwapchainImagesKHR,
	AcquireNextImageKHR:                      vkAcquireNextImageKHR,
	AcquireNextImage2KHR:                     vkAcquireNextImage2KHR,
	QueuePresentKHR:                          vkQueuePresentKHR,
	ReleaseSwapchainImagesKHR:                vkReleaseSwapchainImagesKHR,
	WaitForPresentKHR:                        vkWaitForPresentKHR,
	WaitForPresent2KHR:                       vkWaitForPresent2KHR,

	// Shaders and pipelines
	CreateShaderModule:                              vkCreateShaderModule,
	DestroyShaderModule:                             vkDestroyShaderModule,
	CreatePipelineLayout:                            vkCreatePipelineLayout,
	DestroyPipelineLayout:                           vkDestroyPipelineLayout,
	CreateComputePipelines:                          vkCreateComputePipelines,
	GetPipelineExecutablePropertiesKHR:              vkGetPipelineExecutablePropertiesKHR,
	GetPipelineExecutableStatisticsKHR:              vkGetPipelineExecutableStatisticsKHR,
	GetPipelineExecutableInternalRepresentationsKHR: vkGetPipelineExecutableInternalRepresentationsKHR,
	CreatePipelineCache:                             vkCreatePipelineCache,
	DestroyPipelineCache:                            vkDestroyPipelineCache,
	GetPipelineCacheData:                            vkGetPipelineCacheData,
	MergePipelineCaches:                             vkMergePipelineCaches,
	DestroyPipeline:                                 vkDestroyPipeline,

	// Memory
	AllocateMemory:                      vkAllocateMemory,
	FreeMemory:                          vkFreeMemory,
	MapMemory:                           vkMapMemory,
	MapMemory2:                          vkMapMemory2,
	UnmapMemory:                         vkUnmapMemory,
	UnmapMemory2:                        vkUnmapMemory2,
	FlushMappedMemoryRanges:             vkFlushMappedMemoryRanges,
	InvalidateMappedMemoryRanges:        vkInvalidateMappedMemoryRanges,
	GetDeviceMemoryCommitment:           vkGetDeviceMemoryCommitment,
	GetDeviceMemoryOpaqueCaptureAddress: vkGetDeviceMemoryOpaqueCaptureAddress,
	SetDeviceMemoryPriorityEXT:          vkSetDeviceMemoryPriorityEXT,
	GetMemoryFdKHR:                      vkGetMemoryFdKHR,
	GetMemoryFdPropertiesKHR:            vkGetMemoryFdPropertiesKHR,
	GetMemoryHostPointerPropertiesEXT:   vkGetMemoryHostPointerPropertiesEXT,
	GetMemoryRemoteAddressNV:            vkGetMemoryRemoteAddressNV,

	// Buffers
	CreateBuffer:                      vkCreateBuffer,
	DestroyBuffer:                     vkDestroyBuffer,
	GetBufferMemoryRequirements:       vkGetBufferMemoryRequirements,
	GetBufferMemoryRequirements2:      vkGetBufferMemoryRequirements2,
	GetDeviceBufferMemoryRequirements: vkGetDeviceBufferMemoryRequirements,
	BindBufferMemory:                  vkBindBufferMemory,
	BindBufferMemory2:                 vkBindBufferMemory2,
	GetBufferDeviceAddress:            vkGetBufferDeviceAddress,
	GetBufferOpaqueCaptureAddress:     vkGetBufferOpaqueCaptureAddress,
	CreateBufferView:                  vkCreateBufferView,
	DestroyBufferView:                 vkDestroyBufferView,

	// Images
	CreateImage:                            vkCreateImage,
	DestroyImage:                           vkDestroyImage,
	GetImageMemoryRequirements:             vkGetImageMemoryRequirements,
	GetImageMemoryRequirements2:            vkGetImageMemoryRequirements2,
	GetImageSparseMemoryRequirements:       vkGetImageSparseMemoryRequirements,
	GetImageSparseMemoryRequirements2:      vkGetImageSparseMemoryRequirements2,
	GetDeviceImageMemoryRequirements:       vkGetDeviceImageMemoryRequirements,
	GetDeviceImageSparseMemoryRequirements: vkGetDeviceImageSparseMemoryRequirements,
	GetImageSubresourceLayout:              vkGetImageSubresourceLayout,
	GetImageSubresourceLayout2:             vkGetImageSubresourceLayout2,
	GetDeviceImageSubresourceLayout:        vkGetDeviceImageSubresourceLayout,
	GetImageDrmFormatModifierPropertiesEXT: vkGetImageDrmFormatModifierPropertiesEXT,
	BindImageMemory:                        vkBindImageMemory,
	BindImageMemory2:                       vkBindImageMemory2,
	CopyMemoryToImage:                      vkCopyMemoryToImage,
	CopyImageToMemory:                      vkCopyImageToMemory,
	CopyImageToImage:                       vkCopyImageToImage,
	TransitionImageLayout:                  vkTransitionImageLayout,
	CreateImageView:                        vkCreateImageView,
	DestroyImageView:                       vkDestroyImageView,
	CreateSampler:                          vkCreateSampler,
	DestroySampler:                         vkDestroySampler,
	CreateSamplerYcbcrConversion:           vkCreateSamplerYcbcrConversion,
	DestroySamplerYcbcrConversion:          vkDestroySamplerYcbcrConversion,

	// Descriptors
	CreateDescriptorSetLayout:       vkCreateDescriptorSetLayout,
	DestroyDescriptorSetLayout:      vkDestroyDescriptorSetLayout,
	GetDescriptorSetLayoutSupport:   vkGetDescriptorSetLayoutSupport,
	CreateDescriptorPool:            vkCreateDescriptorPool,
	DestroyDescriptorPool:           vkDestroyDescriptorPool,
	ResetDescriptorPool:             vkResetDescriptorPool,
	AllocateDescriptorSets:          vkAllocateDescriptorSets,
	FreeDescriptorSets:              vkFreeDescriptorSets,
	UpdateDescriptorSets:            vkUpdateDescriptorSets,
	CreateDescriptorUpdateTemplate:  vkCreateDescriptorUpdateTemplate,
	DestroyDescriptorUpdateTemplate: vkDestroyDescriptorUpdateTemplate,
	UpdateDescriptorSetWithTemplate: vkUpdateDescriptorSetWithTemplate,

	CmdPushDescriptorSetWithTemplate:  vkCmdPushDescriptorSetWithTemplate,
	CmdPushDescriptorSetWithTemplate2: vkCmdPushDescriptorSetWithTemplate2,
}
