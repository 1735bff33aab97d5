// A command buffer that has begun reads what a peer writes meanwhile.
#include "rdma.h"

static VkEvent make_event(struct gpu *g) {
	VkEventCreateInfo info = {.sType = VK_STRUCTURE_TYPE_EVENT_CREATE_INFO};
	VkEvent e;
	CHECK(vkCreateEvent(g->device, &info, NULL, &e));
	return e;
}

int main(void) {
	struct gpu g;
	open_gpu(&g, rdma_extensions);
	uint64_t address;
	struct block b = remote(&g, 4096, &address), host = plain(&g, 4096);
	farside_peer *peer = open_peer(address);
	VkEvent begun = make_event(&g), go = make_event(&g);
	char data[4096];
	memset(data, 'x', sizeof data);
	begin(&g);
	vkCmdSetEvent(g.commands, begun, VK_PIPELINE_STAGE_TOP_OF_PIPE_BIT);
	vkCmdWaitEvents(g.commands, 1, &go, VK_PIPELINE_STAGE_HOST_BIT, VK_PIPELINE_STAGE_ALL_COMMANDS_BIT, 0, NULL, 0, NULL,
		0, NULL);
	copy_bytes(g.commands, b.buffer, host.buffer, 0, sizeof data);
	barrier(&g);
	FAULT(submit(g.queue, g.commands, 0, 0, 0); while (vkGetEventStatus(g.device, begun) != VK_EVENT_SET) usleep(100);)
	post(peer, FARSIDE_WRITE, address, data, sizeof data, 0);
	await_work(peer, 1);
	CORRECT(submit(g.queue, g.commands, 0, 0, 0);)
	CHECK(vkSetEvent(g.device, go));
	CHECK(vkQueueWaitIdle(g.queue));
	void *at;
	CHECK(vkMapMemory(g.device, host.memory, 0, sizeof data, 0, &at));
	CORRECT(if (memcmp(at, data, sizeof data)) return WRONG;)
	farside_peer_close(peer);
	vkDestroyEvent(g.device, begun, NULL);
	vkDestroyEvent(g.device, go, NULL);
	free_block(&g, &host);
	free_block(&g, &b);
	close_gpu(&g);
	return 0;
}
