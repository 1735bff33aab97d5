// The client's end of links: it makes one, works, looks whether what it reads is what it wrote, and ends it.
#include "node.h"

// client is what a thread has for all of its links.
struct client {
	uint64_t random;
	struct rdma_event_channel *events;
	struct ibv_comp_channel *channel;
};

// link is the client's end with what it knows of the other's area.
struct link {
	struct end e;
	struct client *c;
	struct hello server;
	struct memory scratch; // what reads and atomics bring: WORDS, then stripes as the area's
	uint64_t words[2];     // of the server's area
	int reply;             // CHECKs without an answer
	const char *broken;    // why the link has ended
	bool leaving;          // the other side may end it too
	struct {
		enum ibv_wr_opcode opcode;
		uint64_t at, length, before;
	} work[BATCH];
};

static uint64_t pick(struct link *l, uint64_t n) { return mix(&l->c->random) % n; }

// length_of picks how long something is: mostly little.
static uint64_t length_of(struct link *l, uint64_t most) {
	static const uint64_t bounds[] = {16, 256, 4096, STRIPE};
	uint64_t bound = bounds[pick(l, 4)];
	return 1 + pick(l, bound < most ? bound : most);
}

// event_next takes the next event of connections: it waits for some milliseconds. -1 is none.
static int event_next(struct client *c, int milliseconds, struct rdma_cm_event *copy, char *private) {
	struct pollfd p = {.fd = c->events->fd, .events = POLLIN};
	if (poll(&p, 1, milliseconds) != 1)
		return -1;
	struct rdma_cm_event *event;
	need(rdma_get_cm_event(c->events, &event) == 0);
	int kind = event->event;
	if (copy)
		*copy = *event;
	if (private && event->param.conn.private_data_len >= sizeof(struct hello))
		memcpy(private, event->param.conn.private_data, sizeof(struct hello));
	need(rdma_ack_cm_event(event) == 0);
	return kind;
}

// expect waits for an event that making a link goes on with, and says whether it came.
static bool expect(struct link *l, enum rdma_cm_event_type want, struct rdma_cm_event *copy) {
	for (double end = seconds() + PATIENCE; seconds() < end;) {
		int kind = event_next(l->c, 1000, copy, (char *)&l->server);
		if (kind == (int)want)
			return true;
		if (kind >= 0) {
			l->broken = rdma_event_str(kind);
			return false;
		}
	}
	fail("%s has not come in %.0f s", rdma_event_str(want), PATIENCE);
}

// connect_link makes a link, and says whether the other process has answered.
static bool connect_link(struct link *l, struct sockaddr_in to) {
	struct end *e = &l->e;
	need(rdma_create_id(l->c->events, &e->id, l, e->datagrams ? RDMA_PS_UDP : RDMA_PS_TCP) == 0);
	uint8_t wait = 19; // 2 s: others may be stopped
	need(rdma_set_option(e->id, RDMA_OPTION_ID, RDMA_OPTION_ID_ACK_TIMEOUT, &wait, 1) == 0);
	need(rdma_resolve_addr(e->id, NULL, (struct sockaddr *)&to, 5000) == 0);
	if (!expect(l, RDMA_CM_EVENT_ADDR_RESOLVED, NULL))
		return false;
	need(rdma_resolve_route(e->id, 5000) == 0);
	if (!expect(l, RDMA_CM_EVENT_ROUTE_RESOLVED, NULL))
		return false;
	need((e->cq = ibv_create_cq(context, 4 * DEPTH, NULL, l->c->channel, 0)));
	struct ibv_qp_init_attr init = {.send_cq = e->cq, .recv_cq = e->cq, .qp_type = e->datagrams ? IBV_QPT_UD : IBV_QPT_RC,
		.sq_sig_all = 1,
		.cap = {.max_send_wr = DEPTH, .max_recv_wr = DEPTH, .max_send_sge = 2, .max_recv_sge = 1, .max_inline_data = 128}};
	need(rdma_create_qp(e->id, pd, &init) == 0);
	lane_open(e, &e->main, e->id->qp);
	if (!e->datagrams && !apart && pick(l, 2))
		lane_open(e, &e->other, unreliable_new(e->cq));
	struct hello hello = {.from = getpid(), .to = e->pid, .unreliable = e->other.qp ? e->other.qp->qp_num : 0,
			      .seed = e->seed};
	struct rdma_conn_param p = {.private_data = &hello, .private_data_len = sizeof hello, .responder_resources = 4,
				    .initiator_depth = 4, .retry_count = 7, .rnr_retry_count = 7};
	need(rdma_connect(e->id, &p) == 0);
	struct rdma_cm_event event;
	if (!expect(l, RDMA_CM_EVENT_ESTABLISHED, &event))
		return false;
	need(l->server.from == e->pid && l->server.seed == e->seed);
	if (e->other.qp)
		unreliable_connect(e, l->server.unreliable);
	if (e->datagrams) {
		need((e->ah = ibv_create_ah(pd, &event.param.ud.ah_attr)));
		e->remote_qpn = event.param.ud.qp_num;
		e->remote_qkey = event.param.ud.qkey;
	}
	return true;
}

