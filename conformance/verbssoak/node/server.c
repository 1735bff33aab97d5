// The server's ends of links: it gives each client an area, looks at messages, and answers.
#include "node.h"

static struct rdma_event_channel *events;
static struct ibv_comp_channel *channel;
static struct rdma_cm_id *listening[2];
static struct ibv_cq *cq;
static struct ibv_srq *shared; // for the links of RC
static struct memory shared_box;
static struct end *ends;
static int stop[2];

enum { SHARED = 512 };

static void shared_receive(int slot) {
	struct ibv_sge sge = {shared_box.address + (uint64_t)slot * ROOM, ROOM, shared_box.mr->lkey};
	struct ibv_recv_wr wr = {.wr_id = TAKEN | slot, .sg_list = &sge, .num_sge = 1}, *bad;
	need(ibv_post_srq_recv(shared, &wr, &bad) == 0);
}

uint16_t server_open(void) {
	need(pipe2(stop, O_CLOEXEC) == 0);
	need((events = rdma_create_event_channel()));
	need((channel = ibv_create_comp_channel(context)));
	need((cq = ibv_create_cq(context, 1 << 14, NULL, channel, 0)));
	struct ibv_srq_init_attr init = {.attr = {.max_wr = SHARED, .max_sge = 1}};
	need((shared = ibv_create_srq(pd, &init)));
	memory_new(&shared_box, SHARED * ROOM, false);
	for (int i = 0; i < SHARED; i++)
		shared_receive(i);
	for (bool both = false; !both;) {
		struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = address};
		both = true;
		for (int i = 0; i < 2; i++) { // the same port for streams and datagrams
			need(rdma_create_id(events, &listening[i], NULL, i ? RDMA_PS_UDP : RDMA_PS_TCP) == 0);
			if (rdma_bind_addr(listening[i], (struct sockaddr *)&at) != 0 || rdma_listen(listening[i], 16) != 0) {
				need(i == 1 && errno == EADDRINUSE);
				both = false;
				for (; i >= 0; i--)
					need(rdma_destroy_id(listening[i]) == 0);
				break;
			}
			at.sin_port = rdma_get_src_port(listening[i]);
		}
	}
	return rdma_get_src_port(listening[0]);
}

// admit answers a request.
static void admit(struct rdma_cm_event *event) {
	struct hello hello;
	bool datagrams = event->id->ps == RDMA_PS_UDP;
	const void *private = datagrams ? event->param.ud.private_data : event->param.conn.private_data;
	memcpy(&hello, private, sizeof hello);
	if (hello.to != (uint32_t)getpid()) { // who had the port before has gone
		need(rdma_reject(event->id, NULL, 0) == 0 && rdma_destroy_id(event->id) == 0);
		return;
	}
	struct end *e = calloc(1, sizeof *e);
	need(e);
	e->id = event->id;
	e->id->context = e;
	e->datagrams = datagrams;
	e->pid = hello.from;
	e->seed = hello.seed;
	e->cq = cq;
	if (!datagrams && hello.seed & 1)
		e->srq = shared;
	struct ibv_qp_init_attr init = {.send_cq = cq, .recv_cq = cq, .srq = e->srq, .sq_sig_all = 1,
		.qp_type = datagrams ? IBV_QPT_UD : IBV_QPT_RC,
		.cap = {.max_send_wr = DEPTH, .max_recv_wr = DEPTH, .max_send_sge = 1, .max_recv_sge = 1, .max_inline_data = 128}};
	need(rdma_create_qp(e->id, pd, &init) == 0);
	lane_open(e, &e->main, e->id->qp);
	struct hello answer = {.from = getpid(), .to = hello.from, .seed = hello.seed};
	if (!datagrams) {
		memory_new(&e->area, AREA, hello.seed & 2);
		answer.address = e->area.address;
		answer.key = e->area.mr->rkey;
	}
	if (hello.unreliable) {
		lane_open(e, &e->other, unreliable_new(cq));
		unreliable_connect(e, hello.unreliable);
		answer.unreliable = e->other.qp->qp_num;
	}
	struct rdma_conn_param p = {.private_data = &answer, .private_data_len = sizeof answer, .responder_resources = 4,
				    .initiator_depth = 4, .retry_count = 7, .rnr_retry_count = 7};
	if (datagrams)
		p.qp_num = e->main.qp->qp_num;
	if (rdma_accept(e->id, &p) != 0)
		e->down = true; // it has gone meanwhile
	e->next = ends;
	ends = e;
}

static struct end *end_of(uint32_t number) {
	for (struct end *e = ends; e; e = e->next)
		if (e->main.qp->qp_num == number || (e->other.qp && e->other.qp->qp_num == number))
			return e;
	return NULL;
}

