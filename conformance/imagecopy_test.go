package conformance

import (
	"slices"
	"strings"

	"farside/conformance/reference"
	"farside/internal/vk"
)

const (
	color   = vk.ImageAspectFlags(vk.IMAGE_ASPECT_COLOR_BIT)
	depth   = vk.ImageAspectFlags(vk.IMAGE_ASPECT_DEPTH_BIT)
	stencil = vk.ImageAspectFlags(vk.IMAGE_ASPECT_STENCIL_BIT)
)

// copyFormats are formats of every block size, of every kind of compression, and those of depth and stencil.
var copyFormats = []vk.Format{
	vk.FORMAT_R8_UNORM, vk.FORMAT_R5G6B5_UNORM_PACK16, vk.FORMAT_R8G8B8_UNORM, vk.FORMAT_R8G8B8A8_UNORM,
	vk.FORMAT_A2B10G10R10_UINT_PACK32, vk.FORMAT_E5B9G9R9_UFLOAT_PACK32, vk.FORMAT_R16G16B16_SFLOAT,
	vk.FORMAT_R32G32_SINT, vk.FORMAT_R32G32B32_SFLOAT, vk.FORMAT_R32G32B32A32_UINT, vk.FORMAT_R64_UINT,
	vk.FORMAT_R64G64B64_SFLOAT, vk.FORMAT_R64G64B64A64_SINT,
	vk.FORMAT_BC1_RGB_UNORM_BLOCK, vk.FORMAT_BC3_SRGB_BLOCK, vk.FORMAT_BC7_UNORM_BLOCK,
	vk.FORMAT_ETC2_R8G8B8_UNORM_BLOCK, vk.FORMAT_EAC_R11G11_UNORM_BLOCK,
	vk.FORMAT_ASTC_4x4_UNORM_BLOCK, vk.FORMAT_ASTC_5x4_SRGB_BLOCK, vk.FORMAT_ASTC_12x10_UNORM_BLOCK,
	vk.FORMAT_D16_UNORM, vk.FORMAT_X8_D24_UNORM_PACK32, vk.FORMAT_D32_SFLOAT, vk.FORMAT_S8_UINT,
	vk.FORMAT_D16_UNORM_S8_UINT, vk.FORMAT_D24_UNORM_S8_UINT, vk.FORMAT_D32_SFLOAT_S8_UINT,
}

// copy2 is the extension of the structures that can be extended.
var copy2 = []string{"VK_KHR_copy_commands2"}

// caseName is a format's name as the names of cases have it.
func caseName(f vk.Format) string {
	info, _ := vk.FormatInfo(f)
	return strings.ToLower(strings.TrimPrefix(info.Name.String(), "VK_FORMAT_"))
}

// depthStencil says whether a format is one of depth or stencil, into which only a graphics queue may copy
// (VUID-vkCmdCopyBufferToImage-commandBuffer-07739).
func depthStencil(f vk.Format) bool {
	return reference.NewImage(vk.IMAGE_TYPE_1D, f, [3]uint32{1, 1, 1}, 1, 1).Aspects()[0] != color
}

// linearShapes are images that the host sees too.
var linearShapes = []shape{
	{dimensions: vk.IMAGE_TYPE_2D, extent: [3]uint32{33, 18, 1}, levels: 1, layers: 1, tiling: vk.IMAGE_TILING_LINEAR},
	{dimensions: vk.IMAGE_TYPE_2D, extent: [3]uint32{33, 18, 1}, levels: 3, layers: 2, tiling: vk.IMAGE_TILING_LINEAR},
	{dimensions: vk.IMAGE_TYPE_3D, extent: [3]uint32{11, 6, 3}, levels: 1, layers: 1, tiling: vk.IMAGE_TILING_LINEAR},
}

