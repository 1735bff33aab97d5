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
	child
	pool *descriptor.Pool
	late int64 // its descriptors, if it is for update after bind

	mu   sync.Mutex
	sets map[vk.DescriptorSet]*descriptorSet
}

// descriptorSet is a VkDescriptorSet. Queues keep the field set, which outlives the handle.
type descriptorSet struct {
	handle vk.DescriptorSet
	pool   *descriptorPool
	set    *descriptor.Set
}

func (s *descriptorSet) owner() *device { return s.pool.device }

func createDescriptorPool(
	d *device, info *vk.DescriptorPoolCreateInfo, _ *vk.AllocationCallbacks, out *vk.DescriptorPool,
) vk.Result {
	blocks := uint32(0)
	if b := vk.Find[vk.DescriptorPoolInlineUniformBlockCreateInfo](info.PNext); b != nil {
		blocks = b.MaxInlineUniformBlockBindings
	}
	counts, err := descriptor.NewPool(info.Flags, info.MaxSets, vk.Slice(info.PPoolSizes, info.PoolSizeCount), blocks)
	if err != nil {
		return d.fail("vkCreateDescriptorPool", err)
	}
	p := &descriptorPool{child: child{device: d}, pool: counts, sets: map[vk.DescriptorSet]*descriptorSet{}}
	if info.Flags&vk.DESCRIPTOR_POOL_CREATE_UPDATE_AFTER_BIND_BIT != 0 {
		p.late = descriptorsOf(vk.Slice(info.PPoolSizes, info.PoolSizeCount), blocks)
	}
	if most := d.physical.limits.indexing.MaxUpdateAfterBindDescriptorsInAllPools; d.lateDescriptors.Add(p.late) >
		int64(most) {
		d.lateDescriptors.Add(-p.late)
		// "[…] may fail with the error VK_ERROR_FRAGMENTATION if the total number […] exceeds"
		return d.fail("vkCreateDescriptorPool", vk.Errorf(vk.ERROR_FRAGMENTATION, vk.NoVUID,
			"with %d more, pools have more descriptors than maxUpdateAfterBindDescriptorsInAllPools, %d", p.late, most))
	}
	*out = vk.DescriptorPool(d.add(p))
	return vk.SUCCESS
}

// descriptorsOf is how many descriptors a pool has.
func descriptorsOf(sizes []vk.DescriptorPoolSize, blocks uint32) int64 {
	all := int64(blocks)
	for i := range sizes {
		if sizes[i].Type != vk.DESCRIPTOR_TYPE_INLINE_UNIFORM_BLOCK { // whose count is bytes
			all += int64(sizes[i].DescriptorCount)
		}
	}
	return all
}

// release frees the pool's sets.
func (p *descriptorPool) release() {
	p.reset()
	p.device.lateDescriptors.Add(-p.late)
}

func resetDescriptorPool(_ *device, p *descriptorPool, _ vk.DescriptorPoolResetFlags) vk.Result {
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

func allocateDescriptorSets(_ *device, info *vk.DescriptorSetAllocateInfo, out *vk.DescriptorSet) vk.Result {
	list := vk.Slice(out, info.DescriptorSetCount)
	clear(list)
	p := live(descriptorPools, info.DescriptorPool)
	err := p.allocate(info, list)
	switch {
	case err == nil:
		return vk.SUCCESS
	case vk.ResultOf(err) == vk.ERROR_OUT_OF_POOL_MEMORY:
		// Many applications allocate until a pool has no more, and make another one.
		p.device.physical.instance.report(vk.DEBUG_UTILS_MESSAGE_SEVERITY_INFO_BIT_EXT,
			vk.DEBUG_UTILS_MESSAGE_TYPE_GENERAL_BIT_EXT, "",
			"vkAllocateDescriptorSets: "+err.Error(), object{vk.OBJECT_TYPE_DESCRIPTOR_POOL, uint64(p.handle)})
		return vk.ERROR_OUT_OF_POOL_MEMORY
	}
	return p.fail("vkAllocateDescriptorSets", err)
}

// allocate fills list, all of it or, with an error, nothing. A wild pointer in info leaves the pool unlocked.
func (p *descriptorPool) allocate(info *vk.DescriptorSetAllocateInfo, list []vk.DescriptorSet) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	err := p.fill(info, list)
	if err != nil {
		for _, s := range list {
			p.free(s)
		}
		clear(list)
	}
	return err
}

// fill fills list from the front, as far as it gets. p.mu is held.
func (p *descriptorPool) fill(info *vk.DescriptorSetAllocateInfo, list []vk.DescriptorSet) error {
	var counts []uint32
	if v := vk.Find[vk.DescriptorSetVariableDescriptorCountAllocateInfo](info.PNext); v != nil &&
		v.DescriptorSetCount > 0 {
		if v.DescriptorSetCount != info.DescriptorSetCount {
			return vk.Errorf(vk.ERROR_UNKNOWN,
				vk.VUID_VkDescriptorSetVariableDescriptorCountAllocateInfo_descriptorSetCount_03045,
				"variable counts for %d sets, there are %d", v.DescriptorSetCount, info.DescriptorSetCount)
		}
		counts = vk.Slice(v.PDescriptorCounts, v.DescriptorSetCount)
	}
	layouts := vk.Slice(info.PSetLayouts, info.DescriptorSetCount)
	for i := range list {
		l := live(descriptorSetLayouts, layouts[i])
		variable := uint32(0)
		if i < len(counts) {
			variable = counts[i]
		}
		set, err := p.pool.Allocate(l.layout, variable)
		if err != nil {
			return err
		}
		s := &descriptorSet{pool: p, set: set}
		s.handle = vk.DescriptorSet(descriptorSets.Insert(s))
		list[i] = s.handle
		p.sets[s.handle] = s
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

// freeAll ends those of the sets that are the pool's.
func (p *descriptorPool) freeAll(sets []vk.DescriptorSet) (err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, s := range sets {
		if s != 0 && !p.free(s) {
			err = vk.Errorf(vk.ERROR_UNKNOWN, vk.VUID_vkFreeDescriptorSets_pDescriptorSets_00310,
				"%#x is no live descriptor set of the pool", uint64(s))
		}
	}
	return err
}

func freeDescriptorSets(_ *device, p *descriptorPool, count uint32, sets *vk.DescriptorSet) vk.Result {
	if p.pool.Flags()&vk.DESCRIPTOR_POOL_CREATE_FREE_DESCRIPTOR_SET_BIT == 0 {
		p.device.forgives(vk.VUID_vkFreeDescriptorSets_descriptorPool_00312,
			"the pool was created without VK_DESCRIPTOR_POOL_CREATE_FREE_DESCRIPTOR_SET_BIT")
	}
	if err := p.freeAll(vk.Slice(sets, count)); err != nil {
		return p.fail("vkFreeDescriptorSets", err)
	}
	return vk.SUCCESS
}
