package conformance

import (
	"fmt"
	"math/bits"
	"math/rand/v2"
	"slices"
	"unsafe"

	"golang.org/x/sys/unix"

	"farside/conformance/vulkan"
	"farside/internal/vk"
)

const (
	mutableFormat  = vk.ImageCreateFlags(vk.IMAGE_CREATE_MUTABLE_FORMAT_BIT)
	extendedUsage  = vk.ImageCreateFlags(vk.IMAGE_CREATE_EXTENDED_USAGE_BIT)
	blockView      = vk.ImageCreateFlags(vk.IMAGE_CREATE_BLOCK_TEXEL_VIEW_COMPATIBLE_BIT)
	cubeCompatible = vk.ImageCreateFlags(vk.IMAGE_CREATE_CUBE_COMPATIBLE_BIT)
	arrayOfSlices  = vk.ImageCreateFlags(vk.IMAGE_CREATE_2D_ARRAY_COMPATIBLE_BIT)

	modifierTiling = vk.IMAGE_TILING_DRM_FORMAT_MODIFIER_EXT

	modifierExtension = vk.EXT_IMAGE_DRM_FORMAT_MODIFIER_EXTENSION_NAME
	hostExtension     = vk.EXT_EXTERNAL_MEMORY_HOST_EXTENSION_NAME
)

// usageFeatures are the usages of views, and the features of which a view's format must have one
// (VUID-VkImageViewCreateInfo-usage-02274 and those behind it).
var usageFeatures = []struct {
	usage    vk.ImageUsageFlags
	features vk.FormatFeatureFlags2
}{
	{vk.IMAGE_USAGE_SAMPLED_BIT, vk.FORMAT_FEATURE_2_SAMPLED_IMAGE_BIT},
	{vk.IMAGE_USAGE_STORAGE_BIT, vk.FORMAT_FEATURE_2_STORAGE_IMAGE_BIT},
	{vk.IMAGE_USAGE_COLOR_ATTACHMENT_BIT, vk.FORMAT_FEATURE_2_COLOR_ATTACHMENT_BIT},
	{vk.IMAGE_USAGE_DEPTH_STENCIL_ATTACHMENT_BIT, vk.FORMAT_FEATURE_2_DEPTH_STENCIL_ATTACHMENT_BIT},
	{vk.IMAGE_USAGE_INPUT_ATTACHMENT_BIT,
		vk.FORMAT_FEATURE_2_COLOR_ATTACHMENT_BIT | vk.FORMAT_FEATURE_2_DEPTH_STENCIL_ATTACHMENT_BIT},
}

// viewUsagesOf are the usages that views of a format with these features can have.
func viewUsagesOf(features vk.FormatFeatureFlags2) (usage vk.ImageUsageFlags) {
	for _, u := range usageFeatures {
		if features&u.features != 0 {
			usage |= u.usage
		}
	}
	return usage
}

// viewFormats are the formats that views of an image may have: of its compatibility class, and without compression for
// its blocks (chapter "Formats", section "Format Compatibility Classes"; VUID-VkImageViewCreateInfo-image-01761).
func viewFormats(f vk.Format, flags vk.ImageCreateFlags) []vk.Format {
	list := []vk.Format{f}
	own, _ := vk.FormatInfo(f)
	if flags&mutableFormat == 0 || depthStencil(f) {
		return list
	}
	for _, g := range vk.AllFormats {
		other, ok := vk.FormatInfo(g)
		if !ok || g == f || other.Chroma != 0 || len(other.Planes()) > 0 || depthStencil(g) {
			continue
		}
		asBlock := flags&blockView != 0 && other.Compressed == 0 && other.BlockSize == own.BlockSize
		if other.Class == own.Class || asBlock {
			list = append(list, g)
		}
	}
	return list
}

