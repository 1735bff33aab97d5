package descriptor

import (
	"sync"

	"farside/internal/vk"
)

// types is the number of descriptor types that pools count; inline uniform blocks, by their bytes, are the last.
const types = int(vk.DESCRIPTOR_TYPE_INPUT_ATTACHMENT) + 2

// capacity is what a pool has, or what a set takes of it.
type capacity struct {
	sets        uint64
	descriptors [types]uint64
	blocks      uint64 // inline uniform blocks
}

// index is the place of a type in a capacity, -1 for one that is not counted since nothing can have it.
func index(t vk.DescriptorType) int {
	switch {
	case t == vk.DESCRIPTOR_TYPE_INLINE_UNIFORM_BLOCK:
		return types - 1
	case InfoSize(t) > 0:
		return int(t)
	}
	return -1
}

// Pool counts what sets take of a VkDescriptorPool. The memory is of each set itself, so that there is no
// fragmentation. All methods may be called from any goroutine.
type Pool struct {
	flags vk.DescriptorPoolCreateFlags
	size  capacity

	mu   sync.Mutex
	left capacity
}

// NewPool makes a pool for maxSets sets, which together have the descriptors of sizes; inlineBlocks is how many
// bindings of theirs may be inline uniform blocks. It fails with the VUID of VkDescriptorPoolCreateInfo that is broken.
func NewPool(flags vk.DescriptorPoolCreateFlags, maxSets uint32, sizes []vk.DescriptorPoolSize,
	inlineBlocks uint32) (*Pool, error) {
	if maxSets == 0 {
		return nil, vk.Errorf(vk.ERROR_UNKNOWN, vk.VUID_VkDescriptorPoolCreateInfo_descriptorPoolOverallocation_09227,
			"maxSets is 0")
	}
	p := &Pool{flags: flags, size: capacity{sets: uint64(maxSets), blocks: uint64(inlineBlocks)}}
	for i := range sizes {
		t, n := sizes[i].Type, sizes[i].DescriptorCount
		switch {
		case t == vk.DESCRIPTOR_TYPE_INLINE_UNIFORM_BLOCK && n%4 != 0:
			return nil, vk.Errorf(vk.ERROR_UNKNOWN, vk.VUID_VkDescriptorPoolSize_type_02218,
				"%d bytes of inline uniform blocks are no multiple of 4", n)
		case t == vk.DESCRIPTOR_TYPE_INLINE_UNIFORM_BLOCK && n > 0 && inlineBlocks == 0:
			return nil, vk.Errorf(vk.ERROR_UNKNOWN, vk.VUID_VkDescriptorPoolCreateInfo_pPoolSizes_09424,
				"%d bytes of inline uniform blocks, and maxInlineUniformBlockBindings is 0", n)
		}
		if k := index(t); k >= 0 {
			p.size.descriptors[k] += uint64(n)
		}
	}
	p.left = p.size
	return p, nil
}

// Flags are those that the pool was made with.
func (p *Pool) Flags() vk.DescriptorPoolCreateFlags { return p.flags }

// need is what a set of a layout takes.
func need(l *Layout, variable uint32) capacity {
	c := capacity{sets: 1}
	for i := range l.Bindings {
		b := &l.Bindings[i]
		n := b.count(variable)
		if n == 0 {
			continue
		}
		c.descriptors[index(b.Type)] += uint64(n)
		if b.inline() {
			c.blocks++
		}
	}
	return c
}

// Allocate makes a set. variable is the count of the binding with a variable count, if there is one. It fails with
// VK_ERROR_OUT_OF_POOL_MEMORY, and with the rule of VkDescriptorSetAllocateInfo that is broken.
func (p *Pool) Allocate(l *Layout, variable uint32) (*Set, error) {
	const late, latePool = vk.DESCRIPTOR_SET_LAYOUT_CREATE_UPDATE_AFTER_BIND_POOL_BIT,
		vk.DESCRIPTOR_POOL_CREATE_UPDATE_AFTER_BIND_BIT
	switch {
	case l.Flags&vk.DESCRIPTOR_SET_LAYOUT_CREATE_PUSH_DESCRIPTOR_BIT != 0:
		return nil, vk.Errorf(vk.ERROR_UNKNOWN, vk.VUID_VkDescriptorSetAllocateInfo_pSetLayouts_00308,
			"the layout is for push descriptors")
	case l.Flags&late != 0 && p.flags&latePool == 0:
		return nil, vk.Errorf(vk.ERROR_UNKNOWN, vk.VUID_VkDescriptorSetAllocateInfo_pSetLayouts_03044,
			"the layout has %v, the pool has not %v", late, latePool)
	}
	if n := len(l.Bindings); n > 0 && l.Bindings[n-1].Variable() && variable > l.Bindings[n-1].Count {
		return nil, vk.Errorf(vk.ERROR_UNKNOWN, vk.VUID_VkDescriptorSetAllocateInfo_pSetLayouts_09380,
			"a variable count of %d, the layout allows %d", variable, l.Bindings[n-1].Count)
	}
	if err := p.take(need(l, variable)); err != nil {
		return nil, err
	}
	return NewSet(l, variable), nil
}

// take takes all of n from what is left, or nothing.
func (p *Pool) take(n capacity) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	short := func(what string, wanted, left uint64) error {
		return vk.Errorf(vk.ERROR_OUT_OF_POOL_MEMORY, vk.NoVUID, "the pool has %d %s left, the set takes %d", left, what,
			wanted)
	}
	switch {
	case n.sets > p.left.sets:
		return short("sets", n.sets, p.left.sets)
	case n.blocks > p.left.blocks:
		return short("inline uniform blocks", n.blocks, p.left.blocks)
	}
	for i := range n.descriptors {
		if n.descriptors[i] > p.left.descriptors[i] {
			t := vk.DescriptorType(i)
			if i == types-1 {
				t = vk.DESCRIPTOR_TYPE_INLINE_UNIFORM_BLOCK
			}
			return short("of "+t.String(), n.descriptors[i], p.left.descriptors[i])
		}
	}
	p.left.sets -= n.sets
	p.left.blocks -= n.blocks
	for i := range n.descriptors {
		p.left.descriptors[i] -= n.descriptors[i]
	}
	return nil
}

// Free gives back what a set of this pool has taken.
func (p *Pool) Free(s *Set) {
	n := need(s.layout, s.variable)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.left.sets += n.sets
	p.left.blocks += n.blocks
	for i := range n.descriptors {
		p.left.descriptors[i] += n.descriptors[i]
	}
}

// Reset gives back what all of its sets have taken.
func (p *Pool) Reset() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.left = p.size
}
