package conformance

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"unsafe"

	"farside/conformance/shaders"
	"farside/conformance/vulkan"
	"farside/internal/vk"
)

// computeMemoryCases mirror memory_model, compute.zero_initialize_workgroup_memory, glsl.atomic_operations on floats,
// binding_model.buffer_device_address, and the constants of shaders.
func computeMemoryCases() []definition {
	row := func(name string, needs []string, run func(c *Case)) definition {
		return definition{name: name, compute: true, valid: true, needs: needs, run: run}
	}
	all := []definition{
		row("memory_model.message_passing.queue_family", []string{"VulkanMemoryModel"}, func(c *Case) {
			const groups = 200
			data := make([]uint32, 3+(groups+1)+(groups+1)*32)
			c.dispatch(dispatch{shader: shaders.Source{Name: "memory/message.comp",
				Defines: []string{fmt.Sprint("GROUPS=", groups)}},
				groups: [3]uint32{groups}, buffers: []any{data}})
			wantSlice(c, "workgroups, failures, invocations at the end", data[:3], []uint32{groups, 0, groups * 32})
		}),
		row("memory_model.last_workgroup", nil, func(c *Case) {
			const groups = 500
			data := make([]uint32, 2+groups)
			c.dispatch(dispatch{shader: glsl("memory/last.comp"), groups: [3]uint32{groups}, buffers: []any{data}})
			n := uint32(groups * 64)
			if want := uint32(uint64(n) * uint64(n-1) / 2); data[1] != want {
				c.Errorf("the sum is %d, want %d", data[1], want)
			}
		}),
		row("memory_model.shared.scan", nil, func(c *Case) {
			for _, size := range []int{4, 16, 50, 128} {
				data := random32(size*3, 17)
				want := slices.Clone(data)
				for i := range want {
					if i%size != 0 {
						want[i] += want[i-1]
					}
				}
				c.dispatch(dispatch{shader: glsl("memory/scan.comp", fmt.Sprint("SIZE=", size)), groups: [3]uint32{3},
					buffers: []any{data}})
				wantSlice(c, fmt.Sprintf("prefix sums of %d", size), data, want)
			}
		}),
		row("compute.zero_initialize_workgroup_memory.types", []string{"ShaderZeroInitializeWorkgroupMemory"}, func(c *Case) {
			results := make([]uint32, 32*40)
			c.dispatch(dispatch{shader: glsl("memory/zero.comp"), groups: [3]uint32{40}, buffers: []any{results}})
			wantSlice(c, "memory is zero", results, slices.Repeat([]uint32{1}, len(results)))
		}),
		row("binding_model.buffer_device_address.list", []string{"BufferDeviceAddress", "ShaderInt64"}, deviceAddresses),
		row("compute.push_constants", nil, pushConstants),
		row("spec_constants.defaults", nil, func(c *Case) {
			specConstants(c, true, -3, 7, 1.5, 5, false, 0, 0, 0)
		}),
		row("spec_constants.values", nil, func(c *Case) {
			specConstants(c, false, 100, 0x80000001, -0.25, 9, false, 0, 0, 0)
			specConstants(c, true, math.MinInt32+1, 3, 1e30, 2, false, 0, 0, 0)
		}),
		row("spec_constants.wide", []string{"ShaderInt64", "ShaderFloat64"}, func(c *Case) {
			specConstants(c, true, 4, 5, 6, 7, true, -1<<40, 0x100000007, 1e100)
		}),
	}
	for _, where := range []string{"Shared", "Buffer"} {
		for _, op := range []string{"exchange", "add", "min", "max"} {
			for _, width := range []string{"32", "64"} {
				feature := "Shader" + where + "Float" + width + "Atomic"
				needs := []string{feature + "s"}
				switch op {
				case "add":
					needs = append(needs, feature+"Add")
				case "min", "max":
					needs = append(needs, feature+"MinMax")
				}
				if width == "64" {
					needs = append(needs, "ShaderFloat64")
				}
				all = append(all, row("glsl.atomic_operations."+op+"_float"+width+"_"+strings.ToLower(where), needs, func(c *Case) {
					if width == "64" {
						floatAtomics[float64](c, op, where)
					} else {
						floatAtomics[float32](c, op, where)
					}
				}))
			}
		}
	}
	return all
}

