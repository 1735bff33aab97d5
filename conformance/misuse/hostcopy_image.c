// The host copies one image to another one, of which a queue still writes the first.
#include "hostcopy.h"

int main(void) {
	struct gpu g;
	open_gpu(&g, host_copy);
	struct picture picture = make_picture(&g), other = make_picture(&g);
	VkFence done = make_fence(&g);
	paint(&g, &picture, done);
	CORRECT(wait_fence(&g, done);)
	host_copies(&g, &picture, &other);
	CHECK(vkDeviceWaitIdle(g.device));
	vkDestroyFence(g.device, done, NULL);
	drop_picture(&g, &other);
	drop_picture(&g, &picture);
	close_gpu(&g);
	return 0;
}
