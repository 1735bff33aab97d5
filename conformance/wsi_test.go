package conformance

import (
	"slices"
	"sync"
	"unsafe"

	"farside/conformance/vulkan"
	"farside/internal/vk"
)

var (
	surfaceExtensions = []string{vk.KHR_SURFACE_EXTENSION_NAME, vk.EXT_HEADLESS_SURFACE_EXTENSION_NAME,
		vk.KHR_GET_SURFACE_CAPABILITIES_2_EXTENSION_NAME}
	maintainedExtensions = append(slices.Clone(surfaceExtensions), vk.EXT_SURFACE_MAINTENANCE_1_EXTENSION_NAME)
)

// wsiCase is a row about surfaces that no window system has.
func wsiCase(name string, run func(c *Case)) definition {
	d := drawCase("wsi.headless."+name, run)
	d.instanceExtensions, d.extensions = surfaceExtensions, []string{vk.KHR_SWAPCHAIN_EXTENSION_NAME}
	return d
}

// wsiCases make surfaces and swapchains, acquire images, draw into them, and present them.
func wsiCases() []definition {
	maintained := func(name string, run func(c *Case)) definition {
		d := wsiCase("maintenance."+name, run)
		d.instanceExtensions = maintainedExtensions
		d.extensions = append(slices.Clone(d.extensions), vk.EXT_SWAPCHAIN_MAINTENANCE_1_EXTENSION_NAME)
		d.features = func(a *vulkan.Arena) unsafe.Pointer {
			f := vulkan.Struct[vk.PhysicalDeviceSwapchainMaintenance1FeaturesKHR](a)
			f.SwapchainMaintenance1 = vk.TRUE
			return unsafe.Pointer(f)
		}
		return d
	}
	inUse := wsiCase("surface_in_use", surfaceInUseCase)
	inUse.valid = false
	return []definition{
		wsiCase("surface", surfaceCase),
		wsiCase("formats_and_modes", surfaceFormatsCase),
		wsiCase("acquire", acquireCase),
		wsiCase("draw", drawnFramesCase),
		wsiCase("several", severalSwapchainsCase),
		wsiCase("old_swapchain", oldSwapchainCase),
		wsiCase("image_of_swapchain", aliasOfSwapchainCase),
		wsiCase("threads", swapchainThreadsCase),
		inUse,
		maintained("present_fence", presentFenceCase),
		maintained("release_images", releaseImagesCase),
		maintained("modes", switchModesCase),
		maintained("deferred", deferredCase),
	}
}

// A chain is a surface with a swapchain.
type chain struct {
	*scene
	surface vk.SurfaceKHR
	handle  vk.SwapchainKHR
	info    *vk.SwapchainCreateInfoKHR
	images  []vk.Image
}

func (c *Case) surface(a *vulkan.Arena) vk.SurfaceKHR {
	out := vulkan.New[vk.SurfaceKHR](a)
	info := vulkan.Struct[vk.HeadlessSurfaceCreateInfoEXT](a)
	c.must("vkCreateHeadlessSurfaceEXT", vk.Result(c.inst.Call("vkCreateHeadlessSurfaceEXT", uintptr(c.inst.Handle),
		ptr(info), 0, ptr(out))))
	// The validation layer wants to see that somebody has asked.
	yes := vulkan.New[vk.Bool32](a)
	c.must("vkGetPhysicalDeviceSurfaceSupportKHR", vk.Result(c.inst.Call("vkGetPhysicalDeviceSurfaceSupportKHR",
		uintptr(c.pd), 0, uintptr(*out), ptr(yes))))
	if *yes != vk.TRUE {
		c.Fatalf("queue family 0 does not present to a headless surface")
	}
	return *out
}

// chain makes a surface and a swapchain of R8G8B8A8_UNORM in first in, first out.
func (c *Case) chain(edit func(ch *chain)) *chain {
	ch := &chain{scene: &scene{recorder: c.recorder(), width: 16, height: 8}}
	ch.surface = c.surface(&ch.a)
	i := vulkan.Struct[vk.SwapchainCreateInfoKHR](&ch.a)
	i.Surface, i.MinImageCount, i.ImageFormat, i.ImageArrayLayers = ch.surface, 3, rgba8, 1
	i.ImageExtent = vk.Extent2D{Width: ch.width, Height: ch.height}
	i.ImageUsage = vk.ImageUsageFlags(vk.IMAGE_USAGE_COLOR_ATTACHMENT_BIT) | transferUsage
	i.PreTransform, i.CompositeAlpha = vk.SURFACE_TRANSFORM_IDENTITY_BIT_KHR, vk.COMPOSITE_ALPHA_OPAQUE_BIT_KHR
	i.PresentMode, i.Clipped = vk.PRESENT_MODE_FIFO_KHR, vk.TRUE
	ch.info = i
	if edit != nil {
		edit(ch)
	}
	c.must("vkCreateSwapchainKHR", ch.create())
	return ch
}

