// The host writes an answer beside what it is about to read, and invalidates both.
#include "misuse.h"

int main(void) {
	struct gpu g;
	open_gpu(&g, NULL);
	struct block b = visible(&g, 4096);
	volatile uint32_t *words = map(&g, b.memory);
	fill(&g, b.buffer, 0, 64, 0x12345678);
	words[512] = 1;
	CORRECT(flush(&g, b.memory, 2048, 64);)
	invalidate(&g, b.memory, 0, VK_WHOLE_SIZE);
	printf("the first word is %#x\n", words[0]);
	vkUnmapMemory(g.device, b.memory);
	free_block(&g, &b);
	close_gpu(&g);
	return 0;
}
