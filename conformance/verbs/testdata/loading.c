// Prints how many threads the process has when it has loaded the libraries and when it has used them, and what forked
// children see.
#include <errno.h>
#include <infiniband/verbs.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static int threads(void) {
	char line[256];
	int n = 0;
	FILE *f = fopen("/proc/self/status", "r");
	while (f && fgets(line, sizeof line, f))
		sscanf(line, "Threads: %d", &n);
	if (f)
		fclose(f);
	return n;
}

static int ended(pid_t child) {
	int status;
	return waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

int main(void) {
	ibv_fork_init();
	printf("loaded: %d thread%s\n", threads(), threads() == 1 ? "" : "s");
	fflush(stdout);
	pid_t child = fork();
	if (child == 0) {
		printf("early child: %s\n", ibv_event_type_str(IBV_EVENT_PORT_ERR));
		return 0;
	}
	if (!ended(child))
		return 1;
	if (strcmp(ibv_event_type_str(IBV_EVENT_PORT_ERR), "port error") != 0)
		return 2;
	printf("used: %s\n", threads() > 1 ? "more threads" : "no thread");
	fflush(stdout);
	child = fork();
	if (child == 0) {
		errno = 0;
		struct ibv_device **list = ibv_get_device_list(NULL);
		printf("late child: %s, %s\n", list ? "list" : "no list", errno == ENODEV ? "ENODEV" : "other");
		int result = ibv_close_device((void *)0x1000);
		printf("late child: pd %d, %d\n", result, errno);
		return 0;
	}
	return ended(child) ? 0 : 3;
}
