/* Every kind of call in a process with hostile descriptors: descriptors SHADER PEERS HOW REPORT
 *   closed     0 to 2 are closed from the start; the driver uses none of them
 *   broken     2 is a pipe that nobody reads, and SIGPIPE has its default action, set after loading
 *   full       2 is a pipe that is full and that nobody empties
 *   reused     2 becomes a file of ours while the driver is in use; nothing is written to it
 *   none0      all descriptors are in use when the instance is made; none1: the device; none2: afterwards
 * Each makes an error that the driver reports. Ends with 0 if all calls succeeded, or, without descriptors, if they
 * succeeded or failed with an error. */
#include "cycle.h"
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <time.h>

/* An error that is printed. */
static void complain(struct lane *l) {
	VkDeviceMemory memory;
	loud = 0;
	CHECK(allocate(l, 0, visible, NULL, &memory) != VK_SUCCESS);
	CHECK(peer_open("no such fabric \1", &l->peer) != FARSIDE_SUCCESS);
	l->peer = NULL;
	loud = 1;
}

static int kept[1 << 16], n_kept;

/* Takes all descriptors, or gives them back. */
static void take(void) {
	for (int fd; n_kept < 1 << 16 && (fd = open("/dev/null", O_RDWR | O_CLOEXEC)) >= 0;)
		kept[n_kept++] = fd;
	CHECK(n_kept > 0 && n_kept < 1 << 16);
}

static void give(void) {
	while (n_kept > 0)
		close(kept[--n_kept]);
}

/* Everything, without descriptors from a step on. Every call gives an answer. */
static void none(int step) {
	struct lane l = {0};
	loud = 0;
	if (step == 0) {
		take();
		VkResult r = open_instance();
		CHECK(r == VK_SUCCESS || r < 0);
		if (r < 0) {
			give();
			CHECK(open_instance() == VK_SUCCESS);
			take();
		}
	} else {
		CHECK(open_instance() == VK_SUCCESS);
	}
	if (step == 1)
		take();
	VkResult r = open_lane(&l);
	CHECK(r == VK_SUCCESS || r < 0);
	if (r < 0) {
		close_lane(&l);
		give();
		CHECK(open_lane(&l) == VK_SUCCESS);
	}
	give();
	CHECK(cycle(&l) == VK_SUCCESS);
	/* In turn with some descriptors left, so that every call is the one that fails. */
	for (int left = 0; left < 24; left++) {
		take();
		for (int i = 0; i < left; i++)
			close(kept[--n_kept]);
		for (int i = 0; i < 10; i++) {
			r = cycle(&l);
			CHECK(r == VK_SUCCESS || r < 0);
		}
		struct lane other;
		r = open_lane(&other);
		CHECK(r == VK_SUCCESS || r < 0);
		close_lane(&other);
		give();
	}
	/* The driver is as it was. */
	loud = 1;
	for (int i = 0; i < 20; i++)
		CHECK(cycle(&l) == VK_SUCCESS);
	close_lane(&l);
	vkDestroyInstance(instance, NULL);
}

/* Descriptors 0 to 2 are still closed. */
static void closed(void) {
	for (int fd = 0; fd < 3; fd++) {
		if (fcntl(fd, F_GETFD) < 0)
			continue;
		char path[32], file[256] = {0};
		snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
		CHECK(readlink(path, file, sizeof file - 1) > 0);
		/* Go's runtime opens this for reading, before any code of ours runs. */
		if (!strncmp(file, "/sys/fs/cgroup/", 15) && (fcntl(fd, F_GETFL) & O_ACCMODE) == O_RDONLY)
			continue;
		dprintf(400, "descriptor %d is %s\n", fd, file);
		exit(1);
	}
}

int main(int argc, char **argv) {
	CHECK(argc == 5);
	const char *how = argv[3];
	load_shader(argv[1]);
	int report = open(argv[4], O_WRONLY | O_CREAT | O_CLOEXEC, 0600); /* standard output may be closed */
	CHECK(report >= 0 && dup2(report, 400) == 400);
	close(report);
	struct rlimit limit = {512, 512};
	if (!strncmp(how, "none", 4)) {
		CHECK(setrlimit(RLIMIT_NOFILE, &limit) == 0);
		load_peers(argv[2]);
		none(how[4] - '0');
		return 0;
	}
	if (!strcmp(how, "closed"))
		close(0), close(1), close(2), halfway = closed;
	load_peers(argv[2]);
	int ends[2];
	if (!strcmp(how, "broken") || !strcmp(how, "full")) {
		CHECK(pipe(ends) == 0 && dup2(ends[1], 2) == 2);
		close(ends[1]);
		if (!strcmp(how, "broken")) {
			close(ends[0]);
		} else {
			CHECK(fcntl(2, F_SETFL, O_NONBLOCK) == 0);
			char page[4096] = {0};
			while (write(2, page, sizeof page) > 0)
				;
			CHECK(fcntl(2, F_SETFL, 0) == 0);
		}
	}
	struct lane l;
	CHECK(open_instance() == VK_SUCCESS);
	CHECK(open_lane(&l) == VK_SUCCESS);
	signal(SIGPIPE, SIG_DFL);
	int data = -1;
	if (!strcmp(how, "reused")) {
		close(2);
		char name[] = "/tmp/farside-reused-XXXXXX";
		data = mkstemp(name);
		CHECK(data == 2 && unlink(name) == 0);
	}
	time_t begin = time(NULL);
	farside_peer *peer = l.peer;
	for (int i = 0; i < 40; i++) {
		complain(&l);
		l.peer = peer;
		CHECK(cycle(&l) == VK_SUCCESS);
	}
	CHECK(time(NULL) - begin < 60);
	if (data >= 0)
		CHECK(lseek(data, 0, SEEK_END) == 0);
	close_lane(&l);
	vkDestroyInstance(instance, NULL);
	return 0;
}
