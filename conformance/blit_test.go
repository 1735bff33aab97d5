package conformance

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"

	"farside/conformance/reference"
	"farside/conformance/vulkan"
	"farside/internal/vk"
)

// need ends the case as unsupported unless images of a format can do what is asked.
func (c *Case) need(f vk.Format, tiling vk.ImageTiling, features vk.FormatFeatureFlags) {
	p := vulkan.New[vk.FormatProperties](&c.a)
	c.inst.Call("vkGetPhysicalDeviceFormatProperties", uintptr(c.pd), uintptr(f), ptr(p))
	have := p.OptimalTilingFeatures
	if tiling == vk.IMAGE_TILING_LINEAR {
		have = p.LinearTilingFeatures
	}
	if have&features != features {
		c.Unsupported(fmt.Sprintf("%v lacks %v", f, features&^have))
	}
}

// blitBox is a box of a blit, in texels; the second corner may lie before the first.
type blitBox [2][3]int32

func (b blitBox) offsets() [2]vk.Offset3D {
	return [2]vk.Offset3D{{X: b[0][0], Y: b[0][1], Z: b[0][2]}, {X: b[1][0], Y: b[1][1], Z: b[1][2]}}
}

// blitTest is one blit between two images.
type blitTest struct {
	from, to shape
	filter   vk.Filter
	boxes    [][2]blitBox // source and target
	aspects  vk.ImageAspectFlags
	level    [2]uint32 // of source and target
	layer    [2]uint32
	layers   uint32
	steps    float64
	loose    float64
	copy2    bool
}

func (t blitTest) run(c *Case) {
	srcNeeds := vk.FormatFeatureFlags(vk.FORMAT_FEATURE_BLIT_SRC_BIT)
	if t.filter == vk.FILTER_LINEAR {
		srcNeeds |= vk.FORMAT_FEATURE_SAMPLED_IMAGE_FILTER_LINEAR_BIT
	}
	c.need(t.from.format, t.from.tiling, srcNeeds)
	c.need(t.to.format, t.to.tiling, vk.FORMAT_FEATURE_BLIT_DST_BIT)
	m := c.mirror(uint64(t.from.format)*1000 + uint64(t.to.format))
	m.copy2 = t.copy2
	t.from.values, t.to.values = true, true
	src, dst := m.image(t.from), m.image(t.to)
	dst.steps, dst.loose = t.steps, t.loose
	layers := func(i int) vk.ImageSubresourceLayers {
		return vk.ImageSubresourceLayers{AspectMask: t.aspects, MipLevel: t.level[i], BaseArrayLayer: t.layer[i],
			LayerCount: t.layers}
	}
	var regions []vk.ImageBlit
	for _, b := range t.boxes {
		regions = append(regions, vk.ImageBlit{SrcSubresource: layers(0), SrcOffsets: b[0].offsets(),
			DstSubresource: layers(1), DstOffsets: b[1].offsets()})
	}
	m.blit(dst, src, t.filter, regions...)
	m.check()
}

// plane is an image of one level and layer.
func plane(f vk.Format, width, height uint32) shape {
	return shape{dimensions: vk.IMAGE_TYPE_2D, format: f, extent: [3]uint32{width, height, 1}, levels: 1, layers: 1}
}

// rect is a box of one slice, from its first corner to its second.
func rect(x0, y0, x1, y1 int32) blitBox { return blitBox{{x0, y0, 0}, {x1, y1, 1}} }

