package main

import (
	"os/exec"
	"testing"
)

// threads looks at what the library does to signal masks and alternate stacks.
const threads = `
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define CHECK(x) if (!(x)) { printf("line %d: " #x "\n", __LINE__); exit(1); }

static int32_t (*get_version)(uint32_t *);

static uint64_t blocked(const char *thread) {
	char path[64], line[256];
	uint64_t mask = 0;
	snprintf(path, sizeof path, "/proc/self/task/%s/status", thread);
	FILE *f = fopen(path, "r");
	CHECK(f);
	while (fgets(line, sizeof line, f))
		sscanf(line, "SigBlk: %lx", &mask);
	fclose(f);
	return mask;
}

static uint64_t own(void) {
	char thread[16];
	snprintf(thread, sizeof thread, "%ld", syscall(SYS_gettid));
	return blocked(thread);
}

#define BIT(s) (1ull << ((s) - 1))

/* A thread with all signals blocked keeps its mask, but for those that Go needs. */
static void *all(void *unused) {
	(void)unused;
	sigset_t set;
	sigfillset(&set);
	pthread_sigmask(SIG_SETMASK, &set, 0);
	uint64_t before = own();
	uint32_t version;
	CHECK(get_version(&version) == 0 && get_version((uint32_t *)8) == -13);
	uint64_t needed = BIT(SIGILL) | BIT(SIGTRAP) | BIT(SIGBUS) | BIT(SIGFPE) | BIT(SIGSEGV) | BIT(SIGSTKFLT) | 7ull << 31;
	CHECK(own() == (before & ~needed));
	stack_t stack;
	CHECK(sigaltstack(0, &stack) == 0 && !(stack.ss_flags & SS_DISABLE) && stack.ss_size >= 256 << 10);
	return 0;
}

/* A thread keeps its own alternate stack. */
static void *owner(void *unused) {
	(void)unused;
	static char memory[64 << 10];
	stack_t mine = {.ss_sp = memory, .ss_size = sizeof memory}, stack;
	CHECK(sigaltstack(&mine, 0) == 0);
	uint32_t version;
	CHECK(get_version(&version) == 0);
	CHECK(sigaltstack(0, &stack) == 0 && stack.ss_sp == memory && stack.ss_size == sizeof memory);
	return 0;
}

static void mappings(int *n) {
	FILE *f = fopen("/proc/self/maps", "r");
	CHECK(f);
	*n = 0;
	for (int c; (c = fgetc(f)) != EOF;)
		*n += c == '\n';
	fclose(f);
}

int main(int argc, char **argv) {
	uint64_t before = own();
	void *lib = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
	CHECK(lib);
	CHECK(own() == before);
	void *(*proc)(void *, const char *) = (void *(*)(void *, const char *))dlsym(lib, "vk_icdGetInstanceProcAddr");
	get_version = (int32_t (*)(uint32_t *))proc(0, "vkEnumerateInstanceVersion");
	CHECK(get_version && own() == before);
	uint32_t version;
	CHECK(get_version(&version) == 0 && own() == before);

	/* Every thread of the runtime has all signals blocked that it does not need. */
	int others = 0;
	DIR *d = opendir("/proc/self/task");
	for (struct dirent *e; (e = readdir(d));) {
		if (e->d_name[0] == '.' || atoi(e->d_name) == getpid())
			continue;
		uint64_t open = ~blocked(e->d_name) & ~(BIT(SIGKILL) | BIT(SIGSTOP));
		uint64_t needed = BIT(SIGILL) | BIT(SIGTRAP) | BIT(SIGBUS) | BIT(SIGFPE) | BIT(SIGSEGV) |
			BIT(SIGSTKFLT) | BIT(SIGURG) | 7ull << 31;
		if (open & ~needed) { printf("thread %s has %#lx open\n", e->d_name, open & ~needed); return 1; }
		others++;
	}
	closedir(d);
	CHECK(others > 0);

	pthread_t thread;
	CHECK(pthread_create(&thread, 0, owner, 0) == 0 && pthread_join(thread, 0) == 0);
	int first = 0, last = 0;
	for (int i = 0; i < 300; i++) {
		CHECK(pthread_create(&thread, 0, all, 0) == 0 && pthread_join(thread, 0) == 0);
		if (i == 100) mappings(&first);
	}
	/* The alternate stack of a thread that has ended serves the next one. */
	mappings(&last);
	CHECK(last < first + 50);
	return 0;
}
`

// bare takes the alternate stack from threads that have called the driver, and has them call it again while SIGURG
// arrives, with which Go interrupts threads.
const bare = `
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>

static int32_t (*get_version)(uint32_t *);
static int done;

static void *call(void *unused) {
	(void)unused;
	static char memory[64 << 10];
	stack_t mine = {.ss_sp = memory, .ss_size = sizeof memory}, none = {.ss_flags = SS_DISABLE};
	uint32_t version;
	int32_t r = sigaltstack(&mine, 0);
	for (int i = 0; i < 1000000; i++) {
		if (i == 10)
			r |= sigaltstack(&none, 0);
		r |= get_version(&version);
	}
	__atomic_store_n(&done, 1, __ATOMIC_SEQ_CST);
	return (void *)(intptr_t)r;
}

int main(int argc, char **argv) {
	void *lib = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL), *r;
	void *(*proc)(void *, const char *) = (void *(*)(void *, const char *))dlsym(lib, "vk_icdGetInstanceProcAddr");
	get_version = (int32_t (*)(uint32_t *))proc(0, "vkEnumerateInstanceVersion");
	pthread_t thread;
	pthread_create(&thread, 0, call, 0);
	while (!__atomic_load_n(&done, __ATOMIC_SEQ_CST))
		pthread_kill(thread, SIGURG);
	pthread_join(thread, &r);
	return r != 0;
}
`

