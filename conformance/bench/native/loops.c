// Loops over driver calls, so that what Go spends on calling C is not counted. Structures come from the
// caller; only the fields that change from call to call are known here. Each returns nanoseconds, or the
// negative VkResult of the call that failed.
#define _GNU_SOURCE
#include <fcntl.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

// What is used of <vulkan/vulkan.h>, which a machine that only measures need not have.
#define VK_SUCCESS 0
#define VK_WHOLE_SIZE (~0ull)
typedef int32_t VkResult;
typedef void *VkDevice;
typedef uint64_t VkDeviceMemory, VkBuffer, VkDeviceSize;
typedef struct {
	int32_t type;
	const void *next;
	VkDeviceSize allocationSize;
	uint32_t memoryTypeIndex;
} VkMemoryAllocateInfo;
typedef struct {
	int32_t type;
	const void *next;
	uint32_t handleType;
	int fd;
} VkImportMemoryFdInfoKHR;
typedef struct {
	VkDeviceSize size, alignment;
	uint32_t memoryTypeBits;
} VkMemoryRequirements;
typedef VkResult (*PFN_vkAllocateMemory)(VkDevice, const VkMemoryAllocateInfo *, const void *, VkDeviceMemory *);
typedef void (*PFN_vkFreeMemory)(VkDevice, VkDeviceMemory, const void *);
typedef VkResult (*PFN_vkMapMemory)(VkDevice, VkDeviceMemory, VkDeviceSize, VkDeviceSize, uint32_t, void **);
typedef VkResult (*PFN_vkGetMemoryFdKHR)(VkDevice, const void *, int *);
typedef void (*PFN_vkGetBufferMemoryRequirements)(VkDevice, VkBuffer, VkMemoryRequirements *);

static int64_t now(void) {
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

int64_t loop_allocate_free(PFN_vkAllocateMemory allocate, PFN_vkFreeMemory release, VkDevice device,
	const VkMemoryAllocateInfo *info, int64_t n) {
	int64_t start = now();
	for (int64_t i = 0; i < n; i++) {
		VkDeviceMemory memory;
		VkResult r = allocate(device, info, NULL, &memory);
		if (r != VK_SUCCESS)
			return r < 0 ? r : -r;
		release(device, memory, NULL);
	}
	return now() - start;
}

// The driver may put off the mapping until it is asked for; this asks, and touches every page.
int64_t loop_allocate_touch_free(PFN_vkAllocateMemory allocate, PFN_vkFreeMemory release, PFN_vkMapMemory map,
	VkDevice device, const VkMemoryAllocateInfo *info, int64_t n) {
	int64_t start = now();
	for (int64_t i = 0; i < n; i++) {
		VkDeviceMemory memory;
		void *at;
		VkResult r = allocate(device, info, NULL, &memory);
		if (r == VK_SUCCESS)
			r = map(device, memory, 0, VK_WHOLE_SIZE, 0, &at);
		if (r != VK_SUCCESS)
			return r < 0 ? r : -r;
		for (VkDeviceSize byte = 0; byte < info->allocationSize; byte += 4096)
			((volatile char *)at)[byte] = 1;
		release(device, memory, NULL);
	}
	return now() - start;
}

// The import takes the descriptor, so each round imports a duplicate, outside the time that is counted.
int64_t loop_import_free(PFN_vkAllocateMemory allocate, PFN_vkFreeMemory release, VkDevice device,
	const VkMemoryAllocateInfo *info, VkImportMemoryFdInfoKHR *import, int64_t fd, int64_t n) {
	int64_t spent = 0;
	for (int64_t i = 0; i < n; i++) {
		VkDeviceMemory memory;
		import->fd = fcntl((int)fd, F_DUPFD_CLOEXEC, 0);
		int64_t start = now();
		VkResult r = allocate(device, info, NULL, &memory);
		if (r != VK_SUCCESS)
			return r < 0 ? r : -r;
		release(device, memory, NULL);
		spent += now() - start;
	}
	return spent;
}

int64_t loop_get_fd_close(PFN_vkGetMemoryFdKHR get, VkDevice device, const void *info, int64_t n) {
	int64_t start = now();
	for (int64_t i = 0; i < n; i++) {
		int fd;
		VkResult r = get(device, info, &fd);
		if (r != VK_SUCCESS)
			return r < 0 ? r : -r;
		close(fd);
	}
	return now() - start;
}

int64_t loop_dup_close(int64_t fd, int64_t n) {
	int64_t start = now();
	for (int64_t i = 0; i < n; i++)
		close(fcntl((int)fd, F_DUPFD_CLOEXEC, 0));
	return now() - start;
}

int64_t loop_requirements(PFN_vkGetBufferMemoryRequirements get, VkDevice device, VkBuffer buffer, int64_t n) {
	VkMemoryRequirements r;
	int64_t start = now();
	for (int64_t i = 0; i < n; i++)
		get(device, buffer, &r);
	return now() - start;
}

int64_t loop_memcpy(void *to, const void *from, int64_t size, int64_t n) {
	int64_t start = now();
	for (int64_t i = 0; i < n; i++) {
		memcpy(to, from, (size_t)size);
		__asm__ volatile("" ::: "memory");
	}
	return now() - start;
}
