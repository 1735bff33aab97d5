// A queue pair reads what another one writes at the same time. It may get parts of the old and of the new.
#include "verbs.h"

int main(void) {
	static struct adapter a;
	open_adapter(&a);
	struct ends writer = make_ends(&a), reader = make_ends(&a);
	memset(a.memory, 'n', 256);
	post_work(&a, &writer, IBV_WR_RDMA_WRITE, 0, 256, 4096, 0);
	CORRECT(await_completions(writer.cq, 1);)
	post_work(&a, &reader, IBV_WR_RDMA_READ, 1024, 256, 4096, 0);
	FAULT(await_completions(writer.cq, 1);)
	await_completions(reader.cq, 1);
	CORRECT(if (memcmp(a.memory, a.memory + 1024, 256)) return WRONG;)

	post_work(&a, &writer, IBV_WR_RDMA_WRITE, 0, 8, 4096, 0); // a flag in a word may be polled
	post_work(&a, &reader, IBV_WR_RDMA_READ, 1024, 8, 4096, 0);
	await_completions(writer.cq, 1);
	await_completions(reader.cq, 1);
	free_ends(&writer);
	free_ends(&reader);
	close_adapter(&a);
	return 0;
}
