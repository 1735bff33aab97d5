package transfer

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"testing"

	"farside/internal/texel"
	"farside/internal/vk"
)

// guard is how many bytes lie before and behind the memory of a test's image or buffer. No test may change them.
const guard = 128

// memory is bytes with guards around.
type memory struct {
	all   []byte
	bytes []byte
}

func newMemory(seed uint64, size int) memory {
	all := noise(seed, guard+size+guard)
	return memory{all, all[guard : guard+size : guard+size]}
}

func (m memory) clone() memory {
	all := bytes.Clone(m.all)
	return memory{all, all[guard : len(all)-guard : len(all)-guard]}
}

// shape is all that an image of a test consists of.
type shape struct {
	format         vk.Format
	imageType      vk.ImageType
	extent         [3]uint32
	levels, layers uint32
}

func (s shape) String() string {
	return fmt.Sprintf("%v %v %v, %d levels, %d layers", s.format, s.imageType, s.extent, s.levels, s.layers)
}

func (s shape) image(t testing.TB, seed uint64) (*Image, memory) {
	t.Helper()
	format, ok := texel.FormatOf(s.format)
	if !ok {
		t.Fatalf("no format %v", s.format)
	}
	layout, ok := texel.NewLayout(format, s.extent, s.levels, s.layers, 1)
	if !ok {
		t.Fatalf("no image %v", s)
	}
	m := newMemory(seed, int(layout.Size))
	return &Image{Bytes: m.bytes, Layout: &layout, Format: s.format, Type: s.imageType}, m
}

// on is the image at other memory.
func (img *Image) on(m memory) *Image {
	other := *img
	other.Bytes = m.bytes
	return &other
}

// block returns the bytes of one block (one texel where the format is not compressed) of an image: the plain
// formula that all else is held against.
func (img *Image) block(aspect vk.ImageAspectFlags, level, layer uint32, x, y, z int) []byte {
	s, ok := img.Layout.Subresource(aspect, level, layer)
	if !ok {
		panic("no subresource")
	}
	size := blockSize(img, aspect)
	at := int(s.Offset) + z*int(s.DepthPitch) + y*int(s.RowPitch) + x*size
	return img.Bytes[at : at+size]
}

func blockSize(img *Image, aspect vk.ImageAspectFlags) int {
	for _, p := range img.Layout.Format.Planes {
		if p.Aspect == aspect {
			return int(p.BlockSize)
		}
	}
	panic("no aspect")
}

// ceil is n texels in blocks.
func ceil(n, block uint32) int { return int((n + block - 1) / block) }

// eachBlock visits the blocks of a region: their numbers in it, counted along x, y, z and the layers.
func eachBlock(img *Image, extent vk.Extent3D, layers uint32, visit func(x, y, z, layer int)) {
	block := img.Layout.Format.Block
	for layer := range int(layers) {
		for z := range ceil(extent.Depth, block[2]) {
			for y := range ceil(extent.Height, block[1]) {
				for x := range ceil(extent.Width, block[0]) {
					visit(x, y, z, layer)
				}
			}
		}
	}
}

// linearAddress is the formula of chapter "Buffer and Image Addressing".
func linearAddress(img *Image, r *vk.BufferImageCopy, x, y, z, layer int) int {
	block := img.Layout.Format.Block
	size := blockSize(img, r.ImageSubresource.AspectMask)
	row, rows := r.BufferRowLength, r.BufferImageHeight
	if row == 0 {
		row = r.ImageExtent.Width
	}
	if rows == 0 {
		rows = r.ImageExtent.Height
	}
	depth := int(r.ImageExtent.Depth)
	slice := ceil(rows, block[1]) * ceil(row, block[0])
	return int(r.BufferOffset) + ((layer*depth+z)*slice+y*ceil(row, block[0])+x)*size
}

// layersLeft is the number of layers that sub names.
func layersLeft(img *Image, sub *vk.ImageSubresourceLayers) uint32 {
	if sub.LayerCount == vk.REMAINING_ARRAY_LAYERS {
		return img.Layout.Layers - sub.BaseArrayLayer
	}
	return sub.LayerCount
}

