package exec

import (
	"bytes"
	"errors"
	"slices"
	"strings"
	"testing"
	"unsafe"

	"farside/internal/command"
	"farside/internal/descriptor"
	"farside/internal/draw"
	"farside/internal/pass"
	"farside/internal/syncobj"
	"farside/internal/texel"
	"farside/internal/transfer"
	"farside/internal/vk"
	"farside/memory"
)

const guard = 4096 // bytes on each side of every object that no command may change

// arena is memory with guards around what commands may reach.
type arena struct {
	payload *memory.Payload
	all     []byte
}

func newArena(t testing.TB, size int) *arena {
	p, err := memory.NewAnonymous(uint64(size + 2*guard))
	must(t, err)
	b, err := p.Bytes()
	must(t, err)
	a := &arena{p, b}
	a.restore()
	return a
}

func (a *arena) inside() []byte { return a.all[guard : len(a.all)-guard : len(a.all)-guard] }

func (a *arena) restore() {
	for i := range a.all {
		a.all[i] = 0xa5
	}
}

func (a *arena) intact() bool {
	for i := range guard {
		if a.all[i] != 0xa5 || a.all[len(a.all)-1-i] != 0xa5 {
			return false
		}
	}
	return true
}

// hostile are the resources of FuzzReplay: handles 1 to 3 of each kind, and image 4, which is image 1 with four
// samples.
type hostile struct {
	*world
	buffers [4]*arena
	images  [5]*arena
	shapes  [5]transfer.Image
	without vk.ImageUsageFlags // usages that the images don't have
}

func (h *hostile) Buffer(b vk.Buffer) (Buffer, error) {
	if b == 0 || b >= vk.Buffer(len(h.buffers)) {
		return Buffer{}, errNone
	}
	a := h.buffers[b]
	return Buffer{Bytes: a.inside(), Usage: all, Payload: a.payload.Retain()}, nil
}

func (h *hostile) Image(i vk.Image) (Image, error) {
	if i == 0 || i >= vk.Image(len(h.images)) {
		return Image{}, errNone
	}
	a := h.images[i]
	shape := h.shapes[i]
	shape.Bytes = a.inside()
	return Image{Image: shape, Usage: ^h.without, Payload: a.payload.Retain()}, nil
}

// Attachment has views of all layers of the images, in their formats; views 5 and more are of levels that don't exist.
func (h *hostile) Attachment(v vk.ImageView) (AttachmentView, error) {
	i := (v-1)%4 + 1
	if v == 0 || v > 8 {
		return AttachmentView{}, errNone
	}
	s := &h.shapes[i]
	return AttachmentView{Image: vk.Image(i), Format: s.Format, Aspect: s.Layout.Format.Aspects(),
		Level: uint32(v-1) / 4 * 9, Layers: max(s.Layout.Layers, s.Layout.Extent[2])}, nil
}

// hostilePasses are a pass of colours with a resolve, and one of depths and stencils.
var hostilePasses = []pass.RenderPass{
	{Attachments: []pass.Attachment{
		{Format: vk.FORMAT_R8G8B8A8_UNORM, Samples: 4, Aspects: vk.IMAGE_ASPECT_COLOR_BIT, Load: vk.ATTACHMENT_LOAD_OP_CLEAR},
		{Format: vk.FORMAT_R8G8B8A8_UNORM, Samples: 1, Aspects: vk.IMAGE_ASPECT_COLOR_BIT}},
		Subpasses: []pass.Subpass{
			{Depth: pass.None, Stencil: pass.None,
				Colors: []pass.Reference{{Attachment: 0, Resolve: 1, Mode: vk.RESOLVE_MODE_AVERAGE_BIT}}},
			{Depth: pass.None, Stencil: pass.None, Colors: []pass.Reference{{Attachment: 1, Resolve: pass.Unused}}}}},
	{Attachments: []pass.Attachment{{Format: vk.FORMAT_D24_UNORM_S8_UINT, Samples: 1,
		Aspects: vk.IMAGE_ASPECT_DEPTH_BIT | vk.IMAGE_ASPECT_STENCIL_BIT, Load: vk.ATTACHMENT_LOAD_OP_CLEAR,
		StencilLoad: vk.ATTACHMENT_LOAD_OP_CLEAR}},
		Subpasses: []pass.Subpass{{ViewMask: 5, Depth: pass.Reference{Resolve: pass.Unused},
			Stencil: pass.Reference{Resolve: pass.Unused}}}},
}

