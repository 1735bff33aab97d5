// Work that adapters refuse or fail, and objects that end in any order. Each has the error or the status that rdma-core
// and the specification say, and all goes on afterwards.
#include "common.h"
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>

enum { SIZE = 1 << 16, RIGHTS = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |
	      IBV_ACCESS_REMOTE_ATOMIC | IBV_ACCESS_MW_BIND };

static struct ibv_pd *pd;
static struct ibv_mr *mr;
static char memory[2 * SIZE];

struct side {
	struct ibv_cq *cq;
	struct ibv_qp *qp;
};

static struct side make(int entries, int type, uint32_t inline_data)
{
	struct side s = {ibv_create_cq(context, entries, NULL, NULL, 0)};
	struct ibv_qp_init_attr init = {.send_cq = s.cq, .recv_cq = s.cq, .qp_type = type, .cap = {
		.max_send_wr = 8, .max_recv_wr = 8, .max_send_sge = 3, .max_recv_sge = 3, .max_inline_data = inline_data}};
	NEED(s.cq && (s.qp = ibv_create_qp(pd, &init)));
	return s;
}

static void end(struct side s) { NEED(ibv_destroy_qp(s.qp) == 0 && ibv_destroy_cq(s.cq) == 0); }

static int post(struct ibv_qp *qp, enum ibv_wr_opcode opcode, struct ibv_sge *list, int n, unsigned flags, uint64_t to,
		uint32_t key)
{
	struct ibv_send_wr wr = {.sg_list = list, .num_sge = n, .opcode = opcode, .send_flags = IBV_SEND_SIGNALED | flags};
	struct ibv_send_wr *bad = NULL;
	wr.wr.rdma.remote_addr = to;
	wr.wr.rdma.rkey = key;
	int error = ibv_post_send(qp, &wr, &bad);
	NEED(!error || bad == &wr);
	return error;
}

static int receive(struct ibv_qp *qp, struct ibv_sge *list, int n)
{
	struct ibv_recv_wr wr = {.sg_list = list, .num_sge = n}, *bad = NULL;
	return ibv_post_recv(qp, &wr, &bad);
}

static int move(struct ibv_qp *qp, enum ibv_qp_state to)
{
	struct ibv_qp_attr a = {.qp_state = to};
	return ibv_modify_qp(qp, &a, IBV_QP_STATE);
}

// states posts in each state.
static void states(void)
{
	struct side s = make(16, IBV_QPT_RC, 0);
	CHECK(post(s.qp, IBV_WR_SEND, NULL, 0, 0, 0, 0) == EINVAL && receive(s.qp, NULL, 0) == EINVAL);
	struct ibv_qp_attr a = {.qp_state = IBV_QPS_INIT, .port_num = 1};
	NEED(ibv_modify_qp(s.qp, &a, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS) == 0);
	CHECK(post(s.qp, IBV_WR_SEND, NULL, 0, 0, 0, 0) == EINVAL && receive(s.qp, NULL, 0) == 0);
	CHECK(move(s.qp, IBV_QPS_RTS) == EINVAL && move(s.qp, IBV_QPS_SQD) == EINVAL && move(s.qp, 77) == EINVAL);
	NEED(move(s.qp, IBV_QPS_ERR) == 0);
	struct ibv_wc wc = wait_for(s.cq);
	CHECK(wc.status == IBV_WC_WR_FLUSH_ERR && wc.qp_num == s.qp->qp_num);
	CHECK(post(s.qp, IBV_WR_SEND, NULL, 0, 0, 0, 0) == 0 && wait_for(s.cq).status == IBV_WC_WR_FLUSH_ERR);
	CHECK(receive(s.qp, NULL, 0) == 0 && wait_for(s.cq).status == IBV_WC_WR_FLUSH_ERR);
	NEED(move(s.qp, IBV_QPS_RESET) == 0);
	connect_to(s.qp, s.qp->qp_num);
	CHECK(receive(s.qp, NULL, 0) == 0 && post(s.qp, IBV_WR_SEND, NULL, 0, 0, 0, 0) == 0);
	CHECK(wait_for(s.cq).status == IBV_WC_SUCCESS && wait_for(s.cq).status == IBV_WC_SUCCESS);
	end(s);
}

