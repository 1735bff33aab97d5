// A queue reads what a peer writes, and the peer has not waited for the end of its write.
#include "rdma.h"

int main(void) {
	struct gpu g;
	open_gpu(&g, rdma_extensions);
	uint64_t address;
	struct block b = remote(&g, 4096, &address);
	farside_peer *peer = open_peer(address);
	char data[4096];
	memset(data, 'x', sizeof data);
	post(peer, FARSIDE_WRITE, address, data, sizeof data, 0);
	CORRECT(await_work(peer, 1);)
	char *got = read_back(&g, &b, sizeof data);
	CORRECT(if (memcmp(got, data, sizeof data)) return WRONG;)
	FAULT(await_work(peer, 1);)
	free(got);
	farside_peer_close(peer);
	free_block(&g, &b);
	close_gpu(&g);
	return 0;
}
