// A copy reads what a fill of the same command buffer writes.
#include "async.h"

int main(void) {
	struct gpu g;
	open_gpu(&g, NULL);
	struct block a = plain(&g, 4096);
	struct block b = plain(&g, 4096);
	begin(&g);
	vkCmdFillBuffer(g.commands, a.buffer, 0, 4096, 1);
	CORRECT(order(g.commands);)
	copy_bytes(g.commands, a.buffer, b.buffer, 0, 4096);
	submit(g.queue, g.commands, NULL, NULL, NULL);
	CHECK(vkDeviceWaitIdle(g.device));
	free_block(&g, &a);
	free_block(&g, &b);
	close_gpu(&g);
	return 0;
}
