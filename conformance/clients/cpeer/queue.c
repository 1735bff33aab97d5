/* The queue of posted work: queue ADDRESS SIZE, where SIZE bytes are a region, all zero. */
#define _GNU_SOURCE
#include "check.h"
#include <pthread.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

static farside_peer *peer;
static uint64_t region, size;

static struct farside_work piece(uint64_t id, uint32_t opcode, uint64_t address, void *local, size_t length) {
	struct farside_work w = {.wr_id = id, .remote_address = address, .local = local, .length = length, .opcode = opcode,
		.flags = FARSIDE_SIGNALLED};
	return w;
}

/* Takes exactly n completions. */
static void take(struct farside_completion *c, size_t n) {
	for (size_t got = 0; got < n;) {
		int k = farside_poll(peer, c + got, n - got, 10000);
		CHECK(k > 0);
		got += (size_t)k;
	}
	struct farside_completion none;
	GIVES(farside_poll(peer, &none, 1, 0), 0);
}

static int64_t now(void) {
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static void in_order(void) {
	enum { N = 300 };
	struct farside_work work[N];
	struct farside_completion c[N];
	uint64_t seen[N];
	for (size_t i = 0; i < N; i++) {
		work[i] = piece(i, FARSIDE_FETCH_ADD, region, &seen[i], 8);
		work[i].compare_add = 2;
	}
	GIVES(farside_post(peer, work, N), FARSIDE_SUCCESS);
	memset(work, 0xff, sizeof work); /* they have been copied */
	take(c, N);
	for (size_t i = 0; i < N; i++)
		CHECK(c[i].wr_id == i && c[i].status == FARSIDE_SUCCESS && c[i].opcode == FARSIDE_FETCH_ADD && c[i].length == 8 &&
			seen[i] == 2 * i);
}

static void every_opcode(void) {
	uint64_t value = 0xf0f0, out[8] = {0};
	uint32_t half = 0;
	struct farside_work work[] = {
		piece(1, FARSIDE_WRITE, region + 64, &value, 8),
		piece(2, FARSIDE_FETCH_ADD, region + 64, &out[0], 8),
		piece(3, FARSIDE_SWAP, region + 64, &out[1], 8),
		piece(4, FARSIDE_COMPARE_SWAP, region + 64, &out[2], 8),
		piece(5, FARSIDE_FETCH_AND, region + 64, &out[3], 8),
		piece(6, FARSIDE_FETCH_OR, region + 64, &out[4], 8),
		piece(7, FARSIDE_FETCH_XOR, region + 64, &out[5], 8),
		piece(8, FARSIDE_FETCH_ADD, region + 68, &half, 4),
		piece(9, FARSIDE_READ, region + 64, &out[6], 8),
	};
	work[1].compare_add = 0xf;
	work[2].swap = 0x1234;
	work[3].compare_add = 0x1234, work[3].swap = 0xff00ff00;
	work[4].compare_add = 0xfff00000;
	work[5].compare_add = 0x1;
	work[6].compare_add = 0x3;
	work[7].compare_add = 5;
	for (size_t i = 0; i < 8; i++)
		work[i].flags = i % 2 ? FARSIDE_FENCE : 0; /* only the last is signalled */
	GIVES(farside_post(peer, work, 9), FARSIDE_SUCCESS);
	struct farside_completion c;
	take(&c, 1);
	CHECK(c.wr_id == 9 && c.status == FARSIDE_SUCCESS && c.length == 8 && c.opcode == FARSIDE_READ);
	CHECK(out[0] == 0xf0f0 && out[1] == 0xf0ff && out[2] == 0x1234 && out[3] == 0xff00ff00 && out[4] == 0xff000000);
	CHECK(out[5] == 0xff000001 && half == 0 && out[6] == (UINT64_C(5) << 32 | 0xff000002));
}

/* What fails by itself, whatever stands around it. */
static void failures(void) {
	static const char constant[8];
	uint64_t word = 0;
	void *gone = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct {
		struct farside_work work;
		int status;
	} cases[] = {
		{piece(1, FARSIDE_READ, region, NULL, 8), FARSIDE_LOC_PROT_ERR},
		{piece(1, FARSIDE_WRITE, region, NULL, 100), FARSIDE_LOC_PROT_ERR},
		{piece(1, FARSIDE_READ, region, at(8), 8), FARSIDE_LOC_PROT_ERR},
		{piece(1, FARSIDE_READ, region, gone, 8), FARSIDE_LOC_PROT_ERR},
		{piece(1, FARSIDE_WRITE, region, gone, 4096), FARSIDE_LOC_PROT_ERR},
		{piece(1, FARSIDE_READ, region, at((uintptr_t)constant), 8), FARSIDE_LOC_PROT_ERR},
		{piece(1, FARSIDE_READ, region, at(UINT64_C(0x8000000000000000)), 8), FARSIDE_LOC_PROT_ERR},
		{piece(1, FARSIDE_FETCH_ADD, region, at(~UINT64_C(0)), 8), FARSIDE_LOC_PROT_ERR},
		{piece(1, FARSIDE_WRITE, region, &word, SIZE_MAX), FARSIDE_LOC_PROT_ERR},
		{piece(1, FARSIDE_READ, region + size - 7, &word, 8), FARSIDE_REM_ACCESS_ERR},
		{piece(1, FARSIDE_READ, 12345, &word, 8), FARSIDE_REM_ACCESS_ERR},
		{piece(1, FARSIDE_FETCH_ADD, region + 4, &word, 8), FARSIDE_REM_INV_REQ_ERR},
		{piece(1, FARSIDE_FETCH_ADD, region, &word, 2), FARSIDE_LOC_LEN_ERR},
		{piece(1, FARSIDE_READ, region, &word, 8), FARSIDE_REM_ACCESS_ERR}, /* a wrong key */
	};
	cases[sizeof cases / sizeof *cases - 1].work.key = 1;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		uint64_t before[3] = {7, 7, 7};
		struct farside_work work[] = {
			piece(10, FARSIDE_READ, region, &before[0], 8),
			cases[i].work,
			piece(12, FARSIDE_READ, region, &before[1], 8),
			piece(13, FARSIDE_READ, region, &before[2], 8),
		};
		work[1].flags = 0;
		work[3].flags = 0; /* a failure gives a completion all the same */
		struct farside_completion c[4];
		GIVES(farside_post(peer, work, 4), FARSIDE_SUCCESS);
		take(c, 4);
		CHECK(c[0].wr_id == 10 && c[1].wr_id == 1 && c[2].wr_id == 12 && c[3].wr_id == 13);
		GIVES(c[0].status, FARSIDE_SUCCESS);
		if (c[1].status != cases[i].status)
			printf("case %zu\n", i);
		GIVES(c[1].status, cases[i].status);
		CHECK(c[1].length == 0);
		GIVES(c[2].status, FARSIDE_WR_FLUSH_ERR);
		GIVES(c[3].status, FARSIDE_WR_FLUSH_ERR);
		CHECK(before[1] == 7 && before[2] == 7);
		/* Later work is flushed as well, and what isn't posted goes on. */
		GIVES(farside_post(peer, &work[0], 1), FARSIDE_SUCCESS);
		take(c, 1);
		GIVES(c[0].status, FARSIDE_WR_FLUSH_ERR);
		GIVES(farside_read(peer, region, &word, 8), FARSIDE_SUCCESS);
		GIVES(farside_reset(peer), FARSIDE_SUCCESS);
		GIVES(farside_post(peer, &work[0], 1), FARSIDE_SUCCESS);
		take(c, 1);
		GIVES(c[0].status, FARSIDE_SUCCESS);
	}
	struct farside_work bad = piece(1, 0, region, &word, 8);
	GIVES(farside_post(peer, &bad, 1), FARSIDE_LOC_QP_OP_ERR);
	bad.opcode = 0x101;
	GIVES(farside_post(peer, &bad, 1), FARSIDE_LOC_QP_OP_ERR);
	bad.opcode = FARSIDE_READ, bad.flags = 4;
	GIVES(farside_post(peer, &bad, 1), FARSIDE_LOC_QP_OP_ERR);
}

