// A memory object is imported on another physical device than it was exported from.
#include "misuse.h"

int main(void) {
	struct gpu g, other;
	open_gpu(&g, external_fd);
	open_gpu(&other, external_fd);
	struct block b = exportable(&g, 65536);
	int fd = export_memory(&g, b.memory);
	FAULT(vkDestroyCommandPool(other.device, other.pool, NULL); vkDestroyDevice(other.device, NULL);)
	FAULT(open_device(&other, second_device(&other), external_fd);)
	VkDeviceMemory imported;
	if (import_memory(&other, fd, b.size, b.type, &imported) == VK_SUCCESS)
		vkFreeMemory(other.device, imported, NULL);
	else
		close(fd);
	free_block(&g, &b);
	close_gpu(&g);
	close_gpu(&other);
	return 0;
}
