// The host writes texels that a queue copies into an image.
#include "misuse.h"

int main(void) {
	struct gpu g;
	open_gpu(&g, NULL);
	struct block from = visible(&g, 16 * 16 * 4);
	VkImageCreateInfo info = {.sType = VK_STRUCTURE_TYPE_IMAGE_CREATE_INFO, .imageType = VK_IMAGE_TYPE_2D,
		.format = VK_FORMAT_R8G8B8A8_UNORM, .extent = {16, 16, 1}, .mipLevels = 1, .arrayLayers = 1,
		.samples = VK_SAMPLE_COUNT_1_BIT, .usage = VK_IMAGE_USAGE_TRANSFER_DST_BIT};
	VkImage image;
	CHECK(vkCreateImage(g.device, &info, NULL, &image));
	VkMemoryRequirements r;
	vkGetImageMemoryRequirements(g.device, image, &r);
	VkDeviceMemory m = allocate(&g, r.size, find_type(&g, r.memoryTypeBits, 0, 0), NULL);
	CHECK(vkBindImageMemory(g.device, image, m, 0));
	memset(map(&g, from.memory), 7, 16 * 16 * 4);
	CORRECT(flush(&g, from.memory, 0, VK_WHOLE_SIZE);)
	begin(&g);
	VkImageMemoryBarrier to = {.sType = VK_STRUCTURE_TYPE_IMAGE_MEMORY_BARRIER,
		.dstAccessMask = VK_ACCESS_TRANSFER_WRITE_BIT, .newLayout = VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL, .image = image,
		.srcQueueFamilyIndex = VK_QUEUE_FAMILY_IGNORED, .dstQueueFamilyIndex = VK_QUEUE_FAMILY_IGNORED,
		.subresourceRange = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 1, 0, 1}};
	vkCmdPipelineBarrier(g.commands, VK_PIPELINE_STAGE_TOP_OF_PIPE_BIT, VK_PIPELINE_STAGE_TRANSFER_BIT, 0, 0, NULL, 0,
		NULL, 1, &to);
	VkBufferImageCopy region = {.imageSubresource = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 0, 1}, .imageExtent = {16, 16, 1}};
	vkCmdCopyBufferToImage(g.commands, from.buffer, image, VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL, 1, &region);
	finish(&g);
	vkDestroyImage(g.device, image, NULL);
	vkFreeMemory(g.device, m, NULL);
	free_block(&g, &from);
	close_gpu(&g);
	return 0;
}
