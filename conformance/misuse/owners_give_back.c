// Two processes pass a buffer back and forth. The one that gets it back does not acquire it.
#include "owners.h"

static void first(struct peer *p) {
	struct block b = share_block(p);
	VkCommandBuffer c = start(p);
	vkCmdFillBuffer(c, b.buffer, 0, 4096, 1);
	release(c, &b);
	run(p, c);
	tell(p);
	hear(p);
	c = start(p);
	CORRECT(acquire(c, &b);)
	copy_bytes(c, b.buffer, p->other, 0, 4096);
	run(p, c);
	finish_peer(p, &b);
}

static void second(struct peer *p) {
	struct block b = import_block(p);
	hear(p);
	VkCommandBuffer c = start(p);
	acquire(c, &b);
	copy_bytes(c, b.buffer, p->other, 0, 4096);
	order(c);
	vkCmdFillBuffer(c, b.buffer, 2048, 2048, 2);
	release(c, &b);
	run(p, c);
	tell(p);
	finish_peer(p, &b);
}

int main(void) { return two(first, second); }
