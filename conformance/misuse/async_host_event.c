// A queue waits until the host has written its bytes, and the host writes some more after it has said so.
#include "async.h"

int main(void) {
	struct gpu g;
	open_gpu(&g, NULL);
	struct block a = plain(&g, 4096);
	struct block b = plain(&g, 4096);
	unsigned char *bytes = map(&g, a.memory);
	VkFence done = make_fence(&g);
	VkEventCreateInfo info = {.sType = VK_STRUCTURE_TYPE_EVENT_CREATE_INFO};
	VkEvent ready;
	CHECK(vkCreateEvent(g.device, &info, NULL, &ready));
	for (int i = 1; i < 50; i++) {
		begin(&g);
		vkCmdWaitEvents(g.commands, 1, &ready, VK_PIPELINE_STAGE_HOST_BIT, VK_PIPELINE_STAGE_TRANSFER_BIT, 0, NULL, 0, NULL,
			0, NULL);
		copy_bytes(g.commands, a.buffer, b.buffer, 0, 4096);
		submit(g.queue, g.commands, NULL, NULL, done);
		memset(bytes, i, 4096);
		CHECK(vkSetEvent(g.device, ready));
		FAULT(bytes[77] = 200;)
		wait_fence(&g, done);
		CHECK(vkResetFences(g.device, 1, &done));
		CHECK(vkResetEvent(g.device, ready));
	}
	vkDestroyEvent(g.device, ready, NULL);
	vkDestroyFence(g.device, done, NULL);
	CHECK(vkDeviceWaitIdle(g.device));
	free_block(&g, &a);
	free_block(&g, &b);
	close_gpu(&g);
	return 0;
}
