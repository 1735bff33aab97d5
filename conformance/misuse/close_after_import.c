// An import takes the descriptor over, and the application closes it all the same.
#include "misuse.h"

int main(void) {
	struct gpu g;
	open_gpu(&g, external_fd);
	struct block b = exportable(&g, 4096);
	int fd = export_memory(&g, b.memory);
	VkDeviceMemory imported;
	CHECK(import_memory(&g, fd, b.size, b.type, &imported));
	FAULT(close(fd);)
	vkFreeMemory(g.device, imported, NULL);
	free_block(&g, &b);
	close_gpu(&g);
	return 0;
}
