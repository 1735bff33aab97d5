package descriptor

import (
	"testing"

	"farside/internal/vk"
)

const (
	uniform = vk.DESCRIPTOR_TYPE_UNIFORM_BUFFER
	storage = vk.DESCRIPTOR_TYPE_STORAGE_BUFFER
	block   = vk.DESCRIPTOR_TYPE_INLINE_UNIFORM_BLOCK
)

func poolOf(t *testing.T, flags vk.DescriptorPoolCreateFlags, sets, blocks uint32,
	sizes ...vk.DescriptorPoolSize) *Pool {
	t.Helper()
	p, err := NewPool(flags, sets, sizes, blocks)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func size(t vk.DescriptorType, n uint32) vk.DescriptorPoolSize {
	return vk.DescriptorPoolSize{Type: t, DescriptorCount: n}
}

// fits says how many sets of a layout a pool still gives, and takes them.
func fits(t *testing.T, p *Pool, l *Layout, variable uint32) (sets []*Set) {
	t.Helper()
	for range 100 {
		s, err := p.Allocate(l, variable)
		if err != nil {
			if vk.ResultOf(err) != vk.ERROR_OUT_OF_POOL_MEMORY {
				t.Errorf("a pool without room: %v, %v", vk.ResultOf(err), err)
			}
			return sets
		}
		sets = append(sets, s)
	}
	t.Fatal("the pool has no end")
	return nil
}

func TestPoolsCountEachType(t *testing.T) {
	buffers := layoutOf(t, 0, Binding{Number: 0, Type: uniform, Count: 2}, Binding{Number: 1, Type: storage, Count: 1},
		Binding{Number: 2, Type: uniform, Count: 1})
	blocks := layoutOf(t, 0, Binding{Number: 0, Type: block, Count: 16}, Binding{Number: 1, Type: block, Count: 4})
	last := layoutOf(t, 0, Binding{Number: 0, Type: uniform, Count: 100,
		Flags: vk.DESCRIPTOR_BINDING_VARIABLE_DESCRIPTOR_COUNT_BIT})
	empty := layoutOf(t, 0)
	for name, c := range map[string]struct {
		pool     *Pool
		layout   *Layout
		variable uint32
		want     int
	}{
		"sets":                {poolOf(t, 0, 2, 0, size(uniform, 100), size(storage, 100)), buffers, 0, 2},
		"the scarcer type":    {poolOf(t, 0, 50, 0, size(uniform, 14), size(storage, 100)), buffers, 0, 4},
		"the other one":       {poolOf(t, 0, 50, 0, size(uniform, 100), size(storage, 3)), buffers, 0, 3},
		"sizes add up":        {poolOf(t, 0, 50, 0, size(uniform, 4), size(storage, 100), size(uniform, 5)), buffers, 0, 3},
		"a type that lacks":   {poolOf(t, 0, 50, 0, size(uniform, 100)), buffers, 0, 0},
		"bytes of blocks":     {poolOf(t, 0, 50, 50, size(block, 60)), blocks, 0, 3},
		"number of blocks":    {poolOf(t, 0, 50, 5, size(block, 600)), blocks, 0, 2},
		"variable count":      {poolOf(t, 0, 50, 0, size(uniform, 100)), last, 30, 3},
		"variable count of 0": {poolOf(t, 0, 5, 0), last, 0, 5},
		"nothing":             {poolOf(t, 0, 3, 0), empty, 0, 3},
		"types of no binding": {poolOf(t, 0, 3, 0, size(vk.DESCRIPTOR_TYPE_MUTABLE_EXT, 7), size(-5, 1), size(1<<30, 1)),
			empty, 0, 3},
	} {
		sets := fits(t, c.pool, c.layout, c.variable)
		if len(sets) != c.want {
			t.Errorf("%s: %d sets, want %d", name, len(sets), c.want)
		}
		for _, s := range sets {
			c.pool.Free(s)
		}
		if again := fits(t, c.pool, c.layout, c.variable); len(again) != c.want {
			t.Errorf("%s: %d sets after all were freed, want %d", name, len(again), c.want)
		}
		c.pool.Reset()
		if again := fits(t, c.pool, c.layout, c.variable); len(again) != c.want {
			t.Errorf("%s: %d sets after a reset, want %d", name, len(again), c.want)
		}
	}
}

func TestRulesOfPools(t *testing.T) {
	_, err := NewPool(0, 0, nil, 0)
	mustFail(t, err, "VUID-VkDescriptorPoolCreateInfo-descriptorPoolOverallocation-09227")
	_, err = NewPool(0, 1, []vk.DescriptorPoolSize{size(block, 6)}, 1)
	mustFail(t, err, "VUID-VkDescriptorPoolSize-type-02218")
	_, err = NewPool(0, 1, []vk.DescriptorPoolSize{size(block, 8)}, 0)
	mustFail(t, err, "VUID-VkDescriptorPoolCreateInfo-pPoolSizes-09424")

	p := poolOf(t, 0, 8, 0, size(storage, 8))
	_, err = p.Allocate(layoutOf(t, vk.DESCRIPTOR_SET_LAYOUT_CREATE_PUSH_DESCRIPTOR_BIT), 0)
	mustFail(t, err, "VUID-VkDescriptorSetAllocateInfo-pSetLayouts-00308")
	late := layoutOf(t, vk.DESCRIPTOR_SET_LAYOUT_CREATE_UPDATE_AFTER_BIND_POOL_BIT,
		Binding{Type: storage, Count: 1, Flags: vk.DESCRIPTOR_BINDING_UPDATE_AFTER_BIND_BIT})
	_, err = p.Allocate(late, 0)
	mustFail(t, err, "VUID-VkDescriptorSetAllocateInfo-pSetLayouts-03044")
	if _, err = poolOf(t, vk.DESCRIPTOR_POOL_CREATE_UPDATE_AFTER_BIND_BIT, 8, 0, size(storage, 8)).Allocate(late,
		0); err != nil {
		t.Error(err)
	}
	_, err = p.Allocate(layoutOf(t, 0, Binding{Type: storage, Count: 2,
		Flags: vk.DESCRIPTOR_BINDING_VARIABLE_DESCRIPTOR_COUNT_BIT}), 3)
	mustFail(t, err, "VUID-VkDescriptorSetAllocateInfo-pSetLayouts-09380")
}
