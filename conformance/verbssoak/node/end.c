// What the two ends of a link have in common: queue pairs, and messages.
#include "node.h"

void lane_open(struct end *e, struct lane *l, struct ibv_qp *qp) {
	l->qp = qp;
	memory_new(&l->box, ROOM * (RECEIVES + SENDS), false);
	if (!qp->srq)
		for (int i = 0; i < RECEIVES; i++)
			lane_receive(e, l, i);
}

void lane_receive(struct end *e, struct lane *l, int slot) {
	struct ibv_sge sge = {l->box.address + (uint64_t)slot * ROOM, ROOM, l->box.mr->lkey};
	struct ibv_recv_wr wr = {.wr_id = TAKEN | slot, .sg_list = &sge, .num_sge = 1}, *bad;
	need(ibv_post_recv(l->qp, &wr, &bad) == 0);
	e->receives++;
}

void lane_send(struct end *e, struct lane *l, struct message text, uint32_t length, unsigned flags) {
	const uint32_t most = e->datagrams ? DATAGRAM : MESSAGE;
	if (length < sizeof text)
		length = sizeof text;
	if (length > most)
		length = most;
	text.seed = e->seed;
	text.sequence = ++l->sent;
	text.length = length;
	size_t at = (RECEIVES + l->out++ % SENDS) * ROOM;
	memcpy(l->box.bytes + at, &text, sizeof text);
	pattern_fill(l->box.bytes + at + sizeof text, length - sizeof text, text.seed ^ text.sequence);
	struct ibv_sge sge = {l->box.address + at, length, l->box.mr->lkey};
	struct ibv_send_wr wr = {.wr_id = SENT, .sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_SEND,
				 .send_flags = flags | IBV_SEND_SIGNALED}, *bad;
	if (length <= 128)
		wr.send_flags |= IBV_SEND_INLINE;
	if (text.sequence & 1) {
		wr.opcode = IBV_WR_SEND_WITH_IMM;
		wr.imm_data = text.sequence;
	}
	if (e->datagrams) {
		wr.wr.ud.ah = e->ah;
		wr.wr.ud.remote_qpn = e->remote_qpn;
		wr.wr.ud.remote_qkey = e->remote_qkey;
	}
	need(ibv_post_send(l->qp, &wr, &bad) == 0);
	e->sends++;
}

struct message lane_take(struct end *e, struct lane *l, const struct memory *box, const struct ibv_wc *wc) {
	const char *at = box->bytes + (wc->wr_id & SLOT) * ROOM;
	uint32_t length = wc->byte_len;
	if (e->datagrams) {
		need(wc->wc_flags & IBV_WC_GRH && length >= GRH);
		at += GRH;
		length -= GRH;
	}
	struct message text;
	need(length >= sizeof text);
	memcpy(&text, at, sizeof text);
	if (text.seed != e->seed || text.length != length || text.sequence != l->taken + 1)
		fail("message %u of %u bytes after %u, %u bytes, of link %#lx, not %#lx", text.sequence, text.length, l->taken,
			length, text.seed, e->seed);
	l->taken++;
	need(!(text.sequence & 1) == !(wc->wc_flags & IBV_WC_WITH_IMM));
	need(!(text.sequence & 1) || wc->imm_data == text.sequence);
	pattern_check(at + sizeof text, length - sizeof text, text.seed ^ text.sequence, "message");
	return text;
}

struct ibv_qp *unreliable_new(struct ibv_cq *cq) {
	struct ibv_qp_init_attr init = {.send_cq = cq, .recv_cq = cq, .qp_type = IBV_QPT_UC, .sq_sig_all = 1,
		.cap = {.max_send_wr = DEPTH, .max_recv_wr = DEPTH, .max_send_sge = 2, .max_recv_sge = 1, .max_inline_data = 128}};
	struct ibv_qp *qp = ibv_create_qp(pd, &init);
	need(qp);
	struct ibv_qp_attr a = {.qp_state = IBV_QPS_INIT, .port_num = 1, .qp_access_flags = RIGHTS};
	need(ibv_modify_qp(qp, &a, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS) == 0);
	return qp;
}

void unreliable_connect(struct end *e, uint32_t number) {
	struct ibv_qp_attr a = {.qp_state = IBV_QPS_RTR};
	int mask;
	need(rdma_init_qp_attr(e->id, &a, &mask) == 0);
	a.dest_qp_num = number;
	a.rq_psn = 0;
	mask = IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN;
	need(ibv_modify_qp(e->other.qp, &a, mask) == 0);
	a = (struct ibv_qp_attr){.qp_state = IBV_QPS_RTS};
	need(ibv_modify_qp(e->other.qp, &a, IBV_QP_STATE | IBV_QP_SQ_PSN) == 0);
}

void end_flush(struct end *e, void (*taken)(const struct ibv_wc *)) {
	struct ibv_qp_attr a = {.qp_state = IBV_QPS_ERR};
	struct ibv_qp *pairs[] = {e->main.qp, e->other.qp};
	for (int i = 0; i < 2; i++)
		need(!pairs[i] || ibv_modify_qp(pairs[i], &a, IBV_QP_STATE) == 0);
	for (double end = seconds() + PATIENCE; e->sends || e->receives;) {
		struct ibv_wc wc;
		int n = ibv_poll_cq(e->cq, 1, &wc);
		need(n >= 0);
		if (n)
			taken(&wc);
		else if (seconds() > end)
			fail("%d sends and %d receives have not completed after their queue pairs' end", e->sends, e->receives);
	}
}

void end_destroy(struct end *e) {
	if (e->other.qp)
		need(ibv_destroy_qp(e->other.qp) == 0);
	if (e->main.qp)
		rdma_destroy_qp(e->id);
	if (e->ah)
		need(ibv_destroy_ah(e->ah) == 0);
	memory_free(&e->main.box);
	memory_free(&e->other.box);
	memory_free(&e->area);
	need(rdma_destroy_id(e->id) == 0);
}
