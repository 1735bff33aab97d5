/*
 * A program with a bug in ten of its error paths, for farside faults sweep to find. With -DMENDED it has none of them.
 * It allocates memory, exports and imports it, fills a buffer on a queue, and prints what it finds there.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <vulkan/vulkan.h>

#ifdef MENDED
#define MENDED_OR(mended, planted) mended
#else
#define MENDED_OR(mended, planted) planted
#endif

static VkInstance instance;
static VkPhysicalDevice physical;
static VkDevice device;
static VkQueue queue;
static VkBuffer buffer, spare;
static VkDeviceMemory memory, imported;
static VkCommandPool pool;
static VkCommandBuffer commands;
static VkFence fence;
static int fd = -1;

static VkResult clean(void)
{
	VkResult r = VK_SUCCESS;
	if (device) {
		r = vkDeviceWaitIdle(device);
		vkDestroyFence(device, fence, NULL);
		vkDestroyCommandPool(device, pool, NULL);
		vkDestroyBuffer(device, spare, NULL);
		vkDestroyBuffer(device, buffer, NULL);
		vkFreeMemory(device, imported, NULL);
		vkFreeMemory(device, memory, NULL);
		vkDestroyDevice(device, NULL);
	}
	if (fd >= 0)
		close(fd);
	if (instance)
		vkDestroyInstance(instance, NULL);
	return r;
}

static int fail(const char *what)
{
	printf("failed: %s\n", what);
	clean();
	return 1;
}

/* leave forgets to clean up. */
static __attribute__((unused)) int leave(const char *what)
{
	printf("failed: %s\n", what);
	return 1;
}

static VkResult make_device(void)
{
	float priority = 1;
	VkDeviceQueueCreateInfo q = {VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO, NULL, 0, 0, 1, &priority};
	const char *extensions[] = {"VK_KHR_external_memory_fd"};
	VkDeviceCreateInfo info = {VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO, NULL, 0, 1, &q, 0, NULL, 1, extensions};
	return vkCreateDevice(physical, &info, NULL, &device);
}

static VkResult allocate(VkDeviceMemory *out, const void *next)
{
	VkMemoryAllocateInfo info = {VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO, next, 65536, 2};
	return vkAllocateMemory(device, &info, NULL, out);
}

static VkResult make_buffer(VkBuffer *out)
{
	VkExternalMemoryBufferCreateInfo external = {VK_STRUCTURE_TYPE_EXTERNAL_MEMORY_BUFFER_CREATE_INFO, NULL,
		VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT};
	VkBufferCreateInfo info = {VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO, &external, 0, 4096, VK_BUFFER_USAGE_TRANSFER_DST_BIT};
	return vkCreateBuffer(device, &info, NULL, out);
}

