package icd

import (
	"sync"

	"farside/internal/descriptor"
	"farside/internal/handle"
	"farside/internal/vk"
)

var (
	descriptorPools = handle.NewTable[descriptorPool](uint8(vk.OBJECT_TYPE_DESCRIPTOR_POOL), "VkDescriptorPool")
	descriptorSets  = handle.NewTable[descriptorSet](uint8(vk.OBJECT_TYPE_DESCRIPTOR_SET), "VkDescriptorSet")
)

// descriptorPool is a VkDescriptorPool.
type descriptorPool struct {
	device *device
	handle vk.DescriptorPool
	pool   *descriptor.Pool

	mu   sync.Mutex
	sets map[vk.DescriptorSet]*descriptorSet
}

// descriptorSet is a VkDescriptorSet. Who executes commands keeps the set itself.
type descriptorSet struct {
	pool *descriptorPool
	set  *descriptor.Set
}

// fail reports err as the outcome of command on this pool.
func (p *descriptorPool) fail(command string, err error) vk.Result {
	return p.device.physical.instance.fail(command, err, object{vk.OBJECT_TYPE_DESCRIPTOR_POOL, uint64(p.handle)})
}

func createDescriptorPool(h vk.Device, info *vk.DescriptorPoolCreateInfo, _ *vk.AllocationCallbacks, out *vk.DescriptorPool) vk.Result {
	*out = 0
	d := devices.Get(uintptr(h))
	if d == nil {
		return staleHandle("vkCreateDescriptorPool", vk.OBJECT_TYPE_DEVICE, uint64(h))
	}
	blocks := uint32(0)
	if b := vk.Find[vk.DescriptorPoolInlineUniformBlockCreateInfo](info.PNext); b != nil {
		blocks = b.MaxInlineUniformBlockBindings
	}
	counts, err := descriptor.NewPool(info.Flags, info.MaxSets, vk.Slice(info.PPoolSizes, info.PoolSizeCount), blocks)
	if err != nil {
		return d.fail("vkCreateDescriptorPool", err)
	}
	p := &descriptorPool{device: d, pool: counts, sets: map[vk.DescriptorSet]*descriptorSet{}}
	p.handle = vk.DescriptorPool(descriptorPools.Insert(p))
	*out = p.handle
	d.created(vk.OBJECT_TYPE_DESCRIPTOR_POOL, uint64(p.handle))
	return vk.SUCCESS
}

func destroyDescriptorPool(h vk.Device, handle vk.DescriptorPool, _ *vk.AllocationCallbacks) {
	if handle == 0 {
		return
	}
	p := descriptorPools.Remove(uint64(handle))
	if p == nil {
		staleHandle("vkDestroyDescriptorPool", vk.OBJECT_TYPE_DESCRIPTOR_POOL, uint64(handle))
		return
	}
	p.reset()
	p.device.destroyed(vk.OBJECT_TYPE_DESCRIPTOR_POOL, uint64(handle))
}

func resetDescriptorPool(h vk.Device, handle vk.DescriptorPool, _ vk.DescriptorPoolResetFlags) vk.Result {
	p := descriptorPools.Get(uint64(handle))
	if p == nil {
		return staleHandle("vkResetDescriptorPool", vk.OBJECT_TYPE_DESCRIPTOR_POOL, uint64(handle))
	}
	p.reset()
	return vk.SUCCESS
}

// reset ends all sets of the pool.
func (p *descriptorPool) reset() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for h := range p.sets {
		p.forget(h)
	}
	p.pool.Reset()
}

// forget ends the handle of a set. p.mu is held.
func (p *descriptorPool) forget(h vk.DescriptorSet) {
	delete(p.sets, h)
	descriptorSets.Remove(uint64(h))
	p.device.forget(object{vk.OBJECT_TYPE_DESCRIPTOR_SET, uint64(h)})
}

