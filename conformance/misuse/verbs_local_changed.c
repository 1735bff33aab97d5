// Local memory of a posted send changes while the receiver has not taken it yet.
#include "verbs.h"

int main(void) {
	static struct adapter a;
	open_adapter(&a);
	struct ends e = make_ends(&a);
	memset(a.memory, 'a', 5000);
	post_work(&a, &e, IBV_WR_SEND, 0, 5000, 0, 0);
	FAULT(*(volatile char *)&a.memory[3000] = 'b';)
	receive(&a, &e, 8192, 5000);
	await_completions(e.cq, 1);
	CORRECT(*(volatile char *)&a.memory[3000] = 'b';)
	await_completions(e.cq_there, 1);
	memset(a.memory, 'c', 16);
	post_work(&a, &e, IBV_WR_SEND, 0, 16, 0, IBV_SEND_INLINE); // its bytes were taken when it was posted
	memset(a.memory, 'd', 16);
	receive(&a, &e, 8192, 16);
	await_completions(e.cq, 1);
	await_completions(e.cq_there, 1);
	int wrong = a.memory[8192] != 'c';
	free_ends(&e);
	close_adapter(&a);
	return wrong ? WRONG : 0;
}
