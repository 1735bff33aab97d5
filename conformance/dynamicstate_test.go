package conformance

import (
	"slices"
	"unsafe"

	"farside/conformance/vulkan"
	"farside/internal/vk"
)

// A dynamic is a dynamic state: a pipeline that says something else, a command that sets it, and what is drawn then.
// Without dynamic state the same pixels would be wrong.
type dynamic struct {
	name    string
	needs   []string
	states  []vk.DynamicState
	samples uint32 // 0: 1
	depth   vk.Format
	colors  []vk.Format // nil: one, of floats
	vertex  string      // "": wholeTarget
	shader  string      // the fragment shader; "": white
	edit    func(s *scene, g *vulkan.GraphicsState)
	set     func(s *scene, cb vk.CommandBuffer)
	count   int // of vertices; 0: 3
	want    func(x, y int) [4]float64
}

func (s *scene) set(name string, args ...uintptr) {
	s.c.dev.CallOn(name, append([]uintptr{uintptr(s.cb)}, args...)...)
}

// dynamicStateCases are the cases of dynamic states, each of which a pipeline has otherwise.
func dynamicStateCases() (list []definition) {
	for _, d := range slices.Concat(extendedStates(), extendedStates2(), extendedStates3(), extendedStates3Lines()) {
		definition := drawCase("dynamic_state."+d.name, func(c *Case) { d.run(c, nil) }, d.needs...)
		definition.valid = d.name != "rasterization_samples" // layers of 1.3.239 look at the pipeline's samples
		list = append(list, definition)
	}
	vertices := drawCase("dynamic_state.vertex_input", vertexInputCase, "VertexInputDynamicState",
		"VertexAttributeInstanceRateDivisor")
	blends := drawCase("dynamic_state.all_blends", allBlendsCase, "ExtendedDynamicState3ColorBlendEnable",
		"ExtendedDynamicState3ColorBlendEquation", "ExtendedDynamicState3ColorWriteMask", "IndependentBlend")
	blends.valid = false // layers of 1.3.239 crash without pAttachments
	return append(list, vertices, blends, drawCase("dynamic_state.multi_viewport", multiViewportCase, "MultiViewport",
		"ExtendedDynamicState"))
}

// run draws with what objects makes; nil: with a pipeline.
func (d *dynamic) run(c *Case, objects func(s *scene, l *look)) {
	colors := d.colors
	if colors == nil {
		colors = []vk.Format{rgba32f}
	}
	s := c.scene(16, 16, max(d.samples, 1), 1, d.depth, colors...)
	defer s.close()
	if s.depth != nil {
		*s.depth.clear.DepthStencil() = vk.ClearDepthStencilValue{Depth: 0.5, Stencil: 1}
	}
	l := &look{vertex: d.vertex, fragment: d.shader, edit: func(g *vulkan.GraphicsState) {
		if g.Multisample.RasterizationSamples = vk.SAMPLE_COUNT_1_BIT; d.samples > 1 {
			g.Multisample.RasterizationSamples = vk.SampleCountFlagBits(d.samples)
		}
		if g.Vary(d.states...); d.edit != nil {
			d.edit(s, g)
		}
	}, record: func(cb vk.CommandBuffer) {
		d.set(s, cb)
		n := 3
		if d.count > 0 {
			n = d.count
		}
		c.dev.CallOn("vkCmdDraw", uintptr(cb), uintptr(n), 1, 0, 0)
	}}
	if l.vertex == "" {
		l.vertex = wholeTarget
	}
	if l.fragment == "" {
		l.fragment = white
	}
	if objects != nil {
		objects(s, l)
	}
	s.draw(l)
	read := s.colors[0]
	if s.resolve != nil {
		read = s.resolve
	}
	if read.format == rgba32f {
		s.pixels(read, 1e-6, d.want)
		return
	}
	for i, v := range s.bytes4(read) {
		if w := d.want(i%16, i/16); v != [4]byte{byte(w[0]), byte(w[1]), byte(w[2]), byte(w[3])} {
			c.Fatalf("pixel %d is %v, want %v", i, v, w)
		}
	}
}

