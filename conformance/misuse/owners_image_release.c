// A process acquires an image that another one has painted and not released.
#include "owners.h"

static void first(struct peer *p) {
	struct picture picture = share_picture(p);
	VkCommandBuffer c = start(p);
	paint(c, &picture);
	transition(c, picture.image, TARGET, SOURCE,
		CORRECT(0, EXTERNAL) FAULT(VK_QUEUE_FAMILY_IGNORED, VK_QUEUE_FAMILY_IGNORED));
	run(p, c);
	tell(p);
	finish_picture(p, &picture);
}

static void second(struct peer *p) {
	struct picture picture = import_picture(p);
	hear(p);
	VkCommandBuffer c = start(p);
	transition(c, picture.image, TARGET, SOURCE, EXTERNAL, 0);
	look(p, c, &picture, SOURCE);
	run(p, c);
	finish_picture(p, &picture);
}

int main(void) { return two(first, second); }