// An imageOffer is what vkGetPhysicalDeviceImageFormatProperties2 is asked about.
type imageOffer struct {
	format   vk.Format
	kind     vk.ImageType
	tiling   vk.ImageTiling
	modifier uint64
	flags    vk.ImageCreateFlags
	usage    vk.ImageUsageFlags
	stencil  vk.ImageUsageFlags // 0: as usage
	handle   vk.ExternalMemoryHandleTypeFlags
}

func (o *imageOffer) String() string {
	s := fmt.Sprintf("%v %v %v, flags %v, usage %v", o.kind, o.format, o.tiling, o.flags, o.usage)
	if o.stencil != 0 {
		s += fmt.Sprintf(", stencil usage %v", o.stencil)
	}
	if o.handle != 0 {
		s += fmt.Sprintf(", handle type %v", o.handle)
	}
	return s
}

// offers asks for images at random, and makes those that the driver says it has.
type offers struct {
	c        *Case
	r        *rand.Rand
	tiling   vk.ImageTiling
	handle   vk.ExternalMemoryHandleTypeFlags
	a        *vulkan.Arena
	features map[vk.Format]vk.FormatFeatureFlags2
	views    map[imageOffer][]vk.Format // by format and flags
	pools    map[uint32]vk.DeviceMemory // by memory type
	made     int
	viewed   int
}

const poolSize = 16 << 20

// featuresOf are a format's features in the tiling that is tested, with DRM_FORMAT_MOD_LINEAR if with a modifier.
func (s *offers) featuresOf(f vk.Format) vk.FormatFeatureFlags2 {
	if known, ok := s.features[f]; ok {
		return known
	}
	var a vulkan.Arena
	defer a.Close()
	p := vulkan.Struct[vk.FormatProperties2](&a)
	three := vulkan.Struct[vk.FormatProperties3](&a)
	p.PNext = unsafe.Pointer(three)
	modifiers := vulkan.Struct[vk.DrmFormatModifierPropertiesList2EXT](&a)
	list := vulkan.Make[vk.DrmFormatModifierProperties2EXT](&a, 16)
	if s.tiling == modifierTiling {
		modifiers.DrmFormatModifierCount, modifiers.PDrmFormatModifierProperties = uint32(len(list)), &list[0]
		three.PNext = unsafe.Pointer(modifiers)
	}
	s.c.inst.Call("vkGetPhysicalDeviceFormatProperties2", uintptr(s.c.pd), uintptr(f), ptr(p))
	features := three.OptimalTilingFeatures
	switch s.tiling {
	case vk.IMAGE_TILING_LINEAR:
		features = three.LinearTilingFeatures
	case modifierTiling:
		features = 0
		for _, m := range list[:modifiers.DrmFormatModifierCount] {
			if m.DrmFormatModifier == 0 {
				features = m.DrmFormatModifierTilingFeatures
			}
		}
	}
	s.features[f] = features
	return features
}

// viewFormats are those that the driver knows. The slice is shared.
func (s *offers) viewFormats(o *imageOffer) []vk.Format {
	key := imageOffer{format: o.format, flags: o.flags & (mutableFormat | blockView)}
	list, ok := s.views[key]
	if !ok {
		list = slices.DeleteFunc(viewFormats(o.format, o.flags), func(f vk.Format) bool { return s.featuresOf(f) == 0 })
		s.views[key] = list
	}
	return list
}

// offerFlags are the flags that decide on the formats of views.
var offerFlags = []vk.ImageCreateFlags{0, mutableFormat, extendedUsage, mutableFormat | extendedUsage,
	mutableFormat | blockView, mutableFormat | blockView | extendedUsage}

func newOffers(c *Case, tiling vk.ImageTiling, handle vk.ExternalMemoryHandleTypeFlags) offers {
	return offers{c: c, r: rand.New(rand.NewPCG(uint64(tiling)<<32|uint64(handle), 41)), tiling: tiling, handle: handle,
		a: &vulkan.Arena{}, features: map[vk.Format]vk.FormatFeatureFlags2{}, views: map[imageOffer][]vk.Format{},
		pools: map[uint32]vk.DeviceMemory{}}
}

