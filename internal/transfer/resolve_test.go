package transfer

import (
	"bytes"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"farside/internal/texel"
	"farside/internal/vk"
)

// multisampled is a 2D image of one level, whose texels have four samples. Samples that are not finite are zero: which
// of several NaNs comes out of a sum is the processor's choice.
func (s shape) multisampled(t testing.TB, seed uint64) (*Image, memory) {
	t.Helper()
	format, _ := texel.FormatOf(s.format)
	layout, ok := texel.NewLayout(format, s.extent, 1, s.layers, 4)
	if !ok || s.imageType != vk.IMAGE_TYPE_2D {
		t.Fatalf("no multisampled image %v", s)
	}
	m := newMemory(seed, int(layout.Size))
	img := &Image{Bytes: m.bytes, Layout: &layout, Format: s.format, Type: s.imageType}
	const color = vk.IMAGE_ASPECT_COLOR_BIT
	if codec, ok := texel.CodecOf(s.format, color); ok && codec.Class() == texel.Float {
		eachBlock(img, vk.Extent3D{Width: 4 * s.extent[0], Height: s.extent[1], Depth: 1}, s.layers,
			func(x, y, z, layer int) {
				sample := img.block(color, 0, uint32(layer), x, y, z)
				var v [1][4]float64
				codec.DecodeFloat(v[:], sample)
				for _, n := range v[0] {
					if n-n != 0 {
						clear(sample)
					}
				}
			})
	}
	return img, m
}

// wantAverage is the average of samples: in float32 but for numbers of fixed point or 64 bits. One that is none is
// positive.
func wantAverage(codec *texel.Codec, samples [][4]float64) (sum [4]float64) {
	single := false
	for _, ch := range codec.Channels() {
		single = single || ch.Kind != vk.NumericUNORM && ch.Kind != vk.NumericSNORM && ch.Bits < 64
	}
	for c := range sum {
		sum[c] = math.Copysign(0, -1)
		for _, v := range samples {
			part := v[c] / float64(len(samples))
			if single {
				part = float64(float32(part))
				sum[c] = float64(float32(sum[c] + part))
			} else {
				sum[c] += part
			}
		}
		if math.IsNaN(sum[c]) {
			sum[c] = math.NaN()
		}
	}
	return sum
}

// referenceResolve takes one texel after the other.
func referenceResolve(dst, src *Image, r *vk.ImageResolve) {
	const color = vk.IMAGE_ASPECT_COLOR_BIT
	codec, _ := texel.CodecOf(src.Format, color)
	layers := layersLeft(src, &r.SrcSubresource)
	eachBlock(src, r.Extent, layers, func(x, y, z, layer int) {
		to := dst.block(color, r.DstSubresource.MipLevel, r.DstSubresource.BaseArrayLayer+uint32(layer),
			x+int(r.DstOffset.X), y+int(r.DstOffset.Y), z+int(r.DstOffset.Z))
		sample := func(s int) []byte {
			return src.block(color, 0, r.SrcSubresource.BaseArrayLayer+uint32(layer), 4*(x+int(r.SrcOffset.X))+s,
				y+int(r.SrcOffset.Y), 0)
		}
		if codec.Class() != texel.Float {
			copy(to, sample(0))
			return
		}
		var v [4][4]float64
		for s := range v {
			codec.DecodeFloat(v[s:s+1], sample(s))
		}
		codec.EncodeFloat(to, [][4]float64{wantAverage(codec, v[:])})
	})
}

// randomResolve makes an image that can be the target of a resolve, the shape of a source, and a region.
func randomResolve(r *rand.Rand, format vk.Format, imageType vk.ImageType) (to, from shape, region vk.ImageResolve) {
	to = randomShape(r, format, imageType)
	texels, _ := texel.FormatOf(format)
	layout, _ := texel.NewLayout(texels, to.extent, to.levels, to.layers, 1)
	dst := &Image{Layout: &layout}
	region.DstSubresource = randomLayers(r, dst, vk.IMAGE_ASPECT_COLOR_BIT)
	region.DstOffset, region.Extent = randomBox(r, dst, region.DstSubresource.MipLevel)
	region.Extent.Depth = 1
	region.SrcSubresource = vk.ImageSubresourceLayers{
		AspectMask: vk.IMAGE_ASPECT_COLOR_BIT, BaseArrayLayer: r.Uint32N(3), LayerCount: region.DstSubresource.LayerCount,
	}
	region.SrcOffset = vk.Offset3D{X: r.Int32N(5), Y: r.Int32N(5)}
	return to, shape{format, vk.IMAGE_TYPE_2D, [3]uint32{
		uint32(region.SrcOffset.X) + region.Extent.Width + r.Uint32N(3),
		uint32(region.SrcOffset.Y) + region.Extent.Height + r.Uint32N(3), 1,
	}, 1, region.SrcSubresource.BaseArrayLayer + region.SrcSubresource.LayerCount}, region
}

