// Prints the names of the devices that can be opened.
#include <infiniband/verbs.h>
#include <stdio.h>

int main(void) {
	struct ibv_device **list = ibv_get_device_list(NULL);
	for (int i = 0; list && list[i]; i++) {
		struct ibv_context *context = ibv_open_device(list[i]);
		if (!context || ibv_close_device(context))
			return 1;
		puts(ibv_get_device_name(list[i]));
	}
	return 0;
}
