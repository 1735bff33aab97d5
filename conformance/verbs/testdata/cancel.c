// Threads that wait for events of each kind are cancelled, as rping does with its own. So are threads in calls of
// rdma_cm_ids that have no channel, and wait for the other side. They end at once, their cleanup handlers run, and
// nothing is lost for those that wait next.
#include "common.h"
#include <poll.h>
#include <pthread.h>
#include <arpa/inet.h>
#include <rdma/rdma_cma.h>

static struct ibv_comp_channel *channel;
static struct rdma_event_channel *connections;
static int cleaned;

static void clean(void *unused) { cleaned++; }

static int wait_cq(void)
{
	struct ibv_cq *cq;
	void *of;
	return ibv_get_cq_event(channel, &cq, &of);
}

static int wait_async(void)
{
	struct ibv_async_event event;
	return ibv_get_async_event(context, &event);
}

static int wait_cm(void)
{
	struct rdma_cm_event *event;
	return rdma_get_cm_event(connections, &event);
}

// A listener, and an identifier that asks it for a connection. Neither has a channel, and nobody takes the request.
static struct rdma_cm_id *listener, *asks;

static int wait_request(void)
{
	struct rdma_cm_id *request;
	return rdma_get_request(listener, &request);
}

static int wait_connect(void) { return rdma_connect(asks, NULL); }

static void listen_and_ask(void)
{
	struct rdma_addrinfo hints = {.ai_port_space = RDMA_PS_TCP, .ai_flags = RAI_PASSIVE}, *here, *there;
	struct ibv_qp_init_attr init = {.qp_type = IBV_QPT_RC, .cap = {.max_send_wr = 1, .max_recv_wr = 1, .max_send_sge = 1,
								      .max_recv_sge = 1}};
	NEED(rdma_getaddrinfo("127.0.0.1", "0", &hints, &here) == 0);
	NEED(rdma_create_ep(&listener, here, NULL, &init) == 0 && rdma_listen(listener, 1) == 0);
	char port[8];
	snprintf(port, sizeof port, "%d", ntohs(rdma_get_src_port(listener)));
	hints.ai_flags = 0;
	NEED(rdma_getaddrinfo("127.0.0.1", port, &hints, &there) == 0);
	NEED(rdma_create_ep(&asks, there, NULL, &init) == 0);
	rdma_freeaddrinfo(here);
	rdma_freeaddrinfo(there);
}

static void *connect_again(void *id) { return (void *)(intptr_t)rdma_connect(id, NULL); }

// A request that came while nobody waited, or whose waiter was cancelled, is there for those that wait next.
static void take_request(void)
{
	struct rdma_cm_id *request;
	pthread_t thread;
	void *result;
	rdma_destroy_ep(asks); // its request is the cancelled call's
	rdma_destroy_ep(listener);
	listen_and_ask();
	NEED(pthread_create(&thread, NULL, connect_again, asks) == 0);
	NEED(rdma_get_request(listener, &request) == 0 && rdma_accept(request, NULL) == 0);
	NEED(pthread_join(thread, &result) == 0);
	CHECK(result == NULL && asks->event->event == RDMA_CM_EVENT_ESTABLISHED, "%p", result);
	CHECK(rdma_disconnect(asks) == 0 && asks->event->event == RDMA_CM_EVENT_DISCONNECTED);
	rdma_destroy_ep(request);
	rdma_destroy_ep(asks);
	rdma_destroy_ep(listener);
}

static void *run(void *argument)
{
	int (*wait)(void) = argument;
	pthread_cleanup_push(clean, NULL);
	wait();
	pthread_cleanup_pop(0);
	return NULL;
}

int main(void)
{
	open_device();
	NEED((channel = ibv_create_comp_channel(context)) && (connections = rdma_create_event_channel()));
	listen_and_ask();
	struct { const char *name; int (*wait)(void); int times; } all[] = {{"ibv_get_cq_event", wait_cq, 2},
		{"ibv_get_async_event", wait_async, 2}, {"rdma_get_cm_event", wait_cm, 2}, {"rdma_get_request", wait_request, 2},
		{"rdma_connect", wait_connect, 1}};
	for (unsigned i = 0; i < sizeof all / sizeof *all; i++)
		for (int early = 0; early < all[i].times; early++) { // before the thread waits, perhaps, and while it does
			pthread_t thread;
			void *result;
			cleaned = 0;
			NEED(pthread_create(&thread, NULL, run, all[i].wait) == 0);
			if (!early)
				usleep(50000);
			NEED(pthread_cancel(thread) == 0 && pthread_join(thread, &result) == 0);
			CHECK(result == PTHREAD_CANCELED && cleaned == 1, "%s: %d", all[i].name, cleaned);
		}

	take_request();

	// What arrives later is for others.
	struct ibv_pd *pd = ibv_alloc_pd(context);
	struct ibv_cq *cq = ibv_create_cq(context, 4, NULL, channel, 0), *of;
	NEED(pd && cq);
	struct ibv_qp_init_attr init = {.send_cq = cq, .recv_cq = cq, .qp_type = IBV_QPT_RC,
					.cap = {.max_send_wr = 1, .max_recv_wr = 1, .max_send_sge = 1, .max_recv_sge = 1}};
	struct ibv_qp *qp = ibv_create_qp(pd, &init);
	NEED(qp);
	connect_to(qp, qp->qp_num);
	NEED(ibv_req_notify_cq(cq, 0) == 0);
	struct ibv_send_wr wr = {.opcode = IBV_WR_RDMA_WRITE, .send_flags = IBV_SEND_SIGNALED}, *bad;
	NEED(ibv_post_send(qp, &wr, &bad) == 0);
	void *user;
	NEED(ibv_get_cq_event(channel, &of, &user) == 0 && of == cq);
	ibv_ack_cq_events(cq, 1);
	struct pollfd p = {channel->fd, POLLIN};
	CHECK(wait_for(cq).status == IBV_WC_SUCCESS && poll(&p, 1, 0) == 0);
	puts(failures ? "FAILED" : "passed");
	return failures != 0;
}