func referenceBufferImage(img *Image, buffer []byte, r *vk.BufferImageCopy, toImage bool) {
	block := img.Layout.Format.Block
	sub := &r.ImageSubresource
	eachBlock(img, r.ImageExtent, layersLeft(img, sub), func(x, y, z, layer int) {
		at := linearAddress(img, r, x, y, z, layer)
		b := img.block(sub.AspectMask, sub.MipLevel, sub.BaseArrayLayer+uint32(layer), x+int(r.ImageOffset.X)/int(block[0]),
			y+int(r.ImageOffset.Y)/int(block[1]), z+int(r.ImageOffset.Z)/int(block[2]))
		if toImage {
			copy(b, buffer[at:])
		} else {
			copy(buffer[at:], b)
		}
	})
}

func referenceImageCopy(dst, src *Image, r *vk.ImageCopy) {
	layers := layersLeft(src, &r.SrcSubresource)
	extent := r.Extent
	if src.Type != vk.IMAGE_TYPE_3D {
		extent.Depth = 1
	}
	for aspects := r.SrcSubresource.AspectMask; aspects != 0; aspects &= aspects - 1 {
		aspect := aspects & -aspects
		eachBlock(src, extent, layers, func(x, y, z, layer int) {
			at := func(img *Image, sub vk.ImageSubresourceLayers, offset vk.Offset3D) []byte {
				slice, base := z+layer, sub.BaseArrayLayer
				if img.Type != vk.IMAGE_TYPE_3D {
					slice, base = 0, base+uint32(z+layer)
				}
				block := img.Layout.Format.Block
				return img.block(aspect, sub.MipLevel, base, x+int(offset.X)/int(block[0]), y+int(offset.Y)/int(block[1]),
					slice+int(offset.Z)/int(block[2]))
			}
			copy(at(dst, r.DstSubresource, r.DstOffset), at(src, r.SrcSubresource, r.SrcOffset))
		})
	}
}

// allFormats are those that images of any type can have. Multi-planar ones are in planarFormats.
func allFormats() []vk.Format {
	var list []vk.Format
	for _, f := range vk.AllFormats {
		if t, ok := texel.FormatOf(f); ok && !t.MultiPlanar() {
			list = append(list, f)
		}
	}
	return list
}

// randomShape makes an image of any type, with more levels than it needs at times.
func randomShape(r *rand.Rand, format vk.Format, imageType vk.ImageType) shape {
	s := shape{format, imageType, [3]uint32{1 + r.Uint32N(40), 1, 1}, 1, 1}
	switch imageType {
	case vk.IMAGE_TYPE_1D:
		s.layers = 1 + r.Uint32N(3)
	case vk.IMAGE_TYPE_2D:
		s.extent[1], s.layers = 1+r.Uint32N(40), 1+r.Uint32N(4)
	case vk.IMAGE_TYPE_3D:
		s.extent[1], s.extent[2] = 1+r.Uint32N(20), 1+r.Uint32N(6)
	}
	s.levels = 1 + r.Uint32N(3)
	return s
}

// randomRange takes blocks of an axis of a level: a legal offset and extent in texels. What goes to the edge
// ends within a block where the level does.
func randomRange(r *rand.Rand, size, block uint32) (offset, extent uint32) {
	blocks := (size + block - 1) / block
	first := r.Uint32N(blocks)
	n := 1 + r.Uint32N(blocks-first)
	return first * block, min(n*block, size-first*block)
}

// randomBox takes texels of a level.
func randomBox(r *rand.Rand, img *Image, level uint32) (offset vk.Offset3D, extent vk.Extent3D) {
	var o, e [3]uint32
	for axis := range o {
		o[axis], e[axis] = randomRange(r, max(img.Layout.Extent[axis]>>level, 1), img.Layout.Format.Block[axis])
	}
	return vk.Offset3D{X: int32(o[0]), Y: int32(o[1]), Z: int32(o[2])}, vk.Extent3D{Width: e[0], Height: e[1], Depth: e[2]}
}

func randomLayers(r *rand.Rand, img *Image, aspects vk.ImageAspectFlags) vk.ImageSubresourceLayers {
	base, n := randomRange(r, img.Layout.Layers, 1)
	return vk.ImageSubresourceLayers{
		AspectMask: aspects, MipLevel: r.Uint32N(img.Layout.Levels), BaseArrayLayer: base, LayerCount: n,
	}
}
