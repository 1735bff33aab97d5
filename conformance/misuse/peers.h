// What the programs share that are two processes: the first makes memory and exports it, the second imports it.
#include "async.h"
#include <sys/socket.h>
#include <sys/wait.h>

#ifndef EXTENSIONS
#define EXTENSIONS \
	VK_KHR_EXTERNAL_MEMORY_FD_EXTENSION_NAME, VK_KHR_EXTERNAL_SEMAPHORE_FD_EXTENSION_NAME, \
		VK_KHR_EXTERNAL_FENCE_FD_EXTENSION_NAME, VK_KHR_TIMELINE_SEMAPHORE_EXTENSION_NAME
#endif

static const char *const peer_extensions[] = {EXTENSIONS, NULL};

// A process, and its end of the socket to the other one.
struct peer {
	struct gpu g;
	int socket;
	VkBuffer other; // 4096 bytes of its own
	struct block own;
};

static inline void send_fd(struct peer *p, int fd) {
	char byte = 0, control[CMSG_SPACE(sizeof fd)] = {0};
	struct iovec data = {&byte, 1};
	struct msghdr m = {.msg_iov = &data, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof control};
	struct cmsghdr *c = CMSG_FIRSTHDR(&m);
	*c = (struct cmsghdr){.cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS, .cmsg_len = CMSG_LEN(sizeof fd)};
	memcpy(CMSG_DATA(c), &fd, sizeof fd);
	if (sendmsg(p->socket, &m, 0) != 1)
		exit(1);
	close(fd);
}

static inline int receive_fd(struct peer *p) {
	char byte, control[CMSG_SPACE(sizeof(int))] = {0};
	struct iovec data = {&byte, 1};
	struct msghdr m = {.msg_iov = &data, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof control};
	int fd = -1;
	if (recvmsg(p->socket, &m, 0) != 1)
		exit(UNSUPPORTED); // the other process has ended
	memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&m)), sizeof fd);
	return fd;
}

static inline void tell(struct peer *p) {
	char byte = 1;
	if (write(p->socket, &byte, 1) != 1)
		exit(1);
}

static inline void hear(struct peer *p) {
	char byte;
	if (read(p->socket, &byte, 1) != 1)
		exit(UNSUPPORTED);
}

// two runs both processes, and returns the status of the program.
static inline int two(void (*first)(struct peer *), void (*second)(struct peer *)) {
	int ends[2], status = 0;
	if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends))
		return 1;
	pid_t child = fork();
	struct peer p = {.socket = ends[child == 0]};
	close(ends[child != 0]);
	open_gpu(&p.g, peer_extensions);
	p.own = plain(&p.g, 4096);
	p.other = p.own.buffer;
	(child ? first : second)(&p);
	CHECK(vkDeviceWaitIdle(p.g.device));
	// The other process' work may be the first's, too: both end together.
	tell(&p);
	hear(&p);
	free_block(&p.g, &p.own);
	close_gpu(&p.g);
	if (!child)
		return 0;
	waitpid(child, &status, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

// share_block makes memory that the other process gets by import_block.
static inline struct block share_block(struct peer *p) {
	struct block b = exportable(&p->g, 4096);
	send_fd(p, export_memory(&p->g, b.memory));
	return b;
}

static inline struct block import_block(struct peer *p) {
	struct block b = {.buffer = make_buffer(&p->g, 4096, OPAQUE_FD)};
	VkMemoryRequirements r;
	vkGetBufferMemoryRequirements(p->g.device, b.buffer, &r);
	b.size = r.size;
	b.type = find_type(&p->g, r.memoryTypeBits, VISIBLE | COHERENT, 0);
	CHECK(import_memory(&p->g, receive_fd(p), b.size, b.type, &b.memory));
	CHECK(vkBindBufferMemory(p->g.device, b.buffer, b.memory, 0));
	return b;
}

#define SEMAPHORE_FD VK_EXTERNAL_SEMAPHORE_HANDLE_TYPE_OPAQUE_FD_BIT
#define SEMAPHORE_SYNC VK_EXTERNAL_SEMAPHORE_HANDLE_TYPE_SYNC_FD_BIT

// exporting makes a semaphore that can be exported as a type.
static inline VkSemaphore exporting(struct peer *p, VkExternalSemaphoreHandleTypeFlagBits type, const void *next) {
	VkPhysicalDeviceExternalSemaphoreInfo ask = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_EXTERNAL_SEMAPHORE_INFO,
		.pNext = next, .handleType = type};
	VkExternalSemaphoreProperties properties = {.sType = VK_STRUCTURE_TYPE_EXTERNAL_SEMAPHORE_PROPERTIES};
	vkGetPhysicalDeviceExternalSemaphoreProperties(p->g.physical, &ask, &properties);
	VkExternalSemaphoreFeatureFlags both =
		VK_EXTERNAL_SEMAPHORE_FEATURE_EXPORTABLE_BIT | VK_EXTERNAL_SEMAPHORE_FEATURE_IMPORTABLE_BIT;
	if ((properties.externalSemaphoreFeatures & both) != both) {
		printf("the device does not share semaphores by %#x\n", type);
		exit(UNSUPPORTED);
	}
	VkExportSemaphoreCreateInfo types = {.sType = VK_STRUCTURE_TYPE_EXPORT_SEMAPHORE_CREATE_INFO, .pNext = next,
		.handleTypes = type};
	VkSemaphoreCreateInfo info = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_CREATE_INFO, .pNext = &types};
	VkSemaphore s;
	CHECK(vkCreateSemaphore(p->g.device, &info, NULL, &s));
	return s;
}