// work is requests whose entries, lengths or keys can't be. Each takes a queue pair of its own, as most end it.
static void work(void)
{
	const uint64_t far = (uintptr_t)memory + SIZE;
	const uint32_t key = mr->lkey;
	const struct ibv_sge none = {0}, good = {(uintptr_t)memory, 64, key}, bad_key = {(uintptr_t)memory, 64, key ^ 1},
		before = {(uintptr_t)memory - 1, 64, key}, beyond = {(uintptr_t)memory + 2 * SIZE - 63, 64, key},
		around = {UINT64_MAX - 7, 64, key}, huge = {(uintptr_t)memory, UINT32_MAX, key},
		half = {(uintptr_t)memory, 1u << 31, key}, empty = {1, 0, 12345};
	const struct {
		enum ibv_wr_opcode opcode;
		struct ibv_sge list[4];
		int n, error;
		uint64_t to;
		uint32_t key;
		enum ibv_wc_status status;
	} cases[] = {
		{IBV_WR_RDMA_WRITE, {good}, 1, 0, far, key, IBV_WC_SUCCESS},
		{IBV_WR_RDMA_WRITE, {none}, 0, 0, 0, 0, IBV_WC_SUCCESS},
		{IBV_WR_RDMA_WRITE, {none}, 0, 0, UINT64_MAX, 77, IBV_WC_SUCCESS},
		{IBV_WR_RDMA_WRITE, {empty, good, empty}, 3, 0, far, key, IBV_WC_SUCCESS},
		{IBV_WR_RDMA_READ, {none}, 0, 0, 0, 0, IBV_WC_SUCCESS},
		{IBV_WR_RDMA_WRITE, {good, good, good, good}, 4, EINVAL, far, key},
		{IBV_WR_RDMA_WRITE, {bad_key}, 1, 0, far, key, IBV_WC_LOC_PROT_ERR},
		{IBV_WR_RDMA_WRITE, {before}, 1, 0, far, key, IBV_WC_LOC_PROT_ERR},
		{IBV_WR_RDMA_WRITE, {beyond}, 1, 0, far, key, IBV_WC_LOC_PROT_ERR},
		{IBV_WR_RDMA_WRITE, {around}, 1, 0, far, key, IBV_WC_LOC_PROT_ERR},
		{IBV_WR_RDMA_WRITE, {good, around}, 2, 0, far, key, IBV_WC_LOC_PROT_ERR},
		{IBV_WR_RDMA_WRITE, {huge}, 1, 0, far, key, IBV_WC_LOC_LEN_ERR},
		{IBV_WR_RDMA_WRITE, {half, half, good}, 3, 0, far, key, IBV_WC_LOC_LEN_ERR}, // 64 in 32 bits
		{IBV_WR_SEND, {huge, huge, huge}, 3, 0, 0, 0, IBV_WC_LOC_LEN_ERR},
		{IBV_WR_RDMA_WRITE, {good}, 1, 0, far, key ^ 0x100, IBV_WC_REM_ACCESS_ERR},
		{IBV_WR_RDMA_WRITE, {good}, 1, 0, far + SIZE - 63, key, IBV_WC_REM_ACCESS_ERR},
		{IBV_WR_RDMA_WRITE, {good}, 1, 0, UINT64_MAX - 7, key, IBV_WC_REM_ACCESS_ERR},
		{IBV_WR_RDMA_READ, {good}, 1, 0, (uintptr_t)memory - 1, key, IBV_WC_REM_ACCESS_ERR},
		{IBV_WR_RDMA_READ, {bad_key}, 1, 0, far, key, IBV_WC_LOC_PROT_ERR},
		{IBV_WR_ATOMIC_FETCH_AND_ADD, {good}, 1, 0, far, key, IBV_WC_LOC_LEN_ERR},
		{IBV_WR_LOCAL_INV, {none}, 0, 0, 0, 0, IBV_WC_LOC_QP_OP_ERR},
	};
	for (unsigned i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct side s = make(16, IBV_QPT_RC, 0), other = make(16, IBV_QPT_RC, 0);
		connect_to(s.qp, other.qp->qp_num);
		connect_to(other.qp, s.qp->qp_num);
		NEED(receive(other.qp, NULL, 0) == 0);
		struct ibv_sge list[4];
		memcpy(list, cases[i].list, sizeof list);
		memset(memory, 1, SIZE);
		memset(memory + SIZE, 2, SIZE);
		int error = post(s.qp, cases[i].opcode, list, cases[i].n, 0, cases[i].to, cases[i].key);
		CHECK(error == cases[i].error, "%u: %d", i, error);
		struct ibv_wc wc = {0};
		if (!error)
			wc = wait_for(s.cq);
		CHECK(wc.status == cases[i].status, "%u: %s", i, ibv_wc_status_str(wc.status));
		int moved = !error && wc.status == IBV_WC_SUCCESS && cases[i].n > 0;
		CHECK(memory[SIZE] == (moved ? 1 : 2) && memory[SIZE + 64] == 2 && memory[2 * SIZE - 1] == 2, "%u", i);
		end(s);
		end(other);
	}
}

