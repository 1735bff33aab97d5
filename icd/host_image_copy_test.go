package icd

import (
	"bytes"
	"math/rand/v2"
	"runtime/debug"
	"slices"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"farside/internal/vk"
)

func hostCopyDevice(t *testing.T) *device {
	f := vk.PhysicalDeviceHostImageCopyFeatures{SType: vk.STRUCTURE_TYPE_PHYSICAL_DEVICE_HOST_IMAGE_COPY_FEATURES,
		HostImageCopy: vk.TRUE}
	return propertiesDevice(t, testInstance(t, nil), unsafe.Pointer(&f))
}

// hostCopyImage is an image for the host, bound to memory of the given type.
func hostCopyImage(t *testing.T, d *device, memoryType uint32, change func(*vk.ImageCreateInfo)) (vk.Image,
	vk.DeviceMemory) {
	t.Helper()
	info := plainImage()
	info.Usage = vk.IMAGE_USAGE_HOST_TRANSFER_BIT
	change(&info)
	h := newTestImage(t, d, &info)
	allocate := vk.MemoryAllocateInfo{SType: vk.STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO,
		AllocationSize: images.Get(uint64(h)).size + 64, MemoryTypeIndex: memoryType}
	var mem vk.DeviceMemory
	if r := commands.AllocateMemory(d.handle, &allocate, nil, &mem); r != vk.SUCCESS {
		t.Fatal(r)
	}
	t.Cleanup(func() {
		if deviceMemories.Get(uint64(mem)) != nil {
			commands.FreeMemory(d.handle, mem, nil)
		}
	})
	if r := commands.BindImageMemory(d.handle, h, mem, 64); r != vk.SUCCESS {
		t.Fatal(r)
	}
	return h, mem
}

func toImage(img vk.Image, flags vk.HostImageCopyFlags, r vk.MemoryToImageCopy) vk.Result {
	r.SType = vk.STRUCTURE_TYPE_MEMORY_TO_IMAGE_COPY
	return commands.CopyMemoryToImage(images.Get(uint64(img)).device.handle, &vk.CopyMemoryToImageInfo{
		SType: vk.STRUCTURE_TYPE_COPY_MEMORY_TO_IMAGE_INFO, Flags: flags, DstImage: img,
		DstImageLayout: vk.IMAGE_LAYOUT_GENERAL, RegionCount: 1, PRegions: &r,
	})
}

func toMemory(img vk.Image, flags vk.HostImageCopyFlags, r vk.ImageToMemoryCopy) vk.Result {
	r.SType = vk.STRUCTURE_TYPE_IMAGE_TO_MEMORY_COPY
	return commands.CopyImageToMemory(images.Get(uint64(img)).device.handle, &vk.CopyImageToMemoryInfo{
		SType: vk.STRUCTURE_TYPE_COPY_IMAGE_TO_MEMORY_INFO, Flags: flags, SrcImage: img,
		SrcImageLayout: vk.IMAGE_LAYOUT_GENERAL, RegionCount: 1, PRegions: &r,
	})
}

