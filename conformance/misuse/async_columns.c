// Two uploads to the left and the right of an image run at the same time, and those overlap.
#include "async.h"

enum { width = 16, height = 700, size = width * height * 4 };

int main(void) {
	struct gpu g;
	open_gpu(&g, NULL);
	struct block left = plain(&g, size), right = plain(&g, size);
	memset(map(&g, left.memory), 7, size);
	memset(map(&g, right.memory), 9, size);
	VkImageCreateInfo info = {.sType = VK_STRUCTURE_TYPE_IMAGE_CREATE_INFO, .imageType = VK_IMAGE_TYPE_2D,
		.format = VK_FORMAT_R8G8B8A8_UNORM, .extent = {width, height, 1}, .mipLevels = 1, .arrayLayers = 1, .samples = 1,
		.usage = VK_IMAGE_USAGE_TRANSFER_DST_BIT};
	VkImage image;
	CHECK(vkCreateImage(g.device, &info, NULL, &image));
	VkMemoryRequirements r;
	vkGetImageMemoryRequirements(g.device, image, &r);
	VkDeviceMemory memory = allocate(&g, r.size, find_type(&g, r.memoryTypeBits, 0, VISIBLE), NULL);
	CHECK(vkBindImageMemory(g.device, image, memory, 0));
	begin(&g);
	VkImageMemoryBarrier general = {.sType = VK_STRUCTURE_TYPE_IMAGE_MEMORY_BARRIER,
		.dstAccessMask = VK_ACCESS_TRANSFER_WRITE_BIT, .newLayout = VK_IMAGE_LAYOUT_GENERAL,
		.srcQueueFamilyIndex = VK_QUEUE_FAMILY_IGNORED, .dstQueueFamilyIndex = VK_QUEUE_FAMILY_IGNORED, .image = image,
		.subresourceRange = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 1, 0, 1}};
	vkCmdPipelineBarrier(g.commands, VK_PIPELINE_STAGE_TOP_OF_PIPE_BIT, VK_PIPELINE_STAGE_TRANSFER_BIT, 0, 0, NULL, 0,
		NULL, 1, &general);
	VkBufferImageCopy region = {.imageSubresource = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 0, 1},
		.imageExtent = {CORRECT(8) FAULT(9), height, 1}};
	vkCmdCopyBufferToImage(g.commands, left.buffer, image, VK_IMAGE_LAYOUT_GENERAL, 1, &region);
	region.imageOffset.x = 8;
	region.imageExtent.width = 8;
	vkCmdCopyBufferToImage(g.commands, right.buffer, image, VK_IMAGE_LAYOUT_GENERAL, 1, &region);
	submit(g.queue, g.commands, NULL, NULL, NULL);
	CHECK(vkDeviceWaitIdle(g.device));
	vkDestroyImage(g.device, image, NULL);
	vkFreeMemory(g.device, memory, NULL);
	free_block(&g, &left);
	free_block(&g, &right);
	close_gpu(&g);
	return 0;
}
