// Memory is freed while a peer's write to it is under way.
#include "rdma.h"

int main(void) {
	struct gpu g;
	open_gpu(&g, rdma_extensions);
	uint64_t address;
	struct block b = remote(&g, 4096, &address);
	farside_peer *peer = open_peer(address);
	char data[4096] = "late";
	post(peer, FARSIDE_WRITE, address, data, sizeof data, 0);
	CORRECT(await_work(peer, 1);)
	free_block(&g, &b);
	FAULT(struct farside_completion c; (void)farside_poll(peer, &c, 1, 10000);)
	farside_peer_close(peer);
	close_gpu(&g);
	return 0;
}
