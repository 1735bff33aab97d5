// A peer uses what it reads before it knows that the read has ended.
#include "rdma.h"

int main(void) {
	struct gpu g;
	open_gpu(&g, rdma_extensions);
	uint64_t address, got = 0;
	struct block b = remote(&g, 4096, &address);
	fill(&g, b.buffer, 0, 4096, 0x01020304);
	farside_peer *peer = open_peer(address);
	post(peer, FARSIDE_READ, address, &got, sizeof got, 0);
	CORRECT(await_work(peer, 1);)
	uint64_t used = *(volatile uint64_t *)&got;
	FAULT(await_work(peer, 1);)
	farside_peer_close(peer);
	free_block(&g, &b);
	close_gpu(&g);
	return used == 0x0102030401020304 ? 0 : WRONG;
}
