package icd

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/ebitengine/purego"

	"farside/internal/vk"
)

// callingBack is what callbacks do while a test of callbacks runs. Calls that it makes may report, too: those reports
// make no more calls.
var callingBack struct {
	what  func()
	busy  atomic.Bool
	calls atomic.Int64
}

func callBack() {
	if callingBack.what != nil && callingBack.busy.CompareAndSwap(false, true) {
		defer callingBack.busy.Store(false)
		callingBack.calls.Add(1)
		callingBack.what()
	}
}

// useAll makes, names, uses and destroys objects of all kinds of a device, and lets commands fail. It leaves an event.
func (c computeTest) useAll() {
	d := c.d.handle
	var buffer vk.Buffer
	var image vk.Image
	var mem vk.DeviceMemory
	var fence vk.Fence
	var semaphore vk.Semaphore
	var event vk.Event
	var pool vk.CommandPool
	var sets vk.DescriptorPool
	commands.CreateBuffer(d, &vk.BufferCreateInfo{Size: 64, Usage: vk.BUFFER_USAGE_TRANSFER_DST_BIT}, nil, &buffer)
	commands.CreateImage(d, &vk.ImageCreateInfo{}, nil, &image) // fails
	commands.AllocateMemory(d, &vk.MemoryAllocateInfo{AllocationSize: 4096, MemoryTypeIndex: 2}, nil, &mem)
	commands.SetDebugUtilsObjectNameEXT(d, &vk.DebugUtilsObjectNameInfoEXT{
		ObjectType: vk.OBJECT_TYPE_DEVICE_MEMORY, ObjectHandle: uint64(mem), PObjectName: cString("called back"),
	})
	commands.BindBufferMemory(d, buffer, mem, 0)
	commands.CreateFence(d, &vk.FenceCreateInfo{}, nil, &fence)
	commands.CreateSemaphore(d, &vk.SemaphoreCreateInfo{}, nil, &semaphore)
	commands.CreateEvent(d, &vk.EventCreateInfo{}, nil, &event)
	commands.CreateCommandPool(d, &vk.CommandPoolCreateInfo{}, nil, &pool)
	commands.CreateDescriptorPool(d, &vk.DescriptorPoolCreateInfo{MaxSets: 1}, nil, &sets)
	list := make([]vk.CommandBuffer, 1)
	commands.AllocateCommandBuffers(d, &vk.CommandBufferAllocateInfo{CommandPool: pool, CommandBufferCount: 1}, &list[0])
	commands.BeginCommandBuffer(list[0], &vk.CommandBufferBeginInfo{})
	commands.CmdFillBuffer(list[0], buffer, 0, 64, 1)
	commands.EndCommandBuffer(list[0])
	if q := c.d.queues[0].handle; queues.Get(uintptr(q)) != nil {
		commands.QueueSubmit(q, 1, &vk.SubmitInfo{CommandBufferCount: 1, PCommandBuffers: &list[0]}, fence)
		commands.QueueBeginDebugUtilsLabelEXT(q, &vk.DebugUtilsLabelEXT{PLabelName: cString("label")})
		commands.QueueEndDebugUtilsLabelEXT(q)
		commands.QueueEndDebugUtilsLabelEXT(q) // fails
	}
	commands.GetFenceStatus(d, fence)
	commands.SetEvent(d, event)
	commands.DestroyCommandPool(d, pool, nil) // fails while the submission waits for its turn
	commands.DestroyDescriptorPool(d, sets, nil)
	commands.DestroySemaphore(d, semaphore, nil)
	commands.DestroyBuffer(d, buffer, nil)
	commands.DestroyFence(d, fence, nil)
	commands.FreeMemory(d, mem, nil)
	messenger := vk.DebugUtilsMessengerEXT(0)
	i := c.d.physical.instance.handle
	commands.CreateDebugUtilsMessengerEXT(i, messengerInfo(everySeverity, everyType, 0), nil, &messenger)
	commands.DestroyDebugUtilsMessengerEXT(i, messenger, nil)
}