// floatAtomics has invocations do an atomic operation on the same float, and holds what each of them got and what is
// there in the end against some order in which they may have come.
func floatAtomics[T float32 | float64](c *Case, op, where string) {
	const local, groups = 64, 20
	data := []T{100, 1, 2, 3}
	before, ends := make([]T, local*groups), make([]T, 4*groups)
	t := "T=float"
	if unsafe.Sizeof(data[0]) == 8 {
		t = "T=double"
	}
	d := dispatch{shader: glsl("memory/floatatomics.comp", t, strings.ToUpper(op)), groups: [3]uint32{groups},
		buffers: []any{data, before, ends}}
	if where == "Shared" {
		d.shader.Defines = append(d.shader.Defines, "SHARED")
	}
	begin := slices.Clone(data)
	c.dispatch(d)
	values := make([]T, len(before)) // operands
	for i := range values {
		values[i] = T(i) - 20
		if op == "add" {
			values[i] += 20.5
		}
	}
	if where == "Shared" {
		wantSlice(c, "what nothing writes to", data, begin)
		for g := range groups {
			floatHistory(c, op, begin, ends[4*g:][:4], before[local*g:][:local], values[local*g:][:local])
		}
	} else {
		floatHistory(c, op, begin, data, before, values)
	}
}

// floatHistory checks one place's history.
func floatHistory[T float32 | float64](c *Case, op string, begin, end, before, values []T) {
	at := map[string]int{"add": 0, "exchange": 1, "min": 2, "max": 3}[op]
	want := slices.Clone(begin)
	switch op {
	case "add":
		// Each operand is positive and each sum exact, so that the order of what they got is that in which they came.
		order := make([]int, len(before))
		for i := range order {
			order[i] = i
		}
		slices.SortFunc(order, func(a, b int) int { return cmp.Compare(before[a], before[b]) })
		for _, i := range order {
			if before[i] != want[at] {
				c.Fatalf("%v was added to %v, want to %v", values[i], before[i], want[at])
			}
			want[at] += values[i]
		}
	case "exchange":
		// All that was ever there, but what is there in the end, was taken once.
		all := append(slices.Clone(before), end[at])
		written := append(slices.Clone(values), begin[at])
		slices.Sort(all)
		slices.Sort(written)
		wantSlice(c, "what was there", all, written)
		want[at] = end[at]
	case "min", "max":
		better := func(a, b T) T { return min(a, b) }
		if op == "max" {
			better = func(a, b T) T { return max(a, b) }
		}
		possible := append(slices.Clone(values), begin[at])
		first := false
		for i, x := range before {
			first = first || x == begin[at]
			if !slices.Contains(possible, x) || better(x, begin[at]) != x {
				c.Fatalf("invocation %d got %v", i, x)
			}
		}
		if !first {
			c.Errorf("no invocation found the %v that was there first", begin[at])
		}
		for _, x := range values {
			want[at] = better(want[at], x)
		}
	}
	wantSlice(c, "what is there in the end", end, want)
}

