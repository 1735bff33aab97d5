/* One round of every kind of call that an application makes: device, allocation, export, import, map, record, submit,
 * dispatch, waits, remote addresses. Every byte that it moves is checked. cycle() gives the first VkResult that is an
 * error, having destroyed all that it made; bytes that are wrong end the program. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <farside_rdma.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <vulkan/vulkan.h>

#define CHECK(x)                                                       \
	do {                                                           \
		if (!(x)) {                                            \
			printf("%s:%d: " #x "\n", __FILE__, __LINE__); \
			exit(1);                                       \
		}                                                      \
	} while (0)

/* A call that may fail: the cycle ends at out, with what the call gave in r. */
#define TRY(call)                                                                           \
	do {                                                                                \
		r = (call);                                                                 \
		if (r != VK_SUCCESS) {                                                      \
			if (loud)                                                           \
				printf("%s:%d: " #call " gives %d\n", __FILE__, __LINE__, r); \
			goto out;                                                           \
		}                                                                           \
	} while (0)

#define FD VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT
#define RDMA VK_EXTERNAL_MEMORY_HANDLE_TYPE_RDMA_ADDRESS_BIT_NV

static int loud = 1; /* whether errors are printed */
static void (*halfway)(void); /* called while the cycle's memory and descriptors exist */

static VkInstance instance;
static VkPhysicalDevice physical;
static uint32_t visible, remote; /* memory types: mappable, and with remote addresses */
static uint32_t shader[4096], shader_size; /* SPIR-V of fill.comp, in bytes */

static __typeof__(&farside_peer_open) peer_open;
static __typeof__(&farside_peer_close) peer_close;
static __typeof__(&farside_read) peer_read;
static __typeof__(&farside_write) peer_write;
static __typeof__(&farside_fetch_add64) peer_add;

/* The lane of a thread: its device, and what it keeps from one cycle to the next. */
struct lane {
	VkDevice device;
	VkQueue queue;
	VkCommandPool pool;
	VkDescriptorSetLayout set_layout;
	VkPipelineLayout layout;
	VkDescriptorPool descriptors;
	VkPipeline pipeline;
	farside_peer *peer;
	uint32_t round;
	PFN_vkGetMemoryFdKHR get_fd;
	PFN_vkGetMemoryRemoteAddressNV get_address;
	PFN_vkGetSemaphoreFdKHR get_semaphore;
	PFN_vkImportSemaphoreFdKHR import_semaphore;
};

static inline VkResult open_instance(void) {
	VkResult r;
	VkApplicationInfo app = {.sType = VK_STRUCTURE_TYPE_APPLICATION_INFO, .apiVersion = VK_API_VERSION_1_2};
	VkInstanceCreateInfo info = {.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO, .pApplicationInfo = &app};
	TRY(vkCreateInstance(&info, NULL, &instance));
	uint32_t one = 1;
	TRY(vkEnumeratePhysicalDevices(instance, &one, &physical));
	VkPhysicalDeviceMemoryProperties properties;
	vkGetPhysicalDeviceMemoryProperties(physical, &properties);
	visible = remote = UINT32_MAX;
	for (uint32_t i = properties.memoryTypeCount; i-- > 0;) {
		VkMemoryPropertyFlags f = properties.memoryTypes[i].propertyFlags;
		if (f & VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT && f & VK_MEMORY_PROPERTY_HOST_COHERENT_BIT)
			visible = i;
		if (f & VK_MEMORY_PROPERTY_RDMA_CAPABLE_BIT_NV)
			remote = i;
	}
	CHECK(visible != UINT32_MAX && remote != UINT32_MAX);
out:
	return r;
}

static inline void load_shader(const char *path) {
	FILE *f = fopen(path, "rb");
	CHECK(f);
	shader_size = (uint32_t)fread(shader, 1, sizeof shader, f);
	CHECK(shader_size > 0 && shader_size < sizeof shader);
	fclose(f);
}

/* The peers' library, or none. */
static inline void load_peers(const char *path) {
	void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (!library)
		puts(dlerror());
	CHECK(library);
	*(void **)&peer_open = dlsym(library, "farside_peer_open");
	*(void **)&peer_close = dlsym(library, "farside_peer_close");
	*(void **)&peer_read = dlsym(library, "farside_read");
	*(void **)&peer_write = dlsym(library, "farside_write");
	*(void **)&peer_add = dlsym(library, "farside_fetch_add64");
	CHECK(peer_open && peer_close && peer_read && peer_write && peer_add);
}

static inline void close_lane(struct lane *l) {
	if (l->peer)
		peer_close(l->peer);
	if (l->device) {
		vkDestroyPipeline(l->device, l->pipeline, NULL);
		vkDestroyDescriptorPool(l->device, l->descriptors, NULL);
		vkDestroyPipelineLayout(l->device, l->layout, NULL);
		vkDestroyDescriptorSetLayout(l->device, l->set_layout, NULL);
		vkDestroyCommandPool(l->device, l->pool, NULL);
		vkDestroyDevice(l->device, NULL);
	}
	memset(l, 0, sizeof *l);
}

static inline VkResult make_pipeline(struct lane *l, VkPipeline *pipeline) {
	VkResult r;
	VkShaderModule module = VK_NULL_HANDLE;
	VkShaderModuleCreateInfo code = {.sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO, .codeSize = shader_size,
		.pCode = shader};
	TRY(vkCreateShaderModule(l->device, &code, NULL, &module));
	VkComputePipelineCreateInfo info = {.sType = VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO, .layout = l->layout,
		.stage = {.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO, .stage = VK_SHADER_STAGE_COMPUTE_BIT,
			.module = module, .pName = "main"}};
	TRY(vkCreateComputePipelines(l->device, VK_NULL_HANDLE, 1, &info, NULL, pipeline));
out:
	vkDestroyShaderModule(l->device, module, NULL);
	return r;
}

static inline VkResult open_lane(struct lane *l) {
	VkResult r;
	static const char *extensions[] = {"VK_KHR_external_memory_fd", "VK_NV_external_memory_rdma",
		"VK_KHR_external_semaphore_fd"};
	memset(l, 0, sizeof *l);
	VkPhysicalDeviceExternalMemoryRDMAFeaturesNV rdma = {
		.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_EXTERNAL_MEMORY_RDMA_FEATURES_NV, .externalMemoryRDMA = VK_TRUE};
	VkPhysicalDeviceVulkan12Features features = {
		.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES, .pNext = &rdma, .timelineSemaphore = VK_TRUE};
	float priority = 1;
	VkDeviceQueueCreateInfo queue = {.sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO, .queueCount = 1,
		.pQueuePriorities = &priority};
	VkDeviceCreateInfo info = {.sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO, .pNext = &features,
		.queueCreateInfoCount = 1, .pQueueCreateInfos = &queue, .enabledExtensionCount = 3,
		.ppEnabledExtensionNames = extensions};
	TRY(vkCreateDevice(physical, &info, NULL, &l->device));
	vkGetDeviceQueue(l->device, 0, 0, &l->queue);
	l->get_fd = (PFN_vkGetMemoryFdKHR)vkGetDeviceProcAddr(l->device, "vkGetMemoryFdKHR");
	l->get_address = (PFN_vkGetMemoryRemoteAddressNV)vkGetDeviceProcAddr(l->device, "vkGetMemoryRemoteAddressNV");
	l->get_semaphore = (PFN_vkGetSemaphoreFdKHR)vkGetDeviceProcAddr(l->device, "vkGetSemaphoreFdKHR");
	l->import_semaphore = (PFN_vkImportSemaphoreFdKHR)vkGetDeviceProcAddr(l->device, "vkImportSemaphoreFdKHR");
	CHECK(l->queue && l->get_fd && l->get_address && l->get_semaphore && l->import_semaphore);

	VkCommandPoolCreateInfo pool = {.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO};
	TRY(vkCreateCommandPool(l->device, &pool, NULL, &l->pool));
	VkDescriptorSetLayoutBinding bindings[2];
	for (uint32_t i = 0; i < 2; i++)
		bindings[i] = (VkDescriptorSetLayoutBinding){i, VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, 1, VK_SHADER_STAGE_COMPUTE_BIT,
			NULL};
	VkDescriptorSetLayoutCreateInfo set = {
		.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO, .bindingCount = 2, .pBindings = bindings};
	TRY(vkCreateDescriptorSetLayout(l->device, &set, NULL, &l->set_layout));
	VkPipelineLayoutCreateInfo layout = {
		.sType = VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO, .setLayoutCount = 1, .pSetLayouts = &l->set_layout};
	TRY(vkCreatePipelineLayout(l->device, &layout, NULL, &l->layout));
	VkDescriptorPoolSize size = {VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, 2};
	VkDescriptorPoolCreateInfo descriptors = {
		.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO, .maxSets = 1, .poolSizeCount = 1, .pPoolSizes = &size};
	TRY(vkCreateDescriptorPool(l->device, &descriptors, NULL, &l->descriptors));
	TRY(make_pipeline(l, &l->pipeline));
	if (peer_open && peer_open("", &l->peer) != FARSIDE_SUCCESS)
		r = VK_ERROR_UNKNOWN;
out:
	return r;
}

static inline VkResult make_buffer(struct lane *l, VkDeviceSize size, VkDeviceMemory memory, const void *next,
	VkBuffer *buffer) {
	VkResult r;
	VkBufferCreateInfo info = {.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO, .pNext = next, .size = size,
		.usage = VK_BUFFER_USAGE_TRANSFER_SRC_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT | VK_BUFFER_USAGE_STORAGE_BUFFER_BIT};
	TRY(vkCreateBuffer(l->device, &info, NULL, buffer));
	VkMemoryRequirements requirements;
	vkGetBufferMemoryRequirements(l->device, *buffer, &requirements);
	CHECK(requirements.size >= size && requirements.memoryTypeBits);
	TRY(vkBindBufferMemory(l->device, *buffer, memory, 0));
out:
	return r;
}

static inline VkResult allocate(struct lane *l, VkDeviceSize size, uint32_t type, const void *next,
	VkDeviceMemory *memory) {
	VkMemoryAllocateInfo info = {VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO, next, size, type};
	return vkAllocateMemory(l->device, &info, NULL, memory);
}

static inline void holds(const uint32_t *words, uint32_t n, uint32_t first, uint32_t step, const char *what) {
	for (uint32_t i = 0; i < n; i++) {
		if (words[i] != first + i * step) {
			printf("%s: word %u of %u is %#x, not %#x\n", what, i, n, words[i], first + i * step);
			exit(1);
		}
	}
}

/* Fill the shared memory through its import, copy it, compute from the copy, and look at all three. */
static inline VkResult work(struct lane *l, uint32_t bytes, VkBuffer shared, VkBuffer plain, VkBuffer made,
	uint32_t value) {
	VkResult r;
	VkCommandBuffer commands = VK_NULL_HANDLE;
	VkFence fence = VK_NULL_HANDLE;
	VkSemaphore timeline = VK_NULL_HANDLE;
	VkDescriptorSet set = VK_NULL_HANDLE;
	TRY(vkResetDescriptorPool(l->device, l->descriptors, 0));
	VkDescriptorSetAllocateInfo sets = {.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO,
		.descriptorPool = l->descriptors, .descriptorSetCount = 1, .pSetLayouts = &l->set_layout};
	TRY(vkAllocateDescriptorSets(l->device, &sets, &set));
	VkDescriptorBufferInfo infos[2] = {{plain, 0, VK_WHOLE_SIZE}, {made, 0, VK_WHOLE_SIZE}};
	VkWriteDescriptorSet write = {.sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET, .dstSet = set, .descriptorCount = 2,
		.descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, .pBufferInfo = infos};
	vkUpdateDescriptorSets(l->device, 1, &write, 0, NULL);

	VkCommandBufferAllocateInfo buffers = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO, .commandPool = l->pool,
		.level = VK_COMMAND_BUFFER_LEVEL_PRIMARY, .commandBufferCount = 1};
	TRY(vkAllocateCommandBuffers(l->device, &buffers, &commands));
	VkCommandBufferBeginInfo begin = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO};
	TRY(vkBeginCommandBuffer(commands, &begin));
	VkMemoryBarrier barrier = {.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER, .srcAccessMask = VK_ACCESS_MEMORY_WRITE_BIT,
		.dstAccessMask = VK_ACCESS_MEMORY_READ_BIT | VK_ACCESS_MEMORY_WRITE_BIT};
	VkPipelineStageFlags all = VK_PIPELINE_STAGE_ALL_COMMANDS_BIT;
	vkCmdFillBuffer(commands, shared, 0, VK_WHOLE_SIZE, value);
	vkCmdPipelineBarrier(commands, all, all, 0, 1, &barrier, 0, NULL, 0, NULL);
	VkBufferCopy region = {0, 0, bytes};
	vkCmdCopyBuffer(commands, shared, plain, 1, &region);
	vkCmdPipelineBarrier(commands, all, all, 0, 1, &barrier, 0, NULL, 0, NULL);
	vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_COMPUTE, l->pipeline);
	vkCmdBindDescriptorSets(commands, VK_PIPELINE_BIND_POINT_COMPUTE, l->layout, 0, 1, &set, 0, NULL);
	vkCmdDispatch(commands, bytes / 4 / 64, 1, 1);
	TRY(vkEndCommandBuffer(commands));

	VkFenceCreateInfo fences = {.sType = VK_STRUCTURE_TYPE_FENCE_CREATE_INFO};
	TRY(vkCreateFence(l->device, &fences, NULL, &fence));
	VkSemaphoreTypeCreateInfo type = {
		.sType = VK_STRUCTURE_TYPE_SEMAPHORE_TYPE_CREATE_INFO, .semaphoreType = VK_SEMAPHORE_TYPE_TIMELINE};
	VkSemaphoreCreateInfo semaphores = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_CREATE_INFO, .pNext = &type};
	TRY(vkCreateSemaphore(l->device, &semaphores, NULL, &timeline));
	uint64_t from = 1, to = 2;
	VkTimelineSemaphoreSubmitInfo values = {.sType = VK_STRUCTURE_TYPE_TIMELINE_SEMAPHORE_SUBMIT_INFO,
		.waitSemaphoreValueCount = 1, .pWaitSemaphoreValues = &from, .signalSemaphoreValueCount = 1,
		.pSignalSemaphoreValues = &to};
	VkSubmitInfo submit = {.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO, .pNext = &values, .waitSemaphoreCount = 1,
		.pWaitSemaphores = &timeline, .pWaitDstStageMask = &all, .commandBufferCount = 1, .pCommandBuffers = &commands,
		.signalSemaphoreCount = 1, .pSignalSemaphores = &timeline};
	VkSemaphoreSignalInfo signal = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_SIGNAL_INFO, .semaphore = timeline,
		.value = from};
	/* Every other time the submission waits for the host, in the queue's own thread. */
	if (l->round & 1)
		TRY(vkSignalSemaphore(l->device, &signal));
	TRY(vkQueueSubmit(l->queue, 1, &submit, fence));
	if (!(l->round & 1))
		TRY(vkSignalSemaphore(l->device, &signal));
	VkSemaphoreWaitInfo wait = {
		.sType = VK_STRUCTURE_TYPE_SEMAPHORE_WAIT_INFO, .semaphoreCount = 1, .pSemaphores = &timeline, .pValues = &to};
	TRY(vkWaitSemaphores(l->device, &wait, 20000000000));
	TRY(vkWaitForFences(l->device, 1, &fence, VK_TRUE, 20000000000));
