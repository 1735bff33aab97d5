// A process acquires half of a buffer, and reads all of it.
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
	transfer(c, b.buffer, EXTERNAL, 0, 0, CORRECT(VK_WHOLE_SIZE) FAULT(2048));
	copy_bytes(c, b.buffer, p->other, 0, 4096);
	run(p, c);
	finish_peer(p, &b);
}

int main(void) { return two(first, second); }