// shapes are the images of a format that the tables run over, those that the driver has.
func (c *Case) shapes(f vk.Format) []shape {
	all := []shape{
		{dimensions: vk.IMAGE_TYPE_2D, extent: [3]uint32{64, 32, 1}, levels: 1, layers: 1},
		{dimensions: vk.IMAGE_TYPE_2D, extent: [3]uint32{37, 19, 1}, levels: 4, layers: 3},
		{dimensions: vk.IMAGE_TYPE_1D, extent: [3]uint32{41, 1, 1}, levels: 2, layers: 2},
		{dimensions: vk.IMAGE_TYPE_3D, extent: [3]uint32{13, 9, 5}, levels: 2, layers: 1},
		{dimensions: vk.IMAGE_TYPE_2D, extent: [3]uint32{16, 16, 1}, levels: 2, layers: 6,
			flags: vk.ImageCreateFlags(vk.IMAGE_CREATE_CUBE_COMPATIBLE_BIT)},
	}
	if !compressed(f) {
		all = append(all, linearShapes...)
	}
	return c.supported(f, all)
}

// compressedLinear are the other shapes of a compressed format. They are left to cases of their own, as the
// oldest supported validation layer takes rows of blocks for rows of texels there: its images are larger than
// they are, and commands seem to race with those on images behind them.
func (c *Case) compressedLinear(f vk.Format) []shape { return c.supported(f, linearShapes) }

func compressed(f vk.Format) bool {
	info, _ := vk.FormatInfo(f)
	return info.Compressed != 0
}

// supported are the shapes that the driver has in a format.
func (c *Case) supported(f vk.Format, all []shape) []shape {
	var s []shape
	for _, one := range all {
		one.format = f
		if c.supports(one) {
			s = append(s, one)
		}
	}
	if len(s) == 0 {
		c.Unsupported(f.String())
	}
	return s
}

// stridedRegions are regions of one subresource each, or of all layers of a level: the whole, a part up to
// the edge, blocks inside, with buffer rows and slices that are longer than need be. Their places in the
// buffer do not overlap; end is the first byte behind them.
func stridedRegions(i *reference.Image, aspect vk.ImageAspectFlags) (regions []vk.BufferImageCopy, end uint64) {
	size, block := uint64(i.BlockSize(aspect)), i.BlockExtent()
	step := 4 * size // a multiple of 4 and of the block, as every queue family allows it
	end = 3 * step
	add := func(level, layer, layers uint32, from, to [3]uint32, moreRow, moreHeight uint32) {
		r := vk.BufferImageCopy{
			BufferOffset: end,
			ImageSubresource: vk.ImageSubresourceLayers{AspectMask: aspect, MipLevel: level, BaseArrayLayer: layer,
				LayerCount: layers},
			ImageOffset: vk.Offset3D{X: int32(from[0]), Y: int32(from[1]), Z: int32(from[2])},
			ImageExtent: vk.Extent3D{Width: to[0] - from[0], Height: to[1] - from[1], Depth: to[2] - from[2]},
		}
		row, height := (r.ImageExtent.Width+block[0]-1)/block[0]+moreRow,
			(r.ImageExtent.Height+block[1]-1)/block[1]+moreHeight
		if moreRow != 0 {
			r.BufferRowLength = row * block[0]
		}
		if moreHeight != 0 {
			r.BufferImageHeight = height * block[1]
		}
		n := uint64(row) * uint64(height) * uint64(max(r.ImageExtent.Depth, layers)) * size
		end += (n + step - 1) / step * step
		regions = append(regions, r)
	}
	for level := range i.Levels {
		e, n, last := i.LevelExtent(level), i.Blocks(level), i.Layers-1
		add(level, 0, i.Layers, [3]uint32{}, e, 0, 0)
		add(level, 0, i.Layers, [3]uint32{}, e, 3, 2)
		add(level, last, 1, [3]uint32{}, e, 1, 0)
		add(level, 0, 1, [3]uint32{}, e, 0, 1)
		from := [3]uint32{n[0] / 2 * block[0], n[1] / 2 * block[1], n[2] / 2}
		add(level, last, 1, from, e, 5, 0)
		add(level, 0, i.Layers, from, e, 0, 3)
		if n[0] > 2 {
			from[2] = 0
			to := [3]uint32{(n[0] - 1) * block[0], min(from[1]+block[1], e[1]), e[2]}
			add(level, last, 1, [3]uint32{block[0], from[1], 0}, to, 2, 2)
		}
	}
	return regions, end
}