out:
	if (r != VK_SUCCESS && timeline) { /* nothing of ours stays in the queue */
		VkSemaphoreSignalInfo free = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_SIGNAL_INFO, .semaphore = timeline, .value = 1};
		vkSignalSemaphore(l->device, &free);
		vkQueueWaitIdle(l->queue);
	}
	vkDestroySemaphore(l->device, timeline, NULL);
	vkDestroyFence(l->device, fence, NULL);
	if (commands)
		vkFreeCommandBuffers(l->device, l->pool, 1, &commands);
	return r;
}

/* Semaphores by descriptor: one is exported and imported, signalled and waited for. */
static inline VkResult semaphores(struct lane *l) {
	VkResult r;
	VkSemaphore a = VK_NULL_HANDLE, b = VK_NULL_HANDLE;
	int fd = -1;
	VkExportSemaphoreCreateInfo export = {.sType = VK_STRUCTURE_TYPE_EXPORT_SEMAPHORE_CREATE_INFO,
		.handleTypes = VK_EXTERNAL_SEMAPHORE_HANDLE_TYPE_OPAQUE_FD_BIT};
	VkSemaphoreCreateInfo info = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_CREATE_INFO, .pNext = &export};
	TRY(vkCreateSemaphore(l->device, &info, NULL, &a));
	info.pNext = NULL;
	TRY(vkCreateSemaphore(l->device, &info, NULL, &b));
	VkSemaphoreGetFdInfoKHR get = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_GET_FD_INFO_KHR, .semaphore = a,
		.handleType = VK_EXTERNAL_SEMAPHORE_HANDLE_TYPE_OPAQUE_FD_BIT};
	TRY(l->get_semaphore(l->device, &get, &fd));
	VkImportSemaphoreFdInfoKHR import = {.sType = VK_STRUCTURE_TYPE_IMPORT_SEMAPHORE_FD_INFO_KHR, .semaphore = b,
		.handleType = VK_EXTERNAL_SEMAPHORE_HANDLE_TYPE_OPAQUE_FD_BIT, .fd = fd};
	TRY(l->import_semaphore(l->device, &import));
	fd = -1;
	VkPipelineStageFlags all = VK_PIPELINE_STAGE_ALL_COMMANDS_BIT;
	VkSubmitInfo signal = {.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO, .signalSemaphoreCount = 1, .pSignalSemaphores = &a};
	VkSubmitInfo wait = {.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO, .waitSemaphoreCount = 1, .pWaitSemaphores = &b,
		.pWaitDstStageMask = &all};
	TRY(vkQueueSubmit(l->queue, 1, &signal, VK_NULL_HANDLE));
	TRY(vkQueueSubmit(l->queue, 1, &wait, VK_NULL_HANDLE));
	TRY(vkQueueWaitIdle(l->queue));
