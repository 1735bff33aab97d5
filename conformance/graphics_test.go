package conformance

import (
	"slices"
	"strings"

	"farside/conformance/vulkan"
	"farside/internal/vk"
)

// graphicsCommands are the commands of the core, without their vkCmd, that queues with graphics alone take and that
// Farside does not execute (chapters on drawing, render passes, dynamic state, and their "Command Properties").
var graphicsCommands = strings.Fields(`
	BeginRenderPass NextSubpass EndRenderPass BeginRenderPass2 NextSubpass2 EndRenderPass2 BeginRendering EndRendering
	Draw DrawIndexed DrawIndirect DrawIndexedIndirect DrawIndirectCount DrawIndexedIndirectCount ClearAttachments
	BindIndexBuffer BindVertexBuffers BindVertexBuffers2
	SetViewport SetScissor SetLineWidth SetDepthBias SetBlendConstants SetDepthBounds SetStencilCompareMask
	SetStencilWriteMask SetStencilReference SetCullMode SetFrontFace SetPrimitiveTopology SetViewportWithCount
	SetScissorWithCount SetDepthTestEnable SetDepthWriteEnable SetDepthCompareOp SetDepthBoundsTestEnable
	SetStencilTestEnable SetStencilOp SetRasterizerDiscardEnable SetDepthBiasEnable SetPrimitiveRestartEnable`)

// withoutGraphics is the environment of cases on a device that has compute and transfers alone.
var withoutGraphics = []string{"FARSIDE_GRAPHICS=off"}

