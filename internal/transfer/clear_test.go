package transfer

import (
	"bytes"
	"math"
	"slices"
	"testing"

	"farside/internal/texel"
	"farside/internal/vk"
)

// guarded is an image and all its memory, which goes on beyond it on both sides.
type guarded struct {
	Image
	all []byte
}

// newGuarded makes an image of noise.
func newGuarded(t testing.TB, f vk.Format, imageType vk.ImageType, extent [3]uint32, levels, layers uint32) *guarded {
	t.Helper()
	img, m := shape{f, imageType, extent, levels, layers}.image(t, uint64(f)^uint64(extent[0])<<3)
	return &guarded{*img, m.all}
}

// texels calls visit with the bytes of each texel of a subresource.
func (m *Image) texels(aspect vk.ImageAspectFlags, level, layer uint32, visit func(x, y, z int, b []byte)) {
	s, ok := m.Layout.Subresource(aspect, level, layer)
	if !ok {
		panic("no such subresource")
	}
	size := blockSize(m, aspect)
	for z := range int(s.Slices) {
		for y := range int(s.Rows) {
			row := m.Bytes[int(s.Offset)+z*int(s.DepthPitch)+y*int(s.RowPitch):][:s.RowBytes]
			for x := range len(row) / size {
				visit(x, y, z, row[x*size:][:size:size])
			}
		}
	}
}

// checkCleared holds the memory to what it was, with want in every texel of the subresources for which in answers.
func checkCleared(t *testing.T, m *guarded, before []byte,
	in func(aspect vk.ImageAspectFlags, level, layer uint32) []byte) {
	t.Helper()
	expected := &Image{Bytes: before[guard:], Layout: m.Layout, Format: m.Format, Type: m.Type}
	for _, p := range m.Layout.Format.Planes[:m.Layout.Format.PlaneCount] {
		for layer := range m.Layout.Layers {
			for level := range m.Layout.Levels {
				if want := in(p.Aspect, level, layer); want != nil {
					expected.texels(p.Aspect, level, layer, func(_, _, _ int, b []byte) { copy(b, want) })
				}
			}
		}
	}
	if !bytes.Equal(before, m.all) {
		for i := range before {
			if before[i] != m.all[i] {
				t.Fatalf("%v: byte %d of %d is %#x, want %#x", m.Format, i-guard, len(m.Bytes), m.all[i], before[i])
			}
		}
	}
}

func floatColor(r, g, b, a float32) *vk.ClearColorValue {
	var v vk.ClearColorValue
	*v.Float32() = [4]float32{r, g, b, a}
	return &v
}

