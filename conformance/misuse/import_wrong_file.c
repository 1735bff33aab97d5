// A file that no driver has exported is imported.
#include "misuse.h"
#include <sys/mman.h>

int main(void) {
	struct gpu g;
	open_gpu(&g, external_fd);
	struct block b = exportable(&g, 65536);
	int fd = FAULT(memfd_create("mine", MFD_CLOEXEC)) CORRECT(export_memory(&g, b.memory));
	FAULT(if (ftruncate(fd, 65536)) return 1;)
	VkDeviceMemory imported;
	if (import_memory(&g, fd, b.size, b.type, &imported) == VK_SUCCESS)
		vkFreeMemory(g.device, imported, NULL);
	else
		close(fd);
	free_block(&g, &b);
	close_gpu(&g);
	return 0;
}
