// A peer reads device memory by its remote address after the memory was freed.
#include "misuse.h"
#include "farside_rdma.h"

int main(void) {
	struct gpu g;
	static const char *const extensions[] = {VK_NV_EXTERNAL_MEMORY_RDMA_EXTENSION_NAME, NULL};
	open_gpu(&g, extensions);
	VkExportMemoryAllocateInfo info = {.sType = VK_STRUCTURE_TYPE_EXPORT_MEMORY_ALLOCATE_INFO,
		.handleTypes = VK_EXTERNAL_MEMORY_HANDLE_TYPE_RDMA_ADDRESS_BIT_NV};
	VkDeviceMemory m = allocate(&g, 4096, find_type(&g, ~0u, VK_MEMORY_PROPERTY_RDMA_CAPABLE_BIT_NV, 0), &info);
	VkMemoryGetRemoteAddressInfoNV get = {.sType = VK_STRUCTURE_TYPE_MEMORY_GET_REMOTE_ADDRESS_INFO_NV, .memory = m,
		.handleType = VK_EXTERNAL_MEMORY_HANDLE_TYPE_RDMA_ADDRESS_BIT_NV};
	VkRemoteAddressNV address;
	CHECK(((PFN_vkGetMemoryRemoteAddressNV)command(&g, "vkGetMemoryRemoteAddressNV"))(g.device, &get, &address));
	farside_peer *peer;
	uint64_t word = 0;
	if (farside_peer_open(NULL, &peer) || farside_read(peer, (uint64_t)(uintptr_t)address, &word, sizeof word))
		return 1;
	FAULT(vkFreeMemory(g.device, m, NULL);)
	(void)farside_read(peer, (uint64_t)(uintptr_t)address + 8, &word, sizeof word);
	CORRECT(vkFreeMemory(g.device, m, NULL);)
	farside_peer_close(peer);
	close_gpu(&g);
	return 0;
}
