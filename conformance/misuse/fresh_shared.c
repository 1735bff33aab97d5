// A process takes memory that it imports for zeros, as its exporter never wrote to it.
#include "misuse.h"

int main(void) {
	struct gpu g;
	open_gpu(&g, external_fd);
	struct block b = exportable(&g, 4096);
	CORRECT(fill(&g, b.buffer, 0, 4096, 0);)
	VkDeviceMemory imported;
	CHECK(import_memory(&g, export_memory(&g, b.memory), b.size, b.type, &imported));
	int wrong = *(const volatile uint32_t *)map(&g, imported) != 0;
	vkFreeMemory(g.device, imported, NULL);
	free_block(&g, &b);
	close_gpu(&g);
	return wrong ? WRONG : 0;
}
