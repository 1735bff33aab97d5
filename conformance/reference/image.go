// Package reference says what Vulkan's transfer commands do to texels, one texel block after the other and
// without a thought for speed. The conformance suite compares drivers with it; it shares no code with one.
//
// Regions must be valid: a region beyond an image or a buffer panics.
package reference

import (
	"fmt"

	"farside/internal/vk"
)

// An Image holds the texel blocks of every subresource, each subresource tightly packed: rows from the top,
// slices from the front. The aspects of a depth/stencil format lie apart, packed as buffers hold them.
type Image struct {
	Type           vk.ImageType
	Format         vk.Format
	Extent         [3]uint32 // texels
	Levels, Layers uint32
	info           *vk.FormatDescription
	planes         []plane
}

// plane is one aspect.
type plane struct {
	aspect       vk.ImageAspectFlags
	size         int      // bytes of a block
	subresources [][]byte // the layers of level 0, then those of level 1, and so on
}

// NewImage makes an image of zeroes.
func NewImage(t vk.ImageType, f vk.Format, extent [3]uint32, levels, layers uint32) *Image {
	info, ok := vk.FormatInfo(f)
	if !ok {
		panic(fmt.Sprintf("reference: no format %v", f))
	}
	m := &Image{Type: t, Format: f, Extent: extent, Levels: levels, Layers: layers, info: info}
	for _, aspect := range m.Aspects() {
		p := plane{aspect: aspect, size: m.blockSize(aspect)}
		for level := range levels {
			n := m.Blocks(level)
			for range layers {
				p.subresources = append(p.subresources, make([]byte, int(n[0]*n[1]*n[2])*p.size))
			}
		}
		m.planes = append(m.planes, p)
	}
	return m
}

// plane is the plane of an aspect.
func (m *Image) plane(aspect vk.ImageAspectFlags) *plane {
	for i := range m.planes {
		if m.planes[i].aspect == aspect {
			return &m.planes[i]
		}
	}
	panic(fmt.Sprintf("reference: %v has no aspect %v", m.Format, aspect))
}

// Aspects are colour, or those of depth and stencil that the format has.
func (m *Image) Aspects() []vk.ImageAspectFlags {
	var a []vk.ImageAspectFlags
	for _, c := range m.info.Components() {
		switch c.Name {
		case 'D':
			a = append(a, vk.IMAGE_ASPECT_DEPTH_BIT)
		case 'S':
			a = append(a, vk.IMAGE_ASPECT_STENCIL_BIT)
		}
	}
	if a == nil {
		a = append(a, vk.IMAGE_ASPECT_COLOR_BIT)
	}
	return a
}

// BlockSize is the size in bytes of one texel block of an aspect, as it lies in buffers.
func (m *Image) BlockSize(aspect vk.ImageAspectFlags) int { return m.plane(aspect).size }

func (m *Image) blockSize(aspect vk.ImageAspectFlags) int {
	switch aspect {
	case vk.IMAGE_ASPECT_STENCIL_BIT:
		return 1
	case vk.IMAGE_ASPECT_DEPTH_BIT:
		if m.info.Components()[0].Bits == 16 {
			return 2
		}
		return 4 // 24 bits come as the lower bits of a word, the others undefined
	}
	return int(m.info.BlockSize)
}

// BlockExtent is the size of a block in texels.
func (m *Image) BlockExtent() [3]uint32 { return m.info.BlockExtent }

// LevelExtent is the size of a mip level in texels.
func (m *Image) LevelExtent(level uint32) [3]uint32 {
	return [3]uint32{max(m.Extent[0]>>level, 1), max(m.Extent[1]>>level, 1), max(m.Extent[2]>>level, 1)}
}

// Blocks is the size of a mip level in blocks.
func (m *Image) Blocks(level uint32) [3]uint32 {
	return blocksOf(m.LevelExtent(level), m.info.BlockExtent)
}

func blocksOf(texels, block [3]uint32) [3]uint32 {
	var n [3]uint32
	for i := range n {
		n[i] = (texels[i] + block[i] - 1) / block[i]
	}
	return n
}

// Bytes are all blocks of a subresource.
func (m *Image) Bytes(aspect vk.ImageAspectFlags, level, layer uint32) []byte {
	return m.plane(aspect).subresources[level*m.Layers+layer]
}

// Block is one block; x, y and z count blocks.
func (m *Image) Block(aspect vk.ImageAspectFlags, level, layer, x, y, z uint32) []byte {
	n, size := m.Blocks(level), m.BlockSize(aspect)
	if x >= n[0] || y >= n[1] || z >= n[2] {
		panic(fmt.Sprintf("reference: block %d, %d, %d of %v", x, y, z, n))
	}
	at := int((z*n[1]+y)*n[0]+x) * size
	return m.Bytes(aspect, level, layer)[at : at+size]
}

// slice is the layer and the z of slice i of a region: 3D images have slices in z, others in layers.
func (m *Image) slice(s *vk.ImageSubresourceLayers, z int32, i uint32) (layer, depth uint32) {
	if m.Type == vk.IMAGE_TYPE_3D {
		return s.BaseArrayLayer, uint32(z) + i
	}
	return s.BaseArrayLayer + i, uint32(z)
}
