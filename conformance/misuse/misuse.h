// What the programs here share. Each is compiled twice: with FAULTY, and without, which makes its corrected twin. A
// program ends with status 0 whether it is faulty or not, unless a driver notices or it sees wrong values; with 77 if
// the device lacks what it needs.
#define _GNU_SOURCE
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <vulkan/vulkan.h>

#ifdef FAULTY
#define CORRECT(...)
#define FAULT(...) __VA_ARGS__
#else
#define CORRECT(...) __VA_ARGS__
#define FAULT(...)
#endif

#define UNSUPPORTED 77
#define WRONG 4 // what the program computed is not what it should be
#define CHECK(call)                                                                    \
	do {                                                                               \
		VkResult result_ = (call);                                                     \
		if (result_ != VK_SUCCESS) {                                                   \
			fprintf(stderr, "%s:%d: %s: %d\n", __FILE__, __LINE__, #call, (int)result_); \
			exit(1);                                                                   \
		}                                                                              \
	} while (0)

// A structure of features that has one member.
struct feature {
	VkStructureType sType;
	void *pNext;
	VkBool32 on;
};

// Headers of Debian 12 don't have VK_EXT_host_image_copy.
#define HOST_IMAGE_COPY "VK_EXT_host_image_copy"
#define HOST_IMAGE_COPY_FEATURES ((VkStructureType)1000270000)

struct gpu {
	VkInstance instance;
	VkPhysicalDevice physical;
	VkDevice device;
	VkQueue queue, second; // second is the same queue where the device has one
	VkCommandPool pool;
	VkCommandBuffer commands;
	VkDebugUtilsMessengerEXT messenger;
};

// Messages of the driver go to standard output, by their ids.
static inline VKAPI_ATTR VkBool32 VKAPI_CALL on_message(VkDebugUtilsMessageSeverityFlagBitsEXT severity,
	VkDebugUtilsMessageTypeFlagsEXT types, const VkDebugUtilsMessengerCallbackDataEXT *data, void *user) {
	(void)severity, (void)types, (void)user;
	if (data->pMessageIdName && strncmp(data->pMessageIdName, "Loader", 6))
		printf("message %s\n", data->pMessageIdName);
	fflush(stdout);
	return VK_FALSE;
}

static inline int has_extension(uint32_t count, const VkExtensionProperties *list, const char *name) {
	for (uint32_t i = 0; i < count; i++)
		if (!strcmp(list[i].extensionName, name))
			return 1;
	return 0;
}

// open_device makes a device with the extensions of a list that ends with NULL, and a queue.
static inline void open_device(struct gpu *g, VkPhysicalDevice physical, const char *const *extensions) {
	g->physical = physical;
	VkExtensionProperties list[512];
	uint32_t n = 512;
	CHECK(vkEnumerateDeviceExtensionProperties(g->physical, NULL, &n, list));
	uint32_t used = 0;
	for (; extensions && extensions[used]; used++)
		if (!has_extension(n, list, extensions[used])) {
			printf("the device lacks %s\n", extensions[used]);
			exit(UNSUPPORTED);
		}
	float priorities[] = {1, 1};
	VkQueueFamilyProperties family;
	n = 1;
	vkGetPhysicalDeviceQueueFamilyProperties(g->physical, &n, &family);
	VkDeviceQueueCreateInfo queue = {.sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO,
		.queueCount = family.queueCount > 1 ? 2 : 1, .pQueuePriorities = priorities};
	VkPhysicalDeviceExternalMemoryRDMAFeaturesNV rdma = {
		.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_EXTERNAL_MEMORY_RDMA_FEATURES_NV, .externalMemoryRDMA = VK_TRUE};
	VkPhysicalDeviceTimelineSemaphoreFeatures timeline = {
		.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_TIMELINE_SEMAPHORE_FEATURES, .timelineSemaphore = VK_TRUE};
	struct feature copies = {.sType = HOST_IMAGE_COPY_FEATURES, .on = VK_TRUE};
	void *features = NULL;
	for (uint32_t i = 0; i < used; i++) {
		if (!strcmp(extensions[i], VK_NV_EXTERNAL_MEMORY_RDMA_EXTENSION_NAME))
			features = &rdma;
		if (!strcmp(extensions[i], VK_KHR_TIMELINE_SEMAPHORE_EXTENSION_NAME))
			features = &timeline;
		if (!strcmp(extensions[i], HOST_IMAGE_COPY))
			features = &copies;
	}
	VkDeviceCreateInfo device = {.sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO, .pNext = features,
		.queueCreateInfoCount = 1,
		.pQueueCreateInfos = &queue, .enabledExtensionCount = used, .ppEnabledExtensionNames = extensions};
	CHECK(vkCreateDevice(g->physical, &device, NULL, &g->device));
	vkGetDeviceQueue(g->device, 0, 0, &g->queue);
	vkGetDeviceQueue(g->device, 0, queue.queueCount - 1, &g->second);
	VkCommandPoolCreateInfo pool = {.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO,
		.flags = VK_COMMAND_POOL_CREATE_RESET_COMMAND_BUFFER_BIT};
	CHECK(vkCreateCommandPool(g->device, &pool, NULL, &g->pool));
	VkCommandBufferAllocateInfo commands = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
		.commandPool = g->pool, .commandBufferCount = 1};
	CHECK(vkAllocateCommandBuffers(g->device, &commands, &g->commands));
}