func TestClearColor(t *testing.T) {
	var negative, large vk.ClearColorValue
	*negative.Int32() = [4]int32{-1, -200, 5, 1 << 30}
	*large.Uint32() = [4]uint32{1, 300, 5, math.MaxUint32}
	wide := vk.ClearColorValue{}
	*wide.Uint32() = [4]uint32{0x04030201, 0x88070605, 0x0c0b0a09, 0x100f0e0d}
	words := []byte{1, 2, 3, 4, 5, 6, 7, 0x88, 9, 10, 11, 12, 13, 14, 15, 16}
	for _, test := range []struct {
		format vk.Format
		value  *vk.ClearColorValue
		want   []byte
	}{
		{vk.FORMAT_R8_UNORM, floatColor(0.2, 0, 0, 0), []byte{51}},
		{vk.FORMAT_R8G8_UNORM, floatColor(0.2, 1, 0, 0), []byte{51, 255}},
		{vk.FORMAT_B8G8R8_UNORM, floatColor(0.2, 1, 0.4, 0), []byte{102, 255, 51}},
		{vk.FORMAT_R8G8B8A8_UNORM, floatColor(0.2, 1, 0.4, 2), []byte{51, 255, 102, 255}},
		{vk.FORMAT_B8G8R8A8_SRGB, floatColor(1, 0.5, 0, 0.2), []byte{0, 188, 255, 51}},
		{vk.FORMAT_R5G6B5_UNORM_PACK16, floatColor(1, 0, 0, 0), []byte{0, 0xf8}},
		{vk.FORMAT_A2B10G10R10_UNORM_PACK32, floatColor(1, 0, 0, 1), []byte{0xff, 3, 0, 0xc0}},
		{vk.FORMAT_R16G16B16_SFLOAT, floatColor(1, -2, 0.5, 0), []byte{0, 0x3c, 0, 0xc0, 0, 0x38}},
		{vk.FORMAT_R16G16B16A16_UNORM, floatColor(0, 1, 0, 1), []byte{0, 0, 0xff, 0xff, 0, 0, 0xff, 0xff}},
		{vk.FORMAT_R32G32B32_SFLOAT, floatColor(1, 2, 0, 0), []byte{0, 0, 0x80, 0x3f, 0, 0, 0, 0x40, 0, 0, 0, 0}},
		{vk.FORMAT_R64_SFLOAT, floatColor(0, 1.875, 0, 0), []byte{0, 0, 0, 0, 0, 0, 0xf0, 0x3f}},
		{vk.FORMAT_R8G8B8A8_SINT, &negative, []byte{0xff, 0x80, 5, 0x7f}},
		{vk.FORMAT_R64_UINT, &wide, words[:8]},
		{vk.FORMAT_R64G64_SINT, &wide, words},
		{vk.FORMAT_R8G8B8A8_UINT, &large, []byte{1, 255, 5, 255}},
		{vk.FORMAT_R64G64B64_SFLOAT, &wide, slices.Concat(words, make([]byte, 8))},
		{vk.FORMAT_R64G64B64A64_UINT, &wide, slices.Concat(words, make([]byte, 16))},
	} {
		for _, r := range []vk.ImageSubresourceRange{
			{BaseMipLevel: 0, LevelCount: vk.REMAINING_MIP_LEVELS, BaseArrayLayer: 0, LayerCount: vk.REMAINING_ARRAY_LAYERS},
			{BaseMipLevel: 1, LevelCount: 2, BaseArrayLayer: 1, LayerCount: 1},
			{BaseMipLevel: 2, LevelCount: vk.REMAINING_MIP_LEVELS, BaseArrayLayer: 2, LayerCount: vk.REMAINING_ARRAY_LAYERS},
		} {
			r.AspectMask = vk.IMAGE_ASPECT_COLOR_BIT
			m := newGuarded(t, test.format, vk.IMAGE_TYPE_2D, [3]uint32{19, 9, 1}, 5, 3)
			before := bytes.Clone(m.all)
			if err := ClearColor(&m.Image, test.value, []vk.ImageSubresourceRange{r}); err != nil {
				t.Fatal(err)
			}
			checkCleared(t, m, before, func(_ vk.ImageAspectFlags, level, layer uint32) []byte {
				if level < r.BaseMipLevel || layer < r.BaseArrayLayer || level >= 3 && r.LevelCount == 2 || layer != 1 &&
					r.LayerCount == 1 {
					return nil
				}
				return test.want
			})
		}
	}
}

func TestClearLarge(t *testing.T) {
	whole := []vk.ImageSubresourceRange{{AspectMask: vk.IMAGE_ASPECT_COLOR_BIT, LevelCount: vk.REMAINING_MIP_LEVELS,
		LayerCount: 1}}
	for format, want := range map[vk.Format][]byte{
		vk.FORMAT_R8G8B8A8_UNORM: {255, 0, 0, 255},
		vk.FORMAT_R8G8B8_UNORM:   {255, 0, 0},
	} {
		m := newGuarded(t, format, vk.IMAGE_TYPE_3D, [3]uint32{129, 130, 65}, 3, 1)
		before := bytes.Clone(m.all)
		if err := ClearColor(&m.Image, floatColor(1, 0, 0, 1), whole); err != nil {
			t.Fatal(err)
		}
		checkCleared(t, m, before, func(vk.ImageAspectFlags, uint32, uint32) []byte { return want })
	}
}

// TestClearLeavesRowGaps: with an explicit pitch another image may lie between the rows.
func TestClearLeavesRowGaps(t *testing.T) {
	format, _ := texel.FormatOf(vk.FORMAT_R8G8B8A8_UNORM)
	layout, _ := texel.ModifierLayout(format, [3]uint32{5, 4, 1}, 2,
		[]vk.SubresourceLayout{{Offset: 12, RowPitch: 100, ArrayPitch: 1000}}, false)
	all := noise(9, int(layout.Size)+2*guard)
	m := &guarded{Image{Bytes: all[guard : guard+layout.Size], Layout: &layout, Format: vk.FORMAT_R8G8B8A8_UNORM,
		Type: vk.IMAGE_TYPE_2D}, all}
	before := bytes.Clone(all)
	whole := []vk.ImageSubresourceRange{{AspectMask: vk.IMAGE_ASPECT_COLOR_BIT, LevelCount: 1, LayerCount: 2}}
	if err := ClearColor(&m.Image, floatColor(1, 0, 0, 1), whole); err != nil {
		t.Fatal(err)
	}
	checkCleared(t, m, before, func(vk.ImageAspectFlags, uint32, uint32) []byte { return []byte{255, 0, 0, 255} })
}