// TestHostImageCopy writes a level of an image through one row length and reads a part of it through another,
// in every memory type: what comes out is what went in, and no other byte of the application's memory changes.
func TestHostImageCopy(t *testing.T) {
	d := hostCopyDevice(t)
	noise := rand.NewChaCha8([32]byte{1})
	for _, c := range []struct {
		name          string
		change        func(*vk.ImageCreateInfo)
		aspect        vk.ImageAspectFlags
		texel, block  uint32 // bytes of a block, texels of its side
		width, height uint32 // of level 1
	}{
		{"color", func(i *vk.ImageCreateInfo) {}, vk.IMAGE_ASPECT_COLOR_BIT, 4, 1, 8, 8},
		{"optimal", func(i *vk.ImageCreateInfo) { i.Tiling = vk.IMAGE_TILING_OPTIMAL }, vk.IMAGE_ASPECT_COLOR_BIT, 4, 1, 8,
			8},
		{"compressed", func(i *vk.ImageCreateInfo) { i.Format = vk.FORMAT_BC1_RGB_UNORM_BLOCK }, vk.IMAGE_ASPECT_COLOR_BIT, 8,
			4, 8, 8},
		{"depth", func(i *vk.ImageCreateInfo) { i.Format = vk.FORMAT_D24_UNORM_S8_UINT }, vk.IMAGE_ASPECT_DEPTH_BIT, 4, 1, 8,
			8},
		{"stencil", func(i *vk.ImageCreateInfo) { i.Format = vk.FORMAT_D24_UNORM_S8_UINT }, vk.IMAGE_ASPECT_STENCIL_BIT, 1, 1,
			8, 8},
		{"64 bits", func(i *vk.ImageCreateInfo) { i.Format, i.Extent.Width = vk.FORMAT_R64G64B64A64_SFLOAT, 46 },
			vk.IMAGE_ASPECT_COLOR_BIT, 32, 1, 23, 8},
	} {
		t.Run(c.name, func(t *testing.T) {
			for memoryType := range uint32(len(d.physical.profile.Types)) {
				img, _ := hostCopyImage(t, d, memoryType, func(i *vk.ImageCreateInfo) {
					i.MipLevels, i.ArrayLayers = 2, 3
					c.change(i)
				})
				sub := vk.ImageSubresourceLayers{AspectMask: c.aspect, MipLevel: 1, BaseArrayLayer: 1, LayerCount: 2}
				const inLength, inHeight, outLength = 32, 12, 24
				blocks := func(texels uint32) uint32 { return (texels + c.block - 1) / c.block }
				rowIn, rowOut := blocks(inLength)*c.texel, blocks(outLength)*c.texel
				in := make([]byte, 2*rowIn*blocks(inHeight)+1)
				noise.Read(in)
				in = in[1:] // host pointers need no alignment
				if r := toImage(img, 0, vk.MemoryToImageCopy{
					PHostPointer: unsafe.Pointer(&in[0]), MemoryRowLength: inLength, MemoryImageHeight: inHeight,
					ImageSubresource: sub, ImageExtent: vk.Extent3D{Width: c.width, Height: c.height, Depth: 1},
				}); r != vk.SUCCESS {
					t.Fatal(r)
				}
				part := vk.Offset3D{X: int32(c.block), Y: int32(c.block)}
				width, height := c.width-c.block, c.height-c.block
				out := bytes.Repeat([]byte{0xaa}, int(2*rowOut*blocks(height)))
				want := bytes.Clone(out)
				for layer := range uint32(2) {
					for y := range blocks(height) {
						from := in[(layer*blocks(inHeight)+y+1)*rowIn+c.texel:]
						copy(want[(layer*blocks(height)+y)*rowOut:], from[:blocks(width)*c.texel])
					}
				}
				if r := toMemory(img, 0, vk.ImageToMemoryCopy{
					PHostPointer: unsafe.Pointer(&out[0]), MemoryRowLength: outLength,
					ImageSubresource: sub, ImageOffset: part, ImageExtent: vk.Extent3D{Width: width, Height: height, Depth: 1},
				}); r != vk.SUCCESS {
					t.Fatal(r)
				}
				if !bytes.Equal(out, want) {
					t.Fatalf("memory type %d: what was read is not what was written", memoryType)
				}
			}
		})
	}
}

