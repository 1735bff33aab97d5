package conformance

import (
	"fmt"
	"slices"

	"farside/conformance/vulkan"
	"farside/internal/vk"
)

func deviceInitCases() []definition {
	row := func(name string, valid bool, run func(c *Case)) definition {
		return definition{name: "api.device_init." + name, bare: true, valid: valid, run: run}
	}
	physical := func(c *Case, config vulkan.InstanceConfig) {
		c.inst = c.instance(config)
		pds, r := c.inst.PhysicalDevices()
		c.must("vkEnumeratePhysicalDevices", r)
		c.pd = pds[0]
	}
	return []definition{
		row("create_instance_name_version", true, func(c *Case) {
			for _, v := range []uint32{uint32(vk.API_VERSION_1_0), version11, uint32(vk.API_VERSION_1_2), version13,
				version13 + 77, vk.MakeVersion(1, 99, 0)} {
				c.instance(vulkan.InstanceConfig{APIVersion: v}).Destroy()
			}
		}),
		row("create_instance_null_appinfo", true, func(c *Case) {
			inst := c.instance(vulkan.InstanceConfig{})
			pds, r := inst.PhysicalDevices()
			c.must("vkEnumeratePhysicalDevices", r)
			if len(pds) != 1 {
				c.Errorf("%d physical devices, want 1", len(pds))
			}
			inst.Destroy()
		}),
		row("create_instance_unknown_pnext", false, func(c *Case) {
			u := vulkan.New[vk.BaseInStructure](&c.a)
			u.SType = 0x7ffffff0
			c.instance(vulkan.InstanceConfig{APIVersion: version11, Next: vulkan.Ptr(u)}).Destroy()
		}),
		row("create_instance_unsupported_extensions", false, func(c *Case) {
			_, r := c.loader.CreateInstance(vulkan.InstanceConfig{APIVersion: version11,
				Extensions: []string{"VK_UNKNOWN_thing"}})
			c.want("vkCreateInstance", r, vk.ERROR_EXTENSION_NOT_PRESENT)
		}),
		row("create_device_global_priority", true, globalPriority),
		row("create_instance_again_and_again", true, func(c *Case) {
			for range 20 {
				physical(c, vulkan.InstanceConfig{APIVersion: version11})
				dev := c.device(nil, nil)
				dev.Destroy()
				c.inst.Destroy()
			}
		}),
		row("two_instances", true, func(c *Case) {
			a := c.instance(vulkan.InstanceConfig{APIVersion: version11})
			b := c.instance(vulkan.InstanceConfig{APIVersion: version11})
			a.Destroy()
			pds, r := b.PhysicalDevices()
			c.must("vkEnumeratePhysicalDevices of the second instance", r)
			if len(pds) != 1 {
				c.Errorf("%d physical devices, want 1", len(pds))
			}
			b.Destroy()
		}),
		row("create_device_unsupported_extensions", false, func(c *Case) {
			physical(c, vulkan.InstanceConfig{APIVersion: version11})
			d, r := c.inst.CreateDevice(c.pd, vulkan.DeviceConfig{Extensions: []string{"VK_UNKNOWN_thing"}})
			if c.want("vkCreateDevice", r, vk.ERROR_EXTENSION_NOT_PRESENT); d != nil {
				d.Destroy()
			}
			c.inst.Destroy()
		}),
		row("create_device_unsupported_features", false, func(c *Case) {
			physical(c, vulkan.InstanceConfig{APIVersion: version11})
			have := c.inst.Features2(c.pd, nil).Features
			f := vulkan.New[vk.PhysicalDeviceFeatures](&c.a)
			switch {
			case have.SparseBinding == 0:
				f.SparseBinding = 1
			default:
				c.Unsupported("a feature that the driver lacks")
			}
			d, r := c.inst.CreateDevice(c.pd, vulkan.DeviceConfig{Features: f})
			if c.want("vkCreateDevice", r, vk.ERROR_FEATURE_NOT_PRESENT); d != nil {
				d.Destroy()
			}
			c.inst.Destroy()
		}),
		row("create_device_unknown_pnext", false, func(c *Case) {
			physical(c, vulkan.InstanceConfig{APIVersion: version11})
			u := vulkan.New[vk.BaseInStructure](&c.a)
			u.SType = 0x7ffffff0
			d, r := c.inst.CreateDevice(c.pd, vulkan.DeviceConfig{Next: vulkan.Ptr(u)})
			c.must("vkCreateDevice", r)
			d.Destroy()
			c.inst.Destroy()
		}),
		row("create_device_all_features", true, func(c *Case) {
			physical(c, vulkan.InstanceConfig{APIVersion: version11})
			d, r := c.inst.CreateDevice(c.pd, vulkan.DeviceConfig{Features: &c.inst.Features2(c.pd, nil).Features})
			c.must("vkCreateDevice with every feature that is reported", r)
			d.Destroy()
			c.inst.Destroy()
		}),
		{name: "api.device_init.create_device_all_extensions", bare: true, farsideOnly: true, valid: true,
			run: func(c *Case) {
				ofInstance, r := c.loader.Extensions() // those of swapchains need those of surfaces
				c.must("vkEnumerateInstanceExtensionProperties", r)
				physical(c, vulkan.InstanceConfig{APIVersion: version11, Extensions: ofInstance})
				all, r := c.inst.DeviceExtensions(c.pd)
				c.must("vkEnumerateDeviceExtensionProperties", r)
				d, r := c.inst.CreateDevice(c.pd, vulkan.DeviceConfig{Extensions: all})
				c.must("vkCreateDevice with every extension", r)
				d.Destroy()
				c.inst.Destroy()
			}},
	}
}

