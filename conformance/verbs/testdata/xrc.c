// Extended reliable connections within a process: domains with and without a file, shared receive queues that requests
// name, and a queue pair that is opened a second time.
#include "common.h"
#include <fcntl.h>

static struct ibv_pd *pd;
static struct ibv_cq *cq;
static char *memory;
static struct ibv_mr *mr;

static struct ibv_xrcd *domain(int fd, int flags) {
	struct ibv_xrcd_init_attr a = {.comp_mask = IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS, .fd = fd,
		.oflags = flags};
	return ibv_open_xrcd(context, &a);
}

static struct ibv_srq *queue(struct ibv_xrcd *xrcd, uint32_t *number) {
	struct ibv_srq_init_attr_ex a = {
		.attr = {.max_wr = 8, .max_sge = 1}, .srq_type = IBV_SRQT_XRC, .pd = pd, .xrcd = xrcd, .cq = cq,
		.comp_mask = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD | IBV_SRQ_INIT_ATTR_XRCD | IBV_SRQ_INIT_ATTR_CQ};
	struct ibv_srq *srq = ibv_create_srq_ex(context, &a);
	NEED(srq);
	NEED(ibv_get_srq_num(srq, number) == 0 && *number != 0);
	return srq;
}

static void receive(struct ibv_srq *srq, uint64_t id, char *to) {
	struct ibv_sge sge = {(uintptr_t)to, 64, mr->lkey};
	struct ibv_recv_wr wr = {.wr_id = id, .sg_list = &sge, .num_sge = 1}, *bad;
	NEED(ibv_post_srq_recv(srq, &wr, &bad) == 0);
}

static void domains(struct ibv_xrcd *xrcd, int fd) {
	CHECK(!domain(fd, O_CREAT | O_EXCL) && errno == EINVAL);
	struct ibv_xrcd *again = domain(fd, 0), *alone = domain(-1, O_CREAT);
	NEED(again && alone && again != xrcd && alone->context == context);
	CHECK(ibv_close_xrcd(again) == 0 && ibv_close_xrcd(alone) == 0);
	CHECK(ibv_close_xrcd(again) == EINVAL);
	CHECK(!domain(fd + 100, O_CREAT) && errno == EBADF);
}

int main(void) {
	open_device();
	struct ibv_device_attr device;
	NEED(ibv_query_device(context, &device) == 0);
	CHECK(device.device_cap_flags & IBV_DEVICE_XRC);
	NEED((pd = ibv_alloc_pd(context)) && (cq = ibv_create_cq(context, 32, NULL, NULL, 0)));
	NEED((memory = calloc(1, 4096)) && (mr = ibv_reg_mr(pd, memory, 4096, IBV_ACCESS_LOCAL_WRITE)));
	FILE *file = tmpfile();
	NEED(file);
	CHECK(!domain(fileno(file), 0) && errno == EAGAIN);
	struct ibv_xrcd *xrcd = domain(fileno(file), O_CREAT);
	NEED(xrcd);
	domains(xrcd, fileno(file));
	uint32_t numbers[2];
	struct ibv_srq *srqs[2] = {queue(xrcd, &numbers[0]), queue(xrcd, &numbers[1])};
	CHECK(numbers[0] != numbers[1] && ibv_close_xrcd(xrcd) == EBUSY && ibv_destroy_cq(cq) == EBUSY);

	struct ibv_qp_init_attr_ex init = {.qp_type = IBV_QPT_XRC_RECV, .xrcd = xrcd, .comp_mask = IBV_QP_INIT_ATTR_XRCD};
	struct ibv_qp *target = ibv_create_qp_ex(context, &init);
	NEED(target);
	struct ibv_qp_init_attr_ex sender = {
		.qp_type = IBV_QPT_XRC_SEND, .pd = pd, .send_cq = cq,
		.cap = {.max_send_wr = 8, .max_send_sge = 1, .max_inline_data = 64},
		.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS, .send_ops_flags = IBV_QP_EX_WITH_SEND};
	struct ibv_qp *source = ibv_create_qp_ex(context, &sender);
	NEED(source);
	connect_to(source, target->qp_num);

	// Another one opens the queue pair and connects it; it lives until the last of both has gone.
	struct ibv_qp_open_attr open = {.comp_mask = IBV_QP_OPEN_ATTR_NUM | IBV_QP_OPEN_ATTR_XRCD | IBV_QP_OPEN_ATTR_TYPE,
					.qp_num = source->qp_num, .xrcd = xrcd, .qp_type = IBV_QPT_XRC_RECV};
	CHECK(!ibv_open_qp(context, &open) && errno == EINVAL);
	open.qp_num = target->qp_num;
	struct ibv_qp *opened = ibv_open_qp(context, &open);
	NEED(opened && opened != target && opened->qp_num == target->qp_num);
	connect_to(opened, source->qp_num);
	CHECK(ibv_destroy_qp(target) == 0 && ibv_destroy_qp(target) == EINVAL);

	struct ibv_qp_ex *x = ibv_qp_to_qp_ex(source);
	NEED(x);
	for (int i = 0; i < 4; i++) {
		receive(srqs[i % 2], 10 + i, memory + 64 * i);
		struct ibv_send_wr wr = {.wr_id = 1, .opcode = IBV_WR_SEND, .num_sge = 1,
			.send_flags = IBV_SEND_INLINE | IBV_SEND_SIGNALED,
					 .qp_type.xrc.remote_srqn = numbers[i % 2]}, *bad;
		char text[8] = "queue  ";
		text[6] = '0' + i;
		if (i < 2) {
			wr.sg_list = &(struct ibv_sge){(uintptr_t)text, 8, 0};
			NEED(ibv_post_send(source, &wr, &bad) == 0);
		} else {
			ibv_wr_start(x);
			x->wr_id = 1;
			x->wr_flags = IBV_SEND_SIGNALED;
			ibv_wr_send(x);
			ibv_wr_set_xrc_srqn(x, numbers[i % 2]);
			ibv_wr_set_inline_data(x, text, 8);
			NEED(ibv_wr_complete(x) == 0);
		}
		for (int n = 0; n < 2; n++) {
			struct ibv_wc wc = wait_for(cq);
			CHECK(wc.status == IBV_WC_SUCCESS && (wc.wr_id == 1 || wc.wr_id == 10 + i), "%d: %d", i, wc.status);
			CHECK(wc.wr_id == 1 || wc.qp_num == opened->qp_num);
		}
		CHECK(strcmp(memory + 64 * i, text) == 0, "%s", memory + 64 * i);
	}
	CHECK(ibv_close_xrcd(xrcd) == EBUSY);
	CHECK(ibv_destroy_qp(opened) == 0 && ibv_destroy_qp(source) == 0);
	CHECK(!ibv_open_qp(context, &open) && errno == EINVAL);
	CHECK(ibv_destroy_srq(srqs[0]) == 0 && ibv_destroy_srq(srqs[1]) == 0 && ibv_close_xrcd(xrcd) == 0);
	CHECK(!domain(fileno(file), 0) && errno == EAGAIN);
	CHECK(ibv_destroy_cq(cq) == 0 && ibv_dereg_mr(mr) == 0 && ibv_dealloc_pd(pd) == 0 && ibv_close_device(context) == 0);
	puts(failures ? "FAILED" : "passed");
	return failures != 0;
}
