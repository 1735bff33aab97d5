// A device is destroyed before a semaphore, a fence and a buffer.
#include "misuse.h"

int main(void) {
	struct gpu g;
	open_gpu(&g, NULL);
	VkSemaphoreCreateInfo semaphore_info = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_CREATE_INFO};
	VkFenceCreateInfo fence_info = {.sType = VK_STRUCTURE_TYPE_FENCE_CREATE_INFO};
	VkSemaphore semaphore;
	VkFence fence;
	CHECK(vkCreateSemaphore(g.device, &semaphore_info, NULL, &semaphore));
	CHECK(vkCreateFence(g.device, &fence_info, NULL, &fence));
	VkBuffer buffer = make_buffer(&g, 4096, 0);
	CORRECT(vkDestroySemaphore(g.device, semaphore, NULL);)
	CORRECT(vkDestroyFence(g.device, fence, NULL);)
	CORRECT(vkDestroyBuffer(g.device, buffer, NULL);)
	(void)buffer;
	close_gpu(&g);
	return 0;
}
