// A fence that is signalled already is submitted.
#include "misuse.h"

int main(void) {
	struct gpu g;
	open_gpu(&g, NULL);
	VkFenceCreateInfo info = {.sType = VK_STRUCTURE_TYPE_FENCE_CREATE_INFO};
	VkFence fence;
	CHECK(vkCreateFence(g.device, &info, NULL, &fence));
	CHECK(vkQueueSubmit(g.queue, 0, NULL, fence));
	CHECK(vkWaitForFences(g.device, 1, &fence, VK_TRUE, UINT64_MAX));
	CORRECT(CHECK(vkResetFences(g.device, 1, &fence));)
	(void)vkQueueSubmit(g.queue, 0, NULL, fence);
	CHECK(vkQueueWaitIdle(g.queue));
	vkDestroyFence(g.device, fence, NULL);
	close_gpu(&g);
	return 0;
}
