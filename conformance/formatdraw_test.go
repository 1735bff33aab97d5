package conformance

import (
	"math"
	"strings"

	"farside/conformance/vulkan"
	"farside/internal/texel"
	"farside/internal/vk"
)

// formatCases clear, draw into and blend with an attachment of each format.
func formatCases() []definition {
	return []definition{
		drawCase("pipeline.formats.float", func(c *Case) { formatsCase(c, texel.Float) }),
		drawCase("pipeline.formats.uint", func(c *Case) { formatsCase(c, texel.Uint) }),
		drawCase("pipeline.formats.sint", func(c *Case) { formatsCase(c, texel.Sint) }),
	}
}

func formatsCase(c *Case, class texel.Class) {
	tried := 0
	for _, f := range c.attachmentFormats(false) {
		codec, _ := texel.CodecOf(f, vk.IMAGE_ASPECT_COLOR_BIT)
		p := vulkan.New[vk.FormatProperties](&c.a)
		c.inst.Call("vkGetPhysicalDeviceFormatProperties", uintptr(c.pd), uintptr(f), ptr(p))
		features := p.OptimalTilingFeatures
		if codec.Class() != class || features&vk.FormatFeatureFlags(vk.FORMAT_FEATURE_COLOR_ATTACHMENT_BIT) == 0 {
			continue
		}
		tried++
		formatCase(c, f, codec, features&vk.FormatFeatureFlags(vk.FORMAT_FEATURE_COLOR_ATTACHMENT_BLEND_BIT) != 0)
	}
	if tried == 0 {
		c.Errorf("there is no format of attachments")
	}
}

// formatCase has three parts of an attachment side by side: cleared, drawn into, and blended with.
func formatCase(c *Case, f vk.Format, codec *texel.Codec, blends bool) {
	const width, height = 12, 6
	s := c.scene(width, height, 1, 1, 0, f)
	defer s.close()
	t, letter := s.colors[0], letterOf(f, vk.IMAGE_ASPECT_COLOR_BIT)
	cleared, drawn := [4]float64{0.25, 0.5, 0.75, 1}, [4]float64{0.5, 0.125, 1, 0.25}
	if letter != "" {
		cleared, drawn = [4]float64{1, 2, 3, 1}, [4]float64{3, 1, 2, 1}
	}
	for i, v := range cleared {
		switch letter {
		case "u":
			t.clear.Color().Uint32()[i] = uint32(v)
		case "i":
			t.clear.Color().Int32()[i] = int32(v)
		default:
			t.clear.Color().Float32()[i] = float32(v)
		}
	}
	part := func(x int32, edit func(g *vulkan.GraphicsState)) *look {
		return &look{vertex: wholeTarget, fragment: `layout(push_constant) uniform P { vec4 v; };
				layout(location = 0) out ` + letter + `vec4 c; void main() { c = ` + letter + `vec4(v); }`,
			push: []float32{float32(drawn[0]), float32(drawn[1]), float32(drawn[2]), float32(drawn[3])},
			edit: func(g *vulkan.GraphicsState) {
				g.Viewport.PScissors = vulkan.Put(&s.a, vk.Rect2D{Offset: vk.Offset2D{X: x},
					Extent: vk.Extent2D{Width: width / 3, Height: height}})
				if edit != nil {
					edit(g)
				}
			}}
	}
	looks := []*look{part(width/3, nil)}
	want := [3][4]float64{cleared, drawn, cleared}
	if blends {
		looks = append(looks, part(2*width/3, func(g *vulkan.GraphicsState) {
			b := &g.Attachments[0]
			b.BlendEnable, b.SrcColorBlendFactor, b.DstColorBlendFactor = vk.TRUE, vk.BLEND_FACTOR_SRC_ALPHA,
				vk.BLEND_FACTOR_ONE_MINUS_SRC_ALPHA
			b.SrcAlphaBlendFactor, b.DstAlphaBlendFactor = vk.BLEND_FACTOR_ONE, vk.BLEND_FACTOR_ZERO
		}))
		for i := range 3 {
			want[2][i] = drawn[i]*0.25 + cleared[i]*0.75
		}
		want[2][3] = drawn[3]
	}
	s.draw(looks...)
	got := s.read(t, vk.IMAGE_ASPECT_COLOR_BIT, 0, codec.Size())
	for i := range width * height {
		v := decoded(codec, got[i*codec.Size():])
		w := want[i%width/(width/3)]
		for _, channel := range codec.Channels() {
			if channel.Slot < 4 && !(math.Abs(v[channel.Slot]-w[channel.Slot]) <= quantum(f, channel)) {
				c.Errorf("%v: texel %d is %v, want %v", f, i, v, w)
				return
			}
		}
	}
}

// decoded is a texel as numbers.
func decoded(codec *texel.Codec, b []byte) (out [4]float64) {
	switch codec.Class() {
	case texel.Uint:
		var n [1][4]uint64
		codec.DecodeUint(n[:], b)
		for i := range out {
			out[i] = float64(n[0][i])
		}
	case texel.Sint:
		var n [1][4]int64
		codec.DecodeSint(n[:], b)
		for i := range out {
			out[i] = float64(n[0][i])
		}
	default:
		var n [1][4]float64
		codec.DecodeFloat(n[:], b)
		out = n[0]
	}
	return out
}

// quantum is how far a channel's value between 0 and 1 may be from the exact one, after two roundings.
func quantum(f vk.Format, channel texel.Channel) float64 {
	name := f.String()
	switch {
	case strings.Contains(name, "INT"):
		return 0
	case strings.Contains(name, "SFLOAT"), strings.Contains(name, "UFLOAT"):
		// Floats of 10, 11, 16 and 32 bits have 5, 6, 10 and 23 of mantissa.
		return map[int]float64{10: 1.0 / 32, 11: 1.0 / 64, 16: 1.0 / 1024, 32: 1.0 / (1 << 22)}[channel.Bits]
	case strings.Contains(name, "SRGB"):
		return 5.0 / 255 // the curve's slope is at most 2.3
	case strings.Contains(name, "SNORM"):
		return 1.5 / (math.Exp2(float64(channel.Bits-1)) - 1)
	}
	return 1.5 / (math.Exp2(float64(channel.Bits)) - 1)
}
