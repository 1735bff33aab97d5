// A layer of an image is read back right after it was uploaded. That another one is uploaded meanwhile is no fault.
#include "async.h"

int main(void) {
	struct gpu g;
	open_gpu(&g, NULL);
	struct block from = plain(&g, 4096), to = plain(&g, 4096);
	memset(map(&g, from.memory), 7, 4096);
	VkImageCreateInfo info = {.sType = VK_STRUCTURE_TYPE_IMAGE_CREATE_INFO, .imageType = VK_IMAGE_TYPE_2D,
		.format = VK_FORMAT_R8G8B8A8_UNORM, .extent = {16, 16, 1}, .mipLevels = 1, .arrayLayers = 2, .samples = 1,
		.usage = VK_IMAGE_USAGE_TRANSFER_SRC_BIT | VK_IMAGE_USAGE_TRANSFER_DST_BIT};
	VkImage image;
	CHECK(vkCreateImage(g.device, &info, NULL, &image));
	VkMemoryRequirements r;
	vkGetImageMemoryRequirements(g.device, image, &r);
	VkDeviceMemory memory = allocate(&g, r.size, find_type(&g, r.memoryTypeBits, 0, VISIBLE), NULL);
	CHECK(vkBindImageMemory(g.device, image, memory, 0));
	begin(&g);
	VkImageMemoryBarrier general = {.sType = VK_STRUCTURE_TYPE_IMAGE_MEMORY_BARRIER,
		.dstAccessMask = VK_ACCESS_TRANSFER_WRITE_BIT | VK_ACCESS_TRANSFER_READ_BIT, .newLayout = VK_IMAGE_LAYOUT_GENERAL,
		.srcQueueFamilyIndex = VK_QUEUE_FAMILY_IGNORED, .dstQueueFamilyIndex = VK_QUEUE_FAMILY_IGNORED, .image = image,
		.subresourceRange = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 1, 0, 2}};
	vkCmdPipelineBarrier(g.commands, VK_PIPELINE_STAGE_TOP_OF_PIPE_BIT, VK_PIPELINE_STAGE_TRANSFER_BIT, 0, 0, NULL, 0,
		NULL, 1, &general);
	VkBufferImageCopy upload = {.imageSubresource = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 0, 1}, .imageExtent = {16, 16, 1}};
	VkBufferImageCopy other = upload;
	other.imageSubresource.baseArrayLayer = 1;
	vkCmdCopyBufferToImage(g.commands, from.buffer, image, VK_IMAGE_LAYOUT_GENERAL, 1, &upload);
	vkCmdCopyBufferToImage(g.commands, from.buffer, image, VK_IMAGE_LAYOUT_GENERAL, 1, &other);
	CORRECT(order(g.commands);)
	vkCmdCopyImageToBuffer(g.commands, image, VK_IMAGE_LAYOUT_GENERAL, to.buffer, 1, &upload);
	submit(g.queue, g.commands, NULL, NULL, NULL);
	CHECK(vkDeviceWaitIdle(g.device));
	vkDestroyImage(g.device, image, NULL);
	vkFreeMemory(g.device, memory, NULL);
	free_block(&g, &from);
	free_block(&g, &to);
	close_gpu(&g);
	return 0;
}
