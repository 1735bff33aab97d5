package exec

import (
	"errors"
	"math"
	"reflect"
	"slices"
	"testing"

	"farside/internal/command"
	"farside/internal/descriptor"
	"farside/internal/draw"
	"farside/internal/vk"
)

const graphics1 = vk.PIPELINE_BIND_POINT_GRAPHICS

// drawn is what a draw was executed with.
type drawn struct {
	indexed                                 bool
	first, count, instance, instances, next uint32
	offset                                  int32
	state                                   draw.State
	buffers                                 []int // bytes of each binding in use
	indices                                 int
}

// drawTest is a world that draws: pipelines 1 to 3 and the draws that were executed.
type drawTest struct {
	*world
	pass  draw.Pass
	draws []drawn
	err   error           // of a draw
	adds  draw.Statistics // by each draw
}

func newDrawTest(t testing.TB) *drawTest {
	d := &drawTest{world: newWorld(t), pass: draw.Pass{Samples: 1, Colors: make([]draw.Target, 2)}}
	d.Graphics = true
	before := executeDraw
	executeDraw = func(_ *draw.Series, c *draw.Draw) error {
		at := drawn{c.Indexed, c.First, c.Count, c.Instance, c.Instances, c.DrawIndex, c.VertexOffset, *c.State, nil,
			len(c.Indices)}
		for _, a := range c.State.Attributes {
			at.buffers = append(at.buffers, len(c.Buffers[a.Binding].Bytes))
		}
		at.state.Viewports, at.state.Scissors = slices.Clone(at.state.Viewports), slices.Clone(at.state.Scissors)
		at.state.Blends = slices.Clone(at.state.Blends)
		d.draws = append(d.draws, at)
		if s := c.Statistics; s != nil {
			s.Samples += d.adds.Samples
			for i := range s.Counts {
				s.Counts[i] += d.adds.Counts[i]
			}
		}
		return d.err
	}
	t.Cleanup(func() { executeDraw = before })
	d.buffer(t, 1, 256)
	state := draw.State{Samples: 1, Viewports: make([]vk.Viewport, 1), Scissors: make([]vk.Rect2D, 1),
		Blends: make([]draw.Blend, 2)}
	d.pipelines[1] = &Pipeline{Graphics: &Graphics{State: state}}
	dynamic := DynamicStates(0)
	for i := range stateRows {
		dynamic |= 1 << i
	}
	d.pipelines[2] = &Pipeline{Graphics: &Graphics{State: state, Dynamic: dynamic}}
	state.Bindings = map[uint32]draw.VertexBinding{3: {Stride: 8}}
	state.Attributes = []draw.VertexAttribute{{Location: 1, Binding: 3, Format: vk.FORMAT_R8_UNORM}}
	d.pipelines[3] = &Pipeline{Graphics: &Graphics{State: state}}
	return d
}

// execute draws what add records.
func (d *drawTest) execute(t testing.TB, add func(s *command.Stream) error) error {
	t.Helper()
	d.draws = nil
	q := NewQueue(&d.Device)
	q.replay.pass = &d.pass
	err := q.execute(d.record(t, func(s *command.Stream) { must(t, add(s)) }).stream, 1)
	if len(q.replay.held) > 0 {
		t.Error("references are held")
	}
	return err
}