// open_gpu makes an instance, and a device as open_device does.
static inline void open_gpu(struct gpu *g, const char *const *extensions) {
	memset(g, 0, sizeof *g);
	VkApplicationInfo app = {.sType = VK_STRUCTURE_TYPE_APPLICATION_INFO, .apiVersion = VK_API_VERSION_1_1};
	VkExtensionProperties list[512];
	uint32_t n = 512;
	CHECK(vkEnumerateInstanceExtensionProperties(NULL, &n, list));
	const char *utils = VK_EXT_DEBUG_UTILS_EXTENSION_NAME;
	VkInstanceCreateInfo info = {.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO, .pApplicationInfo = &app,
		.enabledExtensionCount = has_extension(n, list, utils), .ppEnabledExtensionNames = &utils};
	CHECK(vkCreateInstance(&info, NULL, &g->instance));
	if (info.enabledExtensionCount) {
		PFN_vkCreateDebugUtilsMessengerEXT create = (PFN_vkCreateDebugUtilsMessengerEXT)vkGetInstanceProcAddr(
			g->instance, "vkCreateDebugUtilsMessengerEXT");
		VkDebugUtilsMessengerCreateInfoEXT messages = {
			.sType = VK_STRUCTURE_TYPE_DEBUG_UTILS_MESSENGER_CREATE_INFO_EXT,
			.messageSeverity = VK_DEBUG_UTILS_MESSAGE_SEVERITY_WARNING_BIT_EXT | VK_DEBUG_UTILS_MESSAGE_SEVERITY_ERROR_BIT_EXT,
			.messageType = VK_DEBUG_UTILS_MESSAGE_TYPE_VALIDATION_BIT_EXT, .pfnUserCallback = on_message};
		CHECK(create(g->instance, &messages, NULL, &g->messenger));
	}
	n = 1;
	if (vkEnumeratePhysicalDevices(g->instance, &n, &g->physical) < 0 || n == 0)
		exit(UNSUPPORTED);
	open_device(g, g->physical, extensions);
}

// second_device returns the second physical device, and ends the program if there is none.
static inline VkPhysicalDevice second_device(struct gpu *g) {
	VkPhysicalDevice list[2];
	uint32_t n = 2;
	if (vkEnumeratePhysicalDevices(g->instance, &n, list) < 0 || n < 2) {
		printf("there is no second device\n");
		exit(UNSUPPORTED);
	}
	return list[1];
}

static inline void close_gpu(struct gpu *g) {
	vkDestroyCommandPool(g->device, g->pool, NULL);
	vkDestroyDevice(g->device, NULL);
	if (g->messenger)
		((PFN_vkDestroyDebugUtilsMessengerEXT)vkGetInstanceProcAddr(g->instance, "vkDestroyDebugUtilsMessengerEXT"))(
			g->instance, g->messenger, NULL);
	vkDestroyInstance(g->instance, NULL);
}

static inline void *command(struct gpu *g, const char *name) {
	PFN_vkVoidFunction f = vkGetDeviceProcAddr(g->device, name);
	if (!f) {
		printf("the device lacks %s\n", name);
		exit(UNSUPPORTED);
	}
	return (void *)f;
}

