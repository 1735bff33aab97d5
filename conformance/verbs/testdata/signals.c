// Handlers with and without SA_RESTART and SA_ONSTACK, a thousand signals a second for each thread, while the threads
// do traffic of each kind with themselves: by polling, by events of completions and by poll(2), asynchronous events,
// datagrams, connections of rdma_cm. Calls that SA_RESTART covers never fail with EINTR while all handlers have it.
// With others they may fail so, and work when they are called again. Nothing else fails, and no byte is wrong.
#include "common.h"
#include <poll.h>
#include <pthread.h>
#include <rdma/rdma_cma.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/time.h>
#include <time.h>

enum { SIZE = 1 << 18, RIGHTS = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |
	      IBV_ACCESS_REMOTE_ATOMIC };

static atomic_long handled, interrupted;
static atomic_int restarting = 1, over;

static void handler(int signal)
{
	int before = errno;
	char room[8192]; // handlers may use some stack
	memset(room, signal, sizeof room);
	__asm__ volatile("" ::"r"(room) : "memory");
	atomic_fetch_add(&handled, 1);
	errno = before;
}

// again says whether a call that has failed is to be called again.
static int again(int result)
{
	if (result == 0)
		return 0;
	NEED(errno == EINTR && !atomic_load(&restarting));
	atomic_fetch_add(&interrupted, 1);
	return 1;
}

struct lane {
	const char *name;
	void (*step)(struct lane *);
	enum ibv_qp_type type;
	int event, polls, async;
	struct ibv_pd *pd;
	struct ibv_comp_channel *channel;
	struct ibv_cq *cq;
	struct ibv_srq *srq;
	struct ibv_qp *qp;
	struct ibv_mr *mr;
	struct ibv_ah *ah;
	char *memory;
	pthread_t thread;
	atomic_long steps;
	uint32_t round;
};

static void open_lane(struct lane *l)
{
	NEED(l->pd = ibv_alloc_pd(context));
	if (l->event)
		NEED(l->channel = ibv_create_comp_channel(context));
	NEED(l->cq = ibv_create_cq(context, 16, NULL, l->channel, 0));
	if (l->async) {
		struct ibv_srq_init_attr srq = {.attr = {.max_wr = 8, .max_sge = 1}};
		NEED(l->srq = ibv_create_srq(l->pd, &srq));
	}
	struct ibv_qp_init_attr init = {.send_cq = l->cq, .recv_cq = l->cq, .srq = l->srq, .qp_type = l->type,
					.cap = {.max_send_wr = 4, .max_recv_wr = l->srq ? 0 : 4, .max_send_sge = 1,
						.max_recv_sge = l->srq ? 0 : 1}};
	NEED(l->qp = ibv_create_qp(l->pd, &init));
	NEED(l->memory = calloc(2, SIZE));
	NEED(l->mr = ibv_reg_mr(l->pd, l->memory, 2 * SIZE, RIGHTS));
	if (l->type == IBV_QPT_RC) {
		connect_to(l->qp, l->qp->qp_num);
		return;
	}
	struct ibv_qp_attr a = {.qp_state = IBV_QPS_INIT, .port_num = 1, .qkey = 7};
	NEED(ibv_modify_qp(l->qp, &a, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY) == 0);
	a.qp_state = IBV_QPS_RTR;
	NEED(ibv_modify_qp(l->qp, &a, IBV_QP_STATE) == 0);
	a.qp_state = IBV_QPS_RTS;
	NEED(ibv_modify_qp(l->qp, &a, IBV_QP_STATE | IBV_QP_SQ_PSN) == 0);
	struct ibv_ah_attr to = {.is_global = 1, .port_num = 1, .grh = {.dgid = self, .hop_limit = 1}};
	NEED(l->ah = ibv_create_ah(l->pd, &to));
}

// done waits for a completion as the lane does.
static void done(struct lane *l)
{
	struct ibv_wc wc;
	int n;
	while ((n = ibv_poll_cq(l->cq, 1, &wc)) == 0) {
		if (!l->event)
			continue;
		NEED(ibv_req_notify_cq(l->cq, 0) == 0);
		if ((n = ibv_poll_cq(l->cq, 1, &wc)) != 0)
			break;
		struct pollfd p = {l->channel->fd, POLLIN};
		while (l->polls && (n = poll(&p, 1, 10000)) != 1)
			NEED(n < 0 && errno == EINTR);
		struct ibv_cq *cq;
		void *of;
		while (again(ibv_get_cq_event(l->channel, &cq, &of)))
			;
		NEED(cq == l->cq);
		ibv_ack_cq_events(cq, 1);
	}
	NEED(n == 1 && wc.status == IBV_WC_SUCCESS);
}