static __thread struct link *mine; // the thread's

// completed takes a completion.
static void completed(const struct ibv_wc *wc) {
	struct link *l = mine;
	struct end *e = &l->e;
	struct lane *lane = wc->qp_num == e->main.qp->qp_num ? &e->main : &e->other;
	need(lane->qp && wc->qp_num == lane->qp->qp_num);
	bool receive = wc->wr_id & TAKEN;
	if (receive)
		e->receives--;
	else
		e->sends--;
	need(e->sends >= 0 && e->receives >= 0);
	if (wc->status != IBV_WC_SUCCESS) {
		if (!l->broken)
			l->broken = ibv_wc_status_str(wc->status);
		return;
	}
	if (!receive)
		return;
	struct message text = lane_take(e, lane, &lane->box, wc);
	need(text.kind == REPLY && l->reply > 0);
	l->reply--;
	if (!l->broken)
		lane_receive(e, lane, wc->wr_id & SLOT);
}

// look takes what the completion queue has, and says whether there was something.
static bool look(struct link *l) {
	struct ibv_wc wc[8];
	bool some = false;
	for (int n; (n = ibv_poll_cq(l->e.cq, 8, wc)) > 0; some = true)
		for (int i = 0; i < n; i++)
			completed(&wc[i]);
	return some;
}

// watch looks whether the link has ended by other means than a completion.
static void watch(struct link *l) {
	int kind = event_next(l->c, 0, NULL, NULL);
	if (kind >= 0 && kind != RDMA_CM_EVENT_TIMEWAIT_EXIT && !l->leaving && !l->broken)
		l->broken = rdma_event_str(kind);
	if ((l->e.datagrams || apart) && is_gone(l->e.pid) && !l->broken)
		l->broken = "gone";
}

// sleep_for_events waits for a completion as programs do that don't poll.
static void sleep_for_events(struct link *l) {
	need(ibv_req_notify_cq(l->e.cq, 0) == 0);
	if (look(l))
		return;
	struct pollfd p[] = {{.fd = l->c->channel->fd, .events = POLLIN}, {.fd = l->c->events->fd, .events = POLLIN}};
	double begin = seconds();
	if (poll(p, 2, EVENT_TIME * 1000) == 0 && look(l))
		missed_event(begin);
}

// drain_events takes the events of the completion queue.
static void drain_events(struct link *l) {
	struct pollfd p = {.fd = l->c->channel->fd, .events = POLLIN};
	while (poll(&p, 1, 0) == 1) {
		struct ibv_cq *cq;
		void *user;
		need(ibv_get_cq_event(l->c->channel, &cq, &user) == 0 && cq == l->e.cq);
		ibv_ack_cq_events(cq, 1);
	}
}

// wait_all waits until all that is under way has ended, and says whether the link still holds.
static bool wait_all(struct link *l) {
	bool sleeps = pick(l, 3) != 0;
	double end = seconds() + 2 * PATIENCE;
	for (unsigned turn = 1; !l->broken && (l->e.sends || l->reply); turn++) {
		if (!look(l) && sleeps)
			sleep_for_events(l);
		else if (turn % 64 == 0)
			usleep(100);
		drain_events(l);
		watch(l);
		if (seconds() > end)
			fail("%d sends and %d replies have not come; process %u is%s gone", l->e.sends, l->reply, l->e.pid,
				is_gone(l->e.pid) ? "" : " not");
	}
	return !l->broken;
}

