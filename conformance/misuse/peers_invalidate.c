// The host of a process asks for bytes that a queue of the other one writes, and nobody has waited for that.
#define EXTENSIONS VK_KHR_EXTERNAL_MEMORY_FD_EXTENSION_NAME
#include "peers.h"

enum { large = 32 << 20 };

static void first(struct peer *p) {
	struct block b = share_block(p);
	VkFence done = make_fence(&p->g);
	struct block slow = plain(&p->g, large);
	VkCommandBuffer c = more_commands(&p->g);
	begin_commands(c);
	vkCmdFillBuffer(c, b.buffer, 0, 4096, 1);
	barrier(&(struct gpu){.commands = c});
	for (int i = 0; i < 20; i++) {
		vkCmdFillBuffer(c, slow.buffer, 0, large, i);
		order(c);
	}
	submit(p->g.queue, c, NULL, NULL, done);
	CORRECT(wait_fence(&p->g, done);)
	FAULT(usleep(50000);)
	tell(p);
	finish_peer(p, &b);
	free_block(&p->g, &slow);
	vkDestroyFence(p->g.device, done, NULL);
}

static void second(struct peer *p) {
	struct block b = import_block(p);
	const volatile uint32_t *words = map(&p->g, b.memory);
	hear(p);
	invalidate(&p->g, b.memory, 0, VK_WHOLE_SIZE);
	printf("the first word is %u\n", words[0]);
	vkUnmapMemory(p->g.device, b.memory);
	finish_peer(p, &b);
}

int main(void) { return two(first, second); }
