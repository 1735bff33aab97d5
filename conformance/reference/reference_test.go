package reference

import (
	"bytes"
	"math"
	"testing"

	"farside/internal/vk"
)

func image(f vk.Format, width, height uint32) *Image {
	return NewImage(vk.IMAGE_TYPE_2D, f, [3]uint32{width, height, 1}, 2, 2)
}

func TestTexels(t *testing.T) {
	color, depth, stencil := vk.ImageAspectFlags(vk.IMAGE_ASPECT_COLOR_BIT),
		vk.ImageAspectFlags(vk.IMAGE_ASPECT_DEPTH_BIT), vk.ImageAspectFlags(vk.IMAGE_ASPECT_STENCIL_BIT)
	for _, test := range []struct {
		format vk.Format
		aspect vk.ImageAspectFlags
		texel  Texel
		want   []byte
	}{
		{vk.FORMAT_R8G8B8A8_UNORM, color, Texel{F: [4]float64{0, 1, 0.5, 2}}, []byte{0, 255, 128, 255}},
		{vk.FORMAT_B8G8R8A8_SRGB, color, Texel{F: [4]float64{1, 0.5, 0.001, 0.5}}, []byte{3, 188, 255, 128}},
		{vk.FORMAT_R8G8_SNORM, color, Texel{F: [4]float64{-1, 0.5}}, []byte{0x81, 64}},
		{vk.FORMAT_R5G6B5_UNORM_PACK16, color, Texel{F: [4]float64{1, 0, 1}}, []byte{0x1f, 0xf8}},
		{vk.FORMAT_A2B10G10R10_UINT_PACK32, color, Texel{I: [4]int64{1, 2, 5000, 3}}, []byte{1, 8, 0xf0, 0xff}},
		{vk.FORMAT_R16G16B16A16_SFLOAT, color, Texel{F: [4]float64{1, -65504, 0x1p-24, 0}},
			[]byte{0, 0x3c, 0xff, 0xfb, 1, 0, 0, 0}},
		{vk.FORMAT_B10G11R11_UFLOAT_PACK32, color, Texel{F: [4]float64{1, -1, 2}}, []byte{0xc0, 3, 0, 0x80}},
		{vk.FORMAT_R10X6G10X6_UNORM_2PACK16, color, Texel{F: [4]float64{1, 0.5}}, []byte{0xc0, 0xff, 0, 0x80}},
		{vk.FORMAT_E5B9G9R9_UFLOAT_PACK32, color, Texel{F: [4]float64{1, 0.5, 0}}, []byte{0, 1, 1, 0x80}},
		{vk.FORMAT_R16_SINT, color, Texel{I: [4]int64{-40000}}, []byte{0, 0x80}},
		{vk.FORMAT_D16_UNORM, depth, Texel{F: [4]float64{1}}, []byte{255, 255}},
		{vk.FORMAT_X8_D24_UNORM_PACK32, depth, Texel{F: [4]float64{1}}, []byte{255, 255, 255, 0}},
		{vk.FORMAT_D24_UNORM_S8_UINT, stencil, Texel{I: [4]int64{300}}, []byte{255}},
		{vk.FORMAT_D32_SFLOAT_S8_UINT, depth, Texel{F: [4]float64{1}}, []byte{0, 0, 0x80, 0x3f}},
	} {
		m := image(test.format, 1, 1)
		got := make([]byte, m.BlockSize(test.aspect))
		if m.Encode(test.aspect, got, test.texel); !bytes.Equal(got, test.want) {
			t.Errorf("%v: %v is % x, want % x", test.format, test.texel, got, test.want)
		}
		again := make([]byte, len(got))
		if m.Encode(test.aspect, again, m.Decode(test.aspect, got)); !bytes.Equal(again, got) {
			t.Errorf("%v: % x decodes to what encodes to % x", test.format, got, again)
		}
	}
}

func TestStep(t *testing.T) {
	m := image(vk.FORMAT_R8G8B8A8_SRGB, 1, 1)
	aspect := m.Aspects()[0]
	for code := 1; code < 255; code++ {
		v := fromSRGB(float64(code) / 255)
		if s := m.Step(aspect, 0, v); s < fromSRGB(float64(code+1)/255)-v-1e-12 || s > 0.01 {
			t.Errorf("a step of %v at %v", s, v)
		}
	}
	if s := m.Step(aspect, 3, 0.5); math.Abs(s-1.0/255) > 1e-12 {
		t.Errorf("a step of %v of alpha", s)
	}
}

