// A process writes its memory anew, and does not wait until the other one has read it.
#include "peers.h"

static void first(struct peer *p) {
	struct block b = share_block(p);
	VkSemaphore written = share_semaphore(p), seen = share_semaphore(p);
	write_block(p, &b, NULL, written, NULL);
	tell(p);
	hear(p);
	write_block(p, &b, CORRECT(seen) FAULT(NULL), NULL, NULL);
	finish_peer(p, &b);
	drop_semaphore(p, written);
	drop_semaphore(p, seen);
}

static void second(struct peer *p) {
	struct block b = import_block(p);
	VkSemaphore written = import_semaphore(p), seen = import_semaphore(p);
	hear(p);
	read_block(p, &b, written, seen, NULL);
	tell(p);
	finish_peer(p, &b);
	drop_semaphore(p, written);
	drop_semaphore(p, seen);
}

int main(void) { return two(first, second); }
