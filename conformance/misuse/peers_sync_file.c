// A process gets a sync file with the memory, and closes it in place of waiting for it.
#include "peers.h"

enum { large = 32 << 20 };

static void first(struct peer *p) {
	struct block b = share_block(p);
	struct block slow = plain(&p->g, large);
	VkSemaphore done = exporting(p, SEMAPHORE_SYNC, NULL);
	VkCommandBuffer c = more_commands(&p->g);
	begin_commands(c);
	for (int i = 0; i < 40; i++) {
		vkCmdFillBuffer(c, slow.buffer, 0, large, i);
		order(c);
	}
	vkCmdFillBuffer(c, b.buffer, 0, 4096, 1);
	submit(p->g.queue, c, NULL, done, NULL);
	send_fd(p, semaphore_fd(p, done, SEMAPHORE_SYNC));
	finish_peer(p, &b);
	free_block(&p->g, &slow);
	drop_semaphore(p, done);
}

static void second(struct peer *p) {
	struct block b = import_block(p);
	int fd = receive_fd(p);
	VkSemaphore done = CORRECT(importing(p, fd, SEMAPHORE_SYNC, NULL)) FAULT((close(fd), NULL));
	read_block(p, &b, done, NULL, NULL);
	finish_peer(p, &b);
	drop_semaphore(p, done);
}

int main(void) { return two(first, second); }