// bufferImage runs all strided regions both ways, one region a command and then those of image to buffer in
// one command.
func bufferImage(c *Case, s shape, copy2 bool) {
	m := c.mirror(uint64(s.format) + uint64(s.levels))
	m.copy2 = copy2
	i := m.image(s)
	for _, aspect := range i.want.Aspects() {
		regions, end := stridedRegions(i.want, aspect)
		in, out, all := m.buffer(int(end)), m.buffer(int(end)), m.buffer(int(end))
		for _, r := range regions {
			m.bufferToImage(i, in, r)
			m.imageToBuffer(out, i, r)
		}
		m.imageToBuffer(all, i, regions...)
		m.bufferToImage(i, in, disjoint(regions)...)
	}
	m.check()
}

// disjoint keeps one region of each level, since a command must not write a texel twice.
func disjoint(regions []vk.BufferImageCopy) []vk.BufferImageCopy {
	var keep []vk.BufferImageCopy
	for _, r := range regions {
		if !slices.ContainsFunc(keep,
			func(k vk.BufferImageCopy) bool { return k.ImageSubresource.MipLevel == r.ImageSubresource.MipLevel }) {
			keep = append(keep, r)
		}
	}
	return keep
}

func imageCopyCases() []definition {
	var cases []definition
	for _, f := range copyFormats {
		cases = append(cases, definition{name: "api.copy_and_blit.core.buffer_image." + caseName(f), valid: !depthStencil(f),
			run: func(c *Case) {
				for _, s := range c.shapes(f) {
					bufferImage(c, s, false)
				}
			}}, definition{name: "api.copy_and_blit.core.image_to_image.same_format." + caseName(f), valid: !depthStencil(f),
			run: func(c *Case) {
				for _, s := range c.shapes(f) {
					imageImage(c, s, s, false)
				}
			}})
	}
	for _, f := range copyFormats {
		if compressed(f) {
			cases = append(cases, definition{name: "api.copy_and_blit.core.compressed_linear." + caseName(f),
				run: func(c *Case) {
					for _, s := range c.compressedLinear(f) {
						bufferImage(c, s, false)
						imageImage(c, s, s, false)
					}
				}})
		}
	}
	for _, f := range []vk.Format{vk.FORMAT_D16_UNORM_S8_UINT, vk.FORMAT_D24_UNORM_S8_UINT, vk.FORMAT_D32_SFLOAT_S8_UINT} {
		cases = append(cases, definition{name: "api.copy_and_blit.core.image_to_image.one_aspect." + caseName(f),
			run: func(c *Case) {
				m := c.mirror(uint64(f))
				a, b := m.image(plane(f, 40, 30)), m.image(plane(f, 40, 30))
				for n, aspect := range a.want.Aspects() { // each to another place, where the other aspect stays
					layers := vk.ImageSubresourceLayers{AspectMask: aspect, LayerCount: 1}
					m.copyImage(b, a, vk.ImageCopy{SrcSubresource: layers, DstSubresource: layers, SrcOffset: vk.Offset3D{X: 3, Y: 4},
						DstOffset: vk.Offset3D{X: int32(20 * n), Y: 10}, Extent: vk.Extent3D{Width: 18, Height: 17, Depth: 1}})
				}
				m.check()
			}})
	}
	// Render targets: what else one does with images works on them.
	for f, usage := range map[vk.Format]vk.ImageUsageFlags{
		vk.FORMAT_R8G8B8A8_UNORM: vk.IMAGE_USAGE_COLOR_ATTACHMENT_BIT | vk.IMAGE_USAGE_INPUT_ATTACHMENT_BIT,
		vk.FORMAT_D16_UNORM:      vk.IMAGE_USAGE_DEPTH_STENCIL_ATTACHMENT_BIT,
	} {
		cases = append(cases, definition{name: "api.copy_and_blit.core.buffer_image.attachment." + caseName(f),
			valid: !depthStencil(f), run: func(c *Case) {
				s := plane(f, 40, 30)
				s.usage = usage
				bufferImage(c, s, false)
			}})
	}
	cases = append(cases, definition{name: "api.copy_and_blit.core.image_to_image.line_and_others", farsideOnly: true,
		run: func(c *Case) {
			line := shape{dimensions: vk.IMAGE_TYPE_1D, format: vk.FORMAT_R8G8B8A8_UNORM, extent: [3]uint32{40, 1, 1}, levels: 1,
				layers: 3}
			flat := shape{dimensions: vk.IMAGE_TYPE_2D, format: vk.FORMAT_R8G8B8A8_UNORM, extent: [3]uint32{30, 20, 1},
				levels: 1,
				layers: 4}
			solid := shape{dimensions: vk.IMAGE_TYPE_3D, format: vk.FORMAT_R8G8B8A8_UNORM, extent: [3]uint32{30, 20, 5},
				levels: 1, layers: 1}
			layers := func(base, n uint32) vk.ImageSubresourceLayers {
				return vk.ImageSubresourceLayers{AspectMask: color, BaseArrayLayer: base, LayerCount: n}
			}
			m := c.mirror(7)
			l, f, s := m.image(line), m.image(flat), m.image(solid)
			m.copyImage(f, l, vk.ImageCopy{SrcSubresource: layers(1, 2), SrcOffset: vk.Offset3D{X: 9},
				DstSubresource: layers(2, 2),
				DstOffset:      vk.Offset3D{X: 3, Y: 7}, Extent: vk.Extent3D{Width: 25, Height: 1, Depth: 1}})
			m.copyImage(s, l, vk.ImageCopy{SrcSubresource: layers(2, 1), DstSubresource: layers(0, 1),
				DstOffset: vk.Offset3D{X: 1, Y: 19, Z: 4}, Extent: vk.Extent3D{Width: 29, Height: 1, Depth: 1}})
			m.copyImage(l, f, vk.ImageCopy{SrcSubresource: layers(0, 1), SrcOffset: vk.Offset3D{Y: 18},
				DstSubresource: layers(2, 1),
				DstOffset:      vk.Offset3D{X: 10}, Extent: vk.Extent3D{Width: 30, Height: 1, Depth: 1}})
			m.copyImage(l, s, vk.ImageCopy{SrcSubresource: layers(0, 1), SrcOffset: vk.Offset3D{X: 2, Y: 3, Z: 1},
				DstSubresource: layers(1, 1),
				Extent:         vk.Extent3D{Width: 9, Height: 1, Depth: 1}})
			m.check()
		}})
	row := func(name string, run func(c *Case)) {
		cases = append(cases, definition{name: "api.copy_and_blit.core.image_to_image." + name, valid: true, run: run})
	}
	for _, p := range [][2]vk.Format{
		{vk.FORMAT_R8G8B8A8_UNORM, vk.FORMAT_R32_UINT}, {vk.FORMAT_R16G16_SFLOAT, vk.FORMAT_B8G8R8A8_SRGB},
		{vk.FORMAT_R32G32_SFLOAT, vk.FORMAT_R16G16B16A16_UINT}, {vk.FORMAT_R32G32B32A32_SFLOAT, vk.FORMAT_R32G32B32A32_SINT},
		{vk.FORMAT_BC1_RGB_UNORM_BLOCK, vk.FORMAT_BC4_SNORM_BLOCK}, {vk.FORMAT_BC3_UNORM_BLOCK, vk.FORMAT_BC7_SRGB_BLOCK},
		{vk.FORMAT_BC3_UNORM_BLOCK, vk.FORMAT_ETC2_R8G8B8A8_UNORM_BLOCK},
		{vk.FORMAT_R32G32B32A32_UINT, vk.FORMAT_R64G64_SINT},
	} {
		row("size_compatible."+caseName(p[0])+"_"+caseName(p[1]), func(c *Case) { crossFormat(c, p[0], p[1]) })
	}
	for _, p := range [][2]vk.Format{
		{vk.FORMAT_BC1_RGB_UNORM_BLOCK, vk.FORMAT_R32G32_UINT}, {vk.FORMAT_BC3_UNORM_BLOCK, vk.FORMAT_R32G32B32A32_UINT},
		{vk.FORMAT_ETC2_R8G8B8_UNORM_BLOCK, vk.FORMAT_R16G16B16A16_UNORM},
		{vk.FORMAT_ASTC_8x8_UNORM_BLOCK, vk.FORMAT_R32G32B32A32_SFLOAT},
	} {
		row("compressed_uncompressed."+caseName(p[0])+"_"+caseName(p[1]),
			func(c *Case) { compressedUncompressed(c, p[0], p[1]) })
	}
	for _, f := range []vk.Format{vk.FORMAT_R8G8B8A8_UNORM, vk.FORMAT_R32G32B32A32_UINT, vk.FORMAT_BC3_SRGB_BLOCK,
		vk.FORMAT_D24_UNORM_S8_UINT} {
		cases = append(cases, definition{name: "api.copy_and_blit.copy_commands2.buffer_image." + caseName(f),
			extensions: copy2, valid: !depthStencil(f), run: func(c *Case) {
				for _, s := range c.shapes(f) {
					bufferImage(c, s, true)
				}
			}}, definition{name: "api.copy_and_blit.copy_commands2.image_to_image." + caseName(f), extensions: copy2,
			valid: !depthStencil(f), run: func(c *Case) {
				for _, s := range c.shapes(f) {
					imageImage(c, s, s, true)
				}
			}})
	}
	row("tilings", func(c *Case) {
		optimal := shape{dimensions: vk.IMAGE_TYPE_2D, format: vk.FORMAT_R8G8B8A8_UNORM, extent: [3]uint32{37, 19, 1},
			levels: 1, layers: 1}
		linear := optimal
		linear.tiling = vk.IMAGE_TILING_LINEAR
		imageImage(c, optimal, linear, false)
		imageImage(c, linear, optimal, false)
		imageImage(c, linear, linear, false)
	})
	row("array_and_3d", func(c *Case) {
		for _, f := range []vk.Format{vk.FORMAT_R8G8B8A8_UNORM, vk.FORMAT_R32G32B32A32_UINT, vk.FORMAT_R8_UNORM} {
			array := shape{dimensions: vk.IMAGE_TYPE_2D, format: f, extent: [3]uint32{20, 14, 1}, levels: 1, layers: 6}
			volume := shape{dimensions: vk.IMAGE_TYPE_3D, format: f, extent: [3]uint32{24, 17, 8}, levels: 1, layers: 1}
			m := c.mirror(uint64(f))
			a, v := m.image(array), m.image(volume)
			m.copyImage(v, a, vk.ImageCopy{
				SrcSubresource: vk.ImageSubresourceLayers{AspectMask: color, BaseArrayLayer: 1, LayerCount: 4},
				SrcOffset:      vk.Offset3D{X: 3, Y: 2},
				DstSubresource: vk.ImageSubresourceLayers{AspectMask: color, LayerCount: 1},
				DstOffset:      vk.Offset3D{X: 5, Y: 1, Z: 2},
				Extent:         vk.Extent3D{Width: 11, Height: 9, Depth: 4},
			})
			m.copyImage(a, v, vk.ImageCopy{
				SrcSubresource: vk.ImageSubresourceLayers{AspectMask: color, LayerCount: 1},
				SrcOffset:      vk.Offset3D{X: 1, Y: 7, Z: 3},
				DstSubresource: vk.ImageSubresourceLayers{AspectMask: color, BaseArrayLayer: 3, LayerCount: 3},
				DstOffset:      vk.Offset3D{Y: 4},
				Extent:         vk.Extent3D{Width: 20, Height: 10, Depth: 3},
			})
			m.check()
		}
	})
	row("dimensions", func(c *Case) {
		line := shape{dimensions: vk.IMAGE_TYPE_1D, format: vk.FORMAT_R8G8B8A8_UNORM, extent: [3]uint32{40, 1, 1}, levels: 2,
			layers: 3}
		m := c.mirror(5)
		l := m.image(line)
		a := m.image(shape{dimensions: vk.IMAGE_TYPE_1D, format: vk.FORMAT_R8G8B8A8_UINT, extent: [3]uint32{50, 1, 1},
			levels: 1, layers: 4})
		m.copyImage(a, l, vk.ImageCopy{
			SrcSubresource: vk.ImageSubresourceLayers{AspectMask: color, MipLevel: 1, LayerCount: 3},
			SrcOffset:      vk.Offset3D{X: 2},
			DstSubresource: vk.ImageSubresourceLayers{AspectMask: color, BaseArrayLayer: 1, LayerCount: 3},
			DstOffset:      vk.Offset3D{X: 30},
			Extent:         vk.Extent3D{Width: 18, Height: 1, Depth: 1},
		})
		m.check()
	})
	row("same_image", func(c *Case) {
		m := c.mirror(6)
		i := m.image(shape{dimensions: vk.IMAGE_TYPE_2D, format: vk.FORMAT_R8G8B8A8_UNORM, extent: [3]uint32{64, 48, 1},
			levels: 2, layers: 4})
		layers := func(level, base, n uint32) vk.ImageSubresourceLayers {
			return vk.ImageSubresourceLayers{AspectMask: color, MipLevel: level, BaseArrayLayer: base, LayerCount: n}
		}
		m.copyImage(i, i, // within a subresource, between layers, and between levels
			vk.ImageCopy{SrcSubresource: layers(0, 0, 1), DstSubresource: layers(0, 0, 1), DstOffset: vk.Offset3D{X: 32, Y: 24},
				Extent: vk.Extent3D{Width: 32, Height: 24, Depth: 1}},
			vk.ImageCopy{SrcSubresource: layers(0, 1, 1), DstSubresource: layers(0, 3, 1),
				Extent: vk.Extent3D{Width: 64, Height: 48, Depth: 1}},
			vk.ImageCopy{SrcSubresource: layers(0, 1, 2), DstSubresource: layers(1, 2, 2), SrcOffset: vk.Offset3D{X: 9, Y: 8},
				Extent: vk.Extent3D{Width: 32, Height: 24, Depth: 1}},
		)
		m.check()
	})
	return cases
}