func infoCases() []definition {
	row := func(name string, valid bool, run func(c *Case)) definition {
		return definition{name: "info." + name, valid: valid, run: run}
	}
	return []definition{
		row("physical_devices_incomplete", true, func(c *Case) {
			n := vulkan.Put(&c.a, uint32(0))
			pd := vulkan.New[vk.PhysicalDevice](&c.a)
			r := vk.Result(c.inst.Call("vkEnumeratePhysicalDevices", uintptr(c.inst.Handle), ptr(n), ptr(pd)))
			c.want("vkEnumeratePhysicalDevices with space for none", r, vk.INCOMPLETE)
			if *n != 0 {
				c.Errorf("count %d, want 0", *n)
			}
		}),
		row("device_extensions_incomplete", true, func(c *Case) {
			n := vulkan.New[uint32](&c.a)
			call := func(p *vk.ExtensionProperties) vk.Result {
				return vk.Result(c.inst.Call("vkEnumerateDeviceExtensionProperties", uintptr(c.pd), 0, ptr(n), ptr(p)))
			}
			c.want("count", call(nil), vk.SUCCESS)
			all := *n
			*n = 1
			p := vulkan.Make[vk.ExtensionProperties](&c.a, 2)
			p[1].SpecVersion = 4711
			c.want("one of several", call(&p[0]), vk.INCOMPLETE)
			if *n != 1 || p[0].ExtensionName[0] == 0 || p[1].SpecVersion != 4711 {
				c.Errorf("count %d, first %q, second touched: %v", *n, vulkan.GoString(&p[0].ExtensionName[0]),
					p[1].SpecVersion != 4711)
			}
			p = vulkan.Make[vk.ExtensionProperties](&c.a, int(all)+3)
			*n = all + 3
			c.want("more space than needed", call(&p[0]), vk.SUCCESS)
			if *n != all {
				c.Errorf("count %d with more space than needed, want %d", *n, all)
			}
		}),
		row("extensions_unique", true, func(c *Case) {
			e, r := c.inst.DeviceExtensions(c.pd)
			c.must("vkEnumerateDeviceExtensionProperties", r)
			slices.Sort(e)
			if u := slices.Compact(slices.Clone(e)); len(u) != len(e) {
				c.Errorf("an extension is listed twice: %v", e)
			}
		}),
		row("memory_types_order", true, func(c *Case) {
			// The order that the specification asks of vkGetPhysicalDeviceMemoryProperties: a type whose
			// flags are a strict subset of another's comes first.
			for i := range c.mem.MemoryTypeCount {
				for j := i + 1; j < c.mem.MemoryTypeCount; j++ {
					x, y := c.mem.MemoryTypes[i].PropertyFlags, c.mem.MemoryTypes[j].PropertyFlags
					if x != y && x&y == y {
						c.Errorf("type %d (%v) comes before type %d (%v), which is a subset", i, x, j, y)
					}
				}
				if h := c.mem.MemoryTypes[i].HeapIndex; h >= c.mem.MemoryHeapCount {
					c.Errorf("type %d is in heap %d of %d", i, h, c.mem.MemoryHeapCount)
				}
			}
			c.visible()
			if _, ok := c.memoryType(deviceLocal, 0); !ok {
				c.Errorf("no device-local memory type")
			}
		}),
		row("properties2_same_as_properties", true, func(c *Case) {
			p := vulkan.New[vk.PhysicalDeviceProperties](&c.a)
			c.inst.Call("vkGetPhysicalDeviceProperties", uintptr(c.pd), ptr(p))
			q := &c.inst.Properties2(c.pd, nil).Properties
			if p.ApiVersion != q.ApiVersion || p.DeviceID != q.DeviceID || p.PipelineCacheUUID != q.PipelineCacheUUID ||
				p.Limits != q.Limits || p.DeviceName != q.DeviceName {
				c.Errorf("the two commands differ: %+v and %+v", *p, *q)
			}
			if p.DeviceType != vk.PHYSICAL_DEVICE_TYPE_CPU {
				c.Errorf("device type %v, want CPU", p.DeviceType)
			}
		}),
		row("unknown_pnext_skipped", false, func(c *Case) {
			id := vulkan.New[vk.PhysicalDeviceIDProperties](&c.a)
			id.SType = vk.STRUCTURE_TYPE_PHYSICAL_DEVICE_ID_PROPERTIES
			u := vulkan.New[vk.BaseOutStructure](&c.a)
			u.SType = 0x7ffffff0
			u.PNext = (*vk.BaseOutStructure)(vulkan.Ptr(id))
			c.inst.Properties2(c.pd, vulkan.Ptr(u))
			if id.DriverUUID == [16]byte{} || id.DeviceUUID == [16]byte{} {
				c.Errorf("the structure behind an unknown one was not written: %+v", id)
			}
		}),
		row("id_properties_stable", true, func(c *Case) {
			id := func() vk.PhysicalDeviceIDProperties {
				p := vulkan.New[vk.PhysicalDeviceIDProperties](&c.a)
				p.SType = vk.STRUCTURE_TYPE_PHYSICAL_DEVICE_ID_PROPERTIES
				c.inst.Properties2(c.pd, vulkan.Ptr(p))
				p.PNext = nil
				return *p
			}
			before := id()
			c.close()
			c.open(true)
			if after := id(); before.DriverUUID != after.DriverUUID || before.DeviceUUID != after.DeviceUUID {
				c.Errorf("identity %x %x became %x %x", before.DriverUUID, before.DeviceUUID, after.DriverUUID, after.DeviceUUID)
			}
		}),
		{name: "info.driver", farsideOnly: true, valid: true, run: func(c *Case) {
			if n := c.inst.DriverName(c.pd); n != "Farside" {
				c.Errorf("driverName %q, want Farside", n)
			}
		}},
		{name: "info.commands_of_disabled_extensions", farsideOnly: true, valid: true, run: func(c *Case) {
			for _, n := range []string{"vkGetMemoryFdKHR", "vkGetMemoryRemoteAddressNV", "vkNoSuchCommand"} {
				if c.dev.Proc(n) != 0 {
					c.Errorf("vkGetDeviceProcAddr resolves %s, whose extension isn't enabled", n)
				}
			}
		}},
		row("external_buffer_unsupported_type", true, func(c *Case) {
			e := c.inst.ExternalBuffer(c.pd, vk.BUFFER_USAGE_TRANSFER_DST_BIT,
				vk.ExternalMemoryHandleTypeFlags(vk.EXTERNAL_MEMORY_HANDLE_TYPE_D3D11_TEXTURE_BIT))
			if e.ExternalMemoryFeatures != 0 {
				c.Errorf("D3D11 textures have features %v", e.ExternalMemoryFeatures)
			}
		}),
	}
}

