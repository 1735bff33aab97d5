// A node: a server of links and two threads that make links. The supervisor tells of other nodes by lines on standard
// input: "peer SLOT PID ADDRESS PORT", "gone PID", "quiet". The node says "socket INODE", "ready PORT", "lost PID HOW",
// "tally OPERATIONS COMPARED LINKS LOST" and "quiet". It ends with its input.
#include "node.h"
#include <arpa/inet.h>

struct ibv_context *context;
struct ibv_pd *pd;
_Atomic unsigned long operations, compared, made, lost;
atomic_bool quiet;
bool with_device, apart;
uint32_t address;

enum { SLOTS = 64, CLIENTS = 2, REMEMBERED = 1 << 14 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; // of what follows
static struct {
	uint32_t pid;
	struct sockaddr_in at;
} peers[SLOTS];
static uint32_t gone[REMEMBERED];
static unsigned deaths;

void fail(const char *format, ...) {
	va_list list;
	va_start(list, format);
	vfprintf(stderr, format, list);
	va_end(list);
	fputc('\n', stderr);
	_exit(1);
}

double seconds(void) {
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec * 1e-9;
}

void missed_event(double begin) {
	if (seconds() - begin < EVENT_TIME + 0.02)
		fail("a completion had no event for %d s", EVENT_TIME);
}

bool is_gone(uint32_t pid) {
	bool found = false;
	pthread_mutex_lock(&lock);
	for (unsigned i = deaths > REMEMBERED ? deaths - REMEMBERED : 0; i < deaths && !found; i++)
		found = gone[i % REMEMBERED] == pid;
	pthread_mutex_unlock(&lock);
	return found;
}

bool peer_random(uint64_t *random, uint32_t *pid, struct sockaddr_in *at) {
	pthread_mutex_lock(&lock);
	unsigned first = mix(random) % SLOTS, i = 0;
	while (i < SLOTS && !peers[(first + i) % SLOTS].pid)
		i++;
	*pid = peers[(first + i) % SLOTS].pid;
	*at = peers[(first + i) % SLOTS].at;
	pthread_mutex_unlock(&lock);
	return *pid != 0;
}

void peer_lost(uint32_t pid, const char *how) {
	lost++;
	printf("lost %u %s\n", pid, how);
	pthread_mutex_lock(&lock);
	for (int i = 0; i < SLOTS; i++)
		if (peers[i].pid == pid)
			peers[i].pid = 0;
	pthread_mutex_unlock(&lock);
}

static struct sockaddr_in address_of(uint32_t host, uint16_t port) {
	return (struct sockaddr_in){.sin_family = AF_INET, .sin_port = port, .sin_addr.s_addr = host};
}

static void hear(char *line) {
	unsigned slot, pid, port;
	char where[INET_ADDRSTRLEN];
	pthread_mutex_lock(&lock);
	if (sscanf(line, "peer %u %u %15s %u", &slot, &pid, where, &port) == 4 && slot < SLOTS) {
		peers[slot].pid = pid;
		peers[slot].at = address_of(inet_addr(where), port);
	} else if (sscanf(line, "gone %u", &pid) == 1) {
		gone[deaths++ % REMEMBERED] = pid;
		for (int i = 0; i < SLOTS; i++)
			if (peers[i].pid == pid)
				peers[i].pid = 0;
	} else if (strncmp(line, "quiet", 5) == 0) {
		quiet = true;
	}
	pthread_mutex_unlock(&lock);
}

// say_sockets tells which of the sockets with abstract names are this process', so that they can be looked for later.
static void say_sockets(void) {
	FILE *list = fopen("/proc/net/unix", "re");
	need(list);
	char line[512];
	while (fgets(line, sizeof line, list)) {
		unsigned long inode, other;
		if (!strstr(line, "@farside") || sscanf(line, "%*s %*s %*s %*s %*s %*s %lu", &inode) != 1)
			continue;
		for (int fd = 3; fd < 256; fd++) {
			char path[64], to[64] = "";
			snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
			if (readlink(path, to, sizeof to - 1) > 0 && sscanf(to, "socket:[%lu]", &other) == 1 && other == inode)
				printf("socket %lu\n", inode);
		}
	}
	fclose(list);
}

static void *tell(void *unused) {
	for (;;) {
		printf("tally %lu %lu %lu %lu\n", operations, compared, made, lost);
		usleep(200000);
	}
	return unused;
}

static void *client_main(void *seed) {
	client_run((uintptr_t)seed, INT32_MAX);
	return NULL;
}

static void open_context(void) {
	int n;
	struct ibv_context **list = rdma_get_devices(&n);
	need(list && n > 0);
	context = list[0];
	rdma_free_devices(list);
	need((pd = ibv_alloc_pd(context)));
}

int main(int argc, char **argv) {
	// A seed, whether it uses a device, and the node's address if the nodes are on several hosts.
	need(argc == 3 || argc == 4);
	apart = argc == 4;
	address = inet_addr(apart ? argv[3] : "127.0.0.1");
	setvbuf(stdout, NULL, _IOLBF, 0);
	uint64_t seed = strtoull(argv[1], NULL, 10);
	if ((with_device = atoi(argv[2])))
		device_open();
	open_context();
	uint16_t port = server_open();
	pthread_t server, teller, clients[CLIENTS];
	need(pthread_create(&server, NULL, server_main, NULL) == 0);
	peers[0].pid = getpid();
	peers[0].at = address_of(address, port);
	client_run(mix(&seed), 6); // with itself, so that what a process has once is there
	peers[0].pid = 0;
	say_sockets();
	printf("ready %u\n", port);
	need(pthread_create(&teller, NULL, tell, NULL) == 0);
	for (int i = 0; i < CLIENTS; i++)
		need(pthread_create(&clients[i], NULL, client_main, (void *)(uintptr_t)mix(&seed)) == 0);
	char line[128];
	while (!quiet && fgets(line, sizeof line, stdin))
		hear(line);
	for (int i = 0; i < CLIENTS; i++)
		pthread_join(clients[i], NULL);
	puts("quiet");
	while (fgets(line, sizeof line, stdin))
		hear(line);
	server_close();
	pthread_join(server, NULL);
	need(ibv_dealloc_pd(pd) == 0);
	if (with_device)
		device_close();
	return 0;
}
