package conformance

import (
	"bufio"
	"fmt"
	"os"
	"slices"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"

	"farside/conformance/vulkan"
	"farside/internal/vk"
)

// dmaBufExtensions are what all of these cases enable.
var dmaBufExtensions = slices.Concat(externalExtensions,
	[]string{dmaBufExtension, drmModifierExtension, formatListExtension})

const dmaBufGroup = "api.external.memory.dma_buf."

// dmaRow is a case with two actors that both have a fence named done: a stage of this process, and one of another.
func dmaRow(name string, devices []string, run func(c *Case, near *stage, far *farStage)) definition {
	return definition{name: dmaBufGroup + name, extensions: dmaBufExtensions, features: syncFeatures, queues: true,
		instanceExtensions: []string{debugExtension}, devices: devices, run: func(c *Case) {
			near, far := c.stage(), c.farStage()
			defer near.close()
			defer far.end()
			for _, a := range []actor{near, far} {
				c.ok(a, "fence done -")
			}
			run(c, near, far)
		}}
}

// settled submits to queue 0 and waits for it.
func (c *Case) settled(a actor, commands string) {
	c.ok(a, "submit 0 %s fence=done", commands)
	c.ok(a, "wait done 0 20000")
	c.ok(a, "reset done")
}

// sources are all that a dma-buf can come from: Farside's own memory too.
func sources() []dmaSource {
	return append([]dmaSource{{"farside", udmabufDevice, func(c *Case, size int) int {
		m := c.allocate(uint64(size), c.visible(), vulkan.ExportInfo(&c.a, dmaBuf, nil))
		defer c.dev.Free(m)
		fd, r := c.dev.GetFd(m, dmaBuf)
		c.must("vkGetMemoryFdKHR", r)
		return fd
	}}}, foreign...)
}

// wantBytes wants all bytes of a dma-buf, as a program without Vulkan sees them, to be b.
func (c *Case) wantBytes(what string, fd int, b byte) {
	c.within(fd, stageBytes, func(got []byte) {
		for i := range got {
			if got[i] != b {
				c.Errorf("%s: byte %d is %#x, want %#x", what, i, got[i], b)
				return
			}
		}
	})
}

func dmaBufCases() []definition {
	var all []definition
	for _, s := range sources() {
		devices := []string{s.device}
		all = append(all,
			dmaRow("buffer."+s.name, devices, func(c *Case, near *stage, far *farStage) {
				fd := s.make(c, stageBytes)
				defer unix.Close(fd)
				bits, r := c.dev.FdProperties(dmaBuf, fd)
				if c.must("vkGetMemoryFdPropertiesKHR", r); bits>>c.visible()&1 == 0 {
					c.Errorf("memory type bits %#b lack type %d", bits, c.visible())
				}
				other := c.stage() // another device of this process
				defer other.close()
				c.ok(other, "fence done -")
				for _, a := range []actor{near, other, far} {
					a.hand(c.duplicateOf(fd))
					c.ok(a, "adopt x dma")
					c.ok(a, "memory y mapped")
				}
				// What one writes, the others read: by commands, by mapped memory and without Vulkan.
				for i, writer := range []actor{near, other, far} {
					value := byte(16*i + 1)
					c.settled(writer, fmt.Sprintf("fill=x:%d", value))
					c.wantBytes("filled by a queue", fd, value)
					for _, reader := range []actor{near, other, far} {
						c.ok(reader, "check x %d", value)
						c.settled(reader, "copy=y:x")
						c.ok(reader, "check y %d", value)
					}
					c.ok(writer, "write x %d", value+1)
					c.wantBytes("written by the host", fd, value+1)
				}
				c.within(fd, stageBytes, func(b []byte) {
					for i := range b {
						b[i] = 99
					}
				})
				for _, a := range []actor{near, other, far} {
					c.settled(a, "copy=y:x")
					c.ok(a, "check y 99")
				}
				// The dma-buf that comes out of an import is the one that went in.
				again := c.allocateFrom(near.dev, fd, vulkan.ExportInfo(&c.a, dmaBuf, nil))
				out, r := near.dev.GetFd(again, dmaBuf)
				if c.must("vkGetMemoryFdKHR of an import", r); c.inode(out) != c.inode(fd) {
					c.Errorf("the dma-buf came out as another one")
				}
				unix.Close(out)
				near.dev.Free(again)
			}),
			definition{name: dmaBufGroup + "image." + s.name, extensions: dmaBufExtensions, devices: devices,
				run: func(c *Case) { c.imageInForeign(s) }},
		)
	}
	return append(all,
		definition{name: dmaBufGroup + "image.between_processes", extensions: dmaBufExtensions, run: imageBetweenProcesses},
		definition{name: dmaBufGroup + "memory_types", extensions: dmaBufExtensions, run: dmaBufTypes},
		definition{name: dmaBufGroup + "one_for_each_memory", extensions: dmaBufExtensions, run: func(c *Case) {
			// Implicit fences belong to the dma-buf, so that two exports of one memory must give the same.
			m := c.allocate(stageBytes, c.visible(), vulkan.ExportInfo(&c.a, dmaBuf, nil))
			var fds [2]int
			for i := range fds {
				var r vk.Result
				fds[i], r = c.dev.GetFd(m, dmaBuf)
				c.must("vkGetMemoryFdKHR", r)
				defer unix.Close(fds[i])
				if flags, err := unix.FcntlInt(uintptr(fds[i]), unix.F_GETFD, 0); err != nil || flags&unix.FD_CLOEXEC == 0 {
					c.Errorf("the descriptor's flags are %#x (%v), without close-on-exec", flags, err)
				}
			}
			if fds[0] == fds[1] || c.inode(fds[0]) != c.inode(fds[1]) {
				c.Errorf("two exports gave two dma-bufs")
			}
			c.dev.Free(m)
		}},
	)
}