// all is the same for all pixels.
func all(v float64) func(int, int) [4]float64 {
	return func(int, int) [4]float64 { return [4]float64{v, v, v, v} }
}

// setOne sets a state that has one value.
func setOne(name string, v uintptr) func(*scene, vk.CommandBuffer) {
	return func(s *scene, _ vk.CommandBuffer) { s.set(name, v) }
}

// bands draws into columns by their depth: 0 in the left, 1 in the right.
const bands = `layout(location = 0) out vec4 c; void main() { gl_FragDepth = gl_FragCoord.x / 16; c = vec4(1); }`

func columns(from, to int) func(int, int) [4]float64 {
	return func(x, _ int) (w [4]float64) {
		if x >= from && x < to {
			w = [4]float64{1, 1, 1, 1}
		}
		return w
	}
}

// extendedStates are those of the core, and of VK_EXT_extended_dynamic_state.
func extendedStates() []dynamic {
	d32, need := vk.FORMAT_D32_SFLOAT, []string{"ExtendedDynamicState"}
	stencil := func(s *scene, g *vulkan.GraphicsState) {
		g.Depth.StencilTestEnable = vk.TRUE
		o := vk.StencilOpState{CompareOp: vk.COMPARE_OP_EQUAL, CompareMask: 255, WriteMask: 255, Reference: 1}
		g.Depth.Front, g.Depth.Back = o, o
	}
	return []dynamic{
		{name: "blend_constants", states: []vk.DynamicState{vk.DYNAMIC_STATE_BLEND_CONSTANTS},
			edit: func(s *scene, g *vulkan.GraphicsState) {
				adds(g)
				g.Attachments[0].SrcColorBlendFactor = vk.BLEND_FACTOR_CONSTANT_COLOR
			}, set: func(s *scene, _ vk.CommandBuffer) {
				s.set("vkCmdSetBlendConstants", ptr(vulkan.Put(&s.a, [4]float32{0.25, 0.5, 0.75, 1})))
			}, want: func(int, int) [4]float64 { return [4]float64{0.25, 0.5, 0.75, 0} }},
		{name: "depth_bounds", needs: []string{"DepthBounds"}, states: []vk.DynamicState{vk.DYNAMIC_STATE_DEPTH_BOUNDS},
			depth: d32, edit: func(s *scene, g *vulkan.GraphicsState) { g.Depth.DepthBoundsTestEnable = vk.TRUE },
			set:  func(s *scene, cb vk.CommandBuffer) { s.c.dev.SetFloats("vkCmdSetDepthBounds", cb, 0.25, 0.75) },
			want: all(1)},
		{name: "depth_bias", states: []vk.DynamicState{vk.DYNAMIC_STATE_DEPTH_BIAS}, depth: d32,
			edit: func(s *scene, g *vulkan.GraphicsState) {
				depthTest(vk.COMPARE_OP_GREATER)(g)
				g.Raster.DepthBiasEnable = vk.TRUE
			}, set: func(s *scene, cb vk.CommandBuffer) { s.c.dev.SetFloats("vkCmdSetDepthBias", cb, 1024, 0, 0) },
			want: all(1)},
		{name: "line_width", needs: []string{"WideLines"}, states: []vk.DynamicState{vk.DYNAMIC_STATE_LINE_WIDTH}, count: 2,
			vertex: `void main() { gl_Position = vec4(gl_VertexIndex * 4 - 2, 0, 0, 1); }`,
			edit: func(s *scene, g *vulkan.GraphicsState) {
				g.Assembly.Topology = vk.PRIMITIVE_TOPOLOGY_LINE_LIST
			}, set: func(s *scene, cb vk.CommandBuffer) { s.c.dev.SetFloats("vkCmdSetLineWidth", cb, 4) },
			want: func(_, y int) [4]float64 { return columns(6, 10)(y, 0) }},
		{name: "stencil_masks", states: []vk.DynamicState{vk.DYNAMIC_STATE_STENCIL_COMPARE_MASK,
			vk.DYNAMIC_STATE_STENCIL_REFERENCE, vk.DYNAMIC_STATE_STENCIL_WRITE_MASK}, depth: vk.FORMAT_D32_SFLOAT_S8_UINT,
			edit: stencil, set: func(s *scene, _ vk.CommandBuffer) {
				s.set("vkCmdSetStencilCompareMask", 3, 0xf0)
				s.set("vkCmdSetStencilWriteMask", 3, 0)
				s.set("vkCmdSetStencilReference", 3, 0x0e)
			}, want: all(1)},
		{name: "cull_mode", needs: need, states: []vk.DynamicState{vk.DYNAMIC_STATE_CULL_MODE},
			edit: func(s *scene, g *vulkan.GraphicsState) { g.Raster.CullMode = vk.CULL_MODE_FRONT_AND_BACK },
			set:  setOne("vkCmdSetCullModeEXT", uintptr(vk.CULL_MODE_NONE)), want: all(1)},
		{name: "front_face", needs: need, states: []vk.DynamicState{vk.DYNAMIC_STATE_FRONT_FACE},
			edit: func(s *scene, g *vulkan.GraphicsState) {
				g.Raster.CullMode, g.Raster.FrontFace = vk.CULL_MODE_BACK_BIT, vk.FRONT_FACE_COUNTER_CLOCKWISE
			}, set: setOne("vkCmdSetFrontFaceEXT", uintptr(vk.FRONT_FACE_CLOCKWISE)), want: all(1)},
		{name: "primitive_topology", needs: need, states: []vk.DynamicState{vk.DYNAMIC_STATE_PRIMITIVE_TOPOLOGY}, count: 4,
			vertex: `void main() {
				gl_Position = vec4(gl_VertexIndex % 2 * 2 - 1, gl_VertexIndex / 2 * 2 - 1, 0.5, 1);
			}`, set: setOne("vkCmdSetPrimitiveTopologyEXT", uintptr(vk.PRIMITIVE_TOPOLOGY_TRIANGLE_STRIP)), want: all(1)},
		{name: "viewport_with_count", needs: need, states: []vk.DynamicState{vk.DYNAMIC_STATE_VIEWPORT_WITH_COUNT,
			vk.DYNAMIC_STATE_SCISSOR_WITH_COUNT}, edit: func(s *scene, g *vulkan.GraphicsState) {
			g.Viewport.ViewportCount, g.Viewport.ScissorCount = 0, 0
		}, set: func(s *scene, _ vk.CommandBuffer) {
			s.set("vkCmdSetViewportWithCountEXT", 1, ptr(vulkan.Put(&s.a, vk.Viewport{Width: 12, Height: 16, MaxDepth: 1})))
			s.set("vkCmdSetScissorWithCountEXT", 1, ptr(vulkan.Put(&s.a, vk.Rect2D{Offset: vk.Offset2D{X: 4},
				Extent: vk.Extent2D{Width: 99, Height: 16}})))
		}, want: columns(4, 12)},
		{name: "depth_test", needs: need, states: []vk.DynamicState{vk.DYNAMIC_STATE_DEPTH_TEST_ENABLE,
			vk.DYNAMIC_STATE_DEPTH_WRITE_ENABLE, vk.DYNAMIC_STATE_DEPTH_COMPARE_OP}, depth: d32, shader: bands,
			edit: func(s *scene, g *vulkan.GraphicsState) { g.Depth.DepthCompareOp = vk.COMPARE_OP_NEVER },
			set: func(s *scene, _ vk.CommandBuffer) {
				s.set("vkCmdSetDepthTestEnableEXT", 1)
				s.set("vkCmdSetDepthWriteEnableEXT", 1)
				s.set("vkCmdSetDepthCompareOpEXT", uintptr(vk.COMPARE_OP_LESS))
			}, want: columns(0, 8)},
		{name: "depth_bounds_test", needs: []string{"ExtendedDynamicState", "DepthBounds"},
			states: []vk.DynamicState{vk.DYNAMIC_STATE_DEPTH_BOUNDS_TEST_ENABLE}, depth: d32,
			edit: func(s *scene, g *vulkan.GraphicsState) {
				g.Depth.DepthBoundsTestEnable, g.Depth.MinDepthBounds, g.Depth.MaxDepthBounds = vk.FALSE, 0.75, 1
			}, set: setOne("vkCmdSetDepthBoundsTestEnableEXT", 1), want: all(0)},
		{name: "stencil_test", needs: need, states: []vk.DynamicState{vk.DYNAMIC_STATE_STENCIL_TEST_ENABLE,
			vk.DYNAMIC_STATE_STENCIL_OP}, depth: vk.FORMAT_D32_SFLOAT_S8_UINT,
			edit: stencil, set: func(s *scene, _ vk.CommandBuffer) {
				s.set("vkCmdSetStencilTestEnableEXT", 1)
				s.set("vkCmdSetStencilOpEXT", 3, 0, 0, 0, uintptr(vk.COMPARE_OP_NOT_EQUAL))
			}, want: all(0)},
	}
}

