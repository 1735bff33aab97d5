/* statuses ADDRESS N: writes 8 bytes of 0x11 to every 16 bytes of a region, N times, and posts N atomics to the word
 * behind them, and prints the status of each. */
#include "check.h"

int main(int argc, char **argv) {
	CHECK(argc == 3);
	uint64_t region = number(argv[1]), n = number(argv[2]);
	farside_peer *peer;
	GIVES(farside_peer_open(NULL, &peer), FARSIDE_SUCCESS);
	char out[8];
	memset(out, 0x11, sizeof out);
	for (uint64_t i = 0; i < n; i++)
		printf("write %d\n", farside_write(peer, region + 16 * i, out, sizeof out));
	for (uint64_t i = 0; i < n; i++) {
		uint64_t seen;
		struct farside_work work;
		memset(&work, 0, sizeof work);
		work.remote_address = region + 16 * n;
		work.local = &seen;
		work.length = sizeof seen;
		work.opcode = FARSIDE_FETCH_ADD;
		work.flags = FARSIDE_SIGNALLED;
		work.compare_add = 1;
		GIVES(farside_post(peer, &work, 1), FARSIDE_SUCCESS);
		struct farside_completion c;
		CHECK(farside_poll(peer, &c, 1, 60000) == 1);
		printf("atomic %d\n", c.status);
		if (c.status)
			GIVES(farside_reset(peer), FARSIDE_SUCCESS);
	}
	farside_peer_close(peer);
	return 0;
}
