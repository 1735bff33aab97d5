// The other process waits for a semaphore, but for one that is signalled before the work.
#include "peers.h"

static void first(struct peer *p) {
	struct block b = share_block(p);
	VkSemaphore ready = share_semaphore(p), done = share_semaphore(p);
	VkCommandBuffer empty = more_commands(&p->g);
	begin_commands(empty);
	submit(p->g.queue, empty, NULL, ready, NULL);
	write_block(p, &b, NULL, done, NULL);
	tell(p);
	finish_peer(p, &b);
	drop_semaphore(p, ready);
	drop_semaphore(p, done);
}

static void second(struct peer *p) {
	struct block b = import_block(p);
	VkSemaphore ready = import_semaphore(p), done = import_semaphore(p);
	hear(p);
	read_block(p, &b, CORRECT(done) FAULT(ready), NULL, NULL);
	finish_peer(p, &b);
	drop_semaphore(p, ready);
	drop_semaphore(p, done);
}

int main(void) { return two(first, second); }
