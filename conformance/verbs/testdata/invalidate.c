// Two programs, of which the second one writes by a key of the first one's, and ends it by a send with invalidate,
// which meets no receive at first:
// invalidate owner|peer
#include "meet.h"

enum { BYTES = 3000 }; // of a message, more than a packet

static char *memory;
static struct ibv_mr *mr;
static struct ibv_sge all;

static void owner(void) {
	uint64_t at = (uintptr_t)memory;
	uint32_t key = 0;
	meet(&at, &key);
	struct ibv_mw *mw = ibv_alloc_mw(pd, IBV_MW_TYPE_2);
	NEED(mw);
	struct ibv_send_wr bind = {.opcode = IBV_WR_BIND_MW, .send_flags = IBV_SEND_SIGNALED}, *bad;
	bind.bind_mw.mw = mw;
	bind.bind_mw.rkey = ibv_inc_rkey(mw->rkey);
	bind.bind_mw.bind_info = (struct ibv_mw_bind_info){mr, (uintptr_t)memory, BYTES, IBV_ACCESS_REMOTE_WRITE};
	NEED(ibv_post_send(qp, &bind, &bad) == 0 && wait_for(cq).status == IBV_WC_SUCCESS);
	printf("%x\n", bind.bind_mw.rkey);
	say("bound");

	hear("written");
	for (int i = 0; i < BYTES; i++)
		NEED(memory[i] == (char)(i * 7 + 1));
	memset(memory, 0, BYTES);
	usleep(100000); // the send comes meanwhile
	struct ibv_recv_wr wr = {.sg_list = &all, .num_sge = 1}, *bad_recv;
	NEED(ibv_post_recv(qp, &wr, &bad_recv) == 0);
	struct ibv_wc wc = wait_for(cq);
	NEED(wc.status == IBV_WC_SUCCESS && wc.opcode == IBV_WC_RECV);
	CHECK(wc.byte_len == BYTES, "%u", wc.byte_len);
	CHECK(wc.wc_flags & IBV_WC_WITH_INV && wc.invalidated_rkey == bind.bind_mw.rkey, "%x", wc.wc_flags);
	for (int i = 0; i < BYTES; i++)
		NEED(memory[i] == (char)(i * 7 + 1));
	say("received");
	hear("refused");
}

static void peer_(void) {
	uint64_t at = (uintptr_t)memory;
	uint32_t key = 0;
	meet(&at, &key);
	NEED(scanf("%x", &key) == 1 && getchar() == '\n');
	hear("bound");
	for (int i = 0; i < BYTES; i++)
		memory[i] = i * 7 + 1;
	NEED(work(IBV_WR_RDMA_WRITE, all, at, key, 0) == IBV_WC_SUCCESS);
	say("written");
	struct ibv_send_wr wr = {.sg_list = &all, .num_sge = 1, .opcode = IBV_WR_SEND_WITH_INV,
				 .send_flags = IBV_SEND_SIGNALED, .invalidate_rkey = key}, *bad;
	NEED(ibv_post_send(qp, &wr, &bad) == 0 && wait_for(cq).status == IBV_WC_SUCCESS);
	hear("received");
	enum ibv_wc_status status = work(IBV_WR_RDMA_WRITE, all, at, key, 0);
	fprintf(stderr, "at the end: %s\n", ibv_wc_status_str(status));
	NEED(status == IBV_WC_REM_ACCESS_ERR);
	say("refused");
}

int main(int argc, char **argv) {
	NEED(argc == 2);
	open_device();
	NEED((pd = ibv_alloc_pd(context)) && (memory = calloc(1, BYTES)));
	NEED((mr = ibv_reg_mr(pd, memory, BYTES, RIGHTS | IBV_ACCESS_MW_BIND)));
	all = (struct ibv_sge){(uintptr_t)memory, BYTES, mr->lkey};
	if (strcmp(argv[1], "owner") == 0)
		owner();
	else
		peer_();
	return failures != 0;
}
