// A write may overtake the read of the same bytes that was posted before, which is to get what was there.
#include "verbs.h"

int main(void) {
	static struct adapter a;
	open_adapter(&a);
	struct ends e = make_ends(&a);
	memset(a.memory + 64, 'n', 64);
	for (int i = 0; i < 4; i++) {
		memset(a.memory + 4096, 'o', 64);
		post_work(&a, &e, IBV_WR_RDMA_READ, 0, 64, 4096, 0);
		post_work(&a, &e, IBV_WR_RDMA_WRITE, 64, 64, 4096, CORRECT(IBV_SEND_FENCE) FAULT(0));
		await_completions(e.cq, 2);
		CORRECT(if (a.memory[0] != 'o' || a.memory[4096] != 'n') return WRONG;)
	}
	free_ends(&e);
	close_adapter(&a);
	return 0;
}
