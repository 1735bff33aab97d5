// Host and queue write to neighbouring words, nearer to each other than nonCoherentAtomSize.
#include "misuse.h"

int main(void) {
	struct gpu g;
	open_gpu(&g, NULL);
	struct block b = visible(&g, 4096);
	volatile uint32_t *words = map(&g, b.memory);
	fill(&g, b.buffer, 0, 4, 0x12345678);
	words[FAULT(1) CORRECT(256)] = 1;
	flush(&g, b.memory, 0, VK_WHOLE_SIZE);
	invalidate(&g, b.memory, 0, VK_WHOLE_SIZE);
	printf("the first word is %#x\n", words[0]);
	vkUnmapMemory(g.device, b.memory);
	free_block(&g, &b);
	close_gpu(&g);
	return 0;
}
