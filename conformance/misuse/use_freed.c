// The host reads through a pointer after vkFreeMemory.
#include "misuse.h"

int main(void) {
	struct gpu g;
	open_gpu(&g, NULL);
	struct block b = make_block(&g, 4096, VISIBLE | COHERENT, 0, 0, NULL);
	volatile uint8_t *bytes = map(&g, b.memory);
	FAULT(free_block(&g, &b);)
	printf("%d\n", bytes[17]);
	CORRECT(free_block(&g, &b);)
	close_gpu(&g);
	return 0;
}
