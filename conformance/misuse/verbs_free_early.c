// A memory region is deregistered while a write that was posted still needs it.
#include "verbs.h"

int main(void) {
	static struct adapter a;
	open_adapter(&a);
	struct ends e = make_ends(&a);
	static char local[4096];
	memset(local, 'x', sizeof local);
	struct ibv_mr *mr = ibv_reg_mr(a.pd, local, sizeof local, 0);
	NEED(mr);
	struct ibv_sge sge = {(uintptr_t)local, sizeof local, mr->lkey};
	struct ibv_send_wr wr = {.sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_RDMA_WRITE}, *bad;
	wr.wr.rdma.remote_addr = (uintptr_t)a.memory, wr.wr.rdma.rkey = a.mr->rkey;
	NEED(!ibv_post_send(e.here, &wr, &bad));
	CORRECT(await_completions(e.cq, 1);)
	NEED(!ibv_dereg_mr(mr));
	struct ibv_wc wc;
	FAULT(while (!ibv_poll_cq(e.cq, 1, &wc)) continue;)
	NEED(!ibv_poll_cq(e.cq, 1, &wc));
	CORRECT(if (a.memory[4095] != 'x') return WRONG;)
	free_ends(&e);
	close_adapter(&a);
	return 0;
}