func TestDraws(t *testing.T) {
	d := newDrawTest(t)
	words := []uint32{5, 6, 7, 8, 9, 1, 2, 3, 4, 5}
	if err := d.execute(t, func(s *command.Stream) error {
		data := make([]byte, 0, 64)
		for _, w := range words {
			data = append(data, byte(w), 0, 0, 0)
		}
		return errors.Join(s.UpdateBuffer(1, 64, data), s.FillBuffer(1, 128, 4, 2), s.BindPipeline(graphics1, 3),
			s.BindVertexBuffers2(2, false, []command.VertexBuffer{{Buffer: 1, Offset: 100, Size: 20},
				{Buffer: 1, Offset: 56, Size: vk.WHOLE_SIZE}}),
			s.Draw(3, 1, 2, 4), s.Draw(3, 0, 0, 0), s.Draw(0, 3, 0, 0),
			s.BindIndexBuffer(1, 8, vk.INDEX_TYPE_UINT16), s.DrawIndexed(1, 2, 3, -4, 5),
			s.BindIndexBuffer2(1, 8, 6, vk.INDEX_TYPE_UINT8), s.DrawIndexed(1, 2, 3, -4, 5),
			s.DrawIndirect(1, 64, 2, 20), s.DrawIndexedIndirect(1, 64, 1, 0),
			s.DrawIndirectCount(1, 64, 1, 128, 1, 16), s.DrawIndexedIndirectCount(1, 64, 1, 128, 9, 20),
			s.DrawMulti(false, 3, 4, []command.Multi{{First: 1, Count: 2}, {}, {First: 5, Count: 6}}),
			s.DrawMulti(true, 3, 4, []command.Multi{{First: 1, Count: 2, VertexOffset: -3}}),
			s.BindVertexBuffers2(3, false, []command.VertexBuffer{{}}), s.Draw(3, 1, 2, 4))
	}); err != nil {
		t.Fatal(err)
	}
	want := []drawn{
		{first: 2, count: 3, instance: 4, instances: 1}, {true, 3, 1, 5, 2, 0, -4, draw.State{}, nil, 248},
		{true, 3, 1, 5, 2, 0, -4, draw.State{}, nil, 6},
		{first: 7, count: 5, instances: 6, instance: 8}, {first: 3, count: 1, instances: 2, instance: 4, next: 1},
		{true, 7, 5, 9, 6, 0, 8, draw.State{}, nil, 6}, {first: 7, count: 5, instances: 6, instance: 8},
		{true, 7, 5, 9, 6, 0, 8, draw.State{}, nil, 6}, {true, 3, 1, 5, 2, 1, 4, draw.State{}, nil, 6},
		{first: 1, count: 2, instances: 3, instance: 4}, {first: 5, count: 6, instances: 3, instance: 4, next: 2},
		{true, 1, 2, 4, 3, 0, -3, draw.State{}, nil, 6}, {first: 2, count: 3, instance: 4, instances: 1},
	}
	if len(d.draws) != len(want) {
		t.Fatalf("%d draws, want %d", len(d.draws), len(want))
	}
	for i, got := range d.draws {
		bytes := 200
		if i == len(want)-1 {
			bytes = 0 // VK_NULL_HANDLE
		}
		if !slices.Equal(got.buffers, []int{bytes}) {
			t.Errorf("draw %d: vertex buffers of %d bytes", i, got.buffers)
		}
		got.state, got.buffers = draw.State{}, nil
		if !got.indexed {
			got.indices = 0
		}
		if !reflect.DeepEqual(got, want[i]) {
			t.Errorf("draw %d: %+v, want %+v", i, got, want[i])
		}
	}
}

