package texel

import (
	"math"
	"math/bits"

	"farside/internal/vk"
)

const (
	// Alignment is where image memory, and every subresource in it, begins: a cache line, so that no two
	// subresources share one.
	Alignment = 64
	// rowAlignment keeps rows at the natural boundary of 128-bit loads.
	rowAlignment = 16
)

// LayoutVersion goes up when texels of any image come to lie elsewhere: two builds that share memory must agree on it.
// The driver's UUID follows from it.
const LayoutVersion = 1

// Layout says where the texels of an image lie. It is the only place that knows: memory requirements,
// vkGetImageSubresourceLayout and the copy commands all ask it.
//
// Both tilings are row-major. Each array layer holds, plane after plane (depth before stencil), the chain of
// that plane's mip levels; a level is its slices, a slice its rows of blocks. The samples of a texel lie next to each
// other in its row. All sizes are in bytes.
type Layout struct {
	Format     Format
	Extent     [3]uint32 // texels
	Levels     uint32
	Layers     uint32
	Samples    uint32 // of a texel
	RowPitch   uint64 // of level 0 when a plane layout fixed it; 0 when it is computed
	Start      uint64 // of layer 0
	LayerPitch uint64
	Size       uint64    // of the whole image, Start included
	planeStart [2]uint64 // from the beginning of a layer
}

// Subresource is one aspect of one mip level of one array layer: Slices slices of Rows rows of RowBytes
// bytes, in blocks of the format.
type Subresource struct {
	Offset     uint64 // from the beginning of the image
	Size       uint64
	RowPitch   uint64
	DepthPitch uint64
	RowBytes   uint64 // bytes of a row that hold texels
	Rows       uint64
	Slices     uint64
}

// NewLayout lays out an image; it fails for images whose size does not fit in 64 bits.
func NewLayout(texels Format, extent [3]uint32, levels, layers, samples uint32) (Layout, bool) {
	l := Layout{Format: texels, Extent: extent, Levels: levels, Layers: layers, Samples: samples}
	var end uint64
	for plane := range texels.PlaneCount {
		l.planeStart[plane] = end
		for level := range levels {
			end = satAdd(end, satAlign(l.level(plane, level).Size, Alignment))
		}
	}
	l.LayerPitch = end
	l.Size = satMul(end, uint64(layers))
	return l, l.Size != math.MaxUint64
}

// ModifierLayout lays out a single-level 2D image with DRM_FORMAT_MOD_LINEAR: as the plane layout asks for it
// (VkImageDrmFormatModifierExplicitCreateInfoEXT), or with the driver's own pitches if that is nil. An image that is
// made with the plane layout which another one reports is laid out exactly as that one. It fails when the pitches would
// let rows or layers overlap, or the size does not fit in 64 bits.
func ModifierLayout(texels Format, extent [3]uint32, layers uint32, plane *vk.SubresourceLayout) (Layout, bool) {
	l := Layout{Format: texels, Extent: extent, Levels: 1, Layers: layers, Samples: 1}
	if plane == nil {
		s := l.level(0, 0)
		plane = &vk.SubresourceLayout{RowPitch: s.RowPitch, ArrayPitch: satAlign(s.Size, Alignment)}
	}
	if plane.RowPitch < l.level(0, 0).RowBytes {
		return l, false
	}
	l.Start = plane.Offset
	l.RowPitch = plane.RowPitch
	l.LayerPitch = l.level(0, 0).Size
	if layers > 1 {
		if plane.ArrayPitch < l.LayerPitch {
			return l, false
		}
		l.LayerPitch = plane.ArrayPitch
	}
	// The last layer needs no padding: an imported buffer may end with it.
	l.Size = satAdd(l.Start, satAdd(satMul(l.LayerPitch, uint64(layers-1)), l.level(0, 0).Size))
	return l, l.Size != math.MaxUint64
}

// level returns the shape of a mip level, with Offset still 0.
func (l *Layout) level(plane int, level uint32) Subresource {
	blocks := func(axis int) uint64 {
		return l.Format.Blocks(max(l.Extent[axis]>>level, 1), axis)
	}
	s := Subresource{Rows: blocks(1), Slices: blocks(2)}
	s.RowBytes = blocks(0) * uint64(l.Samples) * uint64(l.Format.Planes[plane].BlockSize)
	s.RowPitch = l.RowPitch
	if s.RowPitch == 0 {
		s.RowPitch = satAlign(s.RowBytes, rowAlignment)
	}
	s.DepthPitch = satMul(s.RowPitch, s.Rows)
	s.Size = satMul(s.DepthPitch, s.Slices)
	return s
}

// Subresource locates one aspect of one mip level of one array layer. It fails when the image has no such
// aspect, level or layer. DRM-modifier images also answer for VK_IMAGE_ASPECT_MEMORY_PLANE_0_BIT_EXT, as their
// one memory plane is their colour aspect.
func (l *Layout) Subresource(aspect vk.ImageAspectFlags, level, layer uint32) (Subresource, bool) {
	plane := l.Format.plane(aspect)
	if plane < 0 || level >= l.Levels || layer >= l.Layers {
		return Subresource{}, false
	}
	offset := l.Start + uint64(layer)*l.LayerPitch + l.planeStart[plane]
	for below := range level {
		offset += satAlign(l.level(plane, below).Size, Alignment)
	}
	s := l.level(plane, level)
	s.Offset = offset
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
