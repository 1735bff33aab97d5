/* A debug messenger that is called in a thread of the library sees the signal mask of the application, and hands that
 * to the programs that it starts; one that is called in a thread of the application may call the driver: messenger
 * SHADER */
#include "cycle.h"
#include <pthread.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#define BIT(s) (1ull << ((s) - 1))

static pthread_t loader;
static uint64_t expected;
static int called, calls;
static long thread;

static uint64_t mask(const char *path) {
	char line[256];
	uint64_t m = 0;
	FILE *f = fopen(path, "r");
	CHECK(f);
	while (fgets(line, sizeof line, f))
		sscanf(line, "SigBlk: %lx", &m);
	fclose(f);
	return m;
}

static VkBool32 callback(VkDebugUtilsMessageSeverityFlagBitsEXT severity, VkDebugUtilsMessageTypeFlagsEXT type,
		const VkDebugUtilsMessengerCallbackDataEXT *data, void *user) {
	(void)severity, (void)type, (void)user;
	if (!strcmp(data->pMessage, "from the application")) {
		VkImageFormatProperties properties;
		CHECK(vkGetPhysicalDeviceImageFormatProperties(physical, VK_FORMAT_R8G8B8A8_UNORM, VK_IMAGE_TYPE_2D,
			VK_IMAGE_TILING_LINEAR, VK_IMAGE_USAGE_TRANSFER_SRC_BIT, 0, &properties) == VK_SUCCESS);
		calls++;
	}
	if (!strstr(data->pMessage, "from a shader"))
		return VK_FALSE;
	CHECK(!pthread_equal(pthread_self(), loader));
	uint64_t m = mask("/proc/thread-self/status");
	if (m != expected) {
		printf("in a messenger %#lx is blocked, not %#lx\n", m, expected);
		exit(1);
	}
	/* A child inherits it by exec. */
	char pattern[64];
	snprintf(pattern, sizeof pattern, "SigBlk:\t%016lx", expected);
	int status;
	pid_t child = fork();
	if (child == 0) {
		execlp("grep", "grep", "-q", pattern, "/proc/self/status", (char *)NULL);
		_exit(127);
	}
	CHECK(child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0);
	thread = syscall(SYS_gettid);
	__atomic_store_n(&called, 1, __ATOMIC_SEQ_CST);
	return VK_FALSE;
}