func extendedStates2() []dynamic {
	need := []string{"ExtendedDynamicState2"}
	return []dynamic{
		{name: "rasterizer_discard", needs: need, states: []vk.DynamicState{vk.DYNAMIC_STATE_RASTERIZER_DISCARD_ENABLE},
			edit: func(s *scene, g *vulkan.GraphicsState) { g.Raster.RasterizerDiscardEnable = vk.TRUE },
			set:  setOne("vkCmdSetRasterizerDiscardEnableEXT", 0), want: all(1)},
		{name: "rasterizer_discard_on", needs: need, states: []vk.DynamicState{vk.DYNAMIC_STATE_RASTERIZER_DISCARD_ENABLE},
			set: setOne("vkCmdSetRasterizerDiscardEnableEXT", 1), want: all(0)},
		{name: "depth_bias_enable", needs: need, states: []vk.DynamicState{vk.DYNAMIC_STATE_DEPTH_BIAS_ENABLE},
			depth: vk.FORMAT_D32_SFLOAT, edit: func(s *scene, g *vulkan.GraphicsState) {
				depthTest(vk.COMPARE_OP_GREATER)(g)
				g.Raster.DepthBiasConstantFactor = 1024
			}, set: setOne("vkCmdSetDepthBiasEnableEXT", 1), want: all(1)},
		{name: "logic_op", needs: []string{"ExtendedDynamicState2LogicOp", "LogicOp"}, colors: []vk.Format{
			vk.FORMAT_R8G8B8A8_UINT}, states: []vk.DynamicState{vk.DYNAMIC_STATE_LOGIC_OP_EXT},
			shader: `layout(location = 0) out uvec4 c; void main() { c = uvec4(1, 2, 3, 4); }`,
			edit: func(s *scene, g *vulkan.GraphicsState) {
				g.Blend.LogicOpEnable, g.Blend.LogicOp = vk.TRUE, vk.LOGIC_OP_CLEAR
			}, set: setOne("vkCmdSetLogicOpEXT", uintptr(vk.LOGIC_OP_COPY_INVERTED)),
			want: func(int, int) [4]float64 { return [4]float64{254, 253, 252, 251} }},
	}
}

