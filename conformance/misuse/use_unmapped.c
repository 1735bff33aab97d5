// The host writes through a pointer after vkUnmapMemory.
#include "misuse.h"

int main(void) {
	struct gpu g;
	open_gpu(&g, NULL);
	struct block b = make_block(&g, 4096, VISIBLE | COHERENT, 0, 0, NULL);
	volatile uint8_t *bytes = map(&g, b.memory);
	FAULT(vkUnmapMemory(g.device, b.memory);)
	bytes[17] = 1;
	CORRECT(vkUnmapMemory(g.device, b.memory);)
	free_block(&g, &b);
	close_gpu(&g);
	return 0;
}
