package exec

import (
	"bytes"
	"errors"
	"testing"

	"farside/internal/command"
	"farside/internal/draw"
	"farside/internal/syncobj"
	"farside/internal/texel"
	"farside/internal/transfer"
	"farside/internal/vk"
)

func area(width, height uint32) vk.Rect2D {
	return vk.Rect2D{Extent: vk.Extent2D{Width: width, Height: height}}
}

// passWorld has the resources of FuzzReplay that render passes use.
func passWorld(t testing.TB) *hostile {
	h := &hostile{world: newWorld(t)}
	h.Device.Resources = h
	for i, shape := range []struct {
		format          vk.Format
		layers, samples uint32
	}{{vk.FORMAT_R8G8B8A8_UNORM, 3, 1}, {vk.FORMAT_D24_UNORM_S8_UINT, 3, 1}, {}, {vk.FORMAT_R8G8B8A8_UNORM, 2, 4}} {
		if shape.layers == 0 {
			continue
		}
		format, _ := texel.FormatOf(shape.format)
		layout, ok := texel.NewLayout(format, [3]uint32{16, 8, 1}, 1, shape.layers, shape.samples)
		if !ok {
			t.Fatal("no layout")
		}
		h.shapes[i+1] = transfer.Image{Layout: &layout, Format: shape.format, Type: vk.IMAGE_TYPE_2D}
		h.images[i+1] = newArena(t, int(layout.Size))
	}
	return h
}

// texelAt returns the bytes of a texel's first sample.
func (h *hostile) texelAt(image int, aspect vk.ImageAspectFlags, layer, x, y uint32) []byte {
	shape := &h.shapes[image]
	s, _ := shape.Layout.Subresource(aspect, 0, layer)
	codec, _ := texel.CodecOf(shape.Format, aspect)
	at := int(s.Offset) + int(y)*int(s.RowPitch) + int(x)*codec.Size()*int(shape.Layout.Samples)
	return h.images[image].inside()[at:][:codec.Size()]
}

func (h *hostile) run(t *testing.T, commands func(s *command.Stream) error) {
	t.Helper()
	q := h.queue(t)
	fence := syncobj.New(syncobj.Fence, 0)
	defer fence.Release()
	s := NewSubmission()
	s.Execute(h.record(t, func(s *command.Stream) { must(t, commands(s)) }))
	s.Signal(fence.Retain(), 1)
	q.Submit(s)
	must(t, q.WaitIdle())
}

func value(r, g, b, a float32) (v vk.ClearValue) {
	*v.Color().Float32() = [4]float32{r, g, b, a}
	return v
}

func depthValue(depth float32, stencil uint32) (v vk.ClearValue) {
	*v.DepthStencil() = vk.ClearDepthStencilValue{Depth: depth, Stencil: stencil}
	return v
}

// TestRenderPass: loads clear the render area of the layers, resolves write the same, and nothing else changes.
func TestRenderPass(t *testing.T) {
	h := passWorld(t)
	at := vk.Rect2D{Offset: vk.Offset2D{X: 2, Y: 1}, Extent: vk.Extent2D{Width: 9, Height: 5}}
	h.run(t, func(s *command.Stream) error {
		must(t, s.BeginRenderPass(&command.BeginRenderPass{RenderPass: 1, Framebuffer: 1, Area: at,
			Clears: []vk.ClearValue{value(1, 0, 1, 0)}}))
		must(t, s.NextSubpass(0))
		green := vk.ClearAttachment{AspectMask: vk.IMAGE_ASPECT_COLOR_BIT, ClearValue: value(0, 1, 0, 1)}
		must(t, s.ClearAttachments([]vk.ClearAttachment{green},
			[]vk.ClearRect{{Rect: vk.Rect2D{Offset: at.Offset, Extent: vk.Extent2D{Width: 1, Height: 2}}, BaseArrayLayer: 1,
				LayerCount: 1}}))
		return s.EndRenderPass()
	})
	for layer := range uint32(3) {
		for y := range uint32(8) {
			for x := range uint32(16) {
				want := "\xa5\xa5\xa5\xa5"
				if layer < 2 && x >= 2 && x < 11 && y >= 1 && y < 6 {
					want = "\xff\x00\xff\x00"
				}
				if layer < 2 {
					if got := h.texelAt(4, vk.IMAGE_ASPECT_COLOR_BIT, layer, x, y); string(got) != want {
						t.Fatalf("multisampled layer %d, texel %d, %d: %x, want %x", layer, x, y, got, want)
					}
				}
				if layer == 1 && x == 2 && y >= 1 && y < 3 {
					want = "\x00\xff\x00\xff"
				}
				if got := h.texelAt(1, vk.IMAGE_ASPECT_COLOR_BIT, layer, x, y); string(got) != want {
					t.Fatalf("layer %d, texel %d, %d: %x, want %x", layer, x, y, got, want)
				}
			}
		}
	}
}

