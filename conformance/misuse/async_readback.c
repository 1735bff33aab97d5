// The host asks for bytes that a queue writes, and does not wait for the queue.
#include "async.h"

int main(void) {
	struct gpu g;
	open_gpu(&g, NULL);
	struct block b = visible(&g, 4096);
	const volatile uint32_t *words = map(&g, b.memory);
	VkFence done = make_fence(&g);
	for (int i = 1; i <= 50; i++) {
		begin(&g);
		vkCmdFillBuffer(g.commands, b.buffer, 0, 4096, i);
		barrier(&g);
		submit(g.queue, g.commands, NULL, NULL, done);
		CORRECT(wait_fence(&g, done);)
		invalidate(&g, b.memory, 0, VK_WHOLE_SIZE);
		FAULT(wait_fence(&g, done);)
		CHECK(vkResetFences(g.device, 1, &done));
	}
	invalidate(&g, b.memory, 0, VK_WHOLE_SIZE);
	printf("the first word is %u\n", words[0]);
	vkDestroyFence(g.device, done, NULL);
	vkUnmapMemory(g.device, b.memory);
	free_block(&g, &b);
	close_gpu(&g);
	return 0;
}