static void post(struct lane *l, enum ibv_wr_opcode opcode, uint32_t from, uint32_t to, uint32_t length)
{
	struct ibv_sge sge = {(uintptr_t)l->memory + from, length, l->mr->lkey};
	struct ibv_send_wr wr = {.sg_list = &sge, .num_sge = 1, .opcode = opcode, .send_flags = IBV_SEND_SIGNALED}, *bad;
	if (l->type == IBV_QPT_UD) {
		wr.wr.ud.ah = l->ah;
		wr.wr.ud.remote_qpn = l->qp->qp_num;
		wr.wr.ud.remote_qkey = 7;
	} else if (opcode == IBV_WR_ATOMIC_FETCH_AND_ADD) {
		wr.wr.atomic.remote_addr = (uintptr_t)l->memory + to;
		wr.wr.atomic.rkey = l->mr->rkey;
		wr.wr.atomic.compare_add = 1;
	} else {
		wr.wr.rdma.remote_addr = (uintptr_t)l->memory + to;
		wr.wr.rdma.rkey = l->mr->rkey;
	}
	NEED(ibv_post_send(l->qp, &wr, &bad) == 0);
}

static void receive(struct lane *l, uint32_t to, uint32_t length)
{
	struct ibv_sge sge = {(uintptr_t)l->memory + to, length, l->mr->lkey};
	struct ibv_recv_wr wr = {.sg_list = &sge, .num_sge = 1}, *bad;
	NEED((l->srq ? ibv_post_srq_recv(l->srq, &wr, &bad) : ibv_post_recv(l->qp, &wr, &bad)) == 0);
}

// traffic is a write, a read, an atomic and a send, of which each byte is checked; a send alone by datagrams.
static void traffic(struct lane *l)
{
	char *far = l->memory + SIZE;
	uint32_t length = ++l->round % 4 ? 512 : SIZE;
	if (l->type == IBV_QPT_RC) {
		memset(l->memory, (char)l->round, length);
		post(l, IBV_WR_RDMA_WRITE, 0, SIZE, length);
		done(l);
		NEED(memcmp(l->memory, far, length) == 0);
		memset(far, (char)~l->round, length);
		post(l, IBV_WR_RDMA_READ, 0, SIZE, length);
		done(l);
		NEED(memcmp(l->memory, far, length) == 0);
		uint64_t before, after;
		memcpy(&before, far, 8);
		post(l, IBV_WR_ATOMIC_FETCH_AND_ADD, 0, SIZE, 8);
		done(l);
		memcpy(&after, far, 8);
		NEED(memcmp(l->memory, &before, 8) == 0 && after == before + 1);
	}
	uint32_t header = l->type == IBV_QPT_UD ? 40 : 0;
	receive(l, SIZE, header + 512);
	if (l->async) { // the send takes the last receive but none, and an event says so
		struct ibv_srq_attr limit = {.srq_limit = 1};
		NEED(ibv_modify_srq(l->srq, &limit, IBV_SRQ_LIMIT) == 0);
	}
	memset(l->memory, (char)l->round + 1, 512);
	post(l, IBV_WR_SEND, 0, 0, 512);
	done(l);
	done(l);
	NEED(memcmp(l->memory, far + header, 512) == 0);
	for (int limits = 0; l->async && !limits;) { // other events are of connections that are established
		struct ibv_async_event event;
		while (again(ibv_get_async_event(context, &event)))
			;
		limits = event.event_type == IBV_EVENT_SRQ_LIMIT_REACHED;
		ibv_ack_async_event(&event);
	}
}

static struct rdma_cm_event *next(struct rdma_event_channel *channel, enum rdma_cm_event_type want)
{
	struct rdma_cm_event *event;
	while (again(rdma_get_cm_event(channel, &event)))
		;
	if (event->event != want)
		fprintf(stderr, "%s, not %s, status %d\n", rdma_event_str(event->event), rdma_event_str(want), event->status);
	NEED(event->event == want);
	return event;
}

// connection connects two identifiers of this thread and disconnects them.
static void connection(struct lane *l)
{
	struct rdma_event_channel *servers = rdma_create_event_channel(), *clients = rdma_create_event_channel();
	struct rdma_cm_id *listener, *client, *server;
	NEED(servers && clients);
	struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
	NEED(rdma_create_id(servers, &listener, NULL, RDMA_PS_TCP) == 0);
	NEED(rdma_bind_addr(listener, (struct sockaddr *)&at) == 0 && rdma_listen(listener, 4) == 0);
	at.sin_port = rdma_get_src_port(listener);
	NEED(rdma_create_id(clients, &client, NULL, RDMA_PS_TCP) == 0);
	NEED(rdma_resolve_addr(client, NULL, (struct sockaddr *)&at, 5000) == 0);
	rdma_ack_cm_event(next(clients, RDMA_CM_EVENT_ADDR_RESOLVED));
	NEED(rdma_resolve_route(client, 5000) == 0);
	rdma_ack_cm_event(next(clients, RDMA_CM_EVENT_ROUTE_RESOLVED));
	struct ibv_qp_init_attr init = {.qp_type = IBV_QPT_RC, .cap = {.max_send_wr = 1, .max_recv_wr = 1,
								      .max_send_sge = 1, .max_recv_sge = 1}};
	NEED(rdma_create_qp(client, NULL, &init) == 0);
	struct rdma_conn_param param = {.responder_resources = 1, .initiator_depth = 1, .retry_count = 7};
	NEED(rdma_connect(client, &param) == 0);
	struct rdma_cm_event *event = next(servers, RDMA_CM_EVENT_CONNECT_REQUEST);
	server = event->id;
	rdma_ack_cm_event(event);
	init.send_cq = init.recv_cq = NULL;
	NEED(rdma_create_qp(server, NULL, &init) == 0 && rdma_accept(server, &param) == 0);
	rdma_ack_cm_event(next(clients, RDMA_CM_EVENT_ESTABLISHED));
	rdma_ack_cm_event(next(servers, RDMA_CM_EVENT_ESTABLISHED));
	NEED(rdma_disconnect(client) == 0);
	rdma_ack_cm_event(next(servers, RDMA_CM_EVENT_DISCONNECTED));
	NEED(rdma_disconnect(server) == 0);
	rdma_ack_cm_event(next(clients, RDMA_CM_EVENT_DISCONNECTED));
	rdma_destroy_qp(client);
	rdma_destroy_qp(server);
	NEED(rdma_destroy_id(client) == 0 && rdma_destroy_id(server) == 0 && rdma_destroy_id(listener) == 0);
	rdma_destroy_event_channel(servers);
	rdma_destroy_event_channel(clients);
}

