package conformance

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unsafe"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"farside/conformance/vulkan"
	"farside/internal/profile"
	"farside/internal/vk"
)

// profileCases run on devices that FARSIDE_PROFILE makes.
func profileCases() []definition {
	row := func(name, profile string, run func(c *Case), extensions ...string) definition {
		return definition{name: "farside.profile." + name, farsideOnly: true, run: run, extensions: extensions,
			env: []string{"FARSIDE_PROFILE=" + profile}}
	}
	pair := row("pair", "pair", importBetween, fdExtension, "VK_KHR_external_semaphore_fd", "VK_KHR_external_fence_fd")
	pair.physical, pair.valid = 2, true
	groups := row("pair_groups", "pair", eachIsAGroup)
	groups.physical, groups.valid = 2, true
	group := row("group", "group", executeOnEach)
	group.physical, group.valid = 2, true
	return []definition{pair, groups, group,
		row("tiny_memory", "tiny", fillTiny), row("tiny_objects", "tiny", countTiny),
		row("tiny_limits", "tiny", exceedTiny),
		row("tiny_host_pointers", "tiny", alignTiny, "VK_EXT_external_memory_host"), row("h200_absent", "h200", askForAbsent),
		row("h200_image_types", "h200", askForImageTypes)}
}

// otherDevice is a device of the second physical device, with the case's extensions.
func (c *Case) otherDevice() *vulkan.Device {
	pds, r := c.inst.PhysicalDevices()
	c.must("vkEnumeratePhysicalDevices", r)
	d, r := c.inst.CreateDevice(pds[1], vulkan.DeviceConfig{Extensions: c.def.extensions})
	c.must("vkCreateDevice of the second physical device", r)
	return d
}

// importBetween hands opaque descriptors from one device to the other, which must refuse them and leave them open, and
// back to where they are from.
func importBetween(c *Case) {
	other := c.otherDevice()
	defer other.Destroy()
	const size = 1 << 16
	refused := func(what string, fd int, r vk.Result) {
		c.want(what+" of the other device", r, vk.ERROR_INVALID_EXTERNAL_HANDLE)
		if _, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0); err != nil {
			c.Errorf("%s: the descriptor that was refused is closed: %v", what, err)
		}
	}
	m := c.allocate(size, c.visible(), vulkan.ExportInfo(&c.a, opaqueFd, nil))
	fd := c.getFd(m)
	_, r := other.Allocate(size, c.visible(), vulkan.ImportFdInfo(&c.a, opaqueFd, fd, nil))
	refused("memory", fd, r)
	again, r := c.importFd(size, c.visible(), fd)
	if c.want("memory of the device itself", r, vk.SUCCESS) {
		c.dev.Free(again)
	}
	c.dev.Free(m)

	const semaphoreFd = vk.EXTERNAL_SEMAPHORE_HANDLE_TYPE_OPAQUE_FD_BIT
	s, r := c.dev.CreateSemaphore(vulkan.ExportSemaphoreInfo(&c.a, semaphoreFd, nil))
	c.must("vkCreateSemaphore", r)
	fd, r = c.dev.SemaphoreFd(s, semaphoreFd)
	c.must("vkGetSemaphoreFdKHR", r)
	into, r := other.CreateSemaphore(nil)
	c.must("vkCreateSemaphore", r)
	refused("a semaphore", fd, other.ImportSemaphoreFd(into, semaphoreFd, 0, fd))
	unix.Close(fd)
	other.DestroySemaphore(into)
	c.dev.DestroySemaphore(s)

	const fenceFd = vk.EXTERNAL_FENCE_HANDLE_TYPE_OPAQUE_FD_BIT
	f, r := c.dev.CreateFence(0, vulkan.ExportFenceInfo(&c.a, fenceFd, nil))
	c.must("vkCreateFence", r)
	fd, r = c.dev.FenceFd(f, fenceFd)
	c.must("vkGetFenceFdKHR", r)
	target, r := other.CreateFence(0, nil)
	c.must("vkCreateFence", r)
	refused("a fence", fd, other.ImportFenceFd(target, fenceFd, 0, fd))
	unix.Close(fd)
	other.DestroyFence(target)
	c.dev.DestroyFence(f)
}