func allocateDescriptorSets(h vk.Device, info *vk.DescriptorSetAllocateInfo, out *vk.DescriptorSet) vk.Result {
	list := vk.Slice(out, info.DescriptorSetCount)
	clear(list)
	p := descriptorPools.Get(uint64(info.DescriptorPool))
	if p == nil {
		return staleHandle("vkAllocateDescriptorSets", vk.OBJECT_TYPE_DESCRIPTOR_POOL, uint64(info.DescriptorPool))
	}
	p.mu.Lock()
	err := p.allocate(info, list)
	if err != nil {
		for _, s := range list {
			p.free(s)
		}
		clear(list)
	}
	p.mu.Unlock()
	switch {
	case err == nil:
		return vk.SUCCESS
	case vk.ResultOf(err) == vk.ERROR_OUT_OF_POOL_MEMORY:
		// Many applications allocate until a pool has no more, and make another one.
		p.device.physical.instance.report(vk.DEBUG_UTILS_MESSAGE_SEVERITY_INFO_BIT_EXT, vk.DEBUG_UTILS_MESSAGE_TYPE_GENERAL_BIT_EXT, "",
			"vkAllocateDescriptorSets: "+err.Error(), object{vk.OBJECT_TYPE_DESCRIPTOR_POOL, uint64(p.handle)})
		return vk.ERROR_OUT_OF_POOL_MEMORY
	}
	return p.fail("vkAllocateDescriptorSets", err)
}

// allocate fills list from the front, as far as it gets. p.mu is held.
func (p *descriptorPool) allocate(info *vk.DescriptorSetAllocateInfo, list []vk.DescriptorSet) error {
	var counts []uint32
	if v := vk.Find[vk.DescriptorSetVariableDescriptorCountAllocateInfo](info.PNext); v != nil && v.DescriptorSetCount > 0 {
		if v.DescriptorSetCount != info.DescriptorSetCount {
			return vk.Errorf(vk.ERROR_UNKNOWN, "VUID-VkDescriptorSetVariableDescriptorCountAllocateInfo-descriptorSetCount-03045",
				"variable counts for %d sets, there are %d", v.DescriptorSetCount, info.DescriptorSetCount)
		}
		counts = vk.Slice(v.PDescriptorCounts, v.DescriptorSetCount)
	}
	layouts := vk.Slice(info.PSetLayouts, info.DescriptorSetCount)
	for i := range list {
		l := descriptorSetLayouts.Get(uint64(layouts[i]))
		if l == nil {
			return vk.Errorf(vk.ERROR_UNKNOWN, "VUID-VkDescriptorSetAllocateInfo-pSetLayouts-parameter", "%#x is no live descriptor set layout", uint64(layouts[i]))
		}
		variable := uint32(0)
		if i < len(counts) {
			variable = counts[i]
		}
		set, err := p.pool.Allocate(l.layout, variable)
		if err != nil {
			return err
		}
		s := &descriptorSet{p, set}
		list[i] = vk.DescriptorSet(descriptorSets.Insert(s))
		p.sets[list[i]] = s
	}
	return nil
}

// free ends a set of the pool and gives back what it took; it does nothing for any other handle. p.mu is held.
func (p *descriptorPool) free(h vk.DescriptorSet) bool {
	s, ok := p.sets[h]
	if ok {
		p.forget(h)
		p.pool.Free(s.set)
	}
	return ok
}

func freeDescriptorSets(h vk.Device, handle vk.DescriptorPool, count uint32, sets *vk.DescriptorSet) vk.Result {
	p := descriptorPools.Get(uint64(handle))
	if p == nil {
		return staleHandle("vkFreeDescriptorSets", vk.OBJECT_TYPE_DESCRIPTOR_POOL, uint64(handle))
	}
	if p.pool.Flags()&vk.DESCRIPTOR_POOL_CREATE_FREE_DESCRIPTOR_SET_BIT == 0 {
		return p.fail("vkFreeDescriptorSets", vk.Errorf(vk.ERROR_UNKNOWN, "VUID-vkFreeDescriptorSets-descriptorPool-00312",
			"the pool was created without VK_DESCRIPTOR_POOL_CREATE_FREE_DESCRIPTOR_SET_BIT"))
	}
	var err error
	p.mu.Lock()
	for _, s := range vk.Slice(sets, count) {
		if s != 0 && !p.free(s) {
			err = vk.Errorf(vk.ERROR_UNKNOWN, "VUID-vkFreeDescriptorSets-pDescriptorSets-00310", "%#x is no live descriptor set of the pool", uint64(s))
		}
	}
	p.mu.Unlock()
	if err != nil {
		return p.fail("vkFreeDescriptorSets", err)
	}
	return vk.SUCCESS
}
