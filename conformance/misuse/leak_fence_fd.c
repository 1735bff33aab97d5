// A fence is exported as a sync file, and nobody takes or closes the descriptor.
#include "misuse.h"

int main(void) {
	struct gpu g;
	static const char *const extensions[] = {VK_KHR_EXTERNAL_FENCE_FD_EXTENSION_NAME, NULL};
	open_gpu(&g, extensions);
	VkExportFenceCreateInfo types = {.sType = VK_STRUCTURE_TYPE_EXPORT_FENCE_CREATE_INFO,
		.handleTypes = VK_EXTERNAL_FENCE_HANDLE_TYPE_SYNC_FD_BIT};
	VkFenceCreateInfo info = {.sType = VK_STRUCTURE_TYPE_FENCE_CREATE_INFO, .pNext = &types};
	VkFence fence;
	CHECK(vkCreateFence(g.device, &info, NULL, &fence));
	CHECK(vkQueueSubmit(g.queue, 0, NULL, fence));
	VkFenceGetFdInfoKHR get = {.sType = VK_STRUCTURE_TYPE_FENCE_GET_FD_INFO_KHR, .fence = fence,
		.handleType = VK_EXTERNAL_FENCE_HANDLE_TYPE_SYNC_FD_BIT};
	int fd;
	CHECK(((PFN_vkGetFenceFdKHR)command(&g, "vkGetFenceFdKHR"))(g.device, &get, &fd));
	CORRECT(close(fd);)
	CHECK(vkQueueWaitIdle(g.queue));
	vkDestroyFence(g.device, fence, NULL);
	close_gpu(&g);
	return 0;
}