func TestDrawRules(t *testing.T) {
	d := newDrawTest(t)
	l := layout(t)
	d.sets[1] = descriptor.NewSet(l, 0)
	d.pipelines[4] = &Pipeline{Graphics: &Graphics{State: draw.State{Samples: 4}}}
	d.pipelines[5] = &Pipeline{Graphics: &Graphics{State: draw.State{Samples: 1}}, Sets: []*descriptor.Layout{l},
		Uses: []uint32{0}}
	d.pipelines[6] = &Pipeline{Program: empty(1)}
	d.pipelines[7] = &Pipeline{Graphics: &Graphics{}, Library: true}
	d.secondary[1] = d.record(t, func(s *command.Stream) { must(t, s.Draw(3, 1, 0, 0)) }).stream
	nan := float32(math.NaN())
	for _, test := range []struct {
		name string
		pass bool
		add  func(s *command.Stream) error
		want string
	}{
		{"no render pass", false, func(s *command.Stream) error { return s.Draw(3, 1, 0, 0) }, "VUID-vkCmdDraw-renderpass"},
		{"no pipeline", true, func(s *command.Stream) error { return s.Draw(3, 1, 0, 0) }, "VUID-vkCmdDraw-None-08606"},
		{"a secondary inherits no pipeline", true, func(s *command.Stream) error {
			return errors.Join(s.BindPipeline(graphics1, 1), s.ExecuteCommands([]vk.CommandBuffer{1}))
		}, "VUID-vkCmdDraw-None-08606"},
		{"a compute pipeline", true, func(s *command.Stream) error { return s.BindPipeline(graphics1, 6) },
			"VUID-vkCmdBindPipeline-pipelineBindPoint-00780"},
		{"a graphics pipeline for compute", true, func(s *command.Stream) error { return s.BindPipeline(compute1, 1) },
			"VUID-vkCmdBindPipeline-pipelineBindPoint-00779"},
		{"a library", true, func(s *command.Stream) error { return s.BindPipeline(graphics1, 7) },
			"VUID-vkCmdBindPipeline-pipeline-03382"},
		{"other samples", true, func(s *command.Stream) error {
			return errors.Join(s.BindPipeline(graphics1, 4), s.Draw(3, 1, 0, 0))
		}, "VUID-vkCmdDraw-multisampledRenderToSingleSampled-07285"},
		{"no set", true, func(s *command.Stream) error {
			return errors.Join(s.BindPipeline(graphics1, 5),
				s.BindDescriptorSets(compute1, 0, 0, []vk.DescriptorSet{1}, []uint32{4}), s.DrawIndirect(1, 0, 1, 0))
		}, "VUID-vkCmdDrawIndirect-None-08600"},
		{"a set", true, func(s *command.Stream) error {
			return errors.Join(s.BindPipeline(graphics1, 5),
				s.BindDescriptorSets(graphics1, 0, 0, []vk.DescriptorSet{1}, []uint32{4}), s.Draw(3, 1, 0, 0))
		}, ""},
		{"no vertices", true, func(s *command.Stream) error {
			return errors.Join(s.BindPipeline(graphics1, 3), s.Draw(3, 1, 0, 0))
		}, "VUID-vkCmdDraw-None-04007"},
		{"no indices", true, func(s *command.Stream) error {
			return errors.Join(s.BindPipeline(graphics1, 1), s.DrawIndexed(3, 1, 0, 0, 0))
		}, "VUID-vkCmdDrawIndexed-None-07312"},
		{"vertices beyond the buffer", true, func(s *command.Stream) error {
			return s.BindVertexBuffers2(0, false, []command.VertexBuffer{{Buffer: 1, Offset: 256, Size: vk.WHOLE_SIZE}})
		}, "VUID-vkCmdBindVertexBuffers-pOffsets-00626"},
		{"vertices that reach beyond", true, func(s *command.Stream) error {
			return s.BindVertexBuffers2(0, false, []command.VertexBuffer{{Buffer: 1, Offset: 255, Size: 2}})
		}, "VUID-vkCmdBindVertexBuffers2-pSizes-03358"},
		{"a stride", true, func(s *command.Stream) error {
			return s.BindVertexBuffers2(0, true, []command.VertexBuffer{{Stride: MaxVertexStride + 1}})
		}, "VUID-vkCmdBindVertexBuffers2-pStrides-03362"},
		{"too many bindings", true, func(s *command.Stream) error {
			return s.BindVertexBuffers2(math.MaxUint32, false, []command.VertexBuffer{{}})
		}, "VUID-vkCmdBindVertexBuffers-firstBinding-00625"},
		{"no such buffer", true, func(s *command.Stream) error {
			return s.BindVertexBuffers2(0, false, []command.VertexBuffer{{Buffer: 9}})
		}, "VUID-vkCmdBindVertexBuffers-pBuffers-parameter"},
		{"an odd offset of indices", true, func(s *command.Stream) error {
			return s.BindIndexBuffer(1, 2, vk.INDEX_TYPE_UINT32)
		}, "VUID-vkCmdBindIndexBuffer-offset-08783"},
		{"a type of indices", true, func(s *command.Stream) error { return s.BindIndexBuffer(1, 2, 99) },
			"VUID-vkCmdBindIndexBuffer-indexType-parameter"},
		{"an odd offset", true, func(s *command.Stream) error { return s.DrawIndirect(1, 2, 1, 0) },
			"VUID-vkCmdDrawIndirect-offset-02710"},
		{"a draw beyond the buffer", true, func(s *command.Stream) error { return s.DrawIndexedIndirect(1, 240, 1, 0) },
			"VUID-vkCmdDrawIndexedIndirect-drawCount-00539"},
		{"draws beyond the buffer", true, func(s *command.Stream) error {
			return s.DrawIndirect(1, 240, math.MaxUint32, math.MaxUint32-3)
		}, "VUID-vkCmdDrawIndirect-drawCount-00488"},
		{"a short stride", true, func(s *command.Stream) error { return s.DrawIndirect(1, 0, 2, 12) },
			"VUID-vkCmdDrawIndirect-drawCount-00476"},
		{"a count beyond the buffer", true, func(s *command.Stream) error {
			return s.DrawIndirectCount(1, 0, 1, 256, 1, 16)
		}, "VUID-vkCmdDrawIndirectCount-countBufferOffset-04129"},
		{"an odd offset of the count", true, func(s *command.Stream) error {
			return s.DrawIndexedIndirectCount(1, 0, 1, 2, 1, 20)
		}, "VUID-vkCmdDrawIndexedIndirectCount-countBufferOffset-02716"},
		{"no viewport", true, func(s *command.Stream) error {
			return errors.Join(s.BindPipeline(graphics1, 2), s.Draw(3, 1, 0, 0))
		}, "VUID-vkCmdDraw-viewportCount-03417"},
		{"a viewport without width", true, func(s *command.Stream) error { return s.SetViewport(0, []vk.Viewport{{}}) },
			"VUID-VkViewport-width-01770"},
		{"a viewport nowhere", true, func(s *command.Stream) error {
			return s.SetViewport(0, []vk.Viewport{{X: nan, Width: 1}})
		}, "VUID-VkViewport-x-01774"},
		{"too many viewports", true, func(s *command.Stream) error {
			return s.SetViewport(MaxViewports, []vk.Viewport{{Width: 1}})
		}, "VUID-vkCmdSetViewport-firstViewport-01223"},
		{"a negative scissor", true, func(s *command.Stream) error {
			return s.SetScissor(0, []vk.Rect2D{{Offset: vk.Offset2D{X: -1}}})
		}, "VUID-vkCmdSetScissor-x-00595"},
		{"a scissor that overflows", true, func(s *command.Stream) error {
			return s.SetScissorWithCount([]vk.Rect2D{{Offset: vk.Offset2D{X: 1}, Extent: vk.Extent2D{Width: math.MaxInt32}}})
		}, "VUID-vkCmdSetScissor-offset-00596"},
		{"a state that nobody knows", true, func(s *command.Stream) error { return s.SetState(99, 1) },
			"command 0, dynamic state: the recorded command is damaged"},
		{"locations without a rendering", false, func(s *command.Stream) error { return s.SetLocations([]uint32{0, 1}) },
			"VUID-vkCmdSetRenderingAttachmentLocations-renderpass"},
		{"a query that is not active", true, func(s *command.Stream) error { return s.EndQuery(1, 0) },
			"VUID-vkCmdEndQuery-queryPool-parameter"},
	} {
		pass := d.pass
		q := NewQueue(&d.Device)
		if test.pass {
			q.replay.pass = &pass
		}
		err := q.execute(d.record(t, func(s *command.Stream) { must(t, test.add(s)) }).stream, 1)
		got := ""
		if err != nil {
			if got = vk.VUIDOf(err).String(); got == "" {
				got = err.Error()
			}
		}
		if got != test.want {
			t.Errorf("%s: %v, want %s", test.name, err, test.want)
		}
	}
}

