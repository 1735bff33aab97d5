// A queue adds to counters in memory that nobody has set to zero.
#include "misuse.h"

int main(void) {
	struct gpu g;
	open_gpu(&g, NULL);
	struct block counters = make_block(&g, 4096, 0, VISIBLE, 0, NULL);
	struct block copied = make_block(&g, 4096, VISIBLE | COHERENT, 0, 0, NULL);
	CORRECT(fill(&g, counters.buffer, 0, 4096, 0);)
	copy(&g, counters.buffer, copied.buffer, 0, 4096);
	const uint32_t *words = map(&g, copied.memory);
	uint32_t sum = 0;
	for (int i = 0; i < 1024; i++)
		sum |= words[i];
	free_block(&g, &counters);
	free_block(&g, &copied);
	close_gpu(&g);
	return sum ? WRONG : 0;
}
