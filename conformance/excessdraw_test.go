package conformance

import (
	"farside/conformance/vulkan"
	"farside/internal/vk"
)

// drawsElsewhere has pipelines draw where they were not created for. What the attachments have in common with the
// pipeline is drawn, nothing else is harmed, and one warning names the rule.
func (c *Case) drawsElsewhere() {
	const unused = "VUID-vkCmdDraw-dynamicRenderingUnusedAttachments-"
	formats := func(formats ...vk.Format) func(s *scene, g *vulkan.GraphicsState) {
		return func(s *scene, g *vulkan.GraphicsState) {
			g.Rendering.PColorAttachmentFormats = list(&s.a, formats...)
			blends := make([]vk.PipelineColorBlendAttachmentState, len(formats))
			for i := range blends {
				blends[i] = g.Attachments[0]
			}
			g.Blend.PAttachments = list(&s.a, blends...)
			g.Rendering.ColorAttachmentCount, g.Blend.AttachmentCount = uint32(len(formats)), uint32(len(formats))
		}
	}
	for _, test := range []struct {
		rule  string
		edit  func(s *scene, g *vulkan.GraphicsState)
		drawn bool // the colours are white then
	}{
		{"", formats(rgba32f), true},
		{unused + "08910", formats(rgba8), true},
		{unused + "08910", formats(vk.FORMAT_R32G32B32A32_UINT), true},
		{"VUID-vkCmdDraw-colorAttachmentCount-06179", formats(), false},
		{"VUID-vkCmdDraw-colorAttachmentCount-06179", formats(rgba32f, rgba8, rgba8, rgba8), true},
		{"VUID-vkCmdDraw-viewMask-06178", func(_ *scene, g *vulkan.GraphicsState) { g.Rendering.ViewMask = 3 }, true},
		{unused + "08913", func(_ *scene, g *vulkan.GraphicsState) {
			g.Rendering.DepthAttachmentFormat = vk.FORMAT_D16_UNORM
			depthTest(vk.COMPARE_OP_NEVER)(g)
		}, true},
		{"VUID-vkCmdDraw-renderPass-06198", func(s *scene, g *vulkan.GraphicsState) {
			t := s.colors[0]
			p := s.instance(s.colors, []vk.AttachmentDescription2{t.described(1, vk.ATTACHMENT_LOAD_OP_CLEAR)},
				[]vk.SubpassDescription2{t.drawnTo(&s.a)}, 1, false)
			inPass(p, 0, 1, nil)(g)
		}, true},
	} {
		s := c.scene(9, 5, 1, 1, 0, rgba32f)
		*s.colors[0].clear.Color().Float32() = [4]float32{0.5, 0.5, 0.5, 0.5}
		seen := c.messagesOf(vk.DEBUG_UTILS_MESSAGE_SEVERITY_WARNING_BIT_EXT)
		s.draw(&look{vertex: wholeTarget, fragment: white, edit: func(g *vulkan.GraphicsState) { test.edit(s, g) },
			record: func(cb vk.CommandBuffer) {
				for range 2 {
					c.dev.CallOn("vkCmdDraw", uintptr(cb), 3, 1, 0, 0)
				}
			}})
		value := 0.5
		if test.drawn {
			value = 1
		}
		s.pixels(s.colors[0], 0, func(int, int) [4]float64 { return [4]float64{value, value, value, value} })
		if test.rule != "" && !seen.has(test.rule) || len(seen.text) > 1 || test.rule == "" && len(seen.text) > 0 {
			c.Errorf("want one warning, of %q: %q", test.rule, seen.text)
		}
		seen.close()
		s.close()
	}
}
