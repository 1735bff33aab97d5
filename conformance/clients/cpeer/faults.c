/* Faults on command: faults ADDRESS, where 64 bytes are a region, all zero, with
 * FARSIDE_FAULTS="rdma.write=IBV_WC_REM_OP_ERR@2; rdma.write=partial:2@2; rdma.atomic=IBV_WC_RETRY_EXC_ERR@2;
 * rdma.read=sever@3" */
#include "check.h"

int main(int argc, char **argv) {
	CHECK(argc == 2);
	uint64_t region = number(argv[1]), old = 0;
	farside_peer *peer;
	GIVES(farside_peer_open(NULL, &peer), FARSIDE_SUCCESS);
	char out[4] = {1, 2, 3, 4}, in[4] = {0};
	GIVES(farside_write(peer, region, out, 4), FARSIDE_SUCCESS);
	GIVES(farside_write(peer, region + 8, out, 4), 11 /* IBV_WC_REM_OP_ERR */);
	GIVES(farside_read(peer, region + 8, in, 4), FARSIDE_SUCCESS);
	CHECK(!in[0] && !in[1]);
	GIVES(farside_write(peer, region + 16, out, 4), FARSIDE_RETRY_EXC_ERR);
	GIVES(farside_read(peer, region + 16, in, 4), FARSIDE_SUCCESS);
	CHECK(in[0] == 1 && in[1] == 2 && !in[2] && !in[3]);

	/* Posted work: the second atomic fails, and what is behind it is flushed. */
	uint64_t seen[3];
	struct farside_work work[3];
	memset(work, 0, sizeof work);
	for (int i = 0; i < 3; i++) {
		work[i].wr_id = i;
		work[i].remote_address = region + 24;
		work[i].local = &seen[i];
		work[i].length = 8;
		work[i].opcode = FARSIDE_FETCH_ADD;
		work[i].flags = FARSIDE_SIGNALLED;
		work[i].compare_add = 1;
	}
	GIVES(farside_post(peer, work, 3), FARSIDE_SUCCESS);
	int want[3] = {FARSIDE_SUCCESS, FARSIDE_RETRY_EXC_ERR, FARSIDE_WR_FLUSH_ERR};
	for (int i = 0; i < 3; i++) {
		struct farside_completion c;
		CHECK(farside_poll(peer, &c, 1, 10000) == 1);
		CHECK(c.wr_id == (uint64_t)i && c.status == want[i]);
	}
	GIVES(farside_reset(peer), FARSIDE_SUCCESS);

	/* The connection is cut: nothing goes through any more, but for a new peer. */
	GIVES(farside_read(peer, region, in, 4), FARSIDE_RETRY_EXC_ERR);
	GIVES(farside_read(peer, region, in, 4), FARSIDE_RETRY_EXC_ERR);
	GIVES(farside_fetch_add64(peer, region + 24, 1, &old), FARSIDE_RETRY_EXC_ERR);
	farside_peer_close(peer);
	GIVES(farside_peer_open(NULL, &peer), FARSIDE_SUCCESS);
	GIVES(farside_read(peer, region, in, 4), FARSIDE_SUCCESS);
	GIVES(farside_fetch_add64(peer, region + 24, 1, &old), FARSIDE_SUCCESS);
	CHECK(in[3] == 4 && old == 1);
	farside_peer_close(peer);
	return 0;
}
