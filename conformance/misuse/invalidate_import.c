// The host reads memory that was exported after a queue had written to it, and imported.
#include "misuse.h"

int main(void) {
	struct gpu g;
	open_gpu(&g, external_fd);
	VkExportMemoryAllocateInfo info = {.sType = VK_STRUCTURE_TYPE_EXPORT_MEMORY_ALLOCATE_INFO, .handleTypes = OPAQUE_FD};
	struct block b = make_block(&g, 4096, VISIBLE, COHERENT, OPAQUE_FD, &info);
	fill(&g, b.buffer, 0, 4096, 0x12345678);
	VkDeviceMemory imported;
	CHECK(import_memory(&g, export_memory(&g, b.memory), b.size, b.type, &imported));
	const volatile uint32_t *words = map(&g, imported);
	CORRECT(invalidate(&g, imported, 0, VK_WHOLE_SIZE);)
	printf("the first word is %#x\n", words[0]);
	vkUnmapMemory(g.device, imported);
	vkFreeMemory(g.device, imported, NULL);
	free_block(&g, &b);
	close_gpu(&g);
	return 0;
}
