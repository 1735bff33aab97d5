// The host reads what a queue has written.
#include "misuse.h"

int main(void) {
	struct gpu g;
	open_gpu(&g, NULL);
	struct block b = visible(&g, 4096);
	const volatile uint32_t *words = map(&g, b.memory);
	fill(&g, b.buffer, 0, 4096, 0x12345678);
	CORRECT(invalidate(&g, b.memory, 0, VK_WHOLE_SIZE);)
	printf("the first word is %#x\n", words[0]);
	vkUnmapMemory(g.device, b.memory);
	free_block(&g, &b);
	close_gpu(&g);
	return 0;
}
