// What the programs share that leave out synchronisation.
#include "misuse.h"

// plain is make_block for coherent memory that the host can map.
static inline struct block plain(struct gpu *g, VkDeviceSize size) {
	return make_block(g, size, VISIBLE | COHERENT, 0, 0, NULL);
}

static inline VkCommandBuffer more_commands(struct gpu *g) {
	VkCommandBufferAllocateInfo info = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO, .commandPool = g->pool,
		.commandBufferCount = 1};
	VkCommandBuffer c;
	CHECK(vkAllocateCommandBuffers(g->device, &info, &c));
	return c;
}

static inline void begin_commands(VkCommandBuffer c) {
	VkCommandBufferBeginInfo info = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO};
	CHECK(vkBeginCommandBuffer(c, &info));
}

// order makes all that was recorded before come before all that is recorded after.
static inline void order(VkCommandBuffer c) {
	VkMemoryBarrier all = {.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER, .srcAccessMask = VK_ACCESS_MEMORY_WRITE_BIT,
		.dstAccessMask = VK_ACCESS_MEMORY_READ_BIT | VK_ACCESS_MEMORY_WRITE_BIT};
	vkCmdPipelineBarrier(c, VK_PIPELINE_STAGE_ALL_COMMANDS_BIT, VK_PIPELINE_STAGE_ALL_COMMANDS_BIT, 0, 1, &all, 0, NULL, 0,
		NULL);
}

static inline void copy_bytes(VkCommandBuffer c, VkBuffer from, VkBuffer to, VkDeviceSize offset, VkDeviceSize size) {
	VkBufferCopy region = {.srcOffset = offset, .dstOffset = offset, .size = size};
	vkCmdCopyBuffer(c, from, to, 1, &region);
}

static inline VkSemaphore make_semaphore(struct gpu *g) {
	VkSemaphoreCreateInfo info = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_CREATE_INFO};
	VkSemaphore s;
	CHECK(vkCreateSemaphore(g->device, &info, NULL, &s));
	return s;
}

static inline VkFence make_fence(struct gpu *g) {
	VkFenceCreateInfo info = {.sType = VK_STRUCTURE_TYPE_FENCE_CREATE_INFO};
	VkFence f;
	CHECK(vkCreateFence(g->device, &info, NULL, &f));
	return f;
}

// submit ends a command buffer and submits it; wait, signal and fence may be VK_NULL_HANDLE.
static inline void submit(VkQueue q, VkCommandBuffer c, VkSemaphore wait, VkSemaphore signal, VkFence fence) {
	VkPipelineStageFlags stage = VK_PIPELINE_STAGE_ALL_COMMANDS_BIT;
	CHECK(vkEndCommandBuffer(c));
	VkSubmitInfo info = {.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO, .commandBufferCount = 1, .pCommandBuffers = &c,
		.waitSemaphoreCount = !!wait, .pWaitSemaphores = &wait, .pWaitDstStageMask = &stage,
		.signalSemaphoreCount = !!signal, .pSignalSemaphores = &signal};
	CHECK(vkQueueSubmit(q, 1, &info, fence));
}

static inline void wait_fence(struct gpu *g, VkFence f) {
	CHECK(vkWaitForFences(g->device, 1, &f, VK_TRUE, UINT64_MAX));
}
