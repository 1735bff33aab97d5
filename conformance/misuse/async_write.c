// Two commands write to the same bytes, of which the second begins a word before the end of the first.
#include "async.h"

int main(void) {
	struct gpu g;
	open_gpu(&g, NULL);
	struct block a = plain(&g, 4096);
	begin(&g);
	vkCmdFillBuffer(g.commands, a.buffer, 0, 1024, 1);
	vkCmdFillBuffer(g.commands, a.buffer, FAULT(1020) CORRECT(1024), 1024, 2);
	submit(g.queue, g.commands, NULL, NULL, NULL);
	CHECK(vkDeviceWaitIdle(g.device));
	free_block(&g, &a);
	close_gpu(&g);
	return 0;
}
