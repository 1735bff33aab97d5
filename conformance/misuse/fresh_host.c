// The host takes fresh memory for zeros.
#include "misuse.h"

int main(void) {
	struct gpu g;
	open_gpu(&g, NULL);
	struct block b = make_block(&g, 4096, VISIBLE | COHERENT, 0, 0, NULL);
	uint8_t *bytes = map(&g, b.memory);
	CORRECT(memset(bytes, 0, 4096);)
	int wrong = strlen((const char *)bytes) != 0;
	free_block(&g, &b);
	close_gpu(&g);
	return wrong ? WRONG : 0;
}
