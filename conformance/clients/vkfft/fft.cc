// A host program for VkFFT, a library of Fourier transforms that makes its own shaders. It reads jobs from standard input:
// a line "c2c|r2c single|double WIDTH HEIGHT DEPTH" and the numbers, as they lie in memory. To each it answers with the
// spectrum, and with what the inverse transform makes of that. The first device of the loader does the work.
#include <glslang/Include/glslang_c_interface.h>
#include <glslang/Public/resource_limits_c.h>

// VkFFT writes down the compiler's limits by the position of their members in an older glslang. It gets such a structure, and
// the compiler its own defaults.
struct older_resource {
	int numbers[93];
	glslang_limits_t limits;
};

struct older_input {
	glslang_source_t language;
	glslang_stage_t stage;
	glslang_client_t client;
	glslang_target_client_version_t client_version;
	glslang_target_language_t target_language;
	glslang_target_language_version_t target_language_version;
	const char *code;
	int default_version;
	glslang_profile_t default_profile;
	int force_default_version_and_profile;
	int forward_compatible;
	glslang_messages_t messages;
	const older_resource *resource;
};

static glslang_input_t newer(const older_input *i) {
	glslang_input_t n = {};
	n.language = i->language, n.stage = i->stage, n.client = i->client, n.client_version = i->client_version;
	n.target_language = i->target_language, n.target_language_version = i->target_language_version;
	n.code = i->code, n.default_version = i->default_version, n.default_profile = i->default_profile;
	n.force_default_version_and_profile = i->force_default_version_and_profile, n.forward_compatible = i->forward_compatible;
	n.messages = i->messages, n.resource = glslang_default_resource();
	return n;
}

static glslang_shader_t *glslang_shader_create(const older_input *i) {
	glslang_input_t n = newer(i);
	return glslang_shader_create(&n);
}

static int glslang_shader_preprocess(glslang_shader_t *shader, const older_input *i) {
	glslang_input_t n = newer(i);
	return glslang_shader_preprocess(shader, &n);
}

static int glslang_shader_parse(glslang_shader_t *shader, const older_input *i) {
	glslang_input_t n = newer(i);
	return glslang_shader_parse(shader, &n);
}

#define glslang_resource_t older_resource
#define glslang_input_t older_input
#define VKFFT_BACKEND 0
#include <vkFFT.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void check(int ok, const char *what, int64_t result) {
	if (ok)
		return;
	fprintf(stderr, "%s: %lld\n", what, (long long)result);
	exit(1);
}

static void must(VkResult r, const char *what) { check(r == VK_SUCCESS, what, r); }

static struct {
	VkInstance instance;
	VkPhysicalDevice physical;
	VkDevice device;
	VkQueue queue;
	VkCommandPool pool;
	VkFence fence;
	uint32_t memory_type;
} gpu;

static void open_device(void) {
	VkApplicationInfo app = {.sType = VK_STRUCTURE_TYPE_APPLICATION_INFO, .apiVersion = VK_API_VERSION_1_1};
	VkInstanceCreateInfo info = {.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO, .pApplicationInfo = &app};
	must(vkCreateInstance(&info, NULL, &gpu.instance), "vkCreateInstance");
	uint32_t one = 1;
	VkResult r = vkEnumeratePhysicalDevices(gpu.instance, &one, &gpu.physical);
	check((r == VK_SUCCESS || r == VK_INCOMPLETE) && one == 1, "vkEnumeratePhysicalDevices", r);
	VkPhysicalDeviceFeatures have, want = {0};
	vkGetPhysicalDeviceFeatures(gpu.physical, &have);
	want.shaderFloat64 = have.shaderFloat64;
	want.shaderInt64 = have.shaderInt64;
	float priority = 1;
	VkDeviceQueueCreateInfo queue = {.sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO, .queueCount = 1, .pQueuePriorities = &priority};
	VkDeviceCreateInfo device = {.sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO, .queueCreateInfoCount = 1, .pQueueCreateInfos = &queue, .pEnabledFeatures = &want};
	must(vkCreateDevice(gpu.physical, &device, NULL, &gpu.device), "vkCreateDevice");
	vkGetDeviceQueue(gpu.device, 0, 0, &gpu.queue);
	VkCommandPoolCreateInfo pool = {.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO, .flags = VK_COMMAND_POOL_CREATE_RESET_COMMAND_BUFFER_BIT};
	must(vkCreateCommandPool(gpu.device, &pool, NULL, &gpu.pool), "vkCreateCommandPool");
	VkFenceCreateInfo fence = {.sType = VK_STRUCTURE_TYPE_FENCE_CREATE_INFO};
	must(vkCreateFence(gpu.device, &fence, NULL, &gpu.fence), "vkCreateFence");
	VkPhysicalDeviceMemoryProperties memory;
	vkGetPhysicalDeviceMemoryProperties(gpu.physical, &memory);
	VkMemoryPropertyFlags flags = VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
	while ((memory.memoryTypes[gpu.memory_type].propertyFlags & flags) != flags)
		gpu.memory_type++;
}

