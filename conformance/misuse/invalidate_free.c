// The host reads what a queue has written, from memory that it never unmaps.
#include "misuse.h"

int main(void) {
	struct gpu g;
	open_gpu(&g, NULL);
	struct block b = visible(&g, 65536);
	fill(&g, b.buffer, 60000, 4, 0x12345678);
	const volatile uint8_t *bytes = map(&g, b.memory);
	CORRECT(invalidate(&g, b.memory, 59968, 64);)
	printf("the byte is %#x\n", bytes[60000]);
	free_block(&g, &b);
	close_gpu(&g);
	return 0;
}
