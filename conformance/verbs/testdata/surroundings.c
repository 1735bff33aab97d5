// What a program does around the library: it forks, closes descriptors, reaches its limit of them, has a thousand queue
// pairs, destroys what other threads use, leaves while others work. Each case is a process of its own.
#define _GNU_SOURCE
#include "common.h"
#include <fcntl.h>
#include <pthread.h>
#include <rdma/rdma_cma.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/resource.h>
#include <sys/wait.h>

enum { SIZE = 1 << 16, MANY = 1000, RIGHTS = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE };

static struct ibv_pd *pd;
static struct ibv_mr *mr;
static char memory[2 * SIZE];

struct side {
	struct ibv_cq *cq;
	struct ibv_qp *qp;
};

static struct side make(struct ibv_cq *cq)
{
	struct side s = {cq};
	struct ibv_qp_init_attr init = {.send_cq = cq, .recv_cq = cq, .qp_type = IBV_QPT_RC,
					.cap = {.max_send_wr = 4, .max_recv_wr = 4, .max_send_sge = 1, .max_recv_sge = 1}};
	NEED(cq && (s.qp = ibv_create_qp(pd, &init)));
	return s;
}

static void open_all(void)
{
	open_device();
	NEED((pd = ibv_alloc_pd(context)) && (mr = ibv_reg_mr(pd, memory, sizeof memory, RIGHTS)));
}

static int post(struct ibv_qp *qp, const void *from, uint32_t length, uint64_t to, uint32_t key)
{
	struct ibv_sge sge = {(uintptr_t)from, length, mr->lkey};
	struct ibv_send_wr wr = {.sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_RDMA_WRITE, .send_flags = IBV_SEND_SIGNALED};
	struct ibv_send_wr *bad;
	wr.wr.rdma.remote_addr = to;
	wr.wr.rdma.rkey = key;
	return ibv_post_send(qp, &wr, &bad);
}

// copy writes from the first half of memory to the second one, and looks whether it is there.
static void copy(struct side s, int value)
{
	memset(memory, value, SIZE);
	NEED(post(s.qp, memory, SIZE, (uintptr_t)memory + SIZE, mr->rkey) == 0 && wait_for(s.cq).status == IBV_WC_SUCCESS);
	NEED(memcmp(memory, memory + SIZE, SIZE) == 0);
}

static atomic_int stop;
static atomic_long rounds;

static void *work(void *argument)
{
	struct side *s = argument;
	for (int i = 0; !atomic_load(&stop); i++, atomic_fetch_add(&rounds, 1))
		copy(*s, i);
	return NULL;
}

// forks has children end in several ways while a thread works.
static void forks(void)
{
	open_all();
	struct side s = make(ibv_create_cq(context, 16, NULL, NULL, 0));
	connect_to(s.qp, s.qp->qp_num);
	pthread_t thread;
	NEED(pthread_create(&thread, NULL, work, &s) == 0);
	for (int i = 0; i < 30; i++) {
		pid_t child = fork();
		NEED(child >= 0);
		if (child == 0) {
			struct ibv_wc wc;
			NEED(ibv_poll_cq(s.cq, 1, &wc) < 0 && ibv_post_send(s.qp, NULL, NULL) == ENODEV && !ibv_alloc_pd(context));
			switch (i % 4) {
			case 0:
				exit(0);
			case 1:
				_exit(0);
			case 2:
				close_range(3, ~0u, 0);
				exit(0);
			default:
				execl("/bin/true", "true", NULL);
			}
			_exit(1);
		}
		int status;
		NEED(waitpid(child, &status, 0) == child && status == 0);
		long before = atomic_load(&rounds);
		while (atomic_load(&rounds) < before + 2)
			;
	}
	atomic_store(&stop, 1);
	NEED(pthread_join(thread, NULL) == 0 && ibv_destroy_qp(s.qp) == 0);
}

