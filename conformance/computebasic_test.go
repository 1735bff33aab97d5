package conformance

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"farside/conformance/shaders"
	"farside/conformance/vulkan"
	"farside/internal/vk"
)

// random32 are n random words, the same each time.
func random32(n int, seed uint64) []uint32 {
	rng := rand.New(rand.NewPCG(seed, 1))
	w := make([]uint32, n)
	for i := range w {
		w[i] = rng.Uint32()
	}
	return w
}

// computeBasicCases mirror compute.pipeline.basic.
func computeBasicCases() []definition {
	row := func(name string, run func(c *Case)) definition {
		return definition{name: "compute.basic." + name, compute: true, valid: true, run: run}
	}
	idSizes := func(c *Case, target string) {
		for _, t := range []struct{ size, groups [3]uint32 }{
			{[3]uint32{1, 1, 1}, [3]uint32{1, 1, 1}}, {[3]uint32{64, 1, 1}, [3]uint32{3, 1, 1}},
			{[3]uint32{3, 5, 2}, [3]uint32{2, 3, 4}},
			{[3]uint32{1, 1, 7}, [3]uint32{1, 5, 1}}, {[3]uint32{128, 1, 1}, [3]uint32{1, 1, 9}},
		} {
			c.ids(target, t.size, t.groups, [3]uint32{}, 0)
		}
	}
	all := []definition{
		row("ids", func(c *Case) { idSizes(c, "vulkan1.1") }),
		{name: "compute.basic.ids_of_device_version", compute: true, valid: true, run: func(c *Case) { idSizes(c, "") }},
		{name: "compute.device_group.dispatch_base", compute: true, valid: true, run: func(c *Case) {
			c.ids("vulkan1.1", [3]uint32{4, 2, 1}, [3]uint32{3, 2, 2}, [3]uint32{5, 0, 7},
				vk.PipelineCreateFlags(vk.PIPELINE_CREATE_DISPATCH_BASE_BIT))
		}},
		row("max_local_size", func(c *Case) {
			l := c.inst.Properties2(c.pd, nil).Properties.Limits
			for axis := range 3 {
				size := [3]uint32{1, 1, 1}
				size[axis] = min(l.MaxComputeWorkGroupSize[axis], l.MaxComputeWorkGroupInvocations)
				c.ids("vulkan1.1", size, [3]uint32{2, 1, 1}, [3]uint32{}, 0)
			}
		}),
		row("shared_barrier", func(c *Case) {
			for _, size := range []int{1, 2, 7, 8, 33, 64, 128} {
				const rounds, groups = 5, 3
				data := random32(size*groups, 1)
				want := slices.Clone(data)
				for g := range groups {
					part := want[g*size:][:size]
					for r := range rounds {
						for i := range part {
							part[i] += uint32(r)
						}
						slices.Reverse(part)
					}
				}
				c.dispatch(dispatch{shader: glsl("basic/reverse.comp", fmt.Sprint("SIZE=", size), fmt.Sprint("ROUNDS=", rounds)),
					groups: [3]uint32{groups}, buffers: []any{data}})
				wantSlice(c, fmt.Sprintf("%d invocations", size), data, want)
			}
		}),
		row("shared_reduction", func(c *Case) {
			const size, groups = 128, 500
			values := random32(size*groups, 2)
			sums, want := make([]uint32, groups), make([]uint32, groups)
			for i, v := range values {
				want[i/size] += v
			}
			c.dispatch(dispatch{shader: glsl("basic/reduce.comp", fmt.Sprint("SIZE=", size)), groups: [3]uint32{groups},
				buffers: []any{values, sums}})
			wantSlice(c, "sums", sums, want)
		}),
		row("ssbo_rw_3d", func(c *Case) {
			nx, ny, nz := 8*3, 4*5, 2*7
			from := random32(nx*ny*nz, 3)
			to, want := make([]uint32, len(from)), make([]uint32, len(from))
			for z := range nz {
				for y := range ny {
					for x := range nx {
						want[(x*ny+y)*nz+z] = ^from[(z*ny+y)*nx+x]
					}
				}
			}
			c.dispatch(dispatch{shader: glsl("basic/transpose.comp"), groups: [3]uint32{3, 5, 7}, buffers: []any{from, to}})
			wantSlice(c, "transposed", to, want)
		}),
		row("ubo_to_ssbo", func(c *Case) {
			data := random32(1000, 4)
			want := slices.Clone(data)
			for i := range want {
				want[i] = want[i]*3 + 17
			}
			c.dispatch(dispatch{shader: glsl("basic/scale.comp"), groups: [3]uint32{(1000 + 63) / 64},
				buffers: []any{data, uniform{[]uint32{3, 17}}}})
			wantSlice(c, "scaled", data, want)
		}),
		row("lengths", func(c *Case) {
			lengths := make([]uint32, 3)
			c.dispatch(dispatch{shader: glsl("basic/multi.comp"),
				buffers: []any{make([]uint32, 4+2*13), make([]uint32, 77), make([]uint32, 8+4*5), lengths}})
			wantSlice(c, "lengths", lengths, []uint32{13, 77, 5})
		}),
		row("many_groups", func(c *Case) {
			data, want := make([]uint32, 1+32*5000), make([]uint32, 1+32*5000)
			want[0] = 32 * 5000 * 3
			for i := range want[1:] {
				want[1+i] = 3
			}
			c.dispatch(dispatch{shader: glsl("basic/count.comp"), groups: [3]uint32{5000}, buffers: []any{data},
				push: []uint32{3}})
			wantSlice(c, "counts", data, want)
		}),
		row("empty_shader", func(c *Case) {
			for _, size := range []int{1, 128} {
				c.dispatch(dispatch{shader: glsl("spirv/empty.spvasm", fmt.Sprint("SIZE=", size)), groups: [3]uint32{10}})
			}
		}),
		row("empty_dispatch", func(c *Case) {
			d := dispatch{shader: glsl("basic/count.comp"), buffers: []any{make([]uint32, 33)}, push: []uint32{7}}
			p := c.program(&d)
			defer p.free()
			a := p.arguments(d.buffers...)
			defer a.free()
			c.must("submit and wait", c.dev.Submit(func(cb vk.CommandBuffer) {
				a.bind(cb)
				c.dev.Dispatch(cb, 0, 1, 1)
				c.dev.Dispatch(cb, 1, 0, 1)
				c.dev.Dispatch(cb, 1, 1, 0)
				c.dev.Dispatch(cb, 0, 0, 0)
				c.dev.Barrier(cb)
			}))
			a.download()
			wantSlice(c, "counts", d.buffers[0].([]uint32), make([]uint32, 33))
		}),
		row("many_dispatches", func(c *Case) {
			// Push constants stay from dispatch to dispatch, and barriers order the dispatches' additions.
			d := dispatch{shader: glsl("basic/count.comp"), buffers: []any{make([]uint32, 33)}, push: []uint32{1}}
			p := c.program(&d)
			defer p.free()
			a := p.arguments(d.buffers...)
			defer a.free()
			sum := uint32(0)
			c.must("submit and wait", c.dev.Submit(func(cb vk.CommandBuffer) {
				a.bind(cb)
				step := uint32(1)
				for i := range uint32(200) {
					if i%3 == 0 {
						step = i
						c.dev.Push(cb, p.layout, 0, bytesOf([]uint32{step}))
					}
					sum += step
					c.dev.Dispatch(cb, 1, 1, 1)
					c.dev.Barrier(cb)
				}
			}))
			a.download()
			want := slices.Repeat([]uint32{sum}, 33)
			want[0] *= 32
			wantSlice(c, "counts", d.buffers[0].([]uint32), want)
		}),
		row("secondary", func(c *Case) {
			d := dispatch{shader: glsl("basic/count.comp"), buffers: []any{make([]uint32, 33)}, push: []uint32{5}}
			p := c.program(&d)
			defer p.free()
			a := p.arguments(d.buffers...)
			defer a.free()
			rec := c.recorder()
			defer rec.free()
			cb := c.commandBuffers(rec.pool, vk.COMMAND_BUFFER_LEVEL_SECONDARY, 1)
			rec.begin(cb[0], 0)
			a.record(cb[0])
			c.must("vkEndCommandBuffer", vk.Result(c.dev.CallOn("vkEndCommandBuffer", uintptr(cb[0]))))
			list := vulkan.Put(&c.a, cb[0])
			c.must("submit and wait", c.dev.Submit(func(primary vk.CommandBuffer) {
				c.dev.CallOn("vkCmdExecuteCommands", uintptr(primary), 1, ptr(list))
				c.dev.Barrier(primary)
			}))
			a.download()
			want := slices.Repeat([]uint32{5}, 33)
			want[0] *= 32
			wantSlice(c, "counts", d.buffers[0].([]uint32), want)
		}),
	}
	for _, i := range []struct {
		name   string
		groups [3]uint32
		offset uint64
	}{{"one", [3]uint32{1, 1, 1}, 0}, {"many", [3]uint32{50, 1, 1}, 20}, {"deep", [3]uint32{2, 3, 4}, 4},
		{"none", [3]uint32{3, 0, 1}, 8}} {
		all = append(all, definition{name: "compute.indirect_dispatch.upload_buffer." + i.name, compute: true, valid: true,
			run: func(c *Case) {
				n := i.groups[0] * i.groups[1] * i.groups[2]
				d := dispatch{shader: glsl("basic/count.comp"), buffers: []any{make([]uint32, 1+32*50)}, push: []uint32{1}}
				p := c.program(&d)
				defer p.free()
				a := p.arguments(d.buffers...)
				defer a.free()
				words := make([]uint32, i.offset/4, i.offset/4+3)
				indirect := c.shaderBuffer(append(words, i.groups[:]...), vk.BufferUsageFlags(vk.BUFFER_USAGE_INDIRECT_BUFFER_BIT))
				defer indirect.free()
				c.must("submit and wait", c.dev.Submit(func(cb vk.CommandBuffer) {
					a.bind(cb)
					c.dev.CallOn("vkCmdDispatchIndirect", uintptr(cb), uintptr(indirect.buffer), uintptr(i.offset))
					c.dev.Barrier(cb)
				}))
				a.download()
				if got := d.buffers[0].([]uint32)[0]; got != n*32 {
					c.Errorf("%d invocations, want %d", got, n*32)
				}
			}})
	}
	all = append(all, definition{name: "compute.indirect_dispatch.gen_in_compute", compute: true, valid: true,
		run: func(c *Case) {
			// A shader writes how many workgroups the next dispatch has: count.comp makes 32 of the zero in its word 0.
			gen := dispatch{shader: glsl("basic/count.comp"), buffers: []any{make([]uint32, 33)}, push: []uint32{1}}
			count := dispatch{shader: glsl("basic/count.comp"), buffers: []any{make([]uint32, 1+32*32)}, push: []uint32{2}}
			p, q := c.program(&gen), c.program(&count)
			a, b := p.arguments(gen.buffers...), q.arguments(count.buffers...)
			c.must("submit and wait", c.dev.Submit(func(cb vk.CommandBuffer) {
				a.record(cb)
				c.dev.Barrier(cb)
				b.bind(cb)
				c.dev.CallOn("vkCmdDispatchIndirect", uintptr(cb), uintptr(a.buffers[0].buffer), 0)
				c.dev.Barrier(cb)
			}))
			b.download()
			if got := count.buffers[0].([]uint32)[0]; got != 2*32*32 {
				c.Errorf("the second dispatch counted to %d, want %d", got, 2*32*32)
			}
			a.free()
			b.free()
			p.free()
			q.free()
		}})
	return append(all, atomicCases()...)
}

