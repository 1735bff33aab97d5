// Package texel says where the texels of an image lie, what formats are made of, and which numbers their bits are.
package texel

import "farside/internal/vk"

// MaxPlanes is how many planes a format has at most.
const MaxPlanes = 3

// Format is what the driver needs to know of a VkFormat to store and move its texels.
type Format struct {
	Block      [3]uint32 // texels in a block
	Planes     [MaxPlanes]Plane
	PlaneCount int
	Compressed bool
	Chroma     bool // shaders see the colours through a sampler Y'CbCr conversion alone
}

// Plane is one aspect of a format. The aspects of a depth/stencil format are stored one after the other,
// so that a copy of either moves whole rows in the packing that VkBufferImageCopy prescribes for it.
type Plane struct {
	Aspect    vk.ImageAspectFlags
	BlockSize uint32 // bytes

	// Of multi-planar formats: the format of an image that is laid out as the plane, and how many texels of the image
	// along x and y share one of the plane.
	Format  vk.Format
	Divisor [2]uint32
}

// MultiPlanar says whether the format has planes of their own formats (chapter "Formats", "Multi-planar").
func (t *Format) MultiPlanar() bool { return t.Planes[0].Format != vk.FORMAT_UNDEFINED }

// Subsampled says whether texels share their chroma: the formats with the suffixes _422 and _420.
func (t *Format) Subsampled() bool {
	return t.Chroma && (t.Block[0] == 2 || t.Planes[1].Divisor[0] == 2)
}

// Reduced returns how many texels along x and y share their chroma, of which images have a multiple.
func (t *Format) Reduced() [2]uint32 {
	if t.MultiPlanar() {
		return t.Planes[1].Divisor
	}
	return [2]uint32{t.Block[0], t.Block[1]}
}

// PlaneOf returns the index of the plane that aspect names, -1 if the format does not have it. A memory plane of a
// DRM format modifier is a plane of the format, or the only one.
func (t *Format) PlaneOf(aspect vk.ImageAspectFlags) int {
	for i := range t.PlaneCount {
		if aspect == vk.IMAGE_ASPECT_MEMORY_PLANE_0_BIT_EXT<<i && t.Modifiable() {
			return i
		}
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
	return t.Planes[0].Aspect | t.Planes[1].Aspect | t.Planes[2].Aspect
}

// ViewAspects returns the aspects that views may have: a multi-planar format has its planes, and all of them together
// as colours.
func (t *Format) ViewAspects() vk.ImageAspectFlags {
	if t.MultiPlanar() {
		return t.Aspects() | vk.IMAGE_ASPECT_COLOR_BIT
	}
	return t.Aspects()
}

// Modifiable says whether images of the format may use a DRM format modifier: the colour formats that are not
// compressed, since DRM has no codes for compressed or depth/stencil ones.
func (t *Format) Modifiable() bool {
	return !t.Compressed && t.ViewAspects()&vk.IMAGE_ASPECT_COLOR_BIT != 0
}

// Compatible says whether an image of format t can be seen as format u: colour formats are compatible when
// their blocks match, no depth/stencil format is with another, nor one that needs a conversion. With uncompress a block
// may also be seen as one texel of an uncompressed format (VK_IMAGE_CREATE_BLOCK_TEXEL_VIEW_COMPATIBLE_BIT).
func (t *Format) Compatible(u *Format, uncompress bool) bool {
	return t.Aspects()|u.Aspects() == vk.IMAGE_ASPECT_COLOR_BIT && !t.Chroma && !u.Chroma &&
		t.Planes[0].BlockSize == u.Planes[0].BlockSize &&
		(t.Block == u.Block || uncompress && !u.Compressed)
}

// Viewable says whether views of a mutable image of format t may have format u: a compatible one, or of a multi-planar
// image one that is compatible with that of a plane.
func (t *Format) Viewable(u *Format, uncompress bool) bool {
	if !t.MultiPlanar() {
		return t.Compatible(u, uncompress)
	}
	for _, p := range t.Planes[:t.PlaneCount] {
		if own, ok := FormatOf(p.Format); ok && own.Compatible(u, uncompress) {
			return true
		}
	}
	return false
}

// MemoryPlanes is how many memory planes an image with the modifier DRM_FORMAT_MOD_LINEAR has.
func (t *Format) MemoryPlanes() int {
	if t.MultiPlanar() {
		return t.PlaneCount
	}
	return 1
}

// extensionBlock returns the number of the extension that introduced a format; 0 for the original ones.
func extensionBlock(f vk.Format) int32 {
	if f < 1000000000 {
		return 0
	}
	return (int32(f)-1000000000)/1000 + 1
}

// FormatOf returns how a format is stored. It fails for formats that images cannot have: unknown ones, those of
// vertices (USCALED and SSCALED), and those of extensions that the driver does not have.
func FormatOf(f vk.Format) (Format, bool) {
	switch extensionBlock(f) {
	// Core; ASTC HDR, YCbCr and 4444, core since 1.1 or 1.3; VK_EXT_ycbcr_2plane_444_formats; VK_KHR_maintenance5.
	case 0, 67, 157, 331, 341, 471:
	default:
		return Format{}, false
	}
	info, ok := vk.FormatInfo(f)
	if !ok || info.BlockSize == 0 {
		return Format{}, false
	}
	t := Format{Compressed: info.Compressed != 0, Chroma: info.Chroma != 0}
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
		t.Planes[t.PlaneCount] = Plane{Aspect: aspect, BlockSize: size}
		t.PlaneCount++
	}
	for i, p := range info.Planes() {
		of, _ := vk.FormatInfo(p.Compatible)
		add(vk.IMAGE_ASPECT_PLANE_0_BIT<<i, uint32(of.BlockSize))
		t.Planes[i].Format, t.Planes[i].Divisor = p.Compatible, [2]uint32{p.WidthDivisor, p.HeightDivisor}
	}
	switch {
	case t.PlaneCount > 0:
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
