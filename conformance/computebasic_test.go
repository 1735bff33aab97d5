package conformance

import (
	"farside/internal/vk"
)

// computeBasicCases mirror compute.pipeline.basic.
func computeBasicCases() []definition {
	return []definition{
		{name: "compute.basic.ids", compute: true, valid: true, run: func(c *Case) {
			for _, t := range []struct{ size, groups [3]uint32 }{
				{[3]uint32{1, 1, 1}, [3]uint32{1, 1, 1}}, {[3]uint32{64, 1, 1}, [3]uint32{3, 1, 1}}, {[3]uint32{3, 5, 2}, [3]uint32{2, 3, 4}},
				{[3]uint32{1, 1, 7}, [3]uint32{1, 5, 1}}, {[3]uint32{128, 1, 1}, [3]uint32{1, 1, 9}},
			} {
				c.ids(t.size, t.groups, [3]uint32{}, 0)
			}
		}},
		{name: "compute.device_group.dispatch_base", compute: true, valid: true, run: func(c *Case) {
			c.ids([3]uint32{4, 2, 1}, [3]uint32{3, 2, 2}, [3]uint32{5, 0, 7}, vk.PipelineCreateFlags(vk.PIPELINE_CREATE_DISPATCH_BASE_BIT))
		}},
	}
}

// ids checks every id of every invocation of a dispatch.
func (c *Case) ids(size, groups, base [3]uint32, flags vk.PipelineCreateFlags) {
	type ids struct{ groups, size, group, local, global [4]uint32 }
	perGroup := size[0] * size[1] * size[2]
	got := make([]ids, perGroup*groups[0]*groups[1]*groups[2])
	var want []ids
	for gz := range groups[2] {
		for gy := range groups[1] {
			for gx := range groups[0] {
				for i := range perGroup {
					g := [3]uint32{base[0] + gx, base[1] + gy, base[2] + gz}
					l := [3]uint32{i % size[0], i / size[0] % size[1], i / (size[0] * size[1])}
					want = append(want, ids{[4]uint32{groups[0], groups[1], groups[2], 1}, [4]uint32{size[0], size[1], size[2], 2},
						[4]uint32{g[0], g[1], g[2], 3}, [4]uint32{l[0], l[1], l[2], i},
						[4]uint32{g[0]*size[0] + l[0], g[1]*size[1] + l[1], g[2]*size[2] + l[2], 4}})
				}
			}
		}
	}
	d := dispatch{shader: glsl("basic/ids.comp"), groups: groups, base: base, buffers: []any{got}, pipelineFlags: flags,
		push: []uint32{base[0], base[1], base[2], perGroup, groups[0], groups[1], groups[2], 0}}
	for i := range size {
		d.spec = append(d.spec, constant(uint32(i), size[i:i+1]))
	}
	c.dispatch(d)
	wantSlice(c, "ids", got, want)
}
