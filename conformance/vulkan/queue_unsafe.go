package vulkan

import (
	"slices"
	"unsafe"

	"farside/internal/vk"
)

// QueueFamilies is vkGetPhysicalDeviceQueueFamilyProperties.
func (i *Instance) QueueFamilies(pd vk.PhysicalDevice) []vk.QueueFamilyProperties {
	var a Arena
	defer a.Close()
	n := New[uint32](&a)
	i.Call("vkGetPhysicalDeviceQueueFamilyProperties", uintptr(pd), addr(n), 0)
	p := Make[vk.QueueFamilyProperties](&a, int(*n))
	i.Call("vkGetPhysicalDeviceQueueFamilyProperties", uintptr(pd), addr(n), addr(First(p)))
	return append([]vk.QueueFamilyProperties(nil), p...)
}

// GlobalPriorities gives the priorities of VkQueueFamilyGlobalPriorityProperties for family 0.
func (i *Instance) GlobalPriorities(pd vk.PhysicalDevice) []vk.QueueGlobalPriority {
	var a Arena
	defer a.Close()
	out := Struct[vk.QueueFamilyGlobalPriorityProperties](&a)
	family := Struct[vk.QueueFamilyProperties2](&a)
	family.PNext = unsafe.Pointer(out)
	n := New[uint32](&a)
	*n = 1
	i.Call("vkGetPhysicalDeviceQueueFamilyProperties2", uintptr(pd), addr(n), addr(family))
	return slices.Clone(out.Priorities[:min(int(out.PriorityCount), len(out.Priorities))])
}

// queueInfos builds the VkDeviceQueueCreateInfo of counts[i] queues of each family i, all of priority 1.
func queueInfos(a *Arena, counts []uint32) []vk.DeviceQueueCreateInfo {
	infos := Make[vk.DeviceQueueCreateInfo](a, len(counts))
	for i, n := range counts {
		priorities := Make[float32](a, int(n))
		for j := range priorities {
			priorities[j] = 1
		}
		q := &infos[i]
		q.SType = vk.STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO
		q.QueueFamilyIndex, q.QueueCount, q.PQueuePriorities = uint32(i), n, First(priorities)
	}
	return infos
}

// QueueOf is vkGetDeviceQueue.
func (d *Device) QueueOf(family, index uint32) vk.Queue {
	var a Arena
	defer a.Close()
	q := New[vk.Queue](&a)
	d.Call("vkGetDeviceQueue", uintptr(family), uintptr(index), addr(q))
	return *q
}

// A Batch is what one VkSubmitInfo or VkSubmitInfo2 says. Waits are for all commands.
type Batch struct {
	Wait    []Point
	Buffers []vk.CommandBuffer
	Signal  []Point
	Next    unsafe.Pointer // chained last
}

// SubmitBatches is vkQueueSubmit. Values are given in VkTimelineSemaphoreSubmitInfo, where there are any.
func (d *Device) SubmitBatches(q vk.Queue, fence vk.Fence, batches ...Batch) vk.Result {
	var a Arena
	defer a.Close()
	infos := Make[vk.SubmitInfo](&a, len(batches))
	for i, b := range batches {
		info := &infos[i]
		info.SType = vk.STRUCTURE_TYPE_SUBMIT_INFO
		info.PNext = b.Next
		stages := Make[vk.PipelineStageFlags](&a, len(b.Wait))
		for j := range stages {
			stages[j] = vk.PipelineStageFlags(vk.PIPELINE_STAGE_ALL_COMMANDS_BIT)
		}
		values := Struct[vk.TimelineSemaphoreSubmitInfo](&a)
		info.WaitSemaphoreCount, info.PWaitDstStageMask = uint32(len(b.Wait)), First(stages)
		info.PWaitSemaphores, values.PWaitSemaphoreValues = split(&a, b.Wait)
		info.CommandBufferCount, info.PCommandBuffers = uint32(len(b.Buffers)), First(copied(&a, b.Buffers))
		info.SignalSemaphoreCount = uint32(len(b.Signal))
		info.PSignalSemaphores, values.PSignalSemaphoreValues = split(&a, b.Signal)
		if hasValues(b) {
			values.WaitSemaphoreValueCount, values.SignalSemaphoreValueCount = info.WaitSemaphoreCount, info.SignalSemaphoreCount
			values.PNext = info.PNext
			info.PNext = unsafe.Pointer(values)
		}
	}
	return vk.Result(d.CallOn("vkQueueSubmit", uintptr(q), uintptr(len(infos)), addr(First(infos)), uintptr(fence)))
}

func hasValues(b Batch) bool {
	for _, list := range [][]Point{b.Wait, b.Signal} {
		for _, p := range list {
			if p.Value != 0 {
				return true
			}
		}
	}
	return false
}

