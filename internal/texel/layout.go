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
// other in its row. Images of multi-planar formats have one level of one sample, and places of the planes. All sizes
// are in bytes.
type Layout struct {
	Format     Format
	Extent     [3]uint32 // texels
	Levels     uint32
	Layers     uint32
	Samples    uint32 // of a texel
	RowPitch   uint64 // of level 0 when a plane layout fixed it; 0 when it is computed
	Start      uint64 // of layer 0
	LayerPitch uint64
	Size       uint64           // of the whole image, Start included
	planeStart [2]uint64        // from the beginning of a layer
	Planes     [MaxPlanes]Place // of a multi-planar format, in which Start, RowPitch and LayerPitch above do not count
}

// Place is where a plane lies.
type Place struct {
	Start      uint64 // of layer 0, from the beginning of the image; where the image is disjoint, of the plane
	RowPitch   uint64
	LayerPitch uint64
	Size       uint64 // Start included
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
	if texels.MultiPlanar() {
		ok := l.placePlanes(nil, false)
		return l, ok
	}
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

// NewDisjointLayout is NewLayout for a multi-planar image whose planes are bound to memory by themselves: each place is
// in a memory of its own, where an image of the plane's format and extent has room, too (VK_IMAGE_CREATE_ALIAS_BIT).
func NewDisjointLayout(texels Format, extent [3]uint32, layers uint32) (Layout, bool) {
	l := Layout{Format: texels, Extent: extent, Levels: 1, Layers: layers, Samples: 1}
	ok := l.placePlanes(nil, true)
	for i := range texels.PlaneCount {
		l.Planes[i].Size = satAlign(l.Planes[i].Size, Alignment)
		l.Size = max(l.Size, l.Planes[i].Size)
	}
	return l, ok && l.Size != math.MaxUint64
}

// ModifierLayout lays out a single-level 2D image with DRM_FORMAT_MOD_LINEAR: as the plane layouts ask for it
// (VkImageDrmFormatModifierExplicitCreateInfoEXT), one for each plane of the format, or with the driver's own pitches
// if there are none. An image that is made with the plane layouts which another one reports is laid out exactly as that
// one. It fails when the pitches would let rows or layers overlap, or the size does not fit in 64 bits. Planes may lie
// anywhere, also one over the other.
func ModifierLayout(texels Format, extent [3]uint32, layers uint32, planes []vk.SubresourceLayout,
	disjoint bool) (Layout, bool) {
	l := Layout{Format: texels, Extent: extent, Levels: 1, Layers: layers, Samples: 1}
	if texels.MultiPlanar() {
		ok := l.placePlanes(planes, disjoint)
		return l, ok
	}
	p, ok := l.place(0, planes)
	l.Start, l.RowPitch, l.LayerPitch, l.Size = p.Start, p.RowPitch, p.LayerPitch, p.Size
	return l, ok
}

// place says where plane i lies in an image of one level: where the plane layouts say, or at the beginning.
func (l *Layout) place(i int, planes []vk.SubresourceLayout) (p Place, ok bool) {
	s := l.level(i, 0)
	asked := vk.SubresourceLayout{RowPitch: s.RowPitch, ArrayPitch: satAlign(s.Size, Alignment)}
	if len(planes) > 0 {
		asked = planes[i]
	}
	p = Place{Start: asked.Offset, RowPitch: asked.RowPitch, LayerPitch: satMul(asked.RowPitch, s.Rows)}
	if p.RowPitch < s.RowBytes {
		return p, false
	}
	last := p.LayerPitch
	if l.Layers > 1 {
		if asked.ArrayPitch < p.LayerPitch {
			return p, false
		}
		p.LayerPitch = asked.ArrayPitch
	}
	// The last layer needs no padding: an imported buffer may end with it.
	p.Size = satAdd(p.Start, satAdd(satMul(p.LayerPitch, uint64(l.Layers-1)), last))
	return p, p.Size != math.MaxUint64
}

// placePlanes places the planes of a multi-planar image of one level. Without plane layouts, each begins where the one
// before it ends, or at 0 where they are disjoint.
func (l *Layout) placePlanes(planes []vk.SubresourceLayout, disjoint bool) bool {
	if l.Levels != 1 || l.Samples != 1 || len(planes) != 0 && len(planes) < l.Format.PlaneCount {
		return false
	}
	for i := range l.Format.PlaneCount {
		p, ok := l.place(i, planes)
		if !ok {
			return false
		}
		if len(planes) == 0 && !disjoint {
			p.Start = satAlign(l.Size, Alignment)
			p.Size = satAdd(p.Size, p.Start)
		}
		l.Planes[i], l.Size = p, max(l.Size, p.Size)
	}
	return l.Size != math.MaxUint64
}

// Plane returns the layout of a plane of a multi-planar image, as that of an image of the plane's own format.
func (l *Layout) Plane(i int) Layout {
	own, at := &l.Format.Planes[i], &l.Planes[i]
	format, _ := FormatOf(own.Format)
	return Layout{Format: format, Extent: l.planeExtent(i), Levels: 1, Layers: l.Layers, Samples: 1,
		RowPitch: at.RowPitch, Start: at.Start, LayerPitch: at.LayerPitch, Size: at.Size}
}

// planeExtent is how many texels a plane has.
func (l *Layout) planeExtent(i int) [3]uint32 {
	e := l.Extent
	for axis, divisor := range l.Format.Planes[i].Divisor {
		if divisor > 1 {
			e[axis] = max(e[axis]/divisor, 1)
		}
	}
	return e
}

// level returns the shape of a mip level, with Offset still 0.
func (l *Layout) level(plane int, level uint32) Subresource {
	extent := l.planeExtent(plane)
	blocks := func(axis int) uint64 {
		return l.Format.Blocks(max(extent[axis]>>level, 1), axis)
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
// aspect, level or layer. Memory planes of DRM-modifier images are planes of the format, as colours are of the others.
func (l *Layout) Subresource(aspect vk.ImageAspectFlags, level, layer uint32) (Subresource, bool) {
	plane := l.Format.PlaneOf(aspect)
	if plane < 0 || level >= l.Levels || layer >= l.Layers {
		return Subresource{}, false
	}
	if l.Format.MultiPlanar() {
		own := l.Plane(plane)
		return own.Subresource(vk.IMAGE_ASPECT_COLOR_BIT, level, layer)
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
