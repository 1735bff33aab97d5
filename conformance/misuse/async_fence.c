// The host gives a second queue work that needs the first queue's, and does not wait for that.
#include "async.h"

int main(void) {
	struct gpu g;
	open_gpu(&g, NULL);
	struct block a = plain(&g, 4096);
	struct block b = plain(&g, 4096);
	VkCommandBuffer second = more_commands(&g);
	VkFence done = make_fence(&g);
	begin(&g);
	vkCmdFillBuffer(g.commands, a.buffer, 0, 4096, 1);
	submit(g.queue, g.commands, NULL, NULL, done);
	CORRECT(wait_fence(&g, done);)
	begin_commands(second);
	copy_bytes(second, a.buffer, b.buffer, 0, 4096);
	submit(g.second, second, NULL, NULL, NULL);
	CHECK(vkDeviceWaitIdle(g.device));
	vkDestroyFence(g.device, done, NULL);
	CHECK(vkDeviceWaitIdle(g.device));
	free_block(&g, &a);
	free_block(&g, &b);
	close_gpu(&g);
	return 0;
}
