// A process goes on to read what it has released. It may read what it writes there anew.
#include "owners.h"

static void first(struct peer *p) {
	struct block b = share_block(p);
	VkCommandBuffer c = start(p);
	vkCmdFillBuffer(c, b.buffer, 0, 4096, 1);
	release(c, &b);
	run(p, c);
	c = start(p);
	CORRECT(vkCmdFillBuffer(c, b.buffer, 0, 4096, 2);)
	order(c);
	copy_bytes(c, b.buffer, p->other, 0, 4096);
	run(p, c);
	finish_peer(p, &b);
}

static void second(struct peer *p) {
	struct block b = import_block(p);
	finish_peer(p, &b);
}

int main(void) { return two(first, second); }
