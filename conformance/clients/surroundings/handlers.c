/* Signal handlers without SA_ONSTACK that call the library, and one that ends the process, while threads make every
 * kind of call:
 * handlers SHADER PEERS SECONDS (a minute more, until each kind of call has been refused)
 * A call in a handler that has interrupted a thread in the driver or in the peers' library fails, whichever of the two
 * it calls; one in a handler that has interrupted a thread elsewhere works. Both must have happened. No call of the
 * threads fails. Each thread makes its first calls before, since these take memory from malloc, which a handler may
 * have interrupted (docs/surroundings.md).
 * At the end, SIGTERM interrupts a thread. Its handler calls exit(3), and the library is called from atexit(3)'s
 * handler. Ends with 0. */
#include "cycle.h"
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <time.h>

enum { THREADS = 3 };

static atomic_long good, refused, peers_good, peers_refused, cycles;
static atomic_int ready, stop[THREADS];

static void call(void) {
	VkImageFormatProperties properties;
	VkResult r = vkGetPhysicalDeviceImageFormatProperties(physical, VK_FORMAT_R8G8B8A8_UNORM, VK_IMAGE_TYPE_2D,
							      VK_IMAGE_TILING_LINEAR, VK_IMAGE_USAGE_TRANSFER_SRC_BIT, 0, &properties);
	CHECK(r == VK_SUCCESS || r == VK_ERROR_UNKNOWN);
	atomic_fetch_add(r == VK_SUCCESS ? &good : &refused, 1);
	farside_peer *peer = NULL;
	int status = peer_open(NULL, &peer);
	CHECK(status == (r == VK_SUCCESS ? FARSIDE_SUCCESS : FARSIDE_FATAL_ERR));
	atomic_fetch_add(status == FARSIDE_SUCCESS ? &peers_good : &peers_refused, 1);
	if (status == FARSIDE_SUCCESS)
		peer_close(peer);
}

static void handler(int signal) {
	(void)signal;
	int before = errno;
	call();
	errno = before;
}

static void leave(int signal) {
	(void)signal;
	exit(0);
}

static void *run(void *number) {
	call();
	atomic_fetch_add(&ready, 1);
	struct lane l;
	CHECK(open_lane(&l) == VK_SUCCESS);
	for (; !atomic_load(&stop[(intptr_t)number]); atomic_fetch_add(&cycles, 1))
		CHECK(cycle(&l) == VK_SUCCESS);
	close_lane(&l);
	return NULL;
}

int main(int argc, char **argv) {
	CHECK(argc == 4);
	setvbuf(stdout, NULL, _IOLBF, 0);
	load_shader(argv[1]);
	load_peers(argv[2]);
	CHECK(open_instance() == VK_SUCCESS);
	struct sigaction calls = {.sa_handler = handler, .sa_flags = SA_RESTART}, ends = {.sa_handler = leave};
	CHECK(sigaction(SIGUSR1, &calls, NULL) == 0 && sigaction(SIGTERM, &ends, NULL) == 0);
	CHECK(atexit(call) == 0);
	pthread_t threads[THREADS];
	for (intptr_t i = 0; i < THREADS; i++)
		CHECK(pthread_create(&threads[i], NULL, run, (void *)i) == 0);
	struct timespec pause_ = {0, 500000};
	while (atomic_load(&ready) < THREADS)
		nanosleep(&pause_, NULL);
	CHECK(atomic_exchange(&good, 0) == THREADS && atomic_exchange(&peers_good, 0) == THREADS);
	time_t end = time(NULL) + atoi(argv[3]);
	for (int i = 0; time(NULL) < end ||
			(time(NULL) < end + 60 && (!atomic_load(&refused) || !atomic_load(&peers_refused) ||
						   !atomic_load(&cycles)));
	     i = (i + 1) % THREADS) {
		nanosleep(&pause_, NULL);
		CHECK(pthread_kill(threads[i], SIGUSR1) == 0);
	}
	for (int i = 1; i < THREADS; i++) {
		atomic_store(&stop[i], 1);
		CHECK(pthread_join(threads[i], NULL) == 0);
	}
	printf("%ld cycles; in handlers, %ld calls of the driver worked and %ld were refused, of peers %ld and %ld\n",
	       atomic_load(&cycles), atomic_load(&good), atomic_load(&refused), atomic_load(&peers_good),
	       atomic_load(&peers_refused));
	CHECK(atomic_load(&cycles) > 0 && atomic_load(&good) > 0 && atomic_load(&refused) > 0);
	CHECK(atomic_load(&peers_good) > 0 && atomic_load(&peers_refused) > 0);
	CHECK(pthread_kill(threads[0], SIGTERM) == 0);
	for (;;)
		pause();
}