// colorFormats are those of which each texel has a colour of its own in memory.
func colorFormats() []vk.Format {
	return slices.DeleteFunc(allFormats(), func(f vk.Format) bool {
		_, ok := texel.CodecOf(f, vk.IMAGE_ASPECT_COLOR_BIT)
		return !ok
	})
}

func TestResolveRandomRegions(t *testing.T) {
	r := rand.New(rand.NewPCG(8, 3))
	for _, format := range colorFormats() {
		for _, imageType := range imageTypes {
			d, s, region := randomResolve(r, format, imageType)
			dst, got := d.image(t, r.Uint64N(256))
			src, from := s.multisampled(t, r.Uint64N(256))
			source, want := from.clone(), got.clone()
			referenceResolve(dst.on(want), src, &region)
			if err := Resolve(dst, src, []vk.ImageResolve{region}); err != nil || !bytes.Equal(got.all, want.all) ||
				!bytes.Equal(from.all, source.all) {
				t.Fatalf("%v to %v, %+v: %v (%s)", s, d, region, err, vk.VUIDOf(err).String())
			}
		}
	}
}

// FuzzResolve changes legal regions in any way, as FuzzRegions does.
func FuzzResolve(f *testing.F) {
	formats := colorFormats()
	for n := range uint16(8) {
		f.Add(uint64(n), 15*n, []byte{})
		f.Add(uint64(n), 15*n, []byte{byte(n), 1, 1})
		f.Add(uint64(n), 15*n, []byte{byte(n) + 6, 4, 0, 2, 3, 31})
	}
	f.Fuzz(func(t *testing.T, seed uint64, format uint16, changes []byte) {
		r := rand.New(rand.NewPCG(seed, 0))
		d, s, region := randomResolve(r, formats[int(format)%len(formats)], imageTypes[r.IntN(3)])
		dst, got := d.image(t, 1)
		src, from := s.multisampled(t, 2)
		source, want := from.clone(), got.clone()
		change(&region, changes)
		err := Resolve(dst, src, []vk.ImageResolve{region})
		if err == nil {
			referenceResolve(dst.on(want), src, &region)
		} else if vk.VUIDOf(err).String() == "" {
			t.Errorf("%v: no VUID", err)
		}
		if !bytes.Equal(got.all, want.all) || !bytes.Equal(from.all, source.all) {
			t.Errorf("%v to %v: %+v (%v) is not what the reference does", s, d, region, err)
		}
	})
}

// TestResolveKnown: what becomes of the samples of a texel.
func TestResolveKnown(t *testing.T) {
	for _, c := range []struct {
		format vk.Format
		src    []byte // four samples
		want   []byte
	}{
		{vk.FORMAT_R8_UNORM, []byte{0, 0, 0, 255}, []byte{64}},
		{vk.FORMAT_R8_UNORM, []byte{10, 20, 30, 40}, []byte{25}},
		{vk.FORMAT_R16_SFLOAT, []byte{0, 0, 0, 0x7c, 0, 0, 0, 0}, []byte{0, 0x7c}},
		{vk.FORMAT_R16_SFLOAT, []byte{0, 0, 0, 0, 0, 0x7e, 0, 0}, []byte{0, 0x7e}},
		{vk.FORMAT_R8_SRGB, []byte{0, 255, 0, 255}, []byte{188}}, // half as bright as 255
		{vk.FORMAT_R8_UINT, []byte{9, 20, 30, 40}, []byte{9}},
		{vk.FORMAT_R8_SINT, []byte{0x80, 1, 2, 3}, []byte{0x80}},
		{vk.FORMAT_R16_SFLOAT, []byte{0, 0x3c, 0, 0x40, 0, 0xbc, 0, 0xc0}, []byte{0, 0}}, // 1, 2, -1, -2
		{vk.FORMAT_R5G6B5_UNORM_PACK16, []byte{0xff, 0xff, 0, 0, 0xff, 0xff, 0, 0}, []byte{0x10, 0x84}},
	} {
		s := shape{c.format, vk.IMAGE_TYPE_2D, [3]uint32{1, 1, 1}, 1, 1}
		src, m := s.multisampled(t, 1)
		dst, got := s.image(t, 2)
		copy(m.bytes, c.src)
		layers := vk.ImageSubresourceLayers{AspectMask: vk.IMAGE_ASPECT_COLOR_BIT, LayerCount: vk.REMAINING_ARRAY_LAYERS}
		region := vk.ImageResolve{SrcSubresource: layers, DstSubresource: layers,
			Extent: vk.Extent3D{Width: 1, Height: 1, Depth: 1}}
		if err := Resolve(dst, src, []vk.ImageResolve{region}); err != nil || !bytes.Equal(got.bytes[:len(c.want)], c.want) {
			t.Errorf("%v % x became % x, want % x (%v)", c.format, c.src, got.bytes[:len(c.want)], c.want, err)
		}
	}
}