func eachIsAGroup(c *Case) {
	pds, r := c.inst.PhysicalDevices()
	c.must("vkEnumeratePhysicalDevices", r)
	groups, r := vulkan.Enumerate(&c.a, func(n *uint32, p *vk.PhysicalDeviceGroupProperties) vk.Result {
		for i := range vk.Slice(p, *n) {
			vk.Slice(p, *n)[i].SType = vk.STRUCTURE_TYPE_PHYSICAL_DEVICE_GROUP_PROPERTIES
		}
		return vk.Result(c.inst.Call("vkEnumeratePhysicalDeviceGroups", uintptr(c.inst.Handle), ptr(n), ptr(p)))
	})
	c.must("vkEnumeratePhysicalDeviceGroups", r)
	if len(groups) != len(pds) {
		c.Fatalf("%d groups of %d devices", len(groups), len(pds))
	}
	for i := range groups {
		if groups[i].PhysicalDeviceCount != 1 || groups[i].PhysicalDevices[0] != pds[i] {
			c.Errorf("group %d has %d devices, the first %#x", i, groups[i].PhysicalDeviceCount, groups[i].PhysicalDevices[0])
		}
	}
	names := map[string]bool{}
	for _, pd := range pds {
		p := c.inst.Properties2(pd, nil)
		names[vulkan.GoString(&p.Properties.DeviceName[0])] = true
	}
	if len(names) != 2 {
		c.Errorf("the devices' names are %v", names)
	}
}

// executeOnEach makes a device of both physical devices. Each fills its own instance of a buffer, and copies its peer's
// into host memory, which both share.
func executeOnEach(c *Case) {
	pds, r := c.inst.PhysicalDevices()
	c.must("vkEnumeratePhysicalDevices", r)
	group := vulkan.Struct[vk.DeviceGroupDeviceCreateInfo](&c.a)
	members := vulkan.Make[vk.PhysicalDevice](&c.a, len(pds))
	copy(members, pds)
	group.PhysicalDeviceCount, group.PPhysicalDevices = uint32(len(pds)), vulkan.First(members)
	alone := c.dev
	c.dev, r = c.inst.CreateDevice(pds[0], vulkan.DeviceConfig{Next: vulkan.Ptr(group)})
	c.must("vkCreateDevice of two physical devices", r)
	defer func() {
		c.dev.Destroy()
		c.dev = alone
	}()
	const size = 4096
	host, hostMemory, seen := c.mappedBuffer(size)
	local, ok := c.memoryType(vk.MEMORY_PROPERTY_DEVICE_LOCAL_BIT, 0)
	if !ok {
		c.Fatalf("no device-local memory type")
	}
	memory := c.allocate(size, local, nil)
	own, r := c.dev.CreateBuffer(size, 0)
	c.must("vkCreateBuffer", r)
	c.must("vkBindBufferMemory", c.dev.BindBuffer(own, memory, 0))
	peer, r := c.dev.CreateBuffer(size, 0)
	c.must("vkCreateBuffer", r)
	indices := vulkan.Struct[vk.BindBufferMemoryDeviceGroupInfo](&c.a)
	list := vulkan.Make[uint32](&c.a, 2)
	list[0], list[1] = 1, 0
	indices.DeviceIndexCount, indices.PDeviceIndices = 2, vulkan.First(list)
	bind := vulkan.Struct[vk.BindBufferMemoryInfo](&c.a)
	bind.PNext, bind.Buffer, bind.Memory = vulkan.Ptr(indices), peer, memory
	c.must("vkBindBufferMemory2", vk.Result(c.dev.Call("vkBindBufferMemory2", 1, ptr(bind))))

	rec := c.recorder()
	cb := rec.record(func(cb vk.CommandBuffer) {
		for i := range uintptr(2) {
			rec.cmdIn(cb, "vkCmdSetDeviceMask", 1<<i)
			rec.cmdIn(cb, "vkCmdFillBuffer", uintptr(own), 0, size, 10+i)
		}
		rec.cmdIn(cb, "vkCmdSetDeviceMask", 3)
		b := vulkan.Struct[vk.MemoryBarrier](&c.a)
		b.SrcAccessMask = vk.AccessFlags(vk.ACCESS_TRANSFER_WRITE_BIT)
		b.DstAccessMask = vk.AccessFlags(vk.ACCESS_TRANSFER_READ_BIT)
		c.dev.CallOn("vkCmdPipelineBarrier", uintptr(cb), uintptr(vk.PIPELINE_STAGE_TRANSFER_BIT),
			uintptr(vk.PIPELINE_STAGE_TRANSFER_BIT), uintptr(vk.DEPENDENCY_DEVICE_GROUP_BIT), 1, ptr(b), 0, 0, 0, 0)
		for i := range uintptr(2) {
			rec.cmdIn(cb, "vkCmdSetDeviceMask", 1<<i)
			region := vulkan.Put(&c.a, vk.BufferCopy{DstOffset: uint64(4 * i), Size: 4})
			rec.cmdIn(cb, "vkCmdCopyBuffer", uintptr(peer), uintptr(host), 1, ptr(region))
		}
	})
	info := vulkan.Struct[vk.DeviceGroupSubmitInfo](&c.a)
	info.CommandBufferCount, info.PCommandBufferDeviceMasks = 1, vulkan.Put(&c.a, uint32(3))
	c.must("vkQueueSubmit", c.dev.SubmitBatches(rec.queue, rec.fence, vulkan.Batch{Buffers: cb, Next: vulkan.Ptr(info)}))
	c.must("vkWaitForFences", c.dev.WaitFences(true, patience, rec.fence))
	if diff := cmp.Diff([]byte{11, 0, 0, 0, 10, 0, 0, 0}, seen[:8]); diff != "" {
		c.Errorf("the peers' memory: %s", diff)
	}
	rec.free()
	for _, b := range []vk.Buffer{own, peer, host} {
		c.dev.DestroyBuffer(b)
	}
	c.dev.Free(memory)
	c.dev.Free(hostMemory)
}

