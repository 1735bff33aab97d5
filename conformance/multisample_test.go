package conformance

import (
	"math"
	"math/rand/v2"
	"unsafe"

	"farside/conformance/vulkan"
	"farside/internal/sampling"
	"farside/internal/texel"
	"farside/internal/vk"
)

// multisampledFormats are some of each numeric class, by GLSL's prefix of types.
var multisampledFormats = []struct {
	name, prefix string
	format       vk.Format
}{
	{"r8_unorm", "", vk.FORMAT_R8_UNORM}, {"r8g8b8a8_unorm", "", vk.FORMAT_R8G8B8A8_UNORM},
	{"b8g8r8a8_srgb", "", vk.FORMAT_B8G8R8A8_SRGB},
	{"a2b10g10r10", "", vk.FORMAT_A2B10G10R10_UNORM_PACK32}, {"r16g16b16a16_sfloat", "", vk.FORMAT_R16G16B16A16_SFLOAT},
	{"r32g32b32a32_sfloat", "", vk.FORMAT_R32G32B32A32_SFLOAT}, {"d16_unorm", "", vk.FORMAT_D16_UNORM},
	{"d32_sfloat_s8_uint", "", vk.FORMAT_D32_SFLOAT_S8_UINT},
	{"r8_uint", "u", vk.FORMAT_R8_UINT}, {"r16g16b16a16_uint", "u", vk.FORMAT_R16G16B16A16_UINT},
	{"s8_uint", "u", vk.FORMAT_S8_UINT},
	{"r8g8_sint", "i", vk.FORMAT_R8G8_SINT}, {"r32_sint", "i", vk.FORMAT_R32_SINT},
}

// samplePlaces are texels and samples, some of which are outside of the image.
func samplePlaces(p *texturePlace, r *rand.Rand) {
	p.at = [4]float32{float32(r.IntN(17) - 2), float32(r.IntN(9) - 1), float32(r.IntN(6) - 1)}
	p.lod = float32(r.IntN(6) - 1)
	if r.IntN(8) == 0 {
		p.lod = []float32{1 << 30, -(1 << 31), 65536}[r.IntN(3)]
	}
}

