// Two queues write to halves of a buffer, and those overlap.
#include "async.h"

int main(void) {
	struct gpu g;
	open_gpu(&g, NULL);
	struct block a = plain(&g, 4096);
	VkCommandBuffer second = more_commands(&g);
	begin(&g);
	vkCmdFillBuffer(g.commands, a.buffer, 0, 2048, 1);
	submit(g.queue, g.commands, NULL, NULL, NULL);
	begin_commands(second);
	vkCmdFillBuffer(second, a.buffer, CORRECT(2048) FAULT(2044), 2048, 2);
	submit(g.second, second, NULL, NULL, NULL);
	CHECK(vkDeviceWaitIdle(g.device));
	free_block(&g, &a);
	close_gpu(&g);
	return 0;
}
