// What the programs share that use RDMA verbs: a device, memory with a region, and pairs of queue pairs of this process
// that are connected with each other.
#include "misuse.h"
#include <infiniband/verbs.h>

#define NEED(condition)                                                            \
	do {                                                                       \
		if (!(condition)) {                                                \
			fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition); \
			exit(1);                                                   \
		}                                                                  \
	} while (0)

struct adapter {
	struct ibv_context *context;
	union ibv_gid gid;
	struct ibv_pd *pd;
	struct ibv_mr *mr;
	char memory[1 << 16];
};

// here posts sends, and there is what they reach.
struct ends {
	struct ibv_cq *cq, *cq_there;
	struct ibv_qp *here, *there;
};

static inline void open_adapter(struct adapter *a) {
	struct ibv_device **list = ibv_get_device_list(NULL);
	NEED(list && list[0]);
	NEED(a->context = ibv_open_device(list[0]));
	ibv_free_device_list(list);
	NEED(!ibv_query_gid(a->context, 1, 0, &a->gid));
	NEED(a->pd = ibv_alloc_pd(a->context));
	NEED(a->mr = ibv_reg_mr(a->pd, a->memory, sizeof a->memory,
		IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC));
}

static inline void close_adapter(struct adapter *a) {
	NEED(!ibv_dereg_mr(a->mr) && !ibv_dealloc_pd(a->pd) && !ibv_close_device(a->context));
}

static inline struct ibv_qp *make_qp(struct adapter *a, struct ibv_cq **cq) {
	NEED(*cq = ibv_create_cq(a->context, 64, NULL, NULL, 0));
	struct ibv_qp_init_attr init = {.send_cq = *cq, .recv_cq = *cq, .qp_type = IBV_QPT_RC, .sq_sig_all = 1,
		.cap = {.max_send_wr = 16, .max_recv_wr = 16, .max_send_sge = 1, .max_recv_sge = 1, .max_inline_data = 64}};
	struct ibv_qp *qp = ibv_create_qp(a->pd, &init);
	NEED(qp);
	return qp;
}

static inline void connect_qp(struct adapter *a, struct ibv_qp *qp, uint32_t number) {
	struct ibv_qp_attr at = {.qp_state = IBV_QPS_INIT, .port_num = 1,
		.qp_access_flags = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC};
	NEED(!ibv_modify_qp(qp, &at, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS));
	at = (struct ibv_qp_attr){.qp_state = IBV_QPS_RTR, .path_mtu = IBV_MTU_1024, .dest_qp_num = number,
		.max_dest_rd_atomic = 4, .min_rnr_timer = 12,
		.ah_attr = {.is_global = 1, .port_num = 1, .grh = {.dgid = a->gid, .hop_limit = 1}}};
	NEED(!ibv_modify_qp(qp, &at, IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
		IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER));
	at = (struct ibv_qp_attr){.qp_state = IBV_QPS_RTS, .timeout = 14, .retry_cnt = 7, .rnr_retry = 7, .max_rd_atomic = 4};
	NEED(!ibv_modify_qp(qp, &at, IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN |
		IBV_QP_MAX_QP_RD_ATOMIC));
}

static inline struct ends make_ends(struct adapter *a) {
	struct ends e;
	e.here = make_qp(a, &e.cq), e.there = make_qp(a, &e.cq_there);
	connect_qp(a, e.here, e.there->qp_num);
	connect_qp(a, e.there, e.here->qp_num);
	return e;
}

static inline void free_ends(struct ends *e) {
	NEED(!ibv_destroy_qp(e->here) && !ibv_destroy_qp(e->there) && !ibv_destroy_cq(e->cq) && !ibv_destroy_cq(e->cq_there));
}

// post_work posts a send, a write or a read of n bytes at an offset of the memory. Of a write or a read, the peer's are
// at another one.
static inline void post_work(struct adapter *a, struct ends *e, enum ibv_wr_opcode opcode, size_t at, size_t n,
	size_t remote, unsigned flags) {
	struct ibv_sge sge = {(uintptr_t)a->memory + at, n, a->mr->lkey};
	struct ibv_send_wr wr = {.wr_id = 1, .sg_list = &sge, .num_sge = 1, .opcode = opcode, .send_flags = flags}, *bad;
	wr.wr.rdma.remote_addr = (uintptr_t)a->memory + remote, wr.wr.rdma.rkey = a->mr->rkey;
	NEED(!ibv_post_send(e->here, &wr, &bad));
}

// receive lets the other end take a send. Until then, that and what was posted behind it is under way.
static inline void receive(struct adapter *a, struct ends *e, size_t at, size_t n) {
	struct ibv_sge sge = {(uintptr_t)a->memory + at, n, a->mr->lkey};
	struct ibv_recv_wr wr = {.wr_id = 2, .sg_list = &sge, .num_sge = 1}, *bad;
	NEED(!ibv_post_recv(e->there, &wr, &bad));
}

// await_completions polls for n completions.
static inline void await_completions(struct ibv_cq *cq, int n) {
	struct ibv_wc wc;
	for (int got; n > 0; n -= got) {
		NEED((got = ibv_poll_cq(cq, 1, &wc)) >= 0);
		NEED(!got || wc.status == IBV_WC_SUCCESS);
	}
}
