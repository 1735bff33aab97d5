package conformance

import (
	"farside/conformance/vulkan"
	"farside/internal/vk"
)

// patience is how long a case waits for what must happen soon: 20 s in nanoseconds.
const patience = 20_000_000_000

// A recorder is a command pool with a primary command buffer, and a fence to wait for it.
type recorder struct {
	c     *Case
	a     vulkan.Arena // of what commands point at
	pool  vk.CommandPool
	cb    vk.CommandBuffer
	queue vk.Queue
	fence vk.Fence
}

// recorder is for queue 0 of family 0.
func (c *Case) recorder() *recorder { return c.recorderOf(0) }

// recorderOf is for queue 0 of a family.
func (c *Case) recorderOf(family uint32) *recorder {
	r := &recorder{c: c, queue: c.dev.QueueOf(family, 0)}
	var e vk.Result
	r.pool, e = c.dev.CreateCommandPool(family)
	c.must("vkCreateCommandPool", e)
	r.cb = c.commandBuffers(r.pool, vk.COMMAND_BUFFER_LEVEL_PRIMARY, 1)[0]
	r.fence, e = c.dev.CreateFence(0, nil)
	c.must("vkCreateFence", e)
	return r
}

func (r *recorder) free() {
	r.c.dev.DestroyFence(r.fence)
	r.c.dev.DestroyCommandPool(r.pool)
	r.a.Close()
}

func (c *Case) commandBuffers(p vk.CommandPool, level vk.CommandBufferLevel, n int) []vk.CommandBuffer {
	info := vulkan.Struct[vk.CommandBufferAllocateInfo](&c.a)
	info.CommandPool, info.Level, info.CommandBufferCount = p, level, uint32(n)
	out := vulkan.Make[vk.CommandBuffer](&c.a, n)
	c.must("vkAllocateCommandBuffers",
		vk.Result(c.dev.Call("vkAllocateCommandBuffers", ptr(info), ptr(vulkan.First(out)))))
	return out
}

// begin is vkBeginCommandBuffer, also of a secondary command buffer, which inherits nothing.
func (r *recorder) begin(cb vk.CommandBuffer, flags vk.CommandBufferUsageFlags) {
	info := vulkan.Struct[vk.CommandBufferBeginInfo](&r.a)
	info.Flags = flags
	inherit := vulkan.Struct[vk.CommandBufferInheritanceInfo](&r.a)
	info.PInheritanceInfo = inherit
	r.c.must("vkBeginCommandBuffer", vk.Result(r.c.dev.CallOn("vkBeginCommandBuffer", uintptr(cb), ptr(info))))
}

func (r *recorder) end(cb vk.CommandBuffer) {
	r.barrier(cb, vk.PIPELINE_STAGE_HOST_BIT, vk.ACCESS_HOST_READ_BIT)
	r.c.must("vkEndCommandBuffer", vk.Result(r.c.dev.CallOn("vkEndCommandBuffer", uintptr(cb))))
}

// cmd records a command behind a barrier for all transfers before it.
func (r *recorder) cmd(name string, args ...uintptr) { r.cmdIn(r.cb, name, args...) }

func (r *recorder) cmdIn(cb vk.CommandBuffer, name string, args ...uintptr) {
	r.barrier(cb, vk.PIPELINE_STAGE_TRANSFER_BIT, vk.ACCESS_TRANSFER_READ_BIT|vk.ACCESS_TRANSFER_WRITE_BIT)
	r.c.dev.CallOn(name, append([]uintptr{uintptr(cb)}, args...)...)
}

func (r *recorder) barrier(cb vk.CommandBuffer, stage vk.PipelineStageFlags, access vk.AccessFlags) {
	b := vulkan.Struct[vk.MemoryBarrier](&r.a)
	b.SrcAccessMask = vk.AccessFlags(vk.ACCESS_TRANSFER_READ_BIT | vk.ACCESS_TRANSFER_WRITE_BIT)
	b.DstAccessMask = access
	r.c.dev.CallOn("vkCmdPipelineBarrier", uintptr(cb), uintptr(vk.PIPELINE_STAGE_TRANSFER_BIT), uintptr(stage), 0, 1,
		ptr(b), 0, 0, 0, 0)
}

// transition takes an image from VK_IMAGE_LAYOUT_UNDEFINED to VK_IMAGE_LAYOUT_GENERAL.
func (r *recorder) transition(i vk.Image, aspects vk.ImageAspectFlags) {
	b := vulkan.Struct[vk.ImageMemoryBarrier](&r.a)
	b.DstAccessMask = vk.AccessFlags(vk.ACCESS_TRANSFER_READ_BIT | vk.ACCESS_TRANSFER_WRITE_BIT)
	b.OldLayout, b.NewLayout = vk.IMAGE_LAYOUT_UNDEFINED, vk.IMAGE_LAYOUT_GENERAL
	b.SrcQueueFamilyIndex, b.DstQueueFamilyIndex = vk.QUEUE_FAMILY_IGNORED, vk.QUEUE_FAMILY_IGNORED
	b.Image = i
	b.SubresourceRange = vk.ImageSubresourceRange{AspectMask: aspects, LevelCount: vk.REMAINING_MIP_LEVELS,
		LayerCount: vk.REMAINING_ARRAY_LAYERS}
	r.c.dev.CallOn("vkCmdPipelineBarrier", uintptr(r.cb), uintptr(vk.PIPELINE_STAGE_TRANSFER_BIT),
		uintptr(vk.PIPELINE_STAGE_TRANSFER_BIT),
		0, 0, 0, 0, 0, 1, ptr(b))
}

// trySubmit submits command buffers and waits for them. A device that is lost meanwhile shows at the latest when the
// queue is waited for: a fence of its may count as signalled.
func (r *recorder) trySubmit(cbs ...vk.CommandBuffer) vk.Result {
	if e := r.c.dev.SubmitBatches(r.queue, r.fence, vulkan.Batch{Buffers: cbs}); e != vk.SUCCESS {
		return e
	}
	if e := r.c.dev.WaitFences(true, patience, r.fence); e != vk.SUCCESS {
		return e
	}
	if e := r.c.dev.QueueWaitIdle(r.queue); e != vk.SUCCESS {
		return e
	}
	return r.c.dev.ResetFences(r.fence)
}

func (r *recorder) submit(cbs ...vk.CommandBuffer) { r.c.must("submit and wait", r.trySubmit(cbs...)) }