// limits has no descriptor left: what needs none works, what needs one says so, and all works again later.
static void limits(void)
{
	struct rlimit before, now;
	int n, taken[64], count = 0;
	struct ibv_device **list = ibv_get_device_list(&n); // loads the engine, whose runtime raises the limit
	NEED(list && n > 0 && getrlimit(RLIMIT_NOFILE, &before) == 0);
	now = before;
	now.rlim_cur = 64;
	NEED(setrlimit(RLIMIT_NOFILE, &now) == 0);
	while ((taken[count] = open("/dev/null", O_RDONLY)) >= 0)
		count++;
	CHECK(!ibv_open_device(list[0]) && errno == EMFILE);
	CHECK(!rdma_create_event_channel() && errno == EMFILE);
	while (count > 0)
		NEED(close(taken[--count]) == 0);
	NEED(setrlimit(RLIMIT_NOFILE, &before) == 0);
	open_all(); // what has failed works now
	struct side s = make(ibv_create_cq(context, 16, NULL, NULL, 0));
	connect_to(s.qp, s.qp->qp_num);
	copy(s, 1);
	now.rlim_cur = 3;
	NEED(setrlimit(RLIMIT_NOFILE, &now) == 0 && open("/dev/null", O_RDONLY) < 0 && errno == EMFILE);
	copy(s, 2);
	errno = 0;
	CHECK(!ibv_create_comp_channel(context) && errno == EMFILE);
	errno = 0;
	CHECK(!rdma_create_event_channel() && errno == EMFILE);
	struct ibv_mr *more = ibv_reg_mr(pd, memory, 4096, RIGHTS);
	CHECK(more && ibv_dereg_mr(more) == 0);
	CHECK(!ibv_reg_mr(pd, (void *)4096, 4096, RIGHTS) && errno == EFAULT);
	struct side other = make(ibv_create_cq(context, 16, NULL, NULL, 0));
	connect_to(other.qp, other.qp->qp_num);
	copy(other, 3);
	NEED(ibv_destroy_qp(other.qp) == 0 && ibv_destroy_cq(other.cq) == 0);
	NEED(setrlimit(RLIMIT_NOFILE, &before) == 0);
	struct ibv_comp_channel *channel = ibv_create_comp_channel(context);
	CHECK(channel && ibv_destroy_comp_channel(channel) == 0);
	copy(s, 4);
}

// closes takes the descriptors of channels from under the library.
static void closes(void)
{
	open_all();
	struct ibv_comp_channel *channel = ibv_create_comp_channel(context);
	struct rdma_event_channel *connections = rdma_create_event_channel();
	NEED(channel && connections);
	struct side s = make(ibv_create_cq(context, 16, NULL, channel, 0));
	connect_to(s.qp, s.qp->qp_num);
	copy(s, 1);
	usleep(100000); // whatever else the library opens is open
	NEED(close(channel->fd) == 0 && close(context->async_fd) == 0 && close(connections->fd) == 0);
	struct ibv_cq *cq;
	void *of;
	struct ibv_async_event event;
	struct rdma_cm_event *cm;
	CHECK(ibv_get_cq_event(channel, &cq, &of) == -1 && errno == EBADF);
	CHECK(ibv_get_async_event(context, &event) == -1 && errno == EBADF);
	CHECK(rdma_get_cm_event(connections, &cm) == -1 && errno == EBADF);
	NEED(ibv_req_notify_cq(s.cq, 0) == 0);
	copy(s, 2);
	NEED(ibv_destroy_qp(s.qp) == 0 && ibv_destroy_cq(s.cq) == 0);
	ibv_destroy_comp_channel(channel); // whose descriptor can't be closed twice
	rdma_destroy_event_channel(connections);
	NEED(ibv_dereg_mr(mr) == 0 && ibv_dealloc_pd(pd) == 0);
	ibv_close_device(context);
}

// many is a thousand queue pairs in each of two processes: each writes its number to its place in the other one.
static void many(void)
{
	struct told {
		uint32_t numbers[MANY], key;
		uint64_t address;
	} *mine = calloc(1, sizeof *mine), *theirs = calloc(1, sizeof *theirs);
	int there[2], back[2];
	NEED(pipe(there) == 0 && pipe(back) == 0);
	pid_t child = fork();
	NEED(child >= 0);
	int in = child ? back[0] : there[0], out = child ? there[1] : back[1];
	open_all();
	struct ibv_cq *cq = ibv_create_cq(context, 4 * MANY, NULL, NULL, 0);
	static struct side sides[MANY];
	for (int i = 0; i < MANY; i++)
		mine->numbers[i] = (sides[i] = make(cq)).qp->qp_num;
	mine->address = (uintptr_t)memory;
	mine->key = mr->rkey;
	NEED(write(out, mine, sizeof *mine) == sizeof *mine && read(in, theirs, sizeof *theirs) == sizeof *theirs);
	for (int i = 0; i < MANY; i++)
		connect_to(sides[i].qp, theirs->numbers[i]);
	char byte = 0;
	NEED(write(out, &byte, 1) == 1 && read(in, &byte, 1) == 1);
	uint32_t *from = (uint32_t *)(memory + SIZE);
	for (uint32_t i = 0; i < MANY; i++) {
		from[i] = i + 1;
		NEED(post(sides[i].qp, &from[i], 4, theirs->address + 4 * i, theirs->key) == 0);
	}
	for (int i = 0; i < MANY; i++)
		NEED(wait_for(cq).status == IBV_WC_SUCCESS);
	// The other one's are there when it says so; meanwhile somebody has to see to them, as no adapter does.
	NEED(write(out, &byte, 1) == 1 && read(in, &byte, 1) == 1);
	for (uint32_t i = 0; i < MANY; i++)
		NEED(((uint32_t *)memory)[i] == i + 1);
	for (int i = 0; i < MANY; i++)
		NEED(ibv_destroy_qp(sides[i].qp) == 0);
	if (child == 0)
		_exit(0);
	int status;
	NEED(waitpid(child, &status, 0) == child && status == 0);
}

