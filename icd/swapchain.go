package icd

import (
	"math/bits"
	"slices"

	"farside/export"
	"farside/internal/exec"
	"farside/internal/order"
	"farside/internal/present"
	"farside/internal/texel"
	"farside/internal/vk"
	"farside/memory"
)

// swapchain is a VkSwapchainKHR. Its images, and the memory of each, are objects that it owns: the device's list does
// not have them, and the application can't destroy them.
type swapchain struct {
	child
	surface *surface
	chain   *present.Chain
	images  []*image
	masks   []uint32 // the device masks with which the images were acquired
	flags   vk.SwapchainCreateFlagsKHR
	mode    vk.PresentModeKHR   // of what is presented next
	modes   []vk.PresentModeKHR // that mode may be
	group   vk.DeviceGroupPresentModeFlagsKHR
	line    *order.Line // who signals the semaphores of acquisitions, for Device.Order; nil without one
}

// swapchainFlags are the creation flags that mean something here.
const swapchainFlags = vk.SWAPCHAIN_CREATE_SPLIT_INSTANCE_BIND_REGIONS_BIT_KHR |
	vk.SWAPCHAIN_CREATE_MUTABLE_FORMAT_BIT_KHR | vk.SWAPCHAIN_CREATE_DEFERRED_MEMORY_ALLOCATION_BIT_KHR |
	vk.SWAPCHAIN_CREATE_PRESENT_ID_2_BIT_KHR | vk.SWAPCHAIN_CREATE_PRESENT_WAIT_2_BIT_KHR

func createSwapchainKHR(
	d *device, info *vk.SwapchainCreateInfoKHR, _ *vk.AllocationCallbacks, out *vk.SwapchainKHR,
) vk.Result {
	c := &swapchain{child: child{device: d}, surface: live(surfaces, info.Surface), flags: info.Flags,
		mode: info.PresentMode, group: groupPresentModes}
	var old *swapchain
	if info.OldSwapchain != 0 {
		old = live(swapchains, info.OldSwapchain)
	}
	err := c.surface.claim(c, old)
	if err == nil {
		if err = c.init(info); err != nil {
			c.surface.leave(c)
		}
	}
	if err != nil {
		return d.failOn("vkCreateSwapchainKHR", err, vk.OBJECT_TYPE_SURFACE_KHR, c.surface.handle)
	}
	*out = vk.SwapchainKHR(d.add(c))
	return vk.SUCCESS
}

// init makes the images of a swapchain that has claimed its surface. If it fails there are none.
func (c *swapchain) init(info *vk.SwapchainCreateInfoKHR) error {
	if err := c.check(info); err != nil {
		return err
	}
	if err := c.checkFlags(info); err != nil {
		return err
	}
	if err := c.checkModes(info); err != nil {
		return err
	}
	if err := c.checkImages(info); err != nil {
		return err
	}
	d, count := c.device, max(info.MinImageCount, minSwapchainImages)
	if o := d.exec.Order; o != nil {
		c.line = o.NewLine(d.exec.Owner)
	}
	for range count {
		img := &image{child: child{device: d, owned: true}}
		err := img.init(impliedImage(info))
		if err == nil {
			d.add(img)
			c.images = append(c.images, img)
			if c.flags&vk.SWAPCHAIN_CREATE_DEFERRED_MEMORY_ALLOCATION_BIT_KHR == 0 {
				err = img.allocate()
			}
		}
		if err != nil {
			c.endImages()
			return err
		}
	}
	c.chain, c.masks = present.New(int(count)), make([]uint32, count)
	return nil
}

// impliedImage are the "implied image creation parameters of the swapchain" (vkCreateSwapchainKHR), with the list of
// view formats in its chain.
func impliedImage(info *vk.SwapchainCreateInfoKHR) *vk.ImageCreateInfo {
	i := &vk.ImageCreateInfo{ImageType: vk.IMAGE_TYPE_2D, Format: info.ImageFormat,
		Extent:    vk.Extent3D{Width: info.ImageExtent.Width, Height: info.ImageExtent.Height, Depth: 1},
		MipLevels: 1, ArrayLayers: info.ImageArrayLayers, Samples: vk.SAMPLE_COUNT_1_BIT,
		Tiling: vk.IMAGE_TILING_OPTIMAL, Usage: info.ImageUsage, InitialLayout: vk.IMAGE_LAYOUT_UNDEFINED}
	if info.Flags&vk.SWAPCHAIN_CREATE_SPLIT_INSTANCE_BIND_REGIONS_BIT_KHR != 0 {
		i.Flags |= vk.IMAGE_CREATE_SPLIT_INSTANCE_BIND_REGIONS_BIT
	}
	if info.Flags&vk.SWAPCHAIN_CREATE_MUTABLE_FORMAT_BIT_KHR != 0 {
		i.Flags |= vk.IMAGE_CREATE_MUTABLE_FORMAT_BIT | vk.IMAGE_CREATE_EXTENDED_USAGE_BIT
	}
	return i
}

