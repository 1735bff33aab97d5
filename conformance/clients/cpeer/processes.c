/* Threads and forked children: processes ADDRESS, where 64 bytes are a region, all zero. */
#define _GNU_SOURCE
#include "check.h"
#include <pthread.h>
#include <stdatomic.h>
#include <sys/wait.h>
#include <unistd.h>

enum { THREADS = 8, ROUNDS = 2000 };

static farside_peer *peer;
static uint64_t region;
static atomic_int stop;

static void *adds(void *unused) {
	for (int i = 0; i < ROUNDS; i++)
		GIVES(farside_fetch_add64(peer, region, 1, NULL), FARSIDE_SUCCESS);
	return unused;
}

/* Opens and closes peers of its own, and reads with them, while others do the same. */
static void *opens(void *unused) {
	for (int i = 0; i < 50; i++) {
		farside_peer *own;
		uint64_t word;
		GIVES(farside_peer_open(NULL, &own), FARSIDE_SUCCESS);
		GIVES(farside_read(own, region, &word, 8), FARSIDE_SUCCESS);
		farside_peer_close(own);
		GIVES(farside_read(own, region, &word, 8), FARSIDE_WR_FLUSH_ERR);
	}
	return unused;
}

static void *busy(void *unused) {
	uint64_t word;
	while (!atomic_load(&stop))
		GIVES(farside_read(peer, region, &word, 8), FARSIDE_SUCCESS);
	return unused;
}

static void *waits(void *unused) {
	struct farside_completion c;
	GIVES(farside_poll(peer, &c, 1, -1), -FARSIDE_WR_FLUSH_ERR);
	return unused;
}

/* What a child sees; a call that hangs is ended by the alarm. */
static int child(void) {
	alarm(60);
	uint64_t word = 0;
	farside_peer *p;
	struct farside_work work = {.opcode = FARSIDE_READ};
	struct farside_completion c;
	if (farside_read(peer, region, &word, 8) != FARSIDE_FATAL_ERR)
		return 1;
	if (farside_write(peer, region, &word, 8) != FARSIDE_FATAL_ERR)
		return 2;
	if (farside_fetch_add64(peer, region, 1, &word) != FARSIDE_FATAL_ERR)
		return 3;
	if (farside_compare_swap64(peer, region, 1, 1, &word) != FARSIDE_FATAL_ERR)
		return 4;
	if (farside_post(peer, &work, 1) != FARSIDE_FATAL_ERR)
		return 5;
	if (farside_poll(peer, &c, 1, -1) != -FARSIDE_FATAL_ERR)
		return 6;
	if (farside_reset(peer) != FARSIDE_FATAL_ERR)
		return 7;
	if (farside_peer_open(NULL, &p) != FARSIDE_FATAL_ERR)
		return 8;
	farside_peer_close(peer);
	if (!strstr(farside_status_string(FARSIDE_FATAL_ERR), "forked"))
		return 9;
	return 0;
}

static void forks(void) {
	fflush(stdout);
	pid_t pid = fork();
	CHECK(pid >= 0);
	if (pid == 0)
		_exit(child());
	int status = -1;
	CHECK(waitpid(pid, &status, 0) == pid);
	if (status != 0) {
		printf("the forked child's wait status is %#x\n", status);
		exit(1);
	}
}

int main(int argc, char **argv) {
	CHECK(argc == 2);
	region = number(argv[1]);
	GIVES(farside_peer_open(NULL, &peer), FARSIDE_SUCCESS);
	pthread_t thread[2 * THREADS + 1];
	for (int i = 0; i < 2 * THREADS; i++)
		CHECK(pthread_create(&thread[i], NULL, i < THREADS ? adds : opens, NULL) == 0);
	for (int i = 0; i < 2 * THREADS; i++)
		CHECK(pthread_join(thread[i], NULL) == 0);
	uint64_t sum;
	GIVES(farside_read(peer, region, &sum, 8), FARSIDE_SUCCESS);
	CHECK(sum == THREADS * ROUNDS);

	/* All of the runtime's processors are in use when the process is forked. */
	for (int i = 0; i < THREADS; i++)
		CHECK(pthread_create(&thread[i], NULL, busy, NULL) == 0);
	CHECK(pthread_create(&thread[THREADS], NULL, waits, NULL) == 0);
	for (int i = 0; i < 5; i++)
		forks();
	atomic_store(&stop, 1);
	for (int i = 0; i < THREADS; i++)
		CHECK(pthread_join(thread[i], NULL) == 0);
	GIVES(farside_read(peer, region, &sum, 8), FARSIDE_SUCCESS);
	farside_peer_close(peer);
	CHECK(pthread_join(thread[THREADS], NULL) == 0);
	return 0;
}