// inlined is inline data up to the limit and above.
static void inlined(void)
{
	struct side s = make(16, IBV_QPT_RC, 64);
	connect_to(s.qp, s.qp->qp_num);
	struct ibv_qp_attr a;
	struct ibv_qp_init_attr init;
	NEED(ibv_query_qp(s.qp, &a, IBV_QP_CAP, &init) == 0 && init.cap.max_inline_data >= 64);
	const uint32_t most = init.cap.max_inline_data;
	struct ibv_sge sge = {(uintptr_t)memory, most + 1, 0};
	struct ibv_sge two[2] = {{(uintptr_t)memory, most, 0}, {(uintptr_t)memory, 1, 0}};
	const uint64_t to = (uintptr_t)memory + SIZE;
	CHECK(post(s.qp, IBV_WR_RDMA_WRITE, &sge, 1, IBV_SEND_INLINE, to, mr->rkey) == EINVAL);
	CHECK(post(s.qp, IBV_WR_RDMA_WRITE, two, 2, IBV_SEND_INLINE, to, mr->rkey) == EINVAL);
	CHECK(post(s.qp, IBV_WR_RDMA_READ, two, 1, IBV_SEND_INLINE, to, mr->rkey) == EINVAL);
	sge.length = UINT32_MAX;
	CHECK(post(s.qp, IBV_WR_RDMA_WRITE, &sge, 1, IBV_SEND_INLINE, to, mr->rkey) == EINVAL);
	memset(memory, 5, most);
	CHECK(post(s.qp, IBV_WR_RDMA_WRITE, two, 1, IBV_SEND_INLINE, to, mr->rkey) == 0);
	CHECK(wait_for(s.cq).status == IBV_WC_SUCCESS && memcmp(memory, memory + SIZE, most) == 0);
	CHECK(post(s.qp, IBV_WR_RDMA_WRITE, NULL, 0, IBV_SEND_INLINE, to, mr->rkey) == 0);
	CHECK(wait_for(s.cq).status == IBV_WC_SUCCESS);
	end(s);
}