// check holds the parameters to what the surface can do.
func (c *swapchain) check(info *vk.SwapchainCreateInfoKHR) error {
	p := c.device.physical
	if !p.presents() {
		return invalid(vk.VUID_VkSwapchainCreateInfoKHR_surface_01270, "no queue of the device can present to the surface")
	}
	var can vk.SurfaceCapabilitiesKHR
	p.surfaceCapabilities(&can)
	e, most := info.ImageExtent, can.MaxImageExtent
	format := vk.SurfaceFormatKHR{Format: info.ImageFormat, ColorSpace: info.ImageColorSpace}
	switch {
	case info.MinImageCount > can.MaxImageCount:
		return invalid(vk.VUID_VkSwapchainCreateInfoKHR_minImageCount_01272, "minImageCount %d is more than %d",
			info.MinImageCount, can.MaxImageCount)
	case info.MinImageCount < can.MinImageCount:
		return invalid(vk.VUID_VkSwapchainCreateInfoKHR_presentMode_02839, "minImageCount %d is less than %d",
			info.MinImageCount, can.MinImageCount)
	case !slices.Contains(surfaceFormats, format):
		return invalid(vk.VUID_VkSwapchainCreateInfoKHR_imageFormat_01273, "the surface does not have %v in %v",
			info.ImageFormat, info.ImageColorSpace)
	case e.Width == 0 || e.Height == 0:
		return invalid(vk.VUID_VkSwapchainCreateInfoKHR_imageExtent_01689, "imageExtent is %d x %d", e.Width, e.Height)
	case e.Width > most.Width || e.Height > most.Height:
		return invalid(vk.VUID_VkSwapchainCreateInfoKHR_pNext_07781, "imageExtent %d x %d is larger than %d x %d",
			e.Width, e.Height, most.Width, most.Height)
	case info.ImageArrayLayers == 0 || info.ImageArrayLayers > can.MaxImageArrayLayers:
		return invalid(vk.VUID_VkSwapchainCreateInfoKHR_imageArrayLayers_01275, "imageArrayLayers %d is not from 1 to %d",
			info.ImageArrayLayers, can.MaxImageArrayLayers)
	case info.ImageUsage == 0:
		return invalid(vk.VUID_VkSwapchainCreateInfoKHR_imageUsage_requiredbitmask, "imageUsage is 0")
	case info.ImageUsage&^can.SupportedUsageFlags != 0:
		return invalid(vk.VUID_VkSwapchainCreateInfoKHR_presentMode_01427, "imageUsage %v is not within %v", info.ImageUsage,
			can.SupportedUsageFlags)
	case bits.OnesCount32(uint32(info.PreTransform)) != 1 || info.PreTransform&^can.SupportedTransforms != 0:
		return invalid(vk.VUID_VkSwapchainCreateInfoKHR_preTransform_01279, "preTransform %v is none of %v",
			info.PreTransform, can.SupportedTransforms)
	case bits.OnesCount32(uint32(info.CompositeAlpha)) != 1 || info.CompositeAlpha&^can.SupportedCompositeAlpha != 0:
		return invalid(vk.VUID_VkSwapchainCreateInfoKHR_compositeAlpha_01280, "compositeAlpha %v is none of %v",
			info.CompositeAlpha, can.SupportedCompositeAlpha)
	}
	return c.checkSharing(info)
}

// checkSharing holds the queue families of images that several use to their rules.
func (c *swapchain) checkSharing(info *vk.SwapchainCreateInfoKHR) error {
	if info.ImageSharingMode != vk.SHARING_MODE_CONCURRENT {
		return nil
	}
	families := vk.Slice(info.PQueueFamilyIndices, info.QueueFamilyIndexCount)
	switch {
	case info.QueueFamilyIndexCount < 2:
		return invalid(vk.VUID_VkSwapchainCreateInfoKHR_imageSharingMode_01278, "%d queue families share the images",
			info.QueueFamilyIndexCount)
	case families == nil:
		return invalid(vk.VUID_VkSwapchainCreateInfoKHR_imageSharingMode_01277, "pQueueFamilyIndices is NULL")
	}
	for i, f := range families {
		if f >= uint32(len(c.device.physical.families)) || slices.Contains(families[:i], f) {
			return invalid(vk.VUID_VkSwapchainCreateInfoKHR_imageSharingMode_01428,
				"queue family %d is named twice or does not exist: there are %d", f, len(c.device.physical.families))
		}
	}
	return nil
}

