package transfer

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"farside/internal/texel"
	"farside/internal/vk"
)

// A blit from a compressed image is one from its decoded texels.
func TestBlitOfBlocks(t *testing.T) {
	random := rand.New(rand.NewPCG(31, 32))
	for _, format := range []vk.Format{vk.FORMAT_ETC2_R8G8B8A1_UNORM_BLOCK, vk.FORMAT_ETC2_R8G8B8A8_SRGB_BLOCK,
		vk.FORMAT_EAC_R11G11_SNORM_BLOCK, vk.FORMAT_BC1_RGBA_SRGB_BLOCK, vk.FORMAT_BC4_SNORM_BLOCK,
		vk.FORMAT_BC6H_UFLOAT_BLOCK, vk.FORMAT_BC7_SRGB_BLOCK, vk.FORMAT_ASTC_5x4_UNORM_BLOCK,
		vk.FORMAT_ASTC_12x10_SRGB_BLOCK} {
		storage, _ := texel.FormatOf(format)
		layout, _ := texel.NewLayout(storage, [3]uint32{21, 14, 1}, 3, 4, 1)
		src := &Image{Bytes: make([]byte, layout.Size), Layout: &layout, Format: format, Type: vk.IMAGE_TYPE_2D}
		for i := range src.Bytes {
			src.Bytes[i] = byte(random.Uint32())
		}
		plain := unpacked(src)
		targetFormat, _ := texel.FormatOf(vk.FORMAT_R16G16B16A16_SFLOAT)
		targetLayout, _ := texel.NewLayout(targetFormat, [3]uint32{30, 30, 1}, 1, 2, 1)
		for range 20 {
			level := uint32(random.IntN(3))
			w, h := int32(21>>level), int32(14>>level)
			region := vk.ImageBlit{
				SrcSubresource: vk.ImageSubresourceLayers{AspectMask: vk.IMAGE_ASPECT_COLOR_BIT, MipLevel: level, BaseArrayLayer: 1,
					LayerCount: 2},
				DstSubresource: vk.ImageSubresourceLayers{AspectMask: vk.IMAGE_ASPECT_COLOR_BIT, LayerCount: 2},
				SrcOffsets: [2]vk.Offset3D{{X: random.Int32N(w), Y: random.Int32N(h)},
					{X: random.Int32N(w + 1), Y: random.Int32N(h + 1), Z: 1}},
				DstOffsets: [2]vk.Offset3D{{X: 3}, {X: 28, Y: 30, Z: 1}},
			}
			filter := vk.Filter(random.IntN(2))
			var results [2][]byte
			for i, from := range []*Image{src, plain} {
				dst := &Image{Bytes: make([]byte, targetLayout.Size), Layout: &targetLayout, Format: vk.FORMAT_R16G16B16A16_SFLOAT,
					Type: vk.IMAGE_TYPE_2D}
				if err := Blit(dst, from, []vk.ImageBlit{region}, filter); err != nil {
					t.Fatal(err)
				}
				results[i] = dst.Bytes
			}
			if !bytes.Equal(results[0], results[1]) {
				t.Fatalf("%v, %v of level %d, %v: the blits differ", format, filter, level, region.SrcOffsets)
			}
		}
	}
}

// unpacked is the image, or the decoded texels of all levels and layers of a compressed one.
func unpacked(img *Image) *Image {
	blocks, ok := texel.BlocksOf(img.Format)
	if !ok {
		return img
	}
	format, _ := texel.FormatOf(blocks.Unpacked())
	layout, _ := texel.NewLayout(format, img.Layout.Extent, img.Layout.Levels, img.Layout.Layers, 1)
	plain := &Image{Bytes: make([]byte, layout.Size), Layout: &layout, Format: blocks.Unpacked(), Type: img.Type}
	const color = vk.IMAGE_ASPECT_COLOR_BIT
	size := blockSize(plain, color)
	decoded := make([]byte, blocks.UnpackedSize())
	width, height := blocks.Extent()
	for level := range layout.Levels {
		for layer := range layout.Layers {
			to, _ := layout.Subresource(color, level, layer)
			for z := range int(to.Slices) {
				for y := range int(to.Rows) {
					for x := range int(to.RowBytes) / size {
						blocks.Decode(decoded, img.block(color, level, layer, x/width, y/height, z))
						copy(plain.block(color, level, layer, x, y, z),
							decoded[(y%height*width+x%width)*size:])
					}
				}
			}
		}
	}
	return plain
}