/* As much as there is room for, and not a piece more. */
static void depth(void) {
	static struct farside_work work[FARSIDE_DEPTH];
	static struct farside_completion c[FARSIDE_DEPTH];
	uint64_t word;
	for (size_t i = 0; i < FARSIDE_DEPTH; i++)
		work[i] = piece(i, FARSIDE_READ, region, &word, 8);
	GIVES(farside_post(peer, work, FARSIDE_DEPTH), FARSIDE_SUCCESS);
	GIVES(farside_post(peer, work, 1), FARSIDE_LOC_QP_OP_ERR);
	take(c, FARSIDE_DEPTH);
	for (size_t i = 0; i < FARSIDE_DEPTH; i++)
		CHECK(c[i].wr_id == i && c[i].status == FARSIDE_SUCCESS);
}

static void *polls_for_ever(void *result) {
	struct farside_completion c;
	*(int *)result = farside_poll(peer, &c, 1, -1);
	return NULL;
}

static void waiting(void) {
	struct farside_completion c;
	int64_t start = now();
	GIVES(farside_poll(peer, &c, 1, 0), 0);
	GIVES(farside_poll(peer, &c, 1, 50), 0);
	CHECK(now() - start >= 50);

	int result = 0;
	pthread_t thread;
	uint64_t word;
	CHECK(pthread_create(&thread, NULL, polls_for_ever, &result) == 0);
	struct farside_work work = piece(1, FARSIDE_READ, region, &word, 8);
	GIVES(farside_post(peer, &work, 1), FARSIDE_SUCCESS);
	CHECK(pthread_join(thread, NULL) == 0);
	GIVES(result, 1);
	CHECK(pthread_create(&thread, NULL, polls_for_ever, &result) == 0);
	usleep(20000);
	farside_peer_close(peer);
	CHECK(pthread_join(thread, NULL) == 0);
	GIVES(result, -FARSIDE_WR_FLUSH_ERR);
}

int main(int argc, char **argv) {
	CHECK(argc == 3);
	region = number(argv[1]), size = number(argv[2]);
	GIVES(farside_peer_open(NULL, &peer), FARSIDE_SUCCESS);
	in_order();
	every_opcode();
	failures();
	depth();
	waiting();
	return 0;
}
