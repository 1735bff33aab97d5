package conformance

import "farside/internal/vk"

// excessCases have shaders that use more than their device has enabled. Each works, as on other drivers, and a warning
// names the rule.
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
	return cases
}