func TestClearDepthStencil(t *testing.T) {
	const depth, stencil = vk.IMAGE_ASPECT_DEPTH_BIT, vk.IMAGE_ASPECT_STENCIL_BIT
	for format, half := range map[vk.Format][]byte{
		vk.FORMAT_D16_UNORM:           {0x00, 0x80},
		vk.FORMAT_X8_D24_UNORM_PACK32: {0x00, 0x00, 0x80, 0},
		vk.FORMAT_D32_SFLOAT:          {0, 0, 0, 0x3f},
		vk.FORMAT_S8_UINT:             nil,
		vk.FORMAT_D16_UNORM_S8_UINT:   {0x00, 0x80},
		vk.FORMAT_D24_UNORM_S8_UINT:   {0x00, 0x00, 0x80, 0},
		vk.FORMAT_D32_SFLOAT_S8_UINT:  {0, 0, 0, 0x3f},
	} {
		f, _ := texel.FormatOf(format)
		for _, aspects := range []vk.ImageAspectFlags{depth, stencil, depth | stencil} {
			if aspects&^f.Aspects() != 0 {
				continue
			}
			m := newGuarded(t, format, vk.IMAGE_TYPE_2D, [3]uint32{13, 7, 1}, 3, 2)
			before := bytes.Clone(m.all)
			err := ClearDepthStencil(&m.Image, &vk.ClearDepthStencilValue{Depth: 0.5, Stencil: 0xfff01},
				[]vk.ImageSubresourceRange{{AspectMask: aspects, BaseMipLevel: 1, LevelCount: vk.REMAINING_MIP_LEVELS,
					LayerCount: 2}})
			if err != nil {
				t.Fatal(err)
			}
			checkCleared(t, m, before, func(aspect vk.ImageAspectFlags, level, _ uint32) []byte {
				switch {
				case level == 0 || aspect&aspects == 0:
					return nil
				case aspect == stencil:
					return []byte{1}
				}
				return half
			})
		}
	}
}