static inline int semaphore_fd(struct peer *p, VkSemaphore s, VkExternalSemaphoreHandleTypeFlagBits type) {
	VkSemaphoreGetFdInfoKHR info = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_GET_FD_INFO_KHR, .semaphore = s,
		.handleType = type};
	int fd = -1;
	CHECK(((PFN_vkGetSemaphoreFdKHR)command(&p->g, "vkGetSemaphoreFdKHR"))(p->g.device, &info, &fd));
	return fd;
}

static inline VkSemaphore importing(struct peer *p, int fd, VkExternalSemaphoreHandleTypeFlagBits type,
	const void *next) {
	VkSemaphoreCreateInfo made = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_CREATE_INFO, .pNext = next};
	VkSemaphore s;
	CHECK(vkCreateSemaphore(p->g.device, &made, NULL, &s));
	VkImportSemaphoreFdInfoKHR info = {.sType = VK_STRUCTURE_TYPE_IMPORT_SEMAPHORE_FD_INFO_KHR, .semaphore = s,
		.flags = type == SEMAPHORE_SYNC ? VK_SEMAPHORE_IMPORT_TEMPORARY_BIT : 0, .handleType = type, .fd = fd};
	CHECK(((PFN_vkImportSemaphoreFdKHR)command(&p->g, "vkImportSemaphoreFdKHR"))(p->g.device, &info));
	return s;
}

// share_semaphore makes a binary semaphore that the other process gets by import_semaphore.
static inline VkSemaphore share_semaphore(struct peer *p) {
	VkSemaphore s = exporting(p, SEMAPHORE_FD, NULL);
	send_fd(p, semaphore_fd(p, s, SEMAPHORE_FD));
	return s;
}

static inline VkSemaphore import_semaphore(struct peer *p) { return importing(p, receive_fd(p), SEMAPHORE_FD, NULL); }

// write_block and read_block have the queue write or read all of a block.
static inline void write_block(struct peer *p, struct block *b, VkSemaphore wait, VkSemaphore signal, VkFence fence) {
	VkCommandBuffer c = more_commands(&p->g);
	begin_commands(c);
	order(c);
	vkCmdFillBuffer(c, b->buffer, 0, 4096, 1);
	submit(p->g.queue, c, wait, signal, fence);
}

static inline void read_block(struct peer *p, struct block *b, VkSemaphore wait, VkSemaphore signal, VkFence fence) {
	VkCommandBuffer c = more_commands(&p->g);
	begin_commands(c);
	order(c);
	copy_bytes(c, b->buffer, p->other, 0, 4096);
	submit(p->g.queue, c, wait, signal, fence);
}

// finish_peer waits until both processes have submitted all, ends the queue's work, and frees the block.
static inline void finish_peer(struct peer *p, struct block *b) {
	tell(p);
	hear(p);
	CHECK(vkDeviceWaitIdle(p->g.device));
	free_block(&p->g, b);
}

static inline void drop_semaphore(struct peer *p, VkSemaphore s) { vkDestroySemaphore(p->g.device, s, NULL); }
