// RDMA between two hosts, measured from C, beside a plain loop over UDP that sends the same packets: one message of 1
// MiB after the other, in packets of the path MTU with headers and CRC as RoCEv2 has them (whose content nobody looks
// at), acknowledged as RC acknowledges. The first process is the target, the second one prints lines of a key and
// nanoseconds.
//
//	hosts target ADDRESS; hosts initiator ADDRESS
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <infiniband/verbs.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum {
	SIZE = 1 << 20, ROUNDS = 9, MESSAGES = 30, MTUS = 2,
	PORT = 18600, // of both protocols
	BTH = 12, RETH = 16, AETH = 4, ICRC = 4,
	WINDOW = 64 << 10, // bytes that aren't acknowledged, half of which the peer acknowledges at once
	RIGHTS = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE,
};

#define NEED(condition)                                                                  \
	do {                                                                             \
		if (!(condition)) {                                                      \
			fprintf(stderr, "hosts.c:%d: %s: %m\n", __LINE__, #condition); \
			_exit(1);                                                        \
		}                                                                        \
	} while (0)

static const struct {
	enum ibv_mtu mtu;
	uint32_t bytes;
} mtus[MTUS] = {{IBV_MTU_1024, 1024}, {IBV_MTU_4096, 4096}};

// What the two tell each other by TCP.
struct side {
	union ibv_gid gid;
	uint32_t number[MTUS];
	uint32_t key;
	uint64_t address;
};

static char *memory;
static struct ibv_cq *cq;
static struct ibv_qp *qp[MTUS];
static struct side own, peer;

static int64_t now(void) {
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

// packet is what the plain loop sends of a message: a number, whether it asks for an acknowledgement, its place.
struct packet {
	uint32_t number;
	uint32_t ask;
	uint32_t off;
};

_Static_assert(sizeof(struct packet) == BTH, "the header has another size than that of RoCEv2");

// plain_target receives messages of the plain loop for ever: each packet goes to its place. What comes out of order
// isn't taken, and gets an acknowledgement of what came before.
static void *plain_target(void *arg) {
	int s = *(int *)arg;
	uint32_t expected = 0;
	static char body[RETH + 4096 + ICRC];
	for (;;) {
		struct packet p;
		struct sockaddr_in from;
		struct iovec v[2] = {{&p, sizeof p}, {body, sizeof body}};
		struct msghdr m = {&from, sizeof from, v, 2, NULL, 0, 0};
		ssize_t n = recvmsg(s, &m, 0);
		NEED(n >= BTH + ICRC);
		if (p.number == expected) {
			size_t extra = p.off == 0 ? RETH : 0;
			memcpy(memory + p.off, body + extra, n - BTH - extra - ICRC);
			expected++;
		}
		if (p.ask || p.number > expected) {
			char ack[BTH + AETH + ICRC] = {0};
			memcpy(ack, &expected, sizeof expected);
			sendto(s, ack, sizeof ack, 0, (struct sockaddr *)&from, sizeof from);
		}
	}
	return NULL;
}

static int plain; // the initiator's socket
static uint32_t sent, acked;
static struct sockaddr_in target;

static void plain_message(uint32_t mtu) {
	uint32_t base = sent, count = SIZE / mtu, window = WINDOW / mtu;
	char reth[RETH] = {0}, icrc[ICRC] = {0};
	while (acked != base + count) {
		while (sent - acked < window && sent != base + count) {
			uint32_t i = sent - base;
			struct packet p = {sent, (i + 1) % (window / 2) == 0 || i + 1 == count, i * mtu};
			struct iovec v[4] = {{&p, sizeof p}, {reth, i == 0 ? RETH : 0}, {memory + p.off, mtu}, {icrc, ICRC}};
			struct msghdr m = {&target, sizeof target, v, 4, NULL, 0, 0};
			NEED(sendmsg(plain, &m, 0) > 0);
			sent++;
		}
		char ack[BTH + AETH + ICRC];
		if (recv(plain, ack, sizeof ack, 0) < 0) {
			NEED(errno == EAGAIN);
			sent = acked; // what wasn't acknowledged for long is lost
			continue;
		}
		uint32_t to;
		memcpy(&to, ack, sizeof to);
		if ((int32_t)(to - acked) > 0)
			acked = to;
		if ((int32_t)(acked - sent) > 0)
			sent = acked;
	}
}

static void verbs_message(int m) {
	struct ibv_sge sge = {(uintptr_t)memory, SIZE, own.key};
	struct ibv_send_wr wr = {.sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_RDMA_WRITE, .send_flags = IBV_SEND_SIGNALED};
	struct ibv_send_wr *bad;
	wr.wr.rdma.remote_addr = peer.address;
	wr.wr.rdma.rkey = peer.key;
	NEED(ibv_post_send(qp[m], &wr, &bad) == 0);
	struct ibv_wc wc;
	int got;
	while ((got = ibv_poll_cq(cq, 1, &wc)) == 0)
		;
	NEED(got == 1 && wc.status == IBV_WC_SUCCESS);
}

// make makes what each of the two has, but the connections.
static void make(void) {
	int n;
	struct ibv_device **list = ibv_get_device_list(&n);
	NEED(list && n > 0);
	struct ibv_context *context = ibv_open_device(list[0]);
	NEED(context);
	struct ibv_pd *pd = ibv_alloc_pd(context);
	NEED(pd && (cq = ibv_create_cq(context, 64, NULL, NULL, 0)));
	memory = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	NEED(memory != MAP_FAILED);
	memset(memory, 1, SIZE);
	struct ibv_mr *region = ibv_reg_mr(pd, memory, SIZE, RIGHTS);
	NEED(region && ibv_query_gid(context, 1, 0, &own.gid) == 0);
	own.key = region->rkey; // a region's keys are the same
	own.address = (uintptr_t)memory;
	NEED(region->lkey == region->rkey);
	struct ibv_qp_init_attr init = {.send_cq = cq, .recv_cq = cq, .qp_type = IBV_QPT_RC,
					.cap = {.max_send_wr = 16, .max_recv_wr = 16, .max_send_sge = 1, .max_recv_sge = 1}};
	for (int i = 0; i < MTUS; i++) {
		NEED((qp[i] = ibv_create_qp(pd, &init)));
		own.number[i] = qp[i]->qp_num;
	}
}

static void join(int i) {
	struct ibv_qp_attr a = {.qp_state = IBV_QPS_INIT, .port_num = 1, .qp_access_flags = RIGHTS};
	NEED(ibv_modify_qp(qp[i], &a, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS) == 0);
	a = (struct ibv_qp_attr){.qp_state = IBV_QPS_RTR, .path_mtu = mtus[i].mtu, .dest_qp_num = peer.number[i],
		.max_dest_rd_atomic = 1, .min_rnr_timer = 12,
		.ah_attr = {.is_global = 1, .port_num = 1, .grh = {.dgid = peer.gid, .hop_limit = 1}}};
	NEED(ibv_modify_qp(qp[i], &a, IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
					      IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER) == 0);
	a = (struct ibv_qp_attr){.qp_state = IBV_QPS_RTS, .timeout = 14, .retry_cnt = 7, .rnr_retry = 7, .max_rd_atomic = 1};
	NEED(ibv_modify_qp(qp[i], &a, IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN |
					      IBV_QP_MAX_QP_RD_ATOMIC) == 0);
}

// swap tells the other one what this one has.
static void swap(int s) {
	NEED(write(s, &own, sizeof own) == sizeof own);
	NEED(recv(s, &peer, sizeof peer, MSG_WAITALL) == sizeof peer);
}

int main(int argc, char **argv) {
	NEED(argc == 3);
	int is_target = strcmp(argv[1], "target") == 0, tcp = socket(AF_INET, SOCK_STREAM, 0);
	target = (struct sockaddr_in){.sin_family = AF_INET, .sin_port = htons(PORT)};
	NEED(inet_pton(AF_INET, argv[2], &target.sin_addr) == 1);
	make();
	plain = socket(AF_INET, SOCK_DGRAM, 0);
	int bytes = 4 << 20; // as much as the limit allows
	setsockopt(plain, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof bytes);
	setsockopt(plain, SOL_SOCKET, SO_SNDBUF, &bytes, sizeof bytes);
	char byte;
	if (is_target) {
		NEED(bind(plain, (struct sockaddr *)&target, sizeof target) == 0);
		pthread_t thread;
		NEED(pthread_create(&thread, NULL, plain_target, &plain) == 0);
		NEED(bind(tcp, (struct sockaddr *)&target, sizeof target) == 0 && listen(tcp, 1) == 0);
		int s = accept(tcp, NULL, NULL);
		NEED(s >= 0);
		swap(s);
		for (int i = 0; i < MTUS; i++)
			join(i);
		NEED(write(s, "", 1) == 1);
		read(s, &byte, 1); // until the other one ends
		return 0;
	}
	struct timeval wait = {0, 100000};
	NEED(setsockopt(plain, SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof wait) == 0);
	for (int i = 0; connect(tcp, (struct sockaddr *)&target, sizeof target) != 0; i++) {
		NEED(i < 600);
		close(tcp);
		usleep(100000); // it doesn't listen yet
		tcp = socket(AF_INET, SOCK_STREAM, 0);
	}
	swap(tcp);
	for (int i = 0; i < MTUS; i++)
		join(i);
	NEED(recv(tcp, &byte, 1, 0) == 1);
	for (int round = -1; round < ROUNDS; round++) {
		for (int i = 0; i < MTUS; i++) {
			int64_t start = now();
			for (int n = 0; n < MESSAGES; n++)
				verbs_message(i);
			int64_t middle = now();
			for (int n = 0; n < MESSAGES; n++)
				plain_message(mtus[i].bytes);
			int64_t end = now();
			if (round < 0)
				continue; // the first ones find the way
			printf("verbs udp %u %.1f\n", mtus[i].bytes, (double)(middle - start) / MESSAGES);
			printf("verbs plain udp %u %.1f\n", mtus[i].bytes, (double)(end - middle) / MESSAGES);
		}
	}
	return 0;
}