// outside is a vertex shader whose depth is beyond the far plane.
const outside = `void main() {
	gl_Position = vec4(gl_VertexIndex == 1 ? 3 : -1, gl_VertexIndex == 2 ? 3 : -1, 1.5, 1);
}`

func extendedStates3() []dynamic {
	needs := func(list ...string) []string {
		list[0] = "ExtendedDynamicState3" + list[0]
		return list
	}
	enables := func(v ...vk.Bool32) func(*scene, vk.CommandBuffer) {
		return func(s *scene, _ vk.CommandBuffer) {
			s.set("vkCmdSetColorBlendEnableEXT", 0, 1, ptr(vulkan.Put(&s.a, v[0])))
		}
	}
	return []dynamic{
		{name: "depth_clamp", needs: needs("DepthClampEnable", "DepthClamp"), vertex: outside,
			states: []vk.DynamicState{vk.DYNAMIC_STATE_DEPTH_CLAMP_ENABLE_EXT},
			set:    setOne("vkCmdSetDepthClampEnableEXT", 1), want: all(1)},
		{name: "depth_clip", needs: needs("DepthClipEnable", "DepthClipEnable"), vertex: outside,
			states: []vk.DynamicState{vk.DYNAMIC_STATE_DEPTH_CLIP_ENABLE_EXT},
			set:    setOne("vkCmdSetDepthClipEnableEXT", 0), want: all(1)},
		{name: "depth_clip_control", needs: needs("DepthClipNegativeOneToOne", "DepthClipControl"),
			states: []vk.DynamicState{vk.DYNAMIC_STATE_DEPTH_CLIP_NEGATIVE_ONE_TO_ONE_EXT},
			vertex: `void main() {
				gl_Position = vec4(gl_VertexIndex == 1 ? 3 : -1, gl_VertexIndex == 2 ? 3 : -1, -0.5, 1);
			}`, shader: `layout(location = 0) out vec4 c; void main() { c = gl_FragCoord.zzzz; }`,
			set: setOne("vkCmdSetDepthClipNegativeOneToOneEXT", 1), want: all(0.25)},
		{name: "polygon_mode", needs: needs("PolygonMode", "FillModeNonSolid"),
			states: []vk.DynamicState{vk.DYNAMIC_STATE_POLYGON_MODE_EXT},
			edit:   func(s *scene, g *vulkan.GraphicsState) { g.Raster.PolygonMode = vk.POLYGON_MODE_LINE },
			set:    setOne("vkCmdSetPolygonModeEXT", uintptr(vk.POLYGON_MODE_FILL)), want: all(1)},
		{name: "rasterization_samples", needs: needs("RasterizationSamples"), samples: 4,
			states: []vk.DynamicState{vk.DYNAMIC_STATE_RASTERIZATION_SAMPLES_EXT},
			edit: func(s *scene, g *vulkan.GraphicsState) {
				g.Multisample.RasterizationSamples = vk.SAMPLE_COUNT_1_BIT
			}, set: setOne("vkCmdSetRasterizationSamplesEXT", 4), want: all(1)},
		{name: "sample_mask", needs: needs("SampleMask"), samples: 4,
			states: []vk.DynamicState{vk.DYNAMIC_STATE_SAMPLE_MASK_EXT},
			set: func(s *scene, _ vk.CommandBuffer) {
				s.set("vkCmdSetSampleMaskEXT", 4, ptr(vulkan.Put(&s.a, vk.SampleMask(0xd))))
			}, want: all(0.75)},
		{name: "alpha_to_coverage", needs: needs("AlphaToCoverageEnable"), samples: 4,
			states: []vk.DynamicState{vk.DYNAMIC_STATE_ALPHA_TO_COVERAGE_ENABLE_EXT},
			shader: `layout(location = 0) out vec4 c; void main() { c = vec4(1, 1, 1, 0); }`,
			set:    setOne("vkCmdSetAlphaToCoverageEnableEXT", 1), want: all(0)},
		{name: "alpha_to_one", needs: needs("AlphaToOneEnable", "AlphaToOne"), samples: 4,
			states: []vk.DynamicState{vk.DYNAMIC_STATE_ALPHA_TO_ONE_ENABLE_EXT},
			shader: `layout(location = 0) out vec4 c; void main() { c = vec4(1, 1, 1, 0); }`,
			set:    setOne("vkCmdSetAlphaToOneEnableEXT", 1), want: all(1)},
		{name: "logic_op_enable", needs: needs("LogicOpEnable", "LogicOp"), colors: []vk.Format{vk.FORMAT_R8G8B8A8_UINT},
			states: []vk.DynamicState{vk.DYNAMIC_STATE_LOGIC_OP_ENABLE_EXT},
			shader: `layout(location = 0) out uvec4 c; void main() { c = uvec4(1, 2, 3, 4); }`,
			edit:   func(s *scene, g *vulkan.GraphicsState) { g.Blend.LogicOp = vk.LOGIC_OP_SET },
			set:    setOne("vkCmdSetLogicOpEnableEXT", 1), want: all(255)},
		{name: "color_blend_enable", needs: needs("ColorBlendEnable"),
			states: []vk.DynamicState{vk.DYNAMIC_STATE_COLOR_BLEND_ENABLE_EXT},
			edit: func(s *scene, g *vulkan.GraphicsState) {
				adds(g)
				g.Attachments[0].BlendEnable, g.Attachments[0].SrcColorBlendFactor = vk.FALSE, vk.BLEND_FACTOR_ZERO
			}, set: enables(vk.TRUE), want: all(0)},
		{name: "color_blend_equation", needs: needs("ColorBlendEquation"),
			states: []vk.DynamicState{vk.DYNAMIC_STATE_COLOR_BLEND_EQUATION_EXT},
			edit:   func(s *scene, g *vulkan.GraphicsState) { adds(g) },
			set: func(s *scene, _ vk.CommandBuffer) {
				s.set("vkCmdSetColorBlendEquationEXT", 0, 1, ptr(vulkan.Put(&s.a, vk.ColorBlendEquationEXT{
					SrcColorBlendFactor: vk.BLEND_FACTOR_ONE, ColorBlendOp: vk.BLEND_OP_REVERSE_SUBTRACT,
					SrcAlphaBlendFactor: vk.BLEND_FACTOR_ONE, AlphaBlendOp: vk.BLEND_OP_MAX})))
			}, want: func(int, int) [4]float64 { return [4]float64{-1, -1, -1, 1} }},
		{name: "color_write_mask", needs: needs("ColorWriteMask"),
			states: []vk.DynamicState{vk.DYNAMIC_STATE_COLOR_WRITE_MASK_EXT},
			set: func(s *scene, _ vk.CommandBuffer) {
				s.set("vkCmdSetColorWriteMaskEXT", 0, 1, ptr(vulkan.Put(&s.a, vk.ColorComponentFlags(6))))
			}, want: func(int, int) [4]float64 { return [4]float64{0, 1, 1, 0} }},
		{name: "provoking_vertex", needs: needs("ProvokingVertexMode", "ProvokingVertexLast"),
			states: []vk.DynamicState{vk.DYNAMIC_STATE_PROVOKING_VERTEX_MODE_EXT},
			vertex: `layout(location = 0) flat out vec4 v;
			void main() {
				gl_Position = vec4(gl_VertexIndex == 1 ? 3 : -1, gl_VertexIndex == 2 ? 3 : -1, 0.5, 1);
				v = vec4(gl_VertexIndex);
			}`, shader: passValue, set: setOne("vkCmdSetProvokingVertexModeEXT",
				uintptr(vk.PROVOKING_VERTEX_MODE_LAST_VERTEX_EXT)), want: all(2)},
	}
}

