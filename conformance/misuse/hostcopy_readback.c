// The host copies an image to its memory that a queue writes, and has not waited for the queue.
#include "hostcopy.h"

int main(void) {
	struct gpu g;
	open_gpu(&g, host_copy);
	static uint32_t texels[SIDE * SIDE];
	struct picture picture = make_picture(&g);
	VkFence done = make_fence(&g);
	paint(&g, &picture, done);
	CORRECT(wait_fence(&g, done);)
	readback(&g, &picture, texels);
	CHECK(vkDeviceWaitIdle(g.device));
	vkDestroyFence(g.device, done, NULL);
	drop_picture(&g, &picture);
	close_gpu(&g);
	return 0;
}
