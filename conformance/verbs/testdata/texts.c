// Prints what the functions say that need no device. With an argument: whether there are devices.
#include <errno.h>
#include <infiniband/verbs.h>
#include <rdma/rdma_cma.h>
#include <stdio.h>

int main(int argc, char **argv) {
	if (argc > 1) {
		struct ibv_device **list = ibv_get_device_list(NULL);
		printf("devices: %s, %s\n", list ? "yes" : "no", errno == ENODEV ? "ENODEV" : "other");
		return 0;
	}
	for (int i = -2; i < 300; i++) {
		printf("%d: %s, %s, %s, %s, %s\n", i, ibv_node_type_str(i), ibv_port_state_str(i), ibv_event_type_str(i),
		       ibv_wc_status_str(i), rdma_event_str(i));
		printf("%d: %d %d\n", i, ibv_rate_to_mult(i), ibv_rate_to_mbps(i));
	}
	for (int i = -10; i < 1300000; i++)
		if (mult_to_ibv_rate(i) || mbps_to_ibv_rate(i))
			printf("%d: %d %d\n", i, mult_to_ibv_rate(i), mbps_to_ibv_rate(i));
	return 0;
}