#define VISIBLE VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT
#define COHERENT VK_MEMORY_PROPERTY_HOST_COHERENT_BIT

// find_type returns the first type of bits that has all of want and, if there is one, nothing of avoid.
static inline uint32_t find_type(struct gpu *g, uint32_t bits, VkMemoryPropertyFlags want,
	VkMemoryPropertyFlags avoid) {
	VkPhysicalDeviceMemoryProperties p;
	vkGetPhysicalDeviceMemoryProperties(g->physical, &p);
	for (int pass = 0; pass < 2; pass++)
		for (uint32_t i = 0; i < p.memoryTypeCount; i++) {
			VkMemoryPropertyFlags f = p.memoryTypes[i].propertyFlags;
			if (bits >> i & 1 && (f & want) == want && (pass || !(f & avoid)))
				return i;
		}
	printf("the device lacks memory with properties %#x\n", want);
	exit(UNSUPPORTED);
}

static inline VkDeviceMemory allocate(struct gpu *g, VkDeviceSize size, uint32_t type, const void *next) {
	VkMemoryAllocateInfo info = {.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO, .pNext = next, .allocationSize = size,
		.memoryTypeIndex = type};
	VkDeviceMemory m;
	CHECK(vkAllocateMemory(g->device, &info, NULL, &m));
	return m;
}

static inline void *map(struct gpu *g, VkDeviceMemory m) {
	void *p;
	CHECK(vkMapMemory(g->device, m, 0, VK_WHOLE_SIZE, 0, &p));
	return p;
}

static inline VkMappedMemoryRange range(VkDeviceMemory m, VkDeviceSize offset, VkDeviceSize size) {
	return (VkMappedMemoryRange){.sType = VK_STRUCTURE_TYPE_MAPPED_MEMORY_RANGE, .memory = m, .offset = offset,
		.size = size};
}

static inline void flush(struct gpu *g, VkDeviceMemory m, VkDeviceSize offset, VkDeviceSize size) {
	VkMappedMemoryRange r = range(m, offset, size);
	CHECK(vkFlushMappedMemoryRanges(g->device, 1, &r));
}

static inline void invalidate(struct gpu *g, VkDeviceMemory m, VkDeviceSize offset, VkDeviceSize size) {
	VkMappedMemoryRange r = range(m, offset, size);
	CHECK(vkInvalidateMappedMemoryRanges(g->device, 1, &r));
}

#define ANY_USAGE \
	(VK_BUFFER_USAGE_TRANSFER_SRC_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT | VK_BUFFER_USAGE_STORAGE_BUFFER_BIT)
#define OPAQUE_FD VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT

// A buffer and its memory.
struct block {
	VkBuffer buffer;
	VkDeviceMemory memory;
	VkDeviceSize size;
	uint32_t type;
};

static inline VkBuffer make_buffer(struct gpu *g, VkDeviceSize size, VkExternalMemoryHandleTypeFlags external) {
	VkExternalMemoryBufferCreateInfo types = {.sType = VK_STRUCTURE_TYPE_EXTERNAL_MEMORY_BUFFER_CREATE_INFO,
		.handleTypes = external};
	VkBufferCreateInfo info = {.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO, .pNext = external ? &types : NULL,
		.size = size, .usage = ANY_USAGE};
	VkBuffer b;
	CHECK(vkCreateBuffer(g->device, &info, NULL, &b));
	return b;
}

// make_block makes a buffer of size bytes in memory with the properties want, and without avoid if there is such
// memory. next goes on from VkMemoryAllocateInfo.
static inline struct block make_block(struct gpu *g, VkDeviceSize size, VkMemoryPropertyFlags want,
	VkMemoryPropertyFlags avoid, VkExternalMemoryHandleTypeFlags external, const void *next) {
	struct block b = {.buffer = make_buffer(g, size, external)};
	VkMemoryRequirements r;
	vkGetBufferMemoryRequirements(g->device, b.buffer, &r);
	b.size = r.size;
	b.type = find_type(g, r.memoryTypeBits, want, avoid);
	b.memory = allocate(g, r.size, b.type, next);
	CHECK(vkBindBufferMemory(g->device, b.buffer, b.memory, 0));
	return b;
}