func (ch *chain) create() vk.Result {
	c, out := ch.c, vulkan.New[vk.SwapchainKHR](&ch.a)
	r := vk.Result(c.dev.Call("vkCreateSwapchainKHR", ptr(ch.info), 0, ptr(out)))
	if r != vk.SUCCESS {
		return r
	}
	ch.handle = *out
	count := vulkan.New[uint32](&ch.a)
	c.must("vkGetSwapchainImagesKHR", vk.Result(c.dev.Call("vkGetSwapchainImagesKHR", uintptr(ch.handle), ptr(count), 0)))
	if *count < ch.info.MinImageCount {
		c.Errorf("%d images, of at least %d", *count, ch.info.MinImageCount)
	}
	ch.images = vulkan.Make[vk.Image](&ch.a, int(*count))
	c.must("vkGetSwapchainImagesKHR", vk.Result(c.dev.Call("vkGetSwapchainImagesKHR", uintptr(ch.handle), ptr(count),
		ptr(&ch.images[0]))))
	return r
}

func (ch *chain) close() {
	ch.c.dev.WaitIdle()
	for _, f := range ch.free {
		f()
	}
	ch.c.dev.Call("vkDestroySwapchainKHR", uintptr(ch.handle), 0)
	ch.c.inst.Call("vkDestroySurfaceKHR", uintptr(ch.c.inst.Handle), uintptr(ch.surface), 0)
	ch.recorder.free()
}

// acquire acquires with a semaphore or a fence.
func (ch *chain) acquire(timeout uint64, s vk.Semaphore, f vk.Fence) (uint32, vk.Result) {
	index := vulkan.Put(&ch.a, uint32(99))
	r := vk.Result(ch.c.dev.Call("vkAcquireNextImageKHR", uintptr(ch.handle), uintptr(timeout), uintptr(s), uintptr(f),
		ptr(index)))
	return *index, r
}

// take acquires an image and waits until it can be used.
func (ch *chain) take() uint32 {
	index, r := ch.acquire(patience, 0, ch.fence)
	ch.c.must("vkAcquireNextImageKHR", r)
	ch.c.must("vkWaitForFences", ch.c.dev.WaitFences(true, patience, ch.fence))
	ch.c.must("vkResetFences", ch.c.dev.ResetFences(ch.fence))
	return index
}

// present presents images of swapchains, with a chain of structures, behind a semaphore.
func (ch *chain) present(next unsafe.Pointer, wait vk.Semaphore, index uint32) vk.Result {
	info := vulkan.Struct[vk.PresentInfoKHR](&ch.a)
	info.PNext = next
	if wait != 0 {
		info.WaitSemaphoreCount, info.PWaitSemaphores = 1, list(&ch.a, wait)
	}
	result := vulkan.Put(&ch.a, vk.Result(99))
	info.SwapchainCount, info.PSwapchains, info.PImageIndices = 1, list(&ch.a, ch.handle), list(&ch.a, index)
	info.PResults = result
	r := vk.Result(ch.c.dev.CallOn("vkQueuePresentKHR", uintptr(ch.queue), ptr(info)))
	if *result != r {
		ch.c.Errorf("pResults has %v, vkQueuePresentKHR returns %v", *result, r)
	}
	return r
}

