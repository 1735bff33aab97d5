// Memory is mapped that is mapped already.
#include "misuse.h"

int main(void) {
	struct gpu g;
	open_gpu(&g, NULL);
	VkDeviceMemory m = allocate(&g, 4096, find_type(&g, ~0u, VISIBLE | COHERENT, 0), NULL);
	void *p = map(&g, m);
	CORRECT(vkUnmapMemory(g.device, m);)
	(void)vkMapMemory(g.device, m, 0, 4096, 0, &p);
	vkUnmapMemory(g.device, m);
	vkFreeMemory(g.device, m, NULL);
	close_gpu(&g);
	return 0;
}
