/* fork without exec after a library is loaded, before its Go runtime has started: early LIBRARY SYMBOL
 * SYMBOL takes two pointers, and doesn't return 0 in a forked process. The threads of the process start late. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

struct start {
	void *(*function)(void *);
	void *arg;
};

static void *late(void *arg) {
	struct start s = *(struct start *)arg;
	free(arg);
	usleep(500 * 1000);
	return s.function(s.arg);
}

int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*function)(void *), void *arg) {
	__typeof__(&pthread_create) real = (__typeof__(&pthread_create))dlsym(RTLD_NEXT, "pthread_create");
	struct start *s = malloc(sizeof *s);
	*s = (struct start){function, arg};
	return real(thread, attributes, late, s);
}

int main(int argc, char **argv) {
	void *library = argc == 3 ? dlopen(argv[1], RTLD_NOW | RTLD_LOCAL) : NULL;
	int32_t (*function)(const void *, void *) = library ? (int32_t(*)(const void *, void *))dlsym(library, argv[2]) : NULL;
	if (!function) {
		printf("%s\n", dlerror());
		return 1;
	}
	pid_t child = fork();
	if (child == 0) {
		uint64_t in = 7, out = 0;
		_exit(function(&in, &out) != 0 ? 0 : 1);
	}
	int status = -1;
	for (int i = 0; i < 100 && waitpid(child, &status, WNOHANG) == 0; i++)
		usleep(100 * 1000);
	if (status != 0) {
		kill(child, SIGKILL);
		printf("the child ended with wait status %#x; -1 is a hang\n", (unsigned)status);
		return 1;
	}
	return 0;
}