// paint records that an image is cleared to a value in a rendering, copied to a buffer, and made presentable.
func (ch *chain) paint(cb vk.CommandBuffer, image vk.Image, v float32, to vk.Buffer) {
	ch.begin(cb, 0)
	t := &attachment{image: image, format: ch.info.ImageFormat, aspects: vk.IMAGE_ASPECT_COLOR_BIT, layers: 1}
	t.view = ch.view(t, vk.IMAGE_VIEW_TYPE_2D, t.format)
	ch.free = append(ch.free, func() { ch.c.dev.Call("vkDestroyImageView", uintptr(t.view), 0) })
	ch.move(cb, image, vk.IMAGE_LAYOUT_UNDEFINED, vk.IMAGE_LAYOUT_GENERAL)
	a := vulkan.Attachment(t.view)
	a.LoadOp = vk.ATTACHMENT_LOAD_OP_CLEAR
	*a.ClearValue.Color().Float32() = [4]float32{v, 1, 0, 1}
	ch.c.dev.Render(cb, vulkan.Rendering{Area: ch.whole(), Colors: []vk.RenderingAttachmentInfo{a}}, func() {})
	ch.everything(cb)
	if to != 0 {
		region := vulkan.New[vk.BufferImageCopy](&ch.a)
		region.ImageSubresource = vk.ImageSubresourceLayers{AspectMask: t.aspects, LayerCount: 1}
		region.ImageExtent = vk.Extent3D{Width: ch.width, Height: ch.height, Depth: 1}
		ch.c.dev.CallOn("vkCmdCopyImageToBuffer", uintptr(cb), uintptr(image), uintptr(vk.IMAGE_LAYOUT_GENERAL), uintptr(to),
			1, ptr(region))
	}
	ch.move(cb, image, vk.IMAGE_LAYOUT_GENERAL, vk.IMAGE_LAYOUT_PRESENT_SRC_KHR)
	ch.end(cb)
}

func (ch *chain) move(cb vk.CommandBuffer, image vk.Image, from, to vk.ImageLayout) {
	b := vulkan.Struct[vk.ImageMemoryBarrier](&ch.a)
	b.SrcAccessMask = vk.AccessFlags(vk.ACCESS_MEMORY_WRITE_BIT)
	b.DstAccessMask = vk.AccessFlags(vk.ACCESS_MEMORY_READ_BIT | vk.ACCESS_MEMORY_WRITE_BIT)
	b.OldLayout, b.NewLayout, b.Image = from, to, image
	b.SrcQueueFamilyIndex, b.DstQueueFamilyIndex = vk.QUEUE_FAMILY_IGNORED, vk.QUEUE_FAMILY_IGNORED
	b.SubresourceRange = vk.ImageSubresourceRange{AspectMask: vk.ImageAspectFlags(vk.IMAGE_ASPECT_COLOR_BIT),
		LevelCount: 1, LayerCount: 1}
	all := uintptr(vk.PIPELINE_STAGE_ALL_COMMANDS_BIT)
	ch.c.dev.CallOn("vkCmdPipelineBarrier", uintptr(cb), all, all, 0, 0, 0, 0, 0, 1, ptr(b))
}

// frame takes an image, paints it and presents it.
func (ch *chain) frame(next unsafe.Pointer) {
	index := ch.take()
	ch.paint(ch.cb, ch.images[index], 1, 0)
	ch.submit(ch.cb)
	ch.c.must("vkQueuePresentKHR", ch.present(next, 0, index))
}

// surfaceCase asks what a surface can do, in both ways.
func surfaceCase(c *Case) {
	var a vulkan.Arena
	defer a.Close()
	s := c.surface(&a)
	defer c.inst.Call("vkDestroySurfaceKHR", uintptr(c.inst.Handle), uintptr(s), 0)
	one := vulkan.New[vk.SurfaceCapabilitiesKHR](&a)
	c.must("vkGetPhysicalDeviceSurfaceCapabilitiesKHR", vk.Result(c.inst.Call("vkGetPhysicalDeviceSurfaceCapabilitiesKHR",
		uintptr(c.pd), uintptr(s), ptr(one))))
	info := vulkan.Struct[vk.PhysicalDeviceSurfaceInfo2KHR](&a)
	info.Surface = s
	two := vulkan.Struct[vk.SurfaceCapabilities2KHR](&a)
	c.must("vkGetPhysicalDeviceSurfaceCapabilities2KHR", vk.Result(c.inst.Call(
		"vkGetPhysicalDeviceSurfaceCapabilities2KHR", uintptr(c.pd), ptr(info), ptr(two))))
	if *one != two.SurfaceCapabilities {
		c.Errorf("the two ways to ask give %+v and %+v", *one, two.SurfaceCapabilities)
	}
	switch {
	case one.MinImageCount < 1 || one.MaxImageCount != 0 && one.MaxImageCount < one.MinImageCount:
		c.Errorf("between %d and %d images", one.MinImageCount, one.MaxImageCount)
	case one.MaxImageArrayLayers < 1:
		c.Errorf("no layers")
	case one.SupportedUsageFlags&vk.ImageUsageFlags(vk.IMAGE_USAGE_COLOR_ATTACHMENT_BIT) == 0:
		c.Errorf("images are no colour attachments: %v", one.SupportedUsageFlags)
	case vk.SurfaceTransformFlagsKHR(one.CurrentTransform)&one.SupportedTransforms == 0,
		one.SupportedCompositeAlpha == 0:
		c.Errorf("transform %v of %v, alphas %v", one.CurrentTransform, one.SupportedTransforms, one.SupportedCompositeAlpha)
	case one.MinImageExtent.Width > one.MaxImageExtent.Width || one.MaxImageExtent.Width < 1:
		c.Errorf("extents from %v to %v", one.MinImageExtent, one.MaxImageExtent)
	}
}

