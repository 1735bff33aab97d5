/* Signal handlers that use much of their stack and run often, while threads make every kind of call:
 * signals SHADER PEERS before|after stack|plain KIB HZ SECONDS
 * The handlers are installed before or after vkCreateInstance, with SA_ONSTACK (stack) or without (plain), and use KIB
 * KiB. They answer timers of HZ (ITIMER_REAL and ITIMER_PROF) and a thread that sends signals to the process and to
 * each of its threads. Ends with 0 and how often each ran if no call failed, no byte was wrong, and each ran. */
#include "cycle.h"
#include <dirent.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>

enum { THREADS = 3 };

static int kib, flags, hz, seconds;
static const int signals[] = {SIGALRM, SIGPROF, SIGCHLD, SIGUSR1, 37 /* a real-time one */};
enum { SIGNALS = sizeof signals / sizeof *signals };
static atomic_long runs[SIGNALS], cycles;
static atomic_int stop;

/* Uses kib KiB, and looks whether they stay. */
static __attribute__((noinline)) void use(int seed) {
	volatile uint64_t words[kib * 128 + 1];
	for (int i = 0; i < kib * 128; i += 8)
		words[i] = (uint64_t)(uintptr_t)words + (uint64_t)(seed + i);
	for (int i = 0; i < kib * 128; i += 8) {
		if (words[i] != (uint64_t)(uintptr_t)words + (uint64_t)(seed + i)) {
			static const char text[] = "a handler's stack was overwritten\n";
			(void)!write(1, text, sizeof text - 1);
			_exit(1);
		}
	}
}

static void handler(int signal) {
	if (kib)
		use(signal);
	for (int i = 0; i < SIGNALS; i++)
		if (signals[i] == signal)
			atomic_fetch_add_explicit(&runs[i], 1, memory_order_relaxed);
}

static void install(void) {
	for (int i = 0; i < SIGNALS; i++) {
		struct sigaction action = {.sa_handler = handler, .sa_flags = flags | SA_RESTART};
		CHECK(sigaction(signals[i], &action, NULL) == 0);
	}
}

/* Sends signals to the process and to its threads, the driver's among them, in turn. */
static void *pest(void *unused) {
	(void)unused;
	struct timespec pause = {0, 1000000000 / hz};
	pid_t self = getpid(), own = (pid_t)syscall(SYS_gettid), threads[256];
	int n = 0;
	for (long i = 0; !atomic_load(&stop); i++) {
		nanosleep(&pause, NULL);
		if (i % 256 == 0) {
			n = 0;
			DIR *d = opendir("/proc/self/task");
			CHECK(d);
			for (struct dirent *e; n < 256 && (e = readdir(d));)
				if (e->d_name[0] != '.' && atoi(e->d_name) != own)
					threads[n++] = atoi(e->d_name);
			closedir(d);
		}
		/* The C library sends signal 33 to all threads. */
		if (i % 64 == 0)
			CHECK(setgid(getgid()) == 0);
		kill(self, signals[2 + i % (SIGNALS - 2)]);
		for (int k = 0; k < 4; k++)
			syscall(SYS_tgkill, self, threads[(i * 4 + k) % n], signals[(i + k) % SIGNALS]);
	}
	return NULL;
}

static void *run(void *unused) {
	(void)unused;
	/* A new thread's first calls are as safe as its later ones. */
	while (!atomic_load(&stop)) {
		struct lane l;
		CHECK(open_lane(&l) == VK_SUCCESS);
		for (int i = 0; i < 50 && !atomic_load(&stop); i++, atomic_fetch_add(&cycles, 1))
			CHECK(cycle(&l) == VK_SUCCESS);
		close_lane(&l);
	}
	return NULL;
}

/* Threads that live for one call. */
static void *once(void *unused) {
	(void)unused;
	VkPhysicalDeviceProperties properties;
	vkGetPhysicalDeviceProperties(physical, &properties);
	CHECK(properties.apiVersion >= VK_API_VERSION_1_2);
	return NULL;
}

int main(int argc, char **argv) {
	CHECK(argc == 8);
	setvbuf(stdout, NULL, _IOLBF, 0);
	load_shader(argv[1]);
	load_peers(argv[2]);
	int before = !strcmp(argv[3], "before");
	flags = !strcmp(argv[4], "stack") ? SA_ONSTACK : 0;
	kib = atoi(argv[5]), hz = atoi(argv[6]), seconds = atoi(argv[7]);
	if (before)
		install();
	CHECK(open_instance() == VK_SUCCESS);
	if (!before)
		install();
	struct itimerval timer = {{0, 1000000 / hz}, {0, 1000000 / hz}};
	CHECK(setitimer(ITIMER_REAL, &timer, NULL) == 0 && setitimer(ITIMER_PROF, &timer, NULL) == 0);
	pthread_t threads[THREADS], sender;
	CHECK(pthread_create(&sender, NULL, pest, NULL) == 0);
	for (int i = 0; i < THREADS; i++)
		CHECK(pthread_create(&threads[i], NULL, run, NULL) == 0);
	for (time_t end = time(NULL) + seconds; time(NULL) < end;) {
		pthread_t thread;
		CHECK(pthread_create(&thread, NULL, once, NULL) == 0);
		CHECK(pthread_join(thread, NULL) == 0);
	}
	atomic_store(&stop, 1);
	for (int i = 0; i < THREADS; i++)
		CHECK(pthread_join(threads[i], NULL) == 0);
	CHECK(pthread_join(sender, NULL) == 0);
	vkDestroyInstance(instance, NULL);
	printf("cycles %ld\n", atomic_load(&cycles));
	CHECK(atomic_load(&cycles) > 0);
	for (int i = 0; i < SIGNALS; i++) {
		printf("signal %d ran %ld times\n", signals[i], atomic_load(&runs[i]));
		CHECK(atomic_load(&runs[i]) > 0);
	}
	return 0;
}
