// Waits for events of completions and for asynchronous ones, by poll(2) on the descriptors and in the library.
#include "common.h"
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>

static int readable(int fd) {
	struct pollfd p = {fd, POLLIN};
	return poll(&p, 1, 0) == 1;
}

static void *acknowledge(void *cq) {
	usleep(100 * 1000);
	ibv_ack_cq_events(cq, 1);
	return NULL;
}

int main(void) {
	open_device();
	static char buffer[4096];
	struct ibv_pd *pd = ibv_alloc_pd(context);
	struct ibv_comp_channel *channel = ibv_create_comp_channel(context);
	NEED(pd && channel && channel->refcnt == 0);
	int user;
	struct ibv_cq *cq = ibv_create_cq(context, 16, &user, channel, 0);
	NEED(cq && channel->refcnt == 1 && cq->cqe >= 16);
	CHECK(ibv_destroy_comp_channel(channel) == EBUSY);
	struct ibv_mr *mr = ibv_reg_mr(pd, buffer, sizeof buffer, IBV_ACCESS_LOCAL_WRITE);
	struct ibv_srq_init_attr srq_init = {.attr = {.max_wr = 8, .max_sge = 1}};
	struct ibv_srq *srq = ibv_create_srq(pd, &srq_init);
	NEED(mr && srq);
	struct ibv_qp_init_attr init = {.send_cq = cq, .recv_cq = cq, .srq = srq, .qp_type = IBV_QPT_RC,
					.cap = {.max_send_wr = 8, .max_send_sge = 1}};
	struct ibv_qp *qp = ibv_create_qp(pd, &init);
	NEED(qp);
	connect_to(qp, qp->qp_num);
	struct ibv_sge sge = {(uintptr_t)buffer, 64, mr->lkey};
	struct ibv_recv_wr rr = {.sg_list = &sge, .num_sge = 1}, *badr;
	struct ibv_send_wr wr = {.sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_SEND}, *bad;
	for (int i = 0; i < 4; i++)
		NEED(ibv_post_srq_recv(srq, &rr, &badr) == 0);

	// Nothing is armed, then solicited ones alone, then all.
	NEED(ibv_post_send(qp, &wr, &bad) == 0);
	CHECK(wait_for(cq).status == IBV_WC_SUCCESS && !readable(channel->fd));
	NEED(ibv_req_notify_cq(cq, 1) == 0 && ibv_post_send(qp, &wr, &bad) == 0);
	CHECK(wait_for(cq).status == IBV_WC_SUCCESS && !readable(channel->fd));
	wr.send_flags = IBV_SEND_SOLICITED;
	NEED(ibv_post_send(qp, &wr, &bad) == 0);
	struct ibv_cq *of;
	void *context_of;
	CHECK(ibv_get_cq_event(channel, &of, &context_of) == 0 && of == cq && context_of == &user);
	CHECK(wait_for(cq).status == IBV_WC_SUCCESS && !readable(channel->fd));
	NEED(fcntl(channel->fd, F_SETFL, O_NONBLOCK) == 0);
	CHECK(ibv_get_cq_event(channel, &of, &context_of) == -1 && errno == EAGAIN);

	// The limit of the shared queue is an asynchronous event, which comes once.
	NEED(fcntl(context->async_fd, F_SETFL, O_NONBLOCK) == 0);
	struct ibv_async_event event;
	while (ibv_get_async_event(context, &event) == 0) // that communication is established
		ibv_ack_async_event(&event);
	CHECK(errno == EAGAIN);
	struct ibv_srq_attr limit = {.srq_limit = 1};
	CHECK(ibv_modify_srq(srq, &limit, IBV_SRQ_LIMIT) == 0);
	CHECK(ibv_query_srq(srq, &limit) == 0 && limit.srq_limit == 1 && limit.max_wr >= 8);
	NEED(ibv_post_send(qp, &wr, &bad) == 0);
	CHECK(wait_for(cq).status == IBV_WC_SUCCESS);
	struct pollfd p = {context->async_fd, POLLIN};
	CHECK(poll(&p, 1, 10000) == 1);
	NEED(ibv_get_async_event(context, &event) == 0);
	CHECK(event.event_type == IBV_EVENT_SRQ_LIMIT_REACHED && event.element.srq == srq, "%d", event.event_type);
	ibv_ack_async_event(&event);
	CHECK(!readable(context->async_fd));

	// A queue waits, when it is destroyed, until its events are acknowledged.
	CHECK(ibv_destroy_srq(srq) == EBUSY);
	CHECK(ibv_destroy_qp(qp) == 0 && ibv_destroy_srq(srq) == 0);
	pthread_t thread;
	NEED(pthread_create(&thread, NULL, acknowledge, cq) == 0);
	CHECK(ibv_destroy_cq(cq) == 0 && channel->refcnt == 0);
	pthread_join(thread, NULL);
	CHECK(ibv_destroy_comp_channel(channel) == 0 && ibv_dereg_mr(mr) == 0 && ibv_dealloc_pd(pd) == 0);
	CHECK(ibv_close_device(context) == 0);
	puts(failures ? "FAILED" : "passed");
	return failures != 0;
}
