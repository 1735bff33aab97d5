// What the programs share whose peers use remote addresses.
#include "async.h"
#include "farside_rdma.h"

#define REMOTE_ADDRESS VK_EXTERNAL_MEMORY_HANDLE_TYPE_RDMA_ADDRESS_BIT_NV

static const char *const rdma_extensions[] __attribute__((unused)) = {VK_NV_EXTERNAL_MEMORY_RDMA_EXTENSION_NAME, NULL};

static inline uint64_t remote_address(struct gpu *g, VkDeviceMemory m) {
	VkMemoryGetRemoteAddressInfoNV get = {.sType = VK_STRUCTURE_TYPE_MEMORY_GET_REMOTE_ADDRESS_INFO_NV,
		.memory = m, .handleType = REMOTE_ADDRESS};
	VkRemoteAddressNV at;
	CHECK(((PFN_vkGetMemoryRemoteAddressNV)command(g, "vkGetMemoryRemoteAddressNV"))(g->device, &get, &at));
	return (uint64_t)(uintptr_t)at;
}

// remote is make_block for memory that peers can use, with its address.
static inline struct block remote(struct gpu *g, VkDeviceSize size, uint64_t *address) {
	VkExportMemoryAllocateInfo info = {.sType = VK_STRUCTURE_TYPE_EXPORT_MEMORY_ALLOCATE_INFO,
		.handleTypes = REMOTE_ADDRESS};
	struct block b = make_block(g, size, VK_MEMORY_PROPERTY_RDMA_CAPABLE_BIT_NV, 0, REMOTE_ADDRESS, &info);
	*address = remote_address(g, b.memory);
	return b;
}

static inline farside_peer *open_peer(uint64_t address) {
	farside_peer *peer;
	uint64_t word;
	if (farside_peer_open(NULL, &peer) || farside_read(peer, address, &word, sizeof word))
		exit(1);
	return peer;
}

static inline void post(farside_peer *peer, uint32_t opcode, uint64_t address, void *local, size_t length,
	uint32_t flags) {
	struct farside_work work = {.wr_id = 1, .remote_address = address, .local = local, .length = length,
		.opcode = opcode, .flags = flags | FARSIDE_SIGNALLED};
	if (farside_post(peer, &work, 1))
		exit(1);
}

// await_work waits for n pieces of work.
static inline void await_work(farside_peer *peer, int n) {
	struct farside_completion c;
	for (int i = 0; i < n; i++)
		if (farside_poll(peer, &c, 1, 10000) != 1 || c.status != FARSIDE_SUCCESS)
			exit(1);
}

// read_back has the queue copy a block, and returns what was there.
static inline void *read_back(struct gpu *g, struct block *from, VkDeviceSize size) {
	struct block host = plain(g, size);
	copy(g, from->buffer, host.buffer, 0, size);
	void *at, *data = malloc(size);
	CHECK(vkMapMemory(g->device, host.memory, 0, size, 0, &at));
	memcpy(data, at, size);
	vkUnmapMemory(g->device, host.memory);
	free_block(g, &host);
	return data;
}
