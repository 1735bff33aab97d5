// A peer changes local memory that it has posted to be written.
#include "rdma.h"

int main(void) {
	struct gpu g;
	open_gpu(&g, rdma_extensions);
	uint64_t address;
	struct block b = remote(&g, 4096, &address);
	farside_peer *peer = open_peer(address);
	static char data[4096] = "first";
	post(peer, FARSIDE_WRITE, address, data, sizeof data, 0);
	CORRECT(await_work(peer, 1);)
	*(volatile char *)data = 's';
	post(peer, FARSIDE_WRITE, address, data, sizeof data, 0);
	await_work(peer, CORRECT(1) FAULT(2));
	farside_peer_close(peer);
	free_block(&g, &b);
	close_gpu(&g);
	return 0;
}
