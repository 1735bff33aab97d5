package exec

import (
	"errors"
	"testing"

	"farside/internal/command"
	"farside/internal/vk"
)

// TestInheritance: a secondary command buffer that is executed elsewhere than it says is told of once, and executed.
func TestInheritance(t *testing.T) {
	const secondary = vk.RENDERING_CONTENTS_SECONDARY_COMMAND_BUFFERS_BIT
	begun := func(contents vk.SubpassContents) func(s *command.Stream) error {
		return func(s *command.Stream) error {
			return s.BeginRenderPass(&command.BeginRenderPass{RenderPass: 1, Framebuffer: 1, Area: area(16, 8),
				Contents: contents, Clears: make([]vk.ClearValue, 1)})
		}
	}
	inPass := begun(vk.SUBPASS_CONTENTS_SECONDARY_COMMAND_BUFFERS)
	next := func(contents vk.SubpassContents) func(s *command.Stream) error {
		return func(s *command.Stream) error { return errors.Join(inPass(s), s.NextSubpass(contents)) }
	}
	second := func(i *Inheritance) { i.Subpass = 1 }
	rendering := func(flags vk.RenderingFlags, mask uint32, depth, stencil vk.ImageView) func(*command.Stream) error {
		return func(s *command.Stream) error {
			return s.BeginRendering(&command.BeginRendering{Area: area(16, 8), Layers: 1, ViewMask: mask, Flags: flags,
				Attachments: []command.RenderingAttachment{{View: 1}, {}, {View: depth}, {View: stencil}}})
		}
	}
	inRendering := rendering(secondary, 0, 2, 0)
	mapped := func(s *command.Stream) error {
		return errors.Join(inRendering(s), s.SetLocations([]uint32{3, 1}),
			s.SetInputs([]uint32{0, 2, 1, command.InputWithout}))
	}
	query := func(pool vk.QueryPool, flags vk.QueryControlFlags) func(*command.Stream) error {
		return func(s *command.Stream) error { return s.BeginQuery(pool, 0, flags) }
	}
	outside := func(*command.Stream) error { return nil }
	ofPass := func(change func(i *Inheritance)) func(i *Inheritance) {
		return func(i *Inheritance) {
			i.Continues, i.Output.Pass = true, &hostilePasses[0]
			change(i)
		}
	}
	ofRendering := func(change func(i *Inheritance)) func(i *Inheritance) {
		return func(i *Inheritance) {
			o := colored()
			i.Continues, i.Colors, i.Depth, i.Samples = true, o.Colors, o.Depth, 1
			change(i)
		}
	}
	same := func(*Inheritance) {}
	rule := func(text string) string { return "VUID-vkCmdExecuteCommands-" + text }
	for _, test := range []struct {
		name  string
		begin func(s *command.Stream) error
		says  func(i *Inheritance)
		want  string
	}{
		{"nothing", outside, same, ""},
		{"a pass", inPass, ofPass(same), ""},
		{"both contents", begun(vk.SUBPASS_CONTENTS_INLINE_AND_SECONDARY_COMMAND_BUFFERS_KHR), ofPass(same), ""},
		{"contents of the next subpass", next(vk.SUBPASS_CONTENTS_SECONDARY_COMMAND_BUFFERS), ofPass(second), ""},
		{"locations and inputs", mapped, ofRendering(func(i *Inheritance) {
			i.Locations, i.Inputs = []uint32{3, 1}, []uint32{0, 2, 1, command.InputWithout}
		}), ""},
		{"those that there are without asking", inRendering, ofRendering(func(i *Inheritance) {
			i.Locations, i.Inputs = []uint32{0, 1}, []uint32{0, 1, command.InputWithout, command.InputWithout}
		}), ""},
		{"its framebuffer", inPass, ofPass(func(i *Inheritance) { i.Framebuffer = 1 }), ""},
		{"a rendering", inRendering, ofRendering(same), ""},
		{"both queries", query(2, 0), func(i *Inheritance) { i.Occlusion = true }, ""},
		{"a precise query", query(2, vk.QUERY_CONTROL_PRECISE_BIT),
			func(i *Inheritance) { i.Occlusion, i.Precise = true, true }, ""},
		{"more statistics", query(3, 0), func(i *Inheritance) { i.Statistics = 7 }, ""},
		{"outside of a pass", outside, ofPass(same), rule("pCommandBuffers-00100")},
		{"inside of a pass", inPass, same, rule("pCommandBuffers-00096")},
		{"another pass", inPass, ofPass(func(i *Inheritance) { i.Output.Pass = &hostilePasses[1] }),
			rule("pBeginInfo-06020")},
		{"a rendering in a pass", inPass, ofRendering(same), rule("pBeginInfo-06020")},
		{"another subpass", inPass, ofPass(func(i *Inheritance) { i.Subpass = 1 }), rule("pCommandBuffers-06019")},
		{"another framebuffer", inPass, ofPass(func(i *Inheritance) { i.Framebuffer = 2 }), rule("pCommandBuffers-00099")},
		{"a pass in a rendering", inRendering, ofPass(same), rule("pBeginInfo-06025")},
		{"inline contents", begun(vk.SUBPASS_CONTENTS_INLINE), ofPass(same), rule("contents-09680")},
		{"inline contents of the next subpass", next(vk.SUBPASS_CONTENTS_INLINE), ofPass(second), rule("None-09681")},
		{"locations", mapped, ofRendering(func(i *Inheritance) { i.Inputs = []uint32{0, 2, 1, command.InputWithout} }),
			rule("pCommandBuffers-09504")},
		{"inputs", mapped, ofRendering(func(i *Inheritance) { i.Locations = []uint32{3, 1} }),
			rule("pCommandBuffers-09505")},
		{"contents", rendering(0, 0, 2, 0), ofRendering(same), rule("flags-06024")},
		{"flags", inRendering, ofRendering(func(i *Inheritance) { i.Flags = vk.RENDERING_SUSPENDING_BIT }),
			rule("flags-06026")},
		{"views", rendering(secondary, 3, 2, 0), ofRendering(same), rule("viewMask-06031")},
		{"a count", inRendering, ofRendering(func(i *Inheritance) { i.Colors = nil }), rule("colorAttachmentCount-06027")},
		{"a format", inRendering, ofRendering(func(i *Inheritance) { i.Colors[0] = 0 }), rule("imageView-06028")},
		{"no colours", inRendering, ofRendering(func(i *Inheritance) { i.Colors[1] = 1 }), rule("imageView-07606")},
		{"depths", inRendering, ofRendering(func(i *Inheritance) { i.Depth = 1 }), rule("pDepthAttachment-06029")},
		{"no depths", rendering(secondary, 0, 0, 0), ofRendering(same), rule("pDepthAttachment-06774")},
		{"stencils", rendering(secondary, 0, 2, 2), ofRendering(same), rule("pStencilAttachment-06030")},
		{"no stencils", inRendering, ofRendering(func(i *Inheritance) { i.Stencil = 1 }), rule("pStencilAttachment-06775")},
		{"samples", inRendering, ofRendering(func(i *Inheritance) { i.Samples = 4 }),
			rule("pNext-06035") + rule("pNext-06036")},
		{"samples of stencils", rendering(secondary, 0, 0, 2), ofRendering(func(i *Inheritance) {
			i.Depth, i.Stencil, i.Colors[0], i.Samples = 0, vk.FORMAT_D24_UNORM_S8_UINT, 0, 4
		}), rule("imageView-06028") + rule("pNext-06035") + rule("pNext-06037")},
		{"a query", query(2, 0), same, rule("commandBuffer-00101")},
		{"precision", query(2, vk.QUERY_CONTROL_PRECISE_BIT), func(i *Inheritance) { i.Occlusion = true },
			rule("commandBuffer-00102")},
		{"statistics", query(3, 0), func(i *Inheritance) { i.Statistics = 4 }, rule("commandBuffer-00103")},
	} {
		h, told := outputWorld(t)
		h.queries(t)
		h.pipelines[1] = outputPipeline(colored(), 1)
		inherits := new(Inheritance)
		test.says(inherits)
		h.secondary[1] = h.record(t, func(s *command.Stream) { must(t, s.BindPipeline(graphics1, 1)) }).stream
		h.inherits = map[vk.CommandBuffer]*Inheritance{1: inherits}
		h.run(t, func(s *command.Stream) error {
			return errors.Join(test.begin(s), s.ExecuteCommands([]vk.CommandBuffer{1, 1}))
		})
		rules := ""
		for _, err := range *told {
			rules += vk.VUIDOf(err).String()
		}
		if rules != test.want {
			t.Errorf("%s: told of %q (%v), want %q", test.name, rules, *told, test.want)
		}
	}
}

