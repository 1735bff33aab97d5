// RDMA between two processes, measured from C, as programs use it. The child is the target: it polls its completion
// queue all the time. Prints lines of a key and nanoseconds.
#define _GNU_SOURCE
#include <infiniband/verbs.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <vulkan/vulkan.h>

enum { SIZE = 1 << 20, ROUNDS = 15, SMALL = 2000, LARGE = 20,
	RIGHTS = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE };

#define NEED(condition)                                                                  \
	do {                                                                             \
		if (!(condition)) {                                                      \
			fprintf(stderr, "verbs.c:%d: %s: %m\n", __LINE__, #condition); \
			_exit(1);                                                        \
		}                                                                        \
	} while (0)

// What the two tell each other.
static struct {
	volatile int ready[2];
	uint32_t number[2];
	uint64_t address[2]; // of the target's ordinary memory, and of its device memory
	uint32_t key[2];
	char other[SIZE]; // what memcpy writes to
} *shared;

static struct ibv_context *context;
static struct ibv_pd *pd;
static struct ibv_cq *cq;
static struct ibv_qp *qp;
static struct ibv_mr *regions[2]; // of ordinary memory, of device memory
static char *mapped;              // device memory

static int64_t now(void) {
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

// device_memory allocates memory with a remote address, and maps what lies behind it: an opaque descriptor is a memfd.
static uint64_t device_memory(void) {
	const uint32_t rdma = VK_EXTERNAL_MEMORY_HANDLE_TYPE_RDMA_ADDRESS_BIT_NV;
	VkApplicationInfo app = {VK_STRUCTURE_TYPE_APPLICATION_INFO, .apiVersion = VK_API_VERSION_1_1};
	VkInstanceCreateInfo make = {VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO, .pApplicationInfo = &app};
	VkInstance instance;
	NEED(vkCreateInstance(&make, NULL, &instance) == VK_SUCCESS);
	VkPhysicalDevice list[8], physical = NULL;
	uint32_t n = 8;
	NEED(vkEnumeratePhysicalDevices(instance, &n, list) >= 0 && n > 0);
	physical = list[0];
	float priority = 1;
	VkDeviceQueueCreateInfo queues = {VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO, NULL, 0, 0, 1, &priority};
	VkPhysicalDeviceExternalMemoryRDMAFeaturesNV feature = {
		VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_EXTERNAL_MEMORY_RDMA_FEATURES_NV, NULL, VK_TRUE};
	const char *extensions[] = {VK_NV_EXTERNAL_MEMORY_RDMA_EXTENSION_NAME, VK_KHR_EXTERNAL_MEMORY_FD_EXTENSION_NAME};
	VkDeviceCreateInfo open = {VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO, &feature, 0, 1, &queues, 0, NULL, 2, extensions,
		NULL};
	VkDevice device;
	NEED(vkCreateDevice(physical, &open, NULL, &device) == VK_SUCCESS);
	VkPhysicalDeviceMemoryProperties types;
	vkGetPhysicalDeviceMemoryProperties(physical, &types);
	uint32_t type = 0;
	while (type < types.memoryTypeCount &&
		!(types.memoryTypes[type].propertyFlags & VK_MEMORY_PROPERTY_RDMA_CAPABLE_BIT_NV))
		type++;
	VkExportMemoryAllocateInfo export = {VK_STRUCTURE_TYPE_EXPORT_MEMORY_ALLOCATE_INFO, NULL,
					     rdma | VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT};
	VkMemoryAllocateInfo info = {VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO, &export, SIZE, type};
	VkDeviceMemory memory;
	NEED(vkAllocateMemory(device, &info, NULL, &memory) == VK_SUCCESS);
	PFN_vkGetMemoryRemoteAddressNV get =
		(PFN_vkGetMemoryRemoteAddressNV)vkGetDeviceProcAddr(device, "vkGetMemoryRemoteAddressNV");
	VkMemoryGetRemoteAddressInfoNV which = {VK_STRUCTURE_TYPE_MEMORY_GET_REMOTE_ADDRESS_INFO_NV, NULL, memory, rdma};
	VkRemoteAddressNV where;
	NEED(get && get(device, &which, &where) == VK_SUCCESS);
	PFN_vkGetMemoryFdKHR get_fd = (PFN_vkGetMemoryFdKHR)vkGetDeviceProcAddr(device, "vkGetMemoryFdKHR");
	VkMemoryGetFdInfoKHR opaque = {VK_STRUCTURE_TYPE_MEMORY_GET_FD_INFO_KHR, NULL, memory,
				       VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT};
	int fd;
	NEED(get_fd && get_fd(device, &opaque, &fd) == VK_SUCCESS);
	mapped = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	NEED(mapped != MAP_FAILED);
	return (uintptr_t)where;
}

// side makes what each of the two has, and connects it with the other's.
static void side(int i) {
	int n;
	struct ibv_device **list = ibv_get_device_list(&n);
	NEED(list && n > 0 && (context = ibv_open_device(list[0])));
	NEED((pd = ibv_alloc_pd(context)) && (cq = ibv_create_cq(context, 64, NULL, NULL, 0)));
	char *ordinary = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	uint64_t device = device_memory();
	memset(ordinary, 1, SIZE);
	memset(mapped, 1, SIZE);
	NEED((regions[0] = ibv_reg_mr(pd, ordinary, SIZE, RIGHTS)));
	NEED((regions[1] = ibv_reg_mr(pd, (void *)(uintptr_t)device, SIZE, RIGHTS)));
	struct ibv_qp_init_attr init = {.send_cq = cq, .recv_cq = cq, .qp_type = IBV_QPT_RC,
					.cap = {.max_send_wr = 16, .max_recv_wr = 16, .max_send_sge = 1, .max_recv_sge = 1}};
	NEED((qp = ibv_create_qp(pd, &init)));
	shared->number[i] = qp->qp_num;
	for (int r = 0; i == 1 && r < 2; r++) {
		shared->address[r] = (uintptr_t)regions[r]->addr;
		shared->key[r] = regions[r]->rkey;
	}
	__sync_synchronize();
	shared->ready[i] = 1;
	while (!shared->ready[1 - i])
		usleep(1000);
	union ibv_gid self;
	NEED(ibv_query_gid(context, 1, 0, &self) == 0);
	struct ibv_qp_attr a = {.qp_state = IBV_QPS_INIT, .port_num = 1, .qp_access_flags = RIGHTS};
	NEED(ibv_modify_qp(qp, &a, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS) == 0);
	a = (struct ibv_qp_attr){.qp_state = IBV_QPS_RTR, .path_mtu = IBV_MTU_1024, .dest_qp_num = shared->number[1 - i],
		.max_dest_rd_atomic = 1, .min_rnr_timer = 12,
		.ah_attr = {.is_global = 1, .port_num = 1, .grh = {.dgid = self, .hop_limit = 1}}};
	NEED(ibv_modify_qp(qp, &a, IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
					   IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER) == 0);
	a = (struct ibv_qp_attr){.qp_state = IBV_QPS_RTS, .timeout = 20, .retry_cnt = 7, .rnr_retry = 7, .max_rd_atomic = 1};
	NEED(ibv_modify_qp(qp, &a, IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN |
					   IBV_QP_MAX_QP_RD_ATOMIC) == 0);
}

// writes measures n writes, each from its post to its completion, from and to memory of a kind.
static double writes(int kind, uint32_t size, int n) {
	struct ibv_sge sge = {(uintptr_t)regions[kind]->addr, size, regions[kind]->lkey};
	struct ibv_send_wr wr = {.sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_RDMA_WRITE, .send_flags = IBV_SEND_SIGNALED};
	struct ibv_send_wr *bad;
	wr.wr.rdma.remote_addr = shared->address[kind];
	wr.wr.rdma.rkey = shared->key[kind];
	struct ibv_wc wc;
	int64_t start = now();
	for (int i = 0; i < n; i++) {
		NEED(ibv_post_send(qp, &wr, &bad) == 0);
		int got;
		while ((got = ibv_poll_cq(cq, 1, &wc)) == 0)
			;
		NEED(got == 1 && wc.status == IBV_WC_SUCCESS);
	}
	return (double)(now() - start) / n;
}

static double copies(int n) {
	int64_t start = now();
	for (int i = 0; i < n; i++) {
		memcpy(shared->other, mapped, SIZE);
		__asm__ volatile("" ::: "memory");
	}
	return (double)(now() - start) / n;
}

int main(void) {
	shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	NEED(shared != MAP_FAILED);
	pid_t child = fork(); // before the library is used
	NEED(child >= 0);
	if (child == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		side(1);
		struct ibv_wc wc;
		for (;;)
			NEED(ibv_poll_cq(cq, 1, &wc) == 0);
	}
	side(0);
	static const char *kinds[] = {"ordinary", "device"};
	for (int k = 0; k < 2; k++) { // the first ones find the way
		writes(k, SIZE, 2);
		usleep(100000);
		writes(k, SIZE, 2);
	}
	copies(2);
	for (int round = 0; round < ROUNDS; round++) {
		for (int k = 0; k < 2; k++) {
			printf("verbs 8 %s %.1f\n", kinds[k], writes(k, 8, SMALL));
			printf("verbs 1M %s %.1f\n", kinds[k], writes(k, SIZE, LARGE));
		}
		printf("verbs memcpy %.1f\n", copies(LARGE));
	}
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	return 0;
}
