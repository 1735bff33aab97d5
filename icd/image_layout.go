package icd

import (
	"math"
	"math/bits"

	"farside/internal/vk"
)

const (
	// imageAlignment is where image memory, and every subresource in it, begins: a cache line, so that no two
	// subresources share one.
	imageAlignment = 64
	// rowAlignment keeps rows at the natural boundary of 128-bit loads.
	rowAlignment = 16
)

// imageLayout says where the texels of an image lie. It is the only place that knows: memory requirements,
// vkGetImageSubresourceLayout and the copy commands all ask it.
//
// Both tilings are row-major. Each array layer holds, plane after plane (depth before stencil), the chain of
// that plane's mip levels; a level is its slices, a slice its rows of blocks. All sizes are in bytes.
type imageLayout struct {
	texels     texelFormat
	extent     [3]uint32
	levels     uint32
	layers     uint32
	planeStart [2]uint64 // from the beginning of a layer
	rowPitch   uint64    // of level 0 when the application fixed it; 0 when it is computed
	start      uint64    // of layer 0
	layerPitch uint64
	size       uint64 // of the whole image, start included
}

// subresourceLayout is one aspect of one mip level of one array layer: Depth slices of Rows rows of RowBytes
// bytes, in blocks of the format.
type subresourceLayout struct {
	offset     uint64 // from the beginning of the image
	size       uint64
	rowPitch   uint64
	depthPitch uint64
	rowBytes   uint64 // bytes of a row that hold texels
	rows       uint64
	slices     uint64
}

// newImageLayout lays out an image; it fails for images whose size does not fit in 64 bits.
func newImageLayout(texels texelFormat, extent [3]uint32, levels, layers uint32) (imageLayout, bool) {
	l := imageLayout{texels: texels, extent: extent, levels: levels, layers: layers}
	var end uint64
	for plane := range l.texels.planeCount {
		l.planeStart[plane] = end
		for level := range levels {
			end = satAdd(end, satAlign(l.level(plane, level).size, imageAlignment))
		}
	}
	l.layerPitch = end
	l.size = satMul(end, uint64(layers))
	return l, l.size != math.MaxUint64
}

// explicitLayout lays out a single-level 2D image as VkImageDrmFormatModifierExplicitCreateInfoEXT asks for it.
// It fails when the pitches would let rows or layers overlap, or the size does not fit in 64 bits.
func explicitLayout(texels texelFormat, extent [3]uint32, layers uint32, plane *vk.SubresourceLayout) (imageLayout, bool) {
	l := imageLayout{texels: texels, extent: extent, levels: 1, layers: layers}
	if plane.RowPitch < l.level(0, 0).rowBytes {
		return l, false
	}
	l.start = plane.Offset
	l.rowPitch = plane.RowPitch
	l.layerPitch = l.level(0, 0).size
	if layers > 1 {
		if plane.ArrayPitch < l.layerPitch {
			return l, false
		}
		l.layerPitch = plane.ArrayPitch
	}
	// The last layer needs no padding: an imported buffer may end with it.
	l.size = satAdd(l.start, satAdd(satMul(l.layerPitch, uint64(layers-1)), l.level(0, 0).size))
	return l, l.size != math.MaxUint64
}

// level returns the shape of a mip level, with offset still 0.
func (l *imageLayout) level(plane int, level uint32) subresourceLayout {
	blocks := func(axis int) uint64 {
		size, block := max(l.extent[axis]>>level, 1), l.texels.block[axis]
		return (uint64(size) + uint64(block) - 1) / uint64(block)
	}
	s := subresourceLayout{rows: blocks(1), slices: blocks(2)}
	s.rowBytes = blocks(0) * uint64(l.texels.planes[plane].blockSize)
	s.rowPitch = l.rowPitch
	if s.rowPitch == 0 {
		s.rowPitch = satAlign(s.rowBytes, rowAlignment)
	}
	s.depthPitch = satMul(s.rowPitch, s.rows)
	s.size = satMul(s.depthPitch, s.slices)
	return s
}

// subresource locates one aspect of one mip level of one array layer. It fails when the image has no such
// aspect, level or layer. DRM-modifier images also answer for VK_IMAGE_ASPECT_MEMORY_PLANE_0_BIT_EXT, as their
// one memory plane is their colour aspect.
func (l *imageLayout) subresource(aspect vk.ImageAspectFlags, level, layer uint32) (subresourceLayout, bool) {
	plane := l.texels.plane(aspect)
	if plane < 0 || level >= l.levels || layer >= l.layers {
		return subresourceLayout{}, false
	}
	offset := l.start + uint64(layer)*l.layerPitch + l.planeStart[plane]
	for below := range level {
		offset += satAlign(l.level(plane, below).size, imageAlignment)
	}
	s := l.level(plane, level)
	s.offset = offset
	return s, true
}

// The arithmetic saturates at the largest 64-bit number, which no image reaches: one check at the end finds
// every overflow on the way.

func satAdd(a, b uint64) uint64 {
	sum, carry := bits.Add64(a, b, 0)
	if carry != 0 {
		return math.MaxUint64
	}
	return sum
}

func satMul(a, b uint64) uint64 {
	hi, lo := bits.Mul64(a, b)
	if hi != 0 {
		return math.MaxUint64
	}
	return lo
}

// satAlign rounds up to a multiple of a power of two.
func satAlign(a, alignment uint64) uint64 {
	if a > math.MaxUint64-(alignment-1) {
		return math.MaxUint64
	}
	return (a + alignment - 1) &^ (alignment - 1)
}