// answer replies to a CHECK, after a look at what it tells of.
static void answer(struct end *e, struct lane *lane, const struct message *text, const struct ibv_wc *wc) {
	if (text->n) {
		need(e->area.bytes && text->at <= AREA && text->n <= AREA - text->at);
		pattern_check(e->area.bytes + text->at, text->n, text->pattern, "area");
	}
	if (e->datagrams && !e->ah) {
		e->ah = ibv_create_ah_from_wc(pd, (struct ibv_wc *)wc,
			(struct ibv_grh *)(lane->box.bytes + (wc->wr_id & SLOT) * ROOM), 1);
		need(e->ah);
		e->remote_qpn = wc->src_qp;
		e->remote_qkey = RDMA_UDP_QKEY;
	}
	lane_send(e, lane, (struct message){.kind = REPLY}, text->length / 4, 0);
}

static void completed(const struct ibv_wc *wc) {
	struct end *e = end_of(wc->qp_num);
	need(e);
	struct lane *lane = wc->qp_num == e->main.qp->qp_num ? &e->main : &e->other;
	bool from_shared = e->srq && lane == &e->main;
	if (!(wc->wr_id & TAKEN)) {
		e->sends--;
	} else if (!from_shared) {
		e->receives--;
	}
	need(e->sends >= 0 && e->receives >= 0);
	if (wc->status != IBV_WC_SUCCESS) {
		e->down = true;
		if (from_shared && wc->wr_id & TAKEN)
			shared_receive(wc->wr_id & SLOT);
		return;
	}
	if (!(wc->wr_id & TAKEN))
		return;
	struct message text = {.kind = PLAIN};
	if (wc->opcode != IBV_WC_RECV_RDMA_WITH_IMM)
		text = lane_take(e, lane, from_shared ? &shared_box : &lane->box, wc);
	struct ibv_wc copy = *wc;
	if (text.kind == CHECK)
		answer(e, lane, &text, &copy);
	else if (text.kind == BYE)
		e->bye = true;
	if (from_shared)
		shared_receive(wc->wr_id & SLOT);
	else if (!e->down)
		lane_receive(e, lane, wc->wr_id & SLOT);
}

static bool look(void) {
	struct ibv_wc wc[16];
	bool some = false;
	for (int n; (n = ibv_poll_cq(cq, 16, wc)) > 0; some = true)
		for (int i = 0; i < n; i++)
			completed(&wc[i]);
	return some;
}

// sweep ends the links that have ended.
static void sweep(bool all) {
	for (struct end **at = &ends; *at;) {
		struct end *e = *at;
		if ((e->datagrams && e->bye) || ((e->datagrams || apart) && is_gone(e->pid)))
			e->down = true;
		if (e->bye && e->sends == 0)
			e->down = true;
		if (is_gone(e->pid) && !e->gone)
			e->gone = seconds();
		if (e->gone && !e->down && seconds() > e->gone + PATIENCE)
			fail("nothing says that process %u has gone", e->pid);
		if (!e->down && !all) {
			at = &e->next;
			continue;
		}
		e->down = true;
		end_flush(e, completed);
		if (!e->bye)
			peer_lost(e->pid, "without a word");
		*at = e->next;
		end_destroy(e);
		free(e);
	}
}

static void connection_event(void) {
	struct rdma_cm_event *event;
	need(rdma_get_cm_event(events, &event) == 0);
	int kind = event->event;
	struct end *e = event->id->context;
	if (kind == RDMA_CM_EVENT_CONNECT_REQUEST) {
		struct rdma_cm_event copy = *event;
		admit(&copy);
	} else if (kind != RDMA_CM_EVENT_ESTABLISHED && kind != RDMA_CM_EVENT_TIMEWAIT_EXIT && e) {
		look(); // what came before
		e->down = true;
	}
	need(rdma_ack_cm_event(event) == 0);
}

void *server_main(void *unused) {
	struct pollfd p[] = {{.fd = stop[0], .events = POLLIN}, {.fd = events->fd, .events = POLLIN},
		{.fd = channel->fd, .events = POLLIN}};
	while (!(p[0].revents & (POLLIN | POLLHUP))) {
		need(ibv_req_notify_cq(cq, 0) == 0);
		look();
		sweep(false);
		double begin = seconds();
		int n = poll(p, 3, EVENT_TIME * 1000);
		if (n == 0 && look())
			missed_event(begin);
		if (n > 0 && p[1].revents)
			connection_event();
		if (n > 0 && p[2].revents) {
			struct ibv_cq *from;
			void *user;
			need(ibv_get_cq_event(channel, &from, &user) == 0 && from == cq);
			ibv_ack_cq_events(cq, 1);
		}
	}
	sweep(true);
	for (int i = 0; i < 2; i++)
		need(rdma_destroy_id(listening[i]) == 0);
	need(ibv_destroy_srq(shared) == 0);
	memory_free(&shared_box);
	need(ibv_destroy_cq(cq) == 0 && ibv_destroy_comp_channel(channel) == 0);
	rdma_destroy_event_channel(events);
	return unused;
}

void server_close(void) { need(close(stop[1]) == 0); }