// What VK_HOST_IMAGE_COPY_MEMCPY_BIT reads out of one image is, in another, the same texels.
func TestHostImageMemcpy(t *testing.T) {
	d := hostCopyDevice(t)
	noise := rand.NewChaCha8([32]byte{2})
	shape := func(i *vk.ImageCreateInfo) {
		i.Tiling, i.ArrayLayers, i.MipLevels, i.Format, i.Extent.Width = vk.IMAGE_TILING_OPTIMAL, 4, 3,
			vk.FORMAT_R8G8B8_UNORM, 23
	}
	a, _ := hostCopyImage(t, d, 0, shape)
	b, _ := hostCopyImage(t, d, 2, shape)
	other, _ := hostCopyImage(t, d, 0, func(i *vk.ImageCreateInfo) { shape(i); i.ArrayLayers = 5 })
	const width, height, layers = 11, 8, 2
	sub := vk.ImageSubresourceLayers{AspectMask: vk.IMAGE_ASPECT_COLOR_BIT, MipLevel: 1, BaseArrayLayer: 2,
		LayerCount: layers}
	extent := vk.Extent3D{Width: width, Height: height, Depth: 1}
	texels := make([]byte, layers*width*height*3)
	noise.Read(texels)
	if r := toImage(a, 0, vk.MemoryToImageCopy{PHostPointer: unsafe.Pointer(&texels[0]), ImageSubresource: sub,
		ImageExtent: extent}); r != vk.SUCCESS {
		t.Fatal(r)
	}
	size := vk.SubresourceHostMemcpySize{SType: vk.STRUCTURE_TYPE_SUBRESOURCE_HOST_MEMCPY_SIZE}
	layout := vk.SubresourceLayout2{SType: vk.STRUCTURE_TYPE_SUBRESOURCE_LAYOUT_2, PNext: unsafe.Pointer(&size)}
	commands.GetImageSubresourceLayout2(d.handle, a, &vk.ImageSubresource2{
		SType:            vk.STRUCTURE_TYPE_IMAGE_SUBRESOURCE_2,
		ImageSubresource: vk.ImageSubresource{AspectMask: vk.IMAGE_ASPECT_COLOR_BIT, MipLevel: 1, ArrayLayer: 2},
	}, &layout)
	if size.Size < width*height*3 {
		t.Fatalf("%d bytes for %d x %d texels", size.Size, width, height)
	}
	const memcpy, guard = vk.HOST_IMAGE_COPY_MEMCPY_BIT, 64
	raw := bytes.Repeat([]byte{0xaa}, layers*int(size.Size)+guard)
	if r := toMemory(a, memcpy, vk.ImageToMemoryCopy{PHostPointer: unsafe.Pointer(&raw[0]), ImageSubresource: sub,
		ImageExtent: extent}); r != vk.SUCCESS {
		t.Fatal(r)
	}
	if !bytes.Equal(raw[len(raw)-guard:], bytes.Repeat([]byte{0xaa}, guard)) {
		t.Error("more was written than VkSubresourceHostMemcpySize says")
	}
	read := func(img vk.Image) []byte {
		out := make([]byte, len(texels))
		if r := toMemory(img, 0, vk.ImageToMemoryCopy{PHostPointer: unsafe.Pointer(&out[0]), ImageSubresource: sub,
			ImageExtent: extent}); r != vk.SUCCESS {
			t.Fatal(r)
		}
		return out
	}
	if r := toImage(b, memcpy, vk.MemoryToImageCopy{PHostPointer: unsafe.Pointer(&raw[0]), ImageSubresource: sub,
		ImageExtent: extent}); r != vk.SUCCESS || !bytes.Equal(read(b), texels) {
		t.Errorf("%v, and the texels are others", r)
	}

	imageToImage := func(src, dst vk.Image, layer uint32, flags vk.HostImageCopyFlags) vk.Result {
		region := vk.ImageCopy2{SType: vk.STRUCTURE_TYPE_IMAGE_COPY_2, SrcSubresource: sub, DstSubresource: sub,
			Extent: extent}
		region.SrcSubresource.BaseArrayLayer = layer
		return commands.CopyImageToImage(d.handle, &vk.CopyImageToImageInfo{
			SType: vk.STRUCTURE_TYPE_COPY_IMAGE_TO_IMAGE_INFO, Flags: flags, SrcImage: src,
			SrcImageLayout: vk.IMAGE_LAYOUT_GENERAL,
			DstImage:       dst, DstImageLayout: vk.IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL, RegionCount: 1, PRegions: &region,
		})
	}
	if r := imageToImage(a, b, 0, memcpy); r != vk.SUCCESS || !bytes.Equal(read(b), make([]byte, len(texels))) {
		t.Errorf("layers that nobody wrote: %v", r)
	}
	if r := imageToImage(a, b, 2, 0); r != vk.SUCCESS || !bytes.Equal(read(b), texels) {
		t.Errorf("image to image: %v", r)
	}
	if r := imageToImage(a, other, 2, 0); r != vk.ERROR_VALIDATION_FAILED {
		t.Errorf("images of different parameters: %v", r)
	}
	extent.Width--
	if r := imageToImage(a, b, 2, memcpy); r != vk.ERROR_VALIDATION_FAILED {
		t.Errorf("a plain copy of a part: %v", r)
	}
}

