// The host writes behind the end of memory that does not end with a page.
#include "misuse.h"

int main(void) {
	struct gpu g;
	open_gpu(&g, NULL);
	VkDeviceMemory m = allocate(&g, 1024, find_type(&g, ~0u, VISIBLE | COHERENT, 0), NULL);
	volatile uint8_t *bytes = map(&g, m);
	bytes[FAULT(1030) CORRECT(1023)] = 1;
	vkUnmapMemory(g.device, m);
	vkFreeMemory(g.device, m, NULL);
	close_gpu(&g);
	return 0;
}