func TestClearRefuses(t *testing.T) {
	const color, depth, stencil = vk.IMAGE_ASPECT_COLOR_BIT, vk.IMAGE_ASPECT_DEPTH_BIT, vk.IMAGE_ASPECT_STENCIL_BIT
	type ranges = vk.ImageSubresourceRange
	good := func(aspect vk.ImageAspectFlags) ranges {
		return ranges{AspectMask: aspect, LevelCount: 1, LayerCount: 1}
	}
	for _, test := range []struct {
		format vk.Format
		value  float32 // depth; clears color if negative
		r      ranges
		vuid   string
	}{
		{vk.FORMAT_BC1_RGB_UNORM_BLOCK, -1, good(color), "VUID-vkCmdClearColorImage-image-00007"},
		{vk.FORMAT_D16_UNORM, -1, good(color), "VUID-vkCmdClearColorImage-image-00007"},
		{vk.FORMAT_R8_UNORM, -1, good(depth), "VUID-vkCmdClearColorImage-aspectMask-02498"},
		{vk.FORMAT_R8_UNORM, -1, good(color | depth), "VUID-vkCmdClearColorImage-aspectMask-02498"},
		{vk.FORMAT_R8_UNORM, -1, good(vk.IMAGE_ASPECT_MEMORY_PLANE_0_BIT_EXT), "VUID-vkCmdClearColorImage-aspectMask-02498"},
		{vk.FORMAT_R8_UNORM, -1, ranges{AspectMask: color, BaseMipLevel: 2, LevelCount: 1, BaseArrayLayer: 0, LayerCount: 1},
			"VUID-vkCmdClearColorImage-baseMipLevel-01470"},
		{vk.FORMAT_R8_UNORM, -1, ranges{AspectMask: color, BaseMipLevel: 1, LevelCount: 2, BaseArrayLayer: 0, LayerCount: 1},
			"VUID-vkCmdClearColorImage-pRanges-01692"},
		{vk.FORMAT_R8_UNORM, -1, ranges{AspectMask: color, BaseMipLevel: 0, LevelCount: 1, BaseArrayLayer: 3, LayerCount: 1},
			"VUID-vkCmdClearColorImage-baseArrayLayer-01472"},
		{vk.FORMAT_R8_UNORM, -1, ranges{AspectMask: color, BaseMipLevel: 0, LevelCount: 1, BaseArrayLayer: 1, LayerCount: 3},
			"VUID-vkCmdClearColorImage-pRanges-01693"},
		{vk.FORMAT_R8_UNORM, -1, ranges{AspectMask: color, BaseMipLevel: 0, LevelCount: 1, BaseArrayLayer: 1,
			LayerCount: math.MaxUint32 - 1}, "VUID-vkCmdClearColorImage-pRanges-01693"},
		{vk.FORMAT_R8_UNORM, -1, ranges{AspectMask: color, BaseMipLevel: 0, LevelCount: 0, BaseArrayLayer: 0, LayerCount: 1},
			"VUID-VkImageSubresourceRange-levelCount-01720"},
		{vk.FORMAT_R8_UNORM, -1, ranges{AspectMask: color, BaseMipLevel: 0, LevelCount: 1, BaseArrayLayer: 0, LayerCount: 0},
			"VUID-VkImageSubresourceRange-layerCount-01721"},
		{vk.FORMAT_R8_UNORM, 0, good(color), "VUID-vkCmdClearDepthStencilImage-image-00014"},
		{vk.FORMAT_D16_UNORM, 1.5, good(depth), "VUID-VkClearDepthStencilValue-depth-00022"},
		{vk.FORMAT_D16_UNORM, float32(math.NaN()), good(depth), "VUID-VkClearDepthStencilValue-depth-00022"},
		{vk.FORMAT_D16_UNORM, 0, good(0), "VUID-VkImageSubresourceRange-aspectMask-requiredbitmask"},
		{vk.FORMAT_D16_UNORM, 0, good(color | depth), "VUID-vkCmdClearDepthStencilImage-aspectMask-02824"},
		{vk.FORMAT_D16_UNORM, 0, good(depth | stencil), "VUID-vkCmdClearDepthStencilImage-image-02825"},
		{vk.FORMAT_S8_UINT, 0, good(depth), "VUID-vkCmdClearDepthStencilImage-image-02826"},
		{vk.FORMAT_D16_UNORM, 0, ranges{AspectMask: depth, BaseMipLevel: 2, LevelCount: 1, BaseArrayLayer: 0, LayerCount: 1},
			"VUID-vkCmdClearDepthStencilImage-baseMipLevel-01474"},
		{vk.FORMAT_D16_UNORM, 0, ranges{AspectMask: depth, BaseMipLevel: 1, LevelCount: 2, BaseArrayLayer: 0, LayerCount: 1},
			"VUID-vkCmdClearDepthStencilImage-pRanges-01694"},
		{vk.FORMAT_D16_UNORM, 0, ranges{AspectMask: depth, BaseMipLevel: 0, LevelCount: 1, BaseArrayLayer: 3, LayerCount: 1},
			"VUID-vkCmdClearDepthStencilImage-baseArrayLayer-01476"},
		{vk.FORMAT_D16_UNORM, 0, ranges{AspectMask: depth, BaseMipLevel: 0, LevelCount: 1, BaseArrayLayer: 1, LayerCount: 3},
			"VUID-vkCmdClearDepthStencilImage-pRanges-01695"},
	} {
		m := newGuarded(t, test.format, vk.IMAGE_TYPE_2D, [3]uint32{8, 8, 1}, 2, 3)
		before := bytes.Clone(m.all)
		both := []ranges{good(m.Layout.Format.Planes[0].Aspect), test.r} // the first must not be cleared either
		var err error
		if test.value < 0 {
			err = ClearColor(&m.Image, floatColor(1, 1, 1, 1), both)
		} else {
			err = ClearDepthStencil(&m.Image, &vk.ClearDepthStencilValue{Depth: test.value}, both)
		}
		if vk.VUIDOf(err).String() != test.vuid || !bytes.Equal(m.all, before) {
			t.Errorf("%v, %+v: %v (%s), want %s and nothing written", test.format, test.r, err, vk.VUIDOf(err).String(),
				test.vuid)
		}
	}
	m := newGuarded(t, vk.FORMAT_R8_UNORM, vk.IMAGE_TYPE_2D, [3]uint32{64, 64, 1}, 1, 1)
	m.Bytes = m.Bytes[: len(m.Bytes)-1 : len(m.Bytes)-1]
	before := bytes.Clone(m.all)
	if err := ClearColor(&m.Image, floatColor(1, 1, 1, 1),
		[]ranges{good(color)}); vk.VUIDOf(err).String() != "VUID-vkCmdClearColorImage-image-00003" ||
		!bytes.Equal(m.all, before) {
		t.Errorf("an image larger than its memory: %v", err)
	}
}

func BenchmarkClearColor(b *testing.B) {
	for _, format := range []vk.Format{vk.FORMAT_R8G8B8A8_UNORM, vk.FORMAT_R16G16B16A16_SFLOAT} {
		m := newGuarded(b, format, vk.IMAGE_TYPE_2D, [3]uint32{2048, 2048, 1}, 1, 1)
		whole := []vk.ImageSubresourceRange{{AspectMask: vk.IMAGE_ASPECT_COLOR_BIT, LevelCount: 1, LayerCount: 1}}
		b.Run(format.String(), func(b *testing.B) {
			b.SetBytes(int64(len(m.Bytes)))
			for b.Loop() {
				if err := ClearColor(&m.Image, floatColor(1, 0, 1, 0), whole); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