// TestSecondaryQueries: a query that is begun beside one of its type is refused by the rule of who began that.
func TestSecondaryQueries(t *testing.T) {
	begin := func(s *command.Stream) error { return s.BeginQuery(2, 1, 0) }
	run := func(s *command.Stream) error { return s.ExecuteCommands([]vk.CommandBuffer{1}) }
	other := func(s *command.Stream) error { return s.BeginQuery(3, 0, 0) }
	first := func(s *command.Stream) error { return s.BeginQuery(2, 0, 0) }
	for _, test := range []struct {
		name             string
		before, secondly func(s *command.Stream) error
		want             vk.VUID
	}{
		{"another type", other, begin, vk.NoVUID},
		{"the primary's", first, begin, vk.VUID_vkCmdExecuteCommands_commandBuffer_00104},
		{"its own", other, func(s *command.Stream) error { return errors.Join(first(s), begin(s)) },
			vk.VUID_vkCmdBeginQuery_queryPool_01922},
	} {
		d := newDrawTest(t)
		d.queries(t)
		d.secondary[1] = d.record(t, func(s *command.Stream) { must(t, test.secondly(s)) }).stream
		err := d.execute(t, func(s *command.Stream) error { return errors.Join(test.before(s), run(s)) })
		if vk.VUIDOf(err) != test.want || (err == nil) != (test.want == vk.NoVUID) {
			t.Errorf("%s: %v, want %v", test.name, err, test.want)
		}
	}
}

// queries makes pool 2 of occlusion, and pool 3 of statistics.
func (w *world) queries(t testing.TB) {
	for i, set := range []vk.QueryPipelineStatisticFlags{0, 3} {
		kind := vk.QUERY_TYPE_OCCLUSION
		if set != 0 {
			kind = vk.QUERY_TYPE_PIPELINE_STATISTICS
		}
		pool, err := NewDrawQueryPool(kind, 2, set)
		must(t, err)
		w.pools[vk.QueryPool(2+i)] = pool
	}
}
