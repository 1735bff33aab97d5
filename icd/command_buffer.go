package icd

import (
	"maps"
	"slices"
	"sync"

	"farside/internal/command"
	"farside/internal/handle"
	"farside/internal/vk"
)

var (
	commandPools   = handle.NewTable[commandPool](uint8(vk.OBJECT_TYPE_COMMAND_POOL), "VkCommandPool")
	commandBuffers = handle.NewDispatchable[commandBuffer]("VkCommandBuffer")
)

// commandPool is a VkCommandPool. The application keeps a pool and its buffers to one thread at a time; mu
// only guards the list against a device being destroyed meanwhile.
type commandPool struct {
	device  *device
	flags   vk.CommandPoolCreateFlags
	memory  command.Pool
	mu      sync.Mutex
	buffers map[vk.CommandBuffer]*commandBuffer
}

// The lifecycle of a command buffer (chapter "Command Buffers"): execution ends within vkQueueSubmit, so that
// there is no pending state that another call could see.
type bufferState uint8

const (
	stateInitial bufferState = iota
	stateRecording
	stateExecutable
	stateInvalid
)

// commandBuffer is a VkCommandBuffer.
type commandBuffer struct {
	handle  vk.CommandBuffer
	pool    *commandPool
	level   vk.CommandBufferLevel
	state   bufferState
	oneTime bool
	err     error // the first recording error, kept for vkEndCommandBuffer
	stream  *command.Stream
}

func createCommandPool(h vk.Device, info *vk.CommandPoolCreateInfo, _ *vk.AllocationCallbacks, out *vk.CommandPool) vk.Result {
	*out = 0
	d := devices.Get(uintptr(h))
	if d == nil {
		return staleHandle("vkCreateCommandPool", vk.OBJECT_TYPE_DEVICE, uint64(h))
	}
	if info.QueueFamilyIndex >= queueFamilyCount {
		return d.fail("vkCreateCommandPool", vk.Errorf(vk.ERROR_UNKNOWN, "VUID-vkCreateCommandPool-queueFamilyIndex-01937",
			"queue family %d does not exist", info.QueueFamilyIndex))
	}
	p := &commandPool{device: d, flags: info.Flags, buffers: map[vk.CommandBuffer]*commandBuffer{}}
	*out = vk.CommandPool(commandPools.Insert(p))
	d.created(vk.OBJECT_TYPE_COMMAND_POOL, uint64(*out))
	return vk.SUCCESS
}

func destroyCommandPool(h vk.Device, handle vk.CommandPool, _ *vk.AllocationCallbacks) {
	if handle == 0 {
		return
	}
	p := commandPools.Remove(uint64(handle))
	if p == nil {
		staleHandle("vkDestroyCommandPool", vk.OBJECT_TYPE_COMMAND_POOL, uint64(handle))
		return
	}
	p.mu.Lock()
	p.free(slices.Collect(maps.Keys(p.buffers)))
	p.memory.Close()
	p.mu.Unlock()
	p.device.destroyed(vk.OBJECT_TYPE_COMMAND_POOL, uint64(handle))
}

