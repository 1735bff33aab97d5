package icd

import (
	"farside/internal/texel"
	"farside/internal/vk"
)

// What memory images need, and how they come to lie in it. A disjoint image has as many of both as its format has
// planes.

// requirements returns size and alignment in bytes and the memory types that the image, or the plane of a disjoint one,
// can be bound to.
func (img *image) requirements(plane int) (size, alignment uint64, typeBits uint32) {
	if img.disjoint() {
		return img.layout.Planes[plane].Size, img.alignment, img.typeBits
	}
	return img.size, img.alignment, img.typeBits
}

// memoryPlanes are the aspects by which planes of images with a DRM format modifier are named.
const memoryPlanes = vk.IMAGE_ASPECT_MEMORY_PLANE_0_BIT_EXT | vk.IMAGE_ASPECT_MEMORY_PLANE_1_BIT_EXT |
	vk.IMAGE_ASPECT_MEMORY_PLANE_2_BIT_EXT | vk.IMAGE_ASPECT_MEMORY_PLANE_3_BIT_EXT

// plane returns the number of the plane that an aspect names. Which aspects do depends on the tiling.
func (img *image) plane(aspect vk.ImageAspectFlags) (int, bool) {
	n := img.layout.Format.PlaneOf(aspect)
	byModifier := img.tiling == vk.IMAGE_TILING_DRM_FORMAT_MODIFIER_EXT
	return n, n >= 0 && byModifier == (aspect&memoryPlanes != 0)
}

// checkPlanes holds an image to the rules of formats with chroma and several planes.
func (img *image) checkPlanes(texels *texel.Format) error {
	reduced := texels.Reduced()
	switch {
	case img.disjoint() && !texels.MultiPlanar() && img.flags&vk.IMAGE_CREATE_ALIAS_BIT == 0:
		return invalid(vk.VUID_VkImageCreateInfo_format_01577, "a disjoint image with format %v", img.format)
	case !texels.Chroma:
		return nil
	case img.mipLevels > 1:
		return invalid(vk.VUID_VkImageCreateInfo_format_06410, "%d mip levels with format %v", img.mipLevels, img.format)
	case img.samples != vk.SAMPLE_COUNT_1_BIT:
		return invalid(vk.VUID_VkImageCreateInfo_format_06411, "samples %v with format %v", img.samples, img.format)
	case img.imageType != vk.IMAGE_TYPE_2D:
		return invalid(vk.VUID_VkImageCreateInfo_format_06412, "a %v with format %v", img.imageType, img.format)
	case img.extent.Width%reduced[0] != 0:
		return invalid(vk.VUID_VkImageCreateInfo_format_04712, "extent.width %d with format %v", img.extent.Width, img.format)
	case img.extent.Height%reduced[1] != 0:
		return invalid(vk.VUID_VkImageCreateInfo_format_04713, "extent.height %d with format %v", img.extent.Height,
			img.format)
	}
	return nil
}

func getImageMemoryRequirements(_ *device, img *image, out *vk.MemoryRequirements) {
	if img.disjoint() {
		img.device.fail("vkGetImageMemoryRequirements",
			invalid(vk.VUID_vkGetImageMemoryRequirements_image_01588, "the image is disjoint"))
		*out = vk.MemoryRequirements{Alignment: texel.Alignment}
		return
	}
	out.Size, out.Alignment, out.MemoryTypeBits = img.requirements(0)
}

func getImageMemoryRequirements2(_ *device, info *vk.ImageMemoryRequirementsInfo2, out *vk.MemoryRequirements2) {
	img := live(images, info.Image)
	plane, err := img.planeOf(vk.Find[vk.ImagePlaneMemoryRequirementsInfo](info.PNext))
	if err != nil {
		img.device.fail("vkGetImageMemoryRequirements2", err)
		img.writeRequirements(0, out)
		out.MemoryRequirements = vk.MemoryRequirements{Alignment: texel.Alignment}
		return
	}
	img.writeRequirements(plane, out)
}

