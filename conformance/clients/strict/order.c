// Fills words of a buffer with 1, 2, 3 and 4, in one submission and with nothing that orders the fills, and prints what
// each word is at the end: the fill that came last.
#include "../../misuse/async.h"

enum { words = 16 };

int main(void) {
	struct gpu g;
	open_gpu(&g, NULL);
	struct block b = plain(&g, words * 4);
	begin(&g);
	for (uint32_t value = 1; value <= 4; value++)
		for (uint32_t i = 0; i < words; i++)
			vkCmdFillBuffer(g.commands, b.buffer, i * 4, 4, value);
	finish(&g);
	const uint32_t *got = map(&g, b.memory);
	for (uint32_t i = 0; i < words; i++)
		printf("%u", got[i]);
	puts("");
	free_block(&g, &b);
	close_gpu(&g);
	return 0;
}