// Go ended the process when it interrupted a thread whose alternate stack the application had taken away since its
// first call: "non-Go code disabled sigaltstack".
func TestAlternateStackTakenAway(t *testing.T) {
	exe := build(t, bare)
	if out, err := exec.Command(exe, library).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%.4000s", err, out)
	}
}

// TestThreads has the library leave the application's threads their masks and alternate stacks, and block signals in
// its own.
func TestThreads(t *testing.T) {
	exe := build(t, threads)
	if out, err := exec.Command(exe, library).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%.4000s", err, out)
	}
}

// ends has destructors of a thread's values run behind those of the Go runtime: they see the thread's own signal mask,
// and call the driver as any other code.
const ends = `
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define CHECK(x) if (!(x)) { printf("line %d: " #x "\n", __LINE__); exit(1); }

static int32_t (*get_version)(uint32_t *);
static pthread_key_t key;
static int rounds;

static void own_mask(void) {
	sigset_t set;
	CHECK(pthread_sigmask(SIG_SETMASK, 0, &set) == 0);
	for (int s = 1; s < 32; s++)
		if (sigismember(&set, s) != (s == SIGUSR2)) { printf("round %d: signal %d\n", rounds, s); exit(1); }
}

static void destroy(void *value) {
	uint32_t version;
	stack_t stack;
	own_mask();
	if (value == &rounds) {
		CHECK(get_version(&version) == 0 && get_version((uint32_t *)8) == -13);
		CHECK(sigaltstack(0, &stack) == 0 && !(stack.ss_flags & SS_DISABLE) && stack.ss_size >= 256 << 10);
		own_mask();
		pthread_setspecific(key, &key);
	}
	rounds++;
}

static void *use(void *unused) {
	(void)unused;
	sigset_t set;
	uint32_t version;
	sigemptyset(&set);
	sigaddset(&set, SIGUSR2);
	CHECK(pthread_sigmask(SIG_SETMASK, &set, 0) == 0);
	CHECK(get_version(&version) == 0);
	own_mask();
	CHECK(pthread_setspecific(key, &rounds) == 0);
	return 0;
}

int main(int argc, char **argv) {
	void *lib = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
	CHECK(lib);
	void *(*proc)(void *, const char *) = (void *(*)(void *, const char *))dlsym(lib, "vk_icdGetInstanceProcAddr");
	get_version = (int32_t (*)(uint32_t *))proc(0, "vkEnumerateInstanceVersion");
	uint32_t version;
	CHECK(get_version(&version) == 0 && pthread_key_create(&key, destroy) == 0);
	for (int i = 0; i < 50; i++) {
		pthread_t thread;
		rounds = 0;
		CHECK(pthread_create(&thread, 0, use, 0) == 0 && pthread_join(thread, 0) == 0 && rounds == 2);
	}
	return 0;
}
`

// Destructors that ran behind those of the Go runtime found all signals blocked.
func TestDestructors(t *testing.T) {
	exe := build(t, ends)
	if out, err := exec.Command(exe, library).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%.4000s", err, out)
	}
}

// urgent has a handler of SIGURG from before the library was loaded, and sends the signal to a thread that has called
// the driver and to one that has not.
const urgent = `
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define CHECK(x) if (!(x)) { printf("line %d: " #x "\n", __LINE__); exit(1); }

static int32_t (*get_version)(uint32_t *);
static volatile int called, wrong, done;

static void handler(int s, siginfo_t *info, void *context) {
	__atomic_add_fetch(&called, 1, __ATOMIC_SEQ_CST);
	if (s != SIGURG || info->si_code != SI_USER || !context) wrong = 1;
}

static void *call(void *unused) {
	(void)unused;
	uint32_t version;
	while (!done) CHECK(get_version(&version) == 0);
	return 0;
}

int main(int argc, char **argv) {
	struct sigaction action = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO | SA_RESTART};
	CHECK(sigaction(SIGURG, &action, 0) == 0);
	void *lib = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
	CHECK(lib);
	void *(*proc)(void *, const char *) = (void *(*)(void *, const char *))dlsym(lib, "vk_icdGetInstanceProcAddr");
	get_version = (int32_t (*)(uint32_t *))proc(0, "vkEnumerateInstanceVersion");
	uint32_t version;
	for (int enrolled = 0; enrolled < 2; enrolled++) {
		for (int i = 0; i < 100; i++) {
			int before = called;
			CHECK(kill(getpid(), SIGURG) == 0);
			for (int n = 0; called == before && n < 5000; n++) usleep(1000);
			if (called != before + 1) { printf("enrolled %d, signal %d: %d calls\n", enrolled, i, called - before); return 1; }
		}
		CHECK(get_version(&version) == 0);
	}
	/* In the middle of calls, too. */
	sigset_t set;
	pthread_t thread;
	CHECK(pthread_create(&thread, 0, call, 0) == 0);
	sigemptyset(&set);
	sigaddset(&set, SIGURG);
	CHECK(pthread_sigmask(SIG_BLOCK, &set, 0) == 0);
	for (int i = 0; i < 200; i++) {
		int before = called;
		CHECK(kill(getpid(), SIGURG) == 0);
		for (int n = 0; called == before && n < 5000; n++) usleep(1000);
		CHECK(called > before);
	}
	done = 1;
	CHECK(pthread_join(thread, 0) == 0 && !wrong);
	return 0;
}
`

// Go's handler of SIGURG kept the signals of the application to itself.
func TestUrgent(t *testing.T) {
	exe := build(t, urgent)
	if out, err := exec.Command(exe, library).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%.4000s", err, out)
	}
}
