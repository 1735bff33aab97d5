// Signal handlers without SA_ONSTACK that call verbs, and one that ends the process, while threads post writes to
// themselves, make regions and poll. A call in a handler that has interrupted a thread in the library fails with
// ENODEV; one that has interrupted a thread elsewhere works. No call of the threads fails. At the end, SIGTERM
// interrupts a thread. Its handler calls exit(3), and what atexit(3) was given closes all objects, as the destructors
// of libfabric do.
#include "common.h"
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <time.h>

enum { THREADS = 3, SIZE = 1 << 20 };

struct lane {
	struct ibv_pd *pd;
	struct ibv_cq *cq;
	struct ibv_qp *qp;
	struct ibv_mr *mr;
	char *memory;
	pthread_t thread;
	atomic_int stop;
};

static struct lane lanes[THREADS];
static atomic_long good, refused, rounds;

static void handler(int signal)
{
	int before = errno;
	struct ibv_port_attr port;
	int error = ibv_query_port(context, 1, &port);
	NEED(error == 0 || error == ENODEV);
	atomic_fetch_add(error == 0 ? &good : &refused, 1);
	struct ibv_pd *pd = ibv_alloc_pd(context);
	NEED(pd || errno == ENODEV);
	if (pd)
		NEED(ibv_dealloc_pd(pd) == 0);
	errno = before;
}

static void leave(int signal) { exit(0); }

static void finish(void)
{
	struct lane *l = &lanes[0];
	int error = ibv_destroy_qp(l->qp);
	CHECK(error == 0 || error == ENODEV, "destroy_qp: %d", error);
	error = ibv_dereg_mr(l->mr);
	CHECK(error == 0 || error == ENODEV, "dereg_mr: %d", error);
	if (failures)
		_exit(1);
	puts("passed");
}

static void open_lane(struct lane *l)
{
	NEED(l->pd = ibv_alloc_pd(context));
	NEED(l->cq = ibv_create_cq(context, 16, NULL, NULL, 0));
	struct ibv_qp_init_attr init = {.send_cq = l->cq, .recv_cq = l->cq, .qp_type = IBV_QPT_RC,
					.cap = {.max_send_wr = 4, .max_recv_wr = 1, .max_send_sge = 1, .max_recv_sge = 1}};
	NEED(l->qp = ibv_create_qp(l->pd, &init));
	connect_to(l->qp, l->qp->qp_num);
	NEED(l->memory = malloc(2 * SIZE));
	memset(l->memory, 1, 2 * SIZE);
	NEED(l->mr = ibv_reg_mr(l->pd, l->memory, 2 * SIZE, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE));
}

static void *run(void *argument)
{
	struct lane *l = argument;
	for (uint32_t i = 0; !atomic_load(&l->stop); i++, atomic_fetch_add(&rounds, 1)) {
		uint32_t length = i % 8 ? 64 : SIZE;
		memset(l->memory, (char)i, length);
		struct ibv_sge sge = {(uintptr_t)l->memory, length, l->mr->lkey};
		struct ibv_send_wr wr = {.sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_RDMA_WRITE,
					 .send_flags = IBV_SEND_SIGNALED}, *bad;
		wr.wr.rdma.remote_addr = (uintptr_t)l->memory + SIZE;
		wr.wr.rdma.rkey = l->mr->rkey;
		NEED(ibv_post_send(l->qp, &wr, &bad) == 0);
		NEED(wait_for(l->cq).status == IBV_WC_SUCCESS);
		NEED(memcmp(l->memory, l->memory + SIZE, length) == 0);
		struct ibv_mr *mr = ibv_reg_mr(l->pd, l->memory, SIZE, IBV_ACCESS_LOCAL_WRITE);
		NEED(mr && ibv_dereg_mr(mr) == 0);
	}
	return NULL;
}

int main(void)
{
	open_device();
	struct sigaction calls = {.sa_handler = handler, .sa_flags = SA_RESTART}, ends = {.sa_handler = leave};
	NEED(sigaction(SIGUSR1, &calls, NULL) == 0 && sigaction(SIGTERM, &ends, NULL) == 0);
	NEED(atexit(finish) == 0);
	for (int i = 0; i < THREADS; i++) {
		open_lane(&lanes[i]);
		NEED(pthread_create(&lanes[i].thread, NULL, run, &lanes[i]) == 0);
	}
	struct timespec rest = {0, 500000};
	time_t end = time(NULL) + 3;
	for (int i = 0; time(NULL) < end || !atomic_load(&good) || !atomic_load(&refused); i = (i + 1) % THREADS) {
		nanosleep(&rest, NULL);
		NEED(pthread_kill(lanes[i].thread, SIGUSR1) == 0);
	}
	for (int i = 1; i < THREADS; i++) {
		atomic_store(&lanes[i].stop, 1);
		NEED(pthread_join(lanes[i].thread, NULL) == 0);
	}
	printf("%ld rounds; in handlers, %ld calls worked and %ld were refused\n", atomic_load(&rounds), atomic_load(&good),
	       atomic_load(&refused));
	NEED(pthread_kill(lanes[0].thread, SIGTERM) == 0);
	for (;;)
		pause();
}
