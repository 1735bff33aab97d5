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
}

// instanceExtensions and deviceExtensions say what is advertised; revision, dependencies and commands come
// from the registry. VK_KHR_device_group_creation, core in 1.1, is left out with its device half
// VK_KHR_device_group: whoever sees it also asks for the groups' swapchains.
var instanceExtensions = []extension{
	{name: vk.KHR_EXTERNAL_FENCE_CAPABILITIES_EXTENSION_NAME},
	{name: vk.KHR_EXTERNAL_MEMORY_CAPABILITIES_EXTENSION_NAME},
	{name: vk.KHR_EXTERNAL_SEMAPHORE_CAPABILITIES_EXTENSION_NAME},
	{name: vk.KHR_GET_PHYSICAL_DEVICE_PROPERTIES_2_EXTENSION_NAME},
	{name: vk.EXT_DEBUG_UTILS_EXTENSION_NAME},
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
	{name: vk.KHR_PIPELINE_EXECUTABLE_PROPERTIES_EXTENSION_NAME},
	{name: vk.KHR_SHADER_ATOMIC_INT64_EXTENSION_NAME},
	{name: vk.KHR_SHADER_FLOAT16_INT8_EXTENSION_NAME},
	{name: vk.KHR_SHADER_FLOAT_CONTROLS_EXTENSION_NAME},
	{name: vk.KHR_SHADER_INTEGER_DOT_PRODUCT_EXTENSION_NAME},
	{name: vk.KHR_SHADER_NON_SEMANTIC_INFO_EXTENSION_NAME},
	{name: vk.KHR_SHADER_SUBGROUP_EXTENDED_TYPES_EXTENSION_NAME},
	{name: vk.KHR_SHADER_SUBGROUP_ROTATE_EXTENSION_NAME},
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
	{name: vk.EXT_EXTERNAL_MEMORY_DMA_BUF_EXTENSION_NAME, available: export.DMABufAvailable, note: "on machines with /dev/udmabuf"},
	{name: vk.EXT_EXTERNAL_MEMORY_HOST_EXTENSION_NAME},
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
	{name: vk.EXT_TOOLING_INFO_EXTENSION_NAME},
	{name: vk.NV_EXTERNAL_MEMORY_EXTENSION_NAME},
	{name: vk.NV_EXTERNAL_MEMORY_RDMA_EXTENSION_NAME},
}

// advertised says whether this machine has the extension. The answer stays the same for the life of the process.
func (e *extension) advertised() bool { return e.available == nil || e.available() }

// supports says whether table advertises the named extension on this machine.
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
}

