/* Every function of farside_rdma.h once with sense and then with none: calls ADDRESS READONLY SIZE [FABRIC], where
 * SIZE bytes at either address are a region, all zero, and the second may only be read. Valid as C99 and C++11. */
#include "check.h"

static const char *fabric;
static farside_peer *peer;
static uint64_t region, readonly, size;

static void transfers(void) {
	unsigned char out[4096], in[4096];
	for (size_t i = 0; i < sizeof out; i++)
		out[i] = (unsigned char)(i * 7);
	GIVES(farside_write(peer, region + 3, out, 1000), FARSIDE_SUCCESS);
	GIVES(farside_read(peer, region + 3, in, 1000), FARSIDE_SUCCESS);
	CHECK(memcmp(in, out, 1000) == 0);
	GIVES(farside_write(peer, region + size - 8, out, 8), FARSIDE_SUCCESS);
	GIVES(farside_read(peer, region + size - 8, in, 8), FARSIDE_SUCCESS);
	CHECK(memcmp(in, out, 8) == 0);
	GIVES(farside_read(peer, region, NULL, 0), FARSIDE_SUCCESS);

	uint64_t old = 1;
	GIVES(farside_write(peer, region + 8, &old, 8), FARSIDE_SUCCESS);
	GIVES(farside_fetch_add64(peer, region + 8, 41, &old), FARSIDE_SUCCESS);
	CHECK(old == 1);
	GIVES(farside_compare_swap64(peer, region + 8, 42, 7, &old), FARSIDE_SUCCESS);
	CHECK(old == 42);
	GIVES(farside_compare_swap64(peer, region + 8, 42, 8, &old), FARSIDE_SUCCESS);
	CHECK(old == 7);
	GIVES(farside_fetch_add64(peer, region + 8, 1, NULL), FARSIDE_SUCCESS);
	GIVES(farside_read(peer, region + 8, &old, 8), FARSIDE_SUCCESS);
	CHECK(old == 8);
}

static void remote_errors(void) {
	uint64_t word = 0;
	GIVES(farside_read(peer, 0, &word, 8), FARSIDE_REM_ACCESS_ERR);
	GIVES(farside_read(peer, (uint64_t)(uintptr_t)&word, &word, 8), FARSIDE_REM_ACCESS_ERR);
	GIVES(farside_read(peer, ~UINT64_C(0), &word, 8), FARSIDE_REM_ACCESS_ERR);
	GIVES(farside_read(peer, region + size - 7, &word, 8), FARSIDE_REM_ACCESS_ERR);
	GIVES(farside_write(peer, region + size - 7, &word, 8), FARSIDE_REM_ACCESS_ERR);
	GIVES(farside_write(peer, readonly, &word, 8), FARSIDE_REM_ACCESS_ERR);
	GIVES(farside_read(peer, readonly, &word, 8), FARSIDE_SUCCESS);
	GIVES(farside_fetch_add64(peer, readonly, 1, &word), FARSIDE_REM_ACCESS_ERR);
	GIVES(farside_fetch_add64(peer, region + 4, 1, &word), FARSIDE_REM_INV_REQ_ERR);
	GIVES(farside_compare_swap64(peer, region + 1, 1, 1, &word), FARSIDE_REM_INV_REQ_ERR);
}