// extendedStates3Lines are about a horizontal line whose ends lie in pixels.
func extendedStates3Lines() []dynamic {
	const vertex = `void main() { gl_Position = vec4((gl_VertexIndex * 12 + 2.25) / 8 - 1, 0.0625, 0, 1); }`
	line := func(mode vk.LineRasterizationMode) func(s *scene, g *vulkan.GraphicsState) {
		return func(s *scene, g *vulkan.GraphicsState) {
			s.lines(g, mode, 1)
			l := (*vk.PipelineRasterizationLineStateCreateInfo)(g.Raster.PNext)
			l.LineStippleFactor, l.LineStipplePattern = 1, 0x5555
		}
	}
	row := func(stippled bool) func(x, y int) [4]float64 {
		return func(x, y int) (w [4]float64) {
			if y == 8 && x >= 2 && x < 14 && (!stippled || x%2 == 0) {
				w = [4]float64{1, 1, 1, 1}
			}
			return w
		}
	}
	return []dynamic{
		{name: "line_rasterization_mode", needs: []string{"ExtendedDynamicState3LineRasterizationMode", "BresenhamLines",
			"SmoothLines"}, states: []vk.DynamicState{vk.DYNAMIC_STATE_LINE_RASTERIZATION_MODE_EXT}, vertex: vertex, count: 2,
			edit: line(vk.LINE_RASTERIZATION_MODE_RECTANGULAR_SMOOTH),
			set:  setOne("vkCmdSetLineRasterizationModeEXT", uintptr(vk.LINE_RASTERIZATION_MODE_BRESENHAM)), want: row(false)},
		{name: "line_stipple_enable", needs: []string{"ExtendedDynamicState3LineStippleEnable", "StippledBresenhamLines",
			"BresenhamLines"}, states: []vk.DynamicState{vk.DYNAMIC_STATE_LINE_STIPPLE_ENABLE_EXT}, vertex: vertex, count: 2,
			edit: line(vk.LINE_RASTERIZATION_MODE_BRESENHAM), set: setOne("vkCmdSetLineStippleEnableEXT", 1), want: row(true)},
	}
}

