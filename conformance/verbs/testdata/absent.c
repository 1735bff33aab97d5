// What the device's attributes say that it does not have is refused: multicast groups, and windows of type 2A.
#include "common.h"
#include <arpa/inet.h>
#include <rdma/rdma_cma.h>

int main(void) {
	open_device();
	struct ibv_device_attr_ex has;
	NEED(ibv_query_device_ex(context, NULL, &has) == 0);
	CHECK(has.orig_attr.max_mcast_grp == 0 && has.orig_attr.max_mcast_qp_attach == 0);
	CHECK(has.orig_attr.max_total_mcast_qp_attach == 0);
	CHECK((has.orig_attr.device_cap_flags & IBV_DEVICE_MEM_WINDOW_TYPE_2B) != 0);
	CHECK((has.orig_attr.device_cap_flags & IBV_DEVICE_MEM_WINDOW_TYPE_2A) == 0);

	struct ibv_pd *pd = ibv_alloc_pd(context);
	struct ibv_cq *cq = ibv_create_cq(context, 4, NULL, NULL, 0);
	NEED(pd && cq);
	struct ibv_qp_init_attr init = {.send_cq = cq, .recv_cq = cq, .qp_type = IBV_QPT_UD,
					.cap = {.max_send_wr = 1, .max_recv_wr = 1, .max_send_sge = 1, .max_recv_sge = 1}};
	struct ibv_qp *qp = ibv_create_qp(pd, &init);
	NEED(qp);
	union ibv_gid group = {.raw = {[10] = 0xff, [11] = 0xff, [12] = 239, [13] = 1, [14] = 2, [15] = 3}};
	CHECK(ibv_attach_mcast(qp, &group, 0) == EOPNOTSUPP);
	CHECK(ibv_attach_mcast(qp, &self, 0) == EINVAL); // no group
	CHECK(ibv_detach_mcast(qp, &group, 0) == EINVAL);
	CHECK(ibv_destroy_qp(qp) == 0);

	struct rdma_event_channel *channel = rdma_create_event_channel();
	struct rdma_cm_id *id;
	NEED(channel && rdma_create_id(channel, &id, NULL, RDMA_PS_UDP) == 0);
	struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
	NEED(rdma_bind_addr(id, (struct sockaddr *)&at) == 0);
	at.sin_addr.s_addr = htonl(0xef010203);
	CHECK(rdma_join_multicast(id, (struct sockaddr *)&at, NULL) == -1 && errno == EOPNOTSUPP);
	CHECK(rdma_destroy_id(id) == 0);
	rdma_destroy_event_channel(channel);
	CHECK(ibv_destroy_cq(cq) == 0 && ibv_dealloc_pd(pd) == 0 && ibv_close_device(context) == 0);
	puts(failures ? "FAILED" : "passed");
	return failures != 0;
}