// surfaceFormats are a surface's formats; a list that is too short gets VK_INCOMPLETE.
func (c *Case) surfaceFormats(a *vulkan.Arena, s vk.SurfaceKHR) []vk.SurfaceFormatKHR {
	count := vulkan.New[uint32](a)
	ask := func(to uintptr) vk.Result {
		return vk.Result(c.inst.Call("vkGetPhysicalDeviceSurfaceFormatsKHR", uintptr(c.pd), uintptr(s), ptr(count), to))
	}
	c.must("vkGetPhysicalDeviceSurfaceFormatsKHR", ask(0))
	all := vulkan.Make[vk.SurfaceFormatKHR](a, int(*count))
	if *count > 1 {
		*count--
		c.want("vkGetPhysicalDeviceSurfaceFormatsKHR of one too few", ask(ptr(&all[0])), vk.INCOMPLETE)
		*count = uint32(len(all))
	}
	c.must("vkGetPhysicalDeviceSurfaceFormatsKHR", ask(ptr(&all[0])))
	return all
}

func (c *Case) presentModes(a *vulkan.Arena, s vk.SurfaceKHR) []vk.PresentModeKHR {
	count := vulkan.New[uint32](a)
	ask := func(to uintptr) {
		c.must("vkGetPhysicalDeviceSurfacePresentModesKHR", vk.Result(c.inst.Call(
			"vkGetPhysicalDeviceSurfacePresentModesKHR", uintptr(c.pd), uintptr(s), ptr(count), to)))
	}
	ask(0)
	all := vulkan.Make[vk.PresentModeKHR](a, int(*count))
	ask(ptr(&all[0]))
	if !slices.Contains(all, vk.PRESENT_MODE_FIFO_KHR) {
		c.Errorf("present modes %v lack the one that all have", all)
	}
	return all
}

// surfaceFormatsCase presents frames in each format and mode.
func surfaceFormatsCase(c *Case) {
	var a vulkan.Arena
	defer a.Close()
	s := c.surface(&a)
	formats, modes := c.surfaceFormats(&a, s), c.presentModes(&a, s)
	c.inst.Call("vkDestroySurfaceKHR", uintptr(c.inst.Handle), uintptr(s), 0)
	try := func(f vk.SurfaceFormatKHR, m vk.PresentModeKHR) {
		ch := c.chain(func(ch *chain) {
			c.surfaceFormats(&ch.a, ch.surface) // the validation layer wants to see that they were asked for
			c.presentModes(&ch.a, ch.surface)
			ch.info.ImageFormat, ch.info.ImageColorSpace, ch.info.PresentMode = f.Format, f.ColorSpace, m
		})
		defer ch.close()
		for range 7 {
			ch.frame(nil)
		}
	}
	for _, f := range formats {
		try(f, vk.PRESENT_MODE_FIFO_KHR)
	}
	for _, m := range modes {
		if m <= vk.PRESENT_MODE_FIFO_RELAXED_KHR {
			try(formats[0], m)
		}
	}
}

