// A process releases memory to the queue family EXTERNAL, and another one acquires it from FOREIGN.
#define EXTENSIONS VK_KHR_EXTERNAL_MEMORY_FD_EXTENSION_NAME, VK_EXT_QUEUE_FAMILY_FOREIGN_EXTENSION_NAME
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
	transfer(c, b.buffer, CORRECT(EXTERNAL) FAULT(VK_QUEUE_FAMILY_FOREIGN_EXT), 0, 0, VK_WHOLE_SIZE);
	copy_bytes(c, b.buffer, p->other, 0, 4096);
	run(p, c);
	finish_peer(p, &b);
}

int main(void) { return two(first, second); }
