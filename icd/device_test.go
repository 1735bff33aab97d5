package icd

import (
	"slices"
	"testing"

	"farside/internal/vk"
)

// TestQueueFamilyNamedTwice makes a device whose create info has two entries for one family.
func TestQueueFamilyNamedTwice(t *testing.T) {
	i := testInstance(t, nil)
	priorities := []float32{1, 1}
	for _, counts := range [][]uint32{{1, 2}, {2, 1}} {
		var infos []vk.DeviceQueueCreateInfo
		for _, n := range counts {
			infos = append(infos, vk.DeviceQueueCreateInfo{QueueCount: n, PQueuePriorities: &priorities[0]})
		}
		var h vk.Device
		if r := commands.CreateDevice(i.devices[0].handle,
			&vk.DeviceCreateInfo{QueueCreateInfoCount: 2, PQueueCreateInfos: &infos[0]}, nil, &h); r != vk.SUCCESS {
			t.Fatalf("vkCreateDevice with %v queues: %v", counts, r)
		}
		var indices []uint32
		for _, q := range devices.Get(uintptr(h)).queues {
			indices = append(indices, q.index)
		}
		if !slices.Equal(indices, []uint32{0, 1}) {
			t.Errorf("with %v queues, the device has those of indices %v", counts, indices)
		}
		commands.DestroyDevice(h, nil)
	}
}
