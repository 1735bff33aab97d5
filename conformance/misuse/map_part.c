// The host maps less than it uses.
#include "misuse.h"

int main(void) {
	struct gpu g;
	open_gpu(&g, NULL);
	struct block b = make_block(&g, 65536, VISIBLE | COHERENT, 0, 0, NULL);
	void *p;
	CHECK(vkMapMemory(g.device, b.memory, 0, FAULT(4096) CORRECT(65536), 0, &p));
	memset(p, 1, 65536);
	free_block(&g, &b);
	close_gpu(&g);
	return 0;
}
