// A peer sends on what it reads, and no fence keeps the write behind the read.
#include "rdma.h"

int main(void) {
	struct gpu g;
	open_gpu(&g, rdma_extensions);
	uint64_t address;
	struct block b = remote(&g, 4096, &address);
	fill(&g, b.buffer, 0, 64, 0x01020304);
	farside_peer *peer = open_peer(address);
	char data[64] = "";
	post(peer, FARSIDE_READ, address, data, sizeof data, 0);
	post(peer, FARSIDE_WRITE, address + 1024, data, sizeof data, CORRECT(FARSIDE_FENCE) FAULT(0));
	await_work(peer, 2);
	CORRECT(char *got = read_back(&g, &b, 2048); if (memcmp(got + 1024, got, 64)) return WRONG; free(got);)
	farside_peer_close(peer);
	free_block(&g, &b);
	close_gpu(&g);
	return 0;
}