// TestCopyBufferToImage places the blocks of a compressed image by hand: rows of three blocks, slices of
// three rows, and an image that ends in partial blocks.
func TestCopyBufferToImage(t *testing.T) {
	m := image(vk.FORMAT_BC1_RGB_UNORM_BLOCK, 7, 5)
	aspect := m.Aspects()[0]
	src := make([]byte, 8+2*9*8)
	for i := range src {
		src[i] = byte(i)
	}
	CopyBufferToImage(m, src, vk.BufferImageCopy{BufferOffset: 8, BufferRowLength: 12, BufferImageHeight: 12,
		ImageSubresource: vk.ImageSubresourceLayers{AspectMask: aspect, LayerCount: 2},
		ImageExtent:      vk.Extent3D{Width: 7, Height: 5, Depth: 1}})
	for layer := range 2 {
		for y := range 2 {
			for x := range 2 {
				at := 8 + ((layer*3+y)*3+x)*8
				if got := m.Block(aspect, 0, uint32(layer), uint32(x), uint32(y), 0); !bytes.Equal(got, src[at:at+8]) {
					t.Errorf("layer %d, block %d, %d is %v, want %v", layer, x, y, got, src[at:at+8])
				}
			}
		}
	}
	back := make([]byte, len(src))
	CopyImageToBuffer(back, m,
		vk.BufferImageCopy{ImageSubresource: vk.ImageSubresourceLayers{AspectMask: aspect, BaseArrayLayer: 1, LayerCount: 1},
			ImageOffset: vk.Offset3D{X: 4}, ImageExtent: vk.Extent3D{Width: 3, Height: 4, Depth: 1}})
	if want := src[8+10*8:][:8]; !bytes.Equal(back[:8], want) || !bytes.Equal(back[8:], make([]byte, len(back)-8)) {
		t.Errorf("got %v, want %v and nothing else", back, want)
	}
}

func TestBlit(t *testing.T) {
	src, dst := image(vk.FORMAT_R8_UNORM, 2, 1), image(vk.FORMAT_R8_UNORM, 4, 1)
	aspect := src.Aspects()[0]
	copy(src.Bytes(aspect, 0, 0), []byte{0, 100})
	layers := vk.ImageSubresourceLayers{AspectMask: aspect, LayerCount: 1}
	r := vk.ImageBlit{SrcSubresource: layers, SrcOffsets: [2]vk.Offset3D{{}, {X: 2, Y: 1, Z: 1}},
		DstSubresource: layers, DstOffsets: [2]vk.Offset3D{{X: 4}, {Y: 1, Z: 1}}}
	Blit(dst, src, r, vk.FILTER_NEAREST)
	if got, want := dst.Bytes(aspect, 0, 0), []byte{100, 100, 0, 0}; !bytes.Equal(got, want) {
		t.Errorf("nearest, mirrored: %v, want %v", got, want)
	}
	r.DstOffsets[0].X, r.DstOffsets[1].X = 0, 4
	Blit(dst, src, r, vk.FILTER_LINEAR)
	if got, want := dst.Bytes(aspect, 0, 0), []byte{0, 25, 75, 100}; !bytes.Equal(got, want) {
		t.Errorf("linear: %v, want %v", got, want)
	}
}

func TestResolve(t *testing.T) {
	layers := vk.ImageSubresourceLayers{AspectMask: vk.IMAGE_ASPECT_COLOR_BIT, LayerCount: 1}
	r := vk.ImageResolve{SrcSubresource: layers, SrcOffset: vk.Offset3D{X: 1}, DstSubresource: layers,
		DstOffset: vk.Offset3D{X: 2},
		Extent:    vk.Extent3D{Width: 2, Height: 1, Depth: 1}}
	samples := []byte{1, 1, 1, 1, 10, 20, 30, 40, 0, 255, 0, 255}
	for f, want := range map[vk.Format][]byte{
		vk.FORMAT_R8_UNORM: {0, 0, 25, 128, 0}, vk.FORMAT_R8_SRGB: {0, 0, 27, 188, 0}, vk.FORMAT_R8_UINT: {0, 0, 10, 0, 0},
	} {
		src, dst := image(f, 12, 1), image(f, 5, 1)
		copy(src.Bytes(vk.IMAGE_ASPECT_COLOR_BIT, 0, 0), samples)
		Resolve(dst, src, 4, r)
		if got := dst.Bytes(vk.IMAGE_ASPECT_COLOR_BIT, 0, 0); !bytes.Equal(got, want) {
			t.Errorf("%v: %v, want %v", f, got, want)
		}
	}
}
