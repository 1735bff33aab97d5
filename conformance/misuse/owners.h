// What the programs share in which one instance hands memory over to another one, by barriers and by fences.
#ifndef EXTENSIONS
#define EXTENSIONS VK_KHR_EXTERNAL_MEMORY_FD_EXTENSION_NAME
#endif
#include "peers.h"

#define EXTERNAL VK_QUEUE_FAMILY_EXTERNAL

// transfer hands a range of a buffer over, from one queue family to another.
static inline void transfer(VkCommandBuffer c, VkBuffer b, uint32_t from, uint32_t to, VkDeviceSize offset,
	VkDeviceSize size) {
	VkBufferMemoryBarrier m = {.sType = VK_STRUCTURE_TYPE_BUFFER_MEMORY_BARRIER,
		.srcAccessMask = VK_ACCESS_MEMORY_WRITE_BIT, .dstAccessMask = VK_ACCESS_MEMORY_READ_BIT | VK_ACCESS_MEMORY_WRITE_BIT,
		.srcQueueFamilyIndex = from, .dstQueueFamilyIndex = to, .buffer = b, .offset = offset, .size = size};
	vkCmdPipelineBarrier(c, VK_PIPELINE_STAGE_ALL_COMMANDS_BIT, VK_PIPELINE_STAGE_ALL_COMMANDS_BIT, 0, 0, NULL, 1, &m, 0,
		NULL);
}

static inline void release(VkCommandBuffer c, struct block *b) {
	transfer(c, b->buffer, 0, EXTERNAL, 0, VK_WHOLE_SIZE);
}

static inline void acquire(VkCommandBuffer c, struct block *b) {
	transfer(c, b->buffer, EXTERNAL, 0, 0, VK_WHOLE_SIZE);
}

// start begins a command buffer.
static inline VkCommandBuffer start(struct peer *p) {
	VkCommandBuffer c = more_commands(&p->g);
	begin_commands(c);
	return c;
}

// run submits a command buffer and waits for it.
static inline void run(struct peer *p, VkCommandBuffer c) {
	VkFence done = make_fence(&p->g);
	submit(p->g.queue, c, NULL, NULL, done);
	wait_fence(&p->g, done);
	vkDestroyFence(p->g.device, done, NULL);
}

// An image of 16 x 16 texels, and its memory.
struct picture {
	VkImage image;
	VkDeviceMemory memory;
	VkDeviceSize size;
	uint32_t type;
};

static inline struct picture make_picture(struct peer *p) {
	VkExternalMemoryImageCreateInfo types = {.sType = VK_STRUCTURE_TYPE_EXTERNAL_MEMORY_IMAGE_CREATE_INFO,
		.handleTypes = OPAQUE_FD};
	VkImageCreateInfo info = {.sType = VK_STRUCTURE_TYPE_IMAGE_CREATE_INFO, .pNext = &types,
		.imageType = VK_IMAGE_TYPE_2D, .format = VK_FORMAT_R8G8B8A8_UNORM, .extent = {16, 16, 1}, .mipLevels = 1,
		.arrayLayers = 1, .samples = 1, .usage = VK_IMAGE_USAGE_TRANSFER_SRC_BIT | VK_IMAGE_USAGE_TRANSFER_DST_BIT};
	struct picture picture = {0};
	CHECK(vkCreateImage(p->g.device, &info, NULL, &picture.image));
	VkMemoryRequirements r;
	vkGetImageMemoryRequirements(p->g.device, picture.image, &r);
	picture.size = r.size;
	picture.type = find_type(&p->g, r.memoryTypeBits, 0, 0);
	return picture;
}

// share_picture makes an image that the other process gets by import_picture.
static inline struct picture share_picture(struct peer *p) {
	struct picture picture = make_picture(p);
	VkMemoryDedicatedAllocateInfo alone = {.sType = VK_STRUCTURE_TYPE_MEMORY_DEDICATED_ALLOCATE_INFO,
		.image = picture.image};
	VkExportMemoryAllocateInfo types = {.sType = VK_STRUCTURE_TYPE_EXPORT_MEMORY_ALLOCATE_INFO, .pNext = &alone,
		.handleTypes = OPAQUE_FD};
	picture.memory = allocate(&p->g, picture.size, picture.type, &types);
	CHECK(vkBindImageMemory(p->g.device, picture.image, picture.memory, 0));
	send_fd(p, export_memory(&p->g, picture.memory));
	return picture;
}

static inline struct picture import_picture(struct peer *p) {
	struct picture picture = make_picture(p);
	VkMemoryDedicatedAllocateInfo alone = {.sType = VK_STRUCTURE_TYPE_MEMORY_DEDICATED_ALLOCATE_INFO,
		.image = picture.image};
	VkImportMemoryFdInfoKHR from = {.sType = VK_STRUCTURE_TYPE_IMPORT_MEMORY_FD_INFO_KHR, .pNext = &alone,
		.handleType = OPAQUE_FD, .fd = receive_fd(p)};
	picture.memory = allocate(&p->g, picture.size, picture.type, &from);
	CHECK(vkBindImageMemory(p->g.device, picture.image, picture.memory, 0));
	return picture;
}

static inline void finish_picture(struct peer *p, struct picture *picture) {
	tell(p);
	hear(p);
	CHECK(vkDeviceWaitIdle(p->g.device));
	vkDestroyImage(p->g.device, picture->image, NULL);
	vkFreeMemory(p->g.device, picture->memory, NULL);
}

// transition is a barrier for an image, with queue families.
static inline void transition(VkCommandBuffer c, VkImage image, VkImageLayout old, VkImageLayout new, uint32_t from,
	uint32_t to) {
	VkImageMemoryBarrier m = {.sType = VK_STRUCTURE_TYPE_IMAGE_MEMORY_BARRIER,
		.srcAccessMask = VK_ACCESS_MEMORY_WRITE_BIT, .dstAccessMask = VK_ACCESS_MEMORY_READ_BIT | VK_ACCESS_MEMORY_WRITE_BIT,
		.oldLayout = old, .newLayout = new, .srcQueueFamilyIndex = from, .dstQueueFamilyIndex = to, .image = image,
		.subresourceRange = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 1, 0, 1}};
	vkCmdPipelineBarrier(c, VK_PIPELINE_STAGE_ALL_COMMANDS_BIT, VK_PIPELINE_STAGE_ALL_COMMANDS_BIT, 0, 0, NULL, 0, NULL, 1,
		&m);
}

#define UNDEFINED VK_IMAGE_LAYOUT_UNDEFINED
#define SOURCE VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL
#define TARGET VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL
#define GENERAL VK_IMAGE_LAYOUT_GENERAL

// paint clears an image, in the layout TARGET.
static inline void paint(VkCommandBuffer c, struct picture *picture) {
	VkImageSubresourceRange all = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 1, 0, 1};
	VkClearColorValue color = {.float32 = {1, 0, 1, 0}};
	transition(c, picture->image, UNDEFINED, TARGET, VK_QUEUE_FAMILY_IGNORED, VK_QUEUE_FAMILY_IGNORED);
	vkCmdClearColorImage(c, picture->image, TARGET, &color, 1, &all);
}

// look copies an image to memory of the process' own.
static inline void look(struct peer *p, VkCommandBuffer c, struct picture *picture, VkImageLayout layout) {
	VkBufferImageCopy all = {.imageSubresource = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 0, 1}, .imageExtent = {16, 16, 1}};
	vkCmdCopyImageToBuffer(c, picture->image, layout, p->other, 1, &all);
}
