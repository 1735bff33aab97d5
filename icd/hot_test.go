package icd

import (
	"math"
	"runtime"
	"testing"
	"unsafe"

	"farside/internal/vk"
)

// TestHotPathsDoNotAllocate runs what applications do all the time, with nothing switched on.
func TestHotPathsDoNotAllocate(t *testing.T) {
	c := newComputeTest(t)
	d, queue := c.d.handle, c.d.queues[0].handle
	memory, r := c.allocate(1<<20, 2, 0, nil)
	if r != vk.SUCCESS {
		t.Fatal(r)
	}
	var fence vk.Fence
	if r := commands.CreateFence(d, &vk.FenceCreateInfo{}, nil, &fence); r != vk.SUCCESS {
		t.Fatal(r)
	}
	t.Cleanup(func() {
		commands.FreeMemory(d, memory, nil)
		commands.DestroyFence(d, fence, nil)
	})
	l := c.addLayout()
	p := c.pipeline(pipelineInfo(c.module(compiled(t, addShader)), l))
	set, _ := c.storage()
	b, _ := c.buffer()
	record := func(body func(list vk.CommandBuffer)) []vk.CommandBuffer {
		list := c.commands(0, vk.COMMAND_BUFFER_LEVEL_PRIMARY)
		record1(t, list, func() { body(list) })
		return []vk.CommandBuffer{list}
	}
	submit := func(lists []vk.CommandBuffer) func() {
		info := vk.SubmitInfo{CommandBufferCount: uint32(len(lists)), PCommandBuffers: unsafe.SliceData(lists)}
		return func() {
			if r := commands.QueueSubmit(queue, 1, &info, fence); r != vk.SUCCESS {
				t.Fatal(r)
			}
			if r := commands.WaitForFences(d, 1, &fence, vk.TRUE, math.MaxUint64); r != vk.SUCCESS {
				t.Fatal(r)
			}
			commands.ResetFences(d, 1, &fence)
		}
	}
	var at unsafe.Pointer
	region := vk.BufferCopy{DstOffset: 64, Size: 64}
	for name, path := range map[string]func(){
		"map and unmap": func() {
			if r := commands.MapMemory(d, memory, 0, vk.WHOLE_SIZE, 0, &at); r != vk.SUCCESS {
				t.Fatal(r)
			}
			commands.UnmapMemory(d, memory)
		},
		"an empty submission": submit(nil),
		"fills and copies": submit(record(func(list vk.CommandBuffer) {
			commands.CmdFillBuffer(list, b, 0, 64, 7)
			commands.CmdCopyBuffer(list, b, b, 1, &region)
		})),
		"a dispatch": submit(record(func(list vk.CommandBuffer) { c.add(list, p, l, set, 1, 1) })),
	} {
		path()
		if n := leastAllocations(path); n != 0 && !raceEnabled {
			t.Errorf("%s allocates %v times", name, n)
		}
	}
}

// leastAllocations is how often f allocates. Other goroutines allocate now and then, so the least of ten times counts.
func leastAllocations(f func()) float64 {
	least := math.Inf(1)
	for range 10 {
		if least = min(least, testing.AllocsPerRun(100, f)); least == 0 {
			break
		}
	}
	return least
}

// TestAllocationIsOneObject says how much garbage an allocation of memory leaves that can't leave the process.
func TestAllocationIsOneObject(t *testing.T) {
	c := newQueueTest(t)
	info := vk.MemoryAllocateInfo{AllocationSize: 64 << 10, MemoryTypeIndex: 2}
	var m vk.DeviceMemory
	round := func() {
		if r := commands.AllocateMemory(c.d.handle, &info, nil, &m); r != vk.SUCCESS {
			t.Fatal(r)
		}
		commands.FreeMemory(c.d.handle, m, nil)
	}
	round()
	if n := leastAllocations(round); n > 1 && !raceEnabled {
		t.Errorf("%v objects", n)
	}
	least := uint64(math.MaxUint64)
	for range 10 {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		for range 100 {
			round()
		}
		runtime.ReadMemStats(&after)
		least = min(least, (after.TotalAlloc-before.TotalAlloc)/100)
	}
	if least > 256 && !raceEnabled {
		t.Errorf("%d bytes", least)
	}
}