// lengths are receives that are too short, or of no bytes.
static void lengths(void)
{
	struct side s = make(16, IBV_QPT_RC, 0);
	connect_to(s.qp, s.qp->qp_num);
	struct ibv_sge from = {(uintptr_t)memory, 64, mr->lkey}, to = {(uintptr_t)memory + SIZE, 63, mr->lkey};
	NEED(receive(s.qp, NULL, 0) == 0 && post(s.qp, IBV_WR_SEND, NULL, 0, 0, 0, 0) == 0);
	for (int i = 0; i < 2; i++) {
		struct ibv_wc wc = wait_for(s.cq);
		CHECK(wc.status == IBV_WC_SUCCESS && (wc.opcode == IBV_WC_SEND || wc.byte_len == 0));
	}
	NEED(receive(s.qp, &to, 1) == 0 && post(s.qp, IBV_WR_SEND, &from, 1, 0, 0, 0) == 0);
	for (int i = 0; i < 2; i++) {
		struct ibv_wc wc = wait_for(s.cq);
		CHECK(wc.status == IBV_WC_LOC_LEN_ERR || wc.status == IBV_WC_REM_INV_REQ_ERR || wc.status == IBV_WC_WR_FLUSH_ERR,
		      "%s", ibv_wc_status_str(wc.status));
	}
	end(s);
}

// overrun fills a completion queue: an event of the queue and one of its queue pair tell, and both can be destroyed.
static void overrun(void)
{
	struct ibv_async_event event;
	struct pollfd p = {context->async_fd, POLLIN};
	while (poll(&p, 1, 0) == 1 && ibv_get_async_event(context, &event) == 0)
		ibv_ack_async_event(&event);
	struct side s = make(1, IBV_QPT_RC, 0);
	connect_to(s.qp, s.qp->qp_num);
	NEED(s.cq->cqe < 8);
	for (int i = 0; i < 8; i++)
		NEED(post(s.qp, IBV_WR_RDMA_WRITE, NULL, 0, 0, 0, 0) == 0);
	int queue = 0, pair = 0;
	while ((!queue || !pair) && poll(&p, 1, 5000) == 1) {
		NEED(ibv_get_async_event(context, &event) == 0);
		queue |= event.event_type == IBV_EVENT_CQ_ERR && event.element.cq == s.cq;
		pair |= event.event_type == IBV_EVENT_QP_FATAL && event.element.qp == s.qp;
		ibv_ack_async_event(&event);
	}
	struct ibv_qp_attr a;
	struct ibv_qp_init_attr init;
	CHECK(queue && pair && ibv_query_qp(s.qp, &a, IBV_QP_STATE, &init) == 0 && a.qp_state == IBV_QPS_ERR);
	end(s);
}

// order destroys what others need, and then in the right order.
static void order(void)
{
	struct ibv_comp_channel *channel = ibv_create_comp_channel(context);
	struct ibv_pd *own = ibv_alloc_pd(context);
	struct ibv_cq *cq = ibv_create_cq(context, 4, NULL, channel, 0);
	struct ibv_srq_init_attr shared = {.attr = {.max_wr = 4, .max_sge = 1}};
	struct ibv_srq *srq = ibv_create_srq(own, &shared);
	struct ibv_qp_init_attr init = {.send_cq = cq, .recv_cq = cq, .srq = srq, .qp_type = IBV_QPT_RC,
					.cap = {.max_send_wr = 4, .max_send_sge = 1}};
	struct ibv_qp *qp = ibv_create_qp(own, &init);
	struct ibv_mr *region = ibv_reg_mr(own, memory, SIZE, RIGHTS);
	struct ibv_mw *window = ibv_alloc_mw(own, IBV_MW_TYPE_1);
	struct ibv_ah_attr to = {.is_global = 1, .port_num = 1, .grh = {.dgid = self, .hop_limit = 1}};
	struct ibv_ah *ah = ibv_create_ah(own, &to);
	NEED(channel && own && cq && srq && qp && region && window && ah);
	connect_to(qp, qp->qp_num);
	struct ibv_mw_bind bind = {.send_flags = IBV_SEND_SIGNALED, .bind_info = {region, (uintptr_t)memory, 64,
		IBV_ACCESS_REMOTE_WRITE}};
	NEED(ibv_bind_mw(qp, window, &bind) == 0 && wait_for(cq).status == IBV_WC_SUCCESS);
	CHECK(ibv_dereg_mr(region) == EBUSY && ibv_dealloc_pd(own) == EBUSY && ibv_destroy_srq(srq) == EBUSY);
	CHECK(ibv_destroy_cq(cq) == EBUSY && ibv_destroy_comp_channel(channel) == EBUSY);
	CHECK(ibv_dealloc_mw(window) == 0 && ibv_dereg_mr(region) == 0 && ibv_dealloc_pd(own) == EBUSY);
	CHECK(ibv_destroy_qp(qp) == 0 && ibv_dealloc_pd(own) == EBUSY && ibv_destroy_srq(srq) == 0);
	CHECK(ibv_dealloc_pd(own) == EBUSY && ibv_destroy_ah(ah) == 0 && ibv_dealloc_pd(own) == 0);
	CHECK(ibv_destroy_comp_channel(channel) == EBUSY && ibv_destroy_cq(cq) == 0);
	CHECK(ibv_destroy_comp_channel(channel) == 0);
}

