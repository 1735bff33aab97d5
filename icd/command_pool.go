package icd

import (
	"maps"
	"slices"
	"sync"

	"farside/internal/command"
	"farside/internal/config"
	"farside/internal/handle"
	"farside/internal/vk"
)

var commandPools = handle.NewTable[commandPool](uint8(vk.OBJECT_TYPE_COMMAND_POOL), "VkCommandPool")

// commandPool is a VkCommandPool. The application keeps a pool and its buffers to one thread at a time; mu
// only guards the list against a device being destroyed meanwhile.
//
// VK_COMMAND_POOL_CREATE_TRANSIENT_BIT changes nothing: streams are cheap to record anew in any case.
type commandPool struct {
	child
	family  uint32
	flags   vk.CommandPoolCreateFlags
	memory  command.Pool
	mu      sync.Mutex
	buffers map[vk.CommandBuffer]*commandBuffer
}

func createCommandPool(
	d *device, info *vk.CommandPoolCreateInfo, _ *vk.AllocationCallbacks, out *vk.CommandPool,
) vk.Result {
	switch {
	case !slices.ContainsFunc(d.queues, func(q *queue) bool { return q.family == info.QueueFamilyIndex }):
		return d.fail("vkCreateCommandPool", vk.Errorf(vk.ERROR_UNKNOWN, vk.VUID_vkCreateCommandPool_queueFamilyIndex_01937,
			"the device was created without a queue of family %d", info.QueueFamilyIndex))
	case info.Flags&vk.COMMAND_POOL_CREATE_PROTECTED_BIT != 0:
		return d.fail("vkCreateCommandPool", vk.Errorf(vk.ERROR_UNKNOWN, vk.VUID_VkCommandPoolCreateInfo_flags_02860,
			"the feature protectedMemory is not supported"))
	}
	p := &commandPool{child: child{device: d}, family: info.QueueFamilyIndex, flags: info.Flags,
		buffers: map[vk.CommandBuffer]*commandBuffer{}}
	*out = vk.CommandPool(d.add(p))
	return vk.SUCCESS
}

// release frees the pool's command buffers.
func (p *commandPool) release() {
	p.mu.Lock()
	pending := p.free(slices.Collect(maps.Keys(p.buffers)))
	p.memory.Close()
	p.mu.Unlock()
	if len(pending) != 0 {
		p.fail("vkDestroyCommandPool", vk.Errorf(vk.ERROR_UNKNOWN, vk.VUID_vkDestroyCommandPool_commandPool_00041,
			"%d of its command buffers are pending; they complete", len(pending)))
	}
}

func resetCommandPool(_ *device, p *commandPool, flags vk.CommandPoolResetFlags) vk.Result {
	if !p.reset() {
		return p.fail("vkResetCommandPool", vk.Errorf(vk.ERROR_UNKNOWN, vk.VUID_vkResetCommandPool_commandPool_00040,
			"a command buffer of the pool is pending"))
	}
	if flags&vk.COMMAND_POOL_RESET_RELEASE_RESOURCES_BIT != 0 {
		p.memory.Trim()
	}
	return vk.SUCCESS
}

// reset resets every buffer, or none when one is pending.
func (p *commandPool) reset() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, b := range p.buffers {
		if b.life.pending() {
			return false
		}
	}
	done := true
	for _, b := range p.buffers {
		done = b.reset() && done
	}
	return done
}

func trimCommandPool(_ *device, p *commandPool, _ vk.CommandPoolTrimFlags) {
	p.memory.Trim()
}

func allocateCommandBuffers(_ *device, info *vk.CommandBufferAllocateInfo, out *vk.CommandBuffer) vk.Result {
	list := vk.Slice(out, info.CommandBufferCount)
	clear(list)
	p := live(commandPools, info.CommandPool)
	if info.Level != vk.COMMAND_BUFFER_LEVEL_PRIMARY && info.Level != vk.COMMAND_BUFFER_LEVEL_SECONDARY {
		return p.fail("vkAllocateCommandBuffers",
			vk.Errorf(vk.ERROR_UNKNOWN, vk.VUID_VkCommandBufferAllocateInfo_level_parameter,
				"%v is no level", info.Level))
	}
	if err := p.allocate(list, info.Level); err != nil {
		clear(list)
		return p.fail("vkAllocateCommandBuffers",
			vk.Errorf(vk.ERROR_OUT_OF_HOST_MEMORY, vk.NoVUID, "command buffer handle: %w", err))
	}
	return vk.SUCCESS
}

// allocate fills a list with new buffers, or makes none.
func (p *commandPool) allocate(list []vk.CommandBuffer, level vk.CommandBufferLevel) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i := range list {
		b := &commandBuffer{pool: p, level: level}
		slot, err := commandBuffers.Insert(b)
		if err != nil {
			p.free(list[:i])
			return err
		}
		b.handle = vk.CommandBuffer(slot)
		showGraphics(b.handle, p.graphics())
		room := window(b.handle)
		if p.device.strict(config.StrictAsync) {
			room = new(command.Window) // the stubs see none, and leave every command to Go, which records barriers then
		}
		b.stream = command.NewStream(&p.memory, room)
		p.buffers[b.handle] = b
		list[i] = b.handle
	}
	return nil
}

// free ends the buffers of a list and returns those that are pending: their handles are gone, what they
// recorded stays until they complete. p.mu is held.
func (p *commandPool) free(list []vk.CommandBuffer) (pending []*commandBuffer) {
	for _, h := range list {
		b, ok := p.buffers[h]
		if !ok {
			continue
		}
		delete(p.buffers, h)
		if !b.free() {
			pending = append(pending, b)
		}
		commandBuffers.Remove(uintptr(h))
		p.device.forget(object{vk.OBJECT_TYPE_COMMAND_BUFFER, uint64(h)})
	}
	return pending
}

func freeCommandBuffers(_ *device, p *commandPool, count uint32, list *vk.CommandBuffer) {
	p.mu.Lock()
	pending := p.free(vk.Slice(list, count))
	p.mu.Unlock()
	for _, b := range pending {
		b.fail("vkFreeCommandBuffers", vk.Errorf(vk.ERROR_UNKNOWN, vk.VUID_vkFreeCommandBuffers_pCommandBuffers_00047,
			"the command buffer is pending; it completes"))
	}
}
