package profile

import (
	"errors"
	"strings"
	"testing"
)

// Each profile breaks one rule; the error names it.
func TestRules(t *testing.T) {
	const memory = "[[heaps]]\nsize = \"1GiB\"\nflags = [\"DEVICE_LOCAL\"]\n[[heaps]]\nsize = \"1GiB\"\n"
	local, host := "[[types]]\nheap = 0\nflags = [\"DEVICE_LOCAL\"]\n",
		"[[types]]\nheap = 1\nflags = [\"HOST_VISIBLE\", \"HOST_COHERENT\"]\n"
	dir := t.TempDir()
	for text, rule := range map[string]string{
		memory + local: "a host-visible and host-coherent memory type",
		memory + host:  "a device-local memory type",
		memory + "[[types]]\nheap = 0\nflags = [\"DEVICE_LOCAL\", \"HOST_VISIBLE\", \"HOST_COHERENT\"]\n" + local + host:       "the order of memory types",
		memory + local + "[[types]]\nheap = 0\nflags = [\"HOST_VISIBLE\", \"HOST_COHERENT\"]\n":                                "VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT",
		memory + local + host + "[[types]]\nheap = 1\nflags = [\"HOST_CACHED\"]\n":                                             "VkMemoryType::propertyFlags",
		memory + local + host + "[[types]]\nheap = 2\n":                                                                        "VkMemoryType::heapIndex",
		memory + local + host + strings.Repeat("[[types]]\nheap = 1\n", 32):                                                    "memoryTypeCount",
		memory + strings.Repeat("[[heaps]]\nsize = 1\n", 16) + local + host:                                                    "memoryHeapCount",
		"[[heaps]]\nsize = 1\n" + "[[types]]\nheap = 0\nflags = [\"HOST_VISIBLE\", \"HOST_COHERENT\"]\n":                       "VK_MEMORY_HEAP_DEVICE_LOCAL_BIT",
		memory + "[[heaps]]\nsize = 0\n" + local + host:                                                                        "VkMemoryHeap::size",
		"[[queueFamilies]]\ncount = 1\nflags = [\"TRANSFER\"]":                                                                 "VK_QUEUE_COMPUTE_BIT",
		"[[queueFamilies]]\ncount = 0\nflags = [\"COMPUTE\"]":                                                                  "VkQueueFamilyProperties::queueCount",
		"[[queueFamilies]]\ncount = 1\nflags = [\"GRAPHICS\"]":                                                                 "VK_QUEUE_COMPUTE_BIT",
		"[properties]\nmaxImageDimension2D = 4095":                                                                             "maxImageDimension2D",
		"[properties]\nmaxComputeWorkGroupCount = [65535, 65534, 65535]":                                                       "maxComputeWorkGroupCount",
		"[properties]\nminUniformBufferOffsetAlignment = 512":                                                                  "minUniformBufferOffsetAlignment",
		"[properties]\nminUniformBufferOffsetAlignment = 48":                                                                   "minUniformBufferOffsetAlignment",
		"[properties]\nminTexelOffset = -7":                                                                                    "minTexelOffset",
		"[properties]\nmaxPushDescriptors = 31":                                                                                "maxPushDescriptors",
		"[properties]\nmaxSamplerAnisotropy = 8":                                                                               "maxSamplerAnisotropy",
		"[properties]\nsubgroupSize = 8\nminSubgroupSize = 16\nmaxSubgroupSize = 32":                                           "subgroupSize",
		"[features]\nrobustBufferAccess = false":                                                                               "the feature robustBufferAccess",
		"[features]\ntimelineSemaphore = false":                                                                                "the feature timelineSemaphore",
		"[extensions]\nVK_KHR_external_memory = false\nVK_KHR_external_memory_fd = true\n[properties]\napiVersion = \"1.0.3\"": "the dependencies of VK_KHR_external_memory_fd",
		"[[devices]]\nbase = \"h200\"\n[[devices]]\nbase = \"h200\"":                                                           "deviceUUID",
	} {
		p, err := Load(write(t, dir, "profile", text))
		if err != nil {
			t.Errorf("%q: %v", text, err)
			continue
		}
		err = Check(p, func(string) bool { return true })
		var broken *Broken
		if !errors.Is(err, ErrRule) || !errors.As(err, &broken) {
			t.Errorf("%q: %v", text, err)
		} else if broken.Rule != rule || broken.Source == "" {
			t.Errorf("%q: the rule is %q, want %q", text, broken.Rule, rule)
		}
	}
	// The feature is not required of whoever hasn't the other feature.
	for _, text := range []string{"[features]\nsamplerAnisotropy = false\n[properties]\nmaxSamplerAnisotropy = 1"} {
		p, err := Load(write(t, dir, "profile", text))
		if err == nil {
			err = Check(p, func(string) bool { return true })
		}
		if err != nil {
			t.Errorf("%q: %v", text, err)
		}
	}
}
