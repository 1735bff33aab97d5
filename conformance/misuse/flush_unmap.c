// The end of a mapping flushes nothing.
#include "misuse.h"

int main(void) {
	struct gpu g;
	open_gpu(&g, NULL);
	struct block from = visible(&g, 4096), to = visible(&g, 4096);
	memset(map(&g, from.memory), 7, 4096);
	CORRECT(flush(&g, from.memory, 0, VK_WHOLE_SIZE);)
	vkUnmapMemory(g.device, from.memory);
	copy(&g, from.buffer, to.buffer, 0, 4096);
	free_block(&g, &from);
	free_block(&g, &to);
	close_gpu(&g);
	return 0;
}
