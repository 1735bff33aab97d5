/*
 * farside_rdma.h: remote memory of Farside's fabric, from C and C++. Link with -lfarside_rdma (pkg-config
 * farside-rdma).
 *
 * A remote address is what vkGetMemoryRemoteAddressNV gave to the process that owns the memory: a number of
 * 64 bits that names a byte, for all processes on the fabric, and that no processor can follow. A peer reads,
 * writes and runs atomics at such addresses. On one host that is a copy between two mappings; the owner isn't
 * woken for it.
 *
 * Units: lengths are bytes, times are milliseconds, words are in the host's byte order.
 *
 * Results: every function that returns int gives 0 (FARSIDE_SUCCESS) or another enum farside_status;
 * farside_poll gives a number of completions, or a status with its sign changed.
 *
 * Threads: every function may be called from any thread at any time, also farside_peer_close, after which the
 * peer's other calls return FARSIDE_WR_FLUSH_ERR. A call for a peer that is NULL, was closed or never was
 * returns that, too.
 *
 * Memory: no pointer given to the library crashes it: local memory that is NULL (with a length above 0),
 * unmapped or write-protected gives FARSIDE_LOC_PROT_ERR. An atomic whose result can not be stored has taken
 * effect.
 *
 * Processes: a child that was forked without exec can't use the library, whether or not the parent had.
 * There, every function returns FARSIDE_FATAL_ERR at once.
 *
 * Environment (read when the library is loaded): FARSIDE_FABRIC_ALLOW_UIDS, and FARSIDE_FABRIC_SECRET_FILE
 * for other hosts; FARSIDE_FAULTS, with which operations fail on command, with any number of enum
 * ibv_wc_status; see the README.
 */
#ifndef FARSIDE_RDMA_H
#define FARSIDE_RDMA_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* enum farside_status: how an operation ended, with the numbers of enum ibv_wc_status. */
enum farside_status {
	FARSIDE_SUCCESS = 0,
	FARSIDE_LOC_LEN_ERR = 1,       /* posted work: the local memory of an atomic isn't 4 or 8 bytes long */
	FARSIDE_LOC_QP_OP_ERR = 2,     /* no such opcode or flag; no room for posted work; another limit */
	FARSIDE_LOC_PROT_ERR = 4,      /* local memory isn't there, or can't be written */
	FARSIDE_WR_FLUSH_ERR = 5,      /* the peer is closed; posted work behind other work that failed */
	FARSIDE_BAD_RESP_ERR = 7,      /* the other side speaks another version of the protocol, or nonsense */
	FARSIDE_REM_INV_REQ_ERR = 9,   /* an atomic at an address that isn't a multiple of its length */
	FARSIDE_REM_ACCESS_ERR = 10,   /* nothing there, or freed, or not all of the range, or no right */
	FARSIDE_RETRY_EXC_ERR = 12,    /* the owner's process has died, or its host can't be reached */
	FARSIDE_FATAL_ERR = 19,        /* this process was forked after it had loaded the library */
	FARSIDE_RESP_TIMEOUT_ERR = 20, /* the owner is there and doesn't answer */
	FARSIDE_GENERAL_ERR = 21       /* a fabric that isn't one, and errors of the operating system */
};

/* farside_peer: the initiating side of a fabric. A handle: nothing lies behind the pointer. */
typedef struct farside_peer farside_peer;

/*
 * farside_peer_open joins a fabric and stores a handle at *peer, NULL on failure, whose reason goes to
 * standard error. fabric is NULL or "" for this host, where it does no input or output, or "tls://HOST:PORT/"
 * for another one (needs FARSIDE_FABRIC_SECRET_FILE).
 *
 * Errors: FARSIDE_LOC_PROT_ERR for pointers, FARSIDE_GENERAL_ERR for a name that is none or a library that is
 * missing; for another host also FARSIDE_REM_ACCESS_ERR (not trusted), FARSIDE_RETRY_EXC_ERR,
 * FARSIDE_RESP_TIMEOUT_ERR and FARSIDE_BAD_RESP_ERR.
 */
int farside_peer_open(const char *fabric, farside_peer **peer);

/*
 * farside_peer_close ends a peer. It returns when all work that was posted has ended, so that its local
 * memory may go. Completions that nobody has polled are lost, and whoever polls gets -FARSIDE_WR_FLUSH_ERR.
 * NULL and a peer that was closed before are ignored.
 */
void farside_peer_close(farside_peer *peer);

/*
 * farside_read copies length bytes from a remote address to local, farside_write the other way. Both return
 * when that is done. An aligned word of 4 or 8 bytes is read or written in one piece. The range must lie in
 * one region (one VkDeviceMemory); length may be 0, and local then NULL. After an error, some bytes may have
 * been copied, and local may hold anything.
 *
 * The first use of a region asks its owner, which takes some 100 microseconds and at most 5 seconds.
 *
 * Errors: FARSIDE_LOC_PROT_ERR, FARSIDE_WR_FLUSH_ERR, FARSIDE_BAD_RESP_ERR, FARSIDE_REM_ACCESS_ERR,
 * FARSIDE_RETRY_EXC_ERR, FARSIDE_RESP_TIMEOUT_ERR, FARSIDE_LOC_QP_OP_ERR.
 */
