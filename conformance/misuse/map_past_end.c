// The host writes behind the end of a mapping.
#include "misuse.h"

int main(void) {
	struct gpu g;
	open_gpu(&g, NULL);
	struct block b = make_block(&g, 8192, VISIBLE | COHERENT, 0, 0, NULL);
	volatile uint8_t *bytes = map(&g, b.memory);
	for (int i = 0; i FAULT(<=) CORRECT(<) 8192; i++)
		bytes[i] = i;
	free_block(&g, &b);
	close_gpu(&g);
	return 0;
}