// dmaBufTypes imports dma-bufs with the memory type that they were allocated with, also where that is not host-visible.
func dmaBufTypes(c *Case) {
	const remote = vk.MEMORY_PROPERTY_RDMA_CAPABLE_BIT_NV
	for t := range c.mem.MemoryTypeCount {
		flags := c.mem.MemoryTypes[t].PropertyFlags
		m := c.allocate(stageBytes, t, vulkan.ExportInfo(&c.a, dmaBuf, nil))
		fd, r := c.dev.GetFd(m, dmaBuf)
		c.must("vkGetMemoryFdKHR", r)
		bits, r := c.dev.FdProperties(dmaBuf, fd)
		c.must("vkGetMemoryFdPropertiesKHR", r)
		if got := bits>>t&1 != 0; got != (flags&remote == 0) {
			c.Errorf("that type %d (%v) can be imported is %v", t, flags, got)
		}
		if bits>>t&1 != 0 {
			again, r := c.dev.Allocate(stageBytes, t, vulkan.ImportFdInfo(&c.a, dmaBuf, c.duplicateOf(fd), nil))
			c.must(fmt.Sprintf("import with type %d (%v)", t, flags), r)
			c.dev.Free(again)
		}
		unix.Close(fd)
		c.dev.Free(m)
	}
}

// allocateFrom imports a dma-buf, of which the caller keeps its descriptor.
func (c *Case) allocateFrom(dev *vulkan.Device, fd int, next unsafe.Pointer) vk.DeviceMemory {
	m, r := dev.Allocate(stageBytes, c.visible(), vulkan.ImportFdInfo(&c.a, dmaBuf, c.duplicateOf(fd), next))
	c.must("import", r)
	return m
}

// A dmaImage is an R8G8B8A8_UNORM image with DRM_FORMAT_MOD_LINEAR, in memory that is a dma-buf.
type dmaImage struct {
	c             *Case
	image         vk.Image
	memory        vk.DeviceMemory
	width, height int
	plane         vk.SubresourceLayout
}

