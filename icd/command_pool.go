package icd

import (
	"maps"
	"slices"
	"sync"

	"farside/internal/command"
	"farside/internal/handle"
	"farside/internal/vk"
)

var commandPools = handle.NewTable[commandPool](uint8(vk.OBJECT_TYPE_COMMAND_POOL), "VkCommandPool")

// commandPool is a VkCommandPool. The application keeps a pool and its buffers to one thread at a time; mu
// only guards the list against a device being destroyed meanwhile.
//
// VK_COMMAND_POOL_CREATE_TRANSIENT_BIT changes nothing: streams are cheap to record anew in any case.
type commandPool struct {
	handle  vk.CommandPool
	device  *device
	family  uint32
	flags   vk.CommandPoolCreateFlags
	memory  command.Pool
	mu      sync.Mutex
	buffers map[vk.CommandBuffer]*commandBuffer
}

func createCommandPool(h vk.Device, info *vk.CommandPoolCreateInfo, _ *vk.AllocationCallbacks, out *vk.CommandPool) vk.Result {
	*out = 0
	d := devices.Get(uintptr(h))
	if d == nil {
		return staleHandle("vkCreateCommandPool", vk.OBJECT_TYPE_DEVICE, uint64(h))
	}
	switch {
	case !slices.ContainsFunc(d.queues, func(q *queue) bool { return q.family == info.QueueFamilyIndex }):
		return d.fail("vkCreateCommandPool", vk.Errorf(vk.ERROR_UNKNOWN, "VUID-vkCreateCommandPool-queueFamilyIndex-01937",
			"the device was created without a queue of family %d", info.QueueFamilyIndex))
	case info.Flags&vk.COMMAND_POOL_CREATE_PROTECTED_BIT != 0:
		return d.fail("vkCreateCommandPool", vk.Errorf(vk.ERROR_UNKNOWN, "VUID-VkCommandPoolCreateInfo-flags-02860",
			"the feature protectedMemory is not supported"))
	}
	p := &commandPool{device: d, family: info.QueueFamilyIndex, flags: info.Flags, buffers: map[vk.CommandBuffer]*commandBuffer{}}
	p.handle = vk.CommandPool(commandPools.Insert(p))
	*out = p.handle
	d.created(vk.OBJECT_TYPE_COMMAND_POOL, uint64(*out))
	return vk.SUCCESS
}

// fail reports err as the outcome of command on this pool.
func (p *commandPool) fail(command string, err error) vk.Result {
	return p.device.physical.instance.fail(command, err, object{vk.OBJECT_TYPE_COMMAND_POOL, uint64(p.handle)})
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
	list := slices.Collect(maps.Keys(p.buffers))
	pending := p.free(list)
	p.memory.Close()
	p.mu.Unlock()
	if len(pending) != 0 {
		p.fail("vkDestroyCommandPool", vk.Errorf(vk.ERROR_UNKNOWN, "VUID-vkDestroyCommandPool-commandPool-00041",
			"%d of its command buffers are pending; they complete", len(pending)))
	}
	p.device.destroyed(vk.OBJECT_TYPE_COMMAND_POOL, uint64(handle))
}

func resetCommandPool(h vk.Device, handle vk.CommandPool, flags vk.CommandPoolResetFlags) vk.Result {
	p := commandPools.Get(uint64(handle))
	if p == nil {
		return staleHandle("vkResetCommandPool", vk.OBJECT_TYPE_COMMAND_POOL, uint64(handle))
	}
	if !p.reset() {
		return p.fail("vkResetCommandPool", vk.Errorf(vk.ERROR_UNKNOWN, "VUID-vkResetCommandPool-commandPool-00040",
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
	if info.Level != vk.COMMAND_BUFFER_LEVEL_PRIMARY && info.Level != vk.COMMAND_BUFFER_LEVEL_SECONDARY {
		return p.fail("vkAllocateCommandBuffers", vk.Errorf(vk.ERROR_UNKNOWN, "VUID-VkCommandBufferAllocateInfo-level-parameter",
			"%v is no level", info.Level))
	}
	if err := p.allocate(list, info.Level); err != nil {
		clear(list)
		return p.fail("vkAllocateCommandBuffers", vk.Errorf(vk.ERROR_OUT_OF_HOST_MEMORY, "", "command buffer handle: %w", err))
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
		b.stream = command.NewStream(&p.memory, window(b.handle))
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

func freeCommandBuffers(h vk.Device, handle vk.CommandPool, count uint32, list *vk.CommandBuffer) {
	p := commandPools.Get(uint64(handle))
	if p == nil {
		staleHandle("vkFreeCommandBuffers", vk.OBJECT_TYPE_COMMAND_POOL, uint64(handle))
		return
	}
	p.mu.Lock()
	pending := p.free(vk.Slice(list, count))
	p.mu.Unlock()
	for _, b := range pending {
		b.fail("vkFreeCommandBuffers", vk.Errorf(vk.ERROR_UNKNOWN, "VUID-vkFreeCommandBuffers-pCommandBuffers-00047",
			"the command buffer is pending; it completes"))
	}
}
