/* Reads at ADDRESS until that fails, and says with what status: follow ADDRESS. */
#include "check.h"

int main(int argc, char **argv) {
	CHECK(argc == 2);
	farside_peer *peer;
	uint64_t word;
	int status;
	GIVES(farside_peer_open(NULL, &peer), FARSIDE_SUCCESS);
	GIVES(farside_read(peer, number(argv[1]), &word, 8), FARSIDE_SUCCESS);
	puts("reading");
	fflush(stdout);
	while ((status = farside_read(peer, number(argv[1]), &word, 8)) == FARSIDE_SUCCESS)
		;
	printf("%d\n", status);
	farside_peer_close(peer);
	return 0;
}
