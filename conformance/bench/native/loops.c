// Loops over driver calls, so that what Go spends on calling C is not counted. Structures come from the
// caller; only the fields that change from call to call are known here. Each returns nanoseconds, or the
// negative VkResult of the call that failed.
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
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
typedef void (*PFN_vkUnmapMemory)(VkDevice, VkDeviceMemory);
typedef VkResult (*PFN_vkGetMemoryFdKHR)(VkDevice, const void *, int *);
typedef void *VkCommandBuffer, *VkQueue;
typedef uint64_t VkFence, VkImage;
typedef void (*PFN_vkCmdFillBuffer)(VkCommandBuffer, VkBuffer, VkDeviceSize, VkDeviceSize, uint32_t);
typedef void (*PFN_vkCmdCopyBuffer)(VkCommandBuffer, VkBuffer, VkBuffer, uint32_t, const void *);
typedef void (*PFN_vkCmdPipelineBarrier)(VkCommandBuffer, uint32_t, uint32_t, uint32_t, uint32_t, const void *,
	uint32_t, const void *, uint32_t, const void *);
typedef VkResult (*PFN_vkQueueSubmit)(VkQueue, uint32_t, const void *, VkFence);
typedef VkResult (*PFN_vkWaitForFences)(VkDevice, uint32_t, const VkFence *, uint32_t, uint64_t);
typedef VkResult (*PFN_vkResetFences)(VkDevice, uint32_t, const VkFence *);
typedef uint64_t VkShaderModule, VkPipeline;
typedef struct {
	int32_t type;
	const void *next;
	uint32_t flags;
	int32_t stage;
	VkShaderModule module;
	const char *name;
	const void *specialization;
} VkPipelineShaderStageCreateInfo;
typedef struct {
	int32_t type;
	const void *next;
	uint32_t flags;
	VkPipelineShaderStageCreateInfo stage;
} VkComputePipelineCreateInfo; // as far as it is known here
typedef VkResult (*PFN_vkCreateShaderModule)(VkDevice, const void *, const void *, VkShaderModule *);
typedef void (*PFN_vkDestroyShaderModule)(VkDevice, VkShaderModule, const void *);
typedef VkResult (*PFN_vkCreateComputePipelines)(VkDevice, uint64_t, uint32_t, const void *, const void *,
	VkPipeline *);
typedef void (*PFN_vkDestroyPipeline)(VkDevice, VkPipeline, const void *);
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

