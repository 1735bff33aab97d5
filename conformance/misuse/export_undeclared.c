// Memory is exported that was not allocated for it.
#include "misuse.h"

int main(void) {
	struct gpu g;
	open_gpu(&g, external_fd);
	uint32_t type = find_type(&g, ~0u, VISIBLE | COHERENT, 0);
	VkExportMemoryAllocateInfo info = {.sType = VK_STRUCTURE_TYPE_EXPORT_MEMORY_ALLOCATE_INFO, .handleTypes = OPAQUE_FD};
	VkDeviceMemory m = allocate(&g, 4096, type, FAULT(NULL) CORRECT(&info));
	(void)info;
	VkMemoryGetFdInfoKHR get = {.sType = VK_STRUCTURE_TYPE_MEMORY_GET_FD_INFO_KHR, .memory = m, .handleType = OPAQUE_FD};
	int fd = -1;
	if (((PFN_vkGetMemoryFdKHR)command(&g, "vkGetMemoryFdKHR"))(g.device, &get, &fd) == VK_SUCCESS)
		close(fd);
	vkFreeMemory(g.device, m, NULL);
	close_gpu(&g);
	return 0;
}
