// A process ends without destroying what it made.
#include "misuse.h"

int main(void) {
	struct gpu g;
	open_gpu(&g, NULL);
	VkDeviceMemory m = allocate(&g, 4096, find_type(&g, ~0u, VISIBLE, 0), NULL);
	CORRECT(vkFreeMemory(g.device, m, NULL);)
	CORRECT(close_gpu(&g);)
	(void)m;
	return 0;
}