func (h *hostile) RenderPass(p vk.RenderPass) (*pass.RenderPass, error) {
	if p == 0 || p > 2 {
		return nil, errNone
	}
	return &hostilePasses[p-1], nil
}

// Framebuffer has one for each pass: the first with its views, the second without.
func (h *hostile) Framebuffer(f vk.Framebuffer) (*Framebuffer, error) {
	if f == 0 || f > 2 {
		return nil, errNone
	}
	out := &Framebuffer{Pass: &hostilePasses[f-1], Views: []vk.ImageView{4, 1}, Extent: vk.Extent2D{Width: 16, Height: 8},
		Layers: 2, Imageless: f == 2, Count: uint32(3 - f)}
	return out, nil
}

// FuzzReplay executes any bytes as a command stream. Nothing may panic, nothing may be written outside of the
// buffers and images, and no reference may be lost.
func FuzzReplay(f *testing.F) {
	h := &hostile{world: newWorld(f)}
	h.Device.Resources = h
	must(f, h.Stop.Signal(1)) // waits for events and queries end at once
	formats := []vk.Format{0, vk.FORMAT_R8G8B8A8_UNORM, vk.FORMAT_D24_UNORM_S8_UINT, vk.FORMAT_BC1_RGBA_UNORM_BLOCK}
	for i := 1; i < 4; i++ {
		h.buffers[i] = newArena(f, 1<<(4+3*i))
		format, _ := texel.FormatOf(formats[i])
		layout, ok := texel.NewLayout(format, [3]uint32{16, 8, uint32(1 + i/3)}, 3, uint32(3-i/3*2), 1)
		if !ok {
			f.Fatal("no layout")
		}
		h.shapes[i] = transfer.Image{Layout: &layout, Format: formats[i], Type: vk.IMAGE_TYPE_2D + vk.ImageType(i/3)}
		h.images[i] = newArena(f, int(layout.Size))
		h.events[vk.Event(i)] = syncobj.New(syncobj.Fence, 0)
		pool, err := NewQueryPool(vk.QUERY_TYPE_TIMESTAMP, 3)
		must(f, err)
		h.pools[vk.QueryPool(i)] = pool
	}
	format, _ := texel.FormatOf(formats[1])
	multisampled, ok := texel.NewLayout(format, [3]uint32{16, 8, 1}, 1, 2, 4)
	if !ok {
		f.Fatal("no layout")
	}
	h.shapes[4] = transfer.Image{Layout: &multisampled, Format: formats[1], Type: vk.IMAGE_TYPE_2D}
	h.images[4] = newArena(f, int(multisampled.Size))
	set := descriptor.NewSet(layout(f), 0)
	h.sets[1], h.sets[2] = set, set
	h.pipelines[1] = &Pipeline{Program: empty(7)}
	h.pipelines[2] = &Pipeline{Program: empty(64), Base: true, Sets: []*descriptor.Layout{nil, set.Layout()},
		Uses: []uint32{1}}
	h.pipelines[3] = &Pipeline{Program: endless()} // ends at once, as waits do
	h.secondary[1] = h.record(f, func(s *command.Stream) {
		must(f, s.FillBuffer(1, 0, 4, 1))
		must(f, s.DebugLabel(command.LabelBegin, [4]float32{}, "secondary"))
	}).stream
	l := layout(f)
	h.sets[1] = descriptor.NewSet(l, 0)
	h.pipelines[1] = &Pipeline{Program: empty(1), Sets: []*descriptor.Layout{l}, Uses: []uint32{0}, Base: true}
	pass := hostileDraws(f, h)
	for _, seed := range seeds(f) {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		q := NewQueue(&h.Device)
		s := raw(t, data)
		defer s.Reset()
		for _, q.replay.pass = range []*draw.Pass{pass, nil} {
			// Errors are what most streams end with; a panic would come back as one too.
			if err := q.execute(s, 1); err != nil && len(q.replay.held) != 0 {
				t.Errorf("%d references are held after %v", len(q.replay.held), err)
			} else if err != nil && strings.Contains(err.Error(), "panic:") {
				t.Error(err)
			}
		}
		immediate(s, h)
		for _, a := range slices.Concat(h.buffers[1:], h.images[1:]) {
			if !a.intact() {
				t.Errorf("bytes outside of %d bytes of a buffer or an image changed", len(a.inside()))
				a.restore()
			}
		}
	})
}

