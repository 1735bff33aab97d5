package conformance

import (
	"farside/conformance/vulkan"
	"farside/internal/vk"
)

// excessCases have shaders that use more than their device has enabled, and buffers that are used for more than they
// were made for. Each works, as on other drivers, and a warning names the rule.
func excessCases() []definition {
	var cases []definition
	for _, e := range []struct{ name, kind, layout, rule string }{
		{"int16", "int16_t", "std430", "VUID-VkShaderModuleCreateInfo-pCode-08740"},
		{"int64", "int64_t", "std430", "VUID-VkShaderModuleCreateInfo-pCode-08740"},
		{"float16", "float16_t", "std430", "VUID-VkShaderModuleCreateInfo-pCode-08740"},
		{"float64", "double", "std430", "VUID-VkShaderModuleCreateInfo-pCode-08740"},
		{"scalar_layout", "uint", "scalar", "VUID-StandaloneSpirv-None-10684"},
	} {
		cases = append(cases, definition{name: "farside.excess." + e.name, compute: true, farsideOnly: true,
			instanceExtensions: []string{debugExtension}, run: func(c *Case) {
				seen := c.messagesOf(vk.DEBUG_UTILS_MESSAGE_SEVERITY_WARNING_BIT_EXT)
				defer seen.close()
				const elements = 100
				data := make([]uint32, 1+elements*3)
				if e.layout == "std430" {
					data = make([]uint32, 4+elements*4)
				}
				for i := range data {
					data[i] = uint32(i % 500)
				}
				want := append([]uint32(nil), data...)
				for i := range want {
					if e.layout == "scalar" || i == 0 || i > 3 && i%4 < 3 {
						want[i] = want[i]*3 + 1
					}
				}
				shader := glsl("basic/excess.comp", "TYPE="+e.kind, "LAYOUT="+e.layout)
				shader.Scalar = e.layout == "scalar"
				c.dispatch(dispatch{shader: shader, buffers: []any{data}, groups: [3]uint32{2}})
				wantSlice(c, "words", data, want)
				if !seen.has(e.rule) {
					c.Errorf("no warning says %s: %v", e.rule, seen.text)
				}
			}})
	}
	draws := drawCase("farside.excess.draws", (*Case).drawsElsewhere, "Multiview")
	draws.valid, draws.farsideOnly, draws.instanceExtensions = false, true, []string{debugExtension}
	return append(cases, draws, definition{name: "farside.excess.usage", compute: true, farsideOnly: true,
		instanceExtensions: []string{debugExtension}, run: func(c *Case) { c.usages() }})
}

// usages does with vertex buffers what they were not made for: copies, a shader, an indirect dispatch. All of it works.
// One warning for each buffer and usage names the rule.
func (c *Case) usages() {
	seen := c.messagesOf(vk.DEBUG_UTILS_MESSAGE_SEVERITY_WARNING_BIT_EXT)
	defer seen.close()
	const elements = 100
	data, want := make([]uint32, 4+elements*4), make([]uint32, 4+elements*4)
	for i := range data {
		data[i] = uint32(i)
		want[i] = data[i]
		if i == 0 || i > 3 && i%4 < 3 {
			want[i] = (data[i]*3+1)*3 + 1 // by two dispatches
		}
	}
	got, groups := make([]uint32, len(data)), []uint32{2, 1, 1}
	const usage = vk.BUFFER_USAGE_VERTEX_BUFFER_BIT
	from, to, indirect := c.usageBuffer(data, usage), c.usageBuffer(got, usage), c.usageBuffer(groups, usage)
	defer from.free()
	defer to.free()
	defer indirect.free()
	p := c.program(&dispatch{shader: glsl("basic/excess.comp", "TYPE=uint", "LAYOUT=std430"), buffers: []any{
		described{vulkan.Descriptor{Type: vk.DESCRIPTOR_TYPE_STORAGE_BUFFER,
			Buffer: vk.DescriptorBufferInfo{Buffer: to.buffer}}}}})
	defer p.free()
	a := p.arguments(p.d.buffers...)
	defer a.free()
	n, regions := array(&c.a, []vk.BufferCopy{{Size: vk.DeviceSize(len(from.host))}})
	c.must("submit and wait", c.dev.Submit(func(cb vk.CommandBuffer) {
		for range 2 {
			c.dev.CallOn("vkCmdCopyBuffer", uintptr(cb), uintptr(from.buffer), uintptr(to.buffer), n, regions)
			c.dev.Barrier(cb)
		}
		a.bind(cb)
		for range 2 {
			c.dev.CallOn("vkCmdDispatchIndirect", uintptr(cb), uintptr(indirect.buffer), 0)
			c.dev.Barrier(cb)
		}
	}))
	to.download()
	wantSlice(c, "words", got, want)
	rules := []string{"VUID-vkCmdCopyBuffer-srcBuffer-00118", "VUID-vkCmdCopyBuffer-dstBuffer-00120",
		"VUID-VkWriteDescriptorSet-descriptorType-00331", "VUID-vkCmdDispatchIndirect-buffer-02709"}
	for _, rule := range rules {
		if !seen.has(rule) {
			c.Errorf("no warning says %s", rule)
		}
	}
	if len(seen.text) != len(rules) {
		c.Errorf("%d warnings, want %d: %v", len(seen.text), len(rules), seen.text)
	}
}
