// A memory object is imported with another size than it was exported with.
#include "misuse.h"

int main(void) {
	struct gpu g;
	open_gpu(&g, external_fd);
	struct block b = exportable(&g, 65536);
	int fd = export_memory(&g, b.memory);
	VkDeviceMemory imported;
	if (import_memory(&g, fd, FAULT(32768) CORRECT(b.size), b.type, &imported) == VK_SUCCESS)
		vkFreeMemory(g.device, imported, NULL);
	else
		close(fd);
	free_block(&g, &b);
	close_gpu(&g);
	return 0;
}