// imageImage copies between two images of the same shape, but for the tiling: whole levels, all levels in one
// command, parts to other places, other levels, single layers, and each aspect alone.
func imageImage(c *Case, from, to shape, copy2 bool) {
	m := c.mirror(uint64(from.format) + 1)
	m.copy2 = copy2
	src, dst := m.image(from), m.image(to)
	block := src.want.BlockExtent()
	for _, aspect := range append(src.want.Aspects(), src.aspects()) {
		layers := func(level, layer, n uint32) vk.ImageSubresourceLayers {
			return vk.ImageSubresourceLayers{AspectMask: aspect, MipLevel: level, BaseArrayLayer: layer, LayerCount: n}
		}
		var levels []vk.ImageCopy
		for level := range from.levels {
			e := src.want.LevelExtent(level)
			n := src.want.Blocks(level)
			levels = append(levels, vk.ImageCopy{SrcSubresource: layers(level, 0, from.layers),
				DstSubresource: layers(level, 0, from.layers),
				Extent:         vk.Extent3D{Width: e[0], Height: e[1], Depth: e[2]}})
			if n[0] < 3 {
				continue
			}
			// The right end to the left one of another layer, without the last, perhaps partial, block.
			part := vk.ImageCopy{
				SrcSubresource: layers(level, from.layers-1, 1),
				SrcOffset:      vk.Offset3D{X: int32((n[0]/2 - 1) * block[0]), Z: int32(e[2] / 2)},
				DstSubresource: layers(level, 0, 1), DstOffset: vk.Offset3D{Y: int32((n[1] - 1) * block[1])},
				Extent: vk.Extent3D{Width: n[0] / 2 * block[0], Height: min(block[1], e[1]), Depth: 1},
			}
			part.Extent.Height = min(part.Extent.Height, e[1]-uint32(part.DstOffset.Y))
			part.SrcOffset.Y = part.DstOffset.Y // so that a partial block meets one
			m.copyImage(dst, src, part)
			if edge := part; level == 0 {
				edge.SrcOffset.X = int32(n[0] / 2 * block[0])
				edge.DstOffset.X = edge.SrcOffset.X
				edge.Extent.Width = e[0] - uint32(edge.SrcOffset.X)
				m.copyImage(dst, src, edge)
			}
		}
		m.copyImage(src, dst, levels...)
	}
	m.check()
}