func deviceAddresses(c *Case) {
	const address = vk.BufferUsageFlags(vk.BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT)
	type node struct {
		next        uint64
		value, seen uint32
	}
	addressOf := func(b *shaderBuffer) uint64 {
		info := vulkan.Struct[vk.BufferDeviceAddressInfo](&c.a)
		info.Buffer = b.buffer
		return uint64(c.dev.Call("vkGetBufferDeviceAddressKHR", ptr(info)))
	}
	var nodes []*shaderBuffer
	lists := make([][]node, 4)
	for i := range lists {
		lists[i] = []node{{value: uint32(i + 1)}}
		nodes = append(nodes, c.shaderBuffer(lists[i], address))
	}
	for i := range lists { // a ring
		lists[i][0].next = addressOf(nodes[(i+1)%4])
		nodes[i].upload()
	}
	words := make([]uint32, 40)
	target := c.shaderBuffer(words, address)
	d := dispatch{shader: glsl("memory/address.comp"), push: []uint64{addressOf(nodes[0]), addressOf(target)}}
	p := c.program(&d)
	a := p.arguments()
	c.must("submit and wait", c.dev.Submit(func(cb vk.CommandBuffer) {
		a.record(cb)
		c.dev.Barrier(cb)
	}))
	target.download()
	want := make([]uint32, 40)
	for i := range 16 {
		want[i] = []uint32{1, 12, 123, 1234}[i%4]
	}
	want[32] = 32 * 4
	wantSlice(c, "sums along the list", words, want)
	for i, n := range nodes {
		if n.download(); lists[i][0].seen != uint32(i+1) {
			c.Errorf("node %d was seen as %d", i, lists[i][0].seen)
		}
		n.free()
	}
	target.free()
	a.free()
	p.free()
}

func pushConstants(c *Case) {
	words := make([]uint32, 36)
	for i := range words {
		words[i] = uint32(i * 7)
	}
	float := func(i int, x float32) { words[i] = math.Float32bits(x) }
	// a at 8; v at 16; m at 32, its columns 16 apart; r at 64, its rows 8 apart; array at 88; pairs at 104
	for i := range 3 {
		float(4+i, float32(i+1))
		float(8+i, float32(i)+0.25)
		float(12+i, float32(i)+0.5)
	}
	for i := range 6 {
		float(16+i, float32(i)*0.125)
	}
	results, want := make([]uint32, 16*16), make([]uint32, 16*16)
	for n := range want {
		i := n / 16
		x := words[2] + words[22+i%4]*3 + words[26+i%2*2+i/8]
		want[n] = x + 3 + 250 + uint32(float32(i%3*2+i/8)*0.125*1000)
	}
	c.dispatch(dispatch{shader: glsl("basic/push.comp"), groups: [3]uint32{16}, buffers: []any{results}, push: words[:32]})
	wantSlice(c, "sums of push constants", results, want)
}

func specConstants(c *Case, yes bool, i int32, u uint32, f float32, length uint32, wide bool, i64 int64, u64 uint64,
	d float64) {
	results := make([]uint32, 14)
	x := dispatch{shader: glsl("basic/constants.comp"), buffers: []any{results}}
	if yes != true || i != -3 { // not the defaults
		x.spec = []vulkan.Constant{constant(10, []uint32{length}), constant(3, []float32{f}),
			constant(0, []uint32{truth[uint32](yes)}),
			constant(1, []int32{i}), constant(2, []uint32{u}), constant(99, []uint32{1})}
	}
	if wide {
		x.shader.Defines = []string{"WIDE"}
		x.spec = append(x.spec, constant(4, []int64{i64}), constant(5, []uint64{u64}), constant(6, []float64{d}))
	}
	c.dispatch(x)
	sum := i + int32(u)*2
	chosen := u << 1
	if !yes {
		chosen = ^u
	}
	mod := sum % 5 // of the sign of the divisor
	if mod < 0 {
		mod += 5
	}
	mixed := -i/2 + mod&3 - i>>1
	want := []uint32{truth[uint32](yes), uint32(i), u, math.Float32bits(f * 2), uint32(sum), chosen,
		truth[uint32]((i < sum) != yes),
		u + chosen*3 + 9, uint32(mixed), u*(length*(length-1)/2) + (length*2+1)*1000, 2, 0, 0, 0}
	if !yes {
		want[10] = 77
	}
	if wide {
		want[11], want[12] = uint32(uint64(i64*3>>1)), uint32(u64>>32)+uint32(u64)
		want[13] = uint32(math.Float64bits(d*2) >> 32)
	}
	wantSlice(c, "what is made of constants", results, want)
}