func blitCases() []definition {
	const rgba8, nearest, linear = vk.FORMAT_R8G8B8A8_UNORM, vk.FILTER_NEAREST, vk.FILTER_LINEAR
	var cases []definition
	// Blits need a graphics queue, which not every driver's family 0 is: the cases are not valid everywhere.
	row := func(name string, tests ...blitTest) {
		cases = append(cases, definition{name: "api.copy_and_blit.core.blit_image." + name, run: func(c *Case) {
			for _, t := range tests {
				t.layers = max(t.layers, 1)
				if t.aspects == 0 {
					t.aspects = color
				}
				t.run(c)
			}
		}})
	}
	// The scales are such that no texel's centre falls between two texels of the source: either might be taken.
	whole := rect(0, 0, 30, 21)
	boxes := map[string][][2]blitBox{
		"same":           {{whole, rect(7, 5, 37, 26)}},
		"part":           {{rect(3, 4, 13, 9), rect(20, 10, 30, 15)}, {rect(0, 0, 5, 5), rect(0, 30, 5, 35)}},
		"flip_x":         {{whole, rect(30, 0, 0, 21)}},
		"flip_y":         {{rect(0, 21, 30, 0), rect(1, 1, 31, 22)}},
		"flip_xy":        {{rect(30, 21, 0, 0), rect(40, 40, 10, 61)}},
		"flip_both":      {{rect(30, 21, 0, 0), rect(40, 40, 10, 19)}},
		"up_3":           {{rect(2, 1, 22, 21), rect(3, 2, 63, 62)}},
		"up_2_flip":      {{rect(2, 1, 22, 21), rect(43, 2, 3, 42)}},
		"down_3":         {{whole, rect(11, 12, 21, 19)}},
		"up_x_down_y":    {{rect(0, 0, 10, 21), rect(50, 60, 0, 53)}},
		"one_texel":      {{rect(9, 9, 10, 10), rect(0, 0, 64, 64)}},
		"to_one_texel":   {{rect(1, 2, 12, 9), rect(63, 63, 64, 64)}},
		"uneven_5_to_7":  {{rect(0, 0, 5, 10), rect(2, 2, 9, 16)}},
		"uneven_21_to_8": {{rect(0, 0, 21, 21), rect(2, 2, 10, 10)}},
	}
	for _, name := range slices.Sorted(maps.Keys(boxes)) {
		b := boxes[name]
		if name != "uneven_21_to_8" { // 21/8 · 4.5 lies between two texels
			row("nearest."+name, blitTest{from: plane(rgba8, 30, 21), to: plane(rgba8, 64, 64), boxes: b})
		}
		// Filters may weigh with eight bits.
		row("linear."+name, blitTest{from: plane(rgba8, 30, 21), to: plane(rgba8, 64, 64), boxes: b, filter: linear,
			steps: 2.5})
	}
	row("tilings",
		blitTest{from: plane(rgba8, 30, 21).linear(), to: plane(rgba8, 64, 64), boxes: boxes["up_3"]},
		blitTest{from: plane(rgba8, 30, 21), to: plane(rgba8, 64, 64).linear(), boxes: boxes["up_2_flip"]})
	cases = append(cases, definition{name: "api.copy_and_blit.copy_commands2.blit_image", extensions: copy2,
		run: func(c *Case) {
			blitTest{from: plane(rgba8, 30, 21), to: plane(rgba8, 64, 64), boxes: boxes["up_2_flip"], aspects: color, layers: 1,
				copy2: true}.run(c)
			blitTest{from: plane(rgba8, 30, 21), to: plane(vk.FORMAT_B8G8R8A8_UNORM, 64, 64), boxes: boxes["part"],
				aspects: color, layers: 1,
				filter: linear, steps: 2.5, copy2: true}.run(c)
		}})
	for _, p := range [][2]vk.Format{
		{rgba8, vk.FORMAT_B8G8R8A8_UNORM}, {rgba8, vk.FORMAT_R8_UNORM}, {vk.FORMAT_R8_UNORM, rgba8},
		{vk.FORMAT_R8G8_UNORM, vk.FORMAT_R16G16B16A16_SFLOAT},
		{rgba8, vk.FORMAT_R5G6B5_UNORM_PACK16}, {vk.FORMAT_R5G6B5_UNORM_PACK16, rgba8}, {rgba8, vk.FORMAT_R8G8B8A8_SRGB},
		{vk.FORMAT_R8G8B8A8_SRGB, rgba8}, {vk.FORMAT_B8G8R8A8_SRGB, vk.FORMAT_R32G32B32A32_SFLOAT},
		{vk.FORMAT_R32G32B32A32_SFLOAT, rgba8},
		{vk.FORMAT_R16G16B16A16_UNORM, vk.FORMAT_A2B10G10R10_UNORM_PACK32},
		{vk.FORMAT_R16G16B16A16_SFLOAT, vk.FORMAT_B10G11R11_UFLOAT_PACK32},
		{vk.FORMAT_B10G11R11_UFLOAT_PACK32, vk.FORMAT_R16G16B16A16_SNORM},
		{vk.FORMAT_R8G8B8A8_SNORM, vk.FORMAT_R32G32_SFLOAT},
		{vk.FORMAT_R16_UNORM, vk.FORMAT_R32_SFLOAT}, {vk.FORMAT_R4G4B4A4_UNORM_PACK16, vk.FORMAT_A1R5G5B5_UNORM_PACK16},
		{vk.FORMAT_R8G8B8A8_UINT, vk.FORMAT_R32G32B32A32_UINT},
		{vk.FORMAT_R32G32B32A32_UINT, vk.FORMAT_A2B10G10R10_UINT_PACK32},
		{vk.FORMAT_R16G16_SINT, vk.FORMAT_R8G8B8A8_SINT}, {vk.FORMAT_R32_SINT, vk.FORMAT_R16_SINT},
		{vk.FORMAT_R64G64_UINT, vk.FORMAT_R16G16_UINT},
		{vk.FORMAT_R64_SFLOAT, vk.FORMAT_R32_SFLOAT},
	} {
		steps := 1.01
		if p == [2]vk.Format{vk.FORMAT_B8G8R8A8_SRGB, vk.FORMAT_R32G32B32A32_SFLOAT} {
			steps = 20 // drivers may approximate the sRGB curve; this is an eighth of a step of eight bits
		}
		row("format."+caseName(p[0])+"_"+caseName(p[1]),
			blitTest{from: plane(p[0], 30, 21), to: plane(p[1], 64, 64), boxes: boxes["up_2_flip"], steps: steps})
	}
	for _, f := range []vk.Format{vk.FORMAT_D16_UNORM, vk.FORMAT_D32_SFLOAT, vk.FORMAT_S8_UINT,
		vk.FORMAT_D24_UNORM_S8_UINT, vk.FORMAT_D32_SFLOAT_S8_UINT} {
		var tests []blitTest
		for _, aspect := range reference.NewImage(vk.IMAGE_TYPE_1D, f, [3]uint32{1, 1, 1}, 1, 1).Aspects() {
			// Values may pass through 32-bit floats, so 24 bits may be off by one.
			tests = append(tests, blitTest{from: plane(f, 30, 21), to: plane(f, 64, 64), boxes: boxes["up_3"], aspects: aspect,
				steps: 1})
		}
		row("depth_stencil."+caseName(f), tests...)
	}
	array := shape{dimensions: vk.IMAGE_TYPE_2D, format: rgba8, extent: [3]uint32{30, 21, 1}, levels: 3, layers: 4}
	target := array
	target.extent = [3]uint32{64, 64, 1}
	row("layers_and_levels",
		blitTest{from: array, to: target, boxes: boxes["up_2_flip"], layer: [2]uint32{1, 0}, layers: 3},
		blitTest{from: array, to: target, boxes: [][2]blitBox{{rect(0, 0, 7, 5), rect(0, 0, 21, 15)}}, level: [2]uint32{2, 1},
			layer: [2]uint32{2, 3}})
	line := shape{dimensions: vk.IMAGE_TYPE_1D, format: rgba8, extent: [3]uint32{30, 1, 1}, levels: 1, layers: 2}
	row("1d", blitTest{from: line, to: line, boxes: [][2]blitBox{{rect(2, 0, 9, 1), rect(28, 0, 7, 1)}}, layers: 2},
		blitTest{from: line, to: line, boxes: [][2]blitBox{{rect(2, 0, 9, 1), rect(28, 0, 7, 1)}}, layers: 2, filter: linear,
			steps: 2.5})
	volume := shape{dimensions: vk.IMAGE_TYPE_3D, format: rgba8, extent: [3]uint32{10, 9, 6}, levels: 1, layers: 1}
	large := volume
	large.extent = [3]uint32{30, 27, 18}
	deep := func(from, to blitBox, f vk.Filter, steps float64) blitTest {
		return blitTest{from: volume, to: large, boxes: [][2]blitBox{{from, to}}, filter: f, steps: steps}
	}
	all := blitBox{{0, 0, 0}, {10, 9, 6}}
	row("3d.nearest", deep(all, blitBox{{0, 0, 0}, {30, 27, 18}}, nearest, 0),
		deep(all, blitBox{{1, 2, 16}, {11, 11, 4}}, nearest, 0),
		deep(blitBox{{1, 1, 1}, {8, 8, 4}}, blitBox{{20, 1, 2}, {13, 8, 11}}, nearest, 0))
	row("3d.linear", deep(all, blitBox{{0, 0, 0}, {30, 27, 18}}, linear, 3),
		deep(all, blitBox{{30, 0, 18}, {0, 18, 0}}, linear, 3))
	cases = append(cases, definition{name: "api.copy_and_blit.core.blit_image.generate_mipmaps", run: func(c *Case) {
		c.need(rgba8, vk.IMAGE_TILING_OPTIMAL,
			vk.FORMAT_FEATURE_BLIT_SRC_BIT|vk.FORMAT_FEATURE_BLIT_DST_BIT|vk.FORMAT_FEATURE_SAMPLED_IMAGE_FILTER_LINEAR_BIT)
		m := c.mirror(9)
		i := m.image(shape{dimensions: vk.IMAGE_TYPE_2D, format: rgba8, extent: [3]uint32{64, 32, 1}, levels: 7, layers: 2,
			values: true})
		i.steps = 7 // each level adds to the error of the one before
		for level := range uint32(6) {
			from, to := i.want.LevelExtent(level), i.want.LevelExtent(level+1)
			m.blit(i, i, linear, vk.ImageBlit{
				SrcSubresource: vk.ImageSubresourceLayers{AspectMask: color, MipLevel: level, LayerCount: 2},
				SrcOffsets:     rect(0, 0, int32(from[0]), int32(from[1])).offsets(),
				DstSubresource: vk.ImageSubresourceLayers{AspectMask: color, MipLevel: level + 1, LayerCount: 2},
				DstOffsets:     rect(0, 0, int32(to[0]), int32(to[1])).offsets(),
			})
		}
		m.check()
	}})
	return cases
}