static void transform(VkFFTApplication *app, VkBuffer *buffer, int inverse) {
	VkCommandBufferAllocateInfo allocate = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO, .commandPool = gpu.pool, .commandBufferCount = 1};
	VkCommandBuffer commands;
	must(vkAllocateCommandBuffers(gpu.device, &allocate, &commands), "vkAllocateCommandBuffers");
	VkCommandBufferBeginInfo begin = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO};
	must(vkBeginCommandBuffer(commands, &begin), "vkBeginCommandBuffer");
	VkFFTLaunchParams launch = {.commandBuffer = &commands, .buffer = buffer};
	VkFFTResult r = VkFFTAppend(app, inverse ? 1 : -1, &launch);
	check(r == VKFFT_SUCCESS, "VkFFTAppend", r);
	must(vkEndCommandBuffer(commands), "vkEndCommandBuffer");
	VkSubmitInfo submit = {.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO, .commandBufferCount = 1, .pCommandBuffers = &commands};
	must(vkQueueSubmit(gpu.queue, 1, &submit, gpu.fence), "vkQueueSubmit");
	must(vkWaitForFences(gpu.device, 1, &gpu.fence, 1, 100000000000ull), "vkWaitForFences");
	must(vkResetFences(gpu.device, 1, &gpu.fence), "vkResetFences");
	vkFreeCommandBuffers(gpu.device, gpu.pool, 1, &commands);
}

int main(void) {
	check(glslang_initialize_process(), "glslang_initialize_process", 0);
	open_device();
	char kind[8], precision[8];
	unsigned long long size[3];
	while (scanf("%7s %7s %llu %llu %llu", kind, precision, &size[0], &size[1], &size[2]) == 5) {
		check(getchar() == '\n', "a job's line", 0);
		int real = !strcmp(kind, "r2c"), wide = !strcmp(precision, "double");
		// The rows of real numbers are as long as those of their spectra.
		uint64_t row = real ? size[0] / 2 + 1 : size[0];
		uint64_t bytes = row * size[1] * size[2] * 2 * (wide ? sizeof(double) : sizeof(float));
		VkBufferCreateInfo info = {.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO, .size = bytes,
			.usage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT | VK_BUFFER_USAGE_TRANSFER_SRC_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT};
		VkBuffer buffer;
		must(vkCreateBuffer(gpu.device, &info, NULL, &buffer), "vkCreateBuffer");
		VkMemoryRequirements need;
		vkGetBufferMemoryRequirements(gpu.device, buffer, &need);
		VkMemoryAllocateInfo allocate = {.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO, .allocationSize = need.size, .memoryTypeIndex = gpu.memory_type};
		VkDeviceMemory memory;
		must(vkAllocateMemory(gpu.device, &allocate, NULL, &memory), "vkAllocateMemory");
		must(vkBindBufferMemory(gpu.device, buffer, memory, 0), "vkBindBufferMemory");
		void *data;
		must(vkMapMemory(gpu.device, memory, 0, VK_WHOLE_SIZE, 0, &data), "vkMapMemory");
		check(fread(data, 1, bytes, stdin) == bytes, "a job's numbers", bytes);

		VkFFTConfiguration c = {.FFTdim = size[2] > 1 ? 3 : size[1] > 1 ? 2 : 1, .size = {size[0], size[1], size[2]},
			.physicalDevice = &gpu.physical, .device = &gpu.device, .queue = &gpu.queue, .commandPool = &gpu.pool, .fence = &gpu.fence,
			.isCompilerInitialized = 1, .bufferSize = &bytes, .buffer = &buffer, .doublePrecision = wide, .performR2C = real, .normalize = 1};
		VkFFTApplication app = {};
		VkFFTResult r = initializeVkFFT(&app, c);
		check(r == VKFFT_SUCCESS, "initializeVkFFT", r);
		for (int inverse = 0; inverse < 2; inverse++) {
			transform(&app, &buffer, inverse);
			check(fwrite(data, 1, bytes, stdout) == bytes, "the answer", bytes);
		}
		fflush(stdout);
		deleteVkFFT(&app);
		vkDestroyBuffer(gpu.device, buffer, NULL);
		vkFreeMemory(gpu.device, memory, NULL);
	}
	vkDestroyFence(gpu.device, gpu.fence, NULL);
	vkDestroyCommandPool(gpu.device, gpu.pool, NULL);
	vkDestroyDevice(gpu.device, NULL);
	vkDestroyInstance(gpu.instance, NULL);
	glslang_finalize_process();
	return 0;
}
