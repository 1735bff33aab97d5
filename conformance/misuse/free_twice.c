// Memory is freed twice.
#include "misuse.h"

int main(void) {
	struct gpu g;
	open_gpu(&g, NULL);
	VkDeviceMemory m = allocate(&g, 4096, find_type(&g, ~0u, VISIBLE, 0), NULL);
	vkFreeMemory(g.device, m, NULL);
	CORRECT(m = VK_NULL_HANDLE;)
	vkFreeMemory(g.device, m, NULL);
	close_gpu(&g);
	return 0;
}
