// A write goes past the end of the peer's region, and the program, which asked for no completion, looks for none.
#include "verbs.h"

int main(void) {
	static struct adapter a;
	open_adapter(&a);
	struct ends e = make_ends(&a);
	memset(a.memory, 'x', 64);
	post_work(&a, &e, IBV_WR_RDMA_WRITE, 0, 64, sizeof a.memory - CORRECT(64) FAULT(63), 0);
	CORRECT(await_completions(e.cq, 1);)
	FAULT(usleep(100000);)
	CORRECT(if (a.memory[sizeof a.memory - 1] != 'x') return WRONG;)
	free_ends(&e);
	close_adapter(&a);
	return 0;
}
