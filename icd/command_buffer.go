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
	stream  command.Stream
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

// trimCommandPool has nothing to give back: a reset stream's storage is a few records.
func trimCommandPool(h vk.Device, handle vk.CommandPool, _ vk.CommandPoolTrimFlags) {
	if commandPools.Get(uint64(handle)) == nil {
		staleHandle("vkTrimCommandPool", vk.OBJECT_TYPE_COMMAND_POOL, uint64(handle))
	}
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

// bufferRange looks a bound buffer's range up.
func bufferRange(h vk.Buffer, offset, size uint64, usage vk.BufferUsageFlags) (command.Range, error) {
	b := buffers.Get(uint64(h))
	if b == nil {
		return command.Range{}, vk.Errorf(vk.ERROR_UNKNOWN, "", "buffer %#x does not exist", uint64(h))
	}
	m := b.boundTo()
	if m == nil {
		return command.Range{}, vk.Errorf(vk.ERROR_UNKNOWN, "", "buffer %#x is not bound to memory", uint64(h))
	}
	if b.usage&usage == 0 {
		return command.Range{}, vk.Errorf(vk.ERROR_UNKNOWN, "", "buffer %#x was created without %v", uint64(h), usage)
	}
	if offset > b.size || size > b.size-offset {
		return command.Range{}, vk.Errorf(vk.ERROR_UNKNOWN, "", "%d bytes from offset %d reach beyond the buffer of %d bytes", size, offset, b.size)
	}
	return command.Range{Payload: m.payload, Offset: b.offset + offset, Length: size}, nil
}

func cmdFillBuffer(h vk.CommandBuffer, dst vk.Buffer, offset, size vk.DeviceSize, data uint32) {
	b := recording("vkCmdFillBuffer", h)
	if b == nil {
		return
	}
	if size == vk.WHOLE_SIZE {
		if target := buffers.Get(uint64(dst)); target != nil && offset <= target.size {
			size = (target.size - offset) &^ 3
		}
	}
	if offset%4 != 0 || size%4 != 0 || size == 0 {
		b.keep("vkCmdFillBuffer", vk.Errorf(vk.ERROR_UNKNOWN, "VUID-vkCmdFillBuffer-size-00028", "offset %d and size %d must be multiples of 4, the size not 0", offset, size))
		return
	}
	r, err := bufferRange(dst, offset, size, vk.BUFFER_USAGE_TRANSFER_DST_BIT)
	if err != nil {
		b.keep("vkCmdFillBuffer", err)
		return
	}
	b.stream.Fill(r, data)
}

func cmdCopyBuffer(h vk.CommandBuffer, src, dst vk.Buffer, count uint32, regions *vk.BufferCopy) {
	b := recording("vkCmdCopyBuffer", h)
	if b == nil {
		return
	}
	for _, region := range vk.Slice(regions, count) {
		from, err := bufferRange(src, region.SrcOffset, region.Size, vk.BUFFER_USAGE_TRANSFER_SRC_BIT)
		if err != nil {
			b.keep("vkCmdCopyBuffer", err)
			return
		}
		to, err := bufferRange(dst, region.DstOffset, region.Size, vk.BUFFER_USAGE_TRANSFER_DST_BIT)
		if err != nil {
			b.keep("vkCmdCopyBuffer", err)
			return
		}
		b.stream.Copy(to, from)
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
	if err := b.stream.Replay(); err != nil {
		return vk.Errorf(vk.ERROR_DEVICE_LOST, "", "execute: %w", err)
	}
	if b.oneTime {
		b.state = stateInvalid
	}
	return nil
}
