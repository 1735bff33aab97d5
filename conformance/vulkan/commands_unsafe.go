package vulkan

import (
	"unsafe"

	"farside/internal/vk"
)

// Pointer is a C pointer, for chains of structures.
type Pointer = unsafe.Pointer

// CopyBuffer copies size bytes from src to dst, both from offset 0, on the device's queue, and waits for it.
func (d *Device) CopyBuffer(dst, src vk.Buffer, size uint64) vk.Result {
	var a Arena
	defer a.Close()
	region := Put(&a, vk.BufferCopy{Size: size})
	return d.Submit(func(buffer vk.CommandBuffer) {
		d.CallOn("vkCmdCopyBuffer", uintptr(buffer), uintptr(src), uintptr(dst), 1, addr(region))
	})
}

// Submit records a command buffer, submits it to the device's queue and waits for its fence, a minute at most. It
// returns the first result that is not VK_SUCCESS.
func (d *Device) Submit(record func(vk.CommandBuffer)) vk.Result {
	var a Arena
	defer a.Close()
	poolInfo := New[vk.CommandPoolCreateInfo](&a)
	poolInfo.SType = vk.STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO
	pool := New[vk.CommandPool](&a)
	if r := vk.Result(d.Call("vkCreateCommandPool", addr(poolInfo), 0, addr(pool))); r != vk.SUCCESS {
		return r
	}
	defer d.Call("vkDestroyCommandPool", uintptr(*pool), 0)
	allocateInfo := New[vk.CommandBufferAllocateInfo](&a)
	allocateInfo.SType = vk.STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO
	allocateInfo.CommandPool = *pool
	allocateInfo.CommandBufferCount = 1
	buffer := New[vk.CommandBuffer](&a)
	if r := vk.Result(d.Call("vkAllocateCommandBuffers", addr(allocateInfo), addr(buffer))); r != vk.SUCCESS {
		return r
	}
	begin := New[vk.CommandBufferBeginInfo](&a)
	begin.SType = vk.STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO
	if r := vk.Result(d.CallOn("vkBeginCommandBuffer", uintptr(*buffer), addr(begin))); r != vk.SUCCESS {
		return r
	}
	record(*buffer)
	if r := vk.Result(d.CallOn("vkEndCommandBuffer", uintptr(*buffer))); r != vk.SUCCESS {
		return r
	}
	fenceInfo := New[vk.FenceCreateInfo](&a)
	fenceInfo.SType = vk.STRUCTURE_TYPE_FENCE_CREATE_INFO
	fence := New[vk.Fence](&a)
	if r := vk.Result(d.Call("vkCreateFence", addr(fenceInfo), 0, addr(fence))); r != vk.SUCCESS {
		return r
	}
	defer d.Call("vkDestroyFence", uintptr(*fence), 0)
	submit := New[vk.SubmitInfo](&a)
	submit.SType = vk.STRUCTURE_TYPE_SUBMIT_INFO
	submit.CommandBufferCount = 1
	submit.PCommandBuffers = buffer
	if r := vk.Result(d.CallOn("vkQueueSubmit", uintptr(d.Queue()), 1, addr(submit), uintptr(*fence))); r != vk.SUCCESS {
		return r
	}
	const aMinute = 60_000_000_000
	if r := vk.Result(d.Call("vkWaitForFences", 1, addr(fence), vk.TRUE, aMinute)); r != vk.SUCCESS {
		return r
	}
	return d.QueueWaitIdle(d.Queue()) // a fence of a device that is lost meanwhile may count as signalled
}
