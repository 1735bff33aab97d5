// A process waits for the fence of the first of two submissions, and hands over what both have written.
#define EXTENSIONS VK_KHR_EXTERNAL_MEMORY_FD_EXTENSION_NAME
#include "peers.h"

static void first(struct peer *p) {
	struct block b = share_block(p);
	VkFence one = make_fence(&p->g), two = make_fence(&p->g);
	VkCommandBuffer halves[] = {more_commands(&p->g), more_commands(&p->g)};
	for (int i = 0; i < 2; i++) {
		begin_commands(halves[i]);
		vkCmdFillBuffer(halves[i], b.buffer, i * 2048, 2048, 1);
		submit(p->g.queue, halves[i], NULL, NULL, i ? two : one);
	}
	wait_fence(&p->g, CORRECT(two) FAULT(one));
	tell(p);
	finish_peer(p, &b);
	vkDestroyFence(p->g.device, one, NULL);
	vkDestroyFence(p->g.device, two, NULL);
}

static void second(struct peer *p) {
	struct block b = import_block(p);
	hear(p);
	read_block(p, &b, NULL, NULL, NULL);
	finish_peer(p, &b);
}

int main(void) { return two(first, second); }
