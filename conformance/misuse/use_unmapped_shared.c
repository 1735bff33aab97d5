// The host reads imported memory through a pointer after the import has been unmapped.
#include "misuse.h"

int main(void) {
	struct gpu g;
	open_gpu(&g, external_fd);
	struct block b = exportable(&g, 4096);
	VkDeviceMemory imported;
	CHECK(import_memory(&g, export_memory(&g, b.memory), b.size, b.type, &imported));
	const volatile uint8_t *bytes = map(&g, imported);
	FAULT(vkUnmapMemory(g.device, imported);)
	printf("%d\n", bytes[17]);
	vkFreeMemory(g.device, imported, NULL);
	free_block(&g, &b);
	close_gpu(&g);
	return 0;
}