// post_work posts the i-th request of a batch, which works on the i-th stripe of the area.
static void post_work(struct link *l, struct lane *lane, int i) {
	static const enum ibv_wr_opcode opcodes[] = {IBV_WR_RDMA_WRITE, IBV_WR_RDMA_WRITE_WITH_IMM, IBV_WR_RDMA_READ,
		IBV_WR_RDMA_READ, IBV_WR_ATOMIC_FETCH_AND_ADD, IBV_WR_ATOMIC_CMP_AND_SWP};
	struct end *e = &l->e;
	enum ibv_wr_opcode op = opcodes[pick(l, lane == &e->main ? 6 : 2)];
	uint64_t length = length_of(l, STRIPE), off = pick(l, STRIPE - length + 1);
	uint64_t at = WORDS + (uint64_t)i * STRIPE + off;
	struct ibv_sge sge[2] = {{l->scratch.address + at, length, l->scratch.mr->lkey}};
	struct ibv_send_wr wr = {.wr_id = SENT, .sg_list = sge, .num_sge = 1, .opcode = op,
				 .send_flags = IBV_SEND_SIGNALED}, *bad;
	wr.wr.rdma.remote_addr = l->server.address + at;
	wr.wr.rdma.rkey = l->server.key;
	l->work[i].opcode = op;
	l->work[i].at = at;
	l->work[i].length = length;
	switch (op) {
	case IBV_WR_RDMA_WRITE:
	case IBV_WR_RDMA_WRITE_WITH_IMM:
		pattern_fill(e->area.bytes + at, length, mix(&l->c->random));
		sge[0].addr = e->area.address + at;
		sge[0].lkey = e->area.mr->lkey;
		wr.imm_data = i;
		if (length <= 128 && !e->area.device && pick(l, 2)) // inline data are read by the processor
			wr.send_flags |= IBV_SEND_INLINE;
		break;
	case IBV_WR_RDMA_READ:
		break;
	default:
		sge[0].addr = l->scratch.address + i * 8;
		sge[0].length = 8;
		uint64_t *word = &l->words[op == IBV_WR_ATOMIC_CMP_AND_SWP];
		l->work[i].before = *word;
		wr.wr.atomic.remote_addr = l->server.address + (op == IBV_WR_ATOMIC_CMP_AND_SWP) * 8;
		wr.wr.atomic.rkey = l->server.key;
		wr.wr.atomic.swap = mix(&l->c->random);
		if (op == IBV_WR_ATOMIC_FETCH_AND_ADD) {
			wr.wr.atomic.compare_add = mix(&l->c->random);
			*word += wr.wr.atomic.compare_add;
		} else if (pick(l, 2)) {
			wr.wr.atomic.compare_add = *word;
			*word = wr.wr.atomic.swap;
		} else {
			wr.wr.atomic.compare_add = *word + 1;
		}
	}
	if (sge[0].length > 1 && pick(l, 2)) { // in two pieces
		uint32_t first = 1 + pick(l, sge[0].length - 1);
		if (op != IBV_WR_ATOMIC_FETCH_AND_ADD && op != IBV_WR_ATOMIC_CMP_AND_SWP) {
			sge[1] = (struct ibv_sge){sge[0].addr + first, sge[0].length - first, sge[0].lkey};
			sge[0].length = first;
			wr.num_sge = 2;
		}
	}
	need(ibv_post_send(lane->qp, &wr, &bad) == 0);
	e->sends++;
}