// run asks about every format, rounds times for each type and set of flags.
func (s *offers) run(rounds int) {
	for _, f := range vk.AllFormats {
		info, ok := vk.FormatInfo(f)
		if !ok || info.Chroma != 0 || len(info.Planes()) > 0 || s.featuresOf(f) == 0 {
			continue
		}
		for kind := vk.IMAGE_TYPE_1D; kind <= vk.IMAGE_TYPE_3D; kind++ {
			for _, flags := range offerFlags {
				// VUID-VkImageCreateInfo-flags-01572
				if flags&blockView == 0 || info.Compressed != 0 {
					for range rounds {
						s.ask(&imageOffer{format: f, kind: kind, tiling: s.tiling, flags: flags, handle: s.handle})
					}
				}
			}
		}
	}
	for _, m := range s.pools {
		s.c.dev.Free(m)
	}
	s.a.Close()
	if s.made < 500 || s.viewed < 500 {
		s.c.Errorf("only %d images and %d views", s.made, s.viewed)
	}
}

// some is a random part of the bits.
func (s *offers) some(usages vk.ImageUsageFlags) vk.ImageUsageFlags {
	return usages & vk.ImageUsageFlags(s.r.Uint32())
}

// complete adds usages and flags at random; most of them are such that the driver says yes.
func (s *offers) complete(o *imageOffer) {
	const transfers = vk.ImageUsageFlags(vk.IMAGE_USAGE_TRANSFER_SRC_BIT | vk.IMAGE_USAGE_TRANSFER_DST_BIT)
	possible := viewUsagesOf(s.featuresOf(o.format))
	if o.flags&extendedUsage != 0 || s.r.IntN(8) == 0 {
		for _, g := range s.viewFormats(o) {
			possible |= viewUsagesOf(s.featuresOf(g))
		}
	}
	o.usage = s.some(possible | transfers)
	if o.usage == 0 {
		o.usage = vk.IMAGE_USAGE_TRANSFER_SRC_BIT
	}
	// VUID-VkImageCreateInfo-usage-00963 and -00966
	attachments := o.usage & (vk.IMAGE_USAGE_COLOR_ATTACHMENT_BIT | vk.IMAGE_USAGE_DEPTH_STENCIL_ATTACHMENT_BIT |
		vk.IMAGE_USAGE_INPUT_ATTACHMENT_BIT)
	if attachments != 0 && s.r.IntN(6) == 0 {
		o.usage = attachments | vk.IMAGE_USAGE_TRANSIENT_ATTACHMENT_BIT
	}
	if depthStencil(o.format) && o.usage&vk.IMAGE_USAGE_TRANSIENT_ATTACHMENT_BIT == 0 && s.r.IntN(2) == 0 {
		// VUID-VkImageCreateInfo-format-02795 and -02796: attachments of both aspects or of none.
		const attachment = vk.ImageUsageFlags(vk.IMAGE_USAGE_DEPTH_STENCIL_ATTACHMENT_BIT)
		o.stencil = s.some(possible|transfers)&^attachment | o.usage&attachment
	}
	if s.r.IntN(3) == 0 {
		o.flags |= vk.IMAGE_CREATE_ALIAS_BIT
	}
	switch {
	case o.kind == vk.IMAGE_TYPE_2D && s.r.IntN(3) == 0:
		o.flags |= cubeCompatible
	case o.kind == vk.IMAGE_TYPE_3D && s.r.IntN(3) == 0:
		o.flags |= arrayOfSlices
	}
}

