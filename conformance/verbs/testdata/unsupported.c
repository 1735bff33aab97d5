// Calls functions that Farside has not, before it asks for a device and after.
#include "common.h"
#include <rdma/rdma_cma.h>
#include <rdma/rsocket.h>

int main(void) {
	struct sockaddr group = {0};
	struct rdma_cm_id id = {0};
	struct ibv_ece ece = {0};
	struct ibv_qp qp = {0};
	for (int i = 0; i < 2; i++) {
		errno = 0;
		CHECK(rsocket(AF_INET, SOCK_STREAM, 0) == -1 && errno == EOPNOTSUPP);
		errno = 0;
		CHECK(!ibv_import_device(0) && errno == EOPNOTSUPP);
		errno = 0;
		CHECK(rdma_join_multicast(&id, &group, NULL) == -1 && errno == EOPNOTSUPP);
		errno = 0;
		CHECK(rdma_set_local_ece(&id, &ece) == -1 && errno == EOPNOTSUPP);
		CHECK(ibv_query_ece(&qp, &ece) == EOPNOTSUPP);
	}
	open_device(); // whose inline functions find no address
	struct ibv_alloc_dm_attr dm = {.length = 4096};
	errno = 0;
	CHECK(!ibv_alloc_dm(context, &dm) && errno == EOPNOTSUPP);
	struct ibv_counters_init_attr counters = {0};
	errno = 0;
	CHECK(!ibv_create_counters(context, &counters) && errno == EOPNOTSUPP);
	CHECK(ibv_close_device(context) == 0);
	return failures != 0;
}
