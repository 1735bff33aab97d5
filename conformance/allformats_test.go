package conformance

import (
	"farside/conformance/reference"
	"farside/conformance/vulkan"
	"farside/internal/vk"
)

// everyFormat yields the formats of small optimal images that the driver has, with the features of each.
func (c *Case) everyFormat(visit func(f vk.Format, features vk.FormatFeatureFlags)) {
	n := 0
	for _, block := range []vk.Format{0, 1000054000, 1000066000, 1000156000, 1000330000, 1000340000, 1000470000} {
		for f := block; f < block+200; f++ {
			info, ok := vk.FormatInfo(f)
			if !ok || info.Chroma != 0 || len(info.Planes()) > 1 || !c.supports(plane(f, 33, 18)) {
				continue
			}
			p := vulkan.New[vk.FormatProperties](&c.a)
			c.inst.Call("vkGetPhysicalDeviceFormatProperties", uintptr(c.pd), uintptr(f), ptr(p))
			visit(f, p.OptimalTilingFeatures)
			n++
		}
	}
	if n < 40 {
		c.Errorf("only %d formats", n)
	}
}

// allFormatCases do one thing with every format that images can have.
func allFormatCases() []definition {
	row := func(name string, run func(c *Case)) definition {
		return definition{name: "api.copy_and_blit.all_formats." + name, run: run}
	}
	blit := func(c *Case, filter vk.Filter, need vk.FormatFeatureFlags) {
		c.everyFormat(func(f vk.Format, have vk.FormatFeatureFlags) {
			aspects := reference.NewImage(vk.IMAGE_TYPE_1D, f, [3]uint32{1, 1, 1}, 1, 1).Aspects()
			if have&need != need || len(aspects) == 2 || filter == vk.FILTER_LINEAR && aspects[0] != color {
				return // those of two aspects have cases of their own, and may not be filtered
			}
			t := blitTest{from: plane(f, 13, 11), to: plane(f, 30, 25),
				boxes: [][2]blitBox{{rect(1, 0, 12, 8), rect(25, 24, 3, 0)}}, layers: 1, filter: filter, steps: 1.01}
			if filter == vk.FILTER_LINEAR {
				t.steps, t.loose = 2.5, 1.0/128
			}
			t.aspects = aspects[0]
			t.run(c)
		})
	}
	return []definition{
		row("copy", func(c *Case) {
			c.everyFormat(func(f vk.Format, _ vk.FormatFeatureFlags) {
				s := plane(f, 33, 18)
				bufferImage(c, s, false)
				imageImage(c, s, s, false)
			})
		}),
		row("clear", func(c *Case) {
			c.everyFormat(func(f vk.Format, _ vk.FormatFeatureFlags) {
				if compressed(f) {
					return
				}
				m := c.mirror(uint64(f))
				i := m.image(plane(f, 33, 18))
				i.steps = 1.01
				r := vk.ImageSubresourceRange{AspectMask: i.aspects(), LevelCount: 1, LayerCount: 1}
				if depthStencil(f) {
					m.clearDepthStencil(i, 0.3, 77, r)
				} else {
					m.clearColor(i, reference.Texel{F: [4]float64{0.25, 0.7, 1, 0.4}, I: [4]int64{1, 90, 3, 2}}, r)
				}
				m.check()
			})
		}),
		row("blit_nearest", func(c *Case) {
			blit(c, vk.FILTER_NEAREST, vk.FORMAT_FEATURE_BLIT_SRC_BIT|vk.FORMAT_FEATURE_BLIT_DST_BIT)
		}),
		row("blit_linear", func(c *Case) {
			blit(c, vk.FILTER_LINEAR,
				vk.FORMAT_FEATURE_BLIT_SRC_BIT|vk.FORMAT_FEATURE_BLIT_DST_BIT|vk.FORMAT_FEATURE_SAMPLED_IMAGE_FILTER_LINEAR_BIT)
		}),
	}
}
