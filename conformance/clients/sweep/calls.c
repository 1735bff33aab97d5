/*
 * Makes the same calls again and again and prints what each returns, for tests of faults on command:
 *   calls memory N   allocates and exports memory N times, memory types 0 and 2 in turn
 *   calls queue N    submits a fill and waits for it N times, then makes another device and does so once more
 *   calls named N    allocates memory for buffers that are named "weights 1", "bias 2", "weights 3", …
 *   calls import N   makes a semaphore, exports it and imports it into another, N times
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <vulkan/vulkan.h>

static VkInstance instance;
static VkPhysicalDevice physical;
static VkDevice device;

static VkBool32 VKAPI_CALL told(VkDebugUtilsMessageSeverityFlagBitsEXT severity, VkDebugUtilsMessageTypeFlagsEXT types,
	const VkDebugUtilsMessengerCallbackDataEXT *data, void *user)
{
	(void)severity, (void)user;
	if (data->pMessageIdName && !strcmp(data->pMessageIdName, "FARSIDE-fault"))
		printf("told %s\n", types == VK_DEBUG_UTILS_MESSAGE_TYPE_GENERAL_BIT_EXT ? data->pMessage : "as another type");
	return VK_FALSE;
}

static void make_device(void)
{
	float priority = 1;
	VkDeviceQueueCreateInfo q = {VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO, NULL, 0, 0, 1, &priority};
	const char *extensions[] = {"VK_KHR_external_memory_fd", "VK_KHR_external_semaphore_fd"};
	VkDeviceCreateInfo info = {VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO, NULL, 0, 1, &q, 0, NULL, 2, extensions};
	VkResult r = vkCreateDevice(physical, &info, NULL, &device);
	if (r != VK_SUCCESS) {
		printf("device %d\n", r);
		exit(1);
	}
}

static void memory(int n)
{
	PFN_vkGetMemoryFdKHR get_fd = (PFN_vkGetMemoryFdKHR)vkGetDeviceProcAddr(device, "vkGetMemoryFdKHR");
	for (int i = 0; i < n; i++) {
		VkExportMemoryAllocateInfo export = {VK_STRUCTURE_TYPE_EXPORT_MEMORY_ALLOCATE_INFO, NULL,
			VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT};
		VkMemoryAllocateInfo info = {VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO, &export, 65536, i % 2 ? 2 : 0};
		VkDeviceMemory m = (VkDeviceMemory)1;
		VkResult r = vkAllocateMemory(device, &info, NULL, &m);
		printf("allocate %d%s\n", r, r && m ? " and memory" : "");
		if (r)
			continue;
		int fd = -1;
		VkMemoryGetFdInfoKHR get = {VK_STRUCTURE_TYPE_MEMORY_GET_FD_INFO_KHR, NULL, m,
			VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT};
		r = get_fd(device, &get, &fd);
		printf("export %d%s\n", r, r && fd != -1 ? " and descriptor" : "");
		if (!r)
			close(fd);
		vkFreeMemory(device, m, NULL);
	}
}

static void named(int n)
{
	PFN_vkSetDebugUtilsObjectNameEXT set_name = (PFN_vkSetDebugUtilsObjectNameEXT)vkGetInstanceProcAddr(instance,
		"vkSetDebugUtilsObjectNameEXT");
	for (int i = 1; i <= n; i++) {
		VkBufferCreateInfo buffer_info = {VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO, NULL, 0, 4096,
			VK_BUFFER_USAGE_TRANSFER_DST_BIT};
		VkBuffer buffer;
		vkCreateBuffer(device, &buffer_info, NULL, &buffer);
		char name[32];
		snprintf(name, sizeof name, "%s %d", i % 2 ? "weights" : "bias", i);
		VkDebugUtilsObjectNameInfoEXT name_info = {VK_STRUCTURE_TYPE_DEBUG_UTILS_OBJECT_NAME_INFO_EXT, NULL,
			VK_OBJECT_TYPE_BUFFER, (uint64_t)buffer, name};
		set_name(device, &name_info);
		VkMemoryDedicatedAllocateInfo to = {VK_STRUCTURE_TYPE_MEMORY_DEDICATED_ALLOCATE_INFO, NULL, VK_NULL_HANDLE,
			buffer};
		VkMemoryAllocateInfo info = {VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO, &to, 4096, 2};
		VkDeviceMemory m = VK_NULL_HANDLE;
		printf("allocate %d\n", vkAllocateMemory(device, &info, NULL, &m));
		vkFreeMemory(device, m, NULL);
		vkDestroyBuffer(device, buffer, NULL);
	}
}

static void fill(int n)
{
	VkQueue queue;
	vkGetDeviceQueue(device, 0, 0, &queue);
	VkBufferCreateInfo buffer_info = {VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO, NULL, 0, 4096,
		VK_BUFFER_USAGE_TRANSFER_DST_BIT};
	VkBuffer buffer;
	vkCreateBuffer(device, &buffer_info, NULL, &buffer);
	VkMemoryAllocateInfo info = {VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO, NULL, 4096, 2};
	VkDeviceMemory m;
	vkAllocateMemory(device, &info, NULL, &m);
	vkBindBufferMemory(device, buffer, m, 0);
	uint32_t *mapped;
	vkMapMemory(device, m, 0, VK_WHOLE_SIZE, 0, (void **)&mapped);
	VkCommandPoolCreateInfo pool_info = {VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO, NULL, 0, 0};
	VkCommandPool pool;
	vkCreateCommandPool(device, &pool_info, NULL, &pool);
	VkCommandBufferAllocateInfo commands_info = {VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO, NULL, pool,
		VK_COMMAND_BUFFER_LEVEL_PRIMARY, 1};
	VkCommandBuffer commands;
	vkAllocateCommandBuffers(device, &commands_info, &commands);
	VkFenceCreateInfo fence_info = {VK_STRUCTURE_TYPE_FENCE_CREATE_INFO};
	VkFence fence;
	vkCreateFence(device, &fence_info, NULL, &fence);
	for (int i = 0; i < n; i++) {
		vkResetCommandPool(device, pool, 0);
		VkCommandBufferBeginInfo begin = {VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO};
		vkBeginCommandBuffer(commands, &begin);
		vkCmdFillBuffer(commands, buffer, 0, VK_WHOLE_SIZE, i + 1);
		vkEndCommandBuffer(commands);
		VkSubmitInfo submit = {VK_STRUCTURE_TYPE_SUBMIT_INFO};
		submit.commandBufferCount = 1;
		submit.pCommandBuffers = &commands;
		VkResult s = vkQueueSubmit(queue, 1, &submit, fence);
		VkResult w = vkWaitForFences(device, 1, &fence, VK_TRUE, UINT64_MAX);
		printf("submit %d wait %d status %d idle %d filled %d\n", s, w, vkGetFenceStatus(device, fence),
			vkDeviceWaitIdle(device), (int)*mapped);
		vkResetFences(device, 1, &fence);
	}
	vkDestroyFence(device, fence, NULL);
	vkDestroyCommandPool(device, pool, NULL);
	vkDestroyBuffer(device, buffer, NULL);
	vkFreeMemory(device, m, NULL);
}

static void import(int n)
{
	PFN_vkGetSemaphoreFdKHR get_fd = (PFN_vkGetSemaphoreFdKHR)vkGetDeviceProcAddr(device, "vkGetSemaphoreFdKHR");
	PFN_vkImportSemaphoreFdKHR import_fd =
		(PFN_vkImportSemaphoreFdKHR)vkGetDeviceProcAddr(device, "vkImportSemaphoreFdKHR");
	for (int i = 0; i < n; i++) {
		VkExportSemaphoreCreateInfo export = {VK_STRUCTURE_TYPE_EXPORT_SEMAPHORE_CREATE_INFO, NULL,
			VK_EXTERNAL_SEMAPHORE_HANDLE_TYPE_OPAQUE_FD_BIT};
		VkSemaphoreCreateInfo info = {VK_STRUCTURE_TYPE_SEMAPHORE_CREATE_INFO, &export, 0};
		VkSemaphore from = VK_NULL_HANDLE, to = VK_NULL_HANDLE;
		vkCreateSemaphore(device, &info, NULL, &from);
		info.pNext = NULL;
		vkCreateSemaphore(device, &info, NULL, &to);
		int fd = -1;
		VkSemaphoreGetFdInfoKHR get = {VK_STRUCTURE_TYPE_SEMAPHORE_GET_FD_INFO_KHR, NULL, from,
			VK_EXTERNAL_SEMAPHORE_HANDLE_TYPE_OPAQUE_FD_BIT};
		VkResult r = get_fd(device, &get, &fd);
		VkImportSemaphoreFdInfoKHR what = {VK_STRUCTURE_TYPE_IMPORT_SEMAPHORE_FD_INFO_KHR, NULL, to, 0,
			VK_EXTERNAL_SEMAPHORE_HANDLE_TYPE_OPAQUE_FD_BIT, fd};
		VkResult s = r ? r : import_fd(device, &what);
		printf("export %d import %d", r, s);
		if (!r && s) /* the descriptor is still the program's */
			printf(" close %d", close(fd));
		printf("\n");
		vkDestroySemaphore(device, from, NULL);
		vkDestroySemaphore(device, to, NULL);
	}
}

