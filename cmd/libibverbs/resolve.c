// Finds the engine for the stubs of libibverbs and librdmacm: at the first call, never when the library is loaded, so
// that a process which only links with it has no thread of Go's. The engine is the driver, libvulkan_farside.so: the
// one that the process has loaded already, or else the one near this file.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <libgen.h>
#include <limits.h>
#include <link.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ENGINE "libvulkan_farside.so"

// Of the generated stubs.
extern const char *const farside_names[] __attribute__((visibility("hidden")));
extern void *farside_slots[] __attribute__((visibility("hidden")));
extern const size_t farside_slots_number __attribute__((visibility("hidden")));
extern const unsigned char farside_answers[] __attribute__((visibility("hidden")));

// What the engine exports: it puts the address of each name into its slot, and returns how many it put there, or a
// negative number.
typedef int fill_function(const char *const *names, void **slots, size_t n);

static void *answer_null(void) { errno = ENODEV; return NULL; }
static long answer_errno(void) { errno = ENODEV; return ENODEV; }
static long answer_minus(void) { errno = ENODEV; return -1; }
static long answer_negative(void) { return -ENODEV; }
static long answer_nothing(void) { return 0; }

static void *const answers[] = {answer_null, answer_errno, answer_minus, answer_negative, answer_nothing};

static void say(const char *what, const char *why) {
	char line[2 * PATH_MAX];
	int n = snprintf(line, sizeof line, "farside: libibverbs: %s: %s\n", what, why);
	if (n > 0 && write(2, line, (size_t)n < sizeof line ? (size_t)n : sizeof line) < 0)
		return; // nobody is to be told then
}

static int is_engine(struct dl_phdr_info *info, size_t size, void *path) {
	(void)size;
	const char *base = strrchr(info->dlpi_name, '/');
	if (base == NULL || strcmp(base + 1, ENGINE) != 0)
		return 0;
	snprintf(path, PATH_MAX, "%s", info->dlpi_name);
	return 1;
}

// beside opens the engine in the directory of this file, or in one of the two above it.
static void *beside(void) {
	char self[PATH_MAX], path[PATH_MAX + sizeof ENGINE + 1];
	Dl_info info;
	if (dladdr(farside_slots, &info) == 0 || realpath(info.dli_fname, self) == NULL) {
		say(ENGINE, "its place is not known");
		return NULL;
	}
	char *dir = self;
	for (int up = 0; up < 3; up++) {
		dir = dirname(dir);
		snprintf(path, sizeof path, "%s/" ENGINE, dir);
		if (access(path, R_OK) == 0) {
			void *engine = dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
			if (engine == NULL)
				say(path, dlerror());
			return engine;
		}
	}
	say(ENGINE, "it is not near this library");
	return NULL;
}

// fill puts what the engine has into slots.
static void fill(void **slots) {
	char path[PATH_MAX];
	void *engine = NULL;
	if (dl_iterate_phdr(is_engine, path))
		engine = dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE | RTLD_NOLOAD);
	if (engine == NULL)
		engine = beside();
	if (engine == NULL)
		return;
	fill_function *f = (fill_function *)dlsym(engine, "farside_verbs");
	if (f == NULL) {
		say(ENGINE, dlerror());
		return;
	}
	f(farside_names, slots, farside_slots_number);
}

// A function that takes events. The engine doesn't wait: it answers 0 or -1, as the function does, or which descriptor
// is to be read for it, plus 2, or 1 for one that nobody rings any more. taken says that it has been read, and that
// what the function does beside has been done.
typedef int take_function(void *from, void *to, void *more, int taken);

// wait_for_event waits here and not in the engine, as programs cancel threads that wait: read(2) of the C library is a
// cancellation point. SA_RESTART covers it, as in rdma-core.
static int wait_for_event(take_function *take, void *from, void *to, void *more) {
	int result;
	for (int taken = 0; (result = take(from, to, more, taken)) > 0; taken = 1) {
		while (result == 1)
			pause();
		uint64_t count;
		ssize_t n = read(result - 2, &count, sizeof count);
		if (n != sizeof count) {
			if (n >= 0)
				errno = EBADF; // it is another file by now
			return -1;
		}
	}
	return result;
}

// Those that wait. The calls of an rdma_cm_id wait only where it has no channel of the application's.
#define WAITS(X) \
	X(ibv_get_cq_event) X(ibv_get_async_event) X(rdma_get_cm_event) X(rdma_get_request) X(rdma_connect) \
	X(rdma_accept) X(rdma_disconnect)

#define WAIT(name) \
	static take_function *take_##name; \
	static int wait_##name(void *from, void *to, void *more) { return wait_for_event(take_##name, from, to, more); }
WAITS(WAIT)

static const struct {
	const char *name;
	take_function **take;
	void *function;
} waits[] = {
#define ROW(name) {#name, &take_##name, wait_##name},
	WAITS(ROW)
};

// put stores the address of a function of the engine for its stub, or that of the one here that calls it.
static void put(size_t i, void *address) {
	for (size_t w = 0; w < sizeof waits / sizeof *waits; w++)
		if (strcmp(farside_names[i], waits[w].name) == 0) {
			*waits[w].take = (take_function *)address;
			address = waits[w].function;
		}
	__atomic_store_n(&farside_slots[i], address, __ATOMIC_RELEASE);
}

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int done;

// farside_resolve fills all slots, at the latest with functions that fail. It keeps errno.
__attribute__((visibility("hidden"))) void farside_resolve(void) {
	int before = errno;
	pthread_mutex_lock(&lock);
	if (!done) {
		void *found[farside_slots_number]; // some 200
		memset(found, 0, sizeof found);
		fill(found);
		for (size_t i = 0; i < farside_slots_number; i++)
			put(i, found[i] != NULL ? found[i] : answers[farside_answers[i]]);
		done = 1;
	}
	pthread_mutex_unlock(&lock);
	errno = before;
}
