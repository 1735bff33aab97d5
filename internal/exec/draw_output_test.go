package exec

import (
	"errors"
	"reflect"
	"strings"
	"testing"

	"farside/internal/command"
	"farside/internal/draw"
	"farside/internal/pass"
	"farside/internal/vk"
)

// outputWorld is passWorld with draws that do nothing, and collects what is told of.
func outputWorld(t testing.TB) (*hostile, *[]error) {
	h := passWorld(t)
	h.Graphics = true
	before := executeDraw
	executeDraw = func(*draw.Series, *draw.Draw) error { return nil }
	t.Cleanup(func() { executeDraw = before })
	told := new([]error)
	h.Told = func(err error) { *told = append(*told, err) }
	return h, told
}

// outputPipeline is a pipeline that was created for o.
func outputPipeline(o *Output, samples uint32) *Pipeline {
	state := draw.State{Samples: samples, Viewports: make([]vk.Viewport, 1), Scissors: make([]vk.Rect2D, 1),
		Blends: make([]draw.Blend, len(o.Colors))}
	return &Pipeline{Graphics: &Graphics{State: state, Output: o}}
}

// renderedTo begins a dynamic rendering to a colour attachment, none, and a depth attachment.
func renderedTo(s *command.Stream, mask uint32) error {
	return s.BeginRendering(&command.BeginRendering{Area: area(16, 8), Layers: 1, ViewMask: mask,
		Attachments: []command.RenderingAttachment{{View: 1}, {}, {View: 2}, {}}})
}

// colored are the formats of renderedTo's attachments.
func colored() *Output {
	return &Output{Colors: []vk.Format{vk.FORMAT_R8G8B8A8_UNORM, 0}, Depth: vk.FORMAT_D24_UNORM_S8_UINT}
}

func changed(change func(o *Output)) *Output {
	o := colored()
	change(o)
	return o
}

