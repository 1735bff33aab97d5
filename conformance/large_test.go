package conformance

import (
	"farside/conformance/reference"
	"farside/internal/vk"
)

// largeCases are images large enough for a driver to share the work out between cores.
func largeCases() []definition {
	row := func(name string, valid bool, run func(c *Case)) definition {
		return definition{name: "api.copy_and_blit.large." + name, valid: valid, run: run}
	}
	whole := func(i *mirrorImage, aspect vk.ImageAspectFlags) vk.BufferImageCopy {
		return vk.BufferImageCopy{ImageSubresource: vk.ImageSubresourceLayers{AspectMask: aspect, LayerCount: i.layers},
			ImageExtent: vk.Extent3D{Width: i.extent[0], Height: i.extent[1], Depth: i.extent[2]}}
	}
	copies := func(c *Case, s shape) {
		m := c.mirror(uint64(s.format))
		a, b := m.image(s), m.image(s)
		for _, aspect := range a.want.Aspects() {
			r := whole(a, aspect)
			block := a.want.BlockExtent()
			strided := r
			strided.BufferRowLength = (s.extent[0]/block[0] + 9) * block[0]
			strided.BufferImageHeight = (s.extent[1]/block[1] + 3) * block[1]
			blocks := strided.BufferRowLength / block[0] * (strided.BufferImageHeight / block[1]) * s.extent[2] * s.layers
			size := int(blocks) * a.want.BlockSize(aspect)
			buffer, out := m.buffer(size), m.buffer(size)
			if depthBits(s.format) == 0 || aspect != depth {
				m.bufferToImage(a, buffer, strided)
			}
			m.imageToBuffer(out, a, strided)
			m.copyImage(b, a, vk.ImageCopy{SrcSubresource: r.ImageSubresource, DstSubresource: r.ImageSubresource,
				Extent: r.ImageExtent})
			part := vk.ImageCopy{SrcSubresource: r.ImageSubresource, DstSubresource: r.ImageSubresource,
				SrcOffset: vk.Offset3D{X: int32(block[0]), Y: int32(2 * block[1])},
				Extent: vk.Extent3D{Width: s.extent[0]/block[0]*block[0] - 3*block[0],
					Height: s.extent[1]/block[1]*block[1] - 2*block[1], Depth: s.extent[2]}}
			part.DstOffset.X = int32(2 * block[0])
			m.copyImage(a, b, part)
			m.imageToBuffer(buffer, a, r)
		}
		m.check()
	}
	image := func(f vk.Format, width, height, deep, layers uint32) shape {
		s := shape{dimensions: vk.IMAGE_TYPE_2D, format: f, extent: [3]uint32{width, height, deep}, levels: 1, layers: layers}
		if deep > 1 {
			s.dimensions = vk.IMAGE_TYPE_3D
		}
		return s
	}
	var cases []definition
	for _, s := range []shape{
		image(vk.FORMAT_R8G8B8A8_UNORM, 611, 307, 1, 2), image(vk.FORMAT_R8_UNORM, 1301, 851, 1, 1),
		image(vk.FORMAT_R32G32B32_SFLOAT, 401, 301, 1, 1),
		image(vk.FORMAT_R32G32B32A32_UINT, 100, 50, 23, 1), image(vk.FORMAT_BC1_RGB_UNORM_BLOCK, 2046, 1022, 1, 1),
		image(vk.FORMAT_D32_SFLOAT, 611, 499, 1, 1),
	} {
		cases = append(cases, row("copies."+caseName(s.format), !depthStencil(s.format), func(c *Case) { copies(c, s) }))
	}
	const rgba8 = vk.FORMAT_R8G8B8A8_UNORM
	blit := func(name string, from, to vk.Format, filter vk.Filter, steps float64) {
		t := blitTest{from: plane(from, 251, 203), to: plane(to, 502, 619), filter: filter, steps: steps, aspects: color,
			layers: 1,
			boxes:  [][2]blitBox{{rect(0, 0, 251, 203), rect(502, 5, 0, 614)}}}
		cases = append(cases, row("blit."+name, false, t.run))
	}
	blit("nearest", rgba8, rgba8, vk.FILTER_NEAREST, 0)
	blit("linear", rgba8, vk.FORMAT_B8G8R8A8_UNORM, vk.FILTER_LINEAR, 2.5)
	blit("convert", vk.FORMAT_R16G16B16A16_SFLOAT, vk.FORMAT_R8G8B8A8_SRGB, vk.FILTER_NEAREST, 1.01)
	cases = append(cases, row("clear", false, func(c *Case) {
		for _, f := range []vk.Format{rgba8, vk.FORMAT_R32G32B32A32_SFLOAT, vk.FORMAT_R16G16_SINT} {
			m := c.mirror(uint64(f))
			i := m.image(shape{dimensions: vk.IMAGE_TYPE_2D, format: f, extent: [3]uint32{701, 399, 1}, levels: 2, layers: 2})
			t := reference.Texel{F: [4]float64{0.25, 1, 0, 0.5}, I: [4]int64{-3, 500, 7, 1}}
			i.steps = 1.01
			m.clearColor(i, t, vk.ImageSubresourceRange{AspectMask: color, LevelCount: 2, BaseArrayLayer: 1, LayerCount: 1})
			m.check()
		}
	}))
	return cases
}
