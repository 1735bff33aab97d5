// Two peers write to the same bytes, and the second one does not wait for the first.
#include "rdma.h"

int main(void) {
	struct gpu g;
	open_gpu(&g, rdma_extensions);
	uint64_t address;
	struct block b = remote(&g, 4096, &address);
	farside_peer *first = open_peer(address), *second = open_peer(address);
	char x[64], y[64];
	memset(x, 'x', sizeof x);
	memset(y, 'y', sizeof y);
	post(first, FARSIDE_WRITE, address, x, sizeof x, 0);
	CORRECT(await_work(first, 1);)
	post(second, FARSIDE_WRITE, address + 32, y, sizeof y, 0);
	FAULT(await_work(first, 1);)
	await_work(second, 1);
	farside_peer_close(first);
	farside_peer_close(second);
	free_block(&g, &b);
	close_gpu(&g);
	return 0;
}
