// A buffer is bound after it was destroyed.
#include "misuse.h"

int main(void) {
	struct gpu g;
	open_gpu(&g, NULL);
	VkBuffer b = make_buffer(&g, 4096, 0);
	VkMemoryRequirements r;
	FAULT(vkDestroyBuffer(g.device, b, NULL);)
	vkGetBufferMemoryRequirements(g.device, b, &r);
	CORRECT(vkDestroyBuffer(g.device, b, NULL);)
	close_gpu(&g);
	return 0;
}
