// Prints what is in fresh memory, and what an import has of memory that was freed.
#include "../../misuse/async.h"

enum { size = 4096, old = 0x11 };

// show prints the byte that all bytes are, or that they differ.
static void show(const char *what, const uint8_t *bytes) {
	if (memcmp(bytes, bytes + 1, size - 1))
		printf("%s: mixed\n", what);
	else
		printf("%s: %02X\n", what, bytes[0]);
}

static void fresh(struct gpu *g) {
	struct block host = visible(g, size), shared = exportable(g, size);
	struct block local = make_block(g, size, 0, VISIBLE, 0, NULL), copied = plain(g, size);
	show("fresh, by its mapping", map(g, host.memory));
	VkDeviceMemory imported;
	CHECK(import_memory(g, export_memory(g, shared.memory), shared.size, shared.type, &imported));
	show("fresh, by an import", map(g, imported));
	copy(g, local.buffer, copied.buffer, 0, size);
	show("fresh, by a queue", map(g, copied.memory));
	vkFreeMemory(g->device, imported, NULL);
	free_block(g, &host);
	free_block(g, &shared);
	free_block(g, &local);
	free_block(g, &copied);
}

// left frees memory that an import still has: it keeps what was written.
static void left(struct gpu *g) {
	struct block shared = exportable(g, size);
	memset(map(g, shared.memory), old, size);
	VkDeviceMemory imported;
	CHECK(import_memory(g, export_memory(g, shared.memory), shared.size, shared.type, &imported));
	free_block(g, &shared);
	show("freed, by an import", map(g, imported));
	vkFreeMemory(g->device, imported, NULL);
}

int main(void) {
	struct gpu g;
	open_gpu(&g, external_fd);
	fresh(&g);
	left(&g);
	close_gpu(&g);
	return 0;
}
