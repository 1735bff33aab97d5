// A process waits for a value of a timeline semaphore that is signalled before the work.
#include "peers.h"

static void use(struct peer *p, struct block *b, VkSemaphore s, uint64_t wait, uint64_t signal, int writes) {
	VkCommandBuffer c = more_commands(&p->g);
	begin_commands(c);
	if (writes)
		vkCmdFillBuffer(c, b->buffer, 0, 4096, 1);
	else if (wait)
		copy_bytes(c, b->buffer, p->other, 0, 4096);
	CHECK(vkEndCommandBuffer(c));
	VkPipelineStageFlags stage = VK_PIPELINE_STAGE_ALL_COMMANDS_BIT;
	VkTimelineSemaphoreSubmitInfo values = {.sType = VK_STRUCTURE_TYPE_TIMELINE_SEMAPHORE_SUBMIT_INFO,
		.waitSemaphoreValueCount = !!wait, .pWaitSemaphoreValues = &wait, .signalSemaphoreValueCount = !!signal,
		.pSignalSemaphoreValues = &signal};
	VkSubmitInfo info = {.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO, .pNext = &values, .commandBufferCount = 1,
		.pCommandBuffers = &c, .waitSemaphoreCount = !!wait, .pWaitSemaphores = &s, .pWaitDstStageMask = &stage,
		.signalSemaphoreCount = !!signal, .pSignalSemaphores = &s};
	CHECK(vkQueueSubmit(p->g.queue, 1, &info, NULL));
}

static const VkSemaphoreTypeCreateInfo timeline = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_TYPE_CREATE_INFO,
	.semaphoreType = VK_SEMAPHORE_TYPE_TIMELINE};

static void first(struct peer *p) {
	struct block b = share_block(p);
	VkSemaphore s = exporting(p, SEMAPHORE_FD, &timeline);
	send_fd(p, semaphore_fd(p, s, SEMAPHORE_FD));
	use(p, &b, s, 0, 1, 0);
	use(p, &b, s, 0, 2, 1);
	finish_peer(p, &b);
	drop_semaphore(p, s);
}

static void second(struct peer *p) {
	struct block b = import_block(p);
	VkSemaphore s = importing(p, receive_fd(p), SEMAPHORE_FD, &timeline);
	use(p, &b, s, CORRECT(2) FAULT(1), 0, 0);
	finish_peer(p, &b);
	drop_semaphore(p, s);
}

int main(void) { return two(first, second); }