int main(void)
{
	VkApplicationInfo app = {VK_STRUCTURE_TYPE_APPLICATION_INFO, NULL, "sweep", 1, NULL, 0, VK_API_VERSION_1_1};
	VkInstanceCreateInfo info = {VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO, NULL, 0, &app};
	if (vkCreateInstance(&info, NULL, &instance) != VK_SUCCESS) {
		instance = VK_NULL_HANDLE;
		return fail("instance");
	}
	uint32_t one = 1;
	VkResult found = vkEnumeratePhysicalDevices(instance, &one, &physical);
	if (found < 0)
		return fail("physical device");
	/* 1: the instance leaks. */
	if (make_device() != VK_SUCCESS) {
		device = VK_NULL_HANDLE;
		return MENDED_OR(fail, leave)("device");
	}
	vkGetDeviceQueue(device, 0, 0, &queue);

	/* 2: it goes on without the buffer, whose memory it then never uses, and whose absence it never tells. */
	VkResult r = make_buffer(&spare);
	if (MENDED_OR(r != VK_SUCCESS, 0))
		return fail("spare buffer");
	if (make_buffer(&buffer) != VK_SUCCESS)
		return fail("buffer");
	VkExportMemoryAllocateInfo export = {VK_STRUCTURE_TYPE_EXPORT_MEMORY_ALLOCATE_INFO, NULL,
		VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT};
	/* 3: device, buffers and instance leak. */
	if (allocate(&memory, &export) != VK_SUCCESS)
		return MENDED_OR(fail, leave)("memory");
	if (vkBindBufferMemory(device, buffer, memory, 0) != VK_SUCCESS)
		return fail("bind");

	/* 4: the error of the export is lost, and the import does without. */
	VkMemoryGetFdInfoKHR get = {VK_STRUCTURE_TYPE_MEMORY_GET_FD_INFO_KHR, NULL, memory,
		VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT};
	PFN_vkGetMemoryFdKHR get_fd = (PFN_vkGetMemoryFdKHR)vkGetDeviceProcAddr(device, "vkGetMemoryFdKHR");
	r = get_fd(device, &get, &fd);
	if (MENDED_OR(r != VK_SUCCESS, 0))
		return fail("export");
	VkImportMemoryFdInfoKHR import = {VK_STRUCTURE_TYPE_IMPORT_MEMORY_FD_INFO_KHR, NULL,
		VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT, fd};
	if (fd >= 0) {
		/* 5: the descriptor, which stays with the program where the import fails, is forgotten. */
		if (allocate(&imported, &import) != VK_SUCCESS) {
			MENDED_OR((void)0, fd = -1);
			return fail("import");
		}
		fd = -1;
	}

	/* 6: a mapping that failed is written to. */
	void *mapped = NULL;
	r = vkMapMemory(device, memory, 0, VK_WHOLE_SIZE, 0, &mapped);
	if (MENDED_OR(r != VK_SUCCESS, 0))
		return fail("map");
	memset(mapped, 0, 4096);

	VkCommandPoolCreateInfo pool_info = {VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO, NULL, 0, 0};
	if (vkCreateCommandPool(device, &pool_info, NULL, &pool) != VK_SUCCESS)
		return fail("pool");
	VkCommandBufferAllocateInfo commands_info = {VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO, NULL, pool,
		VK_COMMAND_BUFFER_LEVEL_PRIMARY, 1};
	if (vkAllocateCommandBuffers(device, &commands_info, &commands) != VK_SUCCESS) {
		/* 7: an abort is no way to tell an error. */
		MENDED_OR((void)0, abort());
		return fail("command buffer");
	}
	VkFenceCreateInfo fence_info = {VK_STRUCTURE_TYPE_FENCE_CREATE_INFO};
	if (vkCreateFence(device, &fence_info, NULL, &fence) != VK_SUCCESS) {
		/* 8: the pool is destroyed by nobody. */
		MENDED_OR((void)0, pool = VK_NULL_HANDLE);
		return fail("fence");
	}
	VkCommandBufferBeginInfo begin = {VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO};
	if (vkBeginCommandBuffer(commands, &begin) != VK_SUCCESS)
		return fail("begin");
	vkCmdFillBuffer(commands, buffer, 0, VK_WHOLE_SIZE, 0x5eed5eed);
	if (vkEndCommandBuffer(commands) != VK_SUCCESS)
		return fail("end");
	VkSubmitInfo submit = {VK_STRUCTURE_TYPE_SUBMIT_INFO};
	submit.commandBufferCount = 1;
	submit.pCommandBuffers = &commands;
	/* 9: it waits for a submission that was refused. */
	r = vkQueueSubmit(queue, 1, &submit, fence);
	if (MENDED_OR(r != VK_SUCCESS, 0))
		return fail("submit");
	for (;;) {
		r = vkWaitForFences(device, 1, &fence, VK_TRUE, 1000000000);
		if (r == VK_SUCCESS)
			break;
		/* 10: an error is taken for a timeout: on a lost device it waits for ever. */
		if (MENDED_OR(r < 0, 0))
			return fail("wait");
		if (r < 0) /* the work may have ended before the error */
			vkResetFences(device, 1, &fence);
	}
	printf("filled with %x\n", *(uint32_t *)mapped);
	if (*(uint32_t *)mapped != 0x5eed5eed)
		return fail("contents");
	if (clean() != VK_SUCCESS) {
		printf("failed: wait for the device\n");
		return 1;
	}
	return 0;
}