// TestCallbacksMayCallTheDriver lets messengers and memory reports call the driver back from each place that calls
// them: no lock is held there, so nothing hangs. The specification forbids such calls
// (VUID-PFN_vkDebugUtilsMessengerCallbackEXT-None-04769); programs that log make them nevertheless.
func TestCallbacksMayCallTheDriver(t *testing.T) {
	report := purego.NewCallback(func(*vk.DeviceMemoryReportCallbackDataEXT, uintptr) uintptr { callBack(); return 0 })
	setup := func(t *testing.T) computeTest {
		c := newComputeTest(t)
		c.d.reports = []memoryReport{{vk.PFN_vkDeviceMemoryReportCallbackEXT(report), 0}}
		receivedMu.Lock()
		onMessage = callBack
		receivedMu.Unlock()
		t.Cleanup(func() {
			receivedMu.Lock()
			onMessage = nil
			receivedMu.Unlock()
			callingBack.what = nil
		})
		return c
	}
	for name, provoke := range map[string]func(t *testing.T, c computeTest){
		"a refused handle": func(_ *testing.T, c computeTest) { commands.DestroyBuffer(c.d.handle, 0xdead, nil) },
		"a refused device": func(*testing.T, computeTest) { commands.DeviceWaitIdle(0xdead) },
		"memory": func(_ *testing.T, c computeTest) {
			var m vk.DeviceMemory
			commands.AllocateMemory(c.d.handle, &vk.MemoryAllocateInfo{AllocationSize: 4096}, nil, &m)
			commands.FreeMemory(c.d.handle, m, nil)
			commands.AllocateMemory(c.d.handle, &vk.MemoryAllocateInfo{}, nil, &m)
		},
		"a mapping that can't be ended": func(t *testing.T, c computeTest) {
			var m vk.DeviceMemory
			c.d.features["memoryMapPlaced"] = true
			commands.AllocateMemory(c.d.handle, &vk.MemoryAllocateInfo{AllocationSize: 4096, MemoryTypeIndex: 2}, nil, &m)
			o := deviceMemories.Get(uint64(m))
			if _, err := o.mapRange(0, 4096, nil); err != nil {
				t.Fatal(err)
			}
			o.mapping.own, o.mapping.length = true, 1<<62 // munmap(2): EINVAL
			before := callingBack.calls.Load()
			commands.FreeMemory(c.d.handle, m, nil)
			if callingBack.calls.Load()-before != 2 {
				t.Error("no report of a mapping that can't be ended")
			}
		},
		"an exhausted descriptor pool": func(_ *testing.T, c computeTest) {
			var pool vk.DescriptorPool
			commands.CreateDescriptorPool(c.d.handle, &vk.DescriptorPoolCreateInfo{MaxSets: 1}, nil, &pool)
			layouts := []vk.DescriptorSetLayout{c.setLayout(0), c.setLayout(0)}
			allocateSets(c.d, pool, layouts)
			commands.DestroyDescriptorPool(c.d.handle, pool, nil)
		},
		"pending objects": func(_ *testing.T, c computeTest) {
			timeline, fence := newTestSemaphore(t, c.d, timelineType, 0, 0), newTestFence(t, c.d, 0, 0)
			list := c.commands(0, vk.COMMAND_BUFFER_LEVEL_PRIMARY)
			record1(t, list, func() {})
			pool := commandBuffers.Get(uintptr(list)).pool
			submit2(c.d.queues[1], fence, []vk.SemaphoreSubmitInfo{{Semaphore: timeline, Value: 1}}, []vk.CommandBuffer{list},
				nil)
			commands.FreeCommandBuffers(c.d.handle, vk.CommandPool(pool.handle), 1, &list)
			commands.ResetFences(c.d.handle, 1, &fence)
			commands.DestroyFence(c.d.handle, fence, nil)
			commands.SignalSemaphore(c.d.handle, &vk.SemaphoreSignalInfo{Semaphore: timeline, Value: 1})
			commands.DeviceWaitIdle(c.d.handle)
		},
		"recording": func(_ *testing.T, c computeTest) {
			list := c.commands(0, vk.COMMAND_BUFFER_LEVEL_PRIMARY)
			commands.CmdDispatch(list, 1, 1, 1)
			commands.BeginCommandBuffer(list, &vk.CommandBufferBeginInfo{})
			commands.CmdExecuteCommands(list, 0, nil)
			commands.EndCommandBuffer(list)
		},
		"execution": func(_ *testing.T, c computeTest) {
			list := c.commands(0, vk.COMMAND_BUFFER_LEVEL_PRIMARY)
			record1(t, list, func() { commands.CmdFillBuffer(list, 0xdead, 0, 4, 1) })
			submit1(c.d.queues[0], 0, vk.SubmitInfo{CommandBufferCount: 1, PCommandBuffers: &list})
			commands.DeviceWaitIdle(c.d.handle)
		},
		"shaders": func(_ *testing.T, c computeTest) {
			info := pipelineInfo(c.module([]uint32{1, 2, 3, 4, 5, 6}), c.addLayout())
			c.tryPipelines(0, info)
		},
		"a device with objects": func(_ *testing.T, c computeTest) {
			c.buffer()
			newTestFence(t, c.d, 0, 0)
			commands.DestroyDevice(c.d.handle, nil)
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := setup(t)
			callingBack.calls.Store(0)
			callingBack.what = c.useAll
			done := make(chan struct{})
			go func() {
				defer close(done)
				provoke(t, c)
			}()
			select {
			case <-done:
			case <-time.After(20 * time.Second):
				callingBack.what = nil
				t.Fatalf("hangs after %d callbacks", callingBack.calls.Load())
			}
			if callingBack.calls.Load() == 0 {
				t.Error("nothing called back")
			}
			takeInbox()
		})
	}
}