// dmaImage makes one: in the dma-buf fd with a given plane, or, without a plane, in new memory as the driver likes.
func (c *Case) dmaImage(width, height, fd int, plane *vk.SubresourceLayout) *dmaImage {
	external := vulkan.Struct[vk.ExternalMemoryImageCreateInfo](&c.a)
	external.HandleTypes = dmaBuf
	if plane != nil {
		explicit := vulkan.Struct[vk.ImageDrmFormatModifierExplicitCreateInfoEXT](&c.a)
		explicit.DrmFormatModifierPlaneCount, explicit.PPlaneLayouts = 1, vulkan.Put(&c.a, *plane)
		external.PNext = unsafe.Pointer(explicit)
	} else {
		list := vulkan.Struct[vk.ImageDrmFormatModifierListCreateInfoEXT](&c.a)
		list.DrmFormatModifierCount, list.PDrmFormatModifiers = 1, vulkan.New[uint64](&c.a) // DRM_FORMAT_MOD_LINEAR
		external.PNext = unsafe.Pointer(list)
	}
	info := vulkan.Struct[vk.ImageCreateInfo](&c.a)
	info.PNext = unsafe.Pointer(external)
	info.ImageType, info.Format = vk.IMAGE_TYPE_2D, vk.FORMAT_R8G8B8A8_UNORM
	info.Extent = vk.Extent3D{Width: uint32(width), Height: uint32(height), Depth: 1}
	info.MipLevels, info.ArrayLayers, info.Samples = 1, 1, vk.SAMPLE_COUNT_1_BIT
	info.Tiling = vk.IMAGE_TILING_DRM_FORMAT_MODIFIER_EXT
	info.Usage = vk.IMAGE_USAGE_TRANSFER_SRC_BIT | vk.IMAGE_USAGE_TRANSFER_DST_BIT
	out := vulkan.New[vk.Image](&c.a)
	c.must("vkCreateImage", vk.Result(c.dev.Call("vkCreateImage", ptr(info), 0, ptr(out))))
	i := &dmaImage{c: c, image: *out, width: width, height: height}

	modifier := vulkan.Struct[vk.ImageDrmFormatModifierPropertiesEXT](&c.a)
	c.must("vkGetImageDrmFormatModifierPropertiesEXT", vk.Result(c.dev.Call("vkGetImageDrmFormatModifierPropertiesEXT",
		uintptr(i.image), ptr(modifier))))
	if modifier.DrmFormatModifier != 0 {
		c.Errorf("the modifier is %#x", modifier.DrmFormatModifier)
	}
	layout := vulkan.New[vk.SubresourceLayout](&c.a)
	c.dev.Call("vkGetImageSubresourceLayout", uintptr(i.image), ptr(vulkan.Put(&c.a,
		vk.ImageSubresource{AspectMask: vk.ImageAspectFlags(vk.IMAGE_ASPECT_MEMORY_PLANE_0_BIT_EXT)})), ptr(layout))
	if i.plane = *layout; plane != nil && (layout.Offset != plane.Offset || layout.RowPitch != plane.RowPitch) {
		c.Errorf("the plane begins at %d with rows of %d bytes, want %d and %d", layout.Offset, layout.RowPitch,
			plane.Offset, plane.RowPitch)
	}

	req := c.dev.ImageRequirements(i.image)
	next := vulkan.DedicatedInfo(&c.a, i.image, 0, nil)
	bits := req.MemoryTypeBits
	if fd >= 0 {
		importable, r := c.dev.FdProperties(dmaBuf, fd)
		c.must("vkGetMemoryFdPropertiesKHR", r)
		bits &= importable
		next = vulkan.ImportFdInfo(&c.a, dmaBuf, c.duplicateOf(fd), next)
	} else {
		next = vulkan.ExportInfo(&c.a, dmaBuf, next)
	}
	i.memory = c.allocate(req.Size, c.visibleOf(bits), next)
	c.must("vkBindImageMemory", c.dev.BindImage(i.image, i.memory, 0))
	return i
}

func (i *dmaImage) destroy() {
	i.c.dev.DestroyImage(i.image)
	i.c.dev.Free(i.memory)
}

// copied copies all texels to the image from b, or from it.
func (i *dmaImage) copied(b []byte, toImage bool) {
	c, size := i.c, uint64(i.width*i.height*bytesPerTexel)
	buffer, r := c.dev.CreateBuffer(size, 0)
	c.must("vkCreateBuffer", r)
	m := c.allocate(c.dev.BufferRequirements(buffer).Size, c.visible(), nil)
	c.must("vkBindBufferMemory", c.dev.BindBuffer(buffer, m, 0))
	mapped := c.bytes(m, size)
	region := vulkan.Put(&c.a, vk.BufferImageCopy{
		ImageSubresource: vk.ImageSubresourceLayers{AspectMask: color, LayerCount: 1},
		ImageExtent:      vk.Extent3D{Width: uint32(i.width), Height: uint32(i.height), Depth: 1},
	})
	const general = uintptr(vk.IMAGE_LAYOUT_GENERAL)
	if toImage {
		copy(mapped, b)
	}
	c.must("copy", c.dev.Submit(func(cb vk.CommandBuffer) {
		// The texels are kept: what another wrote comes from a foreign queue.
		barrier := vulkan.Struct[vk.ImageMemoryBarrier](&c.a)
		barrier.OldLayout, barrier.NewLayout = vk.IMAGE_LAYOUT_GENERAL, vk.IMAGE_LAYOUT_GENERAL
		barrier.SrcQueueFamilyIndex, barrier.DstQueueFamilyIndex = vk.QUEUE_FAMILY_EXTERNAL, 0
		barrier.DstAccessMask = vk.AccessFlags(vk.ACCESS_TRANSFER_READ_BIT | vk.ACCESS_TRANSFER_WRITE_BIT)
		barrier.Image = i.image
		barrier.SubresourceRange = vk.ImageSubresourceRange{AspectMask: color, LevelCount: 1, LayerCount: 1}
		all := uintptr(vk.PIPELINE_STAGE_ALL_COMMANDS_BIT)
		c.dev.CallOn("vkCmdPipelineBarrier", uintptr(cb), all, all, 0, 0, 0, 0, 0, 1, ptr(barrier))
		if toImage {
			c.dev.CallOn("vkCmdCopyBufferToImage", uintptr(cb), uintptr(buffer), uintptr(i.image), general, 1, ptr(region))
		} else {
			c.dev.CallOn("vkCmdCopyImageToBuffer", uintptr(cb), uintptr(i.image), general, uintptr(buffer), 1, ptr(region))
		}
	}))
	if !toImage {
		copy(b, mapped)
	}
	c.dev.DestroyBuffer(buffer)
	c.dev.Free(m)
}