// acquireCase takes all images: the next one is not there, at once or after a while, until one is presented.
func acquireCase(c *Case) {
	ch := c.chain(nil)
	defer ch.close()
	var taken []uint32
	for range ch.images {
		taken = append(taken, ch.take())
	}
	slices.Sort(taken)
	if len(slices.Compact(slices.Clone(taken))) != len(ch.images) {
		c.Errorf("the images are %v", taken)
	}
	_, r := ch.acquire(0, 0, ch.fence)
	c.want("an acquisition that does not wait", r, vk.NOT_READY)
	_, r = ch.acquire(1_000_000, 0, ch.fence)
	c.want("an acquisition that waits a little", r, vk.TIMEOUT)
	c.want("the fence of those", c.dev.FenceStatus(ch.fence), vk.NOT_READY)
	for _, i := range taken[1:] {
		ch.paint(ch.cb, ch.images[i], 1, 0)
		ch.submit(ch.cb)
		c.must("vkQueuePresentKHR", ch.present(nil, 0, i))
	}
	s := c.binary()
	defer c.dev.DestroySemaphore(s)
	index, r := ch.acquire(patience, s, ch.fence) // both
	c.must("vkAcquireNextImageKHR", r)
	c.must("vkWaitForFences", c.dev.WaitFences(true, patience, ch.fence))
	c.must("vkResetFences", c.dev.ResetFences(ch.fence))
	if index == taken[0] || index >= uint32(len(ch.images)) {
		c.Errorf("image %d is acquired, which was not presented", index)
	}
	ch.paint(ch.cb, ch.images[index], 1, 0)
	c.must("vkQueueSubmit", c.dev.SubmitBatches(ch.queue, ch.fence, vulkan.Batch{Wait: []vulkan.Point{{Semaphore: s}},
		Buffers: []vk.CommandBuffer{ch.cb}}))
	c.must("vkWaitForFences", c.dev.WaitFences(true, patience, ch.fence))
	c.must("vkResetFences", c.dev.ResetFences(ch.fence))
	for _, i := range []uint32{index, taken[0]} {
		if i == taken[0] {
			ch.paint(ch.cb, ch.images[i], 1, 0)
			ch.submit(ch.cb)
		}
		c.must("vkQueuePresentKHR", ch.present(nil, 0, i))
	}
}

// drawnFramesCase goes round: acquisition, drawing and presentation are ordered by semaphores alone.
func drawnFramesCase(c *Case) {
	ch := c.chain(nil)
	defer ch.close()
	free, drawn := c.binary(), c.binary()
	defer c.dev.DestroySemaphore(free)
	defer c.dev.DestroySemaphore(drawn)
	buffer, memory, bytes := c.mappedBuffer(uint64(ch.width * ch.height * 4))
	defer c.dev.Free(memory)
	defer c.dev.DestroyBuffer(buffer)
	for i := range 12 {
		index, r := ch.acquire(patience, free, 0)
		c.must("vkAcquireNextImageKHR", r)
		ch.paint(ch.cb, ch.images[index], float32(i)/255, buffer)
		c.must("vkQueueSubmit", c.dev.SubmitBatches(ch.queue, ch.fence, vulkan.Batch{Wait: []vulkan.Point{{Semaphore: free}},
			Buffers: []vk.CommandBuffer{ch.cb}, Signal: []vulkan.Point{{Semaphore: drawn}}}))
		c.must("vkQueuePresentKHR", ch.present(nil, drawn, index))
		c.must("vkWaitForFences", c.dev.WaitFences(true, patience, ch.fence))
		c.must("vkResetFences", c.dev.ResetFences(ch.fence))
		c.must("vkQueueWaitIdle", c.dev.QueueWaitIdle(ch.queue))
		for n := 0; n < len(bytes); n += 4 {
			if [4]byte(bytes[n:]) != [4]byte{byte(i), 255, 0, 255} {
				c.Fatalf("frame %d: pixel %d is %v", i, n/4, bytes[n:n+4])
			}
		}
	}
}

// severalSwapchainsCase presents images of two swapchains by one command.
func severalSwapchainsCase(c *Case) {
	one, two := c.chain(nil), c.chain(func(ch *chain) { ch.info.MinImageCount = 1 })
	defer one.close()
	defer two.close()
	for range 5 {
		i, j := one.take(), two.take()
		one.paint(one.cb, one.images[i], 1, 0)
		two.paint(two.cb, two.images[j], 1, 0)
		one.submit(one.cb)
		two.submit(two.cb)
		info := vulkan.Struct[vk.PresentInfoKHR](&one.a)
		info.SwapchainCount, info.PSwapchains = 2, list(&one.a, one.handle, two.handle)
		info.PImageIndices = list(&one.a, i, j)
		results := vulkan.Make[vk.Result](&one.a, 2)
		results[0], results[1] = 99, 99
		info.PResults = &results[0]
		c.must("vkQueuePresentKHR", vk.Result(c.dev.CallOn("vkQueuePresentKHR", uintptr(one.queue), ptr(info))))
		if results[0] != vk.SUCCESS || results[1] != vk.SUCCESS {
			c.Errorf("the results are %v", results)
		}
	}
}