// visible is make_block for memory that the host can map and, where the device has such, that is not coherent.
static inline struct block visible(struct gpu *g, VkDeviceSize size) {
	return make_block(g, size, VISIBLE, COHERENT, 0, NULL);
}

// exportable is make_block for coherent memory that can be exported as an OPAQUE_FD.
static inline struct block exportable(struct gpu *g, VkDeviceSize size) {
	VkExportMemoryAllocateInfo info = {.sType = VK_STRUCTURE_TYPE_EXPORT_MEMORY_ALLOCATE_INFO, .handleTypes = OPAQUE_FD};
	return make_block(g, size, VISIBLE | COHERENT, 0, OPAQUE_FD, &info);
}

static const char *const external_fd[] __attribute__((unused)) = {VK_KHR_EXTERNAL_MEMORY_FD_EXTENSION_NAME, NULL};

static inline int export_memory(struct gpu *g, VkDeviceMemory m) {
	VkMemoryGetFdInfoKHR info = {.sType = VK_STRUCTURE_TYPE_MEMORY_GET_FD_INFO_KHR, .memory = m, .handleType = OPAQUE_FD};
	int fd = -1;
	CHECK(((PFN_vkGetMemoryFdKHR)command(g, "vkGetMemoryFdKHR"))(g->device, &info, &fd));
	return fd;
}

// import_memory imports fd as memory of a size and type, and returns the result.
static inline VkResult import_memory(struct gpu *g, int fd, VkDeviceSize size, uint32_t type, VkDeviceMemory *m) {
	VkImportMemoryFdInfoKHR from = {.sType = VK_STRUCTURE_TYPE_IMPORT_MEMORY_FD_INFO_KHR, .handleType = OPAQUE_FD,
		.fd = fd};
	VkMemoryAllocateInfo info = {.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO, .pNext = &from, .allocationSize = size,
		.memoryTypeIndex = type};
	return vkAllocateMemory(g->device, &info, NULL, m);
}

static inline void free_block(struct gpu *g, struct block *b) {
	vkDestroyBuffer(g->device, b->buffer, NULL);
	vkFreeMemory(g->device, b->memory, NULL);
}

static inline void begin(struct gpu *g) {
	VkCommandBufferBeginInfo info = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO};
	CHECK(vkBeginCommandBuffer(g->commands, &info));
}

// barrier makes what was written visible to everybody.
static inline void barrier(struct gpu *g) {
	VkMemoryBarrier all = {.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER,
		.srcAccessMask = VK_ACCESS_MEMORY_WRITE_BIT | VK_ACCESS_HOST_WRITE_BIT,
		.dstAccessMask = VK_ACCESS_MEMORY_READ_BIT | VK_ACCESS_MEMORY_WRITE_BIT | VK_ACCESS_HOST_READ_BIT};
	VkPipelineStageFlags stages = VK_PIPELINE_STAGE_ALL_COMMANDS_BIT | VK_PIPELINE_STAGE_HOST_BIT;
	vkCmdPipelineBarrier(g->commands, stages, stages, 0, 1, &all, 0, NULL, 0, NULL);
}

// finish ends the command buffer, submits it and waits for it.
static inline void finish(struct gpu *g) {
	barrier(g);
	CHECK(vkEndCommandBuffer(g->commands));
	VkSubmitInfo submit = {.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO, .commandBufferCount = 1,
		.pCommandBuffers = &g->commands};
	CHECK(vkQueueSubmit(g->queue, 1, &submit, VK_NULL_HANDLE));
	CHECK(vkQueueWaitIdle(g->queue));
}

// copy has the queue copy bytes from one buffer to another, and waits.
static inline void copy(struct gpu *g, VkBuffer from, VkBuffer to, VkDeviceSize offset, VkDeviceSize size) {
	begin(g);
	VkBufferCopy region = {.srcOffset = offset, .dstOffset = offset, .size = size};
	vkCmdCopyBuffer(g->commands, from, to, 1, &region);
	finish(g);
}

// fill has the queue fill bytes of a buffer with a word, and waits.
static inline void fill(struct gpu *g, VkBuffer buffer, VkDeviceSize offset, VkDeviceSize size, uint32_t word) {
	begin(g);
	vkCmdFillBuffer(g->commands, buffer, offset, size, word);
	finish(g);
}