func (s shape) linear() shape {
	s.tiling = vk.IMAGE_TILING_LINEAR
	return s
}

// clearFormats are colour formats of every kind of number.
var clearFormats = []vk.Format{
	vk.FORMAT_R8_UNORM, vk.FORMAT_R8G8B8A8_UNORM, vk.FORMAT_B8G8R8A8_UNORM, vk.FORMAT_R8G8B8A8_SRGB, vk.FORMAT_R8G8_SNORM,
	vk.FORMAT_R5G6B5_UNORM_PACK16, vk.FORMAT_B4G4R4A4_UNORM_PACK16, vk.FORMAT_A2B10G10R10_UNORM_PACK32,
	vk.FORMAT_A2B10G10R10_UINT_PACK32,
	vk.FORMAT_R8G8B8_UNORM, vk.FORMAT_R16G16B16A16_SFLOAT, vk.FORMAT_R16G16B16A16_SINT, vk.FORMAT_R32_UINT,
	vk.FORMAT_R32G32B32_SFLOAT,
	vk.FORMAT_R32G32B32A32_SINT, vk.FORMAT_R32G32B32A32_SFLOAT, vk.FORMAT_B10G11R11_UFLOAT_PACK32, vk.FORMAT_R64_SFLOAT,
	vk.FORMAT_R64G64_UINT,
	vk.FORMAT_R64_SINT,
}

