// A peer counts in a word that is not aligned, and does not look at the status.
#include "rdma.h"

int main(void) {
	struct gpu g;
	open_gpu(&g, rdma_extensions);
	uint64_t address;
	struct block b = remote(&g, 4096, &address);
	farside_peer *peer = open_peer(address);
	(void)farside_fetch_add64(peer, address + CORRECT(8) FAULT(4), 1, NULL);
	farside_peer_close(peer);
	free_block(&g, &b);
	close_gpu(&g);
	return 0;
}