// TestMultiviewPass: the views of the mask are cleared, others not, by an imageless framebuffer.
func TestMultiviewPass(t *testing.T) {
	h := passWorld(t)
	h.run(t, func(s *command.Stream) error {
		must(t, s.BeginRenderPass(&command.BeginRenderPass{RenderPass: 2, Framebuffer: 2, Area: area(16, 8),
			Clears: []vk.ClearValue{depthValue(1, 0x42)}, Views: []vk.ImageView{2}}))
		must(t, s.ClearAttachments([]vk.ClearAttachment{{AspectMask: vk.IMAGE_ASPECT_STENCIL_BIT,
			ClearValue: depthValue(0, 7)}}, []vk.ClearRect{{Rect: area(1, 1), LayerCount: 1}}))
		return s.EndRenderPass()
	})
	for layer, want := range []byte{7, 0xa5, 7} {
		if got := h.texelAt(2, vk.IMAGE_ASPECT_STENCIL_BIT, uint32(layer), 0, 0)[0]; got != want {
			t.Errorf("stencil of layer %d is %#x, want %#x", layer, got, want)
		}
		depth := byte(0xff)
		if layer == 1 {
			depth = 0xa5
		}
		if got := h.texelAt(2, vk.IMAGE_ASPECT_DEPTH_BIT, uint32(layer), 5, 5)[0]; got != depth {
			t.Errorf("depth of layer %d is %#x, want %#x", layer, got, depth)
		}
	}
}

// TestDynamicRendering: what is suspended is not resolved, what is resumed not cleared again.
func TestDynamicRendering(t *testing.T) {
	h := passWorld(t)
	begin := func(flags vk.RenderingFlags, load vk.AttachmentLoadOp) *command.BeginRendering {
		return &command.BeginRendering{Flags: flags, Area: area(16, 8), Layers: 2, Attachments: []command.RenderingAttachment{
			{View: 4, Resolve: 1, Mode: vk.RESOLVE_MODE_AVERAGE_BIT, Load: load, Clear: value(1, 1, 0, 0)}, {}, {}}}
	}
	h.run(t, func(s *command.Stream) error {
		must(t, s.BeginRendering(begin(vk.RENDERING_SUSPENDING_BIT, vk.ATTACHMENT_LOAD_OP_CLEAR)))
		return s.EndRendering()
	})
	if got := h.texelAt(1, vk.IMAGE_ASPECT_COLOR_BIT, 0, 0, 0); string(got) != "\xa5\xa5\xa5\xa5" {
		t.Fatalf("a suspended rendering is resolved: %x", got)
	}
	h.run(t, func(s *command.Stream) error {
		blue := value(0, 0, 1, 1)
		must(t, s.ClearColorImage(4, 0, blue.Color(), []vk.ImageSubresourceRange{
			{AspectMask: vk.IMAGE_ASPECT_COLOR_BIT, LevelCount: 1, BaseArrayLayer: 1, LayerCount: 1}}))
		must(t, s.BeginRendering(begin(vk.RENDERING_RESUMING_BIT, vk.ATTACHMENT_LOAD_OP_CLEAR)))
		return s.EndRendering()
	})
	for layer, want := range []string{"\xff\xff\x00\x00", "\x00\x00\xff\xff"} {
		if got := h.texelAt(1, vk.IMAGE_ASPECT_COLOR_BIT, uint32(layer), 3, 3); string(got) != want {
			t.Errorf("layer %d is resolved to %x, want %x", layer, got, want)
		}
	}
}

