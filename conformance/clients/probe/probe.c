// An unmodified Vulkan program in C that asks a driver about the rules of external memory. It prints a line
// "ok RULE" or "broken RULE: ..." for each, and exits with the number of broken ones. It records no commands.
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <vulkan/vulkan.h>

enum { SIZE = 96 * 1024 };
#define FD VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT
#define RDMA VK_EXTERNAL_MEMORY_HANDLE_TYPE_RDMA_ADDRESS_BIT_NV

static int broken;
static VkDevice device;
static VkPhysicalDeviceMemoryProperties properties;
static PFN_vkGetMemoryFdKHR get_fd;
static PFN_vkGetMemoryFdPropertiesKHR fd_properties;
static PFN_vkGetMemoryRemoteAddressNV remote_address;

static void rule(const char *name, int holds, long saw) {
	if (holds)
		printf("ok %s\n", name);
	else
		printf("broken %s: saw %ld\n", name, saw), broken++;
}

static VkResult allocate(VkDeviceSize size, uint32_t type, const void *next, VkDeviceMemory *memory) {
	VkMemoryAllocateInfo info = {VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO, next, size, type};
	return vkAllocateMemory(device, &info, NULL, memory);
}

static VkResult exportable(uint32_t type, VkExternalMemoryHandleTypeFlags types, VkDeviceMemory *memory) {
	VkExportMemoryAllocateInfo info = {VK_STRUCTURE_TYPE_EXPORT_MEMORY_ALLOCATE_INFO, NULL, types};
	return allocate(SIZE, type, &info, memory);
}

static VkResult import(VkDeviceSize size, uint32_t type, int fd, VkDeviceMemory *memory) {
	VkImportMemoryFdInfoKHR info = {VK_STRUCTURE_TYPE_IMPORT_MEMORY_FD_INFO_KHR, NULL, FD, fd};
	return allocate(size, type, &info, memory);
}

static int descriptor(VkDeviceMemory memory, VkResult *result) {
	VkMemoryGetFdInfoKHR info = {VK_STRUCTURE_TYPE_MEMORY_GET_FD_INFO_KHR, NULL, memory, FD};
	int fd = -1;
	*result = get_fd(device, &info, &fd);
	return fd;
}

static VkResult address(VkDeviceMemory memory, VkRemoteAddressNV *at) {
	VkMemoryGetRemoteAddressInfoNV info = {VK_STRUCTURE_TYPE_MEMORY_GET_REMOTE_ADDRESS_INFO_NV, NULL, memory, RDMA};
	return remote_address(device, &info, at);
}

// An import that must be refused and must leave the descriptor to us.
static void refused(const char *name, VkDeviceSize size, uint32_t type, int fd) {
	VkDeviceMemory memory;
	VkResult r = import(size, type, fd, &memory);
	rule(name, r == VK_ERROR_INVALID_EXTERNAL_HANDLE && (fd < 0 || fd == 9999 || fcntl(fd, F_GETFD) >= 0), r);
	if (r == VK_SUCCESS)
		vkFreeMemory(device, memory, NULL);
	else if (fd >= 0)
		close(fd);
}

static void descriptors(uint32_t type) {
	VkDeviceMemory memory, other, plain;
	VkResult r = exportable(type, FD, &memory);
	rule("allocate exportable memory", r == VK_SUCCESS, r);
	if (r)
		return;
	int first = descriptor(memory, &r);
	rule("export", r == VK_SUCCESS && first >= 0, r);
	int second = descriptor(memory, &r);
	rule("each export is a new descriptor", r == VK_SUCCESS && second >= 0 && second != first, second);
	rule("close-on-exec", fcntl(first, F_GETFD) & FD_CLOEXEC, fcntl(first, F_GETFD));
	VkMemoryFdPropertiesKHR p = {VK_STRUCTURE_TYPE_MEMORY_FD_PROPERTIES_KHR};
	r = fd_properties(device, FD, first, &p);
	rule("00674 no properties of opaque descriptors", r == VK_ERROR_INVALID_EXTERNAL_HANDLE, r);
	r = import(SIZE, type, first, &other);
	rule("import", r == VK_SUCCESS, r);
	if (r == VK_SUCCESS) {
		int again = descriptor(other, &r);
		rule("00671 no export of an import without export info", r < 0, r);
		if (again >= 0)
			close(again);
		if (properties.memoryTypes[type].propertyFlags & VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT) {
			void *here = NULL, *there = NULL;
			vkMapMemory(device, memory, 0, VK_WHOLE_SIZE, 0, &here);
			vkMapMemory(device, other, 0, VK_WHOLE_SIZE, 0, &there);
			if (here && there)
				strcpy((char *)here + SIZE - 32, "the same bytes");
			rule("export and import are the same bytes", here && there && !strcmp((char *)there + SIZE - 32, "the same bytes"),
				0);
		}
		vkFreeMemory(device, other, NULL);
	}
	refused("01742 larger size", SIZE * 2, type, dup(second));
	refused("01742 smaller size", SIZE / 2, type, dup(second));
	for (uint32_t t = 0; t < properties.memoryTypeCount; t++)
		if (t != type)
			refused("01742 other memory type", SIZE, t, dup(second));
	refused("00670 closed descriptor", SIZE, type, 9999);
	refused("00670 descriptor -1", SIZE, type, -1);
	refused("00670 /dev/null", SIZE, type, open("/dev/null", O_RDWR | O_CLOEXEC));
	int file = memfd_create("probe", MFD_CLOEXEC);
	if (ftruncate(file, SIZE + 4096) == 0)
		refused("00670 a memfd of ours", SIZE, type, file);
	vkFreeMemory(device, memory, NULL);
	refused("01742 larger size, exporter gone", SIZE * 2, type, dup(second));
	r = import(SIZE, type, second, &other);
	rule("payload outlives the exporter's object", r == VK_SUCCESS, r);
	if (r == VK_SUCCESS)
		vkFreeMemory(device, other, NULL);
	if (allocate(SIZE, type, NULL, &plain) == VK_SUCCESS) {
		int none = descriptor(plain, &r);
		rule("00671 no export of plain memory", r < 0, r);
		if (none >= 0)
			close(none);
		vkFreeMemory(device, plain, NULL);
	}
}

