// A queue writes bytes that a peer is reading.
#include "rdma.h"

int main(void) {
	struct gpu g;
	open_gpu(&g, rdma_extensions);
	uint64_t address;
	struct block b = remote(&g, 4096, &address);
	farside_peer *peer = open_peer(address);
	char data[4096];
	post(peer, FARSIDE_READ, address, data, sizeof data, 0);
	CORRECT(await_work(peer, 1);)
	fill(&g, b.buffer, 0, 4096, 7);
	FAULT(await_work(peer, 1);)
	farside_peer_close(peer);
	free_block(&g, &b);
	close_gpu(&g);
	return 0;
}
