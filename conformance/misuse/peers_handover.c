// A process tells the other one by a socket that its memory is ready, and has not waited for its fence.
#define EXTENSIONS VK_KHR_EXTERNAL_MEMORY_FD_EXTENSION_NAME
#include "peers.h"

static void first(struct peer *p) {
	struct block b = share_block(p);
	VkFence done = make_fence(&p->g);
	write_block(p, &b, NULL, NULL, done);
	CORRECT(wait_fence(&p->g, done);)
	tell(p);
	finish_peer(p, &b);
	vkDestroyFence(p->g.device, done, NULL);
}

static void second(struct peer *p) {
	struct block b = import_block(p);
	hear(p);
	read_block(p, &b, NULL, NULL, NULL);
	finish_peer(p, &b);
}

int main(void) { return two(first, second); }