// multisampleCases mirror what glsl.texture_functions and robustness do with images of several samples.
func multisampleCases() (list []definition) {
	plane := textureConfig{view: vk.IMAGE_VIEW_TYPE_2D, extent: [3]uint32{13, 7, 1}, levels: 1, layers: 1, samples: 4,
		usage: vk.IMAGE_USAGE_SAMPLED_BIT}
	array := plane
	array.view, array.layers = vk.IMAGE_VIEW_TYPE_2D_ARRAY, 3
	const inPlane, inArray = "texelFetch(s, ivec2(t.at.xy), int(t.lod)).rgb, 0)",
		"texelFetch(s, ivec3(t.at.xyz), int(t.lod)).rgb, 0)"
	// Samples that differ come into images by the layout that Farside has.
	own := func(name string, t textureCase) {
		t.texture.seed = uint64(len(list))
		if t.fetch {
			t.prepare = samplePlaces
		}
		list = append(list, definition{name: name, compute: true, farsideOnly: true, needs: []string{"RobustImageAccess"},
			run: t.run})
	}
	for _, f := range multisampledFormats {
		plane.format, array.format = f.format, f.format
		own("glsl.texture_functions.texelfetch.sampler2dms."+f.name,
			textureCase{sampler: f.prefix + "sampler2DMS", expr: f.prefix + "vec4(" + inPlane, texture: plane, fetch: true,
				sample: true})
		own("glsl.texture_functions.texelfetch.sampler2dmsarray."+f.name,
			textureCase{sampler: f.prefix + "sampler2DMSArray", expr: f.prefix + "vec4(" + inArray, texture: array, fetch: true,
				sample: true})
	}
	plane.format, array.format = vk.FORMAT_R8G8B8A8_UNORM, vk.FORMAT_R8G8B8A8_UNORM
	swizzled := array
	swizzled.swizzle = vk.ComponentMapping{R: vk.COMPONENT_SWIZZLE_B, G: vk.COMPONENT_SWIZZLE_ONE,
		B: vk.COMPONENT_SWIZZLE_ZERO, A: vk.COMPONENT_SWIZZLE_R}
	own("glsl.texture_functions.texelfetch.sampler2dmsarray.swizzle",
		textureCase{sampler: "sampler2DMSArray", expr: "vec4(" + inArray, texture: swizzled, fetch: true, sample: true})
	// Shaders whose image has samples where the descriptor's has one, and the other way round, are invalid. They get a
	// sample that there is, or what lies outside.
	linear := sampling.SamplerInfo{MagFilter: vk.FILTER_LINEAR, MinFilter: vk.FILTER_LINEAR}
	zero := func(q *sampling.Lookup, _ *texturePlace) { q.Lod[0] = 0 }
	own("robustness.other_samples.texturelod",
		textureCase{sampler: "sampler2D", expr: "textureLod(s, t.at.xy, 0.0)", texture: plane, with: linear, lookup: zero})
	own("robustness.other_samples.texturegather",
		textureCase{sampler: "sampler2DArray", expr: "textureGather(s, t.at.xyz, 2)", texture: array, gather: 3,
			lookup: zero})
	own("robustness.other_samples.texelfetch",
		textureCase{sampler: "sampler2D", expr: "vec4(texelFetch(s, ivec2(t.at.xy), 0).rgb, 0)", texture: plane, fetch: true})
	one := plane
	one.samples = 1
	own("robustness.other_samples.sampler2dms",
		textureCase{sampler: "sampler2DMS", expr: "vec4(" + inPlane, texture: one, fetch: true, sample: true})
	for _, f := range multisampledFormats {
		array.format = f.format
		if config := array; config.everything().AspectMask == color {
			list = append(list, definition{name: "glsl.texture_functions.texelfetch.cleared." + f.name, compute: true,
				valid: true,
				run:   func(c *Case) { clearedSamples(c, config, f.prefix) }})
		}
	}
	array.format = vk.FORMAT_R8G8B8A8_UNORM
	return append(list, definition{name: "glsl.texture_functions.query.texturesamples", compute: true, valid: true,
		run: func(c *Case) {
			for shape, want := range map[string][4]uint32{"": {13, 7, 0, 4}, "Array": {13, 7, 3, 4}} {
				config := plane
				if shape != "" {
					config = array
				}
				t := c.emptySamples(config)
				s, _, free := c.sampler(sampling.SamplerInfo{}, false)
				wantSlice(c, "size and samples of sampler2DMS"+shape,
					c.askSamples(shape, t.descriptor(vk.DESCRIPTOR_TYPE_COMBINED_IMAGE_SAMPLER, s)), want[:])
				free()
				t.free()
			}
		}}, definition{name: "robustness.robustness2.null_descriptor.samples", compute: true, valid: true,
		needs: []string{"NullDescriptor"}, run: func(c *Case) {
			null := described{vulkan.Descriptor{Type: vk.DESCRIPTOR_TYPE_SAMPLED_IMAGE,
				Image: vk.DescriptorImageInfo{ImageLayout: vk.IMAGE_LAYOUT_GENERAL}}}
			for _, kind := range []string{"utexture2DMS", "utexture2DMSArray"} {
				place := "ivec2(1)"
				if kind == "utexture2DMSArray" {
					place = "ivec3(1)"
				}
				got := []uint32{7, 7, 7, 7}
				c.dispatch(dispatch{shader: glsl("image/lookup.comp", "TYPE=uvec4", "SAMPLER="+kind,
					"EXPR=uvec4(textureSize(s).xy, textureSamples(s), 0) + texelFetch(s, "+place+", 1)"),
					buffers: []any{got, make([]texturePlace, 1), null}})
				wantSlice(c, "a null "+kind, got, make([]uint32, 4))
			}
		}})
}

// askSamples gives what textureSize and textureSamples say.
func (c *Case) askSamples(shape string, image described) []uint32 {
	out := make([]uint32, 4)
	size := "textureSize(s), 0"
	if shape == "Array" {
		size = "textureSize(s)"
	}
	c.dispatch(dispatch{shader: glsl("image/lookup.comp", "TYPE=uvec4", "SAMPLER=sampler2DMS"+shape,
		"EXPR=uvec4("+size+", textureSamples(s))"),
		buffers: []any{out, make([]texturePlace, 1), image}})
	return out
}