// TestSecondaryInPass: a secondary command buffer goes on with the pass of the one that executes it.
func TestSecondaryInPass(t *testing.T) {
	h := passWorld(t)
	h.secondary[1] = h.record(t, func(s *command.Stream) {
		near := vk.ClearAttachment{AspectMask: vk.IMAGE_ASPECT_DEPTH_BIT, ClearValue: depthValue(0, 0)}
		must(t, s.ClearAttachments([]vk.ClearAttachment{near},
			[]vk.ClearRect{{Rect: area(1, 1), LayerCount: 1}}))
	}).stream
	h.run(t, func(s *command.Stream) error {
		must(t, s.BeginRendering(&command.BeginRendering{Area: area(16, 8), Layers: 1,
			Attachments: []command.RenderingAttachment{
				{View: 2, Load: vk.ATTACHMENT_LOAD_OP_CLEAR, Clear: depthValue(1, 0)},
				{View: 2, Load: vk.ATTACHMENT_LOAD_OP_CLEAR, Clear: depthValue(0, 3)}}}))
		must(t, s.ExecuteCommands([]vk.CommandBuffer{1}))
		return s.EndRendering()
	})
	a, b := h.texelAt(2, vk.IMAGE_ASPECT_DEPTH_BIT, 0, 0, 0)[0], h.texelAt(2, vk.IMAGE_ASPECT_DEPTH_BIT, 0, 1, 0)[0]
	if stencil := h.texelAt(2, vk.IMAGE_ASPECT_STENCIL_BIT, 0, 0, 0)[0]; a != 0 || b != 0xff || stencil != 3 {
		t.Errorf("depths %#x and %#x, stencil %d", a, b, stencil)
	}
}