// entryPointCases ask for every command that a device of version 1.3 with Farside's extensions has, and call those for
// which it lacks the queues: applications look them up without asking for graphics.
func entryPointCases() []definition {
	const debugUtils = "VK_EXT_debug_utils"
	garbage := []uintptr{0xdead0000, 64, ^uintptr(0), 0x7fff_dead_0000, 1 << 62, 0xdead0000, ^uintptr(0)}
	row := func(name string, run func(c *Case, seen *messages)) definition {
		return definition{name: "farside.entry_points." + name, farsideOnly: true, compute: true, env: withoutGraphics,
			instanceExtensions: []string{debugUtils}, extensions: []string{"VK_KHR_maintenance5"}, run: func(c *Case) {
				seen := c.messages()
				defer seen.close()
				run(c, seen)
			}}
	}
	told := func(c *Case, seen *messages, vuid string) {
		if !seen.has(vuid + ":") {
			c.Errorf("no message of %s: %v", vuid, seen.text)
		}
		seen.clear()
	}
	return []definition{
		{name: "farside.entry_points.all", farsideOnly: true, bare: true, env: withoutGraphics, run: func(c *Case) {
			instanceExtensions, r := c.loader.Extensions()
			c.must("vkEnumerateInstanceExtensionProperties", r)
			instanceExtensions = slices.DeleteFunc(instanceExtensions,
				func(e string) bool { return strings.Contains(e, "surface") })
			c.inst = c.instance(vulkan.InstanceConfig{APIVersion: version13, Extensions: instanceExtensions})
			pds, r := c.inst.PhysicalDevices()
			c.must("vkEnumeratePhysicalDevices", r)
			deviceExtensions, r := c.inst.DeviceExtensions(pds[0])
			c.must("vkEnumerateDeviceExtensionProperties", r)
			dev, r := c.inst.CreateDevice(pds[0], vulkan.DeviceConfig{Extensions: deviceExtensions})
			c.must("vkCreateDevice", r)
			for _, cmd := range vk.Commands {
				core := cmd.Version != 0 && cmd.Version <= version13
				enabled := func(e string) bool {
					return slices.Contains(deviceExtensions, e) || slices.Contains(instanceExtensions, e)
				}
				of := core || slices.ContainsFunc(cmd.Extensions(), func(e vk.Text) bool { return enabled(e.String()) })
				switch {
				case cmd.Level == vk.GlobalLevel:
				case strings.Contains(cmd.Name.String(), "DescriptorBuffer"):
					of = false // those of VK_KHR_maintenance6 are there with VK_EXT_descriptor_buffer
					fallthrough
				case cmd.Level == vk.DeviceLevel:
					if found := dev.Proc(cmd.Name.String()) != 0; found != of {
						c.Errorf("vkGetDeviceProcAddr of %s finds it: %v, want %v", cmd.Name, found, of)
					}
					if core && c.inst.Proc(cmd.Name.String()) == 0 {
						c.Errorf("vkGetInstanceProcAddr finds no %s", cmd.Name)
					}
				case of && c.inst.Proc(cmd.Name.String()) == 0:
					c.Errorf("vkGetInstanceProcAddr finds no %s", cmd.Name)
				}
			}
			dev.Destroy()
			c.inst.Destroy()
		}},
		row("recorded", func(c *Case, seen *messages) {
			m := c.mirror(1)
			cb := c.commandBuffers(m.pool, vk.COMMAND_BUFFER_LEVEL_PRIMARY, 1)[0]
			info := vulkan.Struct[vk.CommandBufferBeginInfo](&c.a)
			// Once as the loader calls it, through its own table, and once directly; KHR's name comes with the extension.
			refused := func(name, core string, call func(string, ...uintptr) uintptr, args []uintptr) {
				c.must("vkBeginCommandBuffer", vk.Result(c.dev.CallOn("vkBeginCommandBuffer", uintptr(cb), ptr(info))))
				call(name, append([]uintptr{uintptr(cb)}, args...)...)
				told(c, seen, "VUID-"+core+"-commandBuffer-cmdpool")
				c.wantErr("vkEndCommandBuffer after "+name, vk.Result(c.dev.CallOn("vkEndCommandBuffer", uintptr(cb))))
				c.wantErr("a submission of "+name, m.trySubmit(cb))
				seen.clear()
			}
			for _, args := range [][]uintptr{make([]uintptr, len(garbage)), garbage} {
				for _, name := range graphicsCommands {
					refused("vkCmd"+name, "vkCmd"+name, c.dev.CallOn, args)
					refused("vkCmd"+name, "vkCmd"+name, c.inst.Call, args)
				}
				refused("vkCmdBindIndexBuffer2KHR", "vkCmdBindIndexBuffer2", c.dev.CallOn, args)
			}
			c.dev.CallOn("vkCmdDraw", uintptr(cb), 3, 1, 0, 0)
			told(c, seen, "VUID-vkCmdDraw-commandBuffer-recording")
			// A buffer that was refused a command takes others when it is begun anew.
			m.into(cb, 0, func() { c.dev.CallOn("vkCmdFillBuffer", uintptr(cb), uintptr(m.buffer(64).handle), 0, 64, 0) })
			m.submit(cb)
			m.free()
		}),
		row("created", func(c *Case, seen *messages) {
			out := vulkan.Make[uint64](&c.a, 3)
			for name, rule := range map[string]string{"vkCreateRenderPass": "10000", "vkCreateRenderPass2": "10001",
				"vkCreateFramebuffer": "10002"} {
				for _, info := range append(garbage, 0) {
					out[0], out[1] = 1, 2
					c.wantErr(name, vk.Result(c.dev.Call(name, info, 0, ptr(&out[0]))))
					if out[0] != 0 || out[1] != 2 {
						c.Errorf("%s: the handle is %#x, what is behind it %#x", name, out[0], out[1])
					}
					told(c, seen, "VUID-"+name+"-device-"+rule)
				}
				for _, nowhere := range append(garbage, 0) {
					c.wantErr(name, vk.Result(c.dev.Call(name, 0, 0, nowhere)))
					told(c, seen, "VUID-"+name+"-device-"+rule)
				}
			}
			out[0], out[1], out[2] = 1, 2, 3
			c.wantErr("vkCreateGraphicsPipelines",
				vk.Result(c.dev.Call("vkCreateGraphicsPipelines", garbage[0], 2, garbage[0], 0, ptr(&out[0]))))
			if !slices.Equal(out, []uint64{0, 0, 3}) {
				c.Errorf("vkCreateGraphicsPipelines: two handles and what is behind them are %#x", out)
			}
			told(c, seen, "VUID-vkCreateGraphicsPipelines-device-09662")
		}),
		row("queried", func(c *Case, seen *messages) {
			for name, rule := range map[string]string{"vkDestroyRenderPass": "renderPass",
				"vkDestroyFramebuffer": "framebuffer"} {
				c.dev.Call(name, 0, 0)
				if len(seen.text) != 0 {
					c.Errorf("%s of VK_NULL_HANDLE: %v", name, seen.text)
				}
				c.dev.Call(name, garbage[0], 0)
				told(c, seen, "VUID-"+name+"-"+rule+"-parameter")
			}
			out := vulkan.New[vk.Extent2D](&c.a)
			c.dev.Call("vkGetRenderAreaGranularity", garbage[0], ptr(out)) // refused: nothing is written
			told(c, seen, "VUID-vkGetRenderAreaGranularity-renderPass-parameter")
			area := vulkan.New[vk.Extent2D](&c.a)
			c.dev.Call("vkGetRenderingAreaGranularityKHR", ptr(vulkan.Struct[vk.RenderingAreaInfo](&c.a)), ptr(area))
			if one := (vk.Extent2D{Width: 1, Height: 1}); *out != (vk.Extent2D{}) || *area != one || len(seen.text) != 0 {
				c.Errorf("granularities %v and %v, want none and %v; %v", *out, *area, one, seen.text)
			}
			c.wantErr("vkQueueBindSparse",
				vk.Result(c.dev.CallOn("vkQueueBindSparse", uintptr(c.dev.Queue()), 1, garbage[0], 0)))
			told(c, seen, "VUID-vkQueueBindSparse-queuetype")
		}),
	}
}
