// The processes share a fence, and the second one does not wait for it.
#include "peers.h"

static void first(struct peer *p) {
	struct block b = share_block(p);
	VkExportFenceCreateInfo types = {.sType = VK_STRUCTURE_TYPE_EXPORT_FENCE_CREATE_INFO,
		.handleTypes = VK_EXTERNAL_FENCE_HANDLE_TYPE_OPAQUE_FD_BIT};
	VkFenceCreateInfo info = {.sType = VK_STRUCTURE_TYPE_FENCE_CREATE_INFO, .pNext = &types};
	VkFence done;
	CHECK(vkCreateFence(p->g.device, &info, NULL, &done));
	VkFenceGetFdInfoKHR get = {.sType = VK_STRUCTURE_TYPE_FENCE_GET_FD_INFO_KHR, .fence = done,
		.handleType = VK_EXTERNAL_FENCE_HANDLE_TYPE_OPAQUE_FD_BIT};
	int fd = -1;
	CHECK(((PFN_vkGetFenceFdKHR)command(&p->g, "vkGetFenceFdKHR"))(p->g.device, &get, &fd));
	send_fd(p, fd);
	write_block(p, &b, NULL, NULL, done);
	tell(p);
	finish_peer(p, &b);
	vkDestroyFence(p->g.device, done, NULL);
}

static void second(struct peer *p) {
	struct block b = import_block(p);
	VkFence done = make_fence(&p->g);
	VkImportFenceFdInfoKHR info = {.sType = VK_STRUCTURE_TYPE_IMPORT_FENCE_FD_INFO_KHR, .fence = done,
		.handleType = VK_EXTERNAL_FENCE_HANDLE_TYPE_OPAQUE_FD_BIT, .fd = receive_fd(p)};
	CHECK(((PFN_vkImportFenceFdKHR)command(&p->g, "vkImportFenceFdKHR"))(p->g.device, &info));
	hear(p);
	CORRECT(wait_fence(&p->g, done);)
	read_block(p, &b, NULL, NULL, NULL);
	finish_peer(p, &b);
	vkDestroyFence(p->g.device, done, NULL);
}

int main(void) { return two(first, second); }
