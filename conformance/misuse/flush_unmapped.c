// A range is flushed when the mapping has ended.
#include "misuse.h"

int main(void) {
	struct gpu g;
	open_gpu(&g, NULL);
	struct block b = visible(&g, 4096);
	memset(map(&g, b.memory), 1, 4096);
	FAULT(vkUnmapMemory(g.device, b.memory);)
	VkMappedMemoryRange r = range(b.memory, 0, VK_WHOLE_SIZE);
	(void)vkFlushMappedMemoryRanges(g.device, 1, &r);
	CORRECT(vkUnmapMemory(g.device, b.memory);)
	free_block(&g, &b);
	close_gpu(&g);
	return 0;
}