// TestHostImageCopyRefuses holds commands to the rules, which the messages name.
func TestHostImageCopyRefuses(t *testing.T) {
	d := hostCopyDevice(t)
	img, mem := hostCopyImage(t, d, 0, func(*vk.ImageCreateInfo) {})
	queueOnly, _ := hostCopyImage(t, d, 0, func(i *vk.ImageCreateInfo) { i.Usage = vk.IMAGE_USAGE_TRANSFER_DST_BIT })
	stencil := vk.ImageStencilUsageCreateInfo{SType: vk.STRUCTURE_TYPE_IMAGE_STENCIL_USAGE_CREATE_INFO,
		StencilUsage: vk.IMAGE_USAGE_TRANSFER_DST_BIT}
	depthOnly, _ := hostCopyImage(t, d, 0, func(i *vk.ImageCreateInfo) {
		i.PNext, i.Format = unsafe.Pointer(&stencil), vk.FORMAT_D32_SFLOAT_S8_UINT
	})
	info := plainImage()
	info.Usage = vk.IMAGE_USAGE_HOST_TRANSFER_BIT
	unbound := newTestImage(t, d, &info)
	testMessenger(t, d.physical.instance, vk.DEBUG_UTILS_MESSAGE_SEVERITY_ERROR_BIT_EXT, everyType, 0)
	takeInbox()
	memory := make([]byte, 16*16*4)
	for _, c := range []struct {
		name   string
		change func(*vk.CopyMemoryToImageInfo, *vk.MemoryToImageCopy)
		rule   string
	}{
		{"no fault", func(i *vk.CopyMemoryToImageInfo, r *vk.MemoryToImageCopy) {}, ""},
		{"no regions", func(i *vk.CopyMemoryToImageInfo, r *vk.MemoryToImageCopy) { i.PRegions = nil }, ""},
		{"layout", func(i *vk.CopyMemoryToImageInfo, r *vk.MemoryToImageCopy) {
			i.DstImageLayout = vk.IMAGE_LAYOUT_UNDEFINED
		}, "dstImageLayout-09060"},
		{"flags", func(i *vk.CopyMemoryToImageInfo, r *vk.MemoryToImageCopy) { i.Flags = 1 << 7 }, "flags-parameter"},
		{"usage", func(i *vk.CopyMemoryToImageInfo, r *vk.MemoryToImageCopy) { i.DstImage = queueOnly }, "dstImage-09113"},
		{"stencil usage", func(i *vk.CopyMemoryToImageInfo, r *vk.MemoryToImageCopy) {
			i.DstImage, r.ImageSubresource.AspectMask = depthOnly, vk.IMAGE_ASPECT_STENCIL_BIT
		}, "dstImage-09112"},
		{"unbound", func(i *vk.CopyMemoryToImageInfo, r *vk.MemoryToImageCopy) { i.DstImage = unbound }, "dstImage-07966"},
		{"level", func(i *vk.CopyMemoryToImageInfo, r *vk.MemoryToImageCopy) { r.ImageSubresource.MipLevel = 1 << 31 },
			"imageSubresource-07967"},
		{"part by memcpy", func(i *vk.CopyMemoryToImageInfo, r *vk.MemoryToImageCopy) {
			i.Flags, r.ImageExtent.Width = vk.HOST_IMAGE_COPY_MEMCPY_BIT, 15
		}, "dstImage-09115"},
		{"pitch of memcpy", func(i *vk.CopyMemoryToImageInfo, r *vk.MemoryToImageCopy) {
			i.Flags, r.MemoryRowLength = vk.HOST_IMAGE_COPY_MEMCPY_BIT, 16
		}, "flags-09393"},
	} {
		region := vk.MemoryToImageCopy{
			SType: vk.STRUCTURE_TYPE_MEMORY_TO_IMAGE_COPY, PHostPointer: unsafe.Pointer(&memory[0]),
			ImageSubresource: vk.ImageSubresourceLayers{AspectMask: vk.IMAGE_ASPECT_COLOR_BIT, LayerCount: 1},
			ImageExtent:      vk.Extent3D{Width: 16, Height: 16, Depth: 1},
		}
		info := vk.CopyMemoryToImageInfo{
			SType: vk.STRUCTURE_TYPE_COPY_MEMORY_TO_IMAGE_INFO, DstImage: img, DstImageLayout: vk.IMAGE_LAYOUT_GENERAL,
			RegionCount: 1, PRegions: &region,
		}
		c.change(&info, &region)
		r := commands.CopyMemoryToImage(d.handle, &info)
		messages := takeInbox()
		if c.rule == "" {
			if r != vk.SUCCESS || len(messages) != 0 {
				t.Errorf("%s: %v, %v", c.name, r, messages)
			}
			continue
		}
		if r >= 0 || len(messages) != 1 || messages[0].id != "VUID-VkCopyMemoryToImageInfo-"+c.rule {
			t.Errorf("%s: %v, %v, want %s", c.name, r, messages, c.rule)
		}
	}
	region := vk.MemoryToImageCopy{
		ImageSubresource: vk.ImageSubresourceLayers{AspectMask: vk.IMAGE_ASPECT_COLOR_BIT, LayerCount: 1},
		ImageExtent:      vk.Extent3D{Width: 16, Height: 16, Depth: 1},
	}
	if r := toImage(img, 0, region); r >= 0 {
		t.Errorf("pHostPointer NULL: %v", r)
	}
	commands.FreeMemory(d.handle, mem, nil)
	region.PHostPointer = unsafe.Pointer(&memory[0])
	if r := toImage(img, 0, region); r >= 0 {
		t.Errorf("memory that has been freed: %v", r)
	}
}

