// Uses the extended queue pairs and completion queues (ibv_wr_*, ibv_start_poll), memory windows, and what else goes by
// functions that structures point to, between two queue pairs of this process.
#include "common.h"

static struct ibv_pd *pd;
static struct ibv_cq_ex *cq;
static char *a, *b; // memory of either side
static struct ibv_mr *ma, *mb;
enum { SIZE = 1 << 16 };

static struct ibv_qp_ex *queue_pair(void) {
	struct ibv_qp_init_attr_ex init = {
		.send_cq = ibv_cq_ex_to_cq(cq), .recv_cq = ibv_cq_ex_to_cq(cq), .qp_type = IBV_QPT_RC, .pd = pd,
		.cap = {.max_send_wr = 16, .max_recv_wr = 16, .max_send_sge = 4, .max_recv_sge = 4, .max_inline_data = 128},
		.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS, .send_ops_flags = 0x3ff};
	struct ibv_qp *qp = ibv_create_qp_ex(context, &init);
	NEED(qp);
	NEED(ibv_qp_to_qp_ex(qp));
	return ibv_qp_to_qp_ex(qp);
}

struct seen {
	uint64_t id;
	enum ibv_wc_status status;
	enum ibv_wc_opcode opcode;
	uint32_t length, imm, flags, number;
};

static struct seen next(void) {
	struct ibv_poll_cq_attr attr = {0};
	int result;
	while ((result = ibv_start_poll(cq, &attr)) == ENOENT)
		;
	NEED(result == 0);
	struct seen s = {cq->wr_id, cq->status, ibv_wc_read_opcode(cq), ibv_wc_read_byte_len(cq), ibv_wc_read_imm_data(cq),
			 ibv_wc_read_wc_flags(cq), ibv_wc_read_qp_num(cq)};
	CHECK(ibv_wc_read_completion_ts(cq) > 0 && ibv_wc_read_vendor_err(cq) == 0);
	ibv_end_poll(cq);
	return s;
}

static void receive(struct ibv_qp_ex *qp, uint64_t id, char *to, uint32_t length) {
	struct ibv_sge sge = {(uintptr_t)to, length, mb->lkey};
	struct ibv_recv_wr wr = {.wr_id = id, .sg_list = &sge, .num_sge = 1}, *bad;
	NEED(ibv_post_recv(&qp->qp_base, &wr, &bad) == 0);
}

static void begin(struct ibv_qp_ex *qp, uint64_t id) {
	ibv_wr_start(qp);
	qp->wr_id = id;
	qp->wr_flags = IBV_SEND_SIGNALED;
}