// allBlendsCase has all of blending dynamic: how many attachments there are is not the pipeline's then.
func allBlendsCase(c *Case) {
	s := c.scene(4, 4, 1, 1, 0, rgba32f, rgba32f)
	defer s.close()
	for _, t := range s.colors {
		*t.clear.Color().Float32() = [4]float32{0.5, 0.25, 0.125, 1}
	}
	s.draw(&look{vertex: wholeTarget, fragment: `layout(location = 0) out vec4 a; layout(location = 1) out vec4 b;
		void main() { a = b = vec4(0.25, 0.5, 0.75, 1); }`, edit: func(g *vulkan.GraphicsState) {
		g.Blend.PAttachments = nil
		g.Vary(vk.DYNAMIC_STATE_COLOR_BLEND_ENABLE_EXT, vk.DYNAMIC_STATE_COLOR_BLEND_EQUATION_EXT,
			vk.DYNAMIC_STATE_COLOR_WRITE_MASK_EXT)
	}, record: func(cb vk.CommandBuffer) {
		sum := vk.ColorBlendEquationEXT{SrcColorBlendFactor: 1, DstColorBlendFactor: 1, SrcAlphaBlendFactor: 1}
		s.set("vkCmdSetColorBlendEnableEXT", 0, 2, ptr(vulkan.Put(&s.a, [2]vk.Bool32{0, 1})))
		s.set("vkCmdSetColorBlendEquationEXT", 0, 2, ptr(vulkan.Put(&s.a, [2]vk.ColorBlendEquationEXT{sum, sum})))
		s.set("vkCmdSetColorWriteMaskEXT", 0, 1, ptr(vulkan.Put(&s.a, vk.ColorComponentFlags(3))))
		s.set("vkCmdSetColorWriteMaskEXT", 1, 1, ptr(vulkan.Put(&s.a, vk.ColorComponentFlags(15))))
		s.set("vkCmdDraw", 3, 1, 0, 0)
	}})
	for i, want := range [][4]float64{{0.25, 0.5, 0.125, 1}, {0.75, 0.75, 0.875, 1}} {
		s.pixels(s.colors[i], 0, func(int, int) [4]float64 { return want })
	}
}

