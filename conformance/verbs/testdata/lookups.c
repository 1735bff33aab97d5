// Looks functions up as NCCL does: by dlopen, name and version. Standard input has lines with a library, a name and a
// version; for each that there is, a line tells the file that has it. At the end, it calls some.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <infiniband/verbs.h>
#include <stdio.h>

static void *find(const char *library, const char *name, const char *version) {
	void *handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);
	if (!handle) {
		fprintf(stderr, "%s\n", dlerror());
		return NULL;
	}
	return dlvsym(handle, name, version);
}

int main(void) {
	char library[32], name[64], version[32];
	while (scanf("%31s %63s %31s", library, name, version) == 3) {
		Dl_info info;
		void *f = find(library, name, version);
		if (f && dladdr(f, &info))
			printf("%s@%s %s\n", name, version, info.dli_fname);
	}
	struct ibv_device **(*list)(int *) = find("libibverbs.so.1", "ibv_get_device_list", "IBVERBS_1.1");
	const char *(*text)(struct ibv_device *) = find("libibverbs.so.1", "ibv_get_device_name", "IBVERBS_1.1");
	void (*release)(struct ibv_device **) = find("libibverbs.so.1", "ibv_free_device_list", "IBVERBS_1.1");
	if (!list || !text || !release)
		return 1;
	struct ibv_device **devices = list(NULL);
	if (!devices || !devices[0])
		return 2;
	printf("device %s\n", text(devices[0]));
	release(devices);
	return 0;
}
