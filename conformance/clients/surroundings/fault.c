/* An application's own handler of SIGSEGV, and a wild pointer that reaches the driver:
 * fault SHADER before|chain|own
 *   before  installed before the driver is loaded: Go's handler is in front, and the driver survives
 *   chain   installed afterwards, and calls the handler that was there: the driver survives
 *   own     installed afterwards, and ends the process with 42, as crash reporters do */
#include "cycle.h"
#include <signal.h>

static struct sigaction old;
static volatile sig_atomic_t chain, ran;

static void handler(int signal, siginfo_t *info, void *context) {
	ran = 1;
	if (!chain)
		_exit(42);
	old.sa_sigaction(signal, info, context);
}

static void install(void) {
	struct sigaction action = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO | SA_ONSTACK};
	CHECK(sigaction(SIGSEGV, &action, &old) == 0);
}

int main(int argc, char **argv) {
	CHECK(argc == 3);
	load_shader(argv[1]);
	int before = !strcmp(argv[2], "before");
	chain = !strcmp(argv[2], "chain");
	if (before)
		install();
	struct lane l;
	CHECK(open_instance() == VK_SUCCESS && open_lane(&l) == VK_SUCCESS);
	if (!before)
		install();
	CHECK(cycle(&l) == VK_SUCCESS);
	VkBufferCreateInfo info = {.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO, .size = 64,
		.usage = VK_BUFFER_USAGE_TRANSFER_SRC_BIT};
	VkBuffer buffer;
	CHECK(vkCreateBuffer(l.device, &info, NULL, &buffer) == VK_SUCCESS);
	PFN_vkGetBufferMemoryRequirements requirements =
		(PFN_vkGetBufferMemoryRequirements)vkGetDeviceProcAddr(l.device, "vkGetBufferMemoryRequirements");
	requirements(l.device, buffer, (VkMemoryRequirements *)0xdead0000);
	CHECK(ran == chain);
	CHECK(cycle(&l) == VK_SUCCESS);
	vkDestroyBuffer(l.device, buffer, NULL);
	close_lane(&l);
	vkDestroyInstance(instance, NULL);
	return 0;
}
