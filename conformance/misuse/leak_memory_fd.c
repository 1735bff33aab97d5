// Memory is exported, and nobody takes or closes the descriptor.
#include "misuse.h"

int main(void) {
	struct gpu g;
	open_gpu(&g, external_fd);
	struct block b = exportable(&g, 4096);
	int fd = export_memory(&g, b.memory);
	CORRECT(close(fd);)
	(void)fd;
	free_block(&g, &b);
	close_gpu(&g);
	return 0;
}
