// A process writes to memory that another one has released, and acquires it then.
#include "owners.h"

static void first(struct peer *p) {
	struct block b = share_block(p);
	VkCommandBuffer c = start(p);
	vkCmdFillBuffer(c, b.buffer, 0, 4096, 1);
	release(c, &b);
	run(p, c);
	tell(p);
	finish_peer(p, &b);
}

static void second(struct peer *p) {
	struct block b = import_block(p);
	hear(p);
	VkCommandBuffer c = start(p);
	FAULT(vkCmdFillBuffer(c, b.buffer, 0, 64, 2);)
	acquire(c, &b);
	CORRECT(vkCmdFillBuffer(c, b.buffer, 0, 64, 2);)
	order(c);
	copy_bytes(c, b.buffer, p->other, 0, 4096);
	run(p, c);
	finish_peer(p, &b);
}

int main(void) { return two(first, second); }
