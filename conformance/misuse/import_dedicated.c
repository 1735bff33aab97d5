// Memory that is dedicated to a buffer is imported for a buffer that was created in another way.
#include "misuse.h"

int main(void) {
	struct gpu g;
	open_gpu(&g, external_fd);
	VkBuffer buffers[2] = {make_buffer(&g, 65536, OPAQUE_FD), make_buffer(&g, FAULT(32768) CORRECT(65536), OPAQUE_FD)};
	VkMemoryRequirements r;
	vkGetBufferMemoryRequirements(g.device, buffers[0], &r);
	uint32_t type = find_type(&g, r.memoryTypeBits, VISIBLE | COHERENT, 0);
	VkMemoryDedicatedAllocateInfo own = {.sType = VK_STRUCTURE_TYPE_MEMORY_DEDICATED_ALLOCATE_INFO, .buffer = buffers[0]};
	VkExportMemoryAllocateInfo info = {.sType = VK_STRUCTURE_TYPE_EXPORT_MEMORY_ALLOCATE_INFO, .pNext = &own,
		.handleTypes = OPAQUE_FD};
	VkDeviceMemory m = allocate(&g, r.size, type, &info), imported;
	int fd = export_memory(&g, m);
	VkMemoryDedicatedAllocateInfo other = {.sType = VK_STRUCTURE_TYPE_MEMORY_DEDICATED_ALLOCATE_INFO,
		.buffer = buffers[1]};
	VkImportMemoryFdInfoKHR from = {.sType = VK_STRUCTURE_TYPE_IMPORT_MEMORY_FD_INFO_KHR, .pNext = &other,
		.handleType = OPAQUE_FD, .fd = fd};
	VkMemoryAllocateInfo allocation = {.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO, .pNext = &from,
		.allocationSize = r.size, .memoryTypeIndex = type};
	if (vkAllocateMemory(g.device, &allocation, NULL, &imported) == VK_SUCCESS)
		vkFreeMemory(g.device, imported, NULL);
	else
		close(fd);
	vkDestroyBuffer(g.device, buffers[0], NULL);
	vkDestroyBuffer(g.device, buffers[1], NULL);
	vkFreeMemory(g.device, m, NULL);
	close_gpu(&g);
	return 0;
}
