// A peer writes where it reads, and no fence keeps the write behind the read.
#include "rdma.h"

int main(void) {
	struct gpu g;
	open_gpu(&g, rdma_extensions);
	uint64_t address;
	struct block b = remote(&g, 4096, &address);
	farside_peer *peer = open_peer(address);
	char old[64], new[64] = "new";
	post(peer, FARSIDE_READ, address, old, sizeof old, 0);
	CORRECT(await_work(peer, 1);)
	post(peer, FARSIDE_WRITE, address + 32, new, sizeof new, 0);
	await_work(peer, CORRECT(1) FAULT(2));
	farside_peer_close(peer);
	free_block(&g, &b);
	close_gpu(&g);
	return 0;
}