// changedInput is points that have their values by two vertex inputs, set one after the other with vertexInput, from
// vertices: 64 numbers, each its index. The caller frees them. More draws what comes after.
func (s *scene) changedInput(more func()) (l *look, vertices *shaderBuffer) {
	values := make([]float32, 64)
	for i := range values {
		values[i] = float32(i)
	}
	vertices = s.c.shaderBuffer(values, vk.BUFFER_USAGE_VERTEX_BUFFER_BIT)
	return &look{vertex: pixelPoint("layout(location = 0) in vec2 a;", "gl_VertexIndex + 16 * gl_InstanceIndex",
		"vec4(a, 0, 1)"), fragment: passValue, edit: points, record: func(cb vk.CommandBuffer) {
		s.c.dev.BindVertices(cb, 1, vertices.buffer)
		s.vertexInput(8, 4, vk.VERTEX_INPUT_RATE_VERTEX, 1)
		s.set("vkCmdDraw", 2, 1, 3, 0)
		s.vertexInput(4, 16, vk.VERTEX_INPUT_RATE_INSTANCE, 2)
		s.set("vkCmdDraw", 1, 4, 0, 0)
		more()
	}}, vertices
}

// changedPixels are what changedInput draws.
func changedPixels() map[int][4]float64 {
	return map[int][4]float64{3: {7, 8, 0, 1}, 4: {9, 10, 0, 1}, 0: {4, 5, 0, 1}, 16: {4, 5, 0, 1}, 32: {5, 6, 0, 1},
		48: {5, 6, 0, 1}}
}

