// A send passes on what a read is to fill, and no fence keeps it behind the read.
#include "verbs.h"

int main(void) {
	static struct adapter a;
	open_adapter(&a);
	struct ends e = make_ends(&a);
	memset(a.memory + 4096, 'r', 64);
	receive(&a, &e, 8192, 64);
	post_work(&a, &e, IBV_WR_RDMA_READ, 0, 64, 4096, 0);
	post_work(&a, &e, IBV_WR_SEND, 0, 64, 0, CORRECT(IBV_SEND_FENCE) FAULT(0));
	await_completions(e.cq, 2);
	await_completions(e.cq_there, 1);
	CORRECT(if (memcmp(a.memory + 8192, a.memory + 4096, 64)) return WRONG;)

	post_work(&a, &e, IBV_WR_RDMA_READ, 0, 64, 4096, 0);
	await_completions(e.cq, 1); // as good as a fence
	receive(&a, &e, 8192, 64);
	post_work(&a, &e, IBV_WR_SEND, 0, 64, 0, 0);
	await_completions(e.cq, 1);
	await_completions(e.cq_there, 1);
	free_ends(&e);
	close_adapter(&a);
	return 0;
}
