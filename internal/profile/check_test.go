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
	for _, c := range []struct{ rule, text string }{
		{"a host-visible and host-coherent memory type", memory + local},
		{"a device-local memory type", memory + host},
		{"the order of memory types", memory + "[[types]]\nheap = 0\nflags = [\"DEVICE_LOCAL\", \"HOST_VISIBLE\", " +
			"\"HOST_COHERENT\"]\n" + local + host},
		{"VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT", memory + local +
			"[[types]]\nheap = 0\nflags = [\"HOST_VISIBLE\", \"HOST_COHERENT\"]\n"},
		{"VkMemoryType::propertyFlags", memory + local + host + "[[types]]\nheap = 1\nflags = [\"HOST_CACHED\"]\n"},
		{"VkMemoryType::heapIndex", memory + local + host + "[[types]]\nheap = 2\n"},
		{"memoryTypeCount", memory + local + host + strings.Repeat("[[types]]\nheap = 1\n", 32)},
		{"memoryHeapCount", memory + strings.Repeat("[[heaps]]\nsize = 1\n", 16) + local + host},
		{"VK_MEMORY_HEAP_DEVICE_LOCAL_BIT", "[[heaps]]\nsize = 1\n" +
			"[[types]]\nheap = 0\nflags = [\"HOST_VISIBLE\", \"HOST_COHERENT\"]\n"},
		{"VkMemoryHeap::size", memory + "[[heaps]]\nsize = 0\n" + local + host},
		{"VK_QUEUE_COMPUTE_BIT", "[[queueFamilies]]\ncount = 1\nflags = [\"TRANSFER\"]"},
		{"VkQueueFamilyProperties::queueCount", "[[queueFamilies]]\ncount = 0\nflags = [\"COMPUTE\"]"},
		{"VK_QUEUE_COMPUTE_BIT", "[[queueFamilies]]\ncount = 1\nflags = [\"GRAPHICS\"]"},
		{"maxImageDimension2D", "[properties]\nmaxImageDimension2D = 4095"},
		{"maxComputeWorkGroupCount", "[properties]\nmaxComputeWorkGroupCount = [65535, 65534, 65535]"},
		{"minUniformBufferOffsetAlignment", "[properties]\nminUniformBufferOffsetAlignment = 512"},
		{"minUniformBufferOffsetAlignment", "[properties]\nminUniformBufferOffsetAlignment = 48"},
		{"minTexelOffset", "[properties]\nminTexelOffset = -7"},
		{"maxPushDescriptors", "[properties]\nmaxPushDescriptors = 31"},
		{"maxSamplerAnisotropy", "[properties]\nmaxSamplerAnisotropy = 8"},
		{"subgroupSize", "[properties]\nsubgroupSize = 8\nminSubgroupSize = 16\nmaxSubgroupSize = 32"},
		{"subgroupSize", "[properties]\nsubgroupSize = 3"},
		{"apiVersion", "[properties]\napiVersion = \"0.9.1\""},
		{"the feature robustBufferAccess", "[features]\nrobustBufferAccess = false"},
		{"the feature timelineSemaphore", "[features]\ntimelineSemaphore = false"},
		{"the dependencies of VK_KHR_external_memory_fd", "[extensions]\nVK_KHR_external_memory = " +
			"false\nVK_KHR_external_memory_fd = true\n[properties]\napiVersion = \"1.0.3\""},
		{"identical devices in a device group", "groups = [[1, 0]]\n[[devices]]\n[devices.properties]\ndeviceName = " +
			"\"a\"\nvendorID = 1\n[[devices]]"},
		{"identical devices in a device group",
			"groups = [[0, 1]]\n[[devices]]\n[[devices]]\n[devices.features]\nshaderFloat64 = false"},
		{"identical devices in a device group", "groups = [[0, " +
			"1]]\n[[devices]]\n[[devices]]\n[devices.extensions]\nVK_EXT_memory_budget = false"},
		{"identical devices in a device group", "groups = [[0, " +
			"1]]\n[[devices]]\n[[devices]]\n[[devices.queueFamilies]]\ncount = 1\nflags = [\"COMPUTE\"]"},
		{"deviceUUID", "[[devices]]\nbase = \"h200\"\n[[devices]]\nbase = \"h200\""},
	} {
		rule, text := c.rule, c.text
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