func resetCommandPool(h vk.Device, handle vk.CommandPool, _ vk.CommandPoolResetFlags) vk.Result {
	p := commandPools.Get(uint64(handle))
	if p == nil {
		return staleHandle("vkResetCommandPool", vk.OBJECT_TYPE_COMMAND_POOL, uint64(handle))
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, b := range p.buffers {
		b.reset()
	}
	return vk.SUCCESS
}

func trimCommandPool(h vk.Device, handle vk.CommandPool, _ vk.CommandPoolTrimFlags) {
	p := commandPools.Get(uint64(handle))
	if p == nil {
		staleHandle("vkTrimCommandPool", vk.OBJECT_TYPE_COMMAND_POOL, uint64(handle))
		return
	}
	p.memory.Trim()
}

func allocateCommandBuffers(h vk.Device, info *vk.CommandBufferAllocateInfo, out *vk.CommandBuffer) vk.Result {
	list := vk.Slice(out, info.CommandBufferCount)
	clear(list)
	p := commandPools.Get(uint64(info.CommandPool))
	if p == nil {
		return staleHandle("vkAllocateCommandBuffers", vk.OBJECT_TYPE_COMMAND_POOL, uint64(info.CommandPool))
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for i := range list {
		b := &commandBuffer{pool: p, level: info.Level}
		slot, err := commandBuffers.Insert(b)
		if err != nil {
			p.free(list[:i])
			clear(list)
			return p.device.fail("vkAllocateCommandBuffers", vk.Errorf(vk.ERROR_OUT_OF_HOST_MEMORY, "", "command buffer handle: %w", err))
		}
		b.handle = vk.CommandBuffer(slot)
		b.stream = command.NewStream(&p.memory, window(b.handle))
		p.buffers[b.handle] = b
		list[i] = b.handle
	}
	return vk.SUCCESS
}

func (p *commandPool) free(list []vk.CommandBuffer) {
	for _, h := range list {
		if b, ok := p.buffers[h]; ok {
			b.reset()
			commandBuffers.Remove(uintptr(h))
			delete(p.buffers, h)
		}
	}
}

func freeCommandBuffers(h vk.Device, handle vk.CommandPool, count uint32, list *vk.CommandBuffer) {
	p := commandPools.Get(uint64(handle))
	if p == nil {
		staleHandle("vkFreeCommandBuffers", vk.OBJECT_TYPE_COMMAND_POOL, uint64(handle))
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.free(vk.Slice(list, count))
}

func (b *commandBuffer) reset() {
	b.stream.Reset()
	b.state, b.err, b.oneTime = stateInitial, nil, false
}

// fail reports err as the outcome of command on this buffer.
func (b *commandBuffer) fail(command string, err error) vk.Result {
	return b.pool.device.physical.instance.fail(command, err, object{vk.OBJECT_TYPE_COMMAND_BUFFER, uint64(b.handle)})
}

func beginCommandBuffer(h vk.CommandBuffer, info *vk.CommandBufferBeginInfo) vk.Result {
	b := commandBuffers.Get(uintptr(h))
	if b == nil {
		return staleHandle("vkBeginCommandBuffer", vk.OBJECT_TYPE_COMMAND_BUFFER, uint64(h))
	}
	if b.state == stateRecording {
		return b.fail("vkBeginCommandBuffer", vk.Errorf(vk.ERROR_UNKNOWN, "VUID-vkBeginCommandBuffer-commandBuffer-00049", "the command buffer is being recorded"))
	}
	if b.state != stateInitial && b.pool.flags&vk.COMMAND_POOL_CREATE_RESET_COMMAND_BUFFER_BIT == 0 {
		return b.fail("vkBeginCommandBuffer", vk.Errorf(vk.ERROR_UNKNOWN, "VUID-vkBeginCommandBuffer-commandBuffer-00050",
			"the pool was created without VK_COMMAND_POOL_CREATE_RESET_COMMAND_BUFFER_BIT and the buffer is not in its initial state"))
	}
	b.reset()
	if err := b.stream.Begin(); err != nil {
		return b.fail("vkBeginCommandBuffer", vk.Errorf(vk.ERROR_OUT_OF_HOST_MEMORY, "", "%w", err))
	}
	b.state = stateRecording
	b.oneTime = info.Flags&vk.COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT != 0
	return vk.SUCCESS
}

func endCommandBuffer(h vk.CommandBuffer) vk.Result {
	b := commandBuffers.Get(uintptr(h))
	if b == nil {
		return staleHandle("vkEndCommandBuffer", vk.OBJECT_TYPE_COMMAND_BUFFER, uint64(h))
	}
	if b.state != stateRecording {
		return b.fail("vkEndCommandBuffer", vk.Errorf(vk.ERROR_UNKNOWN, "VUID-vkEndCommandBuffer-commandBuffer-00059", "the command buffer is not being recorded"))
	}
	b.stream.End()
	if b.err != nil {
		b.state = stateInvalid
		return b.fail("vkEndCommandBuffer", b.err)
	}
	b.state = stateExecutable
	return vk.SUCCESS
}

func resetCommandBuffer(h vk.CommandBuffer, _ vk.CommandBufferResetFlags) vk.Result {
	b := commandBuffers.Get(uintptr(h))
	if b == nil {
		return staleHandle("vkResetCommandBuffer", vk.OBJECT_TYPE_COMMAND_BUFFER, uint64(h))
	}
	if b.pool.flags&vk.COMMAND_POOL_CREATE_RESET_COMMAND_BUFFER_BIT == 0 {
		return b.fail("vkResetCommandBuffer", vk.Errorf(vk.ERROR_UNKNOWN, "VUID-vkResetCommandBuffer-commandBuffer-00046",
			"the pool was created without VK_COMMAND_POOL_CREATE_RESET_COMMAND_BUFFER_BIT"))
	}
	b.reset()
	return vk.SUCCESS
}

// recording returns the command buffer while it takes commands. It reports a call in any other state.
func recording(command string, h vk.CommandBuffer) *commandBuffer {
	b := commandBuffers.Get(uintptr(h))
	if b == nil {
		staleHandle(command, vk.OBJECT_TYPE_COMMAND_BUFFER, uint64(h))
		return nil
	}
	if b.state != stateRecording {
		b.fail(command, vk.Errorf(vk.ERROR_UNKNOWN, "VUID-"+command+"-commandBuffer-recording", "the command buffer is not being recorded"))
		return nil
	}
	return b
}

// keep reports a recording error and keeps the first one for vkEndCommandBuffer.
func (b *commandBuffer) keep(command string, err error) {
	b.fail(command, err)
	if b.err == nil {
		b.err = err
	}
}

// recorded keeps the error of an encoder.
func (b *commandBuffer) recorded(command string, err error) {
	if err != nil {
		b.keep(command, vk.Errorf(vk.ERROR_OUT_OF_HOST_MEMORY, "", "%w", err))
	}
}

func cmdFillBuffer(h vk.CommandBuffer, dst vk.Buffer, offset, size vk.DeviceSize, data uint32) {
	if b := recording("vkCmdFillBuffer", h); b != nil {
		b.recorded("vkCmdFillBuffer", b.stream.FillBuffer(dst, offset, size, data))
	}
}

func cmdCopyBuffer(h vk.CommandBuffer, src, dst vk.Buffer, count uint32, regions *vk.BufferCopy) {
	if b := recording("vkCmdCopyBuffer", h); b != nil {
		b.recorded("vkCmdCopyBuffer", b.stream.CopyBuffer(src, dst, vk.Slice(regions, count)))
	}
}

// cmdPipelineBarrier records nothing: commands of a queue run one after the other, each on all of memory.
func cmdPipelineBarrier(h vk.CommandBuffer, _, _ vk.PipelineStageFlags, _ vk.DependencyFlags,
	_ uint32, _ *vk.MemoryBarrier, _ uint32, _ *vk.BufferMemoryBarrier, _ uint32, _ *vk.ImageMemoryBarrier) {
	recording("vkCmdPipelineBarrier", h)
}

// submit executes the command buffer.
func (b *commandBuffer) submit() error {
	if b.level != vk.COMMAND_BUFFER_LEVEL_PRIMARY {
		return vk.Errorf(vk.ERROR_UNKNOWN, "VUID-VkSubmitInfo-pCommandBuffers-00075", "a secondary command buffer was submitted")
	}
	if b.state != stateExecutable {
		return vk.Errorf(vk.ERROR_UNKNOWN, "VUID-vkQueueSubmit-pCommandBuffers-00070", "the command buffer is not executable")
	}
	if err := replay(b.stream); err != nil {
		return vk.Errorf(vk.ERROR_DEVICE_LOST, "", "execute: %w", err)
	}
	if b.oneTime {
		b.state = stateInvalid
	}
	return nil
}
