// A process reads an image that another one has released, and has not acquired it: its barrier has no queue families.
#include "owners.h"

static void first(struct peer *p) {
	struct picture picture = share_picture(p);
	VkCommandBuffer c = start(p);
	paint(c, &picture);
	transition(c, picture.image, TARGET, SOURCE, 0, EXTERNAL);
	run(p, c);
	tell(p);
	finish_picture(p, &picture);
}

static void second(struct peer *p) {
	struct picture picture = import_picture(p);
	hear(p);
	VkCommandBuffer c = start(p);
	transition(c, picture.image, TARGET, SOURCE,
		CORRECT(EXTERNAL, 0) FAULT(VK_QUEUE_FAMILY_IGNORED, VK_QUEUE_FAMILY_IGNORED));
	look(p, c, &picture, SOURCE);
	run(p, c);
	finish_picture(p, &picture);
}

int main(void) { return two(first, second); }
