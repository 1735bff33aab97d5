package pass

import (
	"testing"

	"farside/internal/draw"
	"farside/internal/texel"
	"farside/internal/transfer"
	"farside/internal/vk"
)

const (
	rgba8  = vk.FORMAT_R8G8B8A8_UNORM
	color  = vk.ImageAspectFlags(vk.IMAGE_ASPECT_COLOR_BIT)
	clears = vk.ATTACHMENT_LOAD_OP_CLEAR
)

func target(t *testing.T, format vk.Format, layers, samples uint32) draw.Target {
	t.Helper()
	f, _ := texel.FormatOf(format)
	l, ok := texel.NewLayout(f, [3]uint32{8, 4, 1}, 1, layers, samples)
	if !ok {
		t.Fatal("no layout")
	}
	return draw.Target{Image: &transfer.Image{Bytes: make([]byte, l.Size), Layout: &l, Format: format,
		Type: vk.IMAGE_TYPE_2D}, Format: format, Layers: layers}
}

// first is the first byte of a layer.
func first(t *draw.Target, layer uint32) byte {
	s, _ := t.Image.Layout.Subresource(color, 0, layer)
	return t.Image.Bytes[s.Offset]
}

func attached(format vk.Format, samples uint32) Attachment {
	return Attachment{Format: format, Samples: samples, Aspects: AspectsOf(format), Load: clears, StencilLoad: clears}
}

func red(v float32) (c vk.ClearValue) {
	c.Color().Float32()[0] = v
	return c
}

func to(attachments ...uint32) (list []Reference) {
	for _, a := range attachments {
		list = append(list, Reference{Attachment: a, Resolve: Unused})
	}
	return list
}

func subpass(mask uint32, attachments ...uint32) Subpass {
	return Subpass{ViewMask: mask, Colors: to(attachments...), Depth: None, Stencil: None}
}

func area() vk.Rect2D { return vk.Rect2D{Extent: vk.Extent2D{Width: 8, Height: 4}} }

// TestFirstUse: an attachment is cleared where a subpass uses it first, and one that nobody uses is not.
func TestFirstUse(t *testing.T) {
	p := &RenderPass{Attachments: []Attachment{attached(rgba8, 1), attached(rgba8, 1), attached(rgba8, 1)},
		Subpasses: []Subpass{subpass(0, 0), subpass(0, Unused, 1), subpass(0, 0)}}
	views := []draw.Target{target(t, rgba8, 1, 1), target(t, rgba8, 1, 1), target(t, rgba8, 1, 1)}
	var i Instance
	info := Info{Pass: p, Views: views, Clears: []vk.ClearValue{red(1), red(1), red(1)}, Area: area(), Layers: 1}
	step := func(err error, want ...byte) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		for n := range views {
			if got := first(&views[n], 0); got != want[n] {
				t.Errorf("attachment %d has %d, want %d", n, got, want[n])
			}
		}
	}
	step(i.Begin(&info), 255, 0, 0)
	views[0].Image.Bytes[0] = 7 // as a draw would
	step(i.Next(), 7, 255, 0)
	if d := i.Pass(); len(d.Colors) != 2 || d.Colors[0].Image != nil || d.Colors[1].Image != views[1].Image ||
		d.Samples != 1 {
		t.Errorf("%+v", d)
	}
	step(i.Next(), 7, 255, 0)
	step(i.End(), 7, 255, 0)
	if err := i.Next(); vk.VUIDOf(err) != vk.VUID_vkCmdNextSubpass_None_00909 {
		t.Error(err)
	}
}

