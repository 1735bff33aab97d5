// A semaphore is exported, and nobody takes or closes the descriptor.
#include "misuse.h"

int main(void) {
	struct gpu g;
	static const char *const extensions[] = {VK_KHR_EXTERNAL_SEMAPHORE_FD_EXTENSION_NAME, NULL};
	open_gpu(&g, extensions);
	VkExportSemaphoreCreateInfo types = {.sType = VK_STRUCTURE_TYPE_EXPORT_SEMAPHORE_CREATE_INFO,
		.handleTypes = VK_EXTERNAL_SEMAPHORE_HANDLE_TYPE_OPAQUE_FD_BIT};
	VkSemaphoreCreateInfo info = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_CREATE_INFO, .pNext = &types};
	VkSemaphore semaphore;
	CHECK(vkCreateSemaphore(g.device, &info, NULL, &semaphore));
	VkSemaphoreGetFdInfoKHR get = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_GET_FD_INFO_KHR, .semaphore = semaphore,
		.handleType = VK_EXTERNAL_SEMAPHORE_HANDLE_TYPE_OPAQUE_FD_BIT};
	int fd;
	CHECK(((PFN_vkGetSemaphoreFdKHR)command(&g, "vkGetSemaphoreFdKHR"))(g.device, &get, &fd));
	CORRECT(close(fd);)
	vkDestroySemaphore(g.device, semaphore, NULL);
	close_gpu(&g);
	return 0;
}