// The other thread's part of deregister.
static struct side busy;
static atomic_uint target; // the key of what is written to
static atomic_int stop;
static atomic_long refused, done;

static void *write_always(void *unused)
{
	static char source[SIZE];
	memset(source, 0x77, sizeof source);
	struct ibv_mr *from = ibv_reg_mr(pd, source, SIZE, 0);
	NEED(from);
	while (!atomic_load(&stop)) {
		struct ibv_sge sge = {(uintptr_t)source, SIZE, from->lkey};
		uint32_t key = atomic_load(&target);
		if (!key)
			continue;
		NEED(post(busy.qp, IBV_WR_RDMA_WRITE, &sge, 1, 0, (uintptr_t)memory + SIZE, key) == 0);
		struct ibv_wc wc = wait_for(busy.cq);
		NEED(wc.status == IBV_WC_SUCCESS || wc.status == IBV_WC_REM_ACCESS_ERR || wc.status == IBV_WC_WR_FLUSH_ERR);
		atomic_fetch_add(wc.status == IBV_WC_SUCCESS ? &done : &refused, 1);
		if (wc.status != IBV_WC_SUCCESS) { // another one, which no packet of the old one reaches
			end(busy);
			busy = make(16, IBV_QPT_RC, 0);
			connect_to(busy.qp, busy.qp->qp_num);
		}
	}
	NEED(ibv_dereg_mr(from) == 0);
	return NULL;
}

// deregister ends a region that is being written to: nothing arrives afterwards.
static void deregister(void)
{
	busy = make(16, IBV_QPT_RC, 0);
	connect_to(busy.qp, busy.qp->qp_num);
	pthread_t thread;
	NEED(pthread_create(&thread, NULL, write_always, NULL) == 0);
	for (int i = 0; i < 300 || atomic_load(&refused) < 20 || atomic_load(&done) < 20; i++) {
		struct ibv_mr *region = ibv_reg_mr(pd, memory + SIZE, SIZE, RIGHTS);
		NEED(region);
		atomic_store(&target, region->rkey);
		usleep(i % 7 * 50);
		CHECK(ibv_dereg_mr(region) == 0);
		memset(memory + SIZE, 0x11, SIZE);
		usleep(50);
		for (int b = 0; b < SIZE; b++)
			NEED(memory[SIZE + b] == 0x11);
	}
	atomic_store(&stop, 1);
	NEED(pthread_join(thread, NULL) == 0);
	end(busy);
}

int main(void)
{
	open_device();
	NEED((pd = ibv_alloc_pd(context)) && (mr = ibv_reg_mr(pd, memory, sizeof memory, RIGHTS)));
	states();
	work();
	inlined();
	lengths();
	overrun();
	order();
	deregister();
	CHECK(ibv_dereg_mr(mr) == 0 && ibv_dealloc_pd(pd) == 0 && ibv_close_device(context) == 0);
	puts(failures ? "FAILED" : "passed");
	return failures != 0;
}
