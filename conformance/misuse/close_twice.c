// A descriptor is closed twice, and the number stands for another one the second time.
#include "misuse.h"

int main(void) {
	struct gpu g;
	open_gpu(&g, external_fd);
	struct block a = exportable(&g, 4096), b = exportable(&g, 4096);
	int first = export_memory(&g, a.memory);
	close(first);
	int second = export_memory(&g, b.memory);
	FAULT(close(first);)
	VkDeviceMemory imported;
	if (import_memory(&g, second, b.size, b.type, &imported) != VK_SUCCESS)
		return WRONG;
	vkFreeMemory(g.device, imported, NULL);
	free_block(&g, &a);
	free_block(&g, &b);
	close_gpu(&g);
	return 0;
}