int64_t loop_map_unmap(PFN_vkMapMemory map, PFN_vkUnmapMemory unmap, VkDevice device, VkDeviceMemory memory,
	int64_t n) {
	int64_t start = now();
	for (int64_t i = 0; i < n; i++) {
		void *at;
		VkResult r = map(device, memory, 0, VK_WHOLE_SIZE, 0, &at);
		if (r != VK_SUCCESS)
			return r < 0 ? r : -r;
		unmap(device, memory);
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

// operation is farside_read, or farside_write but for the const.
int64_t loop_peer(int (*operation)(void *, uint64_t, void *, size_t), void *peer, uint64_t address, void *local,
	int64_t size, int64_t n) {
	int64_t start = now();
	for (int64_t i = 0; i < n; i++) {
		int status = operation(peer, address, local, (size_t)size);
		if (status != 0)
			return -status;
	}
	return now() - start;
}

int64_t loop_record_fill(PFN_vkCmdFillBuffer fill, VkCommandBuffer commands, VkBuffer buffer, int64_t n) {
	int64_t start = now();
	for (int64_t i = 0; i < n; i++)
		fill(commands, buffer, (VkDeviceSize)(i % 1024 * 64), 64, (uint32_t)i);
	return now() - start;
}

// Each thread records into a command buffer of its own.
struct recorder {
	PFN_vkCmdFillBuffer fill;
	VkCommandBuffer commands;
	VkBuffer buffer;
	int64_t n;
};

static void *record_fills(void *argument) {
	struct recorder *r = argument;
	loop_record_fill(r->fill, r->commands, r->buffer, r->n);
	return NULL;
}

int64_t loop_record_threads(PFN_vkCmdFillBuffer fill, const VkCommandBuffer *commands, VkBuffer buffer,
	int64_t threads, int64_t n) {
	pthread_t thread[64];
	struct recorder recorder[64];
	int64_t start = now();
	for (int64_t t = 0; t < threads; t++) {
		recorder[t] = (struct recorder){fill, commands[t], buffer, n / threads};
		if (t > 0)
			pthread_create(&thread[t], NULL, record_fills, &recorder[t]);
	}
	record_fills(&recorder[0]);
	for (int64_t t = 1; t < threads; t++)
		pthread_join(thread[t], NULL);
	return now() - start;
}

int64_t loop_record_copy(PFN_vkCmdCopyBuffer copy, VkCommandBuffer commands, VkBuffer from, VkBuffer to,
	const void *region, int64_t n) {
	int64_t start = now();
	for (int64_t i = 0; i < n; i++)
		copy(commands, from, to, 1, region);
	return now() - start;
}

int64_t loop_record_barrier(PFN_vkCmdPipelineBarrier barrier, VkCommandBuffer commands, const void *memory, int64_t n) {
	const uint32_t transfer = 0x1000; // VK_PIPELINE_STAGE_TRANSFER_BIT
	int64_t start = now();
	for (int64_t i = 0; i < n; i++)
		barrier(commands, transfer, transfer, 0, 1, memory, 0, NULL, 0, NULL);
	return now() - start;
}

// pipelines is what makes them.
struct pipelines {
	PFN_vkCreateShaderModule create_module;
	PFN_vkDestroyShaderModule destroy_module;
	PFN_vkCreateComputePipelines create;
	PFN_vkDestroyPipeline destroy;
	VkDevice device;
};

// Makes and destroys n pipelines; with code, which may be NULL, also their modules.
int64_t loop_pipelines(const struct pipelines *p, VkComputePipelineCreateInfo **infos, const void **code, int64_t n) {
	int64_t start = now();
	for (int64_t i = 0; i < n; i++) {
		VkPipeline pipeline;
		VkResult r = VK_SUCCESS;
		if (code)
			r = p->create_module(p->device, code[i], NULL, &infos[i]->stage.module);
		if (r == VK_SUCCESS)
			r = p->create(p->device, 0, 1, infos[i], NULL, &pipeline);
		if (r != VK_SUCCESS)
			return r < 0 ? r : -r;
		p->destroy(p->device, pipeline, NULL);
		if (code)
			p->destroy_module(p->device, infos[i]->stage.module, NULL);
	}
	return now() - start;
}

// submit is what every loop over queues needs.
struct submit {
	PFN_vkQueueSubmit submit;
	PFN_vkWaitForFences wait;
	PFN_vkResetFences reset;
	VkDevice device;
	VkQueue queue;
	VkFence fence;
};

static VkResult submit_and_wait(const struct submit *s, uint32_t count, const void *infos) {
	VkResult r = s->submit(s->queue, count, infos, s->fence);
	if (r == VK_SUCCESS)
		r = s->wait(s->device, 1, &s->fence, 1, UINT64_MAX);
	if (r == VK_SUCCESS)
		r = s->reset(s->device, 1, &s->fence);
	return r < 0 ? r : -r;
}

int64_t loop_submit(const struct submit *s, const void *info, int64_t n) {
	int64_t start = now();
	for (int64_t i = 0; i < n; i++) {
		VkResult r = submit_and_wait(s, 1, info);
		if (r != VK_SUCCESS)
			return r;
	}
	return now() - start;
}

// Each round submits the same batches with the semaphore values of VkTimelineSemaphoreSubmitInfo one higher, and
// leaves its nanoseconds in samples, which may be NULL.
int64_t loop_trips(const struct submit *s, uint32_t count, const void *infos, uint64_t *values, int64_t value_count,
	int64_t *samples, int64_t n) {
	int64_t begin = now();
	for (int64_t i = 0; i < n; i++) {
		int64_t start = now();
		for (int64_t v = 0; v < value_count; v++)
			values[v]++;
		VkResult r = submit_and_wait(s, count, infos);
		if (r != VK_SUCCESS)
			return r;
		if (samples)
			samples[i] = now() - start;
	}
	return now() - begin;
}

// The C library's memcpy and memset by several threads, each on a piece of its own.
struct piece {
	char *to;
	const char *from;
	size_t size;
};

static void *work(void *argument) {
	struct piece *p = argument;
	if (p->from)
		memcpy(p->to, p->from, p->size);
	else
		memset(p->to, 0x5a, p->size);
	return NULL;
}

// saxpy is the loop of the shader of this name, with the widest vectors that the processor has.
#ifdef __x86_64__
__attribute__((target("prefer-vector-width=512")))
#endif
__attribute__((optimize("O3"))) static void *saxpy(void *p) {
	struct piece *c = p;
	float *restrict y = (float *)c->to;
	const float *restrict x = (const float *)c->from;
	for (size_t i = 0; i < c->size / 4; i++)
		y[i] = 0.5f * x[i] + y[i];
	return NULL;
}

static int64_t on_threads(void *work(void *), char *to, const char *from, int64_t size, int64_t threads, int64_t n) {
	pthread_t thread[64];
	struct piece piece[64];
	int64_t start = now();
	for (int64_t i = 0; i < n; i++) {
		for (int64_t t = 0; t < threads; t++) {
			int64_t first = size / threads * t;
			piece[t] = (struct piece){to + first, from ? from + first : NULL, (size_t)(size / threads)};
			if (t > 0)
				pthread_create(&thread[t], NULL, work, &piece[t]);
		}
		work(&piece[0]);
		for (int64_t t = 1; t < threads; t++)
			pthread_join(thread[t], NULL);
	}
	return now() - start;
}

int64_t loop_memory_threads(char *to, const char *from, int64_t size, int64_t threads, int64_t n) {
	return on_threads(work, to, from, size, threads, n);
}

int64_t loop_saxpy_threads(char *to, const char *from, int64_t size, int64_t threads, int64_t n) {
	return on_threads(saxpy, to, from, size, threads, n);
}

// multiply_adds does as many multiply-adds of floats as size says, at the peak of the processor: more chains than an
// operation takes cycles, in the widest vectors.
#define CHAINS 24

#ifdef __AVX512F__
#define MULTIPLY_ADD_BYTES 64
#else
#define MULTIPLY_ADD_BYTES 32
#endif

typedef float vector __attribute__((vector_size(MULTIPLY_ADD_BYTES)));

#ifdef __x86_64__
__attribute__((target("prefer-vector-width=512")))
#endif
__attribute__((optimize("O3,fp-contract=fast"))) static void *multiply_adds(void *p) {
	struct piece *c = p;
	volatile float some = 0.5f; // the compiler must not know it
	vector sum[CHAINS], x = (vector){0} + some, y = x;
	for (int k = 0; k < CHAINS; k++)
		sum[k] = (vector){0} + some;
	for (size_t i = 0; i < c->size / (CHAINS * sizeof x / 4); i++)
#pragma GCC unroll 24
		for (int k = 0; k < CHAINS; k++)
			sum[k] = sum[k] * x + y;
	for (int k = 1; k < CHAINS; k++)
		sum[0] += sum[k];
	for (size_t k = 0; k < sizeof x / 4; k++)
		some += sum[0][k];
	return NULL;
}

int64_t loop_multiply_adds(int64_t threads, int64_t size, int64_t n) {
	return on_threads(multiply_adds, NULL, NULL, size, threads, n);
}
