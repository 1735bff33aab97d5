// Two processes poll their completion queues all the time, and one writes into the other's memory. The runtime's
// monitor sleeps 10 ms at a time meanwhile. It is the thread that sits in nanosleep.
#include "common.h"
#include <dirent.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>

static double seconds(void) {
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec / 1e9;
}

// What the two tell each other.
static struct {
	volatile int ready;
	uint32_t number[2], key;
	uint64_t address;
} *shared;

static struct ibv_cq *cq;
static struct ibv_qp *qp;
static struct ibv_mr *mr;
static uint64_t word;

// meet connects one side with the other: the child is the target.
static void meet(int child) {
	open_device();
	struct ibv_pd *pd = ibv_alloc_pd(context);
	NEED(pd && (cq = ibv_create_cq(context, 16, NULL, NULL, 0)));
	struct ibv_qp_init_attr init = {.send_cq = cq, .recv_cq = cq, .qp_type = IBV_QPT_RC,
					.cap = {.max_send_wr = 8, .max_recv_wr = 8, .max_send_sge = 1, .max_recv_sge = 1}};
	NEED((qp = ibv_create_qp(pd, &init)));
	NEED((mr = ibv_reg_mr(pd, &word, sizeof word, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE)));
	shared->number[child] = qp->qp_num;
	if (child) {
		shared->key = mr->rkey;
		shared->address = (uintptr_t)&word;
	}
	for (__sync_fetch_and_add(&shared->ready, 1); shared->ready < 2;)
		usleep(1000);
	connect_to(qp, shared->number[!child]);
	for (__sync_fetch_and_add(&shared->ready, 1); shared->ready < 4;)
		usleep(1000);
}

// write_for writes for some time.
static void write_for(double time) {
	struct ibv_sge sge = {(uintptr_t)&word, sizeof word, mr->lkey};
	struct ibv_send_wr wr = {.sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_RDMA_WRITE,
				 .send_flags = IBV_SEND_SIGNALED}, *bad;
	wr.wr.rdma.remote_addr = shared->address;
	wr.wr.rdma.rkey = shared->key;
	for (double end = seconds() + time; seconds() < end;) {
		NEED(ibv_post_send(qp, &wr, &bad) == 0);
		NEED(wait_for(cq).status == IBV_WC_SUCCESS);
	}
}

// contents is the first line of a file of a thread, or empty if there is none any more.
static const char *contents(const char *task, const char *file) {
	static char line[256];
	char path[300];
	line[0] = 0;
	snprintf(path, sizeof path, "/proc/self/task/%s/%s", task, file);
	FILE *f = fopen(path, "r");
	if (f) {
		if (!fgets(line, sizeof line, f))
			line[0] = 0;
		fclose(f);
	}
	return line;
}

// sleeper finds the thread that sleeps, and says so.
static int sleeper(char task[256]) {
	DIR *all = opendir("/proc/self/task");
	struct dirent *d;
	int found = 0;
	NEED(all);
	while (!found && (d = readdir(all)))
		if (d->d_name[0] != '.' && atoi(contents(d->d_name, "syscall")) == SYS_nanosleep) {
			strcpy(task, d->d_name);
			found = 1;
		}
	closedir(all);
	return found;
}

// sleeps is how often a thread has waited for something.
static long sleeps(const char *task) {
	char path[300], line[256];
	long n = -1;
	snprintf(path, sizeof path, "/proc/self/task/%s/status", task);
	FILE *f = fopen(path, "r");
	NEED(f);
	while (n < 0 && fgets(line, sizeof line, f))
		sscanf(line, "voluntary_ctxt_switches: %ld", &n);
	fclose(f);
	NEED(n >= 0);
	return n;
}

int main(void) {
	shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	NEED(shared != MAP_FAILED);
	pid_t child = fork();
	NEED(child >= 0);
	if (child == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		meet(1);
		struct ibv_wc wc;
		for (;;)
			NEED(ibv_poll_cq(cq, 1, &wc) == 0);
	}
	meet(0);
	write_for(0.5);
	char task[256];
	for (int tries = 0; !sleeper(task); tries++) {
		NEED(tries < 1000);
		write_for(0.001);
	}
	long before = sleeps(task);
	double start = seconds();
	write_for(2);
	double rate = (sleeps(task) - before) / (seconds() - start);
	CHECK(rate < 1000, "the monitor wakes up %.0f times a second", rate);
	NEED(kill(child, SIGKILL) == 0 && waitpid(child, NULL, 0) == child);
	if (!failures)
		puts("passed");
	return failures != 0;
}