static void operations(struct ibv_qp_ex *x, struct ibv_qp_ex *y) {
	strcpy(a, "written");
	begin(x, 1);
	ibv_wr_rdma_write(x, mb->rkey, (uintptr_t)b);
	ibv_wr_set_sge(x, ma->lkey, (uintptr_t)a, 8);
	NEED(ibv_wr_complete(x) == 0);
	struct seen s = next();
	CHECK(s.id == 1 && s.status == IBV_WC_SUCCESS && s.opcode == IBV_WC_RDMA_WRITE && s.number == x->qp_base.qp_num);
	CHECK(strcmp(b, "written") == 0);

	// Three requests in a batch: two lists and immediate data, inline from memory that changes at once.
	receive(y, 10, b + 4096, 64);
	receive(y, 11, b + 8192, 64);
	char text[] = "inline", more[] = "+list";
	begin(x, 2);
	ibv_wr_rdma_write_imm(x, mb->rkey, (uintptr_t)b + 100, 0x01020304);
	ibv_wr_set_inline_data(x, text, 6);
	memset(text, 'x', 6);
	x->wr_id = 3;
	ibv_wr_send_imm(x, 0x05060708);
	struct ibv_data_buf parts[] = {{more, 5}, {more, 1}};
	ibv_wr_set_inline_data_list(x, 2, parts);
	memset(more, 'x', 5);
	x->wr_id = 4;
	ibv_wr_rdma_read(x, mb->rkey, (uintptr_t)b);
	struct ibv_sge list[] = {{(uintptr_t)a + 200, 3, ma->lkey}, {(uintptr_t)a + 300, 5, ma->lkey}};
	ibv_wr_set_sge_list(x, 2, list);
	NEED(ibv_wr_complete(x) == 0);
	int seen = 0;
	for (int i = 0; i < 5; i++) {
		s = next();
		CHECK(s.status == IBV_WC_SUCCESS, "%d", s.status);
		seen |= 1 << s.id;
		if (s.id == 10)
			CHECK(s.opcode == IBV_WC_RECV_RDMA_WITH_IMM && s.imm == 0x01020304 && (s.flags & IBV_WC_WITH_IMM) &&
			      s.length == 6);
		if (s.id == 11)
			CHECK(s.opcode == IBV_WC_RECV && s.imm == 0x05060708 && s.length == 6, "%d", s.length);
	}
	CHECK(seen == (1 << 2 | 1 << 3 | 1 << 4 | 1 << 10 | 1 << 11));
	CHECK(memcmp(b + 100, "inline", 6) == 0 && memcmp(b + 8192, "+list+", 6) == 0, "%.6s %.6s", b + 100, b + 8192);
	CHECK(memcmp(a + 200, "wri", 3) == 0 && memcmp(a + 300, "tten", 5) == 0);

	uint64_t *word = (uint64_t *)(b + 1024), *old = (uint64_t *)(a + 1024);
	*word = 40;
	begin(x, 5);
	ibv_wr_atomic_fetch_add(x, mb->rkey, (uintptr_t)word, 2);
	ibv_wr_set_sge(x, ma->lkey, (uintptr_t)old, 8);
	x->wr_id = 6;
	ibv_wr_atomic_cmp_swp(x, mb->rkey, (uintptr_t)word, 42, 7);
	ibv_wr_set_sge(x, ma->lkey, (uintptr_t)(old + 1), 8);
	NEED(ibv_wr_complete(x) == 0);
	CHECK(next().id == 5 && next().id == 6);
	CHECK(*word == 7 && old[0] == 40 && old[1] == 42);

	// What is aborted, or wrong in one request, does not happen.
	begin(x, 7);
	ibv_wr_rdma_write(x, mb->rkey, (uintptr_t)b);
	ibv_wr_set_sge(x, ma->lkey, (uintptr_t)a + 4096, 8);
	ibv_wr_abort(x);
	begin(x, 8);
	ibv_wr_rdma_write(x, mb->rkey, (uintptr_t)b);
	ibv_wr_set_sge(x, ma->lkey, (uintptr_t)a + 4096, 8);
	ibv_wr_rdma_write(x, mb->rkey, (uintptr_t)b);
	ibv_wr_set_inline_data(x, a, 4096);
	CHECK(ibv_wr_complete(x) == EINVAL);
	CHECK(strcmp(b, "written") == 0);
	struct ibv_poll_cq_attr attr = {0};
	CHECK(ibv_start_poll(cq, &attr) == ENOENT);
	CHECK(ibv_wr_complete(x) == EINVAL); // without a start
}