// vertexInput sets the input of location 0 from binding 1.
func (s *scene) vertexInput(stride, offset uint32, rate vk.VertexInputRate, divisor uint32) {
	b := vulkan.Struct[vk.VertexInputBindingDescription2EXT](&s.a)
	b.Binding, b.Stride, b.InputRate, b.Divisor = 1, stride, rate, divisor
	a := vulkan.Struct[vk.VertexInputAttributeDescription2EXT](&s.a)
	a.Binding, a.Format, a.Offset = 1, vk.FORMAT_R32G32_SFLOAT, offset
	s.set("vkCmdSetVertexInputEXT", 1, ptr(b), 1, ptr(a))
}

// vertexInputCase sets bindings, attributes and a divisor between two draws.
func vertexInputCase(c *Case) {
	s := c.scene(16, 16, 1, 1, 0, rgba32f)
	defer s.close()
	l, vertices := s.changedInput(func() {})
	defer vertices.free()
	l.edit = func(g *vulkan.GraphicsState) {
		points(g)
		g.Vary(vk.DYNAMIC_STATE_VERTEX_INPUT_EXT)
		g.Info.PVertexInputState = nil
	}
	s.draw(l)
	s.pixelsOf(changedPixels())
}

// multiViewportCase has several viewports and scissors: the first counts for shaders that choose none.
func multiViewportCase(c *Case) {
	s := c.scene(16, 16, 1, 1, 0, rgba32f)
	defer s.close()
	viewports := [3]vk.Viewport{{Width: 16, Height: 16, MaxDepth: 1}, {X: 8, Width: 8, Height: 8, MaxDepth: 1},
		{Y: 8, Width: 8, Height: 8, MaxDepth: 1}}
	scissors := [3]vk.Rect2D{{Extent: vk.Extent2D{Width: 5, Height: 16}}, {Extent: vk.Extent2D{Width: 16, Height: 16}}}
	for _, dynamic := range []bool{false, true} {
		s.draw(&look{vertex: wholeTarget, fragment: white, edit: func(g *vulkan.GraphicsState) {
			if dynamic {
				g.Viewport.ViewportCount, g.Viewport.ScissorCount = 0, 0
				g.Vary(vk.DYNAMIC_STATE_VIEWPORT_WITH_COUNT, vk.DYNAMIC_STATE_SCISSOR_WITH_COUNT)
				return
			}
			v := vulkan.Put(&s.a, viewports)
			r := vulkan.Put(&s.a, scissors)
			g.Viewport.ViewportCount, g.Viewport.ScissorCount = 3, 3
			g.Viewport.PViewports = (*vk.Viewport)(unsafe.Pointer(v))
			g.Viewport.PScissors = (*vk.Rect2D)(unsafe.Pointer(r))
		}, record: func(cb vk.CommandBuffer) {
			if dynamic {
				s.set("vkCmdSetViewportWithCountEXT", 3, ptr(vulkan.Put(&s.a, viewports)))
				s.set("vkCmdSetScissorWithCountEXT", 3, ptr(vulkan.Put(&s.a, scissors)))
			}
			s.set("vkCmdDraw", 3, 1, 0, 0)
		}})
		s.pixels(s.colors[0], 0, columns(0, 5))
	}
}