func queueCases() []definition {
	fence := func(c *Case, flags vk.FenceCreateFlags) vk.Fence {
		info := vulkan.New[vk.FenceCreateInfo](&c.a)
		info.SType = vk.STRUCTURE_TYPE_FENCE_CREATE_INFO
		info.Flags = flags
		out := vulkan.New[vk.Fence](&c.a)
		c.must("vkCreateFence", vk.Result(c.dev.Call("vkCreateFence", ptr(info), 0, ptr(out))))
		return *out
	}
	status := func(c *Case, f vk.Fence) vk.Result {
		return vk.Result(c.dev.Call("vkGetFenceStatus", uintptr(f)))
	}
	return []definition{
		{name: "synchronization.empty_submit_signals_fence", valid: true, run: func(c *Case) {
			q, f := c.dev.Queue(), fence(c, 0)
			fp := vulkan.Put(&c.a, f)
			c.want("status of a new fence", status(c, f), vk.NOT_READY)
			for range 3 {
				c.must("vkQueueSubmit", vk.Result(c.dev.CallOn("vkQueueSubmit", uintptr(q), 0, 0, uintptr(f))))
				c.must("vkWaitForFences", vk.Result(c.dev.Call("vkWaitForFences", 1, ptr(fp), 1, ^uintptr(0)>>1)))
				c.want("status of a signalled fence", status(c, f), vk.SUCCESS)
				c.must("vkResetFences", vk.Result(c.dev.Call("vkResetFences", 1, ptr(fp))))
				c.want("status of a reset fence", status(c, f), vk.NOT_READY)
			}
			c.must("vkQueueWaitIdle", vk.Result(c.dev.CallOn("vkQueueWaitIdle", uintptr(q))))
			c.must("vkDeviceWaitIdle", vk.Result(c.dev.Call("vkDeviceWaitIdle")))
			c.dev.Call("vkDestroyFence", uintptr(f), 0)
		}},
		{name: "synchronization.wait_times_out", valid: true, run: func(c *Case) {
			f := fence(c, 0)
			fp := vulkan.Put(&c.a, f)
			c.want("vkWaitForFences for 1 ms", vk.Result(c.dev.Call("vkWaitForFences", 1, ptr(fp), 1, 1e6)), vk.TIMEOUT)
			c.dev.Call("vkDestroyFence", uintptr(f), 0)
		}},
		{name: "synchronization.fence_created_signalled", valid: true, run: func(c *Case) {
			f := fence(c, vk.FenceCreateFlags(vk.FENCE_CREATE_SIGNALED_BIT))
			c.want("status", status(c, f), vk.SUCCESS)
			c.dev.Call("vkDestroyFence", uintptr(f), 0)
		}},
	}
}