static void local_errors(void) {
	const uint64_t wild[] = {0, 8, 4095, 0xdead0000, UINT64_C(0x7fffffffe000), UINT64_C(0x800000000000),
		UINT64_C(0x8000000000000000), ~UINT64_C(0) - 7, ~UINT64_C(0)};
	const size_t lengths[] = {1, 8, 100};
	static const char constant[16] = {0};
	uint64_t word;
	GIVES(farside_read(peer, region, at((uintptr_t)constant), 8), FARSIDE_LOC_PROT_ERR);
	GIVES(farside_read(peer, region, at((uintptr_t)constant), 16), FARSIDE_LOC_PROT_ERR);
	for (size_t i = 0; i < sizeof wild / sizeof *wild; i++) {
		for (size_t j = 0; j < sizeof lengths / sizeof *lengths; j++) {
			GIVES(farside_read(peer, region, at(wild[i]), lengths[j]), FARSIDE_LOC_PROT_ERR);
			GIVES(farside_write(peer, region, at(wild[i]), lengths[j]), FARSIDE_LOC_PROT_ERR);
		}
		if (wild[i] != 0) {
			GIVES(farside_fetch_add64(peer, region, 1, (uint64_t *)at(wild[i])), FARSIDE_LOC_PROT_ERR);
			GIVES(farside_peer_open((const char *)at(wild[i]), &peer), FARSIDE_LOC_PROT_ERR);
			CHECK(peer == NULL);
			GIVES(farside_peer_open(fabric, &peer), FARSIDE_SUCCESS);
		}
		GIVES(farside_peer_open(NULL, (farside_peer **)at(wild[i])), FARSIDE_LOC_PROT_ERR);
		GIVES(farside_post(peer, (const struct farside_work *)at(wild[i]), 1), FARSIDE_LOC_PROT_ERR);
		GIVES(farside_poll(peer, (struct farside_completion *)at(wild[i]), 1, 0), -FARSIDE_LOC_PROT_ERR);
		GIVES(farside_poll(peer, (struct farside_completion *)at(wild[i]), SIZE_MAX, 0), -FARSIDE_LOC_PROT_ERR);
	}
	/* Lengths that no memory has. */
	const size_t huge[] = {(size_t)size + 1, (size_t)1 << 40, (size_t)1 << 62, SIZE_MAX - 1, SIZE_MAX};
	for (size_t i = 0; i < sizeof huge / sizeof *huge; i++) {
		CHECK(farside_read(peer, region, &word, huge[i]) != FARSIDE_SUCCESS);
		CHECK(farside_write(peer, region, &word, huge[i]) != FARSIDE_SUCCESS);
		CHECK(farside_read(peer, region, NULL, huge[i]) != FARSIDE_SUCCESS);
	}
	GIVES(farside_post(peer, NULL, SIZE_MAX), FARSIDE_LOC_QP_OP_ERR);
	GIVES(farside_post(peer, NULL, 0), FARSIDE_SUCCESS);
	GIVES(farside_poll(peer, NULL, 0, -1), 0);
}

static void stale_peers(void) {
	farside_peer *closed;
	GIVES(farside_peer_open("", &closed), FARSIDE_SUCCESS);
	farside_peer_close(closed);
	farside_peer_close(closed);
	farside_peer_close(NULL);
	farside_peer_close((farside_peer *)at(0xdead0000));
	farside_peer *const no_peers[] = {NULL, closed, (farside_peer *)at(1), (farside_peer *)at(~UINT64_C(0)),
		(farside_peer *)&closed};
	for (size_t i = 0; i < sizeof no_peers / sizeof *no_peers; i++) {
		farside_peer *p = no_peers[i];
		uint64_t word = 0;
		struct farside_work work;
		struct farside_completion completion;
		memset(&work, 0, sizeof work);
		GIVES(farside_read(p, region, &word, 8), FARSIDE_WR_FLUSH_ERR);
		GIVES(farside_write(p, region, &word, 8), FARSIDE_WR_FLUSH_ERR);
		GIVES(farside_fetch_add64(p, region, 1, &word), FARSIDE_WR_FLUSH_ERR);
		GIVES(farside_compare_swap64(p, region, 1, 1, &word), FARSIDE_WR_FLUSH_ERR);
		GIVES(farside_post(p, &work, 1), FARSIDE_WR_FLUSH_ERR);
		GIVES(farside_poll(p, &completion, 1, -1), -FARSIDE_WR_FLUSH_ERR);
		GIVES(farside_reset(p), FARSIDE_WR_FLUSH_ERR);
	}
	GIVES(farside_peer_open("no fabric", &closed), FARSIDE_GENERAL_ERR);
	CHECK(closed == NULL);
}

static void strings(void) {
	CHECK(strcmp(farside_status_string(FARSIDE_SUCCESS), "success") == 0);
	CHECK(strcmp(farside_status_string(-FARSIDE_LOC_PROT_ERR), farside_status_string(FARSIDE_LOC_PROT_ERR)) == 0);
	const int known[] = {1, 2, 4, 5, 7, 9, 10, 12, 19, 20, 21};
	for (size_t i = 0; i < sizeof known / sizeof *known; i++)
		CHECK(strcmp(farside_status_string(known[i]), "unknown status") != 0);
	CHECK(strcmp(farside_status_string(3), "unknown status") == 0);
	CHECK(strcmp(farside_status_string(2147483647), "unknown status") == 0);
	CHECK(strcmp(farside_status_string(-2147483647 - 1), "unknown status") == 0);
}

int main(int argc, char **argv) {
	CHECK(argc == 4 || argc == 5);
	fabric = argv[4]; /* NULL if it is missing */
	region = number(argv[1]), readonly = number(argv[2]), size = number(argv[3]);
	GIVES(farside_peer_open(fabric, &peer), FARSIDE_SUCCESS);
	CHECK(sizeof(struct farside_work) == 64 && sizeof(struct farside_completion) == 24);
	transfers();
	remote_errors();
	local_errors();
	stale_peers();
	strings();
	farside_peer_close(peer);
	return 0;
}