// TestDynamicState sets each dynamic state and looks at the state of the draw.
func TestDynamicState(t *testing.T) {
	d := newDrawTest(t)
	f := command.Bits
	sets := map[vk.DynamicState][]uint32{
		vk.DYNAMIC_STATE_LINE_WIDTH: {f(2.5)}, vk.DYNAMIC_STATE_DEPTH_BIAS: {f(1), f(2), f(3), 1, 1},
		vk.DYNAMIC_STATE_BLEND_CONSTANTS: {f(1), f(2), f(3), f(4)}, vk.DYNAMIC_STATE_DEPTH_BOUNDS: {f(0.25), f(0.5)},
		vk.DYNAMIC_STATE_STENCIL_COMPARE_MASK: {3, 7}, vk.DYNAMIC_STATE_STENCIL_WRITE_MASK: {1, 8},
		vk.DYNAMIC_STATE_STENCIL_REFERENCE: {2, 9}, vk.DYNAMIC_STATE_STENCIL_OP: {3, 1, 2, 3, 4},
		vk.DYNAMIC_STATE_CULL_MODE: {2}, vk.DYNAMIC_STATE_FRONT_FACE: {1}, vk.DYNAMIC_STATE_PRIMITIVE_TOPOLOGY: {4},
		vk.DYNAMIC_STATE_PRIMITIVE_RESTART_ENABLE: {1}, vk.DYNAMIC_STATE_DEPTH_TEST_ENABLE: {1},
		vk.DYNAMIC_STATE_DEPTH_WRITE_ENABLE: {1}, vk.DYNAMIC_STATE_DEPTH_COMPARE_OP: {5},
		vk.DYNAMIC_STATE_DEPTH_BOUNDS_TEST_ENABLE: {1}, vk.DYNAMIC_STATE_STENCIL_TEST_ENABLE: {1},
		vk.DYNAMIC_STATE_RASTERIZER_DISCARD_ENABLE: {0}, vk.DYNAMIC_STATE_DEPTH_BIAS_ENABLE: {1},
		vk.DYNAMIC_STATE_LOGIC_OP_EXT: {6}, vk.DYNAMIC_STATE_LOGIC_OP_ENABLE_EXT: {1},
		vk.DYNAMIC_STATE_DEPTH_CLAMP_ENABLE_EXT: {1},
		vk.DYNAMIC_STATE_DEPTH_CLAMP_RANGE_EXT:  {1, f(0.125), f(0.375)}, vk.DYNAMIC_STATE_DEPTH_CLIP_ENABLE_EXT: {1},
		vk.DYNAMIC_STATE_DEPTH_CLIP_NEGATIVE_ONE_TO_ONE_EXT: {1}, vk.DYNAMIC_STATE_POLYGON_MODE_EXT: {2},
		vk.DYNAMIC_STATE_RASTERIZATION_SAMPLES_EXT: {1}, vk.DYNAMIC_STATE_SAMPLE_MASK_EXT: {1, 0x55},
		vk.DYNAMIC_STATE_ALPHA_TO_COVERAGE_ENABLE_EXT: {1}, vk.DYNAMIC_STATE_ALPHA_TO_ONE_ENABLE_EXT: {1},
		vk.DYNAMIC_STATE_PROVOKING_VERTEX_MODE_EXT: {1}, vk.DYNAMIC_STATE_LINE_RASTERIZATION_MODE_EXT: {2},
		vk.DYNAMIC_STATE_ATTACHMENT_FEEDBACK_LOOP_ENABLE_EXT: {7},
		vk.DYNAMIC_STATE_LINE_STIPPLE_ENABLE_EXT:             {1}, vk.DYNAMIC_STATE_LINE_STIPPLE: {3, 0xabcd},
		vk.DYNAMIC_STATE_COLOR_BLEND_ENABLE_EXT: {1, 1}, vk.DYNAMIC_STATE_COLOR_WRITE_MASK_EXT: {0, 15, 7},
		vk.DYNAMIC_STATE_COLOR_BLEND_EQUATION_EXT: {1, 1, 2, 3, 4, 5, 1}, vk.DYNAMIC_STATE_COLOR_WRITE_ENABLE_EXT: {0, 0, 1},
		vk.DYNAMIC_STATE_VERTEX_INPUT_EXT: {1, 1, 2, 12, 1, 3, 5, 2, uint32(vk.FORMAT_R32G32_SFLOAT), 4},
	}
	viewport := vk.Viewport{X: 1, Y: 2, Width: 3, Height: -4, MinDepth: 0.5, MaxDepth: 1}
	scissor := vk.Rect2D{Offset: vk.Offset2D{X: 1, Y: 2}, Extent: vk.Extent2D{Width: 3, Height: 4}}
	if err := d.execute(t, func(s *command.Stream) error {
		err := errors.Join(s.BindPipeline(graphics1, 2), s.SetViewportWithCount([]vk.Viewport{viewport, viewport}),
			s.SetScissorWithCount([]vk.Rect2D{scissor, scissor}))
		for i := range stateRows {
			if stateRows[i].set == nil {
				continue
			}
			v, ok := sets[stateRows[i].state]
			if !ok {
				t.Errorf("no values for %v", stateRows[i].state)
			}
			err = errors.Join(err, s.SetState(stateRows[i].state, v...))
		}
		return errors.Join(err, s.BindVertexBuffers2(2, true, []command.VertexBuffer{{Buffer: 1, Size: 8, Stride: 24}}),
			s.Draw(1, 1, 0, 0))
	}); err != nil {
		t.Fatal(err)
	}
	want := draw.State{
		Bindings:   map[uint32]draw.VertexBinding{2: {Stride: 24, Instanced: true, Divisor: 3}},
		Attributes: []draw.VertexAttribute{{Location: 5, Binding: 2, Offset: 4, Format: vk.FORMAT_R32G32_SFLOAT}},
		Topology:   vk.PRIMITIVE_TOPOLOGY_TRIANGLE_STRIP, Restart: true, ProvokingLast: true,
		Viewports: []vk.Viewport{viewport, viewport}, Scissors: []vk.Rect2D{scissor, scissor}, MinusOneToOne: true,
		DepthClamp: true, ClampRange: true, ClampMin: 0.125, ClampMax: 0.375, DepthClip: true,
		PolygonMode: vk.POLYGON_MODE_POINT, CullMode: vk.CULL_MODE_BACK_BIT,
		FrontFace: vk.FRONT_FACE_CLOCKWISE, LineWidth: 2.5, LineMode: 2, StippleLines: true, StippleFactor: 3,
		DepthBias: draw.DepthBias{Enable: true, Constant: 1, Clamp: 2, Slope: 3, Representation: 1, Exact: true},

		StipplePattern: 0xabcd, Samples: 1, SampleMask: 0x55, AlphaToCoverage: true, AlphaToOne: true, DepthTest: true,
		DepthWrite: true, DepthCompare: 5, DepthBounds: true, MinDepth: 0.25, MaxDepth: 0.5, StencilTest: true,
		Front: draw.Stencil{FailOp: 1, PassOp: 2, DepthFailOp: 3, CompareOp: 4, CompareMask: 7, WriteMask: 8},
		Back:  draw.Stencil{FailOp: 1, PassOp: 2, DepthFailOp: 3, CompareOp: 4, CompareMask: 7, Reference: 9},

		LogicOpEnable: true, LogicOp: 6, BlendConstants: [4]float32{1, 2, 3, 4},
		Blends: []draw.Blend{{}, {BlendEnable: 1, ColorWriteMask: 7, SrcColorBlendFactor: 1, DstColorBlendFactor: 2,
			ColorBlendOp: 3, SrcAlphaBlendFactor: 4, DstAlphaBlendFactor: 5, AlphaBlendOp: 1}},
	}
	if got := d.draws[0].state; !reflect.DeepEqual(got, want) {
		t.Errorf("the state is\n%+v, want\n%+v", got, want)
	}
	for state, v := range sets { // values that are none, and too few or too many
		for _, bad := range [][]uint32{{}, slices.Repeat([]uint32{0xffffffff}, len(v)), append(slices.Clone(v), 1)} {
			_ = d.execute(t, func(s *command.Stream) error {
				return errors.Join(s.BindPipeline(graphics1, 2), s.SetState(state, bad...))
			})
		}
	}
}