// checkFlags holds the creation flags to their rules, and VkDeviceGroupSwapchainCreateInfoKHR to those of its modes.
func (c *swapchain) checkFlags(info *vk.SwapchainCreateInfoKHR) error {
	d := c.device
	switch {
	case c.flags&vk.SWAPCHAIN_CREATE_PROTECTED_BIT_KHR != 0:
		return invalid(vk.VUID_VkSwapchainCreateInfoKHR_flags_03187, "protected images are not supported")
	case c.flags&^swapchainFlags != 0:
		return invalid(vk.VUID_VkSwapchainCreateInfoKHR_flags_parameter, "flags %v are not within %v", c.flags,
			vk.SwapchainCreateFlagsKHR(swapchainFlags))
	case c.flags&vk.SWAPCHAIN_CREATE_SPLIT_INSTANCE_BIND_REGIONS_BIT_KHR != 0 && !d.several():
		return invalid(vk.VUID_VkSwapchainCreateInfoKHR_physicalDeviceCount_01429,
			"images in pieces, of a device with one physical device")
	case c.flags&vk.SWAPCHAIN_CREATE_DEFERRED_MEMORY_ALLOCATION_BIT_KHR != 0 &&
		!d.allows("swapchainMaintenance1", vk.VUID_VkSwapchainCreateInfoKHR_swapchainMaintenance1_10157):
		return invalid(vk.VUID_VkSwapchainCreateInfoKHR_swapchainMaintenance1_10157,
			"deferred allocation needs the swapchainMaintenance1 feature")
	}
	if g := vk.Find[vk.DeviceGroupSwapchainCreateInfoKHR](info.PNext); g != nil {
		if g.Modes == 0 || g.Modes&^groupPresentModes != 0 {
			return invalid(vk.VUID_VkDeviceGroupSwapchainCreateInfoKHR_modes_parameter, "modes %v, of %v", g.Modes,
				vk.DeviceGroupPresentModeFlagsKHR(groupPresentModes))
		}
		c.group = g.Modes
	}
	s := vk.Find[vk.SwapchainPresentScalingCreateInfoKHR](info.PNext)
	switch {
	case s == nil:
	case s.ScalingBehavior != 0:
		return invalid(vk.VUID_VkSwapchainPresentScalingCreateInfoKHR_scalingBehavior_07767,
			"scalingBehavior %v: the surface scales nothing", s.ScalingBehavior)
	case s.PresentGravityX != 0 && s.PresentGravityY != 0:
		return invalid(vk.VUID_VkSwapchainPresentScalingCreateInfoKHR_presentGravityX_07772,
			"gravity %v, %v: the surface scales nothing", s.PresentGravityX, s.PresentGravityY)
	case s.PresentGravityX != 0:
		return invalid(vk.VUID_VkSwapchainPresentScalingCreateInfoKHR_presentGravityX_07766, "presentGravityY is 0")
	case s.PresentGravityY != 0:
		return invalid(vk.VUID_VkSwapchainPresentScalingCreateInfoKHR_presentGravityX_07765, "presentGravityX is 0")
	}
	return nil
}

