/* fork before the driver is loaded: twins
 * Each child makes an instance and logs what the driver chose at random, which must differ. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vulkan/vulkan.h>

#include <dlfcn.h>

static int child(void) {
	void *loader = dlopen("libvulkan.so.1", RTLD_NOW | RTLD_LOCAL);
	PFN_vkGetInstanceProcAddr get = loader ? (PFN_vkGetInstanceProcAddr)dlsym(loader, "vkGetInstanceProcAddr") : NULL;
	if (!get) {
		fprintf(stderr, "%s\n", dlerror());
		return 2;
	}
	PFN_vkCreateInstance create = (PFN_vkCreateInstance)get(NULL, "vkCreateInstance");
	VkInstanceCreateInfo info = {.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO};
	VkInstance instance;
	return create && create(&info, NULL, &instance) == VK_SUCCESS ? 0 : 3;
}

int main(void) {
	for (int i = 0; i < 2; i++) {
		pid_t pid = fork();
		if (pid == 0)
			_exit(child());
		int status = -1;
		if (waitpid(pid, &status, 0) != pid || status != 0) {
			fprintf(stderr, "child %d ended with wait status %#x\n", i, (unsigned)status);
			return 1;
		}
	}
	return 0;
}