// A host pointer to memory that is not there is a fault in the calling goroutine, which cabi turns into an
// error, and the image's memory goes with its last reference all the same.
func TestHostImageCopyFault(t *testing.T) {
	d := hostCopyDevice(t)
	img, mem := hostCopyImage(t, d, 0, func(i *vk.ImageCreateInfo) {
		i.Extent = vk.Extent3D{Width: 1024, Height: 1024, Depth: 1} // large enough for all cores
	})
	const size = 1024 * 1024 * 4
	memory, err := unix.Mmap(-1, 0, size, unix.PROT_NONE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Munmap(memory)
	// Half of it exists.
	if err := unix.Mprotect(memory[:size/2], unix.PROT_READ|unix.PROT_WRITE); err != nil {
		t.Fatal(err)
	}
	payload := deviceMemories.Get(uint64(mem)).payload
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	for _, direction := range []string{"to", "from"} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s the image: no fault", direction)
				}
			}()
			sub := vk.ImageSubresourceLayers{AspectMask: vk.IMAGE_ASPECT_COLOR_BIT, LayerCount: 1}
			extent := vk.Extent3D{Width: 1024, Height: 1024, Depth: 1}
			if direction == "to" {
				toImage(img, 0, vk.MemoryToImageCopy{PHostPointer: unsafe.Pointer(&memory[0]), ImageSubresource: sub,
					ImageExtent: extent})
			} else {
				toMemory(img, 0, vk.ImageToMemoryCopy{PHostPointer: unsafe.Pointer(&memory[0]), ImageSubresource: sub,
					ImageExtent: extent})
			}
		}()
	}
	commands.FreeMemory(d.handle, mem, nil)
	if payload.TryRetain() {
		t.Error("the faults left references to the memory")
	}
}