// The commands that the driver implements; icdgen reads the keys of this literal and generates a C stub and
// a frame reader for each. An alias (vkFooKHR of a core vkFoo) shares its core command's line.
var commands = cabi.Commands{
	// Loader
	EnumerateInstanceVersion:             enumerateInstanceVersion,
	EnumerateInstanceExtensionProperties: enumerateInstanceExtensionProperties,
	EnumerateInstanceLayerProperties:     enumerateInstanceLayerProperties,
	GetInstanceProcAddr:                  getInstanceProcAddr,
	GetDeviceProcAddr:                    getDeviceProcAddr,

	// Instance
	CreateInstance:                createInstance,
	DestroyInstance:               destroyInstance,
	EnumeratePhysicalDevices:      enumeratePhysicalDevices,
	EnumeratePhysicalDeviceGroups: enumeratePhysicalDeviceGroups,
	CreateDebugUtilsMessengerEXT:  createDebugUtilsMessengerEXT,
	DestroyDebugUtilsMessengerEXT: destroyDebugUtilsMessengerEXT,
	SubmitDebugUtilsMessageEXT:    submitDebugUtilsMessageEXT,
	SetDebugUtilsObjectNameEXT:    setDebugUtilsObjectNameEXT,
	SetDebugUtilsObjectTagEXT:     setDebugUtilsObjectTagEXT,
	QueueBeginDebugUtilsLabelEXT:  queueBeginDebugUtilsLabelEXT,
	QueueEndDebugUtilsLabelEXT:    queueEndDebugUtilsLabelEXT,
	QueueInsertDebugUtilsLabelEXT: queueInsertDebugUtilsLabelEXT,

	// Physical device
	GetPhysicalDeviceProperties:                      getPhysicalDeviceProperties,
	GetPhysicalDeviceProperties2:                     getPhysicalDeviceProperties2,
	GetPhysicalDeviceFeatures:                        getPhysicalDeviceFeatures,
	GetPhysicalDeviceFeatures2:                       getPhysicalDeviceFeatures2,
	GetPhysicalDeviceQueueFamilyProperties:           getPhysicalDeviceQueueFamilyProperties,
	GetPhysicalDeviceQueueFamilyProperties2:          getPhysicalDeviceQueueFamilyProperties2,
	GetPhysicalDeviceMemoryProperties:                getPhysicalDeviceMemoryProperties,
	GetPhysicalDeviceMemoryProperties2:               getPhysicalDeviceMemoryProperties2,
	GetPhysicalDeviceFormatProperties:                getPhysicalDeviceFormatProperties,
	GetPhysicalDeviceFormatProperties2:               getPhysicalDeviceFormatProperties2,
	GetPhysicalDeviceImageFormatProperties:           getPhysicalDeviceImageFormatProperties,
	GetPhysicalDeviceImageFormatProperties2:          getPhysicalDeviceImageFormatProperties2,
	GetPhysicalDeviceSparseImageFormatProperties:     getPhysicalDeviceSparseImageFormatProperties,
	GetPhysicalDeviceSparseImageFormatProperties2:    getPhysicalDeviceSparseImageFormatProperties2,
	GetPhysicalDeviceExternalBufferProperties:        getPhysicalDeviceExternalBufferProperties,
	GetPhysicalDeviceExternalFenceProperties:         getPhysicalDeviceExternalFenceProperties,
	GetPhysicalDeviceExternalSemaphoreProperties:     getPhysicalDeviceExternalSemaphoreProperties,
	GetPhysicalDeviceExternalImageFormatPropertiesNV: getPhysicalDeviceExternalImageFormatPropertiesNV,
	GetPhysicalDeviceCalibrateableTimeDomainsKHR:     getPhysicalDeviceCalibrateableTimeDomainsKHR,
	GetPhysicalDeviceToolProperties:                  getPhysicalDeviceToolProperties,
	EnumerateDeviceExtensionProperties:               enumerateDeviceExtensionProperties,
	EnumerateDeviceLayerProperties:                   enumerateDeviceLayerProperties,

	// Device and queue
	CreateDevice:                     createDevice,
	DestroyDevice:                    destroyDevice,
	GetDeviceQueue:                   getDeviceQueue,
	GetDeviceQueue2:                  getDeviceQueue2,
	GetDeviceGroupPeerMemoryFeatures: getDeviceGroupPeerMemoryFeatures,
	CreatePrivateDataSlot:            createPrivateDataSlot,
	DestroyPrivateDataSlot:           destroyPrivateDataSlot,
	SetPrivateData:                   setPrivateData,
	GetPrivateData:                   getPrivateData,
	DeviceWaitIdle:                   deviceWaitIdle,
	QueueWaitIdle:                    queueWaitIdle,
	QueueSubmit:                      queueSubmit,
	QueueSubmit2:                     queueSubmit2,
	QueueBindSparse:                  queueBindSparse,

	// Graphics
	CreateRenderPass:            createRenderPass,
	CreateRenderPass2:           createRenderPass2,
	DestroyRenderPass:           destroyRenderPass,
	CreateFramebuffer:           createFramebuffer,
	DestroyFramebuffer:          destroyFramebuffer,
	CreateGraphicsPipelines:     createGraphicsPipelines,
	GetRenderAreaGranularity:    getRenderAreaGranularity,
	GetRenderingAreaGranularity: getRenderingAreaGranularity,

	// Synchronisation
	CreateFence:              createFence,
	DestroyFence:             destroyFence,
	ResetFences:              resetFences,
	GetFenceStatus:           getFenceStatus,
	WaitForFences:            waitForFences,
	GetFenceFdKHR:            getFenceFdKHR,
	ImportFenceFdKHR:         importFenceFdKHR,
	CreateSemaphore:          createSemaphore,
	DestroySemaphore:         destroySemaphore,
	GetSemaphoreCounterValue: getSemaphoreCounterValue,
	WaitSemaphores:           waitSemaphores,
	SignalSemaphore:          signalSemaphore,
	GetSemaphoreFdKHR:        getSemaphoreFdKHR,
	ImportSemaphoreFdKHR:     importSemaphoreFdKHR,
	CreateEvent:              createEvent,
	DestroyEvent:             destroyEvent,
	GetEventStatus:           getEventStatus,
	SetEvent:                 setEvent,
	ResetEvent:               resetEvent,

	// Queries and clocks
	CreateQueryPool:            createQueryPool,
	DestroyQueryPool:           destroyQueryPool,
	GetQueryPoolResults:        getQueryPoolResults,
	ResetQueryPool:             resetQueryPool,
	GetCalibratedTimestampsKHR: getCalibratedTimestampsKHR,

	// Command buffers
	CreateCommandPool:      createCommandPool,
	DestroyCommandPool:     destroyCommandPool,
	ResetCommandPool:       resetCommandPool,
	TrimCommandPool:        trimCommandPool,
	AllocateCommandBuffers: allocateCommandBuffers,
	FreeCommandBuffers:     freeCommandBuffers,
	BeginCommandBuffer:     beginCommandBuffer,
	EndCommandBuffer:       endCommandBuffer,
	ResetCommandBuffer:     resetCommandBuffer,

	// Commands
	CmdBindPipeline:             cmdBindPipeline,
	CmdBindDescriptorSets:       cmdBindDescriptorSets,
	CmdBindDescriptorSets2:      cmdBindDescriptorSets2,
	CmdPushDescriptorSet:        cmdPushDescriptorSet,
	CmdPushDescriptorSet2:       cmdPushDescriptorSet2,
	CmdPushConstants:            cmdPushConstants,
	CmdPushConstants2:           cmdPushConstants2,
	CmdDispatch:                 cmdDispatch,
	CmdDispatchIndirect:         cmdDispatchIndirect,
	CmdDispatchBase:             cmdDispatchBase,
	CmdFillBuffer:               cmdFillBuffer,
	CmdUpdateBuffer:             cmdUpdateBuffer,
	CmdCopyBuffer:               cmdCopyBuffer,
	CmdCopyBuffer2:              cmdCopyBuffer2,
	CmdCopyImage:                cmdCopyImage,
	CmdCopyImage2:               cmdCopyImage2,
	CmdCopyBufferToImage:        cmdCopyBufferToImage,
	CmdCopyBufferToImage2:       cmdCopyBufferToImage2,
	CmdCopyImageToBuffer:        cmdCopyImageToBuffer,
	CmdCopyImageToBuffer2:       cmdCopyImageToBuffer2,
	CmdBlitImage:                cmdBlitImage,
	CmdBlitImage2:               cmdBlitImage2,
	CmdResolveImage:             cmdResolveImage,
	CmdResolveImage2:            cmdResolveImage2,
	CmdClearColorImage:          cmdClearColorImage,
	CmdClearDepthStencilImage:   cmdClearDepthStencilImage,
	CmdPipelineBarrier:          cmdPipelineBarrier,
	CmdPipelineBarrier2:         cmdPipelineBarrier2,
	CmdSetEvent:                 cmdSetEvent,
	CmdSetEvent2:                cmdSetEvent2,
	CmdResetEvent:               cmdResetEvent,
	CmdResetEvent2:              cmdResetEvent2,
	CmdWaitEvents:               cmdWaitEvents,
	CmdWaitEvents2:              cmdWaitEvents2,
	CmdBeginQuery:               cmdBeginQuery,
	CmdEndQuery:                 cmdEndQuery,
	CmdResetQueryPool:           cmdResetQueryPool,
	CmdWriteTimestamp:           cmdWriteTimestamp,
	CmdWriteTimestamp2:          cmdWriteTimestamp2,
	CmdCopyQueryPoolResults:     cmdCopyQueryPoolResults,
	CmdExecuteCommands:          cmdExecuteCommands,
	CmdSetDeviceMask:            cmdSetDeviceMask,
	CmdWriteBufferMarkerAMD:     cmdWriteBufferMarkerAMD,
	CmdWriteBufferMarker2AMD:    cmdWriteBufferMarker2AMD,
	CmdBeginDebugUtilsLabelEXT:  cmdBeginDebugUtilsLabelEXT,
	CmdEndDebugUtilsLabelEXT:    cmdEndDebugUtilsLabelEXT,
	CmdInsertDebugUtilsLabelEXT: cmdInsertDebugUtilsLabelEXT,

	// Shaders and pipelines
	CreateShaderModule:                              createShaderModule,
	DestroyShaderModule:                             destroyShaderModule,
	CreatePipelineLayout:                            createPipelineLayout,
	DestroyPipelineLayout:                           destroyPipelineLayout,
	CreateComputePipelines:                          createComputePipelines,
	GetPipelineExecutablePropertiesKHR:              getPipelineExecutablePropertiesKHR,
	GetPipelineExecutableStatisticsKHR:              getPipelineExecutableStatisticsKHR,
	GetPipelineExecutableInternalRepresentationsKHR: getPipelineExecutableInternalRepresentationsKHR,
	CreatePipelineCache:                             createPipelineCache,
	DestroyPipelineCache:                            destroyPipelineCache,
	GetPipelineCacheData:                            getPipelineCacheData,
	MergePipelineCaches:                             mergePipelineCaches,
	DestroyPipeline:                                 destroyPipeline,

	// Memory
	AllocateMemory:                      allocateMemory,
	FreeMemory:                          freeMemory,
	MapMemory:                           mapMemory,
	MapMemory2:                          mapMemory2,
	UnmapMemory:                         unmapMemory,
	UnmapMemory2:                        unmapMemory2,
	FlushMappedMemoryRanges:             flushMappedMemoryRanges,
	InvalidateMappedMemoryRanges:        invalidateMappedMemoryRanges,
	GetDeviceMemoryCommitment:           getDeviceMemoryCommitment,
	GetDeviceMemoryOpaqueCaptureAddress: getDeviceMemoryOpaqueCaptureAddress,
	SetDeviceMemoryPriorityEXT:          setDeviceMemoryPriorityEXT,
	GetMemoryFdKHR:                      getMemoryFdKHR,
	GetMemoryFdPropertiesKHR:            getMemoryFdPropertiesKHR,
	GetMemoryHostPointerPropertiesEXT:   getMemoryHostPointerPropertiesEXT,
	GetMemoryRemoteAddressNV:            getMemoryRemoteAddressNV,

	// Buffers
	CreateBuffer:                      createBuffer,
	DestroyBuffer:                     destroyBuffer,
	GetBufferMemoryRequirements:       getBufferMemoryRequirements,
	GetBufferMemoryRequirements2:      getBufferMemoryRequirements2,
	GetDeviceBufferMemoryRequirements: getDeviceBufferMemoryRequirements,
	BindBufferMemory:                  bindBufferMemory,
	BindBufferMemory2:                 bindBufferMemory2,
	GetBufferDeviceAddress:            getBufferDeviceAddress,
	GetBufferOpaqueCaptureAddress:     getBufferOpaqueCaptureAddress,
	CreateBufferView:                  createBufferView,
	DestroyBufferView:                 destroyBufferView,

	// Images
	CreateImage:                            createImage,
	DestroyImage:                           destroyImage,
	GetImageMemoryRequirements:             getImageMemoryRequirements,
	GetImageMemoryRequirements2:            getImageMemoryRequirements2,
	GetImageSparseMemoryRequirements:       getImageSparseMemoryRequirements,
	GetImageSparseMemoryRequirements2:      getImageSparseMemoryRequirements2,
	GetDeviceImageMemoryRequirements:       getDeviceImageMemoryRequirements,
	GetDeviceImageSparseMemoryRequirements: getDeviceImageSparseMemoryRequirements,
	GetImageSubresourceLayout:              getImageSubresourceLayout,
	GetImageSubresourceLayout2:             getImageSubresourceLayout2,
	GetDeviceImageSubresourceLayout:        getDeviceImageSubresourceLayout,
	GetImageDrmFormatModifierPropertiesEXT: getImageDrmFormatModifierPropertiesEXT,
	BindImageMemory:                        bindImageMemory,
	BindImageMemory2:                       bindImageMemory2,
	CopyMemoryToImage:                      copyMemoryToImage,
	CopyImageToMemory:                      copyImageToMemory,
	CopyImageToImage:                       copyImageToImage,
	TransitionImageLayout:                  transitionImageLayout,
	CreateImageView:                        createImageView,
	DestroyImageView:                       destroyImageView,
	CreateSampler:                          createSampler,
	DestroySampler:                         destroySampler,
	CreateSamplerYcbcrConversion:           createSamplerYcbcrConversion,
	DestroySamplerYcbcrConversion:          destroySamplerYcbcrConversion,

	// Descriptors
	CreateDescriptorSetLayout:       createDescriptorSetLayout,
	DestroyDescriptorSetLayout:      destroyDescriptorSetLayout,
	GetDescriptorSetLayoutSupport:   getDescriptorSetLayoutSupport,
	CreateDescriptorPool:            createDescriptorPool,
	DestroyDescriptorPool:           destroyDescriptorPool,
	ResetDescriptorPool:             resetDescriptorPool,
	AllocateDescriptorSets:          allocateDescriptorSets,
	FreeDescriptorSets:              freeDescriptorSets,
	UpdateDescriptorSets:            updateDescriptorSets,
	CreateDescriptorUpdateTemplate:  createDescriptorUpdateTemplate,
	DestroyDescriptorUpdateTemplate: destroyDescriptorUpdateTemplate,
	UpdateDescriptorSetWithTemplate: updateDescriptorSetWithTemplate,

	CmdPushDescriptorSetWithTemplate:  cmdPushDescriptorSetWithTemplate,
	CmdPushDescriptorSetWithTemplate2: cmdPushDescriptorSetWithTemplate2,
}