// ask makes an image, if the driver offers it, and views of it.
func (s *offers) ask(o *imageOffer) {
	s.a.Reset()
	s.complete(o)
	p, external, ok := s.query(o)
	if !ok {
		return
	}
	s.judge(o, p)
	info := s.shape(o, p)
	s.chain(o, info)
	image := vulkan.New[vk.Image](s.a)
	if r := vk.Result(s.c.dev.Call("vkCreateImage", ptr(info), 0, ptr(image))); r != vk.SUCCESS {
		s.c.Errorf("vkCreateImage of %d x %d x %d texels, %d levels, %d layers, %d samples of %v, which is offered: %v",
			info.Extent.Width, info.Extent.Height, info.Extent.Depth, info.MipLevels, info.ArrayLayers, info.Samples, o, r)
		return
	}
	s.made++
	free := s.bind(o, *image, external)
	for range 3 {
		s.view(o, *image, info)
	}
	s.c.dev.DestroyImage(*image)
	free()
}

// query asks the driver.
func (s *offers) query(o *imageOffer) (*vk.ImageFormatProperties, *vk.ExternalMemoryProperties, bool) {
	in := vulkan.Struct[vk.PhysicalDeviceImageFormatInfo2](s.a)
	in.Format, in.Type, in.Tiling, in.Usage, in.Flags = o.format, o.kind, o.tiling, o.usage, o.flags
	out := vulkan.Struct[vk.ImageFormatProperties2](s.a)
	e := vulkan.Struct[vk.ExternalImageFormatProperties](s.a)
	if o.handle != 0 {
		x := vulkan.Struct[vk.PhysicalDeviceExternalImageFormatInfo](s.a)
		x.HandleType, x.PNext, in.PNext = o.handle, in.PNext, unsafe.Pointer(x)
		out.PNext = unsafe.Pointer(e)
	}
	if o.stencil != 0 {
		x := vulkan.Struct[vk.ImageStencilUsageCreateInfo](s.a)
		x.StencilUsage, x.PNext, in.PNext = o.stencil, in.PNext, unsafe.Pointer(x)
	}
	if o.tiling == modifierTiling {
		x := vulkan.Struct[vk.PhysicalDeviceImageDrmFormatModifierInfoEXT](s.a)
		x.DrmFormatModifier, x.PNext, in.PNext = o.modifier, in.PNext, unsafe.Pointer(x)
		if o.flags&mutableFormat != 0 { // VUID-VkPhysicalDeviceImageFormatInfo2-tiling-02313
			in.PNext = s.formatList(o, in.PNext)
		}
	}
	r := vk.Result(s.c.inst.Call("vkGetPhysicalDeviceImageFormatProperties2", uintptr(s.c.pd), ptr(in), ptr(out)))
	if r != vk.SUCCESS && r != vk.ERROR_FORMAT_NOT_SUPPORTED {
		s.c.Errorf("vkGetPhysicalDeviceImageFormatProperties2 of %v: %v", o, r)
	}
	return &out.ImageFormatProperties, &e.ExternalMemoryProperties, r == vk.SUCCESS
}

func (s *offers) formatList(o *imageOffer, next unsafe.Pointer) unsafe.Pointer {
	formats := s.viewFormats(o)
	list := vulkan.Make[vk.Format](s.a, len(formats))
	copy(list, formats)
	x := vulkan.Struct[vk.ImageFormatListCreateInfo](s.a)
	x.ViewFormatCount, x.PViewFormats, x.PNext = uint32(len(list)), &list[0], next
	return unsafe.Pointer(x)
}

// levelsOf is the length of a complete chain of mip levels.
func levelsOf(e vk.Extent3D) uint32 { return uint32(bits.Len32(max(e.Width, e.Height, e.Depth))) }