func TestTransitionImageLayout(t *testing.T) {
	d := hostCopyDevice(t)
	img, mem := hostCopyImage(t, d, 0, func(i *vk.ImageCreateInfo) {
		i.Format, i.MipLevels = vk.FORMAT_D32_SFLOAT_S8_UINT, 2
	})
	const all = vk.IMAGE_ASPECT_DEPTH_BIT | vk.IMAGE_ASPECT_STENCIL_BIT
	for _, c := range []struct {
		from, to vk.ImageLayout
		r        vk.ImageSubresourceRange
		rule     string
	}{
		{vk.IMAGE_LAYOUT_UNDEFINED, vk.IMAGE_LAYOUT_GENERAL,
			vk.ImageSubresourceRange{AspectMask: all, LevelCount: 2, LayerCount: 1}, ""},
		{vk.IMAGE_LAYOUT_PREINITIALIZED, vk.IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL,
			vk.ImageSubresourceRange{AspectMask: all, BaseMipLevel: 1, LevelCount: vk.REMAINING_MIP_LEVELS,
				LayerCount: vk.REMAINING_ARRAY_LAYERS}, ""},
		{vk.IMAGE_LAYOUT_GENERAL, vk.IMAGE_LAYOUT_UNDEFINED,
			vk.ImageSubresourceRange{AspectMask: all, LevelCount: 1, LayerCount: 1}, "newLayout-09057"},
		{vk.IMAGE_LAYOUT_COLOR_ATTACHMENT_OPTIMAL, vk.IMAGE_LAYOUT_GENERAL,
			vk.ImageSubresourceRange{AspectMask: all, LevelCount: 1, LayerCount: 1}, "oldLayout-09230"},
		{vk.IMAGE_LAYOUT_GENERAL, vk.IMAGE_LAYOUT_GENERAL,
			vk.ImageSubresourceRange{AspectMask: vk.IMAGE_ASPECT_COLOR_BIT, LevelCount: 1, LayerCount: 1},
			"subresourceRange-09601"},
		{vk.IMAGE_LAYOUT_GENERAL, vk.IMAGE_LAYOUT_GENERAL,
			vk.ImageSubresourceRange{AspectMask: vk.IMAGE_ASPECT_DEPTH_BIT, LevelCount: 1, LayerCount: 1}, "image-03320"},
		{vk.IMAGE_LAYOUT_GENERAL, vk.IMAGE_LAYOUT_GENERAL,
			vk.ImageSubresourceRange{AspectMask: all, BaseMipLevel: 2, LevelCount: 1, LayerCount: 1}, "subresourceRange-01486"},
		{vk.IMAGE_LAYOUT_GENERAL, vk.IMAGE_LAYOUT_GENERAL,
			vk.ImageSubresourceRange{AspectMask: all, BaseMipLevel: 1, LevelCount: 2, LayerCount: 1}, "subresourceRange-01724"},
		{vk.IMAGE_LAYOUT_GENERAL, vk.IMAGE_LAYOUT_GENERAL,
			vk.ImageSubresourceRange{AspectMask: all, LevelCount: 1, BaseArrayLayer: 1, LayerCount: 1},
			"subresourceRange-01488"},
		{vk.IMAGE_LAYOUT_GENERAL, vk.IMAGE_LAYOUT_GENERAL,
			vk.ImageSubresourceRange{AspectMask: all, LevelCount: 1, LayerCount: 2}, "subresourceRange-01725"},
	} {
		transition := vk.HostImageLayoutTransitionInfo{
			SType: vk.STRUCTURE_TYPE_HOST_IMAGE_LAYOUT_TRANSITION_INFO, Image: img, OldLayout: c.from, NewLayout: c.to,
			SubresourceRange: c.r,
		}
		err := images.Get(uint64(img)).checkTransition(&transition)
		if vk.VUIDOf(err).String() != c.rule && vk.VUIDOf(err).String() != "VUID-VkHostImageLayoutTransitionInfo-"+c.rule {
			t.Errorf("%+v: %v", c, err)
		}
		if r := commands.TransitionImageLayout(d.handle, 1, &transition); (r == vk.SUCCESS) != (c.rule == "") {
			t.Errorf("%+v: %v", c, r)
		}
	}
	undo := lacking(t, d, "attachmentFeedbackLoopLayout")
	looping := vk.HostImageLayoutTransitionInfo{Image: img, OldLayout: vk.IMAGE_LAYOUT_GENERAL,
		NewLayout:        vk.IMAGE_LAYOUT_ATTACHMENT_FEEDBACK_LOOP_OPTIMAL_EXT,
		SubresourceRange: vk.ImageSubresourceRange{AspectMask: all, LevelCount: 1, LayerCount: 1}}
	if err := images.Get(uint64(img)).checkTransition(&looping); vk.VUIDOf(err).String() !=
		"VUID-VkHostImageLayoutTransitionInfo-attachmentFeedbackLoopLayout-07313" {
		t.Error(err)
	}
	undo()
	commands.FreeMemory(d.handle, mem, nil)
	transition := vk.HostImageLayoutTransitionInfo{Image: img, NewLayout: vk.IMAGE_LAYOUT_GENERAL}
	if err := images.Get(uint64(img)).checkTransition(&transition); vk.VUIDOf(err).String() !=
		"VUID-VkHostImageLayoutTransitionInfo-image-01932" {
		t.Error(err)
	}
}

