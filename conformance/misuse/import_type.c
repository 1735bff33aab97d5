// A memory object is imported as another memory type than it was exported with.
#include "misuse.h"

int main(void) {
	struct gpu g;
	open_gpu(&g, external_fd);
	struct block b = exportable(&g, 65536);
	int fd = export_memory(&g, b.memory);
	VkDeviceMemory imported;
	uint32_t type = FAULT(find_type(&g, ~(1u << b.type), 0, VISIBLE)) CORRECT(b.type);
	if (import_memory(&g, fd, b.size, type, &imported) == VK_SUCCESS)
		vkFreeMemory(g.device, imported, NULL);
	else
		close(fd);
	free_block(&g, &b);
	close_gpu(&g);
	return 0;
}