func clearCases() []definition {
	const left = vk.REMAINING_MIP_LEVELS // and VK_REMAINING_ARRAY_LAYERS
	ranges := func(aspects vk.ImageAspectFlags) []vk.ImageSubresourceRange {
		return []vk.ImageSubresourceRange{
			{AspectMask: aspects, BaseMipLevel: 1, LevelCount: 1, BaseArrayLayer: 1, LayerCount: 2},
			{AspectMask: aspects, LevelCount: 1, BaseArrayLayer: 2, LayerCount: left},
			{AspectMask: aspects, BaseMipLevel: 2, LevelCount: left, LayerCount: 1},
		}
	}
	shapesOf := func(c *Case, f vk.Format) []shape {
		var s []shape
		for _, one := range c.shapes(f) {
			one.values = true
			s = append(s, one)
		}
		return s
	}
	var cases []definition
	for _, f := range clearFormats {
		cases = append(cases, definition{name: "api.image_clearing.core.clear_color_image." + caseName(f), valid: true,
			run: func(c *Case) {
				rng := rand.New(rand.NewPCG(uint64(f), 3))
				for _, s := range shapesOf(c, f) {
					m := c.mirror(uint64(f))
					i := m.image(s)
					i.steps = 1.01
					value := func() reference.Texel {
						var t reference.Texel
						for n := range t.F {
							t.F[n], t.I[n] = float64(float32(rng.Float64())), int64(rng.Uint32N(100))
							if numbersOf64(f) {
								t.F[n], t.I[n] = rng.Float64(), rng.Int64()
							}
						}
						return t
					}
					m.clearColor(i, value(), vk.ImageSubresourceRange{AspectMask: color, LevelCount: 1, LayerCount: 1})
					if s.levels > 2 && s.layers > 2 {
						m.clearColor(i, value(), ranges(color)...)
					}
					if s.levels > 1 {
						m.clearColor(i, value(), vk.ImageSubresourceRange{AspectMask: color, BaseMipLevel: s.levels - 1, LevelCount: left,
							LayerCount: left})
					}
					m.check()
					m = c.mirror(uint64(f) + 1)
					i = m.image(s)
					i.steps = 1.01
					m.clearColor(i, value(), vk.ImageSubresourceRange{AspectMask: color, LevelCount: left, LayerCount: left})
					m.check()
				}
			}})
	}
	cases = append(cases, definition{name: "api.image_clearing.core.clear_color_image.out_of_range", run: func(c *Case) {
		for _, f := range []vk.Format{vk.FORMAT_R8G8B8A8_UNORM, vk.FORMAT_R8G8B8A8_SNORM, vk.FORMAT_R16G16B16A16_UNORM} {
			m := c.mirror(uint64(f))
			i := m.image(plane(f, 9, 9))
			m.clearColor(i, reference.Texel{F: [4]float64{-3, 2, 1e20, -1}},
				vk.ImageSubresourceRange{AspectMask: color, LevelCount: 1, LayerCount: 1})
			m.check()
		}
	}})
	for _, f := range []vk.Format{vk.FORMAT_D16_UNORM, vk.FORMAT_X8_D24_UNORM_PACK32, vk.FORMAT_D32_SFLOAT,
		vk.FORMAT_S8_UINT,
		vk.FORMAT_D16_UNORM_S8_UINT, vk.FORMAT_D24_UNORM_S8_UINT, vk.FORMAT_D32_SFLOAT_S8_UINT} {
		cases = append(cases, definition{name: "api.image_clearing.core.clear_depth_stencil_image." + caseName(f),
			run: func(c *Case) {
				for _, s := range shapesOf(c, f) {
					m := c.mirror(uint64(f))
					i := m.image(s)
					i.steps = 1.01
					for n, aspects := range append(i.want.Aspects(), i.aspects()) {
						d, st := 0.25+float32(n)/8, uint32(17*n+5)
						m.clearDepthStencil(i, d, st, vk.ImageSubresourceRange{AspectMask: aspects, LevelCount: 1, LayerCount: 1})
						if s.levels > 2 && s.layers > 2 {
							m.clearDepthStencil(i, 1-d, st+100, ranges(aspects)...)
						}
						m.clearDepthStencil(i, d*d, st, vk.ImageSubresourceRange{AspectMask: aspects, BaseMipLevel: s.levels - 1,
							LevelCount: left, LayerCount: left})
					}
					m.check()
				}
			}})
	}
	return cases
}