func TestHostImageCopyProperties(t *testing.T) {
	d := hostCopyDevice(t)
	p := vk.PhysicalDeviceHostImageCopyProperties{SType: vk.STRUCTURE_TYPE_PHYSICAL_DEVICE_HOST_IMAGE_COPY_PROPERTIES}
	out := vk.PhysicalDeviceProperties2{SType: vk.STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2, PNext: unsafe.Pointer(&p)}
	commands.GetPhysicalDeviceProperties2(d.physical.handle, &out)
	layouts := make([]vk.ImageLayout, p.CopyDstLayoutCount)
	p.PCopyDstLayouts = &layouts[0]
	commands.GetPhysicalDeviceProperties2(d.physical.handle, &out)
	if p.CopySrcLayoutCount == 0 || !slices.Contains(layouts, vk.IMAGE_LAYOUT_GENERAL) ||
		p.IdenticalMemoryTypeRequirements != vk.TRUE {
		t.Errorf("%+v, %v", p, layouts)
	}
	if p.OptimalTilingLayoutUUID == ([vk.UUID_SIZE]byte{}) {
		t.Error("no UUID of the optimal tiling")
	}
	query := vk.HostImageCopyDevicePerformanceQuery{SType: vk.STRUCTURE_TYPE_HOST_IMAGE_COPY_DEVICE_PERFORMANCE_QUERY,
		OptimalDeviceAccess: 7, IdenticalMemoryLayout: 7}
	answer := vk.ImageFormatProperties2{SType: vk.STRUCTURE_TYPE_IMAGE_FORMAT_PROPERTIES_2, PNext: unsafe.Pointer(&query)}
	q := plainQuery()
	q.Usage = vk.IMAGE_USAGE_HOST_TRANSFER_BIT
	if r := commands.GetPhysicalDeviceImageFormatProperties2(d.physical.handle, &q, &answer); r != vk.SUCCESS ||
		query.OptimalDeviceAccess != vk.TRUE || query.IdenticalMemoryLayout != vk.TRUE {
		t.Errorf("%v, %+v", r, query)
	}
}
