// A buffer that is not meant for external memory is bound to such.
#include "misuse.h"

int main(void) {
	struct gpu g;
	open_gpu(&g, external_fd);
	struct block b = exportable(&g, 4096);
	VkBuffer buffer = make_buffer(&g, 4096, FAULT(0) CORRECT(OPAQUE_FD));
	(void)vkBindBufferMemory(g.device, buffer, b.memory, 0);
	vkDestroyBuffer(g.device, buffer, NULL);
	free_block(&g, &b);
	close_gpu(&g);
	return 0;
}
