// A device is destroyed before its memory.
#include "misuse.h"

int main(void) {
	struct gpu g;
	open_gpu(&g, NULL);
	VkDeviceMemory m = allocate(&g, 4096, find_type(&g, ~0u, VISIBLE, 0), NULL);
	CORRECT(vkFreeMemory(g.device, m, NULL);)
	(void)m;
	close_gpu(&g);
	return 0;
}
