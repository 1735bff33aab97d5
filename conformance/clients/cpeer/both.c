/* Two libraries in Go in one process: the driver, behind the Vulkan loader, and that of peers, both by dlopen:
 * both LIBRARY. RDMA memory is allocated, filled by a queue, and read, written and counted in by its address, from
 * threads that call the driver as well. In the end the memory is freed. */
#define _GNU_SOURCE
#define VK_NO_PROTOTYPES
#include "check.h"
#include <dlfcn.h>
#include <pthread.h>
#include <vulkan/vulkan.h>

#define RDMA VK_EXTERNAL_MEMORY_HANDLE_TYPE_RDMA_ADDRESS_BIT_NV
enum { SIZE = 1 << 20, THREADS = 4, ROUNDS = 100 };

static PFN_vkGetInstanceProcAddr get_proc;
static VkInstance instance;
static VkDevice device;
static VkDeviceMemory memory;
static uint32_t type;
static farside_peer *peer;
static uint64_t region;

#define VK(name) PFN_##name name = (PFN_##name)(void *)get_proc(instance, #name)

static __typeof__(&farside_peer_open) peer_open;
static __typeof__(&farside_peer_close) peer_close;
static __typeof__(&farside_read) peer_read;
static __typeof__(&farside_fetch_add64) fetch_add;
static __typeof__(&farside_post) post;
static __typeof__(&farside_poll) poll_completions;

static void load_peers(const char *path) {
	void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (!library)
		puts(dlerror());
	CHECK(library);
	*(void **)&peer_open = dlsym(library, "farside_peer_open");
	*(void **)&peer_close = dlsym(library, "farside_peer_close");
	*(void **)&peer_read = dlsym(library, "farside_read");
	*(void **)&fetch_add = dlsym(library, "farside_fetch_add64");
	*(void **)&post = dlsym(library, "farside_post");
	*(void **)&poll_completions = dlsym(library, "farside_poll");
	CHECK(peer_open && peer_close && peer_read && fetch_add && post && poll_completions);
}

static void load_driver(void) {
	void *loader = dlopen("libvulkan.so.1", RTLD_NOW | RTLD_LOCAL);
	CHECK(loader);
	*(void **)&get_proc = dlsym(loader, "vkGetInstanceProcAddr");
	CHECK(get_proc);
	PFN_vkCreateInstance vkCreateInstance = (PFN_vkCreateInstance)(void *)get_proc(NULL, "vkCreateInstance");
	VkApplicationInfo app = {.sType = VK_STRUCTURE_TYPE_APPLICATION_INFO, .apiVersion = VK_API_VERSION_1_1};
	VkInstanceCreateInfo create = {.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO, .pApplicationInfo = &app};
	CHECK(vkCreateInstance(&create, NULL, &instance) == VK_SUCCESS);
	VK(vkEnumeratePhysicalDevices);
	VK(vkGetPhysicalDeviceMemoryProperties);
	VK(vkCreateDevice);
	VkPhysicalDevice physical;
	uint32_t one = 1;
	CHECK(vkEnumeratePhysicalDevices(instance, &one, &physical) >= 0 && one == 1);
	VkPhysicalDeviceMemoryProperties properties;
	vkGetPhysicalDeviceMemoryProperties(physical, &properties);
	while (type < properties.memoryTypeCount &&
		!(properties.memoryTypes[type].propertyFlags & VK_MEMORY_PROPERTY_RDMA_CAPABLE_BIT_NV))
		type++;
	CHECK(type < properties.memoryTypeCount);
	VkPhysicalDeviceExternalMemoryRDMAFeaturesNV rdma = {
		.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_EXTERNAL_MEMORY_RDMA_FEATURES_NV, .externalMemoryRDMA = VK_TRUE};
	const char *extensions[] = {"VK_NV_external_memory_rdma"};
	float priority = 1;
	VkDeviceQueueCreateInfo queue = {.sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO, .queueCount = 1,
		.pQueuePriorities = &priority};
	VkDeviceCreateInfo info = {.sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO, .pNext = &rdma, .queueCreateInfoCount = 1,
		.pQueueCreateInfos = &queue, .enabledExtensionCount = 1, .ppEnabledExtensionNames = extensions};
	CHECK(vkCreateDevice(physical, &info, NULL, &device) == VK_SUCCESS);
}

static void allocate(void) {
	VK(vkAllocateMemory);
	VK(vkGetMemoryRemoteAddressNV);
	VkExportMemoryAllocateInfo exported = {.sType = VK_STRUCTURE_TYPE_EXPORT_MEMORY_ALLOCATE_INFO, .handleTypes = RDMA};
	VkMemoryAllocateInfo info = {.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO, .pNext = &exported,
		.allocationSize = SIZE, .memoryTypeIndex = type};
	CHECK(vkAllocateMemory(device, &info, NULL, &memory) == VK_SUCCESS);
	VkMemoryGetRemoteAddressInfoNV ask = {.sType = VK_STRUCTURE_TYPE_MEMORY_GET_REMOTE_ADDRESS_INFO_NV, .memory = memory,
		.handleType = RDMA};
	VkRemoteAddressNV address;
	CHECK(vkGetMemoryRemoteAddressNV(device, &ask, &address) == VK_SUCCESS);
	region = (uint64_t)(uintptr_t)address;
}

