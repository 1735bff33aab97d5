package conformance

import (
	"bytes"
	"unsafe"

	"golang.org/x/sys/unix"

	"farside/conformance/vulkan"
	"farside/internal/vk"
)

// hostFaultCases copy between images and host memory that is not there: an error, after which the process, the
// device and the image are as good as before.
func hostFaultCases() []definition {
	return []definition{{
		name:       "image.host_image_copy.fault",
		extensions: []string{"VK_KHR_copy_commands2", "VK_KHR_format_feature_flags2", "VK_EXT_host_image_copy"},
		features: func(a *vulkan.Arena) unsafe.Pointer {
			f := vulkan.Struct[vk.PhysicalDeviceHostImageCopyFeatures](a)
			f.HostImageCopy = 1
			return unsafe.Pointer(f)
		},
		farsideOnly: true,
		run:         hostFaults,
	}}
}

func hostFaults(c *Case) {
	const side, size = 1024, 1024 * 1024 * 4 // enough for several cores to take part
	info := vulkan.Struct[vk.ImageCreateInfo](&c.a)
	info.ImageType, info.Format, info.Tiling = vk.IMAGE_TYPE_2D, vk.FORMAT_R8G8B8A8_UNORM, vk.IMAGE_TILING_OPTIMAL
	info.Extent = vk.Extent3D{Width: side, Height: side, Depth: 1}
	info.MipLevels, info.ArrayLayers, info.Samples = 1, 1, vk.SAMPLE_COUNT_1_BIT
	info.Usage = vk.IMAGE_USAGE_HOST_TRANSFER_BIT
	image := vulkan.New[vk.Image](&c.a)
	c.must("vkCreateImage", vk.Result(c.dev.Call("vkCreateImage", ptr(info), 0, ptr(image))))
	local, ok := c.memoryType(vk.MEMORY_PROPERTY_DEVICE_LOCAL_BIT, hostVisible)
	if !ok {
		c.Fatalf("no memory type that is not host-visible")
	}
	memory := c.allocate(c.dev.ImageRequirements(*image).Size, local, nil)
	c.must("vkBindImageMemory", c.dev.BindImage(*image, memory, 0))

	write, read := vulkan.Struct[vk.MemoryToImageCopy](&c.a), vulkan.Struct[vk.ImageToMemoryCopy](&c.a)
	write.ImageSubresource = vk.ImageSubresourceLayers{AspectMask: vk.IMAGE_ASPECT_COLOR_BIT, LayerCount: 1}
	write.ImageExtent = info.Extent
	read.ImageSubresource, read.ImageExtent = write.ImageSubresource, write.ImageExtent
	in, out := vulkan.Struct[vk.CopyMemoryToImageInfo](&c.a), vulkan.Struct[vk.CopyImageToMemoryInfo](&c.a)
	in.DstImage, in.DstImageLayout, in.RegionCount, in.PRegions = *image, vk.IMAGE_LAYOUT_GENERAL, 1, write
	out.SrcImage, out.SrcImageLayout, out.RegionCount, out.PRegions = *image, vk.IMAGE_LAYOUT_GENERAL, 1, read
	copies := func(host unsafe.Pointer) (to, from vk.Result) {
		write.PHostPointer, read.PHostPointer = host, host
		return vk.Result(c.dev.Call("vkCopyMemoryToImageEXT", ptr(in))),
			vk.Result(c.dev.Call("vkCopyImageToMemoryEXT", ptr(out)))
	}

	half, err := unix.Mmap(-1, 0, size, unix.PROT_NONE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS)
	c.system("mmap", err)
	c.system("mprotect", unix.Mprotect(half[:size/2], unix.PROT_READ|unix.PROT_WRITE))
	constant, err := unix.Mmap(-1, 0, size, unix.PROT_READ, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS)
	c.system("mmap", err)
	for _, memcpy := range []vk.HostImageCopyFlags{0, vk.HOST_IMAGE_COPY_MEMCPY_BIT} {
		in.Flags, out.Flags = memcpy, memcpy
		for what, host := range map[string]unsafe.Pointer{
			"NULL": nil, "address 64": address(64), "a non-canonical address": address(0x5555_0000_0000_0000),
			"the kernel":                          address(1<<64 - 1<<40),
			"memory whose second half is missing": unsafe.Pointer(&half[0]),
		} {
			to, from := copies(host)
			c.wantErr("vkCopyMemoryToImageEXT from "+what, to)
			c.wantErr("vkCopyImageToMemoryEXT to "+what, from)
		}
		to, from := copies(unsafe.Pointer(&constant[0]))
		c.must("vkCopyMemoryToImageEXT from constant memory", to)
		c.wantErr("vkCopyImageToMemoryEXT to constant memory", from)
	}
	in.Flags, out.Flags = 0, 0
	c.system("mprotect", unix.Mprotect(half, unix.PROT_READ|unix.PROT_WRITE))
	for i := range half {
		half[i] = byte(i * i >> 7)
	}
	want := bytes.Clone(half)
	write.PHostPointer = unsafe.Pointer(&half[0])
	c.must("vkCopyMemoryToImageEXT after the faults", vk.Result(c.dev.Call("vkCopyMemoryToImageEXT", ptr(in))))
	clear(half)
	read.PHostPointer = unsafe.Pointer(&half[0])
	c.must("vkCopyImageToMemoryEXT after the faults", vk.Result(c.dev.Call("vkCopyImageToMemoryEXT", ptr(out))))
	c.same("the image after the faults", half, want)
	c.system("munmap", unix.Munmap(half))
	c.system("munmap", unix.Munmap(constant))
	c.dev.DestroyImage(*image)
	c.dev.Free(memory)
}

// address is a pointer that nothing is behind.
func address(a uintptr) unsafe.Pointer { return *(*unsafe.Pointer)(unsafe.Pointer(&a)) }
