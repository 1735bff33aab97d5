// A peer reads beyond the end of the memory, and does not look at the status.
#include "rdma.h"

int main(void) {
	struct gpu g;
	open_gpu(&g, rdma_extensions);
	uint64_t address;
	struct block b = remote(&g, 4096, &address);
	farside_peer *peer = open_peer(address);
	char data[64];
	(void)farside_read(peer, address + b.size - CORRECT(64) FAULT(63), data, sizeof data);
	farside_peer_close(peer);
	free_block(&g, &b);
	close_gpu(&g);
	return 0;
}