// crossFormat copies between two formats whose blocks have the same size and extent.
func crossFormat(c *Case, from, to vk.Format) {
	m := c.mirror(uint64(from) ^ uint64(to))
	one := func(f vk.Format) *mirrorImage {
		s := shape{dimensions: vk.IMAGE_TYPE_2D, format: f, levels: 2, layers: 3}
		info, _ := vk.FormatInfo(f)
		s.extent = [3]uint32{12 * info.BlockExtent[0], 8 * info.BlockExtent[1], 1} // 12 x 8 blocks
		return m.image(s)
	}
	a, b := one(from), one(to)
	layers := func(level, layer, n uint32) vk.ImageSubresourceLayers {
		return vk.ImageSubresourceLayers{AspectMask: color, MipLevel: level, BaseArrayLayer: layer, LayerCount: n}
	}
	ea, eb := a.want.BlockExtent(), b.want.BlockExtent()
	m.copyImage(b, a, vk.ImageCopy{SrcSubresource: layers(0, 0, 2), DstSubresource: layers(0, 1, 2),
		SrcOffset: vk.Offset3D{X: int32(2 * ea[0]), Y: int32(ea[1])},
		DstOffset: vk.Offset3D{X: int32(5 * eb[0]), Y: int32(3 * eb[1])},
		Extent:    vk.Extent3D{Width: 7 * ea[0], Height: 4 * ea[1], Depth: 1}})
	m.copyImage(a, b, vk.ImageCopy{SrcSubresource: layers(0, 2, 1), DstSubresource: layers(1, 0, 1),
		SrcOffset: vk.Offset3D{X: int32(eb[0])}, DstOffset: vk.Offset3D{X: int32(2 * ea[0]), Y: int32(ea[1])},
		Extent: vk.Extent3D{Width: 4 * eb[0], Height: 3 * eb[1], Depth: 1}})
	m.check()
}