int main(int argc, char **argv)
{
	if (argc != 3)
		return 2;
	VkDebugUtilsMessengerCreateInfoEXT messenger = {VK_STRUCTURE_TYPE_DEBUG_UTILS_MESSENGER_CREATE_INFO_EXT, NULL, 0,
		VK_DEBUG_UTILS_MESSAGE_SEVERITY_INFO_BIT_EXT, VK_DEBUG_UTILS_MESSAGE_TYPE_GENERAL_BIT_EXT, told};
	const char *extensions[] = {"VK_EXT_debug_utils"};
	VkApplicationInfo app = {VK_STRUCTURE_TYPE_APPLICATION_INFO, NULL, "calls", 1, NULL, 0, VK_API_VERSION_1_1};
	VkInstanceCreateInfo info = {VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO, NULL, 0, &app, 0, NULL, 1, extensions};
	VkResult r = vkCreateInstance(&info, NULL, &instance);
	if (r != VK_SUCCESS) {
		printf("instance %d\n", r);
		return 1;
	}
	PFN_vkCreateDebugUtilsMessengerEXT create = (PFN_vkCreateDebugUtilsMessengerEXT)vkGetInstanceProcAddr(instance,
		"vkCreateDebugUtilsMessengerEXT");
	PFN_vkDestroyDebugUtilsMessengerEXT destroy = (PFN_vkDestroyDebugUtilsMessengerEXT)vkGetInstanceProcAddr(instance,
		"vkDestroyDebugUtilsMessengerEXT");
	VkDebugUtilsMessengerEXT listener;
	create(instance, &messenger, NULL, &listener);
	uint32_t one = 1;
	vkEnumeratePhysicalDevices(instance, &one, &physical);
	make_device();
	int n = atoi(argv[2]);
	if (!strcmp(argv[1], "memory"))
		memory(n);
	if (!strcmp(argv[1], "named"))
		named(n);
	if (!strcmp(argv[1], "import"))
		import(n);
	if (!strcmp(argv[1], "queue")) {
		fill(n);
		vkDestroyDevice(device, NULL);
		make_device();
		fill(1);
	}
	vkDestroyDevice(device, NULL);
	destroy(instance, listener, NULL);
	vkDestroyInstance(instance, NULL);
	return 0;
}
