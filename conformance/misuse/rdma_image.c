// A queue reads an image that a peer writes, and the peer has not waited for the end of its write.
#include "rdma.h"

int main(void) {
	struct gpu g;
	open_gpu(&g, rdma_extensions);
	VkExternalMemoryImageCreateInfo external = {.sType = VK_STRUCTURE_TYPE_EXTERNAL_MEMORY_IMAGE_CREATE_INFO,
		.handleTypes = REMOTE_ADDRESS};
	VkImageCreateInfo info = {.sType = VK_STRUCTURE_TYPE_IMAGE_CREATE_INFO, .pNext = &external,
		.imageType = VK_IMAGE_TYPE_2D, .format = VK_FORMAT_R8G8B8A8_UNORM, .extent = {16, 16, 1}, .mipLevels = 1,
		.arrayLayers = 1, .samples = 1, .tiling = VK_IMAGE_TILING_LINEAR, .usage = VK_IMAGE_USAGE_TRANSFER_SRC_BIT};
	VkImage image;
	CHECK(vkCreateImage(g.device, &info, NULL, &image));
	VkMemoryRequirements r;
	vkGetImageMemoryRequirements(g.device, image, &r);
	VkExportMemoryAllocateInfo export = {.sType = VK_STRUCTURE_TYPE_EXPORT_MEMORY_ALLOCATE_INFO,
		.handleTypes = REMOTE_ADDRESS};
	VkDeviceMemory memory = allocate(&g, r.size,
		find_type(&g, r.memoryTypeBits, VK_MEMORY_PROPERTY_RDMA_CAPABLE_BIT_NV, 0), &export);
	CHECK(vkBindImageMemory(g.device, image, memory, 0));
	uint64_t address = remote_address(&g, memory);
	struct block host = plain(&g, 1024);
	farside_peer *peer = open_peer(address);
	begin(&g);
	VkImageMemoryBarrier general = {.sType = VK_STRUCTURE_TYPE_IMAGE_MEMORY_BARRIER,
		.dstAccessMask = VK_ACCESS_TRANSFER_READ_BIT, .newLayout = VK_IMAGE_LAYOUT_GENERAL,
		.srcQueueFamilyIndex = VK_QUEUE_FAMILY_IGNORED, .dstQueueFamilyIndex = VK_QUEUE_FAMILY_IGNORED, .image = image,
		.subresourceRange = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 1, 0, 1}};
	vkCmdPipelineBarrier(g.commands, VK_PIPELINE_STAGE_TOP_OF_PIPE_BIT, VK_PIPELINE_STAGE_TRANSFER_BIT, 0, 0, NULL, 0,
		NULL, 1, &general);
	finish(&g);
	char data[64];
	memset(data, 'x', sizeof data);
	post(peer, FARSIDE_WRITE, address, data, sizeof data, 0);
	CORRECT(await_work(peer, 1);)
	begin(&g);
	VkBufferImageCopy all = {.imageSubresource = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 0, 1}, .imageExtent = {16, 16, 1}};
	vkCmdCopyImageToBuffer(g.commands, image, VK_IMAGE_LAYOUT_GENERAL, host.buffer, 1, &all);
	finish(&g);
	void *at;
	CHECK(vkMapMemory(g.device, host.memory, 0, 1024, 0, &at));
	CORRECT(if (memcmp(at, data, sizeof data)) return WRONG;)
	FAULT(await_work(peer, 1);)
	farside_peer_close(peer);
	vkDestroyImage(g.device, image, NULL);
	vkFreeMemory(g.device, memory, NULL);
	free_block(&g, &host);
	close_gpu(&g);
	return 0;
}