// compressedUncompressed copies blocks to texels and back; the compressed image ends in partial blocks.
func compressedUncompressed(c *Case, compressed, plain vk.Format) {
	m := c.mirror(uint64(compressed))
	info, _ := vk.FormatInfo(compressed)
	block := info.BlockExtent
	z := m.image(shape{dimensions: vk.IMAGE_TYPE_2D, format: compressed,
		extent: [3]uint32{10*block[0] - 1, 7*block[1] - 2, 1}, levels: 2, layers: 2})
	p := m.image(shape{dimensions: vk.IMAGE_TYPE_2D, format: plain, extent: [3]uint32{16, 12, 1}, levels: 1, layers: 3})
	layers := func(level, layer, n uint32) vk.ImageSubresourceLayers {
		return vk.ImageSubresourceLayers{AspectMask: color, MipLevel: level, BaseArrayLayer: layer, LayerCount: n}
	}
	e := z.want.LevelExtent(0)
	m.copyImage(p, z, // the extent is the source's: texels of the compressed image, up to its edge
		vk.ImageCopy{SrcSubresource: layers(0, 0, 2), DstSubresource: layers(0, 1, 2), DstOffset: vk.Offset3D{X: 4, Y: 3},
			Extent: vk.Extent3D{Width: e[0], Height: e[1], Depth: 1}},
		vk.ImageCopy{SrcSubresource: layers(1, 1, 1), DstSubresource: layers(0, 0, 1),
			SrcOffset: vk.Offset3D{X: int32(block[0])},
			Extent:    vk.Extent3D{Width: 2 * block[0], Height: 2 * block[1], Depth: 1}})
	m.copyImage(z, p, // and here texels of the other, each a block
		vk.ImageCopy{SrcSubresource: layers(0, 1, 1), DstSubresource: layers(0, 0, 1), SrcOffset: vk.Offset3D{X: 5, Y: 5},
			DstOffset: vk.Offset3D{X: int32(3 * block[0]), Y: int32(2 * block[1])},
			Extent:    vk.Extent3D{Width: 5, Height: 4, Depth: 1}})
	m.check()
}