// TestPassMisuse: each mistake loses the device with its rule, and nothing is written.
func TestPassMisuse(t *testing.T) {
	begin := func() *command.BeginRenderPass {
		return &command.BeginRenderPass{RenderPass: 1, Framebuffer: 1, Area: area(16, 8), Clears: make([]vk.ClearValue, 1)}
	}
	render := func(change func(c *command.BeginRendering)) func(s *command.Stream) error {
		return func(s *command.Stream) error {
			c := &command.BeginRendering{Area: area(16, 8), Layers: 1,
				Attachments: []command.RenderingAttachment{{View: 1}, {}, {}}}
			change(c)
			return s.BeginRendering(c)
		}
	}
	started := func(change func(c *command.BeginRenderPass)) func(s *command.Stream) error {
		return func(s *command.Stream) error {
			c := begin()
			change(c)
			return s.BeginRenderPass(c)
		}
	}
	inside := func(then func(s *command.Stream) error) func(s *command.Stream) error {
		return func(s *command.Stream) error {
			c := begin()
			c.Area = vk.Rect2D{}
			must(t, s.BeginRenderPass(c))
			return then(s)
		}
	}
	clearing := func(a vk.ClearAttachment, r vk.ClearRect) func(s *command.Stream) error {
		return inside(func(s *command.Stream) error {
			return s.ClearAttachments([]vk.ClearAttachment{a}, []vk.ClearRect{r})
		})
	}
	color := vk.ClearAttachment{AspectMask: vk.IMAGE_ASPECT_COLOR_BIT}
	for rule, commands := range map[vk.VUID]func(s *command.Stream) error{
		vk.VUID_VkRenderPassBeginInfo_renderPass_parameter:  started(func(c *command.BeginRenderPass) { c.RenderPass = 9 }),
		vk.VUID_VkRenderPassBeginInfo_framebuffer_parameter: started(func(c *command.BeginRenderPass) { c.Framebuffer = 9 }),
		vk.VUID_VkRenderPassBeginInfo_renderPass_00904:      started(func(c *command.BeginRenderPass) { c.RenderPass = 2 }),
		vk.VUID_VkRenderPassBeginInfo_framebuffer_03207: started(func(c *command.BeginRenderPass) {
			c.Views = []vk.ImageView{1}
		}),
		vk.VUID_VkRenderPassBeginInfo_framebuffer_03208: started(func(c *command.BeginRenderPass) {
			c.RenderPass, c.Framebuffer = 2, 2
		}),
		vk.VUID_VkFramebufferCreateInfo_pAttachments_00880: started(func(c *command.BeginRenderPass) {
			c.RenderPass, c.Framebuffer, c.Views = 2, 2, []vk.ImageView{1}
		}),
		vk.VUID_VkFramebufferCreateInfo_flags_02778: started(func(c *command.BeginRenderPass) {
			c.RenderPass, c.Framebuffer, c.Views = 2, 2, []vk.ImageView{0}
		}),
		vk.VUID_VkRenderPassBeginInfo_pNext_02850: started(func(c *command.BeginRenderPass) {
			c.Area.Offset.X = -1
		}),
		vk.VUID_VkRenderPassBeginInfo_pNext_02852: started(func(c *command.BeginRenderPass) {
			c.Area.Extent.Width = ^uint32(0)
		}),
		vk.VUID_VkRenderPassBeginInfo_pNext_02853: started(func(c *command.BeginRenderPass) {
			c.Area.Extent.Height = 9
		}),
		vk.VUID_VkRenderPassBeginInfo_clearValueCount_00902: started(func(c *command.BeginRenderPass) { c.Clears = nil }),
		vk.VUID_vkCmdBeginRenderPass_renderpass:             inside(started(func(*command.BeginRenderPass) {})),
		vk.VUID_vkCmdBeginRendering_renderpass:              inside(render(func(*command.BeginRendering) {})),
		vk.VUID_vkCmdNextSubpass_None_00909: inside(func(s *command.Stream) error {
			must(t, s.NextSubpass(0))
			return s.NextSubpass(0)
		}),
		vk.VUID_vkCmdEndRenderPass_None_00910:          inside((*command.Stream).EndRenderPass),
		vk.VUID_vkCmdEndRenderPass_renderpass:          (*command.Stream).EndRenderPass,
		vk.VUID_vkCmdEndRendering_None_06161:           inside((*command.Stream).EndRendering),
		vk.VUID_vkCmdNextSubpass_renderpass:            func(s *command.Stream) error { return s.NextSubpass(0) },
		vk.VUID_vkCmdClearAttachments_pRects_00016:     clearing(color, vk.ClearRect{Rect: area(1, 1), LayerCount: 1}),
		vk.VUID_vkCmdClearAttachments_rect_02682:       clearing(color, vk.ClearRect{Rect: area(0, 1), LayerCount: 1}),
		vk.VUID_VkClearAttachment_aspectMask_00019:     clearingAspects(begin, 3),
		vk.VUID_vkCmdClearAttachments_pRects_06937:     clearingLayers(begin, 2, 1),
		vk.VUID_vkCmdClearAttachments_layerCount_01934: clearingLayers(begin, 0, 0),
		vk.VUID_VkRenderingAttachmentInfo_imageView_parameter: render(func(c *command.BeginRendering) {
			c.Attachments[0].View = 77
		}),
		vk.VUID_VkFramebufferCreateInfo_flags_04535: render(func(c *command.BeginRendering) { c.Layers = 4 }),
	} {
		h := passWorld(t)
		q := h.queue(t)
		s := NewSubmission()
		s.Execute(h.record(t, func(s *command.Stream) { must(t, commands(s)) }))
		q.Submit(s)
		_ = q.WaitIdle() // the device is lost
		if text := h.loss(t); vk.VUIDOf(h.losses[0]) != rule {
			t.Errorf("want %v: %s (%v)", rule, text, vk.VUIDOf(h.losses[0]))
		}
		for i := range h.images {
			if a := h.images[i]; a != nil && bytes.Count(a.all, []byte{0xa5}) != len(a.all) {
				t.Errorf("%v: image %d changed", rule, i)
			}
		}
	}
}

func clearingAspects(begin func() *command.BeginRenderPass, aspects vk.ImageAspectFlags) func(*command.Stream) error {
	return func(s *command.Stream) error {
		c := begin()
		c.Area = vk.Rect2D{}
		if err := s.BeginRenderPass(c); err != nil {
			return err
		}
		return s.ClearAttachments([]vk.ClearAttachment{{AspectMask: aspects}}, []vk.ClearRect{{}})
	}
}

