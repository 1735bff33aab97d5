// Package texel says where the texels of an image lie, what formats are made of, and which numbers their bits are.
package texel

import "farside/internal/vk"

// Format is what the driver needs to know of a VkFormat to store and move its texels.
type Format struct {
	Block      [3]uint32 // texels in a block
	Planes     [2]Plane
	PlaneCount int
	Compressed bool
}

// Plane is one aspect of a format. The aspects of a depth/stencil format are stored one after the other,
// so that a copy of either moves whole rows in the packing that VkBufferImageCopy prescribes for it.
type Plane struct {
	Aspect    vk.ImageAspectFlags
	BlockSize uint32 // bytes
}

// plane returns the index of the plane that holds aspect, -1 if the format does not have it.
func (t *Format) plane(aspect vk.ImageAspectFlags) int {
	if aspect == vk.IMAGE_ASPECT_MEMORY_PLANE_0_BIT_EXT {
		aspect = vk.IMAGE_ASPECT_COLOR_BIT
	}
	for i := range t.PlaneCount {
		if t.Planes[i].Aspect == aspect {
			return i
		}
	}
	return -1
}

// Blocks returns how many blocks hold n texels along an axis.
func (t *Format) Blocks(n uint32, axis int) uint64 {
	block := t.Block[axis]
	if block == 1 { // spares most formats a division
		return uint64(n)
	}
	return (uint64(n) + uint64(block) - 1) / uint64(block)
}

// Aspects returns all aspects of the format.
func (t *Format) Aspects() vk.ImageAspectFlags {
	return t.Planes[0].Aspect | t.Planes[1].Aspect
}

// Modifiable says whether images of the format may use a DRM format modifier: the single-plane colour formats,
// since DRM has no codes for compressed or depth/stencil ones.
func (t *Format) Modifiable() bool {
	return !t.Compressed && t.Planes[0].Aspect == vk.IMAGE_ASPECT_COLOR_BIT
}

// Compatible says whether an image of format t can be seen as format u: colour formats are compatible when
// their blocks match, no depth/stencil format is with another. With uncompress a block may also be seen as one
// texel of an uncompressed format (VK_IMAGE_CREATE_BLOCK_TEXEL_VIEW_COMPATIBLE_BIT).
func (t *Format) Compatible(u *Format, uncompress bool) bool {
	return t.Aspects()|u.Aspects() == vk.IMAGE_ASPECT_COLOR_BIT &&
		t.Planes[0].BlockSize == u.Planes[0].BlockSize &&
		(t.Block == u.Block || uncompress && !u.Compressed)
}

// extensionBlock returns the number of the extension that introduced a format; 0 for the original ones.
func extensionBlock(f vk.Format) int32 {
	if f < 1000000000 {
		return 0
	}
	return (int32(f)-1000000000)/1000 + 1
}

// FormatOf returns how a format is stored. It fails for formats that images cannot have: unknown ones, those of
// vertices (USCALED and SSCALED), those that need a Y'CbCr conversion, and those of extensions that the driver does not
// have.
func FormatOf(f vk.Format) (Format, bool) {
	switch extensionBlock(f) {
	case 0, 67, 157, 341, 471: // core; ASTC HDR, YCbCr and 4444, core since 1.1 or 1.3; VK_KHR_maintenance5
	default:
		return Format{}, false
	}
	info, ok := vk.FormatInfo(f)
	if !ok || info.Chroma != 0 || len(info.Planes()) > 1 || info.BlockSize == 0 {
		return Format{}, false
	}
	t := Format{Compressed: info.Compressed != 0}
	for axis := range t.Block {
		t.Block[axis] = max(uint32(info.BlockExtent[axis]), 1)
	}
	var depthBits, stencilBits int
	for _, c := range info.Components() {
		if c.Numeric == vk.NumericUSCALED || c.Numeric == vk.NumericSSCALED {
			return Format{}, false
		}
		switch c.Name {
		case 'D':
			depthBits = int(c.Bits)
		case 'S':
			stencilBits = int(c.Bits)
		}
	}
	add := func(aspect vk.ImageAspectFlags, size uint32) {
		t.Planes[t.PlaneCount] = Plane{aspect, size}
		t.PlaneCount++
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