static void windows(struct ibv_qp_ex *x, struct ibv_qp_ex *y) {
	// Type 2: y opens it to x, x writes through it and takes it away by a send with invalidate.
	struct ibv_mw *w = ibv_alloc_mw(pd, IBV_MW_TYPE_2);
	NEED(w);
	uint32_t key = ibv_inc_rkey(w->rkey);
	struct ibv_mw_bind_info info = {mb, (uintptr_t)b + 2048, 64, IBV_ACCESS_REMOTE_WRITE};
	begin(y, 20);
	ibv_wr_bind_mw(y, w, key, &info);
	NEED(ibv_wr_complete(y) == 0);
	struct seen s = next();
	CHECK(s.id == 20 && s.status == IBV_WC_SUCCESS && s.opcode == IBV_WC_BIND_MW, "%d", s.status);
	receive(y, 21, b + 12288, 64);
	begin(x, 22);
	ibv_wr_rdma_write(x, key, (uintptr_t)b + 2048);
	ibv_wr_set_inline_data(x, "window", 7);
	x->wr_id = 23;
	ibv_wr_send_inv(x, key);
	ibv_wr_set_inline_data(x, "bye", 4);
	NEED(ibv_wr_complete(x) == 0);
	for (int i = 0; i < 3; i++) {
		s = next();
		CHECK(s.status == IBV_WC_SUCCESS, "%d: %d", (int)s.id, s.status);
		if (s.id == 21)
			CHECK((s.flags & IBV_WC_WITH_INV) && s.imm == key);
	}
	CHECK(strcmp(b + 2048, "window") == 0 && strcmp(b + 12288, "bye") == 0);

	// y opens it once more, and takes it away itself.
	uint32_t again = ibv_inc_rkey(key);
	begin(y, 26);
	ibv_wr_bind_mw(y, w, again, &info);
	y->wr_id = 27;
	ibv_wr_local_inv(y, again);
	y->wr_id = 28;
	ibv_wr_bind_mw(y, w, ibv_inc_rkey(again), &info); // which can be only if it is not open
	NEED(ibv_wr_complete(y) == 0);
	for (int i = 26; i < 29; i++) {
		s = next();
		CHECK(s.id == i && s.status == IBV_WC_SUCCESS, "%d: %d", (int)s.id, s.status);
		CHECK(s.opcode == (i == 27 ? IBV_WC_LOCAL_INV : IBV_WC_BIND_MW));
	}
	struct ibv_send_wr invalidate = {.wr_id = 29, .opcode = IBV_WR_LOCAL_INV, .send_flags = IBV_SEND_SIGNALED,
					 .invalidate_rkey = ibv_inc_rkey(again)}, *bad;
	NEED(ibv_post_send(&y->qp_base, &invalidate, &bad) == 0);
	s = next();
	CHECK(s.id == 29 && s.status == IBV_WC_SUCCESS && s.opcode == IBV_WC_LOCAL_INV, "%d", s.status);

	// Type 1, by ibv_bind_mw.
	struct ibv_mw *one = ibv_alloc_mw(pd, IBV_MW_TYPE_1);
	NEED(one);
	struct ibv_mw_bind bind = {.wr_id = 24, .send_flags = IBV_SEND_SIGNALED, .bind_info = info};
	uint32_t before = one->rkey;
	CHECK(ibv_bind_mw(&y->qp_base, one, &bind) == 0 && one->rkey != before);
	CHECK(next().id == 24);
	CHECK(ibv_dereg_mr(mb) == EBUSY);
	CHECK(ibv_dealloc_mw(one) == 0 && ibv_dealloc_mw(w) == 0);
	begin(x, 25);
	ibv_wr_rdma_write(x, key, (uintptr_t)b + 2048);
	ibv_wr_set_inline_data(x, "late", 5);
	NEED(ibv_wr_complete(x) == 0);
	s = next();
	CHECK(s.id == 25 && s.status == IBV_WC_REM_ACCESS_ERR, "%d", s.status);
	CHECK(strcmp(b + 2048, "window") == 0);
}

int main(void) {
	open_device();
	NEED((pd = ibv_alloc_pd(context)));
	struct ibv_cq_init_attr_ex init = {.cqe = 64, .wc_flags = IBV_WC_STANDARD_FLAGS | IBV_WC_EX_WITH_COMPLETION_TIMESTAMP};
	NEED((cq = ibv_create_cq_ex(context, &init)));
	init.wc_flags |= IBV_WC_EX_WITH_TM_INFO;
	CHECK(!ibv_create_cq_ex(context, &init) && errno == EOPNOTSUPP);
	a = calloc(1, SIZE);
	b = calloc(1, SIZE);
	ma = ibv_reg_mr(pd, a, SIZE, IBV_ACCESS_LOCAL_WRITE);
	mb = ibv_reg_mr(pd, b, SIZE, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |
				     IBV_ACCESS_REMOTE_ATOMIC | IBV_ACCESS_MW_BIND);
	NEED(ma && mb);
	struct ibv_qp_ex *x = queue_pair(), *y = queue_pair();
	connect_to(&x->qp_base, y->qp_base.qp_num);
	connect_to(&y->qp_base, x->qp_base.qp_num);
	operations(x, y);
	windows(x, y);
	CHECK(ibv_destroy_qp(&x->qp_base) == 0 && ibv_destroy_qp(&y->qp_base) == 0);
	CHECK(ibv_dereg_mr(ma) == 0 && ibv_dereg_mr(mb) == 0 && ibv_destroy_cq(ibv_cq_ex_to_cq(cq)) == 0);
	CHECK(ibv_dealloc_pd(pd) == 0 && ibv_close_device(context) == 0);
	puts(failures ? "FAILED" : "passed");
	return failures != 0;
}
