// A process reads what another one writes, and no semaphore orders them.
#include "peers.h"

static void first(struct peer *p) {
	struct block b = share_block(p);
	VkSemaphore done = share_semaphore(p);
	write_block(p, &b, NULL, done, NULL);
	tell(p);
	finish_peer(p, &b);
	drop_semaphore(p, done);
}

static void second(struct peer *p) {
	struct block b = import_block(p);
	VkSemaphore done = import_semaphore(p);
	hear(p);
	read_block(p, &b, CORRECT(done) FAULT(NULL), NULL, NULL);
	finish_peer(p, &b);
	drop_semaphore(p, done);
}

int main(void) { return two(first, second); }
