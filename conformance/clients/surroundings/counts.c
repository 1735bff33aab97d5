/* Counts that are wrong, up to 2^32-1, with arrays of 64 bytes behind which nothing is mapped:
 * counts SHADER
 * Each call fails or does nothing, at once and without much memory, and the device works on. */
#include "cycle.h"
#include <time.h>

static struct lane l;
static uint32_t n; /* the count */
static VkCommandBuffer commands;
static VkBuffer buffer;
static VkImage image;

/* 64 bytes, of zeros or handles, that end where the mapped memory does. */
static void *array(uint64_t handle) {
	const size_t page = 4096;
	static char *area;
	if (!area) {
		area = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		CHECK(area != MAP_FAILED && mprotect(area + page, page, PROT_NONE) == 0);
	}
	uint64_t *p = (uint64_t *)(area + page - 64);
	for (int i = 0; i < 8; i++)
		p[i] = handle;
	return p;
}

#define ARRAY array(0)
static const VkPipelineStageFlags all = VK_PIPELINE_STAGE_ALL_COMMANDS_BIT;

static void wait_fences(void) { vkWaitForFences(l.device, n, ARRAY, VK_TRUE, 0); }
static void reset_fences(void) { vkResetFences(l.device, n, ARRAY); }
static void submits(void) { vkQueueSubmit(l.queue, n, ARRAY, VK_NULL_HANDLE); }

static void submit(void) {
	VkSubmitInfo info = {.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO, .commandBufferCount = n, .pCommandBuffers = ARRAY};
	vkQueueSubmit(l.queue, 1, &info, VK_NULL_HANDLE);
	info = (VkSubmitInfo){.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO, .waitSemaphoreCount = n, .pWaitSemaphores = ARRAY,
		.pWaitDstStageMask = ARRAY};
	vkQueueSubmit(l.queue, 1, &info, VK_NULL_HANDLE);
	info = (VkSubmitInfo){.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO, .signalSemaphoreCount = n, .pSignalSemaphores = ARRAY};
	vkQueueSubmit(l.queue, 1, &info, VK_NULL_HANDLE);
}

static void wait_semaphores(void) {
	VkSemaphoreWaitInfo info = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_WAIT_INFO, .semaphoreCount = n, .pSemaphores = ARRAY,
		.pValues = ARRAY};
	vkWaitSemaphores(l.device, &info, 0);
}

static void updates(void) {
	vkUpdateDescriptorSets(l.device, n, ARRAY, 0, NULL);
	vkUpdateDescriptorSets(l.device, 0, NULL, n, ARRAY);
}

static void allocate_sets(void) {
	VkDescriptorSetAllocateInfo info = {VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO, NULL, l.descriptors, n,
		array((uint64_t)l.set_layout)};
	CHECK(vkAllocateDescriptorSets(l.device, &info, (VkDescriptorSet *)info.pSetLayouts) != VK_SUCCESS);
}

static void free_sets(void) { vkFreeDescriptorSets(l.device, l.descriptors, n, ARRAY); }

static void descriptor_pool(void) {
	VkDescriptorPool pool;
	VkDescriptorPoolCreateInfo info = {VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO, NULL, 0, 1, n, ARRAY};
	CHECK(vkCreateDescriptorPool(l.device, &info, NULL, &pool) != VK_SUCCESS);
}

static void set_layout(void) {
	VkDescriptorSetLayout layout;
	VkDescriptorSetLayoutCreateInfo info = {VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO, NULL, 0, n, ARRAY};
	CHECK(vkCreateDescriptorSetLayout(l.device, &info, NULL, &layout) != VK_SUCCESS);
	VkDescriptorSetLayoutBinding samplers = {0, VK_DESCRIPTOR_TYPE_SAMPLER, n, VK_SHADER_STAGE_COMPUTE_BIT, ARRAY};
	info.bindingCount = 1;
	info.pBindings = &samplers;
	CHECK(vkCreateDescriptorSetLayout(l.device, &info, NULL, &layout) != VK_SUCCESS);
}

