// The host reads before the begin of a mapping.
#include "misuse.h"

int main(void) {
	struct gpu g;
	open_gpu(&g, NULL);
	struct block b = make_block(&g, 8192, VISIBLE | COHERENT, 0, 0, NULL);
	void *p;
	CHECK(vkMapMemory(g.device, b.memory, 4096, 4096, 0, &p));
	volatile uint8_t *bytes = p;
	printf("%d\n", bytes[FAULT(-1) CORRECT(0)]);
	free_block(&g, &b);
	close_gpu(&g);
	return 0;
}