// clearingLayers clears layers of a pass that itself changes nothing.
func clearingLayers(begin func() *command.BeginRenderPass, first, count uint32) func(*command.Stream) error {
	return func(s *command.Stream) error {
		if err := s.BeginRendering(&command.BeginRendering{Area: area(16, 8), Layers: 2,
			Attachments: []command.RenderingAttachment{{View: 1}, {}, {}}}); err != nil {
			return err
		}
		return s.ClearAttachments([]vk.ClearAttachment{{AspectMask: vk.IMAGE_ASPECT_COLOR_BIT}},
			[]vk.ClearRect{{Rect: area(1, 1), BaseArrayLayer: first, LayerCount: count}})
	}
}

// TestPassCost says which passes the submitting thread may run.
func TestPassCost(t *testing.T) {
	h := passWorld(t)
	rendering := func(width uint32, load vk.AttachmentLoadOp, resolve vk.ImageView) func(*command.Stream) error {
		return func(s *command.Stream) error {
			return errors.Join(s.BeginRendering(&command.BeginRendering{Area: area(width, 1000), Layers: 1,
				Attachments: []command.RenderingAttachment{
					{View: 1, Load: load, Resolve: resolve, Mode: vk.RESOLVE_MODE_AVERAGE_BIT}, {}, {}}}), s.EndRendering())
		}
	}
	instance := func(p vk.RenderPass, width uint32) func(*command.Stream) error {
		return func(s *command.Stream) error {
			return errors.Join(s.BeginRenderPass(&command.BeginRenderPass{RenderPass: p, Framebuffer: vk.Framebuffer(p),
				Area: area(width, 8)}), s.NextSubpass(0), s.EndRenderPass())
		}
	}
	for what, test := range map[string]struct {
		add  func(s *command.Stream) error
		want bool
	}{
		"a rendering that loads":         {rendering(1000, vk.ATTACHMENT_LOAD_OP_LOAD, 0), true},
		"one that clears a little":       {rendering(8, vk.ATTACHMENT_LOAD_OP_CLEAR, 0), true},
		"one that clears much":           {rendering(1000, vk.ATTACHMENT_LOAD_OP_CLEAR, 0), false},
		"one that resolves much":         {rendering(1000, vk.ATTACHMENT_LOAD_OP_LOAD, 4), false},
		"a render pass of a few pixels":  {instance(1, 16), true},
		"one of many":                    {instance(1, 100000), false},
		"one of many that has no colors": {instance(2, 100000), false},
		"one that isn't there":           {instance(9, 100000), true},
		"one that draws": {func(s *command.Stream) error {
			return errors.Join(rendering(8, vk.ATTACHMENT_LOAD_OP_LOAD, 0)(s), s.Draw(3, 1, 0, 0))
		}, false},
	} {
		if got := immediate(h.record(t, func(s *command.Stream) { must(t, test.add(s)) }).stream, h); got != test.want {
			t.Errorf("%s: the submitting thread runs it: %v", what, got)
		}
	}
}

// wide makes the first image 200 x 100 texels: several tiles, so that its clears may wait.
func (h *hostile) wide(t *testing.T) {
	format, _ := texel.FormatOf(vk.FORMAT_R8G8B8A8_UNORM)
	layout, ok := texel.NewLayout(format, [3]uint32{200, 100, 1}, 1, 1, 1)
	if !ok {
		t.Fatal("no layout")
	}
	h.shapes[1] = transfer.Image{Layout: &layout, Format: vk.FORMAT_R8G8B8A8_UNORM, Type: vk.IMAGE_TYPE_2D}
	h.images[1] = newArena(t, int(layout.Size))
	h.without = vk.IMAGE_USAGE_ATTACHMENT_FEEDBACK_LOOP_BIT_EXT
}