// TestResolveLarge: one that goes to all cores.
func TestResolveLarge(t *testing.T) {
	s := shape{vk.FORMAT_R8G8B8A8_UNORM, vk.IMAGE_TYPE_2D, [3]uint32{300, 100, 1}, 1, 2}
	src, _ := s.multisampled(t, 1)
	dst, got := s.image(t, 2)
	want := got.clone()
	layers := vk.ImageSubresourceLayers{AspectMask: vk.IMAGE_ASPECT_COLOR_BIT, LayerCount: 2}
	region := vk.ImageResolve{SrcSubresource: layers, DstSubresource: layers, DstOffset: vk.Offset3D{X: 1, Y: 2},
		Extent: vk.Extent3D{Width: 299, Height: 98, Depth: 1}}
	referenceResolve(dst.on(want), src, &region)
	if err := Resolve(dst, src, []vk.ImageResolve{region}); err != nil || !bytes.Equal(got.all, want.all) {
		t.Errorf("%v", err)
	}
}

func TestResolveRefuses(t *testing.T) {
	const of = "VUID-vkCmdResolveImage-"
	flat := shape{vk.FORMAT_R8G8B8A8_UNORM, vk.IMAGE_TYPE_2D, [3]uint32{16, 16, 1}, 1, 3}
	line := shape{vk.FORMAT_R8G8B8A8_UNORM, vk.IMAGE_TYPE_1D, [3]uint32{16, 1, 1}, 1, 3}
	solid := shape{vk.FORMAT_R8G8B8A8_UNORM, vk.IMAGE_TYPE_3D, [3]uint32{16, 16, 3}, 1, 1}
	other := shape{vk.FORMAT_B8G8R8A8_UNORM, vk.IMAGE_TYPE_2D, [3]uint32{16, 16, 1}, 1, 3}
	depth := shape{vk.FORMAT_D32_SFLOAT, vk.IMAGE_TYPE_2D, [3]uint32{16, 16, 1}, 1, 3}
	nothing := func(*vk.ImageResolve) {}
	for _, c := range []struct {
		name     string
		dst, src shape
		change   func(r *vk.ImageResolve)
		vuid     string
	}{
		{"formats", other, flat, nothing, of + "srcImage-01386"},
		{"depth", depth, depth, nothing, of + "dstImage-02003"},
		{"aspects", flat, flat, func(r *vk.ImageResolve) { r.SrcSubresource.AspectMask = 2 }, of + "srcSubresource-11802"},
		{"no aspects", flat, flat, func(r *vk.ImageResolve) {
			r.SrcSubresource.AspectMask, r.DstSubresource.AspectMask = 0, 0
		},
			"VUID-VkImageSubresourceLayers-aspectMask-requiredbitmask"},
		{"aspects of depth", flat, flat, func(r *vk.ImageResolve) {
			r.SrcSubresource.AspectMask,
				r.DstSubresource.AspectMask = 2, 2
		}, of + "srcSubresource-11800"},
		{"layer counts", flat, flat, func(r *vk.ImageResolve) { r.DstSubresource.LayerCount = 2 },
			"VUID-VkImageResolve-layerCount-08803"},
		{"no layers", flat, flat, func(r *vk.ImageResolve) {
			r.SrcSubresource.LayerCount, r.DstSubresource.LayerCount = 0, 0
		},
			"VUID-VkImageSubresourceLayers-layerCount-01700"},
		{"source level", flat, flat, func(r *vk.ImageResolve) { r.SrcSubresource.MipLevel = 1 }, of + "srcSubresource-01709"},
		{"target level", flat, flat, func(r *vk.ImageResolve) { r.DstSubresource.MipLevel = math.MaxUint32 },
			of + "dstSubresource-01710"},
		{"source layers", flat, flat, func(r *vk.ImageResolve) { r.SrcSubresource.BaseArrayLayer = 3 },
			of + "srcSubresource-01711"},
		{"target layers", flat, flat, func(r *vk.ImageResolve) { r.DstSubresource.BaseArrayLayer = math.MaxUint32 },
			of + "dstSubresource-01712"},
		{"layers of a volume", solid, flat, func(r *vk.ImageResolve) { r.DstSubresource.BaseArrayLayer = 1 },
			of + "srcImage-04447"},
		{"layers to a volume", solid, flat, func(r *vk.ImageResolve) {
			r.SrcSubresource.LayerCount,
				r.DstSubresource.LayerCount = 2, 2
		}, of + "srcImage-04447"},
		{"source z", flat, flat, func(r *vk.ImageResolve) { r.SrcOffset.Z = 1 }, of + "srcImage-00273"},
		{"depth of two", solid, flat, func(r *vk.ImageResolve) { r.Extent.Depth = 2 }, of + "srcImage-00273"},
		{"target z of a plane", flat, flat, func(r *vk.ImageResolve) { r.DstOffset.Z = 1 }, of + "dstImage-00278"},
		{"target z", solid, flat, func(r *vk.ImageResolve) { r.DstOffset.Z = 3 }, of + "dstOffset-00277"},
		{"target y of a line", line, flat, func(r *vk.ImageResolve) { r.DstOffset.Y = 1 }, of + "dstImage-00276"},
		{"height of a line", line, flat, func(r *vk.ImageResolve) { r.Extent.Height = 2 }, of + "dstImage-00276"},
		{"source x", flat, flat, func(r *vk.ImageResolve) { r.SrcOffset.X = 13 }, of + "srcOffset-00269"},
		{"source y", flat, flat, func(r *vk.ImageResolve) { r.SrcOffset.Y = -1 }, of + "srcOffset-00270"},
		{"target x", flat, flat, func(r *vk.ImageResolve) { r.DstOffset.X = math.MaxInt32 }, of + "dstOffset-00274"},
		{"target y", flat, flat, func(r *vk.ImageResolve) { r.DstOffset.Y = 16 }, of + "dstOffset-00275"},
	} {
		src, _ := c.src.multisampled(t, 1)
		dst, m := c.dst.image(t, 2)
		layers := vk.ImageSubresourceLayers{AspectMask: src.Layout.Format.Aspects(), LayerCount: 1}
		legal := vk.ImageResolve{SrcSubresource: layers, DstSubresource: layers,
			Extent: vk.Extent3D{Width: 4, Height: 1, Depth: 1}}
		wrong := legal
		c.change(&wrong)
		before := m.clone()
		if err := Resolve(dst, src, []vk.ImageResolve{legal, wrong}); vk.VUIDOf(err).String() != c.vuid ||
			!bytes.Equal(m.all, before.all) {
			t.Errorf("%s: %v (%s), want %s and nothing written", c.name, err, vk.VUIDOf(err).String(), c.vuid)
		}
	}
}