static void pipeline_layout(void) {
	VkPipelineLayout layout;
	VkPipelineLayoutCreateInfo info = {VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO, NULL, 0, n,
		array((uint64_t)l.set_layout), 0, NULL};
	CHECK(vkCreatePipelineLayout(l.device, &info, NULL, &layout) != VK_SUCCESS);
	info = (VkPipelineLayoutCreateInfo){VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO, NULL, 0, 0, NULL, n, ARRAY};
	CHECK(vkCreatePipelineLayout(l.device, &info, NULL, &layout) != VK_SUCCESS);
}

static void update_template(void) {
	VkDescriptorUpdateTemplate template;
	VkDescriptorUpdateTemplateCreateInfo info = {.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_UPDATE_TEMPLATE_CREATE_INFO,
		.descriptorUpdateEntryCount = n, .pDescriptorUpdateEntries = ARRAY, .descriptorSetLayout = l.set_layout};
	CHECK(vkCreateDescriptorUpdateTemplate(l.device, &info, NULL, &template) != VK_SUCCESS);
}

static void free_buffers(void) { vkFreeCommandBuffers(l.device, l.pool, n, ARRAY); }

static void allocate_buffers(void) {
	VkCommandBufferAllocateInfo info = {VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO, NULL, l.pool, 0, n};
	CHECK(vkAllocateCommandBuffers(l.device, &info, ARRAY) != VK_SUCCESS);
}

static void barriers(void) {
	vkCmdPipelineBarrier(commands, all, all, 0, n, ARRAY, 0, NULL, 0, NULL);
	vkCmdPipelineBarrier(commands, all, all, 0, 0, NULL, n, ARRAY, 0, NULL);
	vkCmdPipelineBarrier(commands, all, all, 0, 0, NULL, 0, NULL, n, ARRAY);
}

static void events(void) { vkCmdWaitEvents(commands, n, ARRAY, all, all, 0, NULL, 0, NULL, 0, NULL); }
static void copy_buffer(void) { vkCmdCopyBuffer(commands, buffer, buffer, n, ARRAY); }
static void execute(void) { vkCmdExecuteCommands(commands, n, ARRAY); }
static void bind_sets(void) { vkCmdBindDescriptorSets(commands, 1, l.layout, 0, n, ARRAY, 0, NULL); }
static void bind_offsets(void) { vkCmdBindDescriptorSets(commands, 1, l.layout, 0, 1, ARRAY, n, ARRAY); }
static void push_constants(void) { vkCmdPushConstants(commands, l.layout, 32, 0, n & ~3u, ARRAY); }

static void copy_images(void) {
	VkClearColorValue black = {{0}};
	vkCmdCopyBufferToImage(commands, buffer, image, VK_IMAGE_LAYOUT_GENERAL, n, ARRAY);
	vkCmdCopyImageToBuffer(commands, image, VK_IMAGE_LAYOUT_GENERAL, buffer, n, ARRAY);
	vkCmdCopyImage(commands, image, VK_IMAGE_LAYOUT_GENERAL, image, VK_IMAGE_LAYOUT_GENERAL, n, ARRAY);
	vkCmdClearColorImage(commands, image, VK_IMAGE_LAYOUT_GENERAL, &black, n, ARRAY);
}

static void families(void) {
	VkBuffer made;
	VkBufferCreateInfo info = {VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO, NULL, 0, 64, VK_BUFFER_USAGE_TRANSFER_DST_BIT,
		VK_SHARING_MODE_CONCURRENT, n, ARRAY};
	if (vkCreateBuffer(l.device, &info, NULL, &made) == VK_SUCCESS) /* which need not look at the families */
		vkDestroyBuffer(l.device, made, NULL);
}

static void pipelines(void) {
	CHECK(vkCreateComputePipelines(l.device, VK_NULL_HANDLE, n, ARRAY, NULL, ARRAY) != VK_SUCCESS);
}

static void binds(void) {
	CHECK(vkBindBufferMemory2(l.device, n, ARRAY) != VK_SUCCESS);
	CHECK(vkBindImageMemory2(l.device, n, ARRAY) != VK_SUCCESS);
}

static void ranges(void) {
	CHECK(vkFlushMappedMemoryRanges(l.device, n, ARRAY) != VK_SUCCESS);
	CHECK(vkInvalidateMappedMemoryRanges(l.device, n, ARRAY) != VK_SUCCESS);
}