// oldSwapchainCase replaces a swapchain. What was acquired from the old one can still be presented.
func oldSwapchainCase(c *Case) {
	ch := c.chain(nil)
	defer ch.close()
	ch.frame(nil)
	index := ch.take()
	old, images := ch.handle, ch.images
	ch.info.OldSwapchain, ch.info.ImageExtent = old, vk.Extent2D{Width: 32, Height: 32}
	c.must("vkCreateSwapchainKHR", ch.create())
	now := ch.handle
	ch.handle = old
	ch.paint(ch.cb, images[index], 1, 0)
	ch.submit(ch.cb)
	c.want("vkQueuePresentKHR of a retired swapchain's image", ch.present(nil, 0, index), vk.SUCCESS,
		vk.ERROR_OUT_OF_DATE_KHR, vk.SUBOPTIMAL_KHR)
	c.dev.WaitIdle()
	for _, f := range ch.free {
		f()
	}
	ch.free = nil
	c.dev.Call("vkDestroySwapchainKHR", uintptr(old), 0)
	ch.handle, ch.width, ch.height = now, 32, 32
	for range 4 {
		ch.frame(nil)
	}
}

// surfaceInUseCase makes a second swapchain of a surface, and acquires from one that is retired.
func surfaceInUseCase(c *Case) {
	ch := c.chain(nil)
	defer ch.close()
	old := ch.handle
	c.want("a second swapchain", ch.create(), vk.ERROR_NATIVE_WINDOW_IN_USE_KHR)
	if ch.handle != old {
		c.Errorf("the second swapchain has a handle")
	}
	ch.info.OldSwapchain = old
	c.must("vkCreateSwapchainKHR", ch.create())
	now := ch.handle
	ch.handle = old
	_, r := ch.acquire(0, 0, ch.fence)
	c.want("vkAcquireNextImageKHR of a retired swapchain", r, vk.ERROR_OUT_OF_DATE_KHR)
	c.dev.Call("vkDestroySwapchainKHR", uintptr(old), 0)
	ch.handle = now
	ch.frame(nil)
}

// aliasOfSwapchainCase binds an image of the application to the memory of a swapchain's.
func aliasOfSwapchainCase(c *Case) {
	ch := c.chain(nil)
	defer ch.close()
	a := &ch.a
	peer := vulkan.Struct[vk.ImageSwapchainCreateInfoKHR](a)
	peer.Swapchain = ch.handle
	info := vulkan.Struct[vk.ImageCreateInfo](a)
	info.PNext = unsafe.Pointer(peer)
	info.ImageType, info.Format, info.MipLevels, info.ArrayLayers = vk.IMAGE_TYPE_2D, rgba8, 1, 1
	info.Extent = vk.Extent3D{Width: ch.width, Height: ch.height, Depth: 1}
	info.Samples, info.Usage = vk.SAMPLE_COUNT_1_BIT, ch.info.ImageUsage
	image := vulkan.New[vk.Image](a)
	c.must("vkCreateImage", vk.Result(c.dev.Call("vkCreateImage", ptr(info), 0, ptr(image))))
	index := ch.take()
	bind := vulkan.Struct[vk.BindImageMemoryInfo](a)
	which := vulkan.Struct[vk.BindImageMemorySwapchainInfoKHR](a)
	which.Swapchain, which.ImageIndex, bind.Image, bind.PNext = ch.handle, index, *image, unsafe.Pointer(which)
	c.must("vkBindImageMemory2", vk.Result(c.dev.Call("vkBindImageMemory2", 1, ptr(bind))))
	defer c.dev.DestroyImage(*image)
	buffer, memory, bytes := c.mappedBuffer(uint64(ch.width * ch.height * 4))
	defer c.dev.Free(memory)
	defer c.dev.DestroyBuffer(buffer)
	ch.paint(ch.cb, *image, 0.2, buffer)
	ch.submit(ch.cb)
	if [4]byte(bytes) != [4]byte{51, 255, 0, 255} {
		c.Errorf("the image is painted %v", bytes[:4])
	}
	c.must("vkQueuePresentKHR", ch.present(nil, 0, index))
	c.dev.WaitIdle()
	for _, f := range ch.free {
		f()
	}
	ch.free = nil
}

