// What the programs share in which the host copies from and to images that a queue uses.
#include "async.h"

static const char *const host_copy[] = {VK_KHR_COPY_COMMANDS_2_EXTENSION_NAME,
	VK_KHR_FORMAT_FEATURE_FLAGS_2_EXTENSION_NAME, HOST_IMAGE_COPY, NULL};

#define SIDE 16 // texels
#define HOST_TRANSFER ((VkImageUsageFlags)0x00400000)

// VkMemoryToImageCopy and VkImageToMemoryCopy, which differ in their sType.
struct host_region {
	VkStructureType sType;
	const void *pNext;
	void *host;
	uint32_t row, height;
	VkImageSubresourceLayers layers;
	VkOffset3D offset;
	VkExtent3D extent;
};

// VkCopyMemoryToImageInfo and VkCopyImageToMemoryInfo.
struct host_copy {
	VkStructureType sType;
	const void *pNext;
	VkFlags flags;
	VkImage image;
	VkImageLayout layout;
	uint32_t count;
	const struct host_region *regions;
};

// VkCopyImageToImageInfo.
struct host_image_copy {
	VkStructureType sType;
	const void *pNext;
	VkFlags flags;
	VkImage from;
	VkImageLayout from_layout;
	VkImage to;
	VkImageLayout to_layout;
	uint32_t count;
	const VkImageCopy2 *regions;
};

// An image of SIDE x SIDE texels, and its memory.
struct picture {
	VkImage image;
	VkDeviceMemory memory;
};

static inline struct picture make_picture(struct gpu *g) {
	VkImageCreateInfo info = {.sType = VK_STRUCTURE_TYPE_IMAGE_CREATE_INFO, .imageType = VK_IMAGE_TYPE_2D,
		.format = VK_FORMAT_R8G8B8A8_UNORM, .extent = {SIDE, SIDE, 1}, .mipLevels = 1, .arrayLayers = 1, .samples = 1,
		.usage = VK_IMAGE_USAGE_TRANSFER_SRC_BIT | VK_IMAGE_USAGE_TRANSFER_DST_BIT | HOST_TRANSFER};
	struct picture p;
	CHECK(vkCreateImage(g->device, &info, NULL, &p.image));
	VkMemoryRequirements r;
	vkGetImageMemoryRequirements(g->device, p.image, &r);
	p.memory = allocate(g, r.size, find_type(g, r.memoryTypeBits, 0, 0), NULL);
	CHECK(vkBindImageMemory(g->device, p.image, p.memory, 0));
	begin(g);
	VkImageMemoryBarrier general = {.sType = VK_STRUCTURE_TYPE_IMAGE_MEMORY_BARRIER,
		.dstAccessMask = VK_ACCESS_MEMORY_WRITE_BIT | VK_ACCESS_MEMORY_READ_BIT, .newLayout = VK_IMAGE_LAYOUT_GENERAL,
		.srcQueueFamilyIndex = VK_QUEUE_FAMILY_IGNORED, .dstQueueFamilyIndex = VK_QUEUE_FAMILY_IGNORED, .image = p.image,
		.subresourceRange = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 1, 0, 1}};
	vkCmdPipelineBarrier(g->commands, VK_PIPELINE_STAGE_TOP_OF_PIPE_BIT, VK_PIPELINE_STAGE_ALL_COMMANDS_BIT, 0, 0, NULL, 0,
		NULL, 1, &general);
	finish(g);
	return p;
}

static inline void drop_picture(struct gpu *g, struct picture *p) {
	vkDestroyImage(g->device, p->image, NULL);
	vkFreeMemory(g->device, p->memory, NULL);
}

// upload and readback have the host copy all texels of an image from and to memory.
static inline void upload(struct gpu *g, struct picture *p, void *texels) {
	struct host_region all = {.sType = (VkStructureType)1000270002, .host = texels,
		.layers = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 0, 1}, .extent = {SIDE, SIDE, 1}};
	struct host_copy info = {.sType = (VkStructureType)1000270005, .image = p->image, .layout = VK_IMAGE_LAYOUT_GENERAL,
		.count = 1, .regions = &all};
	CHECK(((VkResult(VKAPI_PTR *)(VkDevice, const void *))command(g, "vkCopyMemoryToImageEXT"))(g->device, &info));
}

static inline void readback(struct gpu *g, struct picture *p, void *texels) {
	struct host_region all = {.sType = (VkStructureType)1000270003, .host = texels,
		.layers = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 0, 1}, .extent = {SIDE, SIDE, 1}};
	struct host_copy info = {.sType = (VkStructureType)1000270004, .image = p->image, .layout = VK_IMAGE_LAYOUT_GENERAL,
		.count = 1, .regions = &all};
	CHECK(((VkResult(VKAPI_PTR *)(VkDevice, const void *))command(g, "vkCopyImageToMemoryEXT"))(g->device, &info));
}

// host_copies has the host copy all texels of an image to another one.
static inline void host_copies(struct gpu *g, struct picture *from, struct picture *to) {
	VkImageSubresourceLayers layers = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 0, 1};
	VkImageCopy2 all = {.sType = VK_STRUCTURE_TYPE_IMAGE_COPY_2, .srcSubresource = layers, .dstSubresource = layers,
		.extent = {SIDE, SIDE, 1}};
	struct host_image_copy info = {.sType = (VkStructureType)1000270007, .from = from->image,
		.from_layout = VK_IMAGE_LAYOUT_GENERAL, .to = to->image, .to_layout = VK_IMAGE_LAYOUT_GENERAL, .count = 1,
		.regions = &all};
	CHECK(((VkResult(VKAPI_PTR *)(VkDevice, const void *))command(g, "vkCopyImageToImageEXT"))(g->device, &info));
}

// paint has the queue clear an image, in a submission that signals a fence.
static inline void paint(struct gpu *g, struct picture *p, VkFence done) {
	VkImageSubresourceRange all = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 1, 0, 1};
	VkClearColorValue color = {.float32 = {1, 0, 1, 0}};
	VkCommandBuffer c = more_commands(g);
	begin_commands(c);
	vkCmdClearColorImage(c, p->image, VK_IMAGE_LAYOUT_GENERAL, &color, 1, &all);
	order(c);
	submit(g->queue, c, NULL, NULL, done);
}
