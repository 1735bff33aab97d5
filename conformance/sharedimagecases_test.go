package conformance

import (
	"slices"

	"farside/conformance/vulkan"
	"farside/internal/vk"
)

func init() {
	needs := []string{"SampleRateShading"}
	roles["image_viewer"] = definition{compute: true, graphics: true, needs: needs, run: playImageViewer,
		extensions: []string{fdExtension, foreignExtension}}
	roles["dma_image_viewer"] = definition{compute: true, graphics: true, needs: needs, run: playImageViewer,
		extensions: slices.Concat(dmaBufExtensions, []string{foreignExtension})}
}

// sharedImageCases draw into images that are exported, and sample them in another process; and the other way round.
func sharedImageCases() []definition {
	opaqueExtensions := []string{fdExtension, foreignExtension}
	dmaExtensions := slices.Concat(dmaBufExtensions, []string{foreignExtension})
	var all []definition
	for _, h := range []struct {
		group, role string
		handle      vk.ExternalMemoryHandleTypeFlags
		extensions  []string
	}{{"opaque_fd", "image_viewer", opaqueFd, opaqueExtensions}, {"dma_buf", "dma_image_viewer", dmaBuf, dmaExtensions}} {
		row := func(name string, specs func(c *Case, plain sharedSpec) []sharedSpec) {
			d := drawCase("api.external.memory."+h.group+".image.drawn."+name, func(c *Case) {
				plain := sharedSpec{handle: h.handle, format: rgba8, samples: 1, levels: 1, layers: 1,
					owner: vk.QUEUE_FAMILY_EXTERNAL}
				c.shareImages(h.role, specs(c, plain))
			}, "SampleRateShading")
			d.extensions = h.extensions
			all = append(all, d)
		}
		each := func(formats []vk.Format, p sharedSpec) (list []sharedSpec) {
			for _, f := range formats {
				p.format = f
				list = append(list, p)
			}
			return list
		}
		row("color_formats", func(c *Case, p sharedSpec) []sharedSpec { return each(c.attachmentFormats(false), p) })
		row("depth_formats", func(c *Case, p sharedSpec) []sharedSpec { return each(c.attachmentFormats(true), p) })
		row("linear", func(c *Case, p sharedSpec) []sharedSpec {
			p.tiling = vk.IMAGE_TILING_LINEAR
			return each(append(c.attachmentFormats(false), c.attachmentFormats(true)...), p)
		})
		if h.handle == dmaBuf {
			row("modifier", func(c *Case, p sharedSpec) []sharedSpec {
				p.tiling = modifierTiling
				return each(c.attachmentFormats(false), p)
			})
		}
		some := []vk.Format{rgba8, vk.FORMAT_R16G16_SINT, vk.FORMAT_R32_UINT, vk.FORMAT_D16_UNORM,
			vk.FORMAT_D32_SFLOAT_S8_UINT}
		row("levels_and_layers", func(_ *Case, p sharedSpec) (list []sharedSpec) {
			for _, p.tiling = range []vk.ImageTiling{vk.IMAGE_TILING_OPTIMAL, vk.IMAGE_TILING_LINEAR} {
				p.levels, p.layers = 5, 1
				list = append(list, each(some, p)...)
				p.levels, p.layers = 1, 4
				list = append(list, each(some, p)...)
				p.levels, p.layers = 3, 3
				list = append(list, each(some, p)...)
			}
			return list
		})
		row("samples", func(_ *Case, p sharedSpec) (list []sharedSpec) {
			for _, p.samples = range []uint32{2, 4, 8, 16} {
				p.layers = 1
				list = append(list, each(some, p)...)
				p.layers = 2
				list = append(list, each(some, p)...)
			}
			return list
		})
		row("foreign", func(_ *Case, p sharedSpec) []sharedSpec {
			p.owner = vk.QUEUE_FAMILY_FOREIGN_EXT
			return each(some, p)
		})
	}
	d := drawCase("api.external.memory.opaque_fd.image.drawn.between_instances", imageBetweenInstances, "SampleRateShading")
	d.extensions = opaqueExtensions
	return append(all, d)
}

// imageBetweenInstances shares images between two instances of a process, both ways.
func imageBetweenInstances(c *Case) {
	other := &Case{def: c.def, driver: c.driver, loader: c.loader}
	other.open(true)
	p := sharedSpec{handle: opaqueFd, format: rgba8, samples: 1, levels: 2, layers: 2, owner: vk.QUEUE_FAMILY_EXTERNAL}
	for _, p.format = range []vk.Format{rgba8, vk.FORMAT_D32_SFLOAT} {
		for _, both := range [][2]*Case{{c, other}, {other, c}} {
			if !both[0].shareOne(p, func(p *sharedSpec, fd int) { both[1].viewShared(*p, fd) }) {
				c.Unsupported("an image of those that can be exported")
			}
		}
	}
	c.failed = c.failed || other.failed
	other.a = vulkan.Arena{}
	other.close()
}