// swapchainThreadsCase has each of several threads go round with a swapchain of its own; the queue is one.
func swapchainThreadsCase(c *Case) {
	var chains []*chain
	for range 4 {
		ch := c.chain(nil)
		defer ch.close()
		chains = append(chains, ch)
	}
	var queue sync.Mutex
	var group sync.WaitGroup
	results := make([]vk.Result, len(chains))
	for n, ch := range chains {
		var taken []uint32
		for range ch.images { // images are in the layout of presentation before the threads begin
			taken = append(taken, ch.take())
		}
		for _, index := range taken {
			ch.paint(ch.cb, ch.images[index], 1, 0)
			ch.submit(ch.cb)
			c.must("vkQueuePresentKHR", ch.present(nil, 0, index))
		}
		group.Go(func() {
			for range 50 {
				index, r := ch.acquire(patience, 0, ch.fence)
				if r == vk.SUCCESS {
					r = c.dev.WaitFences(true, patience, ch.fence)
				}
				if r == vk.SUCCESS {
					r = c.dev.ResetFences(ch.fence)
				}
				if r == vk.SUCCESS {
					queue.Lock()
					r = ch.present(nil, 0, index)
					queue.Unlock()
				}
				if r != vk.SUCCESS {
					results[n] = r
					return
				}
			}
		})
	}
	group.Wait()
	for n, r := range results {
		c.must("thread "+string(rune('0'+n)), r)
	}
}

// presentFenceCase waits for the fence of a presentation, which says when its semaphores can be used again.
func presentFenceCase(c *Case) {
	ch := c.chain(nil)
	defer ch.close()
	f, r := c.dev.CreateFence(0, nil)
	c.must("vkCreateFence", r)
	defer c.dev.DestroyFence(f)
	for range 5 {
		info := vulkan.Struct[vk.SwapchainPresentFenceInfoKHR](&ch.a)
		info.SwapchainCount, info.PFences = 1, list(&ch.a, f)
		ch.frame(unsafe.Pointer(info))
		c.must("vkWaitForFences of a presentation", c.dev.WaitFences(true, patience, f))
		c.must("vkResetFences", c.dev.ResetFences(f))
	}
}

// releaseImagesCase gives images back that are not presented.
func releaseImagesCase(c *Case) {
	ch := c.chain(nil)
	defer ch.close()
	for range 5 {
		var taken []uint32
		for range ch.images {
			taken = append(taken, ch.take())
		}
		info := vulkan.Struct[vk.ReleaseSwapchainImagesInfoKHR](&ch.a)
		info.Swapchain, info.ImageIndexCount, info.PImageIndices = ch.handle, uint32(len(taken)), list(&ch.a, taken...)
		c.must("vkReleaseSwapchainImagesEXT", vk.Result(c.dev.Call("vkReleaseSwapchainImagesEXT", ptr(info))))
	}
	ch.frame(nil)
}

// switchModesCase changes the mode from one presentation to the next.
func switchModesCase(c *Case) {
	modes := []vk.PresentModeKHR{vk.PRESENT_MODE_FIFO_KHR, vk.PRESENT_MODE_MAILBOX_KHR}
	ch := c.chain(func(ch *chain) {
		have := c.presentModes(&ch.a, ch.surface)
		if !slices.Contains(have, modes[1]) {
			modes = modes[:1]
		}
		info := vulkan.Struct[vk.SwapchainPresentModesCreateInfoKHR](&ch.a)
		info.PresentModeCount, info.PPresentModes = uint32(len(modes)), list(&ch.a, modes...)
		ch.info.PNext = unsafe.Pointer(info)
	})
	defer ch.close()
	for i := range 8 {
		info := vulkan.Struct[vk.SwapchainPresentModeInfoKHR](&ch.a)
		info.SwapchainCount, info.PPresentModes = 1, list(&ch.a, modes[i%len(modes)])
		ch.frame(unsafe.Pointer(info))
	}
}

// deferredCase has images get their memory when they are acquired.
func deferredCase(c *Case) {
	ch := c.chain(func(ch *chain) {
		ch.info.Flags = vk.SwapchainCreateFlagsKHR(vk.SWAPCHAIN_CREATE_DEFERRED_MEMORY_ALLOCATION_BIT_KHR)
	})
	defer ch.close()
	for range 7 {
		ch.frame(nil)
	}
}