// planeOf returns the number of the plane that a question for memory requirements is about, 0 for an image that is not
// disjoint.
func (img *image) planeOf(info *vk.ImagePlaneMemoryRequirementsInfo) (int, error) {
	switch {
	case info == nil && img.disjoint():
		return 0, invalid(vk.VUID_VkImageMemoryRequirementsInfo2_image_01589, "no plane of a disjoint image is named")
	case info == nil, img.planeAlias && info.PlaneAspect == vk.IMAGE_ASPECT_PLANE_0_BIT:
		return 0, nil
	case !img.disjoint():
		return 0, invalid(vk.VUID_VkImageMemoryRequirementsInfo2_image_01590, "plane %v of an image that is not disjoint",
			info.PlaneAspect)
	}
	plane, ok := img.plane(info.PlaneAspect)
	switch {
	case ok:
		return plane, nil
	case img.tiling == vk.IMAGE_TILING_DRM_FORMAT_MODIFIER_EXT:
		return 0, invalid(vk.VUID_VkImagePlaneMemoryRequirementsInfo_planeAspect_02282, "planeAspect %v with format %v",
			info.PlaneAspect, img.format)
	}
	return 0, invalid(vk.VUID_VkImagePlaneMemoryRequirementsInfo_planeAspect_02281, "planeAspect %v with format %v",
		info.PlaneAspect, img.format)
}

func (img *image) writeRequirements(plane int, out *vk.MemoryRequirements2) {
	r := &out.MemoryRequirements
	r.Size, r.Alignment, r.MemoryTypeBits = img.requirements(plane)
	if d := vk.Find[vk.MemoryDedicatedRequirements](out.PNext); d != nil {
		d.PrefersDedicatedAllocation, d.RequiresDedicatedAllocation = vk.FALSE, vk.FALSE
		if img.dedicated {
			d.PrefersDedicatedAllocation, d.RequiresDedicatedAllocation = vk.TRUE, vk.TRUE
		}
	}
}

func getDeviceImageMemoryRequirements(
	d *device, info *vk.DeviceImageMemoryRequirements, out *vk.MemoryRequirements2,
) {
	img := image{child: child{device: d}}
	err := img.init(info.PCreateInfo)
	plane := 0
	if err == nil && img.disjoint() {
		var ok bool
		switch plane, ok = img.plane(info.PlaneAspect); {
		case info.PlaneAspect == vk.IMAGE_ASPECT_NONE:
			err = invalid(vk.VUID_VkDeviceImageMemoryRequirements_pCreateInfo_06417, "no plane of a disjoint image is named")
		case !ok:
			err = invalid(vk.VUID_VkDeviceImageMemoryRequirements_pCreateInfo_06419, "planeAspect %v with format %v and %v",
				info.PlaneAspect, img.format, img.tiling)
		}
	}
	if err != nil {
		// The command cannot fail: no memory type can hold an image that cannot be created.
		d.fail("vkGetDeviceImageMemoryRequirements", err)
		img.flags, img.size, img.alignment, img.typeBits = 0, 0, texel.Alignment, 0
		plane = 0
	}
	img.writeRequirements(plane, out)
}

func bindImageMemory(_ *device, handle *image, mem *deviceMemory, offset vk.DeviceSize) vk.Result {
	b := imageBind{rules: &bindImageMemoryRules, image: handle, memory: mem, offset: offset}
	if handle.disjoint() {
		return b.fail(invalid(vk.VUID_vkBindImageMemory_image_01608, "the image is disjoint"))
	}
	return b.bind()
}

func bindImageMemory2(_ *device, count uint32, infos *vk.BindImageMemoryInfo) vk.Result {
	outcome := vk.SUCCESS
	list := vk.Slice(infos, count)
	for i := range list {
		info := &list[i]
		b := imageBind{rules: &bindImageMemory2Rules, image: live(images, info.Image), offset: info.MemoryOffset,
			group: vk.Find[vk.BindImageMemoryDeviceGroupInfo](info.PNext)}
		r := vk.SUCCESS
		if s := vk.Find[vk.BindImageMemorySwapchainInfoKHR](info.PNext); s != nil {
			r = b.bindToSwapchain(info, s)
		} else {
			b.memory = live(deviceMemories, info.Memory)
			if err := b.choosePlane(info, list); err != nil {
				r = b.fail(err)
			} else {
				r = b.bind()
			}
		}
		if status := vk.Find[vk.BindMemoryStatus](info.PNext); status != nil && status.PResult != nil {
			*status.PResult = r
		}
		if r != vk.SUCCESS {
			outcome = r
		}
	}
	return outcome
}