// handleCases give the driver handles that it never gave out, or took back. What Vulkan leaves undefined,
// Farside answers: the process lives, and commands that can fail do.
func handleCases() []definition {
	row := func(name string, run func(c *Case)) definition {
		return definition{name: "farside.handles." + name, farsideOnly: true, extensions: []string{fdExtension}, run: run}
	}
	return []definition{
		row("freed_memory", func(c *Case) {
			m, t := c.exported()
			c.dev.Free(m)
			_, r := c.dev.Map(m, 0, vk.WHOLE_SIZE)
			c.wantErr("vkMapMemory of freed memory", r)
			_, r = c.dev.GetFd(m, opaqueFd)
			c.wantErr("vkGetMemoryFdKHR of freed memory", r)
			c.dev.Free(m)
			n := c.allocate(ruleSize, t, nil)
			_, r = c.dev.Map(m, 0, vk.WHOLE_SIZE)
			c.wantErr("vkMapMemory by a handle whose slot has a new owner", r)
			c.dev.Free(n)
		}),
		row("garbage", func(c *Case) {
			for _, m := range []vk.DeviceMemory{1, 0xdeadbeef, 1 << 63, ^vk.DeviceMemory(0)} {
				_, r := c.dev.Map(m, 0, vk.WHOLE_SIZE)
				c.wantErr("vkMapMemory of garbage", r)
				c.dev.Free(m)
				c.dev.Unmap(m)
				c.dev.DestroyBuffer(vk.Buffer(m))
				c.dev.DestroyImage(vk.Image(m))
				c.dev.BufferRequirements(vk.Buffer(m))
			}
		}),
		row("other_kind", func(c *Case) {
			b, r := c.dev.CreateBuffer(4096, 0)
			c.must("vkCreateBuffer", r)
			_, r = c.dev.Map(vk.DeviceMemory(b), 0, vk.WHOLE_SIZE)
			c.wantErr("vkMapMemory of a buffer", r)
			c.dev.Free(vk.DeviceMemory(b))
			c.dev.BufferRequirements(b)
			c.dev.DestroyBuffer(b)
		}),
		row("destroyed_buffer", func(c *Case) {
			b, r := c.dev.CreateBuffer(4096, 0)
			c.must("vkCreateBuffer", r)
			m := c.allocate(4096, c.visible(), nil)
			c.dev.DestroyBuffer(b)
			c.wantErr("vkBindBufferMemory of a destroyed buffer", c.dev.BindBuffer(b, m, 0))
			c.dev.DestroyBuffer(b)
			c.dev.Free(m)
		}),
	}
}

