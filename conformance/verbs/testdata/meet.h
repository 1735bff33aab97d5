// Two programs that talk by lines on standard input and output, each with a queue pair to the other one; and the one of
// them that knows verbs alone, the peer. What memory holds is the words of a pattern, in one of which a number was
// added to 64 bits.
#include "common.h"

enum { SIZE = 1 << 20, WORDS = SIZE / 4, RIGHTS = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
	      IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC };

// Where a number is added, bytes, and what the two add.
enum { COUNTER = 128, PEERS = 10 * 3, OWNERS = 4 * 5 };

static struct ibv_pd *pd;
static struct ibv_cq *cq;
static struct ibv_qp *qp;

static inline void hear(const char *want) {
	char line[64];
	if (!fgets(line, sizeof line, stdin) || strncmp(line, want, strlen(want)) != 0) {
		fprintf(stderr, "heard %s, not %s\n", line, want);
		exit(1);
	}
}

static inline void say(const char *what) {
	puts(what);
	fflush(stdout);
}

// meet connects with the other program, tells it of memory and returns what it tells.
static inline void meet(uint64_t *address, uint32_t *key) {
	NEED((cq = ibv_create_cq(context, 16, NULL, NULL, 0)));
	struct ibv_qp_init_attr init = {.send_cq = cq, .recv_cq = cq, .qp_type = IBV_QPT_RC,
					.cap = {.max_send_wr = 8, .max_recv_wr = 8, .max_send_sge = 1, .max_recv_sge = 1}};
	NEED((qp = ibv_create_qp(pd, &init)));
	uint64_t half[2]; // of a GID
	memcpy(half, &self, sizeof self);
	printf("%x %lx %x %lx %lx\n", qp->qp_num, (unsigned long)*address, *key, half[0], half[1]);
	fflush(stdout);
	unsigned number, theirs;
	unsigned long at;
	NEED(scanf("%x %lx %x %lx %lx", &number, &at, &theirs, &half[0], &half[1]) == 5 && getchar() == '\n');
	*address = at;
	*key = theirs;
	union ibv_gid gid;
	memcpy(&gid, half, sizeof gid);
	connect_to_host(qp, number, gid);
}

static inline enum ibv_wc_status work(enum ibv_wr_opcode opcode, struct ibv_sge sge, uint64_t to, uint32_t key,
				      uint64_t add) {
	struct ibv_send_wr wr = {.sg_list = &sge, .num_sge = 1, .opcode = opcode, .send_flags = IBV_SEND_SIGNALED}, *bad;
	if (opcode == IBV_WR_ATOMIC_FETCH_AND_ADD) {
		wr.wr.atomic.remote_addr = to;
		wr.wr.atomic.compare_add = add;
		wr.wr.atomic.rkey = key;
	} else {
		wr.wr.rdma.remote_addr = to;
		wr.wr.rdma.rkey = key;
	}
	NEED(ibv_post_send(qp, &wr, &bad) == 0);
	return wait_for(cq).status;
}

// word is one of a pattern; steps.comp has the same.
static inline uint32_t word(uint32_t pattern, uint32_t i) { return i * 2654435761u ^ pattern * 0x9e3779b9u; }

static inline void fill(void *at, uint32_t pattern) {
	for (uint32_t i = 0; i < WORDS; i++)
		((uint32_t *)at)[i] = word(pattern, i);
}

// filled says whether memory has a pattern, with what was added.
static inline int filled(const void *at, uint32_t pattern, uint64_t added) {
	for (uint32_t i = 0; i < WORDS; i += 2) {
		uint64_t got, want = word(pattern, i) | (uint64_t)word(pattern, i + 1) << 32;
		if (i == COUNTER / 4)
			want += added;
		memcpy(&got, (const uint32_t *)at + i, sizeof got);
		if (got != want) {
			fprintf(stderr, "pattern %u, byte %u: %lx, not %lx\n", pattern, i * 4, (unsigned long)got, (unsigned long)want);
			return 0;
		}
	}
	return 1;
}

// peer checks each byte that the owner's queue, shader and queue pair write. outlives says that the owner's region
// outlives the memory of its device, until the owner has ended it.
static inline int peer(int outlives) {
	open_device();
	NEED((pd = ibv_alloc_pd(context)));
	char *mine = calloc(1, SIZE);
	struct ibv_mr *mr = ibv_reg_mr(pd, mine, SIZE, RIGHTS);
	NEED(mr);
	uint64_t to = (uintptr_t)mine;
	uint32_t key = mr->rkey;
	meet(&to, &key);
	const struct ibv_sge all = {(uintptr_t)mine, SIZE, mr->lkey}, one = {(uintptr_t)mine, 8, mr->lkey};

	hear("filled"); // by the queue
	NEED(work(IBV_WR_RDMA_READ, all, to, key, 0) == IBV_WC_SUCCESS);
	for (int i = 0; i < SIZE; i += 4)
		NEED(*(uint32_t *)(mine + i) == 0x55aa55aa);
	fill(mine, 1);
	NEED(work(IBV_WR_RDMA_WRITE, all, to, key, 0) == IBV_WC_SUCCESS);
	for (int i = 0; i < 10; i++)
		NEED(work(IBV_WR_ATOMIC_FETCH_AND_ADD, one, to + COUNTER, key, PEERS / 10) == IBV_WC_SUCCESS);
	say("written");

	hear("computed"); // by the shader, which has checked what is written; the owner has written it here
	NEED(filled(mine, 2, 0));
	memset(mine, 0, SIZE);
	NEED(work(IBV_WR_RDMA_READ, all, to, key, 0) == IBV_WC_SUCCESS);
	NEED(filled(mine, 2, 0));
	fill(mine, 3);
	say("prepared");

	hear("taken"); // the owner has added, has read all, and its shader has gone on from there
	NEED(filled(mine, 3, OWNERS));
	NEED(work(IBV_WR_RDMA_READ, all, to, key, 0) == IBV_WC_SUCCESS);
	NEED(filled(mine, 4, 0));
	say("checked");

	if (outlives) {
		hear("freed");
		memset(mine, 0, SIZE);
		NEED(work(IBV_WR_RDMA_READ, all, to, key, 0) == IBV_WC_SUCCESS);
		NEED(filled(mine, 4, 0));
		say("checked");
	}
	hear("ended");
	enum ibv_wc_status status = work(IBV_WR_RDMA_WRITE, one, to, key, 0);
	fprintf(stderr, "at the end: %s\n", ibv_wc_status_str(status));
	NEED(status == IBV_WC_REM_ACCESS_ERR);
	say("refused");
	return 0;
}