static void devices(void) {
	VkDevice made;
	VkDeviceCreateInfo info = {.sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO, .queueCreateInfoCount = n,
		.pQueueCreateInfos = ARRAY};
	CHECK(vkCreateDevice(physical, &info, NULL, &made) != VK_SUCCESS);
}

#define CALL(f) {#f, f}
static const struct {
	const char *name;
	void (*call)(void);
} calls[] = {CALL(wait_fences), CALL(reset_fences), CALL(submits), CALL(submit), CALL(wait_semaphores), CALL(updates),
	CALL(allocate_sets), CALL(free_sets), CALL(descriptor_pool), CALL(set_layout), CALL(pipeline_layout),
	CALL(update_template), CALL(free_buffers), CALL(allocate_buffers), CALL(barriers), CALL(events), CALL(copy_buffer),
	CALL(execute), CALL(bind_sets), CALL(bind_offsets), CALL(push_constants), CALL(copy_images), CALL(families),
	CALL(pipelines), CALL(binds), CALL(ranges), CALL(devices)};

/* The most memory that the process has had, in KiB. */
static long peak(void) {
	char line[128];
	long kib = 0;
	FILE *f = fopen("/proc/self/status", "r");
	CHECK(f);
	while (fgets(line, sizeof line, f))
		sscanf(line, "VmHWM: %ld", &kib);
	fclose(f);
	return kib;
}

static double now(void) {
	struct timespec t;
	CHECK(clock_gettime(CLOCK_MONOTONIC, &t) == 0);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void open_all(void) {
	CHECK(open_instance() == VK_SUCCESS && open_lane(&l) == VK_SUCCESS);
	VkDeviceMemory memory;
	CHECK(allocate(&l, 1 << 16, visible, NULL, &memory) == VK_SUCCESS);
	CHECK(make_buffer(&l, 1 << 16, memory, NULL, &buffer) == VK_SUCCESS);
	VkImageCreateInfo info = {.sType = VK_STRUCTURE_TYPE_IMAGE_CREATE_INFO, .imageType = VK_IMAGE_TYPE_2D,
		.format = VK_FORMAT_R8G8B8A8_UNORM, .extent = {16, 16, 1}, .mipLevels = 1, .arrayLayers = 1,
		.samples = VK_SAMPLE_COUNT_1_BIT,
		.usage = VK_IMAGE_USAGE_TRANSFER_SRC_BIT | VK_IMAGE_USAGE_TRANSFER_DST_BIT};
	CHECK(vkCreateImage(l.device, &info, NULL, &image) == VK_SUCCESS);
	CHECK(allocate(&l, 1 << 16, visible, NULL, &memory) == VK_SUCCESS);
	CHECK(vkBindImageMemory(l.device, image, memory, 0) == VK_SUCCESS);
}

int main(int argc, char **argv) {
	CHECK(argc == 2);
	load_shader(argv[1]);
	open_all();
	static const uint32_t counts[] = {UINT32_MAX, UINT32_MAX / 2, 1 << 28, 1 << 24};
	int wrong = 0;
	for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
		for (size_t c = 0; c < sizeof counts / sizeof *counts; c++) {
			n = counts[c];
			VkCommandBufferAllocateInfo buffers = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
				.commandPool = l.pool, .commandBufferCount = 1};
			VkCommandBufferBeginInfo begin = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO};
			CHECK(vkAllocateCommandBuffers(l.device, &buffers, &commands) == VK_SUCCESS);
			CHECK(vkBeginCommandBuffer(commands, &begin) == VK_SUCCESS);
			long kib = peak();
			double start = now();
			calls[i].call();
			double seconds = now() - start;
			kib = peak() - kib;
			if (seconds > 2 || kib > 100 << 10) {
				printf("%s with a count of %u: %.1f s and %ld KiB\n", calls[i].name, n, seconds, kib);
				wrong = 1;
			}
			vkFreeCommandBuffers(l.device, l.pool, 1, &commands);
		}
	}
	CHECK(cycle(&l) == VK_SUCCESS);
	return wrong;
}