// globalPriority makes a device with each of the global priorities that its first family says it has.
func globalPriority(c *Case) {
	c.inst = c.instance(vulkan.InstanceConfig{APIVersion: version11})
	defer c.inst.Destroy()
	pds, r := c.inst.PhysicalDevices()
	c.must("vkEnumeratePhysicalDevices", r)
	c.pd = pds[0]
	have, r := c.inst.DeviceExtensions(c.pd)
	c.must("vkEnumerateDeviceExtensionProperties", r)
	if !slices.Contains(have, vk.KHR_GLOBAL_PRIORITY_EXTENSION_NAME) {
		c.Unsupported(vk.KHR_GLOBAL_PRIORITY_EXTENSION_NAME)
	}
	list := c.inst.GlobalPriorities(c.pd)
	if len(list) == 0 || !slices.IsSorted(list) {
		c.Errorf("the priorities are %v", list)
	}
	for _, p := range list {
		info := vulkan.Struct[vk.DeviceQueueGlobalPriorityCreateInfo](&c.a)
		info.GlobalPriority = p
		dev, r := c.inst.CreateDevice(c.pd, vulkan.DeviceConfig{Extensions: []string{vk.KHR_GLOBAL_PRIORITY_EXTENSION_NAME},
			QueueNext: vulkan.Pointer(info)})
		if c.want(fmt.Sprint("vkCreateDevice with ", p), r, vk.SUCCESS, vk.ERROR_NOT_PERMITTED); r == vk.SUCCESS {
			dev.Destroy()
		}
	}
}
