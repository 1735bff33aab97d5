// The demo's peer in C: peer FABRIC ADDRESS LENGTH PEERS ADDS
//
// It reads LENGTH bytes of remote memory at ADDRESS, compares them with what the exporter's queue wrote,
// writes its answer, and when all PEERS peers have come as far, adds 1 to the first word ADDS times beside
// them. FABRIC is empty for this host. The first two words, the counter and the number of peers that have
// come, are not part of the data.
#include <inttypes.h>
#include <sched.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "farside_rdma.h"

#define HEADER 16 // bytes

static void fail(const char *what, const char *why) {
	fprintf(stderr, "C peer: %s: %s\n", what, why);
	exit(1);
}

static void must(const char *what, int status) {
	if (status)
		fail(what, farside_status_string(status));
}

static void say(const char *format, ...) {
	va_list arguments;
	va_start(arguments, format);
	printf("  %-8s  pid %-7d  ", "C peer", (int)getpid());
	vprintf(format, arguments);
	puts("");
	fflush(stdout);
	va_end(arguments);
}

static uint8_t pattern(uint64_t i) { return (uint8_t)(i * 7 + (i >> 8)); }

// meet returns when all peers have called it.
static void meet(farside_peer *peer, uint64_t word, uint64_t peers) {
	time_t start = time(NULL);
	uint64_t come;
	must("fetch-add", farside_fetch_add64(peer, word, 1, &come));
	do {
		sched_yield();
		must("read", farside_read(peer, word, &come, sizeof come));
		if (time(NULL) - start > 60)
			fail("the other peers", "they did not come");
	} while (come < peers);
}

int main(int argc, char **argv) {
	if (argc != 6)
		fail("usage", "peer FABRIC ADDRESS LENGTH PEERS ADDS");
	const char *fabric = *argv[1] ? argv[1] : NULL;
	uint64_t address = strtoull(argv[2], NULL, 0), length = strtoull(argv[3], NULL, 0);
	uint64_t peers = strtoull(argv[4], NULL, 0), adds = strtoull(argv[5], NULL, 0);
	farside_peer *peer;
	must("open", farside_peer_open(fabric, &peer));

	uint8_t *data = malloc(length);
	if (!data)
		fail("malloc", "no memory");
	must("read", farside_read(peer, address, data, length));
	for (uint64_t i = HEADER; i < length; i++) {
		if (data[i] != pattern(i))
			fail("read", "a byte is not as the exporter's queue wrote it");
		data[i] = (uint8_t)~data[i];
	}
	say("read %" PRIu64 " KiB by the address, every byte as the exporter's queue wrote it", length >> 10);
	must("write", farside_write(peer, address + HEADER, data + HEADER, length - HEADER));
	free(data);

	meet(peer, address + 8, peers);
	uint64_t old, before = 0;
	for (uint64_t i = 0; i < adds; i++) {
		must("fetch-add", farside_fetch_add64(peer, address, 1, &old));
		if (i && old <= before)
			fail("fetch-add", "the counter did not grow");
		before = old;
	}
	say("wrote its answer, and added 1 %" PRIu64 " times while %" PRIu64 " peers in Go did the same", adds, peers - 1);
	farside_peer_close(peer);
	return 0;
}
