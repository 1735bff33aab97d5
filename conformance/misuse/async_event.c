// A command sets an event after what it is for, and nobody waits for it.
#include "async.h"

int main(void) {
	struct gpu g;
	open_gpu(&g, NULL);
	struct block a = plain(&g, 4096);
	struct block b = plain(&g, 4096);
	VkEventCreateInfo info = {.sType = VK_STRUCTURE_TYPE_EVENT_CREATE_INFO};
	VkEvent done;
	CHECK(vkCreateEvent(g.device, &info, NULL, &done));
	begin(&g);
	vkCmdFillBuffer(g.commands, a.buffer, 0, 4096, 1);
	vkCmdSetEvent(g.commands, done, VK_PIPELINE_STAGE_TRANSFER_BIT);
	CORRECT(vkCmdWaitEvents(g.commands, 1, &done, VK_PIPELINE_STAGE_TRANSFER_BIT, VK_PIPELINE_STAGE_TRANSFER_BIT, 0, NULL,
		0, NULL, 0, NULL);)
	copy_bytes(g.commands, a.buffer, b.buffer, 0, 4096);
	submit(g.queue, g.commands, NULL, NULL, NULL);
	CHECK(vkDeviceWaitIdle(g.device));
	vkDestroyEvent(g.device, done, NULL);
	CHECK(vkDeviceWaitIdle(g.device));
	free_block(&g, &a);
	free_block(&g, &b);
	close_gpu(&g);
	return 0;
}