/* Fills the memory through a queue of the device. */
static void fill(uint32_t value) {
	VK(vkCreateBuffer);
	VK(vkDestroyBuffer);
	VK(vkBindBufferMemory);
	VK(vkCreateCommandPool);
	VK(vkDestroyCommandPool);
	VK(vkAllocateCommandBuffers);
	VK(vkBeginCommandBuffer);
	VK(vkCmdFillBuffer);
	VK(vkEndCommandBuffer);
	VK(vkGetDeviceQueue);
	VK(vkQueueSubmit);
	VK(vkQueueWaitIdle);
	VkExternalMemoryBufferCreateInfo external = {.sType = VK_STRUCTURE_TYPE_EXTERNAL_MEMORY_BUFFER_CREATE_INFO,
		.handleTypes = RDMA};
	VkBufferCreateInfo info = {.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO, .pNext = &external, .size = SIZE,
		.usage = VK_BUFFER_USAGE_TRANSFER_DST_BIT};
	VkBuffer buffer;
	CHECK(vkCreateBuffer(device, &info, NULL, &buffer) == VK_SUCCESS);
	CHECK(vkBindBufferMemory(device, buffer, memory, 0) == VK_SUCCESS);
	VkCommandPoolCreateInfo pool_info = {.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO};
	VkCommandPool pool;
	CHECK(vkCreateCommandPool(device, &pool_info, NULL, &pool) == VK_SUCCESS);
	VkCommandBufferAllocateInfo allocate_info = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
		.commandPool = pool, .commandBufferCount = 1};
	VkCommandBuffer commands;
	CHECK(vkAllocateCommandBuffers(device, &allocate_info, &commands) == VK_SUCCESS);
	VkCommandBufferBeginInfo begin = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO};
	CHECK(vkBeginCommandBuffer(commands, &begin) == VK_SUCCESS);
	vkCmdFillBuffer(commands, buffer, 0, VK_WHOLE_SIZE, value);
	CHECK(vkEndCommandBuffer(commands) == VK_SUCCESS);
	VkQueue queue;
	vkGetDeviceQueue(device, 0, 0, &queue);
	VkSubmitInfo submit = {.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO, .commandBufferCount = 1, .pCommandBuffers = &commands};
	CHECK(vkQueueSubmit(queue, 1, &submit, VK_NULL_HANDLE) == VK_SUCCESS);
	CHECK(vkQueueWaitIdle(queue) == VK_SUCCESS);
	vkDestroyCommandPool(device, pool, NULL);
	vkDestroyBuffer(device, buffer, NULL);
}

/* Calls both libraries in turn, with good pointers and with bad ones. */
static void *both(void *unused) {
	PFN_vkEnumerateInstanceVersion vkEnumerateInstanceVersion =
		(PFN_vkEnumerateInstanceVersion)(void *)get_proc(NULL, "vkEnumerateInstanceVersion");
	VK(vkAllocateMemory);
	VK(vkFreeMemory);
	VkMemoryAllocateInfo info = {.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO, .allocationSize = 4096,
		.memoryTypeIndex = type};
	for (int i = 0; i < ROUNDS; i++) {
		VkDeviceMemory other;
		uint32_t version;
		CHECK(fetch_add(peer, region, 1, NULL) == FARSIDE_SUCCESS);
		CHECK(vkEnumerateInstanceVersion(&version) == VK_SUCCESS);
		CHECK(vkAllocateMemory(device, &info, NULL, &other) == VK_SUCCESS);
		CHECK(peer_read(peer, region, at(0xdead0000), 8) == FARSIDE_LOC_PROT_ERR);
		CHECK(vkAllocateMemory(device, (const VkMemoryAllocateInfo *)at(0xdead0000), NULL, &other) != VK_SUCCESS);
		vkFreeMemory(device, other, NULL);
	}
	return unused;
}

int main(int argc, char **argv) {
	CHECK(argc == 2);
	load_driver();
	load_peers(argv[1]);
	CHECK(peer_open(NULL, &peer) == FARSIDE_SUCCESS);
	allocate();
	fill(0x12345678);
	uint32_t *words = malloc(SIZE);
	CHECK(peer_read(peer, region, words, SIZE) == FARSIDE_SUCCESS);
	for (size_t i = 0; i < SIZE / sizeof *words; i++)
		CHECK(words[i] == 0x12345678);
	memset(words, 0, SIZE);
	struct farside_work work = {.wr_id = 9, .remote_address = region, .local = words, .length = SIZE,
		.opcode = FARSIDE_WRITE, .flags = FARSIDE_SIGNALLED};
	struct farside_completion completion;
	CHECK(post(peer, &work, 1) == FARSIDE_SUCCESS);
	CHECK(poll_completions(peer, &completion, 1, -1) == 1 && completion.status == FARSIDE_SUCCESS &&
		completion.wr_id == 9);

	pthread_t thread[THREADS];
	for (int i = 0; i < THREADS; i++)
		CHECK(pthread_create(&thread[i], NULL, both, NULL) == 0);
	for (int i = 0; i < THREADS; i++)
		CHECK(pthread_join(thread[i], NULL) == 0);
	uint64_t sum;
	CHECK(peer_read(peer, region, &sum, 8) == FARSIDE_SUCCESS);
	CHECK(sum == THREADS * ROUNDS);

	VK(vkFreeMemory);
	VK(vkDestroyDevice);
	VK(vkDestroyInstance);
	vkFreeMemory(device, memory, NULL);
	CHECK(peer_read(peer, region, &sum, 8) == FARSIDE_REM_ACCESS_ERR);
	vkDestroyDevice(device, NULL);
	peer_close(peer);
	vkDestroyInstance(instance, NULL);
	free(words);
	return 0;
}
