package icd

import "farside/internal/vk"

// texelFormat is what the driver needs to know of a VkFormat to store and move its texels.
type texelFormat struct {
	block      [3]uint32 // texels in a block
	planes     [2]texelPlane
	planeCount int
	compressed bool
}

// texelPlane is one aspect of a format. The aspects of a depth/stencil format are stored one after the other,
// so that a copy of either moves whole rows in the packing that VkBufferImageCopy prescribes for it.
type texelPlane struct {
	aspect    vk.ImageAspectFlags
	blockSize uint32 // bytes
}

// transferFeatures is what every supported format can do.
const transferFeatures = vk.FORMAT_FEATURE_TRANSFER_SRC_BIT | vk.FORMAT_FEATURE_TRANSFER_DST_BIT

// transferFeatures2 is transferFeatures in VkFormatFeatureFlags2.
const transferFeatures2 = vk.FORMAT_FEATURE_2_TRANSFER_SRC_BIT | vk.FORMAT_FEATURE_2_TRANSFER_DST_BIT

// plane returns the index of the plane that holds aspect, -1 if the format does not have it.
func (t *texelFormat) plane(aspect vk.ImageAspectFlags) int {
	if aspect == vk.IMAGE_ASPECT_MEMORY_PLANE_0_BIT_EXT {
		aspect = vk.IMAGE_ASPECT_COLOR_BIT
	}
	for i := range t.planeCount {
		if t.planes[i].aspect == aspect {
			return i
		}
	}
	return -1
}

// aspects returns all aspects of the format.
func (t *texelFormat) aspects() vk.ImageAspectFlags {
	return t.planes[0].aspect | t.planes[1].aspect
}

// modifiable says whether images of the format may use a DRM format modifier: the single-plane colour formats,
// since DRM has no codes for compressed or depth/stencil ones.
func (t *texelFormat) modifiable() bool {
	return !t.compressed && t.planes[0].aspect == vk.IMAGE_ASPECT_COLOR_BIT
}

// compatible says whether an image of format t can be seen as format u: colour formats are compatible when
// their blocks match, no depth/stencil format is with another. With uncompress a block may also be seen as one
// texel of an uncompressed format (VK_IMAGE_CREATE_BLOCK_TEXEL_VIEW_COMPATIBLE_BIT).
func (t *texelFormat) compatible(u *texelFormat, uncompress bool) bool {
	return t.aspects()|u.aspects() == vk.IMAGE_ASPECT_COLOR_BIT &&
		t.planes[0].blockSize == u.planes[0].blockSize &&
		(t.block == u.block || uncompress && !u.compressed)
}

// extensionBlock returns the number of the extension that introduced a format; 0 for the original ones.
func extensionBlock(f vk.Format) int32 {
	if f < 1000000000 {
		return 0
	}
	return (int32(f)-1000000000)/1000 + 1
}

// formatOf returns how a format is stored. It fails for formats that images cannot have: unknown ones, those
// that need a Y'CbCr conversion, and those of extensions that the driver does not have.
func formatOf(f vk.Format) (texelFormat, bool) {
	switch extensionBlock(f) {
	case 0, 67, 157, 341: // core; and what is core since 1.1 or 1.3: ASTC HDR, YCbCr, 4444
	default:
		return texelFormat{}, false
	}
	info, ok := vk.FormatInfo(f)
	if !ok || info.Chroma != "" || len(info.Planes) > 1 || info.BlockSize == 0 {
		return texelFormat{}, false
	}
	t := texelFormat{compressed: info.Compressed != ""}
	for axis := range t.block {
		t.block[axis] = max(uint32(info.BlockExtent[axis]), 1)
	}
	var depthBits, stencilBits int
	for _, c := range info.Components {
		switch c.Name {
		case 'D':
			depthBits = int(c.Bits)
		case 'S':
			stencilBits = int(c.Bits)
		}
	}
	add := func(aspect vk.ImageAspectFlags, size uint32) {
		t.planes[t.planeCount] = texelPlane{aspect, size}
		t.planeCount++
	}
	switch {
	case depthBits == 0 && stencilBits == 0:
		add(vk.IMAGE_ASPECT_COLOR_BIT, uint32(info.BlockSize))
	case depthBits == 16:
		add(vk.IMAGE_ASPECT_DEPTH_BIT, 2)
	case depthBits != 0: // 24 bits travel in 32-bit words
		add(vk.IMAGE_ASPECT_DEPTH_BIT, 4)
	}
	if stencilBits != 0 {
		add(vk.IMAGE_ASPECT_STENCIL_BIT, 1)
	}
	return t, true
}

func getPhysicalDeviceFormatProperties(h vk.PhysicalDevice, format vk.Format, out *vk.FormatProperties) {
	if physicalDevices.Get(uintptr(h)) == nil {
		staleHandle("vkGetPhysicalDeviceFormatProperties", vk.OBJECT_TYPE_PHYSICAL_DEVICE, uint64(h))
		return
	}
	formatProperties(format, out)
}

func getPhysicalDeviceFormatProperties2(h vk.PhysicalDevice, format vk.Format, out *vk.FormatProperties2) {
	if physicalDevices.Get(uintptr(h)) == nil {
		staleHandle("vkGetPhysicalDeviceFormatProperties2", vk.OBJECT_TYPE_PHYSICAL_DEVICE, uint64(h))
		return
	}
	formatProperties(format, &out.FormatProperties)
	t, ok := formatOf(format)
	if p := vk.Find[vk.FormatProperties3](out.PNext); p != nil {
		p.LinearTilingFeatures, p.OptimalTilingFeatures, p.BufferFeatures = 0, 0, 0
		if ok {
			p.LinearTilingFeatures, p.OptimalTilingFeatures = transferFeatures2, transferFeatures2
		}
	}
	modifiable := ok && t.modifiable()
	if p := vk.Find[vk.DrmFormatModifierPropertiesListEXT](out.PNext); p != nil {
		var list []vk.DrmFormatModifierPropertiesEXT
		if modifiable {
			list = []vk.DrmFormatModifierPropertiesEXT{{
				DrmFormatModifier:               drmModifierLinear,
				DrmFormatModifierPlaneCount:     1,
				DrmFormatModifierTilingFeatures: transferFeatures,
			}}
		}
		vk.WriteArray(&p.DrmFormatModifierCount, p.PDrmFormatModifierProperties, list)
	}
	if p := vk.Find[vk.DrmFormatModifierPropertiesList2EXT](out.PNext); p != nil {
		var list []vk.DrmFormatModifierProperties2EXT
		if modifiable {
			list = []vk.DrmFormatModifierProperties2EXT{{
				DrmFormatModifier:               drmModifierLinear,
				DrmFormatModifierPlaneCount:     1,
				DrmFormatModifierTilingFeatures: transferFeatures2,
			}}
		}
		vk.WriteArray(&p.DrmFormatModifierCount, p.PDrmFormatModifierProperties, list)
	}
}

func formatProperties(format vk.Format, out *vk.FormatProperties) {
	*out = vk.FormatProperties{}
	if _, ok := formatOf(format); ok {
		out.LinearTilingFeatures, out.OptimalTilingFeatures = transferFeatures, transferFeatures
	}
}
