// The host copies to an image that a queue still reads.
#include "hostcopy.h"

int main(void) {
	struct gpu g;
	open_gpu(&g, host_copy);
	static uint32_t texels[SIDE * SIDE];
	struct picture picture = make_picture(&g);
	struct block to = plain(&g, sizeof texels);
	VkFence done = make_fence(&g);
	upload(&g, &picture, texels);
	begin(&g);
	VkBufferImageCopy all = {.imageSubresource = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 0, 1}, .imageExtent = {SIDE, SIDE, 1}};
	vkCmdCopyImageToBuffer(g.commands, picture.image, VK_IMAGE_LAYOUT_GENERAL, to.buffer, 1, &all);
	submit(g.queue, g.commands, NULL, NULL, done);
	CORRECT(wait_fence(&g, done);)
	memset(texels, 1, sizeof texels);
	upload(&g, &picture, texels);
	CHECK(vkDeviceWaitIdle(g.device));
	vkDestroyFence(g.device, done, NULL);
	free_block(&g, &to);
	drop_picture(&g, &picture);
	close_gpu(&g);
	return 0;
}
