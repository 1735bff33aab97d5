// Two programs. The owner uses Vulkan and verbs: it registers device memory by its remote address, and its queue looks at
// what the peer did. The peer knows verbs alone. They talk by lines on standard input and output.
#include "common.h"
#include <vulkan/vulkan.h>

#define VK(call)                                                                       \
	do {                                                                           \
		VkResult result_ = (call);                                             \
		if (result_ != VK_SUCCESS) {                                           \
			fprintf(stderr, "line %d: %s: %d\n", __LINE__, #call, result_); \
			exit(1);                                                       \
		}                                                                      \
	} while (0)

enum { SIZE = 1 << 20, RIGHTS = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |
	      IBV_ACCESS_REMOTE_ATOMIC };

static struct ibv_pd *pd;
static struct ibv_cq *cq;
static struct ibv_qp *qp;

static void hear(const char *want) {
	char line[64];
	if (!fgets(line, sizeof line, stdin) || strncmp(line, want, strlen(want)) != 0) {
		fprintf(stderr, "heard %s, not %s\n", line, want);
		exit(1);
	}
}

static void say(const char *what) {
	puts(what);
	fflush(stdout);
}

// meet connects with the other program, tells it of memory and returns what it tells.
static void meet(uint64_t *address, uint32_t *key) {
	NEED((cq = ibv_create_cq(context, 16, NULL, NULL, 0)));
	struct ibv_qp_init_attr init = {.send_cq = cq, .recv_cq = cq, .qp_type = IBV_QPT_RC,
					.cap = {.max_send_wr = 8, .max_recv_wr = 8, .max_send_sge = 1, .max_recv_sge = 1}};
	NEED((qp = ibv_create_qp(pd, &init)));
	uint64_t half[2]; // of a GID
	memcpy(half, &self, sizeof self);
	printf("%x %lx %x %lx %lx\n", qp->qp_num, (unsigned long)*address, *key, half[0], half[1]);
	fflush(stdout);
	unsigned number, theirs;
	unsigned long at;
	NEED(scanf("%x %lx %x %lx %lx", &number, &at, &theirs, &half[0], &half[1]) == 5 && getchar() == '\n');
	*address = at;
	*key = theirs;
	union ibv_gid gid;
	memcpy(&gid, half, sizeof gid);
	connect_to_host(qp, number, gid);
}

static enum ibv_wc_status work(enum ibv_wr_opcode opcode, struct ibv_sge sge, uint64_t to, uint32_t key, uint64_t add) {
	struct ibv_send_wr wr = {.sg_list = &sge, .num_sge = 1, .opcode = opcode, .send_flags = IBV_SEND_SIGNALED}, *bad;
	if (opcode == IBV_WR_ATOMIC_FETCH_AND_ADD) {
		wr.wr.atomic.remote_addr = to;
		wr.wr.atomic.compare_add = add;
		wr.wr.atomic.rkey = key;
	} else {
		wr.wr.rdma.remote_addr = to;
		wr.wr.rdma.rkey = key;
	}
	NEED(ibv_post_send(qp, &wr, &bad) == 0);
	return wait_for(cq).status;
}

// locally is how work ends whose local entry is the memory at an address, between it and memory of this process.
static enum ibv_wc_status locally(enum ibv_wr_opcode opcode, void *at, uint32_t key) {
	struct ibv_qp *others = qp;
	struct ibv_qp_init_attr init = {.send_cq = cq, .recv_cq = cq, .qp_type = IBV_QPT_RC,
					.cap = {.max_send_wr = 1, .max_recv_wr = 1, .max_send_sge = 1, .max_recv_sge = 1}};
	NEED((qp = ibv_create_qp(pd, &init)));
	connect_to(qp, qp->qp_num);
	char other[64];
	struct ibv_mr *mr = ibv_reg_mr(pd, other, sizeof other, RIGHTS);
	NEED(mr);
	enum ibv_wc_status status = work(opcode, (struct ibv_sge){(uintptr_t)at, sizeof other, key}, (uintptr_t)other, mr->rkey, 0);
	NEED(ibv_destroy_qp(qp) == 0 && ibv_dereg_mr(mr) == 0);
	qp = others;
	return status;
}

static int peer(void) {
	open_device();
	NEED((pd = ibv_alloc_pd(context)));
	char *mine = calloc(1, SIZE);
	struct ibv_mr *mr = ibv_reg_mr(pd, mine, SIZE, RIGHTS);
	NEED(mr);
	uint64_t to = (uintptr_t)mine;
	uint32_t key = mr->rkey;
	meet(&to, &key);
	hear("filled");
	struct ibv_sge sge = {(uintptr_t)mine, SIZE, mr->lkey};
	NEED(work(IBV_WR_RDMA_READ, sge, to, key, 0) == IBV_WC_SUCCESS);
	for (int i = 0; i < SIZE; i += 4)
		NEED(*(uint32_t *)(mine + i) == 0x55aa55aa);
	strcpy(mine + 8, "written by a peer");
	sge.length = 64;
	NEED(work(IBV_WR_RDMA_WRITE, sge, to, key, 0) == IBV_WC_SUCCESS);
	sge.length = 8;
	for (int i = 0; i < 10; i++)
		NEED(work(IBV_WR_ATOMIC_FETCH_AND_ADD, sge, to + 128, key, 3) == IBV_WC_SUCCESS);
	say("written");
	hear("freed");
	enum ibv_wc_status status = work(IBV_WR_RDMA_WRITE, sge, to, key, 0);
	fprintf(stderr, "after vkFreeMemory: %s\n", ibv_wc_status_str(status));
	NEED(status == IBV_WC_REM_ACCESS_ERR);
	say("refused");
	return 0;
}

static VkDevice device;
static VkPhysicalDevice physical;

static VkDeviceMemory memory_of(VkBuffer buffer, VkMemoryPropertyFlags flags, void *next) {
	VkPhysicalDeviceMemoryProperties types;
	vkGetPhysicalDeviceMemoryProperties(physical, &types);
	VkMemoryRequirements need;
	vkGetBufferMemoryRequirements(device, buffer, &need);
	for (uint32_t i = 0; i < types.memoryTypeCount; i++)
		if ((need.memoryTypeBits >> i & 1) && (types.memoryTypes[i].propertyFlags & flags) == flags) {
			VkMemoryAllocateInfo info = {VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO, next, need.size, i};
			VkDeviceMemory memory;
			VK(vkAllocateMemory(device, &info, NULL, &memory));
			VK(vkBindBufferMemory(device, buffer, memory, 0));
			return memory;
		}
	fprintf(stderr, "no type of memory with %x\n", flags);
	exit(1);
}

static VkBuffer new_buffer(void *next) {
	VkBufferCreateInfo info = {VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO, next, 0, SIZE,
				   VK_BUFFER_USAGE_TRANSFER_SRC_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT};
	VkBuffer buffer;
	VK(vkCreateBuffer(device, &info, NULL, &buffer));
	return buffer;
}

static VkCommandBuffer commands(VkCommandPool pool) {
	VkCommandBufferAllocateInfo info = {VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO, NULL, pool,
					    VK_COMMAND_BUFFER_LEVEL_PRIMARY, 1};
	VkCommandBuffer c;
	VK(vkAllocateCommandBuffers(device, &info, &c));
	VkCommandBufferBeginInfo begin = {VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO};
	VK(vkBeginCommandBuffer(c, &begin));
	return c;
}

static void run(VkQueue queue, VkCommandBuffer c) {
	VK(vkEndCommandBuffer(c));
	VkSubmitInfo submit = {VK_STRUCTURE_TYPE_SUBMIT_INFO, NULL, 0, NULL, NULL, 1, &c};
	VK(vkQueueSubmit(queue, 1, &submit, VK_NULL_HANDLE));
	VK(vkQueueWaitIdle(queue));
}

static int owner(void) {
	VkApplicationInfo app = {VK_STRUCTURE_TYPE_APPLICATION_INFO, .apiVersion = VK_API_VERSION_1_1};
	VkInstanceCreateInfo make = {VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO, .pApplicationInfo = &app};
	VkInstance instance;
	VK(vkCreateInstance(&make, NULL, &instance));
	uint32_t one = 1;
	VkResult r = vkEnumeratePhysicalDevices(instance, &one, &physical);
	NEED(r == VK_SUCCESS || r == VK_INCOMPLETE);
	float priority = 1;
	VkDeviceQueueCreateInfo queues = {VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO, NULL, 0, 0, 1, &priority};
	VkPhysicalDeviceExternalMemoryRDMAFeaturesNV feature = {
		VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_EXTERNAL_MEMORY_RDMA_FEATURES_NV, NULL, VK_TRUE};
	const char *extensions[] = {VK_NV_EXTERNAL_MEMORY_RDMA_EXTENSION_NAME};
	VkDeviceCreateInfo open = {VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO, &feature, 0, 1, &queues, 0, NULL, 1, extensions};
	VK(vkCreateDevice(physical, &open, NULL, &device));
	VkExternalMemoryBufferCreateInfo outside = {VK_STRUCTURE_TYPE_EXTERNAL_MEMORY_BUFFER_CREATE_INFO, NULL,
						    VK_EXTERNAL_MEMORY_HANDLE_TYPE_RDMA_ADDRESS_BIT_NV};
	VkExportMemoryAllocateInfo export = {VK_STRUCTURE_TYPE_EXPORT_MEMORY_ALLOCATE_INFO, NULL,
					     VK_EXTERNAL_MEMORY_HANDLE_TYPE_RDMA_ADDRESS_BIT_NV};
	VkBuffer remote = new_buffer(&outside), staging = new_buffer(NULL);
	VkDeviceMemory memory = memory_of(remote, VK_MEMORY_PROPERTY_RDMA_CAPABLE_BIT_NV, &export);
	VkDeviceMemory host = memory_of(staging, VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT, NULL);
	char *seen;
	VK(vkMapMemory(device, host, 0, SIZE, 0, (void **)&seen));
	PFN_vkGetMemoryRemoteAddressNV get = (PFN_vkGetMemoryRemoteAddressNV)vkGetDeviceProcAddr(device, "vkGetMemoryRemoteAddressNV");
	VkMemoryGetRemoteAddressInfoNV which = {VK_STRUCTURE_TYPE_MEMORY_GET_REMOTE_ADDRESS_INFO_NV, NULL, memory,
						VK_EXTERNAL_MEMORY_HANDLE_TYPE_RDMA_ADDRESS_BIT_NV};
	VkRemoteAddressNV where;
	VK(get(device, &which, &where));

	open_device();
	NEED((pd = ibv_alloc_pd(context)));
	char *at = (char *)where;
	CHECK(!ibv_reg_mr(pd, at - 1, 8, RIGHTS) && errno == EFAULT);
	CHECK(!ibv_reg_mr(pd, at + SIZE - 4, 8, RIGHTS) && errno == EFAULT);
	CHECK(!ibv_reg_mr(pd, at, (size_t)SIZE * 2, RIGHTS) && errno == EFAULT);
	struct ibv_mr *part = ibv_reg_mr(pd, at + 4097, 100, IBV_ACCESS_REMOTE_READ);
	NEED(part && part->addr == at + 4097 && part->length == 100);
	CHECK(ibv_dereg_mr(part) == 0);
	struct ibv_mr *mr = ibv_reg_mr(pd, at, SIZE, RIGHTS);
	NEED(mr && mr->addr == at);
	uint64_t to = (uintptr_t)at;
	uint32_t key = mr->rkey;
	meet(&to, &key);

	VkQueue queue;
	vkGetDeviceQueue(device, 0, 0, &queue);
	VkCommandPoolCreateInfo pools = {VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO};
	VkCommandPool pool;
	VK(vkCreateCommandPool(device, &pools, NULL, &pool));
	VkCommandBuffer c = commands(pool);
	vkCmdFillBuffer(c, remote, 0, SIZE, 0x55aa55aa);
	run(queue, c);
	say("filled");
	hear("written");
	c = commands(pool);
	VkBufferCopy all = {0, 0, SIZE};
	vkCmdCopyBuffer(c, remote, staging, 1, &all);
	run(queue, c);
	CHECK(strcmp(seen + 8, "written by a peer") == 0, "%.20s", seen + 8);
	CHECK(*(uint64_t *)(seen + 128) == 0x55aa55aa55aa55aa + 30);

	// The queue pair of this process reads device memory by a local entry, and writes it to the peer.
	struct ibv_sge sge = {(uintptr_t)at, SIZE, mr->lkey};
	CHECK(work(IBV_WR_RDMA_WRITE, sge, to, key, 0) == IBV_WC_SUCCESS);
	CHECK(locally(IBV_WR_RDMA_WRITE, at, mr->lkey) == IBV_WC_SUCCESS && locally(IBV_WR_RDMA_READ, at, mr->lkey) == IBV_WC_SUCCESS);
	vkDestroyBuffer(device, remote, NULL);
	vkFreeMemory(device, memory, NULL);
	CHECK(locally(IBV_WR_RDMA_WRITE, at, mr->lkey) == IBV_WC_LOC_PROT_ERR);
	CHECK(locally(IBV_WR_RDMA_READ, at, mr->lkey) == IBV_WC_LOC_PROT_ERR);
	say("freed");
	hear("refused");
	CHECK(!ibv_reg_mr(pd, at, 8, RIGHTS) && errno == EFAULT);
	CHECK(ibv_dereg_mr(mr) == 0);
	CHECK(ibv_destroy_qp(qp) == 0 && ibv_destroy_cq(cq) == 0 && ibv_dealloc_pd(pd) == 0);
	return failures != 0;
}

int main(int argc, char **argv) { return argc > 1 && strcmp(argv[1], "peer") == 0 ? peer() : owner(); }
