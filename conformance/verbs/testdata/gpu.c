// Two programs. The owner uses Vulkan and verbs: it registers device memory, by its remote address or a descriptor of
// it, and its queue and a shader look at what the peer did, and work on it. The peer knows verbs alone.
//
// gpu (owner SHADER|peer) (address|opaque_fd|dma_buf)
// gpu rights
#include "meet.h"
#include <vulkan/vulkan.h>

#define VK(call)                                                                       \
	do {                                                                           \
		VkResult result_ = (call);                                             \
		if (result_ != VK_SUCCESS) {                                           \
			fprintf(stderr, "line %d: %s: %d\n", __LINE__, #call, result_); \
			exit(1);                                                       \
		}                                                                      \
	} while (0)

// locally is how work ends whose local entry is the memory at an address, between it and memory of this process.
static enum ibv_wc_status locally(enum ibv_wr_opcode opcode, uint64_t at, uint32_t key) {
	struct ibv_qp *others = qp;
	struct ibv_qp_init_attr init = {.send_cq = cq, .recv_cq = cq, .qp_type = IBV_QPT_RC,
					.cap = {.max_send_wr = 1, .max_recv_wr = 1, .max_send_sge = 1, .max_recv_sge = 1}};
	NEED((qp = ibv_create_qp(pd, &init)));
	connect_to(qp, qp->qp_num);
	char other[64];
	struct ibv_mr *mr = ibv_reg_mr(pd, other, sizeof other, RIGHTS);
	NEED(mr);
	enum ibv_wc_status status = work(opcode, (struct ibv_sge){at, sizeof other, key}, (uintptr_t)other, mr->rkey, 0);
	NEED(ibv_destroy_qp(qp) == 0 && ibv_dereg_mr(mr) == 0);
	qp = others;
	return status;
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

static VkBuffer new_buffer(void *next, VkBufferUsageFlags usage) {
	VkBufferCreateInfo info = {VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO, next, 0, SIZE, usage};
	VkBuffer buffer;
	VK(vkCreateBuffer(device, &info, NULL, &buffer));
	return buffer;
}

// host is a buffer that this program reads, and where it does.
static VkBuffer host(VkBufferUsageFlags usage, void **at) {
	VkBuffer buffer = new_buffer(NULL, usage);
	VkDeviceMemory memory =
		memory_of(buffer, VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT, NULL);
	VK(vkMapMemory(device, memory, 0, SIZE, 0, at));
	return buffer;
}

static VkCommandPool pool;
static VkQueue queue;

static VkCommandBuffer commands(void) {
	VkCommandBufferAllocateInfo info = {VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO, NULL, pool,
					    VK_COMMAND_BUFFER_LEVEL_PRIMARY, 1};
	VkCommandBuffer c;
	VK(vkAllocateCommandBuffers(device, &info, &c));
	VkCommandBufferBeginInfo begin = {VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO};
	VK(vkBeginCommandBuffer(c, &begin));
	return c;
}

static void run(VkCommandBuffer c) {
	VK(vkEndCommandBuffer(c));
	VkSubmitInfo submit = {VK_STRUCTURE_TYPE_SUBMIT_INFO, NULL, 0, NULL, NULL, 1, &c};
	VK(vkQueueSubmit(queue, 1, &submit, VK_NULL_HANDLE));
	VK(vkQueueWaitIdle(queue));
}

static VkPipeline pipeline;
static VkPipelineLayout layout;
static VkDescriptorSet set;

// load makes the shader of a file ready to work on memory, and to count in wrong.
static void load(const char *file, VkBuffer memory, VkBuffer wrong) {
	static uint32_t code[4096];
	FILE *f = fopen(file, "rb");
	NEED(f);
	size_t size = fread(code, 1, sizeof code, f);
	NEED(size > 0 && size < sizeof code && fclose(f) == 0);
	VkShaderModuleCreateInfo text = {VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO, NULL, 0, size, code};
	VkShaderModule module;
	VK(vkCreateShaderModule(device, &text, NULL, &module));
	VkDescriptorSetLayoutBinding bindings[2];
	VkDescriptorBufferInfo buffers[2] = {{memory, 0, VK_WHOLE_SIZE}, {wrong, 0, VK_WHOLE_SIZE}};
	for (uint32_t i = 0; i < 2; i++)
		bindings[i] = (VkDescriptorSetLayoutBinding){i, VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, 1, VK_SHADER_STAGE_COMPUTE_BIT};
	VkDescriptorSetLayoutCreateInfo sets = {VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO, NULL, 0, 2, bindings};
	VkDescriptorSetLayout of_set;
	VK(vkCreateDescriptorSetLayout(device, &sets, NULL, &of_set));
	VkPushConstantRange push = {VK_SHADER_STAGE_COMPUTE_BIT, 0, 16};
	VkPipelineLayoutCreateInfo lay = {VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO, NULL, 0, 1, &of_set, 1, &push};
	VK(vkCreatePipelineLayout(device, &lay, NULL, &layout));
	VkComputePipelineCreateInfo make = {
		VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO,
		.stage = {VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO, NULL, 0, VK_SHADER_STAGE_COMPUTE_BIT, module, "main"},
		.layout = layout};
	VK(vkCreateComputePipelines(device, VK_NULL_HANDLE, 1, &make, NULL, &pipeline));
	VkDescriptorPoolSize room = {VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, 2};
	VkDescriptorPoolCreateInfo pools = {VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO, NULL, 0, 1, 1, &room};
	VkDescriptorPool from;
	VK(vkCreateDescriptorPool(device, &pools, NULL, &from));
	VkDescriptorSetAllocateInfo take = {VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO, NULL, from, 1, &of_set};
	VK(vkAllocateDescriptorSets(device, &take, &set));
	VkWriteDescriptorSet write = {VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET, NULL, set, 0, 0, 2,
				      VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, NULL, buffers};
	vkUpdateDescriptorSets(device, 1, &write, 0, NULL);
}

// step has the shader check one pattern, with what was added, and write another one. What it writes the host may read.
static void step(uint32_t from, uint32_t added, uint32_t to) {
	uint32_t push[4] = {from, to, COUNTER / 4, added};
	VkCommandBuffer c = commands();
	vkCmdBindPipeline(c, VK_PIPELINE_BIND_POINT_COMPUTE, pipeline);
	vkCmdBindDescriptorSets(c, VK_PIPELINE_BIND_POINT_COMPUTE, layout, 0, 1, &set, 0, NULL);
	vkCmdPushConstants(c, layout, VK_SHADER_STAGE_COMPUTE_BIT, 0, sizeof push, push);
	vkCmdDispatch(c, WORDS / 64, 1, 1);
	VkMemoryBarrier seen = {VK_STRUCTURE_TYPE_MEMORY_BARRIER, NULL, VK_ACCESS_SHADER_WRITE_BIT, VK_ACCESS_HOST_READ_BIT};
	vkCmdPipelineBarrier(c, VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT, VK_PIPELINE_STAGE_HOST_BIT, 0, 1, &seen, 0, NULL, 0,
		NULL);
	run(c);
}

// copied is what the queue reads from memory.
static const void *copied(VkBuffer memory) {
	static VkBuffer staging;
	static void *at;
	if (!at)
		staging = host(VK_BUFFER_USAGE_TRANSFER_DST_BIT, &at);
	VkCommandBuffer c = commands();
	VkBufferCopy all = {0, 0, SIZE};
	vkCmdCopyBuffer(c, memory, staging, 1, &all);
	VkMemoryBarrier seen = {VK_STRUCTURE_TYPE_MEMORY_BARRIER, NULL, VK_ACCESS_TRANSFER_WRITE_BIT, VK_ACCESS_HOST_READ_BIT};
	vkCmdPipelineBarrier(c, VK_PIPELINE_STAGE_TRANSFER_BIT, VK_PIPELINE_STAGE_HOST_BIT, 0, 1, &seen, 0, NULL, 0, NULL);
	run(c);
	return at;
}

// A kind is a way to name device memory to verbs.
struct kind {
	const char *name;
	VkExternalMemoryHandleTypeFlagBits type;
	VkMemoryPropertyFlags properties;
	const char *extensions[2];
};

static const struct kind kinds[] = {
	{"address", VK_EXTERNAL_MEMORY_HANDLE_TYPE_RDMA_ADDRESS_BIT_NV, VK_MEMORY_PROPERTY_RDMA_CAPABLE_BIT_NV,
	 {VK_NV_EXTERNAL_MEMORY_RDMA_EXTENSION_NAME}},
	{"opaque_fd", VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT, 0,
	 {VK_KHR_EXTERNAL_MEMORY_FD_EXTENSION_NAME, VK_KHR_EXTERNAL_SEMAPHORE_FD_EXTENSION_NAME}},
	{"dma_buf", VK_EXTERNAL_MEMORY_HANDLE_TYPE_DMA_BUF_BIT_EXT, 0,
	 {VK_KHR_EXTERNAL_MEMORY_FD_EXTENSION_NAME, VK_EXT_EXTERNAL_MEMORY_DMA_BUF_EXTENSION_NAME}},
};

static void open_vulkan(const struct kind *k) {
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
	int remote = k->type == VK_EXTERNAL_MEMORY_HANDLE_TYPE_RDMA_ADDRESS_BIT_NV;
	VkDeviceCreateInfo open = {VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO, remote ? &feature : NULL, 0, 1, &queues, 0, NULL,
				   remote ? 1 : 2, k->extensions};
	VK(vkCreateDevice(physical, &open, NULL, &device));
	vkGetDeviceQueue(device, 0, 0, &queue);
	VkCommandPoolCreateInfo pools = {VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO};
	VK(vkCreateCommandPool(device, &pools, NULL, &pool));
}

static void *remote_address(VkDeviceMemory memory) {
	PFN_vkGetMemoryRemoteAddressNV get =
		(PFN_vkGetMemoryRemoteAddressNV)vkGetDeviceProcAddr(device, "vkGetMemoryRemoteAddressNV");
	VkMemoryGetRemoteAddressInfoNV which = {VK_STRUCTURE_TYPE_MEMORY_GET_REMOTE_ADDRESS_INFO_NV, NULL, memory,
						VK_EXTERNAL_MEMORY_HANDLE_TYPE_RDMA_ADDRESS_BIT_NV};
	VkRemoteAddressNV where;
	VK(get(device, &which, &where));
	return where;
}

// by_address registers memory by its remote address.
static struct ibv_mr *by_address(VkDeviceMemory memory, uint64_t *address) {
	char *at = remote_address(memory);
	CHECK(!ibv_reg_mr(pd, at - 1, 8, RIGHTS) && errno == EFAULT);
	CHECK(!ibv_reg_mr(pd, at + SIZE - 4, 8, RIGHTS) && errno == EFAULT);
	CHECK(!ibv_reg_mr(pd, at, (size_t)SIZE * 2, RIGHTS) && errno == EFAULT);
	struct ibv_mr *part = ibv_reg_mr(pd, at + 4097, 100, IBV_ACCESS_REMOTE_READ);
	NEED(part && part->addr == at + 4097 && part->length == 100);
	CHECK(ibv_dereg_mr(part) == 0);
	struct ibv_mr *mr = ibv_reg_mr(pd, at, SIZE, RIGHTS);
	NEED(mr && mr->addr == at);
	*address = (uintptr_t)at;
	return mr;
}

// refuses wants that a descriptor is no memory for verbs.
static void refuses(int fd, uint64_t offset, size_t length, int reason) {
	errno = 0;
	CHECK(!ibv_reg_dmabuf_mr(pd, offset, length, 0, fd, RIGHTS) && errno == reason, "want errno %d", reason);
}

// by_descriptor registers memory by a descriptor of vkGetMemoryFdKHR, with an address that it has for users alone.
static struct ibv_mr *by_descriptor(VkDeviceMemory memory, const struct kind *k, uint64_t *address) {
	PFN_vkGetMemoryFdKHR get = (PFN_vkGetMemoryFdKHR)vkGetDeviceProcAddr(device, "vkGetMemoryFdKHR");
	VkMemoryGetFdInfoKHR which = {VK_STRUCTURE_TYPE_MEMORY_GET_FD_INFO_KHR, NULL, memory, k->type};
	int fd, closed, ends[2];
	VK(get(device, &which, &fd));
	refuses(fd, 0, (size_t)SIZE * 2, EINVAL);
	refuses(fd, SIZE, 8, EINVAL);
	refuses(fd, SIZE - 4, 8, EINVAL);
	refuses(fd, UINT64_MAX - 3, 8, EINVAL);
	refuses(fd, 0, 0, EINVAL);
	NEED(pipe(ends) == 0 && (closed = dup(fd)) >= 0 && close(closed) == 0);
	refuses(closed, 0, SIZE, EBADF);
	refuses(ends[0], 0, SIZE, EINVAL);
	*address = 0x70000000000;
	struct ibv_mr *mr = ibv_reg_dmabuf_mr(pd, 0, SIZE, *address, fd, RIGHTS);
	NEED(mr && mr->addr == NULL && mr->length == SIZE);
	CHECK(close(fd) == 0); // the region needs it no more
	return mr;
}

// lookalike wants a semaphore's descriptor, which a program may take for memory's, to be refused.
static void lookalike(void) {
	VkExportSemaphoreCreateInfo export = {VK_STRUCTURE_TYPE_EXPORT_SEMAPHORE_CREATE_INFO, NULL,
					      VK_EXTERNAL_SEMAPHORE_HANDLE_TYPE_OPAQUE_FD_BIT};
	VkSemaphoreCreateInfo make = {VK_STRUCTURE_TYPE_SEMAPHORE_CREATE_INFO, &export};
	VkSemaphore semaphore;
	VK(vkCreateSemaphore(device, &make, NULL, &semaphore));
	PFN_vkGetSemaphoreFdKHR get = (PFN_vkGetSemaphoreFdKHR)vkGetDeviceProcAddr(device, "vkGetSemaphoreFdKHR");
	VkSemaphoreGetFdInfoKHR which = {VK_STRUCTURE_TYPE_SEMAPHORE_GET_FD_INFO_KHR, NULL, semaphore,
					 VK_EXTERNAL_SEMAPHORE_HANDLE_TYPE_OPAQUE_FD_BIT};
	int fd;
	VK(get(device, &which, &fd));
	refuses(fd, 0, SIZE, EINVAL);
	CHECK(close(fd) == 0);
	vkDestroySemaphore(device, semaphore, NULL);
}

static int owner(const struct kind *k, const char *shader) {
	open_vulkan(k);
	VkExternalMemoryBufferCreateInfo outside = {VK_STRUCTURE_TYPE_EXTERNAL_MEMORY_BUFFER_CREATE_INFO, NULL, k->type};
	VkExportMemoryAllocateInfo export = {VK_STRUCTURE_TYPE_EXPORT_MEMORY_ALLOCATE_INFO, NULL, k->type};
	VkBuffer buffer = new_buffer(&outside, VK_BUFFER_USAGE_TRANSFER_SRC_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT |
						       VK_BUFFER_USAGE_STORAGE_BUFFER_BIT);
	VkDeviceMemory memory = memory_of(buffer, k->properties, &export);
	uint32_t *wrong;
	load(shader, buffer, host(VK_BUFFER_USAGE_STORAGE_BUFFER_BIT, (void **)&wrong));
	*wrong = 0;

	open_device();
	NEED((pd = ibv_alloc_pd(context)));
	uint64_t here, to;
	int remote = k->type == VK_EXTERNAL_MEMORY_HANDLE_TYPE_RDMA_ADDRESS_BIT_NV;
	struct ibv_mr *mr = remote ? by_address(memory, &here) : by_descriptor(memory, k, &here);
	if (k->type == VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT)
		lookalike();
	uint32_t key = mr->rkey;
	to = here;
	meet(&to, &key);

	VkCommandBuffer c = commands();
	vkCmdFillBuffer(c, buffer, 0, SIZE, 0x55aa55aa);
	run(c);
	say("filled");
	hear("written");
	CHECK(filled(copied(buffer), 1, PEERS)); // the queue sees what the peer did, and so does the shader
	step(1, PEERS, 2);
	CHECK(*wrong == 0, "%u words", *wrong);

	// The queue pair of this process reads device memory by a local entry, and writes it to the peer.
	const struct ibv_sge all = {here, SIZE, mr->lkey}, one = {here + 4096, 8, mr->lkey};
	CHECK(work(IBV_WR_RDMA_WRITE, all, to, key, 0) == IBV_WC_SUCCESS);
	say("computed");
	hear("prepared");
	for (int i = 0; i < 4; i++)
		CHECK(work(IBV_WR_ATOMIC_FETCH_AND_ADD, one, to + COUNTER, key, OWNERS / 4) == IBV_WC_SUCCESS);
	CHECK(work(IBV_WR_RDMA_READ, all, to, key, 0) == IBV_WC_SUCCESS);
	step(3, OWNERS, 4);
	CHECK(*wrong == 0, "%u words", *wrong);
	say("taken");
	hear("checked");

	CHECK(locally(IBV_WR_RDMA_WRITE, here, mr->lkey) == IBV_WC_SUCCESS);
	vkDestroyBuffer(device, buffer, NULL);
	vkFreeMemory(device, memory, NULL);
	if (remote) {
		CHECK(locally(IBV_WR_RDMA_WRITE, here, mr->lkey) == IBV_WC_LOC_PROT_ERR);
		CHECK(locally(IBV_WR_RDMA_READ, here, mr->lkey) == IBV_WC_LOC_PROT_ERR);
	} else {
		say("freed");
		hear("checked");
		CHECK(ibv_dereg_mr(mr) == 0);
	}
	say("ended");
	hear("refused");
	if (remote) {
		CHECK(!ibv_reg_mr(pd, (void *)here, 8, RIGHTS) && errno == EFAULT);
		CHECK(ibv_dereg_mr(mr) == 0);
	}
	CHECK(ibv_destroy_qp(qp) == 0 && ibv_destroy_cq(cq) == 0 && ibv_dealloc_pd(pd) == 0);
	return failures != 0;
}

// rights says with which rights memory can be registered that the process has asked Farside to restrict. The rights of
// a region can be changed to the same ones.
static int rights(void) {
	open_vulkan(&kinds[0]);
	VkExternalMemoryBufferCreateInfo outside = {VK_STRUCTURE_TYPE_EXTERNAL_MEMORY_BUFFER_CREATE_INFO, NULL, kinds[0].type};
	VkExportMemoryAllocateInfo export = {VK_STRUCTURE_TYPE_EXPORT_MEMORY_ALLOCATE_INFO, NULL, kinds[0].type};
	VkBuffer buffer = new_buffer(&outside, VK_BUFFER_USAGE_STORAGE_BUFFER_BIT);
	void *at = remote_address(memory_of(buffer, kinds[0].properties, &export));
	open_device();
	NEED((pd = ibv_alloc_pd(context)) && (cq = ibv_create_cq(context, 4, NULL, NULL, 0)));
	const struct {
		const char *name;
		int flags;
	} all[] = {{"read", IBV_ACCESS_REMOTE_READ}, {"local", IBV_ACCESS_LOCAL_WRITE},
		   {"write", IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE},
		   {"atomic", IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_ATOMIC}};
	struct ibv_mr *changed = ibv_reg_mr(pd, at, SIZE, 0);
	NEED(changed);
	for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
		errno = 0;
		struct ibv_mr *mr = ibv_reg_mr(pd, at, SIZE, all[i].flags);
		CHECK(mr || errno == EFAULT);
		CHECK((ibv_rereg_mr(changed, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0, all[i].flags) == 0) == (mr != NULL));
		if (mr) {
			printf("%s\n", all[i].name);
			if (all[i].flags & IBV_ACCESS_LOCAL_WRITE) // which the region that is changed now has, too
				CHECK(locally(IBV_WR_RDMA_READ, (uintptr_t)at, changed->lkey) == IBV_WC_SUCCESS);
			CHECK(ibv_dereg_mr(mr) == 0);
		}
	}
	CHECK(ibv_dereg_mr(changed) == 0);
	return failures != 0;
}

int main(int argc, char **argv) {
	const char *name = argv[argc - 1];
	if (strcmp(name, "rights") == 0)
		return rights();
	for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
		if (strcmp(kinds[i].name, name) == 0)
			return argc == 3 ? peer(i > 0) : owner(&kinds[i], argv[2]);
	fprintf(stderr, "%s: no such kind\n", name);
	return 2;
}