// SubmitBatches2 is vkQueueSubmit2KHR.
func (d *Device) SubmitBatches2(q vk.Queue, fence vk.Fence, batches ...Batch) vk.Result {
	var a Arena
	defer a.Close()
	points := func(list []Point) (uint32, *vk.SemaphoreSubmitInfo) {
		infos := Make[vk.SemaphoreSubmitInfo](&a, len(list))
		for i, p := range list {
			infos[i].SType = vk.STRUCTURE_TYPE_SEMAPHORE_SUBMIT_INFO
			infos[i].Semaphore, infos[i].Value = p.Semaphore, p.Value
			infos[i].StageMask = vk.PipelineStageFlags2(vk.PIPELINE_STAGE_2_ALL_COMMANDS_BIT)
		}
		return uint32(len(infos)), First(infos)
	}
	infos := Make[vk.SubmitInfo2](&a, len(batches))
	for i, b := range batches {
		info := &infos[i]
		info.SType = vk.STRUCTURE_TYPE_SUBMIT_INFO_2
		info.PNext = b.Next
		info.WaitSemaphoreInfoCount, info.PWaitSemaphoreInfos = points(b.Wait)
		buffers := Make[vk.CommandBufferSubmitInfo](&a, len(b.Buffers))
		for j, cb := range b.Buffers {
			buffers[j].SType = vk.STRUCTURE_TYPE_COMMAND_BUFFER_SUBMIT_INFO
			buffers[j].CommandBuffer = cb
		}
		info.CommandBufferInfoCount, info.PCommandBufferInfos = uint32(len(buffers)), First(buffers)
		info.SignalSemaphoreInfoCount, info.PSignalSemaphoreInfos = points(b.Signal)
	}
	return vk.Result(d.CallOn("vkQueueSubmit2KHR", uintptr(q), uintptr(len(infos)), addr(First(infos)), uintptr(fence)))
}

// QueueWaitIdle is vkQueueWaitIdle.
func (d *Device) QueueWaitIdle(q vk.Queue) vk.Result {
	return vk.Result(d.CallOn("vkQueueWaitIdle", uintptr(q)))
}

// WaitIdle is vkDeviceWaitIdle.
func (d *Device) WaitIdle() vk.Result { return vk.Result(d.Call("vkDeviceWaitIdle")) }

// CreateCommandPool is vkCreateCommandPool for buffers that may be reset one by one.
func (d *Device) CreateCommandPool(family uint32) (vk.CommandPool, vk.Result) {
	var a Arena
	defer a.Close()
	info := Struct[vk.CommandPoolCreateInfo](&a)
	info.Flags = vk.CommandPoolCreateFlags(vk.COMMAND_POOL_CREATE_RESET_COMMAND_BUFFER_BIT)
	info.QueueFamilyIndex = family
	out := New[vk.CommandPool](&a)
	r := vk.Result(d.Call("vkCreateCommandPool", addr(info), 0, addr(out)))
	return *out, r
}

// DestroyCommandPool is vkDestroyCommandPool.
func (d *Device) DestroyCommandPool(p vk.CommandPool) { d.Call("vkDestroyCommandPool", uintptr(p), 0) }

// AllocateCommandBuffer allocates one primary command buffer.
func (d *Device) AllocateCommandBuffer(p vk.CommandPool) (vk.CommandBuffer, vk.Result) {
	var a Arena
	defer a.Close()
	info := Struct[vk.CommandBufferAllocateInfo](&a)
	info.CommandPool, info.CommandBufferCount = p, 1
	out := New[vk.CommandBuffer](&a)
	r := vk.Result(d.Call("vkAllocateCommandBuffers", addr(info), addr(out)))
	return *out, r
}

// Record records cb anew by calling record between vkBeginCommandBuffer with flags and vkEndCommandBuffer.
func (d *Device) Record(cb vk.CommandBuffer, flags vk.CommandBufferUsageFlags,
	record func(vk.CommandBuffer)) vk.Result {
	var a Arena
	defer a.Close()
	begin := Struct[vk.CommandBufferBeginInfo](&a)
	begin.Flags = flags
	if r := vk.Result(d.CallOn("vkBeginCommandBuffer", uintptr(cb), addr(begin))); r != vk.SUCCESS {
		return r
	}
	record(cb)
	return vk.Result(d.CallOn("vkEndCommandBuffer", uintptr(cb)))
}

// CopyCommand records a copy of size bytes from the beginning of src to the beginning of dst.
func (d *Device) CopyCommand(cb vk.CommandBuffer, dst, src vk.Buffer, size uint64) {
	var a Arena
	defer a.Close()
	region := Put(&a, vk.BufferCopy{Size: size})
	d.CallOn("vkCmdCopyBuffer", uintptr(cb), uintptr(src), uintptr(dst), 1, addr(region))
}
