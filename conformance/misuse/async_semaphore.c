// Two queues, the second of which reads what the first writes.
#include "async.h"

int main(void) {
	struct gpu g;
	open_gpu(&g, NULL);
	struct block a = plain(&g, 4096);
	struct block b = plain(&g, 4096);
	VkCommandBuffer second = more_commands(&g);
	VkSemaphore done = CORRECT(make_semaphore(&g)) FAULT(NULL);
	begin(&g);
	vkCmdFillBuffer(g.commands, a.buffer, 0, 4096, 1);
	submit(g.queue, g.commands, NULL, done, NULL);
	begin_commands(second);
	copy_bytes(second, a.buffer, b.buffer, 0, 4096);
	submit(g.second, second, done, NULL, NULL);
	CHECK(vkDeviceWaitIdle(g.device));
	vkDestroySemaphore(g.device, done, NULL);
	CHECK(vkDeviceWaitIdle(g.device));
	free_block(&g, &a);
	free_block(&g, &b);
	close_gpu(&g);
	return 0;
}
