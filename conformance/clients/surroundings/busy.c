/* fork without exec in a process whose threads are in the driver and in the library of peers:
 * busy SHADER PEERS SYMBOLS
 * SYMBOLS is the driver, whose symbols for the loader are called in the child. */
#include "cycle.h"
#include <pthread.h>
#include <stdatomic.h>
#include <sys/wait.h>

enum { THREADS = 4, FORKS = 200 };
static atomic_int stop;

static void *run(void *unused) {
	(void)unused;
	struct lane l;
	CHECK(open_lane(&l) == VK_SUCCESS);
	while (!atomic_load(&stop))
		CHECK(cycle(&l) == VK_SUCCESS);
	close_lane(&l);
	return NULL;
}

int main(int argc, char **argv) {
	CHECK(argc == 4);
	load_shader(argv[1]);
	load_peers(argv[2]);
	CHECK(open_instance() == VK_SUCCESS);
	void *library = dlopen(argv[3], RTLD_NOW | RTLD_LOCAL);
	CHECK(library);
	typedef void *(*address)(void *, const char *);
	int32_t (*negotiate)(uint32_t *) = (int32_t(*)(uint32_t *))dlsym(library, "vk_icdNegotiateLoaderICDInterfaceVersion");
	address of_instance = (address)dlsym(library, "vk_icdGetInstanceProcAddr");
	address of_device = (address)dlsym(library, "vk_icdGetPhysicalDeviceProcAddr");
	CHECK(negotiate && of_instance && of_device && of_instance(NULL, "vkCreateInstance"));
	pthread_t threads[THREADS];
	for (int i = 0; i < THREADS; i++)
		CHECK(pthread_create(&threads[i], NULL, run, NULL) == 0);
	for (int i = 0; i < FORKS; i++) {
		pid_t child = fork();
		CHECK(child >= 0);
		if (child == 0) {
			alarm(60);
			uint32_t version = 7;
			farside_peer *peer;
			int answer = 0;
			if (negotiate(&version) != -13)
				answer |= 1;
			if (of_instance(NULL, "vkCreateInstance") || of_device(NULL, "vkGetPhysicalDeviceProperties"))
				answer |= 2;
			if (peer_open("", &peer) != FARSIDE_FATAL_ERR)
				answer |= 4;
			_exit(answer);
		}
		int status = -1;
		CHECK(waitpid(child, &status, 0) == child);
		if (status != 0) {
			printf("child %d ended with wait status %#x; bits 8 to 10 are wrong answers, 14 is a hang\n", i, status);
			return 1;
		}
	}
	atomic_store(&stop, 1);
	for (int i = 0; i < THREADS; i++)
		CHECK(pthread_join(threads[i], NULL) == 0);
	vkDestroyInstance(instance, NULL);
	return 0;
}