// imageBind is one image, or plane of a disjoint one, that is about to be bound.
type imageBind struct {
	rules  *memoryRules
	image  *image
	plane  int
	memory *deviceMemory
	offset uint64
	group  *vk.BindImageMemoryDeviceGroupInfo
}

// choosePlane takes over the plane that info names. list is what the command binds: all planes of a disjoint image are
// in it, or none.
func (b *imageBind) choosePlane(info *vk.BindImageMemoryInfo, list []vk.BindImageMemoryInfo) error {
	img := b.image
	named := vk.Find[vk.BindImagePlaneMemoryInfo](info.PNext)
	switch {
	case named == nil && !img.disjoint(), img.planeAlias && named.PlaneAspect == vk.IMAGE_ASPECT_PLANE_0_BIT:
		return nil
	case named == nil:
		return invalid(vk.VUID_VkBindImageMemoryInfo_image_07736, "no plane of a disjoint image is named")
	case !img.disjoint():
		return invalid(vk.VUID_VkBindImageMemoryInfo_pNext_01618, "plane %v of an image that is not disjoint",
			named.PlaneAspect)
	}
	plane, ok := img.plane(named.PlaneAspect)
	if !ok {
		rule := vk.VUID_VkBindImagePlaneMemoryInfo_planeAspect_02283
		if img.tiling == vk.IMAGE_TILING_DRM_FORMAT_MODIFIER_EXT {
			rule = vk.VUID_VkBindImagePlaneMemoryInfo_planeAspect_02284
		}
		return invalid(rule, "planeAspect %v with format %v", named.PlaneAspect, img.format)
	}
	b.plane, b.rules = plane, &bindImagePlaneRules
	var all vk.ImageAspectFlags
	for i := range list {
		if p := vk.Find[vk.BindImagePlaneMemoryInfo](list[i].PNext); p != nil && list[i].Image == info.Image {
			all |= p.PlaneAspect
		}
	}
	for i := range img.layout.Format.PlaneCount {
		if all&(vk.IMAGE_ASPECT_PLANE_0_BIT<<i|vk.IMAGE_ASPECT_MEMORY_PLANE_0_BIT_EXT<<i) == 0 {
			return invalid(vk.VUID_vkBindImageMemory2_pBindInfos_02858,
				"plane %d of a disjoint image is not bound with the others", i)
		}
	}
	return nil
}

func (b *imageBind) bind() vk.Result {
	img, m := b.image, b.memory
	at := &img.bound[b.plane]
	size, alignment, typeBits := img.requirements(b.plane)
	err := m.bindable(b.rules, resource{
		kind: "image", handle: img.handle, size: size, alignment: alignment, typeBits: typeBits,
		externalTypes: img.externalTypes,
	}, b.offset)
	switch {
	case err != nil:
	case img.peer != nil:
		err = invalid(vk.VUID_VkBindImageMemoryInfo_image_01630, "the image was created for swapchain %#x", img.peer.handle)
	case img.owned || at.memory.Load() != nil:
		err = invalid(b.rules.bound, "the image is bound already")
	}
	var where place
	var pieced []*piecedImage
	if err == nil {
		where, pieced, err = img.placed(m, b.offset, b.group)
	}
	if err != nil {
		return b.fail(err)
	}
	at.place, img.pieced = where, pieced
	at.memory.Store(m)
	return vk.SUCCESS
}

// fail reports why an image is not bound.
func (b *imageBind) fail(err error) vk.Result {
	return b.image.device.physical.instance.fail(b.rules.command, err,
		object{vk.OBJECT_TYPE_IMAGE, b.image.handle}, object{vk.OBJECT_TYPE_DEVICE_MEMORY, b.memory.handle})
}

// boundTo returns the memory that the image or plane is bound to, nil before it is bound and after the memory is freed.
func (b *imageBinding) boundTo() *deviceMemory {
	m := b.memory.Load()
	if m == nil || deviceMemories.Get(m.handle) != m {
		return nil
	}
	return m
}

// isBound says whether the image, with all planes, is bound to memory that is there.
func (img *image) isBound() bool {
	for i := range img.bindings() {
		if img.bound[i].boundTo() == nil {
			return false
		}
	}
	return true
}
