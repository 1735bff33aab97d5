// The host writes new bytes to a staging buffer while a queue may still copy the old ones.
#include "async.h"

int main(void) {
	struct gpu g;
	open_gpu(&g, NULL);
	struct block a = plain(&g, 4096);
	struct block b = plain(&g, 4096);
	unsigned char *bytes = map(&g, a.memory);
	VkFence done = make_fence(&g);
	begin(&g);
	copy_bytes(g.commands, a.buffer, b.buffer, 0, 4096);
	CHECK(vkEndCommandBuffer(g.commands));
	for (int i = 0; i < 50; i++) {
		memset(bytes, i, 4096);
		VkSubmitInfo info = {.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO, .commandBufferCount = 1,
			.pCommandBuffers = &g.commands};
		CHECK(vkQueueSubmit(g.queue, 1, &info, done));
		FAULT(bytes[77] = 200;)
		wait_fence(&g, done);
		CHECK(vkResetFences(g.device, 1, &done));
	}
	vkDestroyFence(g.device, done, NULL);
	CHECK(vkDeviceWaitIdle(g.device));
	free_block(&g, &a);
	free_block(&g, &b);
	close_gpu(&g);
	return 0;
}
