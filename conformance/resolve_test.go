package conformance

import (
	"farside/conformance/reference"
	"farside/internal/vk"
)

// resolveFormats are some of each numeric class.
var resolveFormats = []vk.Format{
	vk.FORMAT_R8_UNORM, vk.FORMAT_R8G8B8A8_UNORM, vk.FORMAT_B8G8R8A8_SRGB, vk.FORMAT_R5G6B5_UNORM_PACK16,
	vk.FORMAT_A2B10G10R10_UNORM_PACK32,
	vk.FORMAT_R16_SFLOAT, vk.FORMAT_R16G16B16A16_SFLOAT, vk.FORMAT_R32_SFLOAT, vk.FORMAT_R8_UINT, vk.FORMAT_R16G16_SINT,
	vk.FORMAT_R32G32B32A32_UINT,
}

// samples is an array of 2D images whose texels have four samples.
func samples(f vk.Format) shape {
	s := plane(f, 30, 21)
	s.layers, s.samples, s.values = 3, 4, true
	return s
}

// resolveParts resolves parts of src to images of each kind.
func (m *mirror) resolveParts(src *mirrorImage) {
	levels := shape{dimensions: vk.IMAGE_TYPE_2D, format: src.format, extent: [3]uint32{64, 50, 1}, levels: 2, layers: 4}
	volume := shape{dimensions: vk.IMAGE_TYPE_3D, format: src.format, extent: [3]uint32{33, 25, 5}, levels: 1, layers: 1}
	line := shape{dimensions: vk.IMAGE_TYPE_1D, format: src.format, extent: [3]uint32{40, 1, 1}, levels: 1, layers: 2}
	side := func(level, base, count uint32) vk.ImageSubresourceLayers {
		return vk.ImageSubresourceLayers{AspectMask: color, MipLevel: level, BaseArrayLayer: base, LayerCount: count}
	}
	for s, regions := range map[*shape][]vk.ImageResolve{
		&levels: {
			{SrcSubresource: side(0, 0, 3), DstSubresource: side(0, 1, 3), DstOffset: vk.Offset3D{X: 5, Y: 7},
				Extent: vk.Extent3D{Width: 30, Height: 21, Depth: 1}},
			{SrcSubresource: side(0, 2, 1), DstSubresource: side(1, 0, 1), SrcOffset: vk.Offset3D{X: 11, Y: 3},
				DstOffset: vk.Offset3D{X: 13, Y: 7},
				Extent:    vk.Extent3D{Width: 19, Height: 18, Depth: 1}},
		},
		&volume: {{SrcSubresource: side(0, 1, 1), DstSubresource: side(0, 0, 1), SrcOffset: vk.Offset3D{X: 1},
			DstOffset: vk.Offset3D{X: 3, Y: 4, Z: 2},
			Extent:    vk.Extent3D{Width: 29, Height: 21, Depth: 1}}},
		&line: {{SrcSubresource: side(0, 1, 2), DstSubresource: side(0, 0, 2), SrcOffset: vk.Offset3D{X: 2, Y: 20},
			DstOffset: vk.Offset3D{X: 12},
			Extent:    vk.Extent3D{Width: 28, Height: 1, Depth: 1}}},
	} {
		if s.values = true; !m.c.supports(*s) {
			continue
		}
		dst := m.image(*s)
		if dst.steps = 1.01; src.want.Integer(color) {
			dst.steps = 0
		}
		m.resolve(dst, src, regions...)
	}
}

// resolveCases mirror api.copy_and_blit.*.resolve_image, and what else commands do with images of several samples.
func resolveCases() []definition {
	var cases []definition
	for _, f := range resolveFormats {
		cases = append(cases, definition{name: "api.copy_and_blit.core.resolve_image." + caseName(f), farsideOnly: true,
			run: func(c *Case) {
				m := c.mirror(uint64(f))
				m.resolveParts(m.image(samples(f)))
				m.check()
			}}, definition{name: "api.copy_and_blit.copy_commands2.resolve_image." + caseName(f), extensions: copy2,
			farsideOnly: true, run: func(c *Case) {
				m := c.mirror(uint64(f))
				m.copy2 = true
				m.resolveParts(m.image(samples(f)))
				m.check()
			}}, definition{name: "api.copy_and_blit.core.resolve_image.cleared." + caseName(f), run: func(c *Case) {
			// Resolves need a graphics queue, so that this isn't valid everywhere.
			m := c.mirror(uint64(f))
			s := samples(f)
			s.unread = true
			src := m.image(s)
			for layer := range s.layers {
				m.clearColor(src, reference.Texel{F: [4]float64{float64(layer) / 2, 1, 0, 1},
					I: [4]int64{int64(40 + layer), 7, 9, 1}},
					vk.ImageSubresourceRange{AspectMask: color, LevelCount: 1, BaseArrayLayer: layer, LayerCount: 1})
			}
			m.copyImage(src, src, vk.ImageCopy{
				SrcSubresource: vk.ImageSubresourceLayers{AspectMask: color, LayerCount: 1}, SrcOffset: vk.Offset3D{X: 3, Y: 9},
				DstSubresource: vk.ImageSubresourceLayers{AspectMask: color, BaseArrayLayer: 2, LayerCount: 1},
				DstOffset:      vk.Offset3D{X: 12, Y: 4},
				Extent:         vk.Extent3D{Width: 13, Height: 11, Depth: 1},
			})
			m.resolveParts(src)
			m.check()
		}})
	}
	for _, f := range []vk.Format{vk.FORMAT_R8_UNORM, vk.FORMAT_R8G8B8A8_UNORM, vk.FORMAT_R32G32B32A32_SFLOAT,
		vk.FORMAT_R16_UINT,
		vk.FORMAT_D16_UNORM, vk.FORMAT_S8_UINT, vk.FORMAT_D24_UNORM_S8_UINT} {
		cases = append(cases, definition{name: "api.copy_and_blit.core.image_to_image.samples." + caseName(f),
			farsideOnly: true, run: func(c *Case) {
				m := c.mirror(uint64(f))
				src, dst := m.image(samples(f)), m.image(samples(f))
				side := vk.ImageSubresourceLayers{AspectMask: src.aspects(), LayerCount: 2}
				to := side
				to.BaseArrayLayer = 1
				m.copyImage(dst, src, vk.ImageCopy{SrcSubresource: side, DstSubresource: to, SrcOffset: vk.Offset3D{X: 7, Y: 2},
					DstOffset: vk.Offset3D{X: 1, Y: 5}, Extent: vk.Extent3D{Width: 22, Height: 16, Depth: 1}})
				m.check()
			}}, definition{name: "api.image_clearing.core.samples." + caseName(f), farsideOnly: true, run: func(c *Case) {
			m := c.mirror(uint64(f))
			i := m.image(samples(f))
			i.steps = 1.01
			r := vk.ImageSubresourceRange{AspectMask: i.aspects(), LevelCount: 1, BaseArrayLayer: 1, LayerCount: 1}
			if depthStencil(f) {
				m.clearDepthStencil(i, 0.3, 77, r)
			} else {
				m.clearColor(i, reference.Texel{F: [4]float64{0.25, 0.7, 1, 0.4}, I: [4]int64{1, 90, 3, 2}}, r)
			}
			m.check()
		}})
	}
	return cases
}