out:
	if (fd >= 0)
		close(fd);
	vkDestroySemaphore(l->device, a, NULL);
	vkDestroySemaphore(l->device, b, NULL);
	return r;
}

/* The peer reads, writes and counts in memory by its remote address. */
static inline VkResult remotely(struct lane *l, VkDeviceMemory memory, uint32_t *mapped, uint32_t bytes,
	uint32_t value) {
	VkResult r;
	VkRemoteAddressNV address = NULL;
	VkMemoryGetRemoteAddressInfoNV info = {VK_STRUCTURE_TYPE_MEMORY_GET_REMOTE_ADDRESS_INFO_NV, NULL, memory, RDMA};
	TRY(l->get_address(l->device, &info, &address));
	if (l->peer) {
		static __thread uint32_t local[4096];
		uint32_t n = bytes < sizeof local ? bytes : sizeof local;
		int status = peer_read(l->peer, (uint64_t)(uintptr_t)address, local, n);
		if (status == FARSIDE_SUCCESS) {
			holds(local, n / 4, value, 0, "read by a peer");
			for (uint32_t i = 0; i < n / 4; i++)
				local[i] = value + 7 * i;
			status = peer_write(l->peer, (uint64_t)(uintptr_t)address, local, n);
		}
		uint64_t old;
		if (status == FARSIDE_SUCCESS) {
			holds(mapped, n / 4, value, 7, "written by a peer");
			status = peer_add(l->peer, (uint64_t)(uintptr_t)address, 1, &old);
		}
		if (status != FARSIDE_SUCCESS) {
			if (loud)
				printf("a peer's call gives %d\n", status);
			r = VK_ERROR_UNKNOWN;
		}
	}
out:
	return r;
}