// hostileDraws adds pipelines 4 and 5, shader objects 1 to 4, and pools of queries for draws. Each draw's state must
// keep its promises.
func hostileDraws(f *testing.F, h *hostile) *draw.Pass {
	h.Graphics = true
	state := draw.State{Samples: 1, Viewports: make([]vk.Viewport, 2), Scissors: make([]vk.Rect2D, 2),
		Blends: make([]draw.Blend, 2), Bindings: map[uint32]draw.VertexBinding{1: {Stride: 8}},
		Attributes: []draw.VertexAttribute{{Binding: 1, Format: vk.FORMAT_R8_UNORM}}}
	h.pipelines[4] = &Pipeline{Graphics: &Graphics{State: state}}
	h.pipelines[5] = &Pipeline{Graphics: &Graphics{State: state, Dynamic: 1<<len(stateRows) - 1}}
	h.object(1, &Shader{Stage: vertexBit})
	h.object(2, &Shader{Stage: vertexBit, Sets: h.pipelines[1].Sets, Uses: []uint32{0}})
	h.object(3, &Shader{Stage: fragmentBit})
	h.object(4, &Shader{Stage: computeBit, Base: true})
	var err error
	h.pools[4], err = NewDrawQueryPool(vk.QUERY_TYPE_OCCLUSION, 3, 0)
	must(f, err)
	h.pools[5], err = NewDrawQueryPool(vk.QUERY_TYPE_PIPELINE_STATISTICS, 3, 0x7ff)
	must(f, err)
	before := executeDraw
	f.Cleanup(func() { executeDraw = before })
	executeDraw = func(_ *draw.Series, d *draw.Draw) error {
		s := d.State
		if len(s.Viewports) != len(s.Scissors) && !s.NoRasterizer || len(s.Viewports) > MaxViewports ||
			len(s.Blends) > MaxColors || s.Samples != d.Pass.Samples {
			panic("a draw whose state has not been checked")
		}
		for _, a := range s.Attributes {
			if b := s.Bindings[a.Binding]; b.Stride > MaxVertexStride || a.Location >= MaxVertexAttributes {
				panic("a draw whose vertex input has not been checked")
			}
		}
		return nil
	}
	return &draw.Pass{Samples: 1, Colors: make([]draw.Target, 3)}
}

// raw makes a stream that holds data as it is, in whole words, behind a command that has brought it a layout.
func raw(t testing.TB, data []byte) *command.Stream {
	w := new(command.Window)
	s := command.NewStream(new(command.Pool), w)
	must(t, s.Begin())
	must(t, s.PushDescriptorSet(compute1, layout(t), 0, nil))
	room := int(w.Limit-w.Cursor) / 8 * 8
	n := min(len(data)/8*8, room)
	copy(unsafe.Slice((*byte)(pointer(w.Cursor)), room), data[:n])
	w.Cursor += uintptr(n)
	s.End()
	return s
}

