// A peer posts a write that fails, and never looks at its completion.
#include "rdma.h"

int main(void) {
	struct gpu g;
	open_gpu(&g, rdma_extensions);
	uint64_t address;
	struct block b = remote(&g, 4096, &address);
	farside_peer *peer = open_peer(address);
	char data[64] = "";
	struct farside_work work = {.wr_id = 1, .remote_address = address, .key = 1, .local = data, .length = sizeof data,
		.opcode = FARSIDE_WRITE, .flags = FARSIDE_SIGNALLED};
	if (farside_post(peer, &work, 1))
		return 1;
	CORRECT(struct farside_completion c; if (farside_poll(peer, &c, 1, 10000) != 1 || c.status == 0) return WRONG;)
	FAULT(usleep(100000);)
	farside_peer_close(peer);
	free_block(&g, &b);
	close_gpu(&g);
	return 0;
}