// TestFirstViews: each view is cleared where it is used first.
func TestFirstViews(t *testing.T) {
	p := &RenderPass{Attachments: []Attachment{attached(rgba8, 1)}, Subpasses: []Subpass{subpass(1, 0), subpass(5, 0)}}
	view := target(t, rgba8, 3, 1)
	var i Instance
	if err := i.Begin(&Info{Pass: p, Views: []draw.Target{view}, Clears: []vk.ClearValue{red(1)}, Area: area(),
		Layers: 1}); err != nil {
		t.Fatal(err)
	}
	view.Image.Bytes[0] = 7
	if a, b := first(&view, 1), first(&view, 2); a != 0 || b != 0 {
		t.Errorf("views 1 and 2 have %d and %d", a, b)
	}
	if err := i.Next(); err != nil {
		t.Fatal(err)
	}
	if a, b, c := first(&view, 0), first(&view, 1), first(&view, 2); a != 7 || b != 0 || c != 255 {
		t.Errorf("the views have %d, %d and %d", a, b, c)
	}
	p.Subpasses[1].ViewMask = 8
	if err := i.Begin(&Info{Pass: p, Views: []draw.Target{view}, Clears: []vk.ClearValue{red(1)}, Area: area(),
		Layers: 1}); vk.VUIDOf(err) != vk.VUID_VkFramebufferCreateInfo_flags_04535 {
		t.Errorf("a view that isn't there: %v", err)
	}
}

// TestMixedSamples: attachments of a subpass have as many samples, those of a pass need not.
func TestMixedSamples(t *testing.T) {
	p := &RenderPass{Attachments: []Attachment{attached(rgba8, 4), attached(rgba8, 1)},
		Subpasses: []Subpass{subpass(0, 0), subpass(0, 1)}}
	info := Info{Pass: p, Views: []draw.Target{target(t, rgba8, 1, 4), target(t, rgba8, 1, 1)},
		Clears: make([]vk.ClearValue, 2), Area: area(), Layers: 1}
	var i Instance
	if err := i.Begin(&info); err != nil || i.Pass().Samples != 4 {
		t.Error(err)
	}
	p.Subpasses[0].Colors = to(0, 1)
	if err := i.Begin(&info); err == nil {
		t.Error("a subpass has attachments of 4 samples and of 1")
	}
	p.Subpasses[0].Colors = to(2)
	if err := i.Begin(&info); err == nil {
		t.Error("a subpass uses an attachment that isn't there")
	}
}

// TestCompatible: load operations don't count, formats, samples, views and inputs do; beyond a list is nothing.
func TestCompatible(t *testing.T) {
	pass := func(change func(p *RenderPass)) *RenderPass {
		p := &RenderPass{Attachments: []Attachment{attached(rgba8, 4), attached(rgba8, 1)},
			Subpasses: []Subpass{{Colors: []Reference{{Attachment: 0, Resolve: 1, Mode: vk.RESOLVE_MODE_AVERAGE_BIT}},
				Depth: None, Stencil: None, Inputs: []Input{{Attachment: 1, Aspects: color}}}}}
		change(p)
		return p
	}
	same := pass(func(*RenderPass) {})
	twice := func(p *RenderPass) { p.Subpasses = append(p.Subpasses, p.Subpasses[0]) }
	for name, test := range map[string]struct {
		change func(p *RenderPass)
		want   bool
	}{
		"loads":    {func(p *RenderPass) { p.Attachments[0].Load = 0 }, true},
		"unused":   {func(p *RenderPass) { p.Subpasses[0].Colors = append(p.Subpasses[0].Colors, None) }, true},
		"resolves": {func(p *RenderPass) { p.Subpasses[0].Colors[0].Resolve = Unused }, true},
		"format":   {func(p *RenderPass) { p.Attachments[0].Format = vk.FORMAT_R8G8B8A8_SRGB }, false},
		"samples":  {func(p *RenderPass) { p.Attachments[1].Samples = 8 }, false},
		"views":    {func(p *RenderPass) { p.Subpasses[0].ViewMask = 1 }, false},
		"another":  {func(p *RenderPass) { p.Subpasses[0].Colors = append(p.Subpasses[0].Colors, to(0)...) }, false},
		"depth":    {func(p *RenderPass) { p.Subpasses[0].Depth.Attachment = 0 }, false},
		"input":    {func(p *RenderPass) { p.Subpasses[0].Inputs = nil }, false},
		"subpass":  {twice, false},
	} {
		other := pass(test.change)
		if same.Compatible(other) != test.want || other.Compatible(same) != test.want {
			t.Errorf("%s: want %v", name, test.want)
		}
	}
	if a, b := pass(twice), pass(twice); !a.Compatible(b) {
		t.Error("equal passes")
	} else if b.Subpasses[1].Colors = to(0); a.Compatible(b) {
		t.Error("resolves count where there are several subpasses")
	}
}