int farside_read(farside_peer *peer, uint64_t remote_address, void *local, size_t length);
int farside_write(farside_peer *peer, uint64_t remote_address, const void *local, size_t length);

/*
 * farside_fetch_add64 adds to the word of 8 bytes at a remote address, and farside_compare_swap64 puts swap
 * there if it holds compare: in one atomic step, also against processors of the owner's host. What was there
 * before goes to *old, unless old is NULL.
 *
 * Errors: those of farside_read, and FARSIDE_REM_INV_REQ_ERR for an address that isn't a multiple of 8.
 */
int farside_fetch_add64(farside_peer *peer, uint64_t remote_address, uint64_t add, uint64_t *old);
int farside_compare_swap64(farside_peer *peer, uint64_t remote_address, uint64_t compare, uint64_t swap,
	uint64_t *old);

/* enum farside_opcode: what posted work does. Atomics are on words of 4 or 8 bytes, as length says. */
enum farside_opcode {
	FARSIDE_READ = 1,
	FARSIDE_WRITE = 2,
	FARSIDE_FETCH_ADD = 3,    /* adds compare_add */
	FARSIDE_SWAP = 4,         /* stores swap */
	FARSIDE_COMPARE_SWAP = 5, /* stores swap if compare_add is there */
	FARSIDE_FETCH_AND = 6,    /* clears the bits that compare_add lacks */
	FARSIDE_FETCH_OR = 7,     /* sets the bits of compare_add */
	FARSIDE_FETCH_XOR = 8     /* inverts the bits of compare_add */
};

/* enum farside_flags: bits of farside_work.flags. */
enum farside_flags {
	FARSIDE_SIGNALLED = 1, /* a completion also on success; a failure always gives one */
	FARSIDE_FENCE = 2      /* begin when reads and atomics posted before have completed; adapters need it for that */
};

/* farside_work: an operation to post, as struct ibv_send_wr. 64 bytes. */
struct farside_work {
	uint64_t wr_id;          /* comes back in the completion */
	uint64_t remote_address;
	uint64_t key;            /* that the region must have; 0: any */
	void *local;             /* where from (write), where to (read), where to put the old value (atomics) */
	size_t length;           /* of local and of the operation; 4 or 8 for atomics */
	uint64_t compare_add;
	uint64_t swap;
	uint32_t opcode;         /* enum farside_opcode */
	uint32_t flags;          /* enum farside_flags */
};

/* farside_completion: how posted work ended, as struct ibv_wc. 24 bytes. */
struct farside_completion {
	uint64_t wr_id;
	uint64_t length;  /* bytes transferred; 0 if it failed */
	int32_t status;   /* enum farside_status */
	uint32_t opcode;  /* enum farside_opcode */
};

/* FARSIDE_DEPTH: how many pieces of a peer's work can be posted and neither polled nor ended unsignalled. */
#define FARSIDE_DEPTH 1024

/*
 * farside_post hands over n pieces of work, all or, on error, none, and returns at once. The array is copied;
 * the local memory of each piece must stay until its completion, or that of later work, has been polled, or
 * farside_reset or farside_peer_close has returned.
 *
 * All work of a peer goes in the order in which it is posted. The first piece that fails puts the peer's
 * queue in the error state: it gives a completion with the reason, and what was or is posted behind it is
 * flushed, each piece with a completion of FARSIDE_WR_FLUSH_ERR, until farside_reset. The functions that
 * don't post go on working.
 *
 * Errors: FARSIDE_LOC_QP_OP_ERR without room for all (poll first) and for unknown opcodes and flags,
 * FARSIDE_LOC_PROT_ERR for the array itself, FARSIDE_WR_FLUSH_ERR.
 */
int farside_post(farside_peer *peer, const struct farside_work *work, size_t n);

/*
 * farside_poll takes up to n completions in the order in which the work was posted, and returns how many. It
 * waits for the first until timeout_ms have passed, and then returns 0; for ever if that is negative; not at
 * all if it is 0. At most FARSIDE_DEPTH are taken at once; what is behind them in the array may be zeroed.
 *
 * Errors: -FARSIDE_LOC_PROT_ERR for the array, of which nothing has been taken then, and
 * -FARSIDE_WR_FLUSH_ERR.
 */
int farside_poll(farside_peer *peer, struct farside_completion *completions, size_t n, int timeout_ms);

/*
 * farside_reset ends the error state of the peer's queue, once all that was posted has ended. Completions
 * stay to be polled. Errors: FARSIDE_WR_FLUSH_ERR.
 */
int farside_reset(farside_peer *peer);

/*
 * farside_status_string says in English what a status, or a negative result of farside_poll, means. The text is
 * static.
 */
const char *farside_status_string(int status);

#ifdef __cplusplus
}
#endif

#endif
