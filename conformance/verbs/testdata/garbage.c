// Hands over what no program should: stale and wild pointers, memory that isn't there, counts that can't be. Each call
// must fail as it should, and the process must go on.
#include "common.h"

int main(void) {
	open_device();
	void *hole = mmap(NULL, 1 << 16, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	void *readonly = mmap(NULL, 1 << 16, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	NEED(hole != MAP_FAILED && readonly != MAP_FAILED);
	static char buffer[4096];
	struct ibv_pd *pd = ibv_alloc_pd(context);
	struct ibv_cq *cq = ibv_create_cq(context, 16, NULL, NULL, 0);
	NEED(pd && cq);
	struct ibv_qp_init_attr init = {.send_cq = cq, .recv_cq = cq, .qp_type = IBV_QPT_RC,
					.cap = {.max_send_wr = 8, .max_recv_wr = 8, .max_send_sge = 4, .max_recv_sge = 4}};
	struct ibv_qp *qp = ibv_create_qp(pd, &init);
	struct ibv_mr *mr = ibv_reg_mr(pd, buffer, sizeof buffer, IBV_ACCESS_LOCAL_WRITE);
	NEED(qp && mr);
	connect_to(qp, qp->qp_num);

	// Addresses that are no objects.
	void *wild[] = {NULL, (void *)8, (void *)-8, hole, buffer, (char *)pd + 8, cq, (void *)0x4180000000001000};
	for (unsigned i = 0; i < sizeof wild / sizeof *wild; i++) {
		void *w = wild[i];
		CHECK(ibv_dealloc_pd(w) == EINVAL, "%u", i);
		CHECK(ibv_dereg_mr(w) == EINVAL, "%u", i);
		CHECK(w == cq || ibv_destroy_cq(w) == EINVAL, "%u", i);
		CHECK(ibv_destroy_qp(w) == EINVAL, "%u", i);
		CHECK(ibv_destroy_srq(w) == EINVAL, "%u", i);
		CHECK(ibv_destroy_ah(w) == EINVAL, "%u", i);
		CHECK(ibv_destroy_comp_channel(w) == EINVAL, "%u", i);
		CHECK(ibv_close_device(w) == -1, "%u", i);
		CHECK(!ibv_open_device(w) && !ibv_alloc_pd(w) && !ibv_create_comp_channel(w), "%u", i);
		CHECK(!ibv_create_cq(w, 16, NULL, NULL, 0), "%u", i);
		CHECK(!ibv_create_qp(w, &init), "%u", i);
		CHECK(!ibv_reg_mr(w, buffer, 1, 0), "%u", i);
		CHECK(context->ops.poll_cq(w == cq ? NULL : w, 1, (void *)buffer) == -1, "%u", i);
		CHECK(context->ops.post_send(w, NULL, NULL) == EINVAL, "%u", i);
		CHECK(context->ops.post_recv(w, NULL, NULL) == EINVAL, "%u", i);
		CHECK(context->ops.req_notify_cq(w == cq ? NULL : w, 0) == EINVAL, "%u", i);
		ibv_free_device_list(w);
		ibv_ack_cq_events(w == cq ? NULL : w, 1);
	}
	struct ibv_qp_init_attr other = init;
	other.send_cq = hole;
	CHECK(!ibv_create_qp(pd, &other) && errno == EINVAL);
	CHECK(!ibv_create_qp(pd, hole) && errno == EFAULT);
	CHECK(!ibv_create_qp(pd, (void *)16) && errno == EFAULT);
	CHECK(ibv_modify_qp(qp, hole, IBV_QP_STATE) == EFAULT);
	CHECK(ibv_query_device(context, hole) == EFAULT);
	CHECK(ibv_query_device(context, readonly) == EFAULT);

	// Counts that can't be.
	CHECK(!ibv_create_cq(context, -1, NULL, NULL, 0) && !ibv_create_cq(context, 1 << 30, NULL, NULL, 0));
	CHECK(!ibv_create_cq(context, 16, NULL, NULL, -1) && !ibv_create_cq(context, 16, NULL, hole, 0));
	other = init;
	other.cap.max_send_wr = -1;
	CHECK(!ibv_create_qp(pd, &other));
	other.cap = (struct ibv_qp_cap){.max_send_wr = 1, .max_send_sge = 1 << 20};
	CHECK(!ibv_create_qp(pd, &other));
	CHECK(ibv_poll_cq(cq, -1, hole) == 0 && ibv_poll_cq(cq, 0, hole) == 0 && ibv_poll_cq(cq, 1, hole) == 0);

	// Memory that isn't there, or not as the rights need it.
	CHECK(!ibv_reg_mr(pd, NULL, 4096, 0) && errno == EFAULT);
	CHECK(!ibv_reg_mr(pd, (void *)-4096, 4096, 0));
	CHECK(!ibv_reg_mr(pd, hole, 1 << 16, 0) && errno == EFAULT);
	CHECK(!ibv_reg_mr(pd, readonly, 1 << 16, IBV_ACCESS_LOCAL_WRITE) && errno == EFAULT);
	CHECK(!ibv_reg_mr(pd, buffer, (size_t)1 << 60, 0));
	CHECK(!ibv_reg_mr(pd, buffer, -1, 0));
	CHECK(!ibv_reg_mr(pd, buffer, sizeof buffer, IBV_ACCESS_REMOTE_WRITE) && errno == EINVAL);
	CHECK(!ibv_reg_mr(pd, (void *)0x4180000000001000, 8, 0) && errno == EFAULT);
	CHECK(!ibv_reg_dmabuf_mr(pd, 0, 4096, 0, -1, 0) && errno == EBADF);
	CHECK(!ibv_reg_dmabuf_mr(pd, 0, 4096, 0, STDIN_FILENO, 0) && errno == EINVAL);

	// Work requests.
	struct ibv_sge sge = {(uintptr_t)buffer, 64, mr->lkey};
	struct ibv_send_wr wr = {.wr_id = 1, .sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_SEND,
				.send_flags = IBV_SEND_SIGNALED}, *bad = NULL;
	struct ibv_recv_wr rr = {.wr_id = 2, .sg_list = &sge, .num_sge = 1}, *badr = NULL;
	struct { int n, error; struct ibv_sge *list; } lists[] = {
		{-1, EINVAL, &sge}, {1 << 30, EINVAL, &sge}, {5, EINVAL, (void *)buffer}, {1, EFAULT, hole}, {1, EFAULT, NULL},
		{2, EFAULT, (void *)-16},
	};
	for (unsigned i = 0; i < sizeof lists / sizeof *lists; i++) {
		wr.num_sge = rr.num_sge = lists[i].n;
		wr.sg_list = rr.sg_list = lists[i].list;
		int got = ibv_post_send(qp, &wr, &bad), gotr = ibv_post_recv(qp, &rr, &badr);
		CHECK(got == lists[i].error, "%u: %d", i, got);
		CHECK(gotr == lists[i].error, "%u: %d", i, gotr);
		CHECK(lists[i].error == EFAULT || (bad == &wr && badr == &rr), "%u", i);
	}
	wr.num_sge = rr.num_sge = 1;
	wr.sg_list = rr.sg_list = &sge;
	CHECK(ibv_post_send(qp, hole, &bad) == EFAULT && ibv_post_send(qp, (void *)1, &bad) == EFAULT);
	CHECK(ibv_post_recv(qp, hole, &badr) == EFAULT && ibv_post_recv(qp, (void *)-1, &badr) == EFAULT);
	wr.opcode = 77;
	CHECK(ibv_post_send(qp, &wr, &bad) == EINVAL && bad == &wr);
	wr.opcode = -1;
	CHECK(ibv_post_send(qp, &wr, &bad) == EINVAL);
	wr.opcode = IBV_WR_BIND_MW;
	wr.bind_mw.mw = hole;
	CHECK(ibv_post_send(qp, &wr, &bad) == EINVAL);
	rr.next = &rr; // a list without an end
	badr = NULL;
	CHECK(ibv_post_recv(qp, &rr, &badr) == ENOMEM && badr == &rr);
	wr.opcode = IBV_WR_SEND;
	wr.next = &wr;
	CHECK(ibv_post_send(qp, &wr, &bad) == ENOMEM && bad == &wr);
	for (int i = 0; i < 16; i++)
		CHECK(wait_for(cq).status == IBV_WC_SUCCESS);

	// Memory that goes away after it was registered.
	char *gone = mmap(NULL, 1 << 16, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct ibv_mr *lost = ibv_reg_mr(pd, gone, 1 << 16, IBV_ACCESS_LOCAL_WRITE);
	NEED(lost);
	munmap(gone, 1 << 16);
	sge = (struct ibv_sge){(uintptr_t)gone, 64, lost->lkey};
	wr = (struct ibv_send_wr){.wr_id = 3, .sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_SEND};
	CHECK(ibv_post_send(qp, &wr, &bad) == 0);
	struct ibv_wc wc = wait_for(cq);
	CHECK(wc.status == IBV_WC_LOC_PROT_ERR && wc.wr_id == 3, "status %d", wc.status);
	CHECK(ibv_dereg_mr(lost) == 0);

	// In use, then twice.
	CHECK(ibv_dealloc_pd(pd) == EBUSY && ibv_destroy_cq(cq) == EBUSY);
	CHECK(ibv_destroy_qp(qp) == 0 && ibv_destroy_qp(qp) == EINVAL);
	CHECK(ibv_post_send(qp, &wr, &bad) == EINVAL && ibv_post_recv(qp, &rr, &badr) == EINVAL);
	CHECK(ibv_dereg_mr(mr) == 0 && ibv_dereg_mr(mr) == EINVAL);
	CHECK(ibv_destroy_cq(cq) == 0 && ibv_destroy_cq(cq) == EINVAL && ibv_poll_cq(cq, 1, &wc) == -1);
	CHECK(ibv_dealloc_pd(pd) == 0 && ibv_dealloc_pd(pd) == EINVAL);
	CHECK(ibv_close_device(context) == 0 && ibv_close_device(context) == -1);
	puts(failures ? "FAILED" : "passed");
	return failures != 0;
}