int main(int argc, char **argv) {
	CHECK(argc == 2);
	load_shader(argv[1]);
	loader = pthread_self();
	sigset_t set;
	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	CHECK(pthread_sigmask(SIG_SETMASK, &set, NULL) == 0);
	expected = BIT(SIGUSR1);

	VkDebugUtilsMessengerCreateInfoEXT messenger = {.sType = VK_STRUCTURE_TYPE_DEBUG_UTILS_MESSENGER_CREATE_INFO_EXT,
		.messageSeverity = 0x1111, .messageType = 7, .pfnUserCallback = callback};
	static const char *extension = "VK_EXT_debug_utils";
	VkApplicationInfo app = {.sType = VK_STRUCTURE_TYPE_APPLICATION_INFO, .apiVersion = VK_API_VERSION_1_3};
	VkInstanceCreateInfo info = {.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO, .pApplicationInfo = &app,
		.enabledExtensionCount = 1, .ppEnabledExtensionNames = &extension};
	CHECK(vkCreateInstance(&info, NULL, &instance) == VK_SUCCESS);
	PFN_vkCreateDebugUtilsMessengerEXT create =
		(PFN_vkCreateDebugUtilsMessengerEXT)vkGetInstanceProcAddr(instance, "vkCreateDebugUtilsMessengerEXT");
	VkDebugUtilsMessengerEXT made;
	CHECK(create && create(instance, &messenger, NULL, &made) == VK_SUCCESS);
	uint32_t one = 1;
	CHECK(vkEnumeratePhysicalDevices(instance, &one, &physical) >= 0);
	PFN_vkSubmitDebugUtilsMessageEXT submit_message =
		(PFN_vkSubmitDebugUtilsMessageEXT)vkGetInstanceProcAddr(instance, "vkSubmitDebugUtilsMessageEXT");
	VkDebugUtilsMessengerCallbackDataEXT data = {.sType = VK_STRUCTURE_TYPE_DEBUG_UTILS_MESSENGER_CALLBACK_DATA_EXT,
		.pMessage = "from the application"};
	for (int i = 0; i < 2; i++)
		submit_message(instance, VK_DEBUG_UTILS_MESSAGE_SEVERITY_INFO_BIT_EXT,
			VK_DEBUG_UTILS_MESSAGE_TYPE_GENERAL_BIT_EXT, &data);
	CHECK(calls >= 2);

	struct lane l = {0};
	VkPhysicalDeviceVulkan12Features features = {
		.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES, .timelineSemaphore = VK_TRUE};
	float priority = 1;
	VkDeviceQueueCreateInfo queue = {.sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO, .queueCount = 1,
		.pQueuePriorities = &priority};
	VkDeviceCreateInfo device = {.sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO, .pNext = &features,
		.queueCreateInfoCount = 1, .pQueueCreateInfos = &queue};
	CHECK(vkCreateDevice(physical, &device, NULL, &l.device) == VK_SUCCESS);
	vkGetDeviceQueue(l.device, 0, 0, &l.queue);
	VkPipelineLayoutCreateInfo layout = {.sType = VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO};
	CHECK(vkCreatePipelineLayout(l.device, &layout, NULL, &l.layout) == VK_SUCCESS);
	CHECK(make_pipeline(&l, &l.pipeline) == VK_SUCCESS);
	VkCommandPoolCreateInfo pool = {.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO};
	CHECK(vkCreateCommandPool(l.device, &pool, NULL, &l.pool) == VK_SUCCESS);
	VkCommandBuffer commands;
	VkCommandBufferAllocateInfo buffers = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO, .commandPool = l.pool,
		.level = VK_COMMAND_BUFFER_LEVEL_PRIMARY, .commandBufferCount = 1};
	CHECK(vkAllocateCommandBuffers(l.device, &buffers, &commands) == VK_SUCCESS);
	VkCommandBufferBeginInfo begin = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO};
	CHECK(vkBeginCommandBuffer(commands, &begin) == VK_SUCCESS);
	vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_COMPUTE, l.pipeline);
	vkCmdDispatch(commands, 1, 1, 1);
	CHECK(vkEndCommandBuffer(commands) == VK_SUCCESS);

	/* The submission waits for the host, in the queue's own thread. */
	VkSemaphore timeline;
	VkSemaphoreTypeCreateInfo type = {
		.sType = VK_STRUCTURE_TYPE_SEMAPHORE_TYPE_CREATE_INFO, .semaphoreType = VK_SEMAPHORE_TYPE_TIMELINE};
	VkSemaphoreCreateInfo semaphore = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_CREATE_INFO, .pNext = &type};
	CHECK(vkCreateSemaphore(l.device, &semaphore, NULL, &timeline) == VK_SUCCESS);
	uint64_t from = 1;
	VkPipelineStageFlags all = VK_PIPELINE_STAGE_ALL_COMMANDS_BIT;
	VkTimelineSemaphoreSubmitInfo values = {.sType = VK_STRUCTURE_TYPE_TIMELINE_SEMAPHORE_SUBMIT_INFO,
		.waitSemaphoreValueCount = 1, .pWaitSemaphoreValues = &from};
	VkSubmitInfo submit = {.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO, .pNext = &values, .waitSemaphoreCount = 1,
		.pWaitSemaphores = &timeline, .pWaitDstStageMask = &all, .commandBufferCount = 1, .pCommandBuffers = &commands};
	CHECK(vkQueueSubmit(l.queue, 1, &submit, VK_NULL_HANDLE) == VK_SUCCESS);
	VkSemaphoreSignalInfo signal = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_SIGNAL_INFO, .semaphore = timeline,
		.value = from};
	usleep(50000);
	CHECK(vkSignalSemaphore(l.device, &signal) == VK_SUCCESS);
	CHECK(vkQueueWaitIdle(l.queue) == VK_SUCCESS && __atomic_load_n(&called, __ATOMIC_SEQ_CST));
	CHECK(pthread_sigmask(SIG_SETMASK, NULL, &set) == 0 && sigismember(&set, SIGUSR1) && !sigismember(&set, SIGTERM));

	/* The thread is the library's again. */
	char path[64];
	snprintf(path, sizeof path, "/proc/self/task/%ld/status", thread);
	CHECK(mask(path) & BIT(SIGTERM));
	return 0;
}