// judge looks for what VkImageFormatProperties may not say.
func (s *offers) judge(o *imageOffer, p *vk.ImageFormatProperties) {
	switch {
	case p.MaxMipLevels != 1 && p.MaxMipLevels != levelsOf(p.MaxExtent),
		p.MaxMipLevels == 1 && o.tiling == vk.IMAGE_TILING_OPTIMAL && o.handle == 0:
		s.c.Errorf("%v has %d levels of %+v", o, p.MaxMipLevels, p.MaxExtent)
	case p.MaxArrayLayers == 0 || o.kind == vk.IMAGE_TYPE_3D && p.MaxArrayLayers != 1:
		s.c.Errorf("%v has %d layers", o, p.MaxArrayLayers)
	case p.SampleCounts&vk.SAMPLE_COUNT_1_BIT == 0:
		s.c.Errorf("%v has %v", o, p.SampleCounts)
	case p.MaxResourceSize < 1<<31:
		s.c.Errorf("%v has a maxResourceSize of %d bytes", o, p.MaxResourceSize)
	}
	// A usage that the format lacks must be one of some view's (VK_IMAGE_CREATE_EXTENDED_USAGE_BIT).
	possible := viewUsagesOf(s.featuresOf(o.format))
	if o.flags&extendedUsage != 0 {
		for _, g := range s.viewFormats(o) {
			possible |= viewUsagesOf(s.featuresOf(g))
		}
	}
	for _, u := range usageFeatures {
		if (o.usage|o.stencil)&u.usage&^possible != 0 {
			s.c.Errorf("%v is offered, but no view could have usage %v", o, u.usage)
		}
	}
}

// shape chooses one of the extremes that the driver offers, as far as it is small.
func (s *offers) shape(o *imageOffer, p *vk.ImageFormatProperties) *vk.ImageCreateInfo {
	info := vulkan.Struct[vk.ImageCreateInfo](s.a)
	info.Format, info.ImageType, info.Tiling, info.Flags, info.Usage = o.format, o.kind, o.tiling, o.flags, o.usage
	info.Extent, info.ArrayLayers, info.Samples = vk.Extent3D{Width: 21, Height: 13, Depth: 9}, 7, vk.SAMPLE_COUNT_1_BIT
	way := s.r.IntN(4)
	switch way {
	case 1: // as many layers as there are
		info.Extent, info.ArrayLayers = vk.Extent3D{Width: 4, Height: 3, Depth: 2}, p.MaxArrayLayers
	case 2: // as long as there are
		info.Extent = vk.Extent3D{Width: p.MaxExtent.Width, Height: 1, Depth: 1}
		if s.r.IntN(2) == 0 && o.kind != vk.IMAGE_TYPE_1D {
			info.Extent = vk.Extent3D{Width: 1, Height: p.MaxExtent.Height, Depth: 1}
		}
		info.ArrayLayers = 1
	}
	if o.kind == vk.IMAGE_TYPE_1D {
		info.Extent.Height = 1
	}
	if o.kind != vk.IMAGE_TYPE_3D {
		info.Extent.Depth = 1
	}
	if o.flags&cubeCompatible != 0 {
		side := min(info.Extent.Width, 20)
		info.Extent.Width, info.Extent.Height, info.ArrayLayers = side, side, max(info.ArrayLayers, 6)
	}
	info.ArrayLayers = min(info.ArrayLayers, p.MaxArrayLayers)
	info.MipLevels = min(levelsOf(info.Extent), p.MaxMipLevels)
	// VUID-VkImageCreateInfo-usage-00968: the feature shaderStorageImageMultisample is not enabled.
	if way == 3 && o.usage&vk.IMAGE_USAGE_STORAGE_BIT == 0 { // as many samples as there are, in one level
		info.MipLevels = 1
		info.Samples = vk.SampleCountFlagBits(1 << (bits.Len32(uint32(p.SampleCounts)) - 1))
	}
	return info
}

// chain adds the structures behind VkImageCreateInfo.
func (s *offers) chain(o *imageOffer, info *vk.ImageCreateInfo) {
	if o.handle != 0 {
		x := vulkan.Struct[vk.ExternalMemoryImageCreateInfo](s.a)
		x.HandleTypes, x.PNext, info.PNext = o.handle, info.PNext, unsafe.Pointer(x)
	}
	if o.stencil != 0 {
		x := vulkan.Struct[vk.ImageStencilUsageCreateInfo](s.a)
		x.StencilUsage, x.PNext, info.PNext = o.stencil, info.PNext, unsafe.Pointer(x)
	}
	if o.tiling == modifierTiling {
		x := vulkan.Struct[vk.ImageDrmFormatModifierListCreateInfoEXT](s.a)
		x.DrmFormatModifierCount, x.PDrmFormatModifiers = 1, vulkan.Put(s.a, o.modifier)
		x.PNext, info.PNext = info.PNext, unsafe.Pointer(x)
	}
	// VUID-VkImageCreateInfo-tiling-02353
	if o.flags&mutableFormat != 0 && (o.tiling == modifierTiling || s.r.IntN(2) == 0) {
		info.PNext = s.formatList(o, info.PNext)
	}
}