// checkModes holds the present mode to its rules, and the list of those that it may be changed to.
func (c *swapchain) checkModes(info *vk.SwapchainCreateInfoKHR) error {
	d := c.device
	can := d.physical.presentModes()
	usable := func(m vk.PresentModeKHR, rule, feature vk.VUID) error {
		switch {
		case !slices.Contains(can, m):
			return invalid(rule, "%v is no mode of the surface", m)
		case m == vk.PRESENT_MODE_FIFO_LATEST_READY_KHR && !d.allows("presentModeFifoLatestReady", feature):
			return invalid(feature, "%v needs the presentModeFifoLatestReady feature", m)
		}
		return nil
	}
	if err := usable(c.mode, vk.VUID_VkSwapchainCreateInfoKHR_presentMode_01281,
		vk.VUID_VkSwapchainCreateInfoKHR_presentModeFifoLatestReady_10161); err != nil {
		return err
	}
	c.modes = []vk.PresentModeKHR{c.mode}
	list := vk.Find[vk.SwapchainPresentModesCreateInfoKHR](info.PNext)
	if list == nil {
		return nil
	}
	if !d.allows("swapchainMaintenance1", vk.VUID_VkSwapchainCreateInfoKHR_swapchainMaintenance1_10155) {
		return invalid(vk.VUID_VkSwapchainCreateInfoKHR_swapchainMaintenance1_10155,
			"a list of present modes needs the swapchainMaintenance1 feature")
	}
	c.modes = nil
	for _, m := range vk.Slice(list.PPresentModes, list.PresentModeCount) {
		if err := usable(m, vk.VUID_VkSwapchainPresentModesCreateInfoKHR_None_07762,
			vk.VUID_VkSwapchainPresentModesCreateInfoKHR_presentModeFifoLatestReady_10160); err != nil {
			return err
		}
		if !slices.Contains(c.modes, m) { // the list is the application's, and may be of any length
			c.modes = append(c.modes, m)
		}
	}
	if !slices.Contains(c.modes, c.mode) {
		return invalid(vk.VUID_VkSwapchainPresentModesCreateInfoKHR_presentMode_07764,
			"presentMode %v is not in the list of present modes", c.mode)
	}
	return nil
}

// checkImages looks whether there can be images with the implied parameters, and whether the views that are announced
// can be made of them.
func (c *swapchain) checkImages(info *vk.SwapchainCreateInfoKHR) error {
	implied := impliedImage(info)
	var limits vk.ImageFormatProperties
	if !c.device.physical.supported(&imageQuery{format: implied.Format, imageType: implied.ImageType,
		tiling: implied.Tiling, usage: implied.Usage, flags: implied.Flags}, &limits) {
		return invalid(vk.VUID_VkSwapchainCreateInfoKHR_imageFormat_01778, "no images with %v, usage %v and flags %v",
			implied.Format, implied.Usage, implied.Flags)
	}
	mutable := c.flags&vk.SWAPCHAIN_CREATE_MUTABLE_FORMAT_BIT_KHR != 0
	var formats []vk.Format
	if list := vk.Find[vk.ImageFormatListCreateInfo](info.PNext); list != nil {
		formats = vk.Slice(list.PViewFormats, list.ViewFormatCount)
	}
	switch {
	case mutable && !slices.Contains(formats, info.ImageFormat):
		return invalid(vk.VUID_VkSwapchainCreateInfoKHR_flags_03168,
			"the images are mutable, and the list of view formats does not have %v", info.ImageFormat)
	case !mutable && len(formats) > 1:
		return invalid(vk.VUID_VkSwapchainCreateInfoKHR_flags_04100, "%d view formats of images that are not mutable",
			len(formats))
	}
	texels, _ := texel.FormatOf(info.ImageFormat)
	for _, f := range formats {
		if view, ok := texel.FormatOf(f); ok && f != info.ImageFormat && !texels.Viewable(&view, false) {
			return invalid(vk.VUID_VkSwapchainCreateInfoKHR_pNext_04099, "view format %v is not compatible with %v", f,
				info.ImageFormat)
		}
	}
	return nil
}

// allocate makes memory for an image of a swapchain, and binds the image to it. The memory is a file that could be
// exported as an OPAQUE_FD. The application has no handle to do so, but a window system can be given it.
func (img *image) allocate() error {
	d := img.device
	p := d.physical
	types := img.typeBits
	if shared := types & d.typesFor(vk.EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT); shared != 0 {
		types = shared
	}
	index := bits.TrailingZeros32(types)
	for left := types; left != 0; left &= left - 1 {
		if i := bits.TrailingZeros32(left); p.profile.Types[i].Flags&vk.MEMORY_PROPERTY_DEVICE_LOCAL_BIT != 0 {
			index = i
			break
		}
	}
	if index >= len(p.profile.Types) {
		return vk.Errorf(vk.ERROR_OUT_OF_DEVICE_MEMORY, vk.NoVUID, "no memory type can hold the images")
	}
	m := &deviceMemory{child: child{device: d, owned: true}, typeIndex: uint32(index), size: img.size,
		exports: export.Set{Types: vk.EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT}}
	if err := m.readMask(nil); err != nil {
		return err
	}
	dedicated := memory.Dedicated{Kind: memory.DedicatedImage, Hash: img.parameterHash()}
	if err := m.back(export.Handle{}, dedicated); err != nil {
		return err
	}
	d.add(m)
	m.allocated()
	return img.lie(m, nil)
}

