package conformance

import (
	"fmt"
	"slices"
	"strings"

	"farside/internal/vk"
)

// printfCases print from shaders (NonSemantic.DebugPrintf), which debug messengers are told as the validation layer
// tells it: as information.
func printfCases() []definition {
	row := func(name string, run func(c *Case)) definition {
		return definition{name: "spirv_assembly.instruction.compute.non_semantic.debug_printf." + name, compute: true,
			farsideOnly:        true,
			instanceExtensions: []string{"VK_EXT_debug_utils"}, needs: []string{"ShaderInt64"}, run: run}
	}
	const groups, size = 5, 16
	// messages are those of a dispatch, in the order of invocations.
	messages := func(number int) (list []string) {
		for i := 0; i < groups*size; i += 3 {
			list = append(list, fmt.Sprintf("DEBUG-PRINTF: dispatch %d invocation %d: %d %x %.2f %d, 5, 6 0.500000, %f %d 100%%",
				number, i, -i, i*255, float64(i)/4, i/size, -1-float64(i), i<<40))
		}
		return list
	}
	prints := func(number uint32, count []uint32) *dispatch {
		return &dispatch{shader: glsl("basic/printf.comp"), groups: [3]uint32{groups}, push: []uint32{number},
			buffers: []any{count}}
	}
	return []definition{
		row("dispatches", func(c *Case) {
			told := c.messagesOf(vk.DEBUG_UTILS_MESSAGE_SEVERITY_INFO_BIT_EXT)
			defer told.close()
			worse := c.messagesOf(vk.DEBUG_UTILS_MESSAGE_SEVERITY_WARNING_BIT_EXT |
				vk.DEBUG_UTILS_MESSAGE_SEVERITY_ERROR_BIT_EXT)
			defer worse.close()
			count := make([]uint32, 1)
			p := c.program(prints(1, count))
			defer p.free()
			first := p.arguments(count)
			defer first.free()
			again := c.program(prints(2, count))
			defer again.free()
			second := again.arguments(count)
			defer second.free()
			c.must("submit and wait", c.dev.Submit(func(cb vk.CommandBuffer) {
				first.record(cb)
				c.dev.Barrier(cb)
				second.record(cb)
				c.dev.Barrier(cb)
			}))
			// All are there when the submission is complete; those of the first dispatch are in front of the second's.
			told.mu.Lock()
			text := slices.DeleteFunc(slices.Clone(told.text),
				func(s string) bool { return !strings.HasPrefix(s, "DEBUG-PRINTF: ") })
			told.mu.Unlock()
			one, two := messages(1), messages(2)
			if len(text) != len(one)+len(two) {
				c.Fatalf("%d messages, want %d: %q", len(text), len(one)+len(two), text)
			}
			slices.Sort(one)
			slices.Sort(two)
			slices.Sort(text[:len(one)])
			slices.Sort(text[len(one):])
			wantSlice(c, "messages", text, slices.Concat(one, two))
			if worse.has("") {
				c.Errorf("there are warnings: %q", worse.text)
			}
		}),
		row("nobody_listens", func(c *Case) {
			count := make([]uint32, 1)
			c.dispatch(*prints(3, count))
			wantSlice(c, "invocations", count, []uint32{groups * size})
		}),
	}
}