// bind binds the image to memory of a type that it allows. The function that it returns frees what must be freed.
func (s *offers) bind(o *imageOffer, image vk.Image, external *vk.ExternalMemoryProperties) (free func()) {
	c, nothing := s.c, func() {}
	need := c.dev.ImageRequirements(image)
	types := need.MemoryTypeBits & (1<<c.mem.MemoryTypeCount - 1)
	if need.Size == 0 || bits.OnesCount64(need.Alignment) != 1 || types == 0 {
		c.Errorf("%v has the requirements %+v", o, need)
		return nothing
	}
	t := uint32(bits.TrailingZeros32(types))
	for n := s.r.IntN(bits.OnesCount32(types)); n > 0; n-- {
		types &= types - 1
		t = uint32(bits.TrailingZeros32(types))
	}
	if o.handle == 0 && need.Size <= poolSize {
		if s.pools[t] == 0 {
			s.pools[t] = c.allocate(poolSize, t, nil)
		}
		offset := s.r.Uint64N(poolSize-need.Size+1) &^ (need.Alignment - 1)
		c.must(fmt.Sprintf("vkBindImageMemory of %v at %d", o, offset), c.dev.BindImage(image, s.pools[t], offset))
		return nothing
	}
	var next unsafe.Pointer
	var host []byte
	switch {
	case external.ExternalMemoryFeatures&vk.EXTERNAL_MEMORY_FEATURE_DEDICATED_ONLY_BIT != 0:
		next = vulkan.DedicatedInfo(s.a, image, 0, nil)
	case o.handle == hostPointer:
		page := uint64(unix.Getpagesize())
		need.Size = (need.Size + page - 1) &^ (page - 1)
		var err error
		host, err = unix.Mmap(-1, 0, int(need.Size), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS)
		c.system("mmap", err)
		h := vulkan.Struct[vk.ImportMemoryHostPointerInfoEXT](s.a)
		h.HandleType, h.PHostPointer, next = hostPointer, unsafe.Pointer(&host[0]), unsafe.Pointer(h)
		allowed := vulkan.Struct[vk.MemoryHostPointerPropertiesEXT](s.a)
		c.must("vkGetMemoryHostPointerPropertiesEXT", vk.Result(c.dev.Call("vkGetMemoryHostPointerPropertiesEXT",
			uintptr(hostPointer), uintptr(h.PHostPointer), ptr(allowed))))
		if types = need.MemoryTypeBits & allowed.MemoryTypeBits; types == 0 {
			c.Fatalf("%v wants memory types %#x, a host pointer %#x", o, need.MemoryTypeBits, allowed.MemoryTypeBits)
		}
		t = uint32(bits.TrailingZeros32(types))
	}
	if external.ExternalMemoryFeatures&vk.EXTERNAL_MEMORY_FEATURE_EXPORTABLE_BIT != 0 {
		next = vulkan.ExportInfo(s.a, o.handle, next)
	}
	m := c.allocate(need.Size, t, next)
	c.must(fmt.Sprintf("vkBindImageMemory of %v", o), c.dev.BindImage(image, m, 0))
	return func() {
		c.dev.Free(m)
		if host != nil {
			c.system("munmap", unix.Munmap(host))
		}
	}
}