static inline VkResult cycle(struct lane *l) {
	VkResult r;
	VkDeviceMemory owner = VK_NULL_HANDLE, import = VK_NULL_HANDLE, host = VK_NULL_HANDLE, result = VK_NULL_HANDLE;
	VkBuffer shared = VK_NULL_HANDLE, plain = VK_NULL_HANDLE, made = VK_NULL_HANDLE;
	VkPipeline pipeline = VK_NULL_HANDLE;
	int fd = -1;
	uint32_t bytes = ++l->round % 16 ? 64 << 10 : 4 << 20, value = l->round * 2654435761u;
	uint32_t *words, *mapped = MAP_FAILED; /* the shared memory, as another process would map it */
	VkExportMemoryAllocateInfo export = {VK_STRUCTURE_TYPE_EXPORT_MEMORY_ALLOCATE_INFO, NULL, FD | RDMA};
	TRY(allocate(l, bytes, remote, &export, &owner));
	VkMemoryGetFdInfoKHR get = {VK_STRUCTURE_TYPE_MEMORY_GET_FD_INFO_KHR, NULL, owner, FD};
	TRY(l->get_fd(l->device, &get, &fd));
	mapped = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	CHECK(mapped != MAP_FAILED);
	VkImportMemoryFdInfoKHR from = {VK_STRUCTURE_TYPE_IMPORT_MEMORY_FD_INFO_KHR, NULL, FD, fd};
	TRY(allocate(l, bytes, remote, &from, &import));
	fd = -1;
	TRY(allocate(l, bytes, visible, NULL, &host));
	TRY(allocate(l, bytes, visible, NULL, &result));
	VkExternalMemoryBufferCreateInfo external = {VK_STRUCTURE_TYPE_EXTERNAL_MEMORY_BUFFER_CREATE_INFO, NULL, FD | RDMA};
	TRY(make_buffer(l, bytes, import, &external, &shared));
	TRY(make_buffer(l, bytes, host, NULL, &plain));
	TRY(make_buffer(l, bytes, result, NULL, &made));
	TRY(work(l, bytes, shared, plain, made, value));
	TRY(vkMapMemory(l->device, host, 0, VK_WHOLE_SIZE, 0, (void **)&words));
	holds(words, bytes / 4, value, 0, "copied");
	TRY(vkMapMemory(l->device, result, 0, VK_WHOLE_SIZE, 0, (void **)&words));
	holds(words, bytes / 4, value, 3, "computed");
	holds(mapped, bytes / 4, value, 0, "filled");
	TRY(remotely(l, owner, mapped, bytes, value));
	if (halfway)
		halfway();
	TRY(semaphores(l));
	if (l->round % 8 == 0)
		TRY(make_pipeline(l, &pipeline));
out:
	if (fd >= 0)
		close(fd);
	if (mapped != MAP_FAILED)
		munmap(mapped, bytes);
	vkDestroyPipeline(l->device, pipeline, NULL);
	vkDestroyBuffer(l->device, shared, NULL);
	vkDestroyBuffer(l->device, plain, NULL);
	vkDestroyBuffer(l->device, made, NULL);
	vkFreeMemory(l->device, owner, NULL);
	vkFreeMemory(l->device, import, NULL);
	vkFreeMemory(l->device, host, NULL);
	vkFreeMemory(l->device, result, NULL);
	return r;
}
