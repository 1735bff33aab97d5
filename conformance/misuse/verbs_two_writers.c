// Two queue pairs write to the same bytes of a peer, and the second one doesn't wait for the first one.
#include "verbs.h"

int main(void) {
	static struct adapter a;
	open_adapter(&a);
	struct ends first = make_ends(&a), second = make_ends(&a);
	memset(a.memory, 'a', 64);
	memset(a.memory + 64, 'b', 64);
	post_work(&a, &first, IBV_WR_RDMA_WRITE, 0, 64, 4096, 0);
	CORRECT(await_completions(first.cq, 1);)
	post_work(&a, &second, IBV_WR_RDMA_WRITE, 64, 64, 4096, 0);
	FAULT(await_completions(first.cq, 1);)
	await_completions(second.cq, 1);
	CORRECT(if (a.memory[4096] != 'b') return WRONG;)

	post_work(&a, &first, IBV_WR_RDMA_WRITE, 0, 64, 4096, 0); // these two write the same, or elsewhere
	post_work(&a, &second, IBV_WR_RDMA_WRITE, 0, 64, 4096, 0);
	post_work(&a, &second, IBV_WR_RDMA_WRITE, 64, 64, 8192, 0);
	await_completions(first.cq, 1);
	await_completions(second.cq, 2);
	free_ends(&first);
	free_ends(&second);
	close_adapter(&a);
	return 0;
}