// TestLineWidths has widths beyond lineWidthRange drawn with the nearest one within it, and no error.
func TestLineWidths(t *testing.T) {
	nan := float32(math.NaN())
	for _, c := range [][2]float32{{0, 1}, {-3, 1}, {0.5, 1}, {1, 1}, {7.25, 7.25}, {64, 64}, {1000, 64}, {nan, 1}} {
		d := newDrawTest(t)
		d.pipelines[8] = &Pipeline{Graphics: &Graphics{State: d.pipelines[1].Graphics.State,
			Dynamic: DynamicState(vk.DYNAMIC_STATE_LINE_WIDTH)}}
		if err := d.execute(t, func(s *command.Stream) error {
			return errors.Join(s.BindPipeline(graphics1, 8), s.SetState(vk.DYNAMIC_STATE_LINE_WIDTH, command.Bits(c[0])),
				s.Draw(1, 1, 0, 0))
		}); err != nil {
			t.Errorf("width %v: %v", c[0], err)
			continue
		}
		if got := d.draws[0].state.LineWidth; got != c[1] {
			t.Errorf("width %v is drawn as %v, not %v", c[0], got, c[1])
		}
	}
}

// TestDrawQueries counts draws with queries, also in a secondary command buffer and with several views.
// testTimestamps writes timestamps in a pass of two views: each is two queries.
func testTimestamps(t *testing.T, d *drawTest) {
	t.Helper()
	p, err := NewQueryPool(vk.QUERY_TYPE_TIMESTAMP, 4)
	must(t, err)
	d.pools[3] = p
	if err := d.execute(t, func(s *command.Stream) error { return s.WriteTimestamp(0, 3, 1) }); err != nil {
		t.Fatal(err)
	}
	for i, want := range []bool{false, true, true, false} {
		if got := p.queries[i].available.Load(); got != want {
			t.Errorf("timestamp %d is available: %v", i, got)
		}
	}
	for _, test := range []struct {
		write func(s *command.Stream, query uint32) error
		want  string
	}{
		{func(s *command.Stream, query uint32) error { return s.WriteTimestamp(0, 3, query) },
			"VUID-vkCmdWriteTimestamp-query-00831"},
		{func(s *command.Stream, query uint32) error { return s.WriteTimestamp2(0, 3, query) },
			"VUID-vkCmdWriteTimestamp2-query-03865"},
	} {
		err := d.execute(t, func(s *command.Stream) error { return test.write(s, 3) })
		if got := vk.VUIDOf(err).String(); got != test.want {
			t.Errorf("a timestamp whose views end beyond the pool: %s, want %s", got, test.want)
		}
	}
}