// viewTypesOf is the table "Image type and image view type compatibility requirements" of chapter "Resource Creation",
// for a view of one level.
func viewTypesOf(info *vk.ImageCreateInfo) []vk.ImageViewType {
	switch {
	case info.ImageType == vk.IMAGE_TYPE_1D:
		return []vk.ImageViewType{vk.IMAGE_VIEW_TYPE_1D, vk.IMAGE_VIEW_TYPE_1D_ARRAY}
	case info.ImageType == vk.IMAGE_TYPE_3D && info.Flags&arrayOfSlices != 0:
		return []vk.ImageViewType{vk.IMAGE_VIEW_TYPE_3D, vk.IMAGE_VIEW_TYPE_2D, vk.IMAGE_VIEW_TYPE_2D_ARRAY}
	case info.ImageType == vk.IMAGE_TYPE_3D:
		return []vk.ImageViewType{vk.IMAGE_VIEW_TYPE_3D}
	case info.Flags&cubeCompatible != 0 && info.Samples == vk.SAMPLE_COUNT_1_BIT:
		return []vk.ImageViewType{vk.IMAGE_VIEW_TYPE_2D, vk.IMAGE_VIEW_TYPE_2D_ARRAY, vk.IMAGE_VIEW_TYPE_CUBE}
	}
	return []vk.ImageViewType{vk.IMAGE_VIEW_TYPE_2D, vk.IMAGE_VIEW_TYPE_2D_ARRAY}
}

// view makes a view of the image with one of the formats that it may have.
func (s *offers) view(o *imageOffer, image vk.Image, info *vk.ImageCreateInfo) {
	v := vulkan.Struct[vk.ImageViewCreateInfo](s.a)
	formats := s.viewFormats(o)
	v.Image, v.Format = image, formats[s.r.IntN(len(formats))]
	types := viewTypesOf(info)
	v.ViewType = types[s.r.IntN(len(types))]
	aspects := []vk.ImageAspectFlags{color}
	usage := o.usage
	if depthStencil(o.format) {
		aspects = aspectsOf(o.format)
	}
	v.SubresourceRange.AspectMask = aspects[s.r.IntN(len(aspects))]
	if o.stencil != 0 {
		switch v.SubresourceRange.AspectMask {
		case vk.IMAGE_ASPECT_STENCIL_BIT:
			usage = o.stencil
		case vk.IMAGE_ASPECT_DEPTH_BIT | vk.IMAGE_ASPECT_STENCIL_BIT:
			usage &= o.stencil
		}
	}
	possible := viewUsagesOf(s.featuresOf(v.Format))
	all := vk.ImageUsageFlags(0)
	for _, u := range usageFeatures {
		all |= u.usage
	}
	// VUID-VkImageViewCreateInfo-image-04441
	if o.usage&all == 0 || usage&possible == 0 {
		return
	}
	if lacking := usage & all &^ possible; lacking != 0 || s.r.IntN(3) == 0 {
		u := vulkan.Struct[vk.ImageViewUsageCreateInfo](s.a)
		u.Usage, v.PNext = usage&^lacking, unsafe.Pointer(u)
	}
	s.part(v, info)
	out := vulkan.New[vk.ImageView](s.a)
	if r := vk.Result(s.c.dev.Call("vkCreateImageView", ptr(v), 0, ptr(out))); r != vk.SUCCESS {
		s.c.Errorf("vkCreateImageView of type %v, format %v and range %+v of %v: %v", v.ViewType, v.Format,
			v.SubresourceRange, o, r)
		return
	}
	s.viewed++
	s.c.dev.Call("vkDestroyImageView", uintptr(*out), 0)
}

// aspectsOf are what a view of a depth/stencil format can be of.
func aspectsOf(f vk.Format) []vk.ImageAspectFlags {
	const depth, stencil = vk.ImageAspectFlags(vk.IMAGE_ASPECT_DEPTH_BIT), vk.ImageAspectFlags(vk.IMAGE_ASPECT_STENCIL_BIT)
	switch info, _ := vk.FormatInfo(f); {
	case f == vk.FORMAT_S8_UINT:
		return []vk.ImageAspectFlags{stencil}
	case slices.ContainsFunc(info.Components(), func(c vk.FormatComponent) bool { return c.Name == 'S' }):
		return []vk.ImageAspectFlags{depth, stencil, depth | stencil}
	}
	return []vk.ImageAspectFlags{depth}
}

