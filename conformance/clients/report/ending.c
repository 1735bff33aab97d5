// Allocates memory, and ends in the way that its argument says.
#include "../../misuse/misuse.h"
#include <signal.h>

int main(int argc, char **argv) {
	const char *how = argc > 1 ? argv[1] : "";
	struct gpu g;
	open_gpu(&g, NULL);
	allocate(&g, 4096, find_type(&g, ~0u, VISIBLE, 0), NULL);
	if (!strcmp(how, "exit"))
		exit(5);
	if (!strcmp(how, "_exit"))
		_exit(5);
	if (!strcmp(how, "quick_exit"))
		quick_exit(5);
	if (!strcmp(how, "exec"))
		execl("/bin/sh", "sh", "-c", "exit 5", NULL);
	if (!strcmp(how, "SIGTERM"))
		raise(SIGTERM);
	if (!strcmp(how, "SIGSEGV"))
		*(volatile int *)(uintptr_t)(argc - 2) = 1;
	if (!strcmp(how, "SIGKILL"))
		raise(SIGKILL);
	if (!strcmp(how, "SIGABRT"))
		abort();
	return 5;
}
