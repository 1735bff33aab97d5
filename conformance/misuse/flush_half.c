// The host writes more than it flushes.
#include "misuse.h"

int main(void) {
	struct gpu g;
	open_gpu(&g, NULL);
	struct block from = visible(&g, 4096), to = visible(&g, 4096);
	memset(map(&g, from.memory), 7, 4096);
	flush(&g, from.memory, 0, FAULT(2048) CORRECT(4096));
	copy(&g, from.buffer, to.buffer, 0, 4096);
	free_block(&g, &from);
	free_block(&g, &to);
	close_gpu(&g);
	return 0;
}