// atomicCases mirror glsl.atomic_operations.
func atomicCases() []definition {
	var all []definition
	for _, where := range []string{"local", "global"} {
		for _, t := range []struct {
			name  string
			needs []string
			run   func(c *Case, s shaders.Source)
		}{
			{"uint", nil, atomics[uint32]},
			{"int", nil, atomics[int32]},
			{"uint64_t",
				[]string{"ShaderInt64", map[string]string{"local": "ShaderSharedInt64Atomics",
					"global": "ShaderBufferInt64Atomics"}[where]}, atomics[uint64]},
			{"int64_t",
				[]string{"ShaderInt64", map[string]string{"local": "ShaderSharedInt64Atomics",
					"global": "ShaderBufferInt64Atomics"}[where]}, atomics[int64]},
		} {
			all = append(all, definition{name: "glsl.atomic_operations." + where + "_" + t.name, compute: true, valid: true,
				needs: t.needs, run: func(c *Case) {
					t.run(c, glsl("basic/atomics.comp", "T="+t.name, "WHERE="+where))
				}})
		}
	}
	return all
}

func atomics[T int32 | uint32 | int64 | uint64](c *Case, s shaders.Source) {
	const n = 64 // one workgroup: shared memory is its own
	first := [10]T{1, ^T(0) >> 1, 0, ^T(0), 0, 77, 0, 0, 0, 0}
	data := make([]T, 10+10+n)
	copy(data, first[:])
	want := first
	for i := range uint32(n) {
		v := T(i*2654435761) * 77777
		want[0] += v
		want[1] = min(want[1], v)
		want[2] = max(want[2], v)
		want[3] &= v | 3
		want[4] |= v & 0xff00
		want[5] ^= v
	}
	want[6], want[7], want[8] = n, 5, 1
	c.dispatch(dispatch{shader: s, buffers: []any{data}})
	got := data[10:20]
	// The exchanges give 0 or 1, less 1 each; the sum over all of them and what is left is the increments.
	wantSlice(c, "words", got[:9], want[:9])
	wantSlice(c, "numbers taken", data[20:], slices.Repeat([]T{1}, n))
}

// ids checks every id of every invocation of a dispatch.
func (c *Case) ids(target string, size, groups, base [3]uint32, flags vk.PipelineCreateFlags) {
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
	d := dispatch{shader: shaders.Source{Name: "basic/ids.comp", Target: target}, groups: groups, base: base,
		buffers: []any{got}, pipelineFlags: flags,
		push: []uint32{base[0], base[1], base[2], perGroup, groups[0], groups[1], groups[2], 0}}
	for i := range size {
		d.spec = append(d.spec, constant(uint32(i), size[i:i+1]))
	}
	c.dispatch(d)
	wantSlice(c, fmt.Sprintf("ids of groups of %v", size), got, want)
}
