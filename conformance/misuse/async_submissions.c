// Two submissions to one queue, the second of which reads what the first writes.
#include "async.h"

int main(void) {
	struct gpu g;
	open_gpu(&g, NULL);
	struct block a = plain(&g, 4096);
	struct block b = plain(&g, 4096);
	VkCommandBuffer second = more_commands(&g);
	begin(&g);
	vkCmdFillBuffer(g.commands, a.buffer, 0, 4096, 1);
	submit(g.queue, g.commands, NULL, NULL, NULL);
	begin_commands(second);
	CORRECT(order(second);)
	copy_bytes(second, a.buffer, b.buffer, 0, 4096);
	submit(g.queue, second, NULL, NULL, NULL);
	CHECK(vkDeviceWaitIdle(g.device));
	free_block(&g, &a);
	free_block(&g, &b);
	close_gpu(&g);
	return 0;
}