// TestDrawOutputs: a pipeline that was created for something else than it draws to is told of once, and draws.
func TestDrawOutputs(t *testing.T) {
	both := hostilePasses[0]
	both.Attachments = append([]pass.Attachment(nil), both.Attachments...)
	same := both
	other := both
	other.Attachments = []pass.Attachment{both.Attachments[0], {Format: vk.FORMAT_R8_UNORM, Samples: 1}}
	pass1 := func(s *command.Stream) error {
		return s.BeginRenderPass(&command.BeginRenderPass{RenderPass: 1, Framebuffer: 1, Area: area(16, 8),
			Clears: make([]vk.ClearValue, 1)})
	}
	dynamic := func(s *command.Stream) error { return renderedTo(s, 0) }
	views := func(s *command.Stream) error { return renderedTo(s, 3) }
	for _, test := range []struct {
		name    string
		output  *Output
		samples uint32
		begin   func(s *command.Stream) error
		want    string
	}{
		{"same pass", &Output{Pass: &hostilePasses[0]}, 4, pass1, ""},
		{"compatible pass", &Output{Pass: &same}, 4, pass1, ""},
		{"same formats", colored(), 1, dynamic, ""},
		{"same views", changed(func(o *Output) { o.ViewMask = 3 }), 1, views, ""},
		{"other pass", &Output{Pass: &other}, 4, pass1, "VUID-vkCmdDraw-renderPass-02684"},
		{"formats in a pass", colored(), 4, pass1, "VUID-vkCmdDraw-renderPass-02684"},
		{"other subpass", &Output{Pass: &same, Subpass: 1}, 4, pass1, "VUID-vkCmdDraw-subpass-02685"},
		{"pass in a rendering", &Output{Pass: &same}, 1, dynamic, "VUID-vkCmdDraw-renderPass-06198"},
		{"other views", colored(), 1, views, "VUID-vkCmdDraw-viewMask-06178"},
		{"fewer attachments", changed(func(o *Output) { o.Colors = o.Colors[:1] }), 1, dynamic,
			"VUID-vkCmdDraw-colorAttachmentCount-06179"},
		{"other format", changed(func(o *Output) { o.Colors[0] = vk.FORMAT_R8_UNORM }), 1, dynamic,
			"VUID-vkCmdDraw-dynamicRenderingUnusedAttachments-08910"},
		{"no format", changed(func(o *Output) { o.Colors[0] = 0 }), 1, dynamic,
			"VUID-vkCmdDraw-dynamicRenderingUnusedAttachments-08910"},
		{"no attachment", changed(func(o *Output) { o.Colors[1] = vk.FORMAT_R8_UNORM }), 1, dynamic,
			"VUID-vkCmdDraw-dynamicRenderingUnusedAttachments-08912"},
		{"no depths", changed(func(o *Output) { o.Depth = vk.FORMAT_D16_UNORM }), 1, func(s *command.Stream) error {
			return s.BeginRendering(&command.BeginRendering{Area: area(16, 8), Layers: 1,
				Attachments: []command.RenderingAttachment{{View: 1}, {}, {}, {}}})
		}, "VUID-vkCmdDraw-dynamicRenderingUnusedAttachments-08913"},
		{"other depths", changed(func(o *Output) { o.Depth = vk.FORMAT_D16_UNORM }), 1, dynamic,
			"VUID-vkCmdDraw-dynamicRenderingUnusedAttachments-08914"},
		{"no stencils", changed(func(o *Output) { o.Stencil = vk.FORMAT_S8_UINT }), 1, dynamic,
			"VUID-vkCmdDraw-dynamicRenderingUnusedAttachments-08916"},
		{"other stencils", colored(), 1, func(s *command.Stream) error {
			return s.BeginRendering(&command.BeginRendering{Area: area(16, 8), Layers: 1,
				Attachments: []command.RenderingAttachment{{View: 1}, {}, {View: 2}, {View: 2}}})
		}, "VUID-vkCmdDraw-dynamicRenderingUnusedAttachments-08917"},
	} {
		h, told := outputWorld(t)
		h.pipelines[1] = outputPipeline(test.output, test.samples)
		h.run(t, func(s *command.Stream) error {
			must(t, errors.Join(test.begin(s), s.BindPipeline(graphics1, 1), s.Draw(3, 1, 0, 0)))
			return errors.Join(s.BindPipeline(graphics1, 1), s.Draw(3, 1, 0, 0))
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

// TestDrawOutputRules: each command of draws has rules of its own, of the same numbers.
func TestDrawOutputRules(t *testing.T) {
	plain := reflect.ValueOf(plainOutputs)
	for _, rules := range []*drawRules{&plainRules, &indexedRules, &indirectRulesOfDraws, &indexedIndirectRules,
		&countedRules, &indexedCountedRules, &multiRules, &indexedMultiRules} {
		name := strings.TrimSuffix(rules.pass.String(), "renderpass")
		own := reflect.ValueOf(*rules.outputs)
		for i := 1; i < own.NumField(); i++ { // after who
			want := name + strings.TrimPrefix(vk.VUID(plain.Field(i).Uint()).String(), "VUID-vkCmdDraw-")
			if got := vk.VUID(own.Field(i).Uint()).String(); got != want {
				t.Errorf("%s, %s: %s, want %s", name, own.Type().Field(i).Name, got, want)
			}
		}
	}
}

// TestDrawOutputAllocates: neither a draw that goes with the attachments, nor what is bound for it, allocates memory.
func TestDrawOutputAllocates(t *testing.T) {
	h, told := outputWorld(t)
	h.pipelines[1] = outputPipeline(colored(), 1)
	commands := func(binds int) *command.Stream {
		return h.record(t, func(s *command.Stream) {
			must(t, renderedTo(s, 0))
			for range binds {
				must(t, errors.Join(s.BindPipeline(graphics1, 1), s.SetState(vk.DYNAMIC_STATE_STENCIL_REFERENCE, 3, 1),
					s.Draw(3, 1, 0, 0)))
			}
			must(t, s.EndRendering())
		}).stream
	}
	q := NewQueue(&h.Device)
	allocated := func(b *command.Stream) float64 {
		return testing.AllocsPerRun(10, func() {
			if err := q.execute(b, 1); err != nil {
				t.Fatal(err)
			}
		})
	}
	// Pools and the collector make one more or less. What each draw allocated would be a hundred.
	if few, many := allocated(commands(1)), allocated(commands(101)); many-few > 10 {
		t.Errorf("100 draws allocate %v times", many-few)
	}
	if len(*told) != 0 {
		t.Errorf("told of %v", *told)
	}
}
