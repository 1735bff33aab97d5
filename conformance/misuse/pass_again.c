// A render pass goes on with what one before it has drawn, and no dependency orders the two.
#include "pass.h"

int main(void) {
	struct gpu g;
	open_gpu(&g, NULL);
	struct block to = plain(&g, 1024);
	VkSubpassDependency before = {VK_SUBPASS_EXTERNAL, 0, VK_PIPELINE_STAGE_COLOR_ATTACHMENT_OUTPUT_BIT,
		VK_PIPELINE_STAGE_COLOR_ATTACHMENT_OUTPUT_BIT, VK_ACCESS_COLOR_ATTACHMENT_WRITE_BIT,
		VK_ACCESS_COLOR_ATTACHMENT_READ_BIT | VK_ACCESS_COLOR_ATTACHMENT_WRITE_BIT, 0};
	uint32_t count = 0;
	CORRECT(count = 1;)
	struct target t = make_target(&g, VK_ATTACHMENT_LOAD_OP_LOAD, count, &before);
	begin(&g);
	make_general(g.commands, &t);
	draw_pass(g.commands, &t, 0, 1);
	draw_pass(g.commands, &t, 0, 0.5f);
	order(g.commands);
	read_back(g.commands, &t, to.buffer);
	submit(g.queue, g.commands, NULL, NULL, NULL);
	CHECK(vkDeviceWaitIdle(g.device));
	free_target(&g, &t);
	free_block(&g, &to);
	close_gpu(&g);
	return 0;
}