func (i *dmaImage) write(seed int) {
	b := make([]byte, i.width*i.height*bytesPerTexel)
	fill(b, seed)
	i.copied(b, true)
}

func (i *dmaImage) check(what string, seed int) {
	b := make([]byte, i.width*i.height*bytesPerTexel)
	i.copied(b, false)
	i.c.check(what, b, seed)
}

// imageInForeign puts images with different planes into a dma-buf, and compares with what lies in it.
func (c *Case) imageInForeign(s dmaSource) {
	const size, width, height = 256 << 10, 100, 60
	for _, plane := range []vk.SubresourceLayout{
		{RowPitch: dumbSpacing}, {Offset: 4096, RowPitch: 1024}, {Offset: 64, RowPitch: width * bytesPerTexel},
	} {
		fd := s.make(c, size)
		c.within(fd, size, func(b []byte) {
			for i := range b {
				b[i] = 0xee
			}
		})
		image := c.dmaImage(width, height, fd, &plane)
		image.write(41)
		want := make([]byte, width*height*bytesPerTexel)
		fill(want, 41)
		c.within(fd, size, func(b []byte) {
			for i, got := range b {
				expected := byte(0xee)
				if at := i - int(plane.Offset); at >= 0 {
					if x, y := at%int(plane.RowPitch), at/int(plane.RowPitch); x < width*bytesPerTexel && y < height {
						expected = want[y*width*bytesPerTexel+x]
					}
				}
				if got != expected {
					c.Errorf("plane at %d with rows of %d: byte %d is %#x, want %#x",
						plane.Offset, plane.RowPitch, i, got, expected)
					return
				}
			}
			// And the other way.
			fill(want, 42)
			for y := range height {
				copy(b[int(plane.Offset)+y*int(plane.RowPitch):], want[y*width*bytesPerTexel:][:width*bytesPerTexel])
			}
		})
		image.check("an image that was written without Vulkan", 42)
		image.destroy()
		unix.Close(fd)
	}
}

// imageBetweenProcesses exports an image whose layout the driver chose to another process, which says it explicitly.
func imageBetweenProcesses(c *Case) {
	image := c.dmaImage(75, 33, -1, nil)
	image.write(51)
	fd, r := c.dev.GetFd(image.memory, dmaBuf)
	c.must("vkGetMemoryFdKHR", r)
	defer unix.Close(fd)
	// Of the importers, one dies with the image in its hands.
	for _, dies := range []bool{true, false} {
		p := c.start("dma_image")
		c.system("send", sendFd(p.socket, fd))
		p.tell("%d %d %d %d", image.width, image.height, image.plane.Offset, image.plane.RowPitch)
		if s := p.hear(); s != "good" {
			c.Errorf("the importer says %s", s)
		}
		if dies {
			p.kill()
		}
		p.end()
		image.check("an image that another process wrote", 52)
		image.write(51)
	}
	image.destroy()
}

// playDMAImage is the life of the process that imports an image.
func playDMAImage(c *Case) {
	fd, err := receiveFd(3)
	c.system("receive", err)
	in := bufio.NewScanner(os.Stdin)
	in.Scan()
	var width, height int
	var plane vk.SubresourceLayout
	_, err = fmt.Fscan(strings.NewReader(in.Text()), &width, &height, &plane.Offset, &plane.RowPitch)
	c.system("scan", err)
	image := c.dmaImage(width, height, fd, &plane)
	unix.Close(fd)
	image.check("an image of another process", 51)
	image.write(52)
	if c.failed {
		say("bad")
	} else {
		say("good")
	}
	in.Scan() // until it is ended or killed
	image.destroy()
}