// fillTiny fills each heap to the last byte. The next allocation fails, and what is given back can be had again.
func fillTiny(c *Case) {
	const piece = 1 << 20
	for t := range c.mem.MemoryTypeCount {
		heap := c.mem.MemoryHeaps[c.mem.MemoryTypes[t].HeapIndex]
		for range 2 {
			var all []vk.DeviceMemory
			for range heap.Size / piece {
				all = append(all, c.allocate(piece, t, nil))
			}
			_, r := c.dev.Allocate(1, t, nil)
			c.want(fmt.Sprintf("a byte of type %d after %d MiB", t, len(all)), r, vk.ERROR_OUT_OF_DEVICE_MEMORY)
			for _, m := range all {
				c.dev.Free(m)
			}
		}
	}
	if sum := c.mem.MemoryHeaps[0].Size + c.mem.MemoryHeaps[1].Size; sum != 48<<20 {
		c.Errorf("the heaps have %d bytes", sum)
	}
}

// countTiny makes as many allocations and samplers as the limits say, and one more.
func countTiny(c *Case) {
	limits := c.inst.Properties2(c.pd, nil).Properties.Limits
	var all []vk.DeviceMemory
	for range limits.MaxMemoryAllocationCount {
		all = append(all, c.allocate(1, 0, nil))
	}
	_, r := c.dev.Allocate(1, 0, nil)
	c.want("one allocation more than maxMemoryAllocationCount", r, vk.ERROR_TOO_MANY_OBJECTS)
	for _, m := range all {
		c.dev.Free(m)
	}
	info := vulkan.New[vk.SamplerCreateInfo](&c.a)
	info.SType = vk.STRUCTURE_TYPE_SAMPLER_CREATE_INFO
	out := vulkan.New[vk.Sampler](&c.a)
	create := func() vk.Result { return vk.Result(c.dev.Call("vkCreateSampler", ptr(info), 0, ptr(out))) }
	var samplers []vk.Sampler
	for range limits.MaxSamplerAllocationCount {
		c.must("vkCreateSampler", create())
		samplers = append(samplers, *out)
	}
	c.want("one sampler more than maxSamplerAllocationCount", create(), vk.ERROR_TOO_MANY_OBJECTS)
	for _, s := range samplers {
		c.dev.Call("vkDestroySampler", uintptr(s), 0)
	}
	c.must("a sampler after the others are destroyed", create())
	c.dev.Call("vkDestroySampler", uintptr(*out), 0)
}