static struct lane lanes[] = {
	{"polls", traffic, IBV_QPT_RC},
	{"waits for events", traffic, IBV_QPT_RC, .event = 1},
	{"waits in poll", traffic, IBV_QPT_RC, .event = 1, .polls = 1},
	{"waits for asynchronous events", traffic, IBV_QPT_RC, .event = 1, .async = 1},
	{"datagrams", traffic, IBV_QPT_UD, .event = 1},
	{"connects", connection, IBV_QPT_RC},
};
enum { LANES = sizeof lanes / sizeof *lanes };

static void *run(void *argument)
{
	struct lane *l = argument;
	for (; !atomic_load(&over); atomic_fetch_add(&l->steps, 1))
		l->step(l);
	return NULL;
}

// bombard sends signals to each thread for a while, and waits until each has done something since.
static void bombard(const int *signals, int n)
{
	struct timespec rest = {0, 1000000};
	long before[LANES];
	for (int i = 0; i < LANES; i++)
		before[i] = atomic_load(&lanes[i].steps);
	time_t end = time(NULL) + 2, limit = end + 60;
	for (int round = 0, idle = 1; time(NULL) < end || idle; round++) {
		nanosleep(&rest, NULL);
		for (int i = idle = 0; i < LANES; i++) {
			NEED(pthread_kill(lanes[i].thread, signals[(round + i) % n]) == 0);
			int still = atomic_load(&lanes[i].steps) < before[i] + 2;
			if (still && time(NULL) > limit) {
				fprintf(stderr, "the lane that %s stands still\n", lanes[i].name);
				exit(1);
			}
			idle |= still;
		}
	}
}

int main(void)
{
	open_device();
	const int restart[] = {SIGUSR1, SIGRTMIN + 1};
	const int all[] = {SIGUSR1, SIGRTMIN + 1, SIGUSR2, SIGRTMIN + 2, SIGURG, SIGIO};
	struct { int signal, flags; } actions[] = {{SIGUSR1, SA_RESTART}, {SIGRTMIN + 1, SA_RESTART | SA_ONSTACK},
		{SIGUSR2, 0},
		{SIGRTMIN + 2, SA_ONSTACK}, {SIGURG, SA_ONSTACK}, {SIGIO, SA_NODEFER}, {SIGALRM, 0}, {SIGPROF, SA_RESTART}};
	for (unsigned i = 0; i < sizeof actions / sizeof *actions; i++) {
		struct sigaction a = {.sa_handler = handler, .sa_flags = actions[i].flags};
		if (actions[i].signal != SIGURG) // which Go's own threads get, too: in the second part
			NEED(sigaction(actions[i].signal, &a, NULL) == 0);
	}
	for (int i = 0; i < LANES; i++) {
		open_lane(&lanes[i]);
		NEED(pthread_create(&lanes[i].thread, NULL, run, &lanes[i]) == 0);
	}
	bombard(restart, 2);
	NEED(atomic_load(&interrupted) == 0);
	atomic_store(&restarting, 0);
	struct sigaction urgent = {.sa_handler = handler, .sa_flags = SA_ONSTACK};
	NEED(sigaction(SIGURG, &urgent, NULL) == 0);
	struct itimerval often = {{0, 1000}, {0, 1000}}; // to the process
	NEED(setitimer(ITIMER_REAL, &often, NULL) == 0 && setitimer(ITIMER_PROF, &often, NULL) == 0);
	bombard(all, sizeof all / sizeof *all);
	atomic_store(&over, 1);
	for (int i = 0; i < LANES; i++) {
		NEED(pthread_join(lanes[i].thread, NULL) == 0);
		printf("%s: %ld\n", lanes[i].name, atomic_load(&lanes[i].steps));
	}
	printf("%ld signals handled, %ld calls interrupted\n", atomic_load(&handled), atomic_load(&interrupted));
	CHECK(atomic_load(&interrupted) > 0);
	puts(failures ? "FAILED" : "passed");
	return failures != 0;
}
