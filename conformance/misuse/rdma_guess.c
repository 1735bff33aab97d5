// A peer's queue pair tells by its own write that another one's is done, and the owner believes it.
#include "rdma.h"

int main(void) {
	struct gpu g;
	open_gpu(&g, rdma_extensions);
	uint64_t address;
	struct block b = remote(&g, 4096, &address);
	farside_peer *data_pair = open_peer(address), *flag_pair = open_peer(address);
	char data[1024];
	uint64_t flag = 1;
	memset(data, 'x', sizeof data);
	post(data_pair, FARSIDE_WRITE, address, data, sizeof data, 0);
	post(CORRECT(data_pair) FAULT(flag_pair), FARSIDE_WRITE, address + 2048, &flag, sizeof flag, 0);
	await_work(CORRECT(data_pair) FAULT(flag_pair), CORRECT(2) FAULT(1));
	char *got = read_back(&g, &b, 4096);
	uint64_t seen;
	memcpy(&seen, got + 2048, sizeof seen);
	CORRECT(if (seen != 1 || memcmp(got, data, sizeof data)) return WRONG;)
	free(got);
	FAULT(await_work(data_pair, 1);)
	farside_peer_close(data_pair);
	farside_peer_close(flag_pair);
	free_block(&g, &b);
	close_gpu(&g);
	return 0;
}