// exceedTiny goes one beyond a limit each time.
func exceedTiny(c *Case) {
	limits := c.inst.Properties2(c.pd, nil).Properties.Limits
	image, r := c.dev.CreateImage(limits.MaxImageDimension2D, 1, vk.IMAGE_TILING_OPTIMAL, 0)
	if c.want("an image as wide as maxImageDimension2D", r, vk.SUCCESS) {
		c.dev.DestroyImage(image)
	}
	_, r = c.dev.CreateImage(limits.MaxImageDimension2D+1, 1, vk.IMAGE_TILING_OPTIMAL, 0)
	c.wantErr("an image wider than maxImageDimension2D", r)
	_, r = c.inst.CreateDevice(c.pd, vulkan.DeviceConfig{Queues: []uint32{2}})
	c.wantErr("more queues than the family has", r)
	_, r = c.inst.CreateDevice(c.pd, vulkan.DeviceConfig{Queues: []uint32{1, 1}})
	c.wantErr("a queue of a family that isn't there", r)

	constants := vulkan.New[vk.PushConstantRange](&c.a)
	constants.StageFlags = vk.ShaderStageFlags(vk.SHADER_STAGE_COMPUTE_BIT)
	info := vulkan.New[vk.PipelineLayoutCreateInfo](&c.a)
	info.SType, info.PushConstantRangeCount = vk.STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO, 1
	info.PPushConstantRanges = constants
	out := vulkan.New[vk.PipelineLayout](&c.a)
	for _, size := range []uint32{limits.MaxPushConstantsSize, limits.MaxPushConstantsSize + 4} {
		constants.Size = size
		r := vk.Result(c.dev.Call("vkCreatePipelineLayout", ptr(info), 0, ptr(out)))
		if fits := size == limits.MaxPushConstantsSize; fits != (r == vk.SUCCESS) {
			c.Errorf("%d bytes of push constants: %v", size, r)
		} else if fits {
			c.dev.Call("vkDestroyPipelineLayout", uintptr(*out), 0)
		}
	}
}

// alignTiny imports host memory that is aligned as the profile asks, and memory that is aligned to pages alone.
func alignTiny(c *Case) {
	const alignment = 64 << 10 // minImportedHostPointerAlignment of the profile
	memory, err := unix.Mmap(-1, 0, 3*alignment, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS)
	if err != nil {
		c.Fatalf("mmap: %v", err)
	}
	defer unix.Munmap(memory)
	first := -uintptr(unsafe.Pointer(&memory[0])) % alignment
	page := uint64(os.Getpagesize())
	for _, try := range []struct {
		offset uintptr
		size   uint64
		want   vk.Result
	}{
		{first, alignment, vk.SUCCESS}, {first + uintptr(page), alignment, vk.ERROR_INVALID_EXTERNAL_HANDLE},
		{first, page, vk.ERROR_INVALID_EXTERNAL_HANDLE},
	} {
		h := vulkan.New[vk.ImportMemoryHostPointerInfoEXT](&c.a)
		h.SType = vk.STRUCTURE_TYPE_IMPORT_MEMORY_HOST_POINTER_INFO_EXT
		h.HandleType, h.PHostPointer = hostPointer, unsafe.Pointer(&memory[try.offset])
		m, r := c.dev.Allocate(try.size, c.visible(), unsafe.Pointer(h))
		if c.want(fmt.Sprintf("%d bytes at %p", try.size, h.PHostPointer), r, try.want) && r == vk.SUCCESS {
			c.dev.Free(m)
		}
	}
}

// askForAbsent asks an H200 for what this driver has, and that device hasn't.
func askForAbsent(c *Case) {
	_, r := c.inst.CreateDevice(c.pd, vulkan.DeviceConfig{Extensions: []string{rdmaExtension}})
	c.want("an extension that the profile lacks", r, vk.ERROR_EXTENSION_NOT_PRESENT)
	rdma := vulkan.New[vk.PhysicalDeviceExternalMemoryRDMAFeaturesNV](&c.a)
	rdma.SType = vk.STRUCTURE_TYPE_PHYSICAL_DEVICE_EXTERNAL_MEMORY_RDMA_FEATURES_NV
	rdma.ExternalMemoryRDMA = vk.TRUE
	_, r = c.inst.CreateDevice(c.pd, vulkan.DeviceConfig{Next: unsafe.Pointer(rdma)})
	c.want("a feature that the profile lacks", r, vk.ERROR_FEATURE_NOT_PRESENT)
	if c.dev.Proc("vkGetMemoryRemoteAddressNV") != 0 {
		c.Errorf("a command of an extension that the profile lacks")
	}
	p := c.inst.ExternalBuffer(c.pd, vk.BufferUsageFlags(vk.BUFFER_USAGE_TRANSFER_SRC_BIT), rdmaAddress)
	if p.ExternalMemoryFeatures != 0 {
		c.Errorf("remote addresses: %v", p.ExternalMemoryFeatures)
	}
	_, r = c.dev.Allocate(4096, c.visible(), vulkan.ExportInfo(&c.a, dmaBuf, nil))
	c.want("memory for a dma-buf", r, vk.ERROR_INVALID_EXTERNAL_HANDLE)
	p = c.inst.ExternalBuffer(c.pd, vk.BufferUsageFlags(vk.BUFFER_USAGE_TRANSFER_SRC_BIT), opaqueFd)
	if p.ExternalMemoryFeatures == 0 || p.CompatibleHandleTypes&rdmaAddress != 0 {
		c.Errorf("opaque descriptors: %+v", p)
	}
}