// TestSampleCounts: which counts each command takes, and the memory that a resolve needs.
func TestSampleCounts(t *testing.T) {
	s := shape{vk.FORMAT_R8G8B8A8_UNORM, vk.IMAGE_TYPE_2D, [3]uint32{16, 16, 1}, 1, 1}
	one, m := s.image(t, 1)
	four, m4 := s.multisampled(t, 2)
	layers := vk.ImageSubresourceLayers{AspectMask: vk.IMAGE_ASPECT_COLOR_BIT, LayerCount: 1}
	extent := vk.Extent3D{Width: 4, Height: 4, Depth: 1}
	linear := vk.BufferImageCopy{ImageSubresource: layers, ImageExtent: extent}
	buffer := make([]byte, 1<<12)
	move := []vk.ImageCopy{{SrcSubresource: layers, DstSubresource: layers, Extent: extent}}
	blit := []vk.ImageBlit{{SrcSubresource: layers, DstSubresource: layers,
		SrcOffsets: [2]vk.Offset3D{1: {X: 1, Y: 1, Z: 1}}, DstOffsets: [2]vk.Offset3D{1: {X: 1, Y: 1, Z: 1}}}}
	resolve := []vk.ImageResolve{{SrcSubresource: layers, DstSubresource: layers, Extent: extent}}
	short := func(img *Image) *Image {
		other := *img
		other.Bytes = other.Bytes[:len(other.Bytes)-1]
		return &other
	}
	_, toImage := MemoryToImageSize(four, &linear, 0)
	_, toMemory := ImageToMemorySize(four, &linear, 0)
	before, before4 := m.clone(), m4.clone()
	for _, c := range []struct {
		err  error
		vuid string
	}{
		{CopyImage(one, four, move), "VUID-vkCmdCopyImage-srcImage-00136"},
		{CopyImage(four, one, move), "VUID-vkCmdCopyImage-srcImage-00136"},
		{CopyBufferToImage(four, buffer, []vk.BufferImageCopy{linear}), "VUID-vkCmdCopyBufferToImage-dstImage-07973"},
		{CopyImageToBuffer(buffer, four, []vk.BufferImageCopy{linear}), "VUID-vkCmdCopyImageToBuffer-srcImage-07973"},
		{toImage, "VUID-VkCopyMemoryToImageInfo-dstImage-07973"},
		{toMemory, "VUID-VkCopyImageToMemoryInfo-srcImage-07973"},
		{Blit(one, four, blit, vk.FILTER_NEAREST), "VUID-vkCmdBlitImage-srcImage-00233"},
		{Blit(four, one, blit, vk.FILTER_NEAREST), "VUID-vkCmdBlitImage-dstImage-00234"},
		{Resolve(one, one, resolve), "VUID-vkCmdResolveImage-srcImage-00257"},
		{Resolve(four, four, resolve), "VUID-vkCmdResolveImage-dstImage-00259"},
		{Resolve(one, short(four), resolve), "VUID-vkCmdResolveImage-srcImage-00256"},
		{Resolve(short(one), four, resolve), "VUID-vkCmdResolveImage-dstImage-00258"},
	} {
		if vk.VUIDOf(c.err).String() != c.vuid || !bytes.Equal(m.all, before.all) || !bytes.Equal(m4.all, before4.all) {
			t.Errorf("%v (%s), want %s and nothing written", c.err, vk.VUIDOf(c.err), c.vuid)
		}
	}
}