// check_work compares what a batch has brought.
static void check_work(struct link *l, int n) {
	for (int i = 0; i < n; i++) {
		uint64_t at = l->work[i].at, length = l->work[i].length;
		switch (l->work[i].opcode) {
		case IBV_WR_RDMA_READ:
			if (memcmp(l->scratch.bytes + at, l->e.area.bytes + at, length) != 0)
				fail("%lu bytes at %lu were read that nobody wrote", length, at);
			compared += length;
			break;
		case IBV_WR_ATOMIC_FETCH_AND_ADD:
		case IBV_WR_ATOMIC_CMP_AND_SWP:
			if (memcmp(l->scratch.bytes + i * 8, &l->work[i].before, 8) != 0)
				fail("an atomic found %#lx, not %#lx", *(uint64_t *)(l->scratch.bytes + i * 8), l->work[i].before);
			break;
		default:
			break;
		}
	}
	operations += n;
}

// batch does some requests, and has the other side look at the last range that was written.
static bool batch(struct link *l) {
	struct end *e = &l->e;
	struct lane *lane = e->other.qp && pick(l, 3) == 0 ? &e->other : &e->main;
	int n = 1 + pick(l, BATCH - 1), works = 0;
	for (int i = 0; i < n; i++) {
		if (!e->datagrams && pick(l, 4))
			post_work(l, lane, works++);
		else
			lane_send(e, lane, (struct message){.kind = PLAIN}, length_of(l, MESSAGE), 0);
	}
	struct message check = {.kind = CHECK};
	if (!e->datagrams) { // what has been written, whoever wrote it
		check.pattern = mix(&l->c->random);
		check.n = length_of(l, STRIPE);
		check.at = WORDS + BATCH * STRIPE - check.n;
		pattern_fill(e->area.bytes + check.at, check.n, check.pattern);
		struct ibv_sge sge = {e->area.address + check.at, check.n, e->area.mr->lkey};
		struct ibv_send_wr wr = {.wr_id = SENT, .sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_RDMA_WRITE,
					 .send_flags = IBV_SEND_SIGNALED}, *bad;
		wr.wr.rdma.remote_addr = l->server.address + check.at;
		wr.wr.rdma.rkey = l->server.key;
		need(ibv_post_send(lane->qp, &wr, &bad) == 0);
		e->sends++;
	}
	l->reply++;
	lane_send(e, lane, check, length_of(l, MESSAGE), IBV_SEND_SOLICITED);
	if (!wait_all(l))
		return false;
	check_work(l, works);
	operations += n - works + 1;
	return true;
}

// leave ends a link.
static void leave(struct link *l) {
	struct end *e = &l->e;
	if (l->broken)
		peer_lost(e->pid, l->broken);
	if (e->cq) {
		if (!l->broken) {
			l->leaving = true;
			lane_send(e, &e->main, (struct message){.kind = BYE}, 0, 0);
			if (!wait_all(l))
				peer_lost(e->pid, l->broken);
		}
		if (!e->datagrams && pick(l, 2))
			rdma_disconnect(e->id); // it may have ended already
		l->broken = "ended";
		end_flush(e, completed);
		drain_events(l);
	}
	end_destroy(e);
	if (e->cq)
		need(ibv_destroy_cq(e->cq) == 0);
	memory_free(&l->scratch);
}

void client_run(uint64_t seed, int most) {
	struct client c = {.random = seed};
	need((c.events = rdma_create_event_channel()));
	need((c.channel = ibv_create_comp_channel(context)));
	for (int i = 0; i < most && !quiet; i++) {
		struct link l = {.c = &c};
		struct sockaddr_in at;
		mine = &l;
		if (!peer_random(&c.random, &l.e.pid, &at)) {
			usleep(10000);
			continue;
		}
		l.e.datagrams = !apart && pick(&l, 4) == 0;
		l.e.seed = mix(&c.random);
		memory_new(&l.e.area, AREA, pick(&l, 2));
		memory_new(&l.scratch, AREA, pick(&l, 4) == 0);
		if (connect_link(&l, at)) {
			made++;
			for (int n = 1 + pick(&l, 60); n > 0 && !quiet && batch(&l); n--)
				;
		}
		leave(&l);
		// What came late is for nobody.
		while (event_next(&c, 0, NULL, NULL) >= 0)
			;
	}
	need(ibv_destroy_comp_channel(c.channel) == 0);
	rdma_destroy_event_channel(c.events);
}