static struct ibv_qp *_Atomic pairs[4];
static struct ibv_cq *_Atomic queues[4];

// meddle makes, uses and destroys queue pairs and queues that all threads share, in any order.
static void *meddle(void *argument)
{
	unsigned seed = (uintptr_t)argument;
	for (; !atomic_load(&stop); atomic_fetch_add(&rounds, 1)) {
		int i = rand_r(&seed) % 4;
		struct ibv_wc wc;
		struct ibv_qp *qp = pairs[i];
		struct ibv_cq *cq = queues[i];
		switch (rand_r(&seed) % 8) {
		case 0:
			if (!cq && (cq = ibv_create_cq(context, 4, NULL, NULL, 0)))
				queues[i] = cq;
			break;
		case 1: {
			struct ibv_qp_init_attr init = {.send_cq = cq, .recv_cq = cq, .qp_type = IBV_QPT_RC,
							.cap = {.max_send_wr = 4, .max_recv_wr = 4, .max_send_sge = 1,
								.max_recv_sge = 1}};
			if (cq && (qp = ibv_create_qp(pd, &init)) && (qp = atomic_exchange(&pairs[i], qp)))
				ibv_destroy_qp(qp); // else a fast machine makes all that a device has
			break;
		}
		case 2:
			if (qp && rand_r(&seed) % 4 == 0)
				ibv_destroy_qp(qp);
			break;
		case 3:
			if (cq && rand_r(&seed) % 4 == 0 && ibv_destroy_cq(cq) == 0)
				queues[i] = NULL;
			break;
		case 4: {
			struct ibv_qp_attr a = {.qp_state = rand_r(&seed) % 7, .port_num = 1};
			if (qp)
				ibv_modify_qp(qp, &a, IBV_QP_STATE | (a.qp_state == IBV_QPS_INIT ? IBV_QP_PKEY_INDEX | IBV_QP_PORT |
					IBV_QP_ACCESS_FLAGS : 0));
			break;
		}
		default:
			if (qp)
				post(qp, memory, 64, (uintptr_t)memory + SIZE, mr->rkey);
			if (cq)
				ibv_poll_cq(cq, 1, &wc);
		}
	}
	return NULL;
}

static void meddling(void)
{
	open_all();
	pthread_t threads[4];
	for (uintptr_t i = 0; i < 4; i++)
		NEED(pthread_create(&threads[i], NULL, meddle, (void *)(i + 1)) == 0);
	sleep(1);
	while (atomic_load(&rounds) < 10000)
		usleep(1000);
	atomic_store(&stop, 1);
	for (int i = 0; i < 4; i++)
		NEED(pthread_join(threads[i], NULL) == 0);
	struct side s = make(ibv_create_cq(context, 16, NULL, NULL, 0));
	connect_to(s.qp, s.qp->qp_num);
	copy(s, 1);
}

// leaves ends by exit(3) while threads work and wait, and nothing has been destroyed.
static void leaves(void)
{
	open_all();
	struct side s = make(ibv_create_cq(context, 16, NULL, NULL, 0));
	connect_to(s.qp, s.qp->qp_num);
	pthread_t thread;
	NEED(pthread_create(&thread, NULL, work, &s) == 0);
	while (atomic_load(&rounds) < 10)
		;
	exit(0);
}

int main(void)
{
	struct { const char *name; void (*run)(void); } cases[] = {{"forks", forks}, {"limits", limits}, {"closes", closes},
		{"many", many}, {"meddling", meddling}, {"leaves", leaves}};
	for (unsigned i = 0; i < sizeof cases / sizeof *cases; i++) {
		pid_t child = fork();
		NEED(child >= 0);
		if (child == 0) {
			failures = 0;
			alarm(60);
			cases[i].run();
			exit(failures != 0);
		}
		int status;
		NEED(waitpid(child, &status, 0) == child);
		CHECK(status == 0, "%s: %x", cases[i].name, status);
	}
	puts(failures ? "FAILED" : "passed");
	return failures != 0;
}