func TestDrawQueries(t *testing.T) {
	d := newDrawTest(t)
	var err error
	d.pools[1], err = NewDrawQueryPool(vk.QUERY_TYPE_OCCLUSION, 4, 0)
	must(t, err)
	d.pools[2], err = NewDrawQueryPool(vk.QUERY_TYPE_PIPELINE_STATISTICS, 2,
		vk.QUERY_PIPELINE_STATISTIC_INPUT_ASSEMBLY_PRIMITIVES_BIT|vk.QUERY_PIPELINE_STATISTIC_FRAGMENT_SHADER_INVOCATIONS_BIT)
	must(t, err)
	d.adds.Samples, d.adds.Counts = 5, [11]uint64{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}
	d.secondary[1] = d.record(t, func(s *command.Stream) {
		must(t, errors.Join(s.BindPipeline(graphics1, 1), s.Draw(3, 1, 0, 0)))
	}).stream
	d.pass.ViewMask = 5
	if err := d.execute(t, func(s *command.Stream) error {
		return errors.Join(s.BindPipeline(graphics1, 1), s.Draw(3, 1, 0, 0), s.BeginQuery(1, 2, vk.QUERY_CONTROL_PRECISE_BIT),
			s.Draw(3, 1, 0, 0), s.BeginQuery(2, 0, 0), s.ExecuteCommands([]vk.CommandBuffer{1}), s.EndQuery(1, 2),
			s.BindPipeline(graphics1, 1), s.Draw(3, 1, 0, 0), s.EndQuery(2, 0))
	}); err != nil {
		t.Fatal(err)
	}
	results := func(p *QueryPool, first, count uint32, flags vk.QueryResultFlags, want ...uint32) {
		t.Helper()
		dst := make([]byte, 4*len(want))
		stride := uint64(4*len(want)) / uint64(count)
		must(t, p.Results(first, count, dst, stride, flags, nil, &GetQueryPoolResultsRules))
		got := make([]uint32, len(want))
		for i := range got {
			got[i] = uint32(dst[4*i])
		}
		if !slices.Equal(got, want) {
			t.Errorf("results %d, want %d", got, want)
		}
	}
	results(d.pools[1], 2, 2, vk.QUERY_RESULT_WITH_AVAILABILITY_BIT|vk.QUERY_RESULT_WAIT_BIT, 10, 1, 0, 1)
	results(d.pools[1], 0, 1, vk.QUERY_RESULT_WITH_AVAILABILITY_BIT|vk.QUERY_RESULT_PARTIAL_BIT, 0, 0)
	results(d.pools[2], 0, 1, vk.QUERY_RESULT_WITH_AVAILABILITY_BIT, 4, 16, 1)
	testTimestamps(t, d)
	for _, test := range []struct {
		name string
		add  func(s *command.Stream) error
		want string
	}{
		{"twice", func(s *command.Stream) error { return errors.Join(s.BeginQuery(1, 0, 0), s.BeginQuery(1, 2, 0)) },
			"VUID-vkCmdBeginQuery-queryPool-01922"},
		{"beyond the pool", func(s *command.Stream) error { return s.BeginQuery(1, 4, 0) },
			"VUID-vkCmdBeginQuery-query-00802"},
		{"views beyond the pool", func(s *command.Stream) error { return s.BeginQuery(1, 3, 0) },
			"VUID-vkCmdBeginQuery-query-00808"},
		{"precise statistics", func(s *command.Stream) error { return s.BeginQuery(2, 0, 1) },
			"VUID-vkCmdBeginQuery-queryType-00800"},
		{"no begin", func(s *command.Stream) error { return s.EndQuery(1, 0) }, "VUID-vkCmdEndQuery-None-01923"},
	} {
		if got := vk.VUIDOf(d.execute(t, test.add)).String(); got != test.want {
			t.Errorf("%s: %s, want %s", test.name, got, test.want)
		}
	}
	for _, test := range []struct {
		kind  vk.QueryType
		count uint32
		set   vk.QueryPipelineStatisticFlags
	}{{vk.QUERY_TYPE_PIPELINE_STATISTICS, 1, 0}, {vk.QUERY_TYPE_PIPELINE_STATISTICS, 1, 1 << 20},
		{vk.QUERY_TYPE_PIPELINE_STATISTICS, maxQueries, 3}, {vk.QUERY_TYPE_OCCLUSION, 0, 0}, {99, 1, 0}} {
		if _, err := NewDrawQueryPool(test.kind, test.count, test.set); err == nil {
			t.Errorf("a pool of %+v", test)
		}
	}
}

// TestDrawAllocates draws again and again: no draw may allocate memory.
func TestDrawAllocates(t *testing.T) {
	d := newDrawTest(t)
	executeDraw = func(*draw.Series, *draw.Draw) error { return nil }
	q := NewQueue(&d.Device)
	b := d.record(t, func(s *command.Stream) {
		must(t, s.BindPipeline(graphics1, 3))
		for range 100 {
			must(t, errors.Join(s.SetState(vk.DYNAMIC_STATE_STENCIL_REFERENCE, 3, 1),
				s.BindVertexBuffers2(3, false, []command.VertexBuffer{{Buffer: 1, Size: 8}}),
				s.BindIndexBuffer(1, 0, vk.INDEX_TYPE_UINT16), s.Draw(3, 1, 0, 0), s.DrawIndexed(3, 1, 0, 0, 0)))
		}
	})
	n := testing.AllocsPerRun(10, func() {
		q.replay.pass = &d.pass
		if err := q.execute(b.stream, 1); err != nil {
			t.Fatal(err)
		}
	})
	if n > 10 {
		t.Errorf("200 draws allocate %v times", n)
	}
}
