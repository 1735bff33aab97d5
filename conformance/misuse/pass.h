// What the programs with render passes share: an image of one colour and a pass that draws to it.
#include "async.h"

struct target {
	VkImage image;
	VkDeviceMemory memory;
	VkImageView view;
	VkRenderPass pass;
	VkFramebuffer framebuffer;
};

// make_target makes a pass of one subpass that keeps what it finds or clears it, with count dependencies.
static inline struct target make_target(struct gpu *g, VkAttachmentLoadOp load, uint32_t count,
		const VkSubpassDependency *dependencies) {
	struct target t;
	VkImageCreateInfo image = {.sType = VK_STRUCTURE_TYPE_IMAGE_CREATE_INFO, .imageType = VK_IMAGE_TYPE_2D,
		.format = VK_FORMAT_R8G8B8A8_UNORM, .extent = {16, 16, 1}, .mipLevels = 1, .arrayLayers = 1, .samples = 1,
		.usage = VK_IMAGE_USAGE_TRANSFER_SRC_BIT | VK_IMAGE_USAGE_COLOR_ATTACHMENT_BIT};
	CHECK(vkCreateImage(g->device, &image, NULL, &t.image));
	VkMemoryRequirements r;
	vkGetImageMemoryRequirements(g->device, t.image, &r);
	t.memory = allocate(g, r.size, find_type(g, r.memoryTypeBits, 0, VISIBLE), NULL);
	CHECK(vkBindImageMemory(g->device, t.image, t.memory, 0));
	VkImageViewCreateInfo view = {.sType = VK_STRUCTURE_TYPE_IMAGE_VIEW_CREATE_INFO, .image = t.image,
		.viewType = VK_IMAGE_VIEW_TYPE_2D, .format = image.format,
		.subresourceRange = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 1, 0, 1}};
	CHECK(vkCreateImageView(g->device, &view, NULL, &t.view));
	VkAttachmentDescription a = {.format = image.format, .samples = 1, .loadOp = load,
		.storeOp = VK_ATTACHMENT_STORE_OP_STORE, .stencilLoadOp = VK_ATTACHMENT_LOAD_OP_DONT_CARE,
		.stencilStoreOp = VK_ATTACHMENT_STORE_OP_DONT_CARE, .initialLayout = VK_IMAGE_LAYOUT_GENERAL,
		.finalLayout = VK_IMAGE_LAYOUT_GENERAL};
	VkAttachmentReference color = {0, VK_IMAGE_LAYOUT_GENERAL};
	VkSubpassDescription subpass = {.pipelineBindPoint = VK_PIPELINE_BIND_POINT_GRAPHICS, .colorAttachmentCount = 1,
		.pColorAttachments = &color};
	VkRenderPassCreateInfo pass = {.sType = VK_STRUCTURE_TYPE_RENDER_PASS_CREATE_INFO, .attachmentCount = 1,
		.pAttachments = &a, .subpassCount = 1, .pSubpasses = &subpass, .dependencyCount = count,
		.pDependencies = dependencies};
	CHECK(vkCreateRenderPass(g->device, &pass, NULL, &t.pass));
	VkFramebufferCreateInfo f = {.sType = VK_STRUCTURE_TYPE_FRAMEBUFFER_CREATE_INFO, .renderPass = t.pass,
		.attachmentCount = 1, .pAttachments = &t.view, .width = 16, .height = 16, .layers = 1};
	CHECK(vkCreateFramebuffer(g->device, &f, NULL, &t.framebuffer));
	return t;
}

static inline void free_target(struct gpu *g, struct target *t) {
	vkDestroyFramebuffer(g->device, t->framebuffer, NULL);
	vkDestroyRenderPass(g->device, t->pass, NULL);
	vkDestroyImageView(g->device, t->view, NULL);
	vkDestroyImage(g->device, t->image, NULL);
	vkFreeMemory(g->device, t->memory, NULL);
}

// make_general gives the target's image its layout, before all that is recorded later.
static inline void make_general(VkCommandBuffer c, struct target *t) {
	VkImageMemoryBarrier general = {.sType = VK_STRUCTURE_TYPE_IMAGE_MEMORY_BARRIER,
		.dstAccessMask = VK_ACCESS_MEMORY_WRITE_BIT | VK_ACCESS_MEMORY_READ_BIT, .newLayout = VK_IMAGE_LAYOUT_GENERAL,
		.srcQueueFamilyIndex = VK_QUEUE_FAMILY_IGNORED, .dstQueueFamilyIndex = VK_QUEUE_FAMILY_IGNORED, .image = t->image,
		.subresourceRange = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 1, 0, 1}};
	vkCmdPipelineBarrier(c, VK_PIPELINE_STAGE_TOP_OF_PIPE_BIT, VK_PIPELINE_STAGE_ALL_COMMANDS_BIT, 0, 0, NULL, 0, NULL, 1,
		&general);
}

// draw_pass runs the pass, whose clear gives all texels one value, and then clears some texels to another one.
static inline void draw_pass(VkCommandBuffer c, struct target *t, float first, float second) {
	VkClearValue value = {.color = {{first, first, first, first}}};
	VkRenderPassBeginInfo info = {.sType = VK_STRUCTURE_TYPE_RENDER_PASS_BEGIN_INFO, .renderPass = t->pass,
		.framebuffer = t->framebuffer, .renderArea = {{0, 0}, {16, 16}}, .clearValueCount = 1, .pClearValues = &value};
	vkCmdBeginRenderPass(c, &info, VK_SUBPASS_CONTENTS_INLINE);
	VkClearAttachment a = {VK_IMAGE_ASPECT_COLOR_BIT, 0, {.color = {{second, second, second, second}}}};
	VkClearRect rect = {{{4, 4}, {8, 8}}, 0, 1};
	vkCmdClearAttachments(c, 1, &a, 1, &rect);
	vkCmdEndRenderPass(c);
}

static inline void read_back(VkCommandBuffer c, struct target *t, VkBuffer to) {
	VkBufferImageCopy all = {.imageSubresource = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 0, 1}, .imageExtent = {16, 16, 1}};
	vkCmdCopyImageToBuffer(c, t->image, VK_IMAGE_LAYOUT_GENERAL, to, 1, &all);
}
