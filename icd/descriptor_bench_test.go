package icd

import (
	"testing"
	"unsafe"

	"farside/internal/vk"
)

// BenchmarkDescriptorPool is the allocation of a set and its end by a reset of the pool, of 2048 at a time.
func BenchmarkDescriptorPool(b *testing.B) {
	var i vk.Instance
	if r := commands.CreateInstance(&vk.InstanceCreateInfo{}, nil, &i); r != vk.SUCCESS {
		b.Fatal(r)
	}
	defer commands.DestroyInstance(i, nil)
	priority := float32(1)
	queue := vk.DeviceQueueCreateInfo{QueueCount: 1, PQueuePriorities: &priority}
	var d vk.Device
	if r := commands.CreateDevice(instances.Get(uintptr(i)).devices[0].handle,
		&vk.DeviceCreateInfo{QueueCreateInfoCount: 1, PQueueCreateInfos: &queue}, nil, &d); r != vk.SUCCESS {
		b.Fatal(r)
	}
	defer commands.DestroyDevice(d, nil)
	const n = 2048
	binding := vk.DescriptorSetLayoutBinding{DescriptorType: vk.DESCRIPTOR_TYPE_SAMPLER, DescriptorCount: 1}
	layouts := make([]vk.DescriptorSetLayout, n)
	commands.CreateDescriptorSetLayout(d, &vk.DescriptorSetLayoutCreateInfo{BindingCount: 1, PBindings: &binding}, nil,
		&layouts[0])
	for i := range layouts {
		layouts[i] = layouts[0]
	}
	defer commands.DestroyDescriptorSetLayout(d, layouts[0], nil)
	size := vk.DescriptorPoolSize{Type: vk.DESCRIPTOR_TYPE_SAMPLER, DescriptorCount: n}
	var pool vk.DescriptorPool
	commands.CreateDescriptorPool(d, &vk.DescriptorPoolCreateInfo{MaxSets: n, PoolSizeCount: 1, PPoolSizes: &size}, nil,
		&pool)
	defer commands.DestroyDescriptorPool(d, pool, nil)
	info := vk.DescriptorSetAllocateInfo{DescriptorPool: pool, DescriptorSetCount: n,
		PSetLayouts: unsafe.SliceData(layouts)}
	sets := make([]vk.DescriptorSet, n)
	for b.Loop() {
		if r := commands.AllocateDescriptorSets(d, &info, &sets[0]); r != vk.SUCCESS {
			b.Fatal(r)
		}
		if r := commands.ResetDescriptorPool(d, pool, 0); r != vk.SUCCESS {
			b.Fatal(r)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/n, "ns/set")
}