// seeds are the bytes of streams with one valid command of every kind.
func seeds(f *testing.F) [][]byte {
	layers := vk.ImageSubresourceLayers{AspectMask: vk.IMAGE_ASPECT_COLOR_BIT, LayerCount: 1}
	extent := vk.Extent3D{Width: 4, Height: 4, Depth: 1}
	ranges := []vk.ImageSubresourceRange{{AspectMask: vk.IMAGE_ASPECT_COLOR_BIT, LevelCount: 1, LayerCount: 1}}
	depth := []vk.ImageSubresourceRange{{AspectMask: vk.IMAGE_ASPECT_DEPTH_BIT, LevelCount: 1, LayerCount: 1}}
	blit := vk.ImageBlit{SrcSubresource: layers, DstSubresource: layers}
	blit.SrcOffsets[1], blit.DstOffsets[1] = vk.Offset3D{X: 16, Y: 8, Z: 1}, vk.Offset3D{X: 5, Y: 3, Z: 1}
	resolve := vk.ImageResolve{SrcSubresource: layers, DstSubresource: layers, Extent: extent}
	copies := []vk.BufferImageCopy{{ImageSubresource: layers, ImageExtent: extent}}
	var out [][]byte
	for _, add := range []func(s *command.Stream) error{
		func(s *command.Stream) error { return s.FillBuffer(1, 0, vk.WHOLE_SIZE, 7) },
		func(s *command.Stream) error { return s.UpdateBuffer(2, 8, []byte("12345678")) },
		func(s *command.Stream) error { return s.CopyBuffer(2, 3, []vk.BufferCopy{{Size: 64}}) },
		func(s *command.Stream) error {
			return s.CopyImage(1, 0, 1, 0,
				[]vk.ImageCopy{{SrcSubresource: layers, DstSubresource: layers, DstOffset: vk.Offset3D{X: 8}, Extent: extent}})
		},
		func(s *command.Stream) error { return s.CopyBufferToImage(3, 1, 0, copies) },
		func(s *command.Stream) error { return s.CopyImageToBuffer(3, 0, 3, copies) },
		func(s *command.Stream) error { return s.BlitImage(1, 0, 1, 0, []vk.ImageBlit{blit}, vk.FILTER_LINEAR) },
		func(s *command.Stream) error { return s.ResolveImage(4, 0, 1, 0, []vk.ImageResolve{resolve}) },
		func(s *command.Stream) error { return s.ClearColorImage(1, 0, new(vk.ClearColorValue), ranges) },
		func(s *command.Stream) error {
			return s.ClearDepthStencilImage(2, 0, new(vk.ClearDepthStencilValue), depth)
		},
		func(s *command.Stream) error { return s.SetEvent(1, 0) },
		func(s *command.Stream) error { return s.WaitEvents([]vk.Event{1, 2}, 0, 0) },
		func(s *command.Stream) error { return s.ResetQueryPool(1, 0, 3) },
		func(s *command.Stream) error { return s.WriteTimestamp(0, 1, 2) },
		func(s *command.Stream) error { return s.CopyQueryPoolResults(1, 0, 3, 3, 0, 8, vk.QUERY_RESULT_64_BIT) },
		func(s *command.Stream) error { return s.ExecuteCommands([]vk.CommandBuffer{1, 1}) },
		func(s *command.Stream) error { return s.WriteBufferMarkerAMD(0, 2, 4, 9) },
		func(s *command.Stream) error { return s.SetLocations([]uint32{1, 0}) },
		func(s *command.Stream) error { return s.SetInputs([]uint32{1, 0, command.InputWithout, 2}) },
		func(s *command.Stream) error { return s.DebugLabel(command.LabelBegin, [4]float32{}, "label") },
		func(s *command.Stream) error {
			return errors.Join(s.BindPipeline(compute1, 1), s.PushConstants(0, 0, 8, []byte("12345678")), s.Dispatch(2, 3, 4))
		},
		func(s *command.Stream) error {
			return errors.Join(s.BindDescriptorSets(compute1, 0, 1, []vk.DescriptorSet{1, 2}, []uint32{4, 8}),
				s.BindPipeline(compute1, 2), s.DispatchBase(1, 2, 3, 4, 5, 6))
		},
		func(s *command.Stream) error {
			return errors.Join(s.FillBuffer(2, 0, 12, 1), s.BindPipeline(compute1, 3), s.DispatchIndirect(2, 0))
		},
		func(s *command.Stream) error {
			return errors.Join(setUp(s), bindOne(s, vertexBit, 1), bindOne(s, fragmentBit, 3), s.Draw(3, 1, 0, 0),
				bindOne(s, vertexBit, 2), s.Draw(3, 1, 0, 0))
		},
		func(s *command.Stream) error {
			return errors.Join(bindOne(s, computeBit, 4), s.DispatchBase(1, 2, 3, 4, 5, 6))
		},
		func(s *command.Stream) error {
			return s.PushDescriptorSet(compute1, layout(f), 0,
				[]descriptor.Write{bufferWrite(0, 0, 1, 0, 16), bufferWrite(0, 1, 2, 4, 8)})
		},
		func(s *command.Stream) error {
			return errors.Join(s.BindPipeline(compute1, 1), s.PushConstants(0, 0, 4, make([]byte, 8)), s.Dispatch(1, 2, 3),
				s.DispatchBase(1, 1, 1, 1, 1, 1))
		},
		func(s *command.Stream) error {
			whole := command.BeginRenderPass{RenderPass: 1, Framebuffer: 1, Area: area(16, 8), Clears: make([]vk.ClearValue, 2)}
			return errors.Join(s.BeginRenderPass(&whole), s.NextSubpass(0), s.EndRenderPass())
		},
		func(s *command.Stream) error {
			depths := command.BeginRenderPass{RenderPass: 2, Framebuffer: 2, Area: area(5, 3), Clears: make([]vk.ClearValue, 1),
				Views: []vk.ImageView{2}}
			return errors.Join(s.BeginRenderPass(&depths), s.ClearAttachments(
				[]vk.ClearAttachment{{AspectMask: vk.IMAGE_ASPECT_STENCIL_BIT}},
				[]vk.ClearRect{{Rect: area(3, 3), LayerCount: 1}}), s.EndRenderPass())
		},
		func(s *command.Stream) error {
			rendering := command.BeginRendering{Area: area(16, 8), Layers: 2, Attachments: []command.RenderingAttachment{
				{View: 4, Resolve: 1, Mode: vk.RESOLVE_MODE_AVERAGE_BIT, Load: vk.ATTACHMENT_LOAD_OP_CLEAR}, {}, {}}}
			return errors.Join(s.BeginRendering(&rendering), s.ClearAttachments(
				[]vk.ClearAttachment{{AspectMask: vk.IMAGE_ASPECT_COLOR_BIT}},
				[]vk.ClearRect{{Rect: area(3, 3), BaseArrayLayer: 1, LayerCount: 1}}), s.EndRendering())
		},
		func(s *command.Stream) error {
			return errors.Join(s.BindPipeline(compute1, 1),
				s.BindDescriptorSets(compute1, 0, 0, []vk.DescriptorSet{1}, []uint32{4}), s.FillBuffer(1, 0, 16, 1),
				s.DispatchIndirect(1, 4))
		},
		func(s *command.Stream) error {
			return errors.Join(s.BindPipeline(graphics1, 4), s.BindIndexBuffer(1, 2, vk.INDEX_TYPE_UINT16),
				s.BindVertexBuffers2(1, true, []command.VertexBuffer{{Buffer: 2, Offset: 8, Size: 16, Stride: 4}}),
				s.BeginQuery(4, 0, 1), s.Draw(1, 2, 3, 4), s.DrawIndexed(1, 2, 3, -4, 5), s.EndQuery(4, 0),
				s.DrawMulti(true, 1, 2, []command.Multi{{First: 3, Count: 4, VertexOffset: 5}}))
		},
		func(s *command.Stream) error {
			return errors.Join(s.BindPipeline(graphics1, 4), s.BindIndexBuffer2(1, 2, 4, vk.INDEX_TYPE_UINT8),
				s.FillBuffer(2, 0, 40, 1), s.BindVertexBuffers2(1, false, []command.VertexBuffer{{}}),
				s.DrawIndirect(2, 0, 2, 16), s.DrawIndexedIndirect(2, 0, 1, 0), s.DrawIndirectCount(2, 0, 2, 36, 2, 16),
				s.DrawIndexedIndirectCount(2, 0, 2, 36, 2, 20))
		},
		func(s *command.Stream) error {
			return errors.Join(s.BindPipeline(graphics1, 5), s.SetViewport(1, []vk.Viewport{{Width: 4, Height: 5}}),
				s.SetScissor(0, make([]vk.Rect2D, 1)), s.SetViewportWithCount([]vk.Viewport{{Width: 4, Height: 5}}),
				s.SetScissorWithCount(make([]vk.Rect2D, 1)), s.SetState(vk.DYNAMIC_STATE_RASTERIZATION_SAMPLES_EXT, 1),
				s.SetState(vk.DYNAMIC_STATE_COLOR_BLEND_EQUATION_EXT, 1, 1, 2, 3, 4, 5, 1),
				s.SetState(vk.DYNAMIC_STATE_VERTEX_INPUT_EXT, 1, 1, 2, 12, 1, 3, 5, 2, uint32(vk.FORMAT_R32G32_SFLOAT), 4),
				s.BindVertexBuffers2(2, true, []command.VertexBuffer{{Buffer: 1, Size: 8, Stride: 24}}), s.BeginQuery(5, 1, 0),
				s.Draw(3, 1, 0, 0), s.EndQuery(5, 1))
		},
	} {
		window := new(command.Window)
		s := command.NewStream(new(command.Pool), window)
		must(f, s.Begin())
		begin := window.Cursor
		must(f, add(s))
		out = append(out, bytes.Clone(unsafe.Slice((*byte)(pointer(begin)), window.Cursor-begin)))
		s.Reset()
	}
	return out
}

// pointer types an address outside of Go's heap.
func pointer(address uintptr) unsafe.Pointer { return *(*unsafe.Pointer)(unsafe.Pointer(&address)) }