// TestCopyAndClearSamples: a copy moves all samples of its texels, a clear writes all.
func TestCopyAndClearSamples(t *testing.T) {
	for _, format := range []vk.Format{vk.FORMAT_R8_UINT, vk.FORMAT_R8G8B8A8_UNORM, vk.FORMAT_D24_UNORM_S8_UINT} {
		s := shape{format, vk.IMAGE_TYPE_2D, [3]uint32{13, 9, 1}, 1, 2}
		src, _ := s.multisampled(t, 1)
		dst, got := s.multisampled(t, 2)
		want := got.clone()
		layers := vk.ImageSubresourceLayers{AspectMask: src.Layout.Format.Aspects(), LayerCount: 2}
		region := vk.ImageCopy{SrcSubresource: layers, DstSubresource: layers,
			SrcOffset: vk.Offset3D{X: 3, Y: 1}, DstOffset: vk.Offset3D{X: 2, Y: 4},
			Extent: vk.Extent3D{Width: 7, Height: 5, Depth: 1}}
		wide := region // as of an image with rows four times as long
		wide.SrcOffset.X, wide.DstOffset.X, wide.Extent.Width = 12, 8, 28
		referenceImageCopy(dst.on(want), src, &wide)
		if err := CopyImage(dst, src, []vk.ImageCopy{region}); err != nil || !bytes.Equal(got.all, want.all) {
			t.Errorf("%v: copy: %v", format, err)
		}
		value, expected := floatColor(0, 0, 0, 0), make([]byte, 8)
		cleared := vk.ImageSubresourceRange{AspectMask: src.Layout.Format.Aspects(), LevelCount: 1, BaseArrayLayer: 1,
			LayerCount: 1}
		var err error
		if cleared.AspectMask == vk.IMAGE_ASPECT_COLOR_BIT {
			err = ClearColor(dst, value, []vk.ImageSubresourceRange{cleared})
		} else {
			err = ClearDepthStencil(dst, new(vk.ClearDepthStencilValue), []vk.ImageSubresourceRange{cleared})
		}
		if err != nil {
			t.Errorf("%v: clear: %v", format, err)
		}
		checkCleared(t, &guarded{*dst, got.all}, want.all, func(aspect vk.ImageAspectFlags, _, layer uint32) []byte {
			if layer == 1 {
				return expected[:blockSize(dst, aspect)]
			}
			return nil
		})
	}
}
