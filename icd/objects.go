// Package icd holds Vulkan's commands. Their entries, which icdgen writes (zz_generated_handles.go), turn handles into
// objects and refuse those that a command must not be given; the functions here decode the other arguments, delegate to
// the packages below and map their errors to a VkResult. One file per kind of Vulkan object.
//
// Locks. commandPool.mu comes before commandBuffer.mu. Every other lock of this package is taken alone, with only those
// of the packages below inside it: deviceMemory.mu, descriptorPool.mu, carrier.mu, pipelineCache.mu, shaders.mu,
// addresses.mu, reporter.mu, queueLabels.mu. Looking a handle up takes no lock.
//
// Callbacks. Messengers and memory reports are called with no lock held, from a list that doesn't change, so they may
// call the driver, although the specification forbids it (TestCallbacksMayCallTheDriver). One that is told of what a
// queue executes is called by the thread that executes: it must not wait for that queue. Objects that a device or an
// instance is destroyed with are reported after its own handle is gone.
package icd

import (
	"sync"
	"sync/atomic"

	"farside/internal/config"
	"farside/internal/exec"
	"farside/internal/handle"
	"farside/internal/profile"
	"farside/internal/syncobj"
	"farside/internal/vk"
	"farside/memory"
	"farside/spirv"
)

// The tables from which every handle that C holds is looked up.
var (
	instances       = handle.NewDispatchable[instance]("VkInstance")
	physicalDevices = handle.NewDispatchable[physicalDevice]("VkPhysicalDevice")
	devices         = handle.NewDispatchable[device]("VkDevice")
	queues          = handle.NewDispatchable[queue]("VkQueue")

	deviceMemories   = handle.NewTable[deviceMemory](uint8(vk.OBJECT_TYPE_DEVICE_MEMORY), "VkDeviceMemory")
	buffers          = handle.NewTable[buffer](uint8(vk.OBJECT_TYPE_BUFFER), "VkBuffer")
	bufferViews      = handle.NewTable[bufferView](uint8(vk.OBJECT_TYPE_BUFFER_VIEW), "VkBufferView")
	images           = handle.NewTable[image](uint8(vk.OBJECT_TYPE_IMAGE), "VkImage")
	samplers         = handle.NewTable[sampler](uint8(vk.OBJECT_TYPE_SAMPLER), "VkSampler")
	renderPasses     = handle.NewTable[renderPass](uint8(vk.OBJECT_TYPE_RENDER_PASS), "VkRenderPass")
	framebuffers     = handle.NewTable[framebuffer](uint8(vk.OBJECT_TYPE_FRAMEBUFFER), "VkFramebuffer")
	imageViews       = handle.NewTable[imageView](uint8(vk.OBJECT_TYPE_IMAGE_VIEW), "VkImageView")
	shaderModules    = handle.NewTable[shaderModule](uint8(vk.OBJECT_TYPE_SHADER_MODULE), "VkShaderModule")
	shaderObjects    = handle.NewTable[shaderObject](70, "VkShaderEXT")
	pipelineLayouts  = handle.NewTable[pipelineLayout](uint8(vk.OBJECT_TYPE_PIPELINE_LAYOUT), "VkPipelineLayout")
	pipelineCaches   = handle.NewTable[pipelineCache](uint8(vk.OBJECT_TYPE_PIPELINE_CACHE), "VkPipelineCache")
	pipelines        = handle.NewTable[pipeline](uint8(vk.OBJECT_TYPE_PIPELINE), "VkPipeline")
	queryPools       = handle.NewTable[queryPool](uint8(vk.OBJECT_TYPE_QUERY_POOL), "VkQueryPool")
	fences           = handle.NewTable[fence](uint8(vk.OBJECT_TYPE_FENCE), "VkFence")
	semaphores       = handle.NewTable[semaphore](uint8(vk.OBJECT_TYPE_SEMAPHORE), "VkSemaphore")
	events           = handle.NewTable[event](uint8(vk.OBJECT_TYPE_EVENT), "VkEvent")
	ycbcrConversions = handle.NewTable[ycbcrConversion](66, "VkSamplerYcbcrConversion")
	privateDataSlots = handle.NewTable[privateDataSlot](65, "VkPrivateDataSlot")
	surfaces         = handle.NewTable[surface](68, "VkSurfaceKHR")
	swapchains       = handle.NewTable[swapchain](69, "VkSwapchainKHR")
	messengers       = handle.NewTable[messenger](64, "VkDebugUtilsMessengerEXT")
)

// instance is a VkInstance.
type instance struct {
	handle     vk.Instance
	apiVersion uint32 // what the application asked for; VK_API_VERSION_1_0 when it did not say
	extensions map[string]bool
	devices    []*physicalDevice
	made       *origin // with FARSIDE_STRICT=leaks
	asyncOwner asyncOwner

	reporter
}

// physicalDevice is a VkPhysicalDevice. It doesn't change once its instance is made.
type physicalDevice struct {
	handle     vk.PhysicalDevice
	instance   *instance
	index      int               // of the instance's devices
	group      []*physicalDevice // its device group, with itself
	settings   *config.Settings
	profile    memory.Profile
	families   []profile.Family
	budget     *memory.Budget
	driverUUID [vk.UUID_SIZE]byte
	deviceUUID [vk.UUID_SIZE]byte
	vendorID   uint32
	deviceID   uint32
	limits     *limits // what it answers, and holds applications to

	optimalTypes, linearTypes uint32 // memory types of images, by their tiling

	cut         *profile.Result // nil for the driver's own device
	profileName string          // of FARSIDE_PROFILE
}

// device is a VkDevice.
type device struct {
	handle     vk.Device
	physical   *physicalDevice    // that it was created from
	members    []*physicalDevice  // all of which it is made, by device index
	uuid       [vk.UUID_SIZE]byte // stands for the members in memory that leaves the process
	extensions map[string]bool
	features   map[string]bool // names of the enabled features, whichever structure they came in
	remaps     bool            // of these memoryMapPlaced or memoryUnmapReserve, or guarded mappings
	reserves   bool            // of these memoryUnmapReserve
	strictness config.Strict
	signalled  atomic.Pointer[shots] // taken when the host signalled last; see shots
	made       *origin               // with FARSIDE_STRICT=leaks
	queues     []*queue
	reports    []memoryReport // VK_EXT_device_memory_report callbacks

	lost   atomic.Bool      // set for good when the device is lost
	stop   *syncobj.Payload // signalled when the device is lost or destroyed: nothing waits any longer
	exec   exec.Device      // what its queues share
	pieces sync.Mutex       // exec.Device.Pieces

	environment func() *spirv.Environment // what modules are held to
	offer       func() *spirv.Environment // the same, if all that the device has were enabled

	forgiven sync.Map // the rules, vk.VUID, that forgives has warned of

	shaders   shaders
	addresses addresses // of memory that shaders reach by address

	slots           sync.Map     // the live *privateDataSlot
	slotted         atomic.Bool  // there is one, or was
	samplers        atomic.Int64 // the live samplers
	customBorders   atomic.Int64 // those with custom border colours
	lateDescriptors atomic.Int64 // of all pools for update after bind
}

// fail logs and reports err as the outcome of command and returns the VkResult that it maps to.
func (d *device) fail(command string, err error) vk.Result {
	return d.failOn(command, err, vk.OBJECT_TYPE_DEVICE, uint64(d.handle))
}

// failOn is fail for an object of the device.
func (d *device) failOn(command string, err error, t vk.ObjectType, h uint64) vk.Result {
	return d.physical.instance.fail(command, err, object{t, h})
}