// emptySamples makes an image in layout GENERAL, whose samples nobody has written.
func (c *Case) emptySamples(config textureConfig) *texture {
	properties := vulkan.New[vk.ImageFormatProperties](&c.a)
	r := vk.Result(c.inst.Call("vkGetPhysicalDeviceImageFormatProperties", uintptr(c.pd), uintptr(config.format),
		uintptr(vk.IMAGE_TYPE_2D), uintptr(vk.IMAGE_TILING_OPTIMAL),
		uintptr(config.usage|vk.IMAGE_USAGE_TRANSFER_SRC_BIT|vk.IMAGE_USAGE_TRANSFER_DST_BIT), 0, ptr(properties)))
	if r != vk.SUCCESS || properties.SampleCounts&vk.SampleCountFlags(config.samples) == 0 {
		c.Unsupported("images of " + config.format.String() + " with samples")
	}
	t := &texture{c: c, config: config}
	t.create()
	t.allocate()
	c.must("submit and wait", c.dev.Submit(func(cb vk.CommandBuffer) { t.barrier(cb, vk.IMAGE_LAYOUT_UNDEFINED) }))
	t.createView()
	return t
}

// clearedSamples clears the layers of an image to values of their own, copies a part of one to another, and fetches
// every sample.
func clearedSamples(c *Case, config textureConfig, prefix string) {
	t := c.emptySamples(config)
	defer t.free()
	const width, height, fromX, fromY, toX, toY = 5, 3, 2, 1, 7, 4 // what is copied from layer 0 to layer 2
	colors := make([][4]uint32, config.layers)
	c.must("submit and wait", c.dev.Submit(func(cb vk.CommandBuffer) {
		for layer := range config.layers {
			value := vulkan.New[vk.ClearColorValue](&c.a)
			for i := range 4 {
				colors[layer][i] = layer*17 + uint32(i)*3
				if prefix == "" { // 0 and 1 are exact in every format
					colors[layer][i] = math.Float32bits(float32((layer + uint32(i) + 1) / 2 % 2))
				}
			}
			*(*[4]uint32)(unsafe.Pointer(value)) = colors[layer]
			r := vk.ImageSubresourceRange{AspectMask: color, LevelCount: 1, BaseArrayLayer: layer, LayerCount: 1}
			c.dev.CallOn("vkCmdClearColorImage", uintptr(cb), uintptr(t.image), uintptr(vk.IMAGE_LAYOUT_GENERAL), ptr(value), 1,
				ptr(vulkan.Put(&c.a, r)))
		}
		t.barrier(cb, vk.IMAGE_LAYOUT_GENERAL)
		region := vk.ImageCopy{
			SrcSubresource: vk.ImageSubresourceLayers{AspectMask: color, LayerCount: 1},
			SrcOffset:      vk.Offset3D{X: fromX, Y: fromY},
			DstSubresource: vk.ImageSubresourceLayers{AspectMask: color, BaseArrayLayer: 2, LayerCount: 1},
			DstOffset:      vk.Offset3D{X: toX, Y: toY},
			Extent:         vk.Extent3D{Width: width, Height: height, Depth: 1},
		}
		general := uintptr(vk.IMAGE_LAYOUT_GENERAL)
		c.dev.CallOn("vkCmdCopyImage", uintptr(cb), uintptr(t.image), general, uintptr(t.image), general, 1,
			ptr(vulkan.Put(&c.a, region)))
		t.barrier(cb, vk.IMAGE_LAYOUT_GENERAL)
	}))
	var places []texturePlace
	var want []uint32
	codec, _ := texel.CodecOf(config.format, color)
	components := len(codec.Channels())
	for layer := range config.layers {
		for y := range config.extent[1] {
			for x := range config.extent[0] {
				from := colors[layer]
				if layer == 2 && x-toX < width && y-toY < height {
					from = colors[0]
				}
				for sample := range config.samples {
					places = append(places, texturePlace{at: [4]float32{float32(x), float32(y), float32(layer)}, lod: float32(sample)})
					for i, v := range from {
						if i >= components {
							v = 0
						}
						want = append(want, v)
					}
				}
			}
		}
	}
	s, _, free := c.sampler(sampling.SamplerInfo{}, false)
	defer free()
	got := make([]uint32, 4*len(places))
	c.dispatch(dispatch{
		shader: glsl("image/lookup.comp", "TYPE="+prefix+"vec4", "SAMPLER="+prefix+"sampler2DMSArray",
			"EXPR=texelFetch(s, ivec3(t.at.xyz), int(t.lod))"),
		groups:  [3]uint32{(uint32(len(places)) + 31) / 32},
		buffers: []any{got, places, t.descriptor(vk.DESCRIPTOR_TYPE_COMBINED_IMAGE_SAMPLER, s)},
	})
	if components < 4 { // alpha is 1
		for i := 3; i < len(want); i += 4 {
			want[i] = 1
			if prefix == "" {
				want[i] = math.Float32bits(1)
			}
		}
	}
	wantSlice(c, "samples", got, want)
}
