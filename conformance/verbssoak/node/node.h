// What the parts of a node share: a process of the run, which serves links of others and makes links to others.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <infiniband/verbs.h>
#include <poll.h>
#include <pthread.h>
#include <rdma/rdma_cma.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

// need ends the process when something is false that nobody's death explains.
#define need(condition)                                                                       \
	do {                                                                                  \
		if (!(condition))                                                             \
			fail("%s:%d: %s (errno %d)", __FILE__, __LINE__, #condition, errno); \
	} while (0)

enum { BATCH = 8 }; // most requests between two replies

enum {
	RIGHTS = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC,
	// A link's memory at the server: two words for atomics, then a stripe for each request of a batch.
	WORDS = 4096,
	STRIPE = 128 << 10,
	AREA = WORDS + BATCH * STRIPE,
	DEPTH = 64,          // of each queue of a link
	MESSAGE = 16 << 10,  // bytes that a message has at most
	DATAGRAM = 1024,     // the same of a datagram
	GRH = 40,            // bytes before a datagram
	ROOM = GRH + MESSAGE, // of a slot
	RECEIVES = BATCH + 4, // of a lane
	SENDS = 2 * (BATCH + 2)
};

// Whole seconds: a process may be stopped, and the machine be busy.
#define PATIENCE 60.0

_Noreturn void fail(const char *format, ...) __attribute__((format(printf, 1, 2)));
double seconds(void);
// missed_event ends the process, which has slept since begin and then found a completion that had no event, unless it
// was stopped or had no processor meanwhile: then the completion may have come at the last moment.
enum { EVENT_TIME = 5 }; // s
void missed_event(double begin);

// Random numbers of one thread (splitmix64).
static inline uint64_t mix(uint64_t *state) {
	uint64_t z = (*state += 0x9e3779b97f4a7c15);
	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
	z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
	return z ^ (z >> 31);
}

void pattern_fill(char *at, size_t length, uint64_t seed);
// pattern_check ends the process when a byte is not the pattern's.
void pattern_check(const char *at, size_t length, uint64_t seed, const char *what);

// memory is registered memory of a link, the process' own or a Vulkan device's.
struct memory {
	char *bytes;      // where this process sees it
	uint64_t address; // what it has in requests
	size_t size;
	struct ibv_mr *mr;
	void *device; // NULL for ordinary memory
};

void memory_new(struct memory *m, size_t size, bool device);
void memory_free(struct memory *m);
void device_open(void);
void device_close(void);

// hello is the private data of a request and of its acceptance.
struct hello {
	uint32_t from, to;   // processes
	uint32_t unreliable; // number of the UC queue pair that goes with the link, or 0
	uint32_t key;
	uint64_t address; // of the area
	uint64_t seed;
} __attribute__((packed));

// message is how each send begins. The rest is a pattern.
enum kind { PLAIN, CHECK, REPLY, BYE };
struct message {
	uint64_t seed; // of the link
	uint32_t kind, sequence, length;
	// Of CHECK: a range of the area and the pattern that is there.
	uint32_t at, n;
	uint64_t pattern;
} __attribute__((packed));

// lane is one of the queue pairs of an end, with where its messages are.
struct lane {
	struct ibv_qp *qp; // NULL if there is none
	uint32_t sent, taken;
	struct memory box; // slots of messages that come, then of those that go
	unsigned out;
};

// end is one end of a link, the client's or the server's.
struct end {
	struct rdma_cm_id *id;
	bool datagrams;      // a link of UD
	struct lane main;    // of RC or UD, the identifier's
	struct lane other;   // of UC
	struct ibv_cq *cq;
	struct ibv_srq *srq; // that main receives from, or NULL
	struct memory area;
	uint64_t seed;
	uint32_t pid;
	int sends, receives; // posted and not completed
	bool bye;            // the client has said so
	bool down;           // the link has ended, by whatever
	double gone;         // since when the other process is known to have gone, or 0
	struct ibv_ah *ah;   // of datagrams
	uint32_t remote_qpn, remote_qkey;
	struct end *next;
};

// What work is, in wr_id, with a slot in the lower bits.
enum { SENT = 1 << 16, TAKEN = 2 << 16, SLOT = 0xffff };

extern struct ibv_context *context;
extern struct ibv_pd *pd;
extern _Atomic unsigned long operations, compared, made, lost;
extern atomic_bool quiet; // no more links are to be made
extern bool with_device;
// apart says that the nodes are on several hosts: packets get lost, and nobody tells of a process that has been killed.
// Links are of RC alone then, and end when the supervisor says that the other process has gone.
extern bool apart;
extern uint32_t address; // this node's, in the order of the network

// lane_open readies the queue pair of a lane: it posts receives, unless there is a shared queue.
void lane_open(struct end *e, struct lane *l, struct ibv_qp *qp);
void lane_receive(struct end *e, struct lane *l, int slot);
// lane_send sends a message of at least length bytes, of which text is how it begins.
void lane_send(struct end *e, struct lane *l, struct message text, uint32_t length, unsigned flags);
// lane_take checks the message in a slot, which is in box, and returns how it begins.
struct message lane_take(struct end *e, struct lane *l, const struct memory *box, const struct ibv_wc *wc);
// unreliable_new makes the UC queue pair of a link; unreliable_connect connects it.
struct ibv_qp *unreliable_new(struct ibv_cq *cq);
void unreliable_connect(struct end *e, uint32_t number);
// end_flush takes the queue pairs to ERROR: all that was posted completes then. taken gets each completion.
void end_flush(struct end *e, void (*taken)(const struct ibv_wc *));
// end_destroy ends everything but the completion queue.
void end_destroy(struct end *e);

bool is_gone(uint32_t pid);
// peer_random gives a peer to make a link with, and false if there is none.
bool peer_random(uint64_t *random, uint32_t *pid, struct sockaddr_in *at);
// peer_lost says that a link has broken. It is the other process' death, or a failure.
void peer_lost(uint32_t pid, const char *how);

// client_run makes links until quiet is set, or until it has made a number of them.
void client_run(uint64_t seed, int most);
uint16_t server_open(void);
void *server_main(void *unused);
void server_close(void);