// askForImageTypes finds images of optimal tiling in the types that an H200 has for them.
func askForImageTypes(c *Case) {
	types := map[vk.ImageTiling]uint32{vk.IMAGE_TILING_OPTIMAL: 0b00011, vk.IMAGE_TILING_LINEAR: 0b11111}
	for tiling, want := range types {
		image, r := c.dev.CreateImage(64, 64, tiling, 0)
		c.must("vkCreateImage", r)
		if got := c.dev.ImageRequirements(image).MemoryTypeBits; got != want {
			c.Errorf("tiling %v: memory types %#b, want %#b", tiling, got, want)
		}
		c.dev.DestroyImage(image)
	}
}

// Cases of other tables run as well on devices that aren't there.
func TestCasesOnProfiles(t *testing.T) {
	for _, name := range []string{"h200", "h200-rdma", "lavapipe", "unified", "tiny"} {
		for _, c := range []string{
			"api.external.memory.opaque_fd.suballocated.host_visible.import_twice",
			"api.external.memory.opaque_fd.dedicated.device_only.import_twice",
			"compute.basic.ids_of_device_version", "api.device_init.create_device_all_extensions",
			"draw.dynamic_rendering.coverage", "renderpass.input.depth_stencil",
		} {
			d := find(c)
			if d == nil {
				t.Errorf("there is no case %s", c)
				continue
			}
			t.Run(name+"/"+c, func(t *testing.T) {
				t.Parallel()
				o := runChild(t.Context(), "farside", d, "FARSIDE_PROFILE="+name)
				if o.verdict == "unsupported" && maySkip(d) != "" {
					t.Skipf("%s is missing", maySkip(d))
				}
				if o.verdict != "pass" {
					t.Errorf("%s\n%s", o.verdict, o.text)
				}
			})
		}
	}
}

// vulkaninfoOf runs vulkaninfo on a profile.
func vulkaninfoOf(t *testing.T, name string, args ...string) string {
	t.Helper()
	needsTool(t, "vulkaninfo", "vulkan-tools")
	out, errors := tool(t, []string{"FARSIDE_PROFILE=" + name}, t.TempDir(), "vulkaninfo", args...)
	if strings.Contains(errors, "ERROR") {
		t.Errorf("%s: %s", name, errors)
	}
	return out
}

// Each built-in profile is one that vulkaninfo reads, and whose text is a profile that changes nothing more.
func TestVulkaninfoOfProfiles(t *testing.T) {
	names, _ := profile.Builtin()
	for _, name := range names {
		first := vulkaninfoOf(t, name)
		file := filepath.Join(t.TempDir(), "file.txt")
		if err := os.WriteFile(file, []byte(first), 0o600); err != nil {
			t.Fatal(err)
		}
		p, err := profile.Load(file)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if len(p.Devices) == 2 != (name == "pair" || name == "group") {
			t.Errorf("%s: %d devices", name, len(p.Devices))
		}
		if name == "group" { // of device groups the text says nothing
			text := fmt.Sprintf("base = %q\ngroups = [[0, 1]]\n", file)
			file = filepath.Join(t.TempDir(), "group.toml")
			if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		again := vulkaninfoOf(t, file)
		if d := cmp.Diff(settled(first), settled(again)); d != "" {
			t.Errorf("%s: the text of its own device makes another one (-first +again):\n%s", name, d)
		}
	}
}

// settled are the lines that stay as they are when a device is made of its own text. The budget is the machine's, and
// pipelineCacheUUID and driverInfo are the driver's own.
func settled(text string) []string {
	var lines []string
	for line := range strings.Lines(text) {
		word := strings.TrimSpace(line)
		if strings.HasPrefix(word, "budget") || strings.HasPrefix(word, "pipelineCacheUUID") ||
			strings.HasPrefix(word, "driverInfo") {
			continue
		}
		lines = append(lines, strings.TrimRight(line, "\n"))
	}
	return lines
}