// lie binds the image to memory of an image with the same parameters.
func (img *image) lie(m *deviceMemory, group *vk.BindImageMemoryDeviceGroupInfo) error {
	where, pieced, err := img.placed(m, 0, group)
	if err != nil {
		return err
	}
	img.bound[0].place, img.pieced = where, pieced
	img.bound[0].memory.Store(m)
	return nil
}

// endImages ends the images and their memory. Queues that use them keep the memory mapped until they are done.
func (c *swapchain) endImages() {
	for _, img := range c.images {
		m := img.bound[0].boundTo()
		if o := c.device.exec.Order; o != nil {
			o.Fresh(imageKey(img), 0, false)
		}
		c.device.finish(img)
		if m != nil {
			c.device.finish(m)
		}
	}
	c.images = nil
}

// release ends the swapchain. Who waits for one of its images, against the rules, gets VK_ERROR_OUT_OF_DATE_KHR.
func (c *swapchain) release() {
	c.chain.Retire()
	c.surface.leave(c)
	c.endImages()
}

func getSwapchainImagesKHR(_ *device, c *swapchain, count *uint32, out *vk.Image) vk.Result {
	handles := make([]vk.Image, len(c.images))
	for i, img := range c.images {
		handles[i] = vk.Image(img.handle)
	}
	return vk.WriteArray(count, out, handles)
}

// swapchainOf takes VkImageSwapchainCreateInfoKHR: the swapchain to whose memory the image will be bound.
func (img *image) swapchainOf(info *vk.ImageCreateInfo) error {
	s := vk.Find[vk.ImageSwapchainCreateInfoKHR](info.PNext)
	if s == nil || s.Swapchain == 0 {
		return nil
	}
	c := live(swapchains, s.Swapchain)
	like := c.images[0]
	if img.flags != like.flags || img.imageType != like.imageType || img.format != like.format ||
		img.extent != like.extent || img.mipLevels != like.mipLevels || img.arrayLayers != like.arrayLayers ||
		img.samples != like.samples || img.tiling != like.tiling || img.usage != like.usage {
		return invalid(vk.VUID_VkImageSwapchainCreateInfoKHR_swapchain_00995,
			"the image is not as those of swapchain %#x", c.handle)
	}
	img.peer = c
	return nil
}

// bindToSwapchain binds an image to the memory of a swapchain's image.
func (b *imageBind) bindToSwapchain(info *vk.BindImageMemoryInfo, s *vk.BindImageMemorySwapchainInfoKHR) vk.Result {
	img, c := b.image, live(swapchains, s.Swapchain)
	fail := func(err error) vk.Result {
		return img.device.physical.instance.fail(b.rules.command, err, object{vk.OBJECT_TYPE_IMAGE, img.handle},
			object{vk.OBJECT_TYPE_SWAPCHAIN_KHR, c.handle})
	}
	switch {
	case info.Memory != 0:
		return fail(invalid(vk.VUID_VkBindImageMemoryInfo_pNext_01631, "memory %#x and a swapchain", uint64(info.Memory)))
	case img.peer != c:
		return fail(invalid(vk.VUID_VkBindImageMemoryInfo_image_01630, "the image was not created for swapchain %#x",
			c.handle))
	case s.ImageIndex >= uint32(len(c.images)):
		return fail(invalid(vk.VUID_VkBindImageMemorySwapchainInfoKHR_imageIndex_01644, "image %d of %d", s.ImageIndex,
			len(c.images)))
	case img.bound[0].memory.Load() != nil:
		return fail(invalid(b.rules.bound, "the image is bound already"))
	}
	m := c.images[s.ImageIndex].bound[0].boundTo()
	if m == nil {
		return fail(invalid(vk.VUID_VkBindImageMemorySwapchainInfoKHR_swapchain_07756,
			"image %d of a swapchain with deferred allocation was never acquired", s.ImageIndex))
	}
	if err := img.lie(m, b.group); err != nil {
		return fail(err)
	}
	return vk.SUCCESS
}

// imageKey is how Device.Order knows what a presentation does for the next acquisition of its image.
func imageKey(img *image) order.Key { return order.Key{Scope: order.Local, ID: img.handle} }

var _ exec.Presentation = (*presentation)(nil)