static void addresses(void) {
	uint32_t type = 0, found = 0;
	for (uint32_t t = 0; t < properties.memoryTypeCount; t++)
		if (properties.memoryTypes[t].propertyFlags & VK_MEMORY_PROPERTY_RDMA_CAPABLE_BIT_NV)
			type = t, found++;
	rule("an RDMA_CAPABLE memory type", found == 1, found);
	if (!found)
		return;
	VkMemoryPropertyFlags flags = properties.memoryTypes[type].propertyFlags;
	rule("it is DEVICE_LOCAL and nothing else",
		flags == (VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT | VK_MEMORY_PROPERTY_RDMA_CAPABLE_BIT_NV), flags);
	VkDeviceMemory memory;
	VkRemoteAddressNV one = NULL, two = NULL;
	VkResult r = exportable(type, RDMA, &memory);
	rule("allocate memory with a remote address", r == VK_SUCCESS, r);
	if (r == VK_SUCCESS) {
		r = address(memory, &one);
		rule("remote address", r == VK_SUCCESS && one, r);
		r = address(memory, &two);
		rule("the same address at each call", r == VK_SUCCESS && one == two, r);
		rule("no CPU address", msync((void *)((uintptr_t)one & ~4095ul), 1, MS_ASYNC) != 0, 0);
		int fd = descriptor(memory, &r);
		rule("00671 no descriptor of memory for remote addresses only", r < 0, r);
		if (fd >= 0)
			close(fd);
		vkFreeMemory(device, memory, NULL);
	}
	if (allocate(SIZE, type, NULL, &memory) == VK_SUCCESS) {
		r = address(memory, &one);
		rule("04966 no address of plain memory", r == VK_ERROR_INVALID_EXTERNAL_HANDLE, r);
		vkFreeMemory(device, memory, NULL);
	}
	if (exportable(type, FD, &memory) == VK_SUCCESS) {
		r = address(memory, &one);
		rule("04966 no address of memory for descriptors only", r == VK_ERROR_INVALID_EXTERNAL_HANDLE, r);
		vkFreeMemory(device, memory, NULL);
	}
}

int main(void) {
	VkApplicationInfo app = {VK_STRUCTURE_TYPE_APPLICATION_INFO, NULL, "probe", 1, NULL, 0, VK_API_VERSION_1_1};
	VkInstanceCreateInfo instance_info = {VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO, NULL, 0, &app};
	VkInstance instance;
	VkPhysicalDevice physical;
	uint32_t one = 1;
	if (vkCreateInstance(&instance_info, NULL, &instance) || vkEnumeratePhysicalDevices(instance, &one, &physical) < 0 ||
		one != 1)
		return puts("broken: no instance or no device"), 100;
	vkGetPhysicalDeviceMemoryProperties(physical, &properties);
	VkPhysicalDeviceExternalMemoryRDMAFeaturesNV feature =
		{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_EXTERNAL_MEMORY_RDMA_FEATURES_NV};
	VkPhysicalDeviceFeatures2 features = {VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2, &feature};
	vkGetPhysicalDeviceFeatures2(physical, &features);
	rule("feature externalMemoryRDMA", feature.externalMemoryRDMA, feature.externalMemoryRDMA);
	const char *extensions[] = {"VK_KHR_external_memory_fd", "VK_NV_external_memory_rdma"};
	float priority = 1;
	VkDeviceQueueCreateInfo queue = {VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO, NULL, 0, 0, 1, &priority};
	VkDeviceCreateInfo device_info = {VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO, &feature, 0, 1, &queue, 0, NULL, 2,
		extensions};
	VkResult r = vkCreateDevice(physical, &device_info, NULL, &device);
	if (r)
		return printf("broken: vkCreateDevice: %d\n", r), 100;
	get_fd = (PFN_vkGetMemoryFdKHR)vkGetDeviceProcAddr(device, "vkGetMemoryFdKHR");
	fd_properties = (PFN_vkGetMemoryFdPropertiesKHR)vkGetDeviceProcAddr(device, "vkGetMemoryFdPropertiesKHR");
	remote_address = (PFN_vkGetMemoryRemoteAddressNV)vkGetDeviceProcAddr(device, "vkGetMemoryRemoteAddressNV");
	for (uint32_t t = 0; t < properties.memoryTypeCount; t++)
		descriptors(t);
	addresses();
	vkDestroyDevice(device, NULL);
	vkDestroyInstance(instance, NULL);
	puts("done");
	return broken;
}