// TestClearsLoop has no clear wait whose image draws may sample.
func TestClearsLoop(t *testing.T) {
	h := passWorld(t)
	h.wide(t)
	for _, loops := range []bool{false, true} {
		if loops {
			h.without = 0
		}
		r := &h.queue(t).replay
		must(t, r.beginRendering(&command.BeginRendering{Area: area(200, 100), Layers: 1,
			Attachments: []command.RenderingAttachment{
				{View: 1, Load: vk.ATTACHMENT_LOAD_OP_CLEAR, Clear: value(1, 0, 1, 0)}, {}, {}}}))
		if r.pass.Waits() == loops {
			t.Errorf("loops %v: a clear waits: %v", loops, r.pass.Waits())
		}
		must(t, r.endRendering())
		must(t, r.release())
	}
}

// TestClearsWait has clears that wait for draws be done before anybody looks: at the end of a rendering, also of one
// that is suspended, and before vkCmdClearAttachments.
func TestClearsWait(t *testing.T) {
	for _, flags := range []vk.RenderingFlags{0, vk.RENDERING_SUSPENDING_BIT} {
		h := passWorld(t)
		h.wide(t)
		h.run(t, func(s *command.Stream) error {
			must(t, s.BeginRendering(&command.BeginRendering{Flags: flags, Area: area(199, 99), Layers: 1,
				Attachments: []command.RenderingAttachment{
					{View: 1, Load: vk.ATTACHMENT_LOAD_OP_CLEAR, Clear: value(1, 0, 1, 0)}, {}, {}}}))
			if flags == 0 {
				green := vk.ClearAttachment{AspectMask: vk.IMAGE_ASPECT_COLOR_BIT, ClearValue: value(0, 1, 0, 1)}
				must(t, s.ClearAttachments([]vk.ClearAttachment{green}, []vk.ClearRect{{Rect: area(70, 1), LayerCount: 1}}))
			}
			return s.EndRendering()
		})
		for _, at := range [][2]uint32{{0, 0}, {69, 0}, {70, 0}, {0, 1}, {198, 98}, {199, 98}, {198, 99}} {
			want := "\xff\x00\xff\x00"
			switch x, y := at[0], at[1]; {
			case x == 199 || y == 99:
				want = "\xa5\xa5\xa5\xa5"
			case flags == 0 && y == 0 && x < 70:
				want = "\x00\xff\x00\xff"
			}
			if got := h.texelAt(1, vk.IMAGE_ASPECT_COLOR_BIT, 0, at[0], at[1]); string(got) != want {
				t.Errorf("flags %v: texel %v is %x, want %x", flags, at, got, want)
			}
		}
	}
}

// TestClearsSettle has the commands between draws that could let somebody look at attachments do the clears that wait,
// and no others.
func TestClearsSettle(t *testing.T) {
	h := passWorld(t)
	h.wide(t)
	img := h.shapes[1]
	img.Bytes = h.images[1].inside()
	of := value(1, 1, 1, 1)
	clearing, err := (&transfer.Area{Image: &img, Format: img.Format, Aspect: vk.IMAGE_ASPECT_COLOR_BIT,
		Rect: area(200, 100)}).Clearing(&of)
	must(t, err)
	for op, waits := range map[command.Op]bool{
		command.OpDraw: true, command.OpDrawIndexedIndirect: true, command.OpBindPipeline: true, command.OpSetState: true,
		command.OpBindDescriptorSets: true, command.OpPushConstants: true, command.OpBeginQuery: true,
		command.OpExecuteCommands: true, command.OpEndRendering: true, command.OpSetViewport: true,
		command.OpBarrier: false, command.OpWaitEvents: false, command.OpSetEvent: false, command.OpWriteTimestamp: false,
		command.OpWriteBufferMarkerAMD: false, command.OpCopyImage: false, command.OpDispatch: false,
	} {
		clear(img.Bytes)
		var c draw.Clears
		c.Begin(area(200, 100))
		if !c.Add(&clearing, 0) {
			t.Fatal("the clear doesn't wait")
		}
		r := &replay{pass: &draw.Pass{Clears: &c}}
		must(t, r.before(op))
		if r.pass.Waits() != waits || (img.Bytes[0] == 0) != waits {
			t.Errorf("%v: waits %v, and the first byte is %d", op, r.pass.Waits(), img.Bytes[0])
		}
	}
}
