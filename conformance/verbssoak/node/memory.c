// Memory of links, its patterns, and Vulkan, for device memory.
#include "node.h"
#include <vulkan/vulkan.h>

// pattern_word is a word of the pattern of a seed.
static inline uint64_t pattern_word(uint64_t seed, size_t i) {
	uint64_t z = (seed + i) * 0x9e3779b97f4a7c15;
	return z ^ (z >> 29);
}

void pattern_fill(char *at, size_t length, uint64_t seed) {
	size_t i = 0;
	for (; i + 8 <= length; i += 8) {
		uint64_t w = pattern_word(seed, i);
		memcpy(at + i, &w, 8);
	}
	uint64_t w = pattern_word(seed, i);
	memcpy(at + i, &w, length - i);
}

void pattern_check(const char *at, size_t length, uint64_t seed, const char *what) {
	for (size_t i = 0; i < length; i += 8) {
		uint64_t w = pattern_word(seed, i);
		size_t n = length - i < 8 ? length - i : 8;
		if (memcmp(at + i, &w, n) != 0) {
			uint64_t is = 0;
			memcpy(&is, at + i, n);
			fail("%s: byte %zu of %zu of pattern %#lx: %#lx, not %#lx", what, i, length, seed, is, w);
		}
	}
	compared += length;
}

#define VK(call)                                                         \
	do {                                                             \
		VkResult result_ = (call);                               \
		if (result_ != VK_SUCCESS)                               \
			fail("line %d: %s: %d", __LINE__, #call, result_); \
	} while (0)

static VkInstance instance;
static VkDevice device;
static uint32_t memory_type;
static PFN_vkGetMemoryRemoteAddressNV remote_address;
static PFN_vkGetMemoryFdKHR memory_fd;

void device_open(void) {
	VkApplicationInfo app = {VK_STRUCTURE_TYPE_APPLICATION_INFO, .apiVersion = VK_API_VERSION_1_1};
	VkInstanceCreateInfo make = {VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO, .pApplicationInfo = &app};
	VK(vkCreateInstance(&make, NULL, &instance));
	uint32_t one = 1;
	VkPhysicalDevice physical;
	VkResult r = vkEnumeratePhysicalDevices(instance, &one, &physical);
	need(one == 1 && (r == VK_SUCCESS || r == VK_INCOMPLETE));
	float priority = 1;
	VkDeviceQueueCreateInfo queues = {VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO, NULL, 0, 0, 1, &priority};
	VkPhysicalDeviceExternalMemoryRDMAFeaturesNV feature = {
		VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_EXTERNAL_MEMORY_RDMA_FEATURES_NV, NULL, VK_TRUE};
	const char *extensions[] = {VK_NV_EXTERNAL_MEMORY_RDMA_EXTENSION_NAME, VK_KHR_EXTERNAL_MEMORY_FD_EXTENSION_NAME};
	VkDeviceCreateInfo open = {VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO, &feature, 0, 1, &queues, 0, NULL, 2, extensions,
				   NULL};
	VK(vkCreateDevice(physical, &open, NULL, &device));
	remote_address = (PFN_vkGetMemoryRemoteAddressNV)vkGetDeviceProcAddr(device, "vkGetMemoryRemoteAddressNV");
	memory_fd = (PFN_vkGetMemoryFdKHR)vkGetDeviceProcAddr(device, "vkGetMemoryFdKHR");
	need(remote_address && memory_fd);
	VkPhysicalDeviceMemoryProperties types;
	vkGetPhysicalDeviceMemoryProperties(physical, &types);
	while (memory_type < types.memoryTypeCount &&
		!(types.memoryTypes[memory_type].propertyFlags & VK_MEMORY_PROPERTY_RDMA_CAPABLE_BIT_NV))
		memory_type++;
	need(memory_type < types.memoryTypeCount);
}

void device_close(void) {
	vkDestroyDevice(device, NULL);
	vkDestroyInstance(instance, NULL);
}

// device_allocate allocates memory of the device, and maps what lies behind it: an opaque descriptor is a memfd.
static void *device_allocate(size_t size, char **bytes, uint64_t *address) {
	const VkExternalMemoryHandleTypeFlagBits type = VK_EXTERNAL_MEMORY_HANDLE_TYPE_RDMA_ADDRESS_BIT_NV,
		opaque = VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT;
	VkExportMemoryAllocateInfo export = {VK_STRUCTURE_TYPE_EXPORT_MEMORY_ALLOCATE_INFO, NULL, type | opaque};
	VkMemoryAllocateInfo info = {VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO, &export, size, memory_type};
	VkDeviceMemory memory;
	VK(vkAllocateMemory(device, &info, NULL, &memory));
	VkMemoryGetRemoteAddressInfoNV which = {VK_STRUCTURE_TYPE_MEMORY_GET_REMOTE_ADDRESS_INFO_NV, NULL, memory, type};
	VkRemoteAddressNV where;
	VK(remote_address(device, &which, &where));
	*address = (uintptr_t)where;
	VkMemoryGetFdInfoKHR get = {VK_STRUCTURE_TYPE_MEMORY_GET_FD_INFO_KHR, NULL, memory, opaque};
	int fd;
	VK(memory_fd(device, &get, &fd));
	*bytes = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	need(*bytes != MAP_FAILED && close(fd) == 0);
	memset(*bytes, 0, size);
	return memory;
}

void memory_new(struct memory *m, size_t size, bool device) {
	m->size = size;
	if (device && with_device) {
		m->device = device_allocate(size, &m->bytes, &m->address);
	} else {
		m->device = NULL;
		m->bytes = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		need(m->bytes != MAP_FAILED);
		m->address = (uintptr_t)m->bytes;
	}
	m->mr = ibv_reg_mr(pd, (void *)m->address, size, RIGHTS);
	need(m->mr);
}

void memory_free(struct memory *m) {
	if (!m->mr)
		return;
	need(ibv_dereg_mr(m->mr) == 0);
	m->mr = NULL;
	need(munmap(m->bytes, m->size) == 0);
	if (m->device)
		vkFreeMemory(device, m->device, NULL);
}
