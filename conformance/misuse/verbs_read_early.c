// A program uses what a read is to fill before it has polled the completion.
#include "verbs.h"

int main(void) {
	static struct adapter a;
	open_adapter(&a);
	struct ends e = make_ends(&a);
	memset(a.memory + 4096, 'r', 64);
	post_work(&a, &e, IBV_WR_RDMA_READ, 0, 64, 4096, 0);
	CORRECT(await_completions(e.cq, 1);)
	char used = *(volatile char *)a.memory;
	FAULT(await_completions(e.cq, 1);)
	free_ends(&e);
	close_adapter(&a);
	return used == 'r' ? 0 : WRONG;
}
