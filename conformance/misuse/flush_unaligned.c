// A range to flush is made of whole atoms.
#include "misuse.h"

int main(void) {
	struct gpu g;
	open_gpu(&g, NULL);
	struct block from = visible(&g, 4096), to = visible(&g, 4096);
	memset((char *)map(&g, from.memory) + 100, 7, 100);
	flush(&g, from.memory, FAULT(100) CORRECT(64), FAULT(100) CORRECT(192));
	copy(&g, from.buffer, to.buffer, 100, 100);
	free_block(&g, &from);
	free_block(&g, &to);
	close_gpu(&g);
	return 0;
}