// part chooses levels and layers.
func (s *offers) part(v *vk.ImageViewCreateInfo, info *vk.ImageCreateInfo) {
	r := &v.SubresourceRange
	viewed, _ := vk.FormatInfo(v.Format)
	own, _ := vk.FormatInfo(info.Format)
	// VUID-VkImageViewCreateInfo-image-07072 and -09487: blocks as texels are of one level and layer.
	blocks := own.Compressed != 0 && viewed.Compressed == 0
	r.BaseMipLevel = uint32(s.r.IntN(int(info.MipLevels)))
	r.LevelCount = 1 + uint32(s.r.IntN(int(info.MipLevels-r.BaseMipLevel)))
	layers, slicesOf := info.ArrayLayers, info.ImageType == vk.IMAGE_TYPE_3D && v.ViewType != vk.IMAGE_VIEW_TYPE_3D
	if slicesOf {
		layers = max(info.Extent.Depth>>r.BaseMipLevel, 1)
	}
	if v.ViewType == vk.IMAGE_VIEW_TYPE_CUBE && blocks {
		v.ViewType = vk.IMAGE_VIEW_TYPE_2D
	}
	if blocks || slicesOf { // VUID-VkImageViewCreateInfo-image-04970
		r.LevelCount = 1
	}
	switch v.ViewType {
	case vk.IMAGE_VIEW_TYPE_1D_ARRAY, vk.IMAGE_VIEW_TYPE_2D_ARRAY:
		r.BaseArrayLayer = uint32(s.r.IntN(int(layers)))
		r.LayerCount = 1 + uint32(s.r.IntN(int(layers-r.BaseArrayLayer)))
		if blocks {
			r.LayerCount = 1
		}
	case vk.IMAGE_VIEW_TYPE_CUBE:
		r.BaseArrayLayer, r.LayerCount = uint32(s.r.IntN(int(layers-5))), 6
	default:
		r.BaseArrayLayer, r.LayerCount = uint32(s.r.IntN(int(layers))), 1
	}
}

// offerCases mirror api.info.image_format_properties2, and make what is offered. The instance is of version 1.3, which
// has the structures that are asked with.
func offerCases() (list []definition) {
	add := func(name string, tiling vk.ImageTiling, handle vk.ExternalMemoryHandleTypeFlags, rounds int,
		extensions ...string) {
		d := definition{name: "api.image_offers." + name, compute: true, extensions: extensions, run: func(c *Case) {
			s := newOffers(c, tiling, handle)
			s.run(rounds)
		}}
		if handle == rdmaAddress {
			d.features = rdmaFeature
		}
		list = append(list, d)
	}
	add("optimal", vk.IMAGE_TILING_OPTIMAL, 0, 4)
	add("linear", vk.IMAGE_TILING_LINEAR, 0, 2)
	add("modifier", modifierTiling, 0, 4, modifierExtension)
	for _, h := range []struct {
		name       string
		handle     vk.ExternalMemoryHandleTypeFlags
		extensions []string
	}{
		{"opaque_fd", opaqueFd, []string{fdExtension}},
		{"host_pointer", hostPointer, []string{hostExtension}},
		{"rdma", rdmaAddress, []string{rdmaExtension}},
		{"dma_buf", dmaBuf, []string{fdExtension, dmaBufExtension}},
	} {
		add(h.name+".optimal", vk.IMAGE_TILING_OPTIMAL, h.handle, 1, h.extensions...)
		add(h.name+".modifier", modifierTiling, h.handle, 2, append(h.extensions, modifierExtension)...)
	}
	return list
}
