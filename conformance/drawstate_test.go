package conformance

import (
	"slices"
	"unsafe"

	"farside/conformance/vulkan"
	"farside/internal/vk"
)

// drawStateCases are about state of pipelines that features and extensions add, and about commands that draw.
func drawStateCases() []definition {
	list := []definition{
		drawCase("draw.provoking_vertex.flat", flatLastCase, "ProvokingVertexLast"),
		drawCase("draw.divisor.3", func(c *Case) { divisorCase(c, 3) }, "VertexAttributeInstanceRateDivisor"),
		drawCase("draw.divisor.0", func(c *Case) { divisorCase(c, 0) }, "VertexAttributeInstanceRateDivisor",
			"VertexAttributeInstanceRateZeroDivisor"),
		drawCase("draw.restart.lists", listRestartCase, "PrimitiveTopologyListRestart"),
		drawCase("draw.restart.strips", stripRestartCase),
		drawCase("draw.index_type_uint8", byteIndexCase, "IndexTypeUint8"),
		drawCase("draw.bind_index_buffer2", indexSizeCase, "Maintenance5"),
		drawCase("draw.full_index_uint32", fullIndexCase, "FullDrawIndexUint32"),
		drawCase("draw.multi.plain", multiCase, "MultiDraw", "ShaderDrawParameters"),
		drawCase("draw.multi.indexed", multiIndexedCase, "MultiDraw", "ShaderDrawParameters"),
		drawCase("rasterization.fill_mode.line", fillLineCase, "FillModeNonSolid"),
		drawCase("rasterization.fill_mode.point", fillPointCase, "FillModeNonSolid"),
		drawCase("rasterization.depth_bias.clamp", biasClampCase, "DepthBiasClamp"),
		drawCase("rasterization.depth_clip_enable", depthClipCase, "DepthClipEnable", "DepthClamp"),
		drawCase("rasterization.depth_clip_control", clipControlCase, "DepthClipControl"),
		drawCase("fragment_operations.depth_clamp", depthClampCase, "DepthClamp"),
		drawCase("fragment_operations.depth_clamp_control", clampControlCase, "DepthClamp", "DepthClampControl"),
		drawCase("fragment_operations.depth_clamp_zero_one", zeroOneCase, "DepthClampZeroOne"),
		drawCase("fragment_operations.depth_bounds", depthBoundsCase, "DepthBounds"),
		drawCase("fragment_operations.independent_blend", independentCase, "IndependentBlend"),
		drawCase("pipeline.multisample.alpha_to_coverage", alphaCoverageCase),
		drawCase("pipeline.multisample.alpha_to_one", alphaOneCase, "AlphaToOne"),
		drawCase("pipeline.multisample.min_sample_shading", sampleShadingCase, "SampleRateShading",
			"FragmentStoresAndAtomics"),
		drawCase("clipping.user_planes", clipDistanceCase, "ShaderClipDistance"),
		drawCase("clipping.cull_distance", cullDistanceCase, "ShaderCullDistance"),
		drawCase("pipeline.color_write_enable", colorWriteCase, "ColorWriteEnable"),
	}
	for _, r := range []struct {
		name string
		kind vk.DepthBiasRepresentationEXT
		need string
	}{{"float", vk.DEPTH_BIAS_REPRESENTATION_FLOAT_EXT, "FloatRepresentation"},
		{"force_unorm", vk.DEPTH_BIAS_REPRESENTATION_LEAST_REPRESENTABLE_VALUE_FORCE_UNORM_EXT,
			"LeastRepresentableValueForceUnormRepresentation"},
	} {
		d := drawCase("rasterization.depth_bias."+r.name, func(c *Case) { biasControlCase(c, r.kind) }, "DepthBiasControl",
			r.need)
		d.valid = false // the oldest layers don't know the extension
		list = append(list, d)
	}
	for i := range list {
		if slices.Contains(list[i].needs, "Maintenance5") || slices.Contains(list[i].needs, "DepthClampZeroOne") ||
			slices.Contains(list[i].needs, "DepthClampControl") {
			list[i].valid = false
		}
	}
	for t := vk.PRIMITIVE_TOPOLOGY_LINE_LIST; t <= vk.PRIMITIVE_TOPOLOGY_TRIANGLE_FAN; t++ {
		list = append(list, drawCase("draw.provoking_vertex."+topologyName(t),
			func(c *Case) { provokingCase(c, t, true) }, "ProvokingVertexLast"))
	}
	return list
}

// last makes the last vertex of primitives the provoking one.
func (s *scene) last(g *vulkan.GraphicsState) {
	p := vulkan.Struct[vk.PipelineRasterizationProvokingVertexStateCreateInfoEXT](&s.a)
	p.ProvokingVertexMode = vk.PROVOKING_VERTEX_MODE_LAST_VERTEX_EXT
	vulkan.Behind(unsafe.Pointer(g.Raster), unsafe.Pointer(p))
}

// flatLastCase gives the three vertices of a triangle values.
func flatLastCase(c *Case) {
	s := c.scene(8, 8, 1, 1, 0, rgba32f)
	defer s.close()
	s.draw(&look{vertex: `layout(location = 0) flat out vec4 v;
		void main() {
			gl_Position = vec4(gl_VertexIndex == 1 ? 3 : -1, gl_VertexIndex == 2 ? 3 : -1, 0.5, 1);
			v = vec4(gl_VertexIndex, 7 - gl_VertexIndex, 0, 1);
		}`, fragment: passValue, edit: s.last})
	s.pixels(s.colors[0], 0, func(int, int) [4]float64 { return [4]float64{2, 5, 0, 1} })
}

// divisorCase draws eight instances, of a first one that isn't 0, whose attribute goes on by a divisor.
func divisorCase(c *Case, divisor uint32) {
	s := c.scene(16, 16, 1, 1, 0, rgba32f)
	defer s.close()
	first := uint32(0)
	if c.driver == "farside" { // supportsNonZeroFirstInstance
		first = 2
	}
	values := make([]float32, 16)
	for i := range values {
		values[i] = float32(i) + 0.5
	}
	vertices := c.shaderBuffer(values, vk.BUFFER_USAGE_VERTEX_BUFFER_BIT)
	defer vertices.free()
	s.draw(&look{vertex: pixelPoint("layout(location = 0) in float a;", "gl_InstanceIndex",
		"vec4(a, gl_InstanceIndex, 0, 1)"), fragment: passValue,
		edit: func(g *vulkan.GraphicsState) {
			points(g)
			g.Vertex([]vk.VertexInputBindingDescription{{Binding: 0, Stride: 4, InputRate: vk.VERTEX_INPUT_RATE_INSTANCE}},
				[]vk.VertexInputAttributeDescription{{Format: vk.FORMAT_R32_SFLOAT}})
			d := vulkan.Struct[vk.PipelineVertexInputDivisorStateCreateInfo](&s.a)
			d.VertexBindingDivisorCount = 1
			d.PVertexBindingDivisors = vulkan.Put(&s.a, vk.VertexInputBindingDivisorDescription{Divisor: divisor})
			vulkan.Behind(unsafe.Pointer(g.Vertices), unsafe.Pointer(d))
		},
		record: func(cb vk.CommandBuffer) {
			c.dev.BindVertices(cb, 0, vertices.buffer)
			c.dev.CallOn("vkCmdDraw", uintptr(cb), 1, 8, 0, uintptr(first))
		}})
	want := map[int][4]float64{}
	for i := range uint32(8) {
		element := first
		if divisor > 0 {
			element += i / divisor
		}
		want[int(first+i)] = [4]float64{float64(element) + 0.5, float64(first + i), 0, 1}
	}
	s.pixelsOf(want)
}

// drawIndices draws a list of indices with restarts, of 8, 16 or 32 bits.
func (s *scene) drawIndices(l *look, indices any, kind vk.IndexType, count int) {
	buffer := s.c.shaderBuffer(indices, vk.BUFFER_USAGE_INDEX_BUFFER_BIT)
	defer buffer.free()
	edit := l.edit
	l.edit = func(g *vulkan.GraphicsState) {
		edit(g)
		g.Assembly.PrimitiveRestartEnable = vk.TRUE
	}
	l.record = func(cb vk.CommandBuffer) {
		s.c.dev.CallOn("vkCmdBindIndexBuffer", uintptr(cb), uintptr(buffer.buffer), 0, uintptr(kind))
		s.c.dev.CallOn("vkCmdDrawIndexed", uintptr(cb), uintptr(count), 1, 0, 0, 0)
	}
	s.draw(l)
}

// listRestartCase ends primitives of lists before they are complete.
func listRestartCase(c *Case) {
	for _, t := range []struct {
		topology vk.PrimitiveTopology
		want     []int
	}{{vk.PRIMITIVE_TOPOLOGY_POINT_LIST, []int{0, 1, 2, 3, 4, 5, 6, 7}}, {vk.PRIMITIVE_TOPOLOGY_LINE_LIST, []int{0, 3, 5}},
		{vk.PRIMITIVE_TOPOLOGY_TRIANGLE_LIST, []int{0, 3}}} {
		s := c.scene(16, 16, 1, 1, 0, rgba32f)
		l := rows(t.topology)
		s.drawIndices(l, []uint16{0, 1, 2, 0xffff, 3, 4, 5, 6, 0xffff, 7}, vk.INDEX_TYPE_UINT16, 10)
		if got := s.provoking(); !slices.Equal(got, t.want) {
			c.Errorf("%v: provoking vertices %v, want %v", t.topology, got, t.want)
		}
		s.close()
	}
}

func stripRestartCase(c *Case) {
	for _, t := range []struct {
		topology vk.PrimitiveTopology
		want     []int
	}{{vk.PRIMITIVE_TOPOLOGY_LINE_STRIP, []int{0, 1, 3, 4, 5, 6}},
		{vk.PRIMITIVE_TOPOLOGY_TRIANGLE_STRIP, []int{0, 3, 4, 5}},
		{vk.PRIMITIVE_TOPOLOGY_TRIANGLE_FAN, []int{1, 4, 5, 6}}} {
		s := c.scene(16, 16, 1, 1, 0, rgba32f)
		s.drawIndices(rows(t.topology), []uint32{0, 1, 2, 0xffffffff, 3, 4, 5, 6, 7}, vk.INDEX_TYPE_UINT32, 9)
		got := s.provoking()
		if t.topology == vk.PRIMITIVE_TOPOLOGY_TRIANGLE_FAN { // later ones hide some
			t.want = slices.DeleteFunc(t.want, func(n int) bool { return !slices.Contains(got, n) })
			if !slices.Contains(got, 1) || !slices.Contains(got, 6) {
				c.Errorf("provoking vertices %v, want 1 and 6 among them", got)
			}
		}
		if !slices.Equal(got, t.want) {
			c.Errorf("%v: provoking vertices %v, want %v", t.topology, got, t.want)
		}
		s.close()
	}
}

func byteIndexCase(c *Case) {
	s := c.scene(16, 16, 1, 1, 0, rgba32f)
	defer s.close()
	s.drawIndices(rows(vk.PRIMITIVE_TOPOLOGY_LINE_STRIP), []uint8{0, 1, 0xff, 5, 6, 7}, vk.INDEX_TYPE_UINT8, 6)
	if got := s.provoking(); !slices.Equal(got, []int{0, 5, 6}) {
		c.Errorf("provoking vertices %v, want 0, 5, 6", got)
	}
}

// indexSizeCase binds a part of a buffer.
func indexSizeCase(c *Case) {
	s := c.scene(16, 16, 1, 1, 0, rgba32f)
	defer s.close()
	indices := c.shaderBuffer([]uint16{99, 5, 17, 33, 99}, vk.BUFFER_USAGE_INDEX_BUFFER_BIT)
	defer indices.free()
	s.draw(&look{vertex: pixelPoint("", "gl_VertexIndex", "vec4(gl_VertexIndex, 1, 1, 1)"), fragment: passValue,
		edit: points, record: func(cb vk.CommandBuffer) {
			c.dev.CallOn("vkCmdBindIndexBuffer2KHR", uintptr(cb), uintptr(indices.buffer), 2, 6,
				uintptr(vk.INDEX_TYPE_UINT16))
			c.dev.CallOn("vkCmdDrawIndexed", uintptr(cb), 3, 1, 0, 0, 0)
		}})
	s.pixelsOf(map[int][4]float64{5: {5, 1, 1, 1}, 17: {17, 1, 1, 1}, 33: {33, 1, 1, 1}})
}

// fullIndexCase has indices whose high bits count.
func fullIndexCase(c *Case) {
	s := c.scene(16, 16, 1, 1, 0, rgba32f)
	defer s.close()
	indices := c.shaderBuffer([]uint32{0x80000003, 0xfffffffe, 0x01000007}, vk.BUFFER_USAGE_INDEX_BUFFER_BIT)
	defer indices.free()
	s.draw(&look{vertex: pixelPoint("", "gl_VertexIndex & 255",
		"vec4(uint(gl_VertexIndex) >> 24, uint(gl_VertexIndex) & 0xffffff, 1, 1)"), fragment: passValue,
		edit: points, record: func(cb vk.CommandBuffer) {
			c.dev.CallOn("vkCmdBindIndexBuffer", uintptr(cb), uintptr(indices.buffer), 0, uintptr(vk.INDEX_TYPE_UINT32))
			c.dev.CallOn("vkCmdDrawIndexed", uintptr(cb), 3, 1, 0, 0, 0)
		}})
	s.pixelsOf(map[int][4]float64{3: {128, 3, 1, 1}, 254: {255, 0xfffffe, 1, 1}, 7: {1, 7, 1, 1}})
}

// multiCase draws several ranges of vertices, with a gap behind each description.
func multiCase(c *Case) {
	s := c.scene(16, 16, 1, 1, 0, rgba32f)
	defer s.close()
	s.draw(&look{vertex: pixelPoint("", "gl_VertexIndex + gl_InstanceIndex * 64",
		"vec4(gl_DrawIDARB, gl_BaseVertexARB, gl_InstanceIndex, 1)"), fragment: passValue, edit: points,
		record: func(cb vk.CommandBuffer) {
			draws := vulkan.Put(&s.a, [9]uint32{3, 2, 999, 10, 1, 999, 20, 0, 999})
			c.dev.CallOn("vkCmdDrawMultiEXT", uintptr(cb), 3, ptr(draws), 2, 1, 12)
			c.dev.CallOn("vkCmdDrawMultiEXT", uintptr(cb), 0, 0, 2, 1, 12)
		}})
	want := map[int][4]float64{}
	for i := 1; i < 3; i++ {
		want[3+64*i] = [4]float64{0, 3, float64(i), 1}
		want[4+64*i] = [4]float64{0, 3, float64(i), 1}
		want[10+64*i] = [4]float64{1, 10, float64(i), 1}
	}
	s.pixelsOf(want)
}

func multiIndexedCase(c *Case) {
	for _, common := range []bool{false, true} {
		s := c.scene(16, 16, 1, 1, 0, rgba32f)
		indices := c.shaderBuffer([]uint16{0, 1, 2, 3, 4}, vk.BUFFER_USAGE_INDEX_BUFFER_BIT)
		s.draw(&look{vertex: pixelPoint("", "gl_VertexIndex", "vec4(gl_DrawIDARB, gl_BaseVertexARB, gl_VertexIndex, 1)"),
			fragment: passValue, edit: points, record: func(cb vk.CommandBuffer) {
				draws := vulkan.Put(&s.a, [2]vk.MultiDrawIndexedInfoEXT{{FirstIndex: 1, IndexCount: 2, VertexOffset: 20},
					{FirstIndex: 4, IndexCount: 1, VertexOffset: 50}})
				offset := uintptr(0)
				if common {
					offset = ptr(vulkan.Put(&s.a, int32(100)))
				}
				c.dev.CallOn("vkCmdBindIndexBuffer", uintptr(cb), uintptr(indices.buffer), 0, uintptr(vk.INDEX_TYPE_UINT16))
				c.dev.CallOn("vkCmdDrawMultiIndexedEXT", uintptr(cb), 2, ptr(draws), 1, 0, 12, offset)
			}})
		want := map[int][4]float64{21: {0, 20, 21, 1}, 22: {0, 20, 22, 1}, 54: {1, 50, 54, 1}}
		if common {
			want = map[int][4]float64{101: {0, 100, 101, 1}, 102: {0, 100, 102, 1}, 104: {1, 100, 104, 1}}
		}
		s.pixelsOf(want)
		indices.free()
		s.close()
	}
}

// fillTriangle draws a triangle as its edges or its corners.
func (s *scene) fillTriangle(mode vk.PolygonMode) []float32 {
	s.draw(&look{vertex: `void main() {
			vec2 p = vec2[](vec2(4.5, 4.5), vec2(24.5, 4.5), vec2(4.5, 24.5))[gl_VertexIndex];
			gl_Position = vec4(p / 16 - 1, 0.5, 1);
			gl_PointSize = 1;
		}`, fragment: `layout(location = 0) out vec4 c; void main() { c = vec4(gl_FrontFacing ? 2 : 1, 0, 0, 1); }`,
		edit: func(g *vulkan.GraphicsState) {
			g.Raster.PolygonMode, g.Raster.FrontFace = mode, vk.FRONT_FACE_CLOCKWISE
		}})
	return s.floats(s.colors[0])
}

func fillLineCase(c *Case) {
	s := c.scene(32, 32, 1, 1, 0, rgba32f)
	defer s.close()
	got := s.fillTriangle(vk.POLYGON_MODE_LINE)
	for y := range 32 {
		for x := range 32 {
			v := got[(y*32+x)*4]
			edges := [3]bool{x >= 5 && x < 24 && y == 4, y >= 5 && y < 24 && x == 4, x+y == 28 && x > 5 && y > 5}
			away := x < 3 || y < 3 || x+y > 30 || x > 6 && y > 6 && x+y < 26
			if slices.Contains(edges[:], true) && v != 2 || away && v != 0 {
				c.Errorf("pixel (%d, %d) is %v", x, y, v)
			}
		}
	}
}

func fillPointCase(c *Case) {
	s := c.scene(32, 32, 1, 1, 0, rgba32f)
	defer s.close()
	got := s.fillTriangle(vk.POLYGON_MODE_POINT)
	for y := range 32 {
		for x := range 32 {
			want := float32(0)
			if x == 4 && y == 4 || x == 24 && y == 4 || x == 4 && y == 24 {
				want = 2
			}
			if v := got[(y*32+x)*4]; v != want {
				c.Errorf("pixel (%d, %d) is %v, want %v", x, y, v, want)
			}
		}
	}
}

// biasedDepth draws a triangle of depth 0.5 with a depth bias, and gives the depth.
func (s *scene) biasedDepth(edit func(r *vk.PipelineRasterizationStateCreateInfo)) float64 {
	*s.depth.clear.DepthStencil() = vk.ClearDepthStencilValue{Depth: 1}
	s.draw(&look{vertex: wholeTarget, fragment: white, edit: func(g *vulkan.GraphicsState) {
		depthTest(vk.COMPARE_OP_ALWAYS)(g)
		g.Raster.DepthBiasEnable = vk.TRUE
		edit(g.Raster)
	}})
	return float64(s.depths()[9])
}

func biasClampCase(c *Case) {
	s := c.scene(8, 8, 1, 1, vk.FORMAT_D32_SFLOAT, rgba32f)
	defer s.close()
	for _, t := range []struct{ constant, clamp, want float32 }{
		{1 << 22, 0.125, 0.5 + 0.125}, {-(1 << 22), -0.0625, 0.5 - 0.0625}, {1 << 20, 0.125, 0.5 + 0.0625},
		{1 << 20, 0, 0.5 + 0.0625},
	} {
		got := s.biasedDepth(func(r *vk.PipelineRasterizationStateCreateInfo) {
			r.DepthBiasConstantFactor, r.DepthBiasClamp = t.constant, t.clamp
		})
		if float32(got) != t.want {
			c.Errorf("a bias of %v, held to %v, makes %v of 0.5, want %v", t.constant, t.clamp, got, t.want)
		}
	}
}

// biasControlCase sets a bias in a representation, in the pipeline and by command.
func biasControlCase(c *Case, kind vk.DepthBiasRepresentationEXT) {
	s := c.scene(8, 8, 1, 1, vk.FORMAT_D32_SFLOAT, rgba32f)
	defer s.close()
	constant, want := float32(0.25), 0.75
	if kind != vk.DEPTH_BIAS_REPRESENTATION_FLOAT_EXT {
		constant, want = 1<<20, 0.5+1.0/16
	}
	representation := vulkan.Struct[vk.DepthBiasRepresentationInfoEXT](&s.a)
	representation.DepthBiasRepresentation = kind
	got := s.biasedDepth(func(r *vk.PipelineRasterizationStateCreateInfo) {
		r.DepthBiasConstantFactor = constant
		vulkan.Behind(unsafe.Pointer(r), unsafe.Pointer(representation))
	})
	if got != want {
		c.Errorf("the pipeline's bias makes %v of 0.5, want %v", got, want)
	}
	info := vulkan.Struct[vk.DepthBiasInfoEXT](&s.a)
	info.DepthBiasConstantFactor = constant
	vulkan.Behind(unsafe.Pointer(info), unsafe.Pointer(representation))
	s.draw(&look{vertex: wholeTarget, fragment: white, edit: func(g *vulkan.GraphicsState) {
		depthTest(vk.COMPARE_OP_ALWAYS)(g)
		g.Raster.DepthBiasEnable = vk.TRUE
		g.Vary(vk.DYNAMIC_STATE_DEPTH_BIAS)
	}, record: func(cb vk.CommandBuffer) {
		c.dev.CallOn("vkCmdSetDepthBias2EXT", uintptr(cb), ptr(info))
		c.dev.CallOn("vkCmdDraw", uintptr(cb), 3, 1, 0, 0)
	}})
	if got := float64(s.depths()[9]); got != want {
		c.Errorf("the command's bias makes %v of 0.5, want %v", got, want)
	}
}

// slanted is a vertex shader whose depths go from -0.5 in the left to 1.5 in the right.
const slanted = `void main() {
	vec2 p = vec2(gl_VertexIndex == 1 ? 3 : -1, gl_VertexIndex == 2 ? 3 : -1);
	gl_Position = vec4(p, p.x + 0.5, 1);
}`

// depthClampCase draws through both depth planes with clamping, into a viewport of less depth.
func depthClampCase(c *Case) {
	s := c.scene(32, 8, 1, 1, vk.FORMAT_D32_SFLOAT, rgba32f)
	defer s.close()
	*s.depth.clear.DepthStencil() = vk.ClearDepthStencilValue{Depth: 1}
	s.draw(&look{vertex: slanted, fragment: white, edit: func(g *vulkan.GraphicsState) {
		depthTest(vk.COMPARE_OP_ALWAYS)(g)
		g.Raster.DepthClampEnable = vk.TRUE
		g.Viewport.PViewports = vulkan.Put(&s.a, vk.Viewport{Width: 32, Height: 8, MinDepth: 0.25, MaxDepth: 0.75})
	}})
	for i, v := range s.depths() {
		z := ((float64(i%32)+0.5)/16 - 0.5) / 2
		if want := min(max(0.25+z, 0.25), 0.75); !near(float64(v), want, 1e-6) {
			c.Fatalf("depth of pixel %d is %v, want %v", i, v, want)
		}
	}
	s.pixels(s.colors[0], 0, func(int, int) [4]float64 { return [4]float64{1, 1, 1, 1} })
}

// clampControlCase clamps to a range that isn't the viewport's, said by the pipeline and by a command, and to the
// viewport's, which a command says in place of the pipeline's.
func clampControlCase(c *Case) {
	ranged := func(s *scene, low, high float32) *vk.DepthClampRangeEXT {
		return vulkan.Put(&s.a, vk.DepthClampRangeEXT{MinDepthClamp: low, MaxDepthClamp: high})
	}
	for _, dynamic := range []vk.DepthClampModeEXT{-1, vk.DEPTH_CLAMP_MODE_USER_DEFINED_RANGE_EXT,
		vk.DEPTH_CLAMP_MODE_VIEWPORT_RANGE_EXT} {
		s := c.scene(32, 8, 1, 1, vk.FORMAT_D32_SFLOAT, rgba32f)
		*s.depth.clear.DepthStencil() = vk.ClearDepthStencilValue{Depth: 1}
		s.draw(&look{vertex: slanted, fragment: white, edit: func(g *vulkan.GraphicsState) {
			depthTest(vk.COMPARE_OP_ALWAYS)(g)
			g.Raster.DepthClampEnable = vk.TRUE
			g.Viewport.PViewports = vulkan.Put(&s.a, vk.Viewport{Width: 32, Height: 8, MinDepth: 0.25, MaxDepth: 0.75})
			d := vulkan.Struct[vk.PipelineViewportDepthClampControlCreateInfoEXT](&s.a)
			d.DepthClampMode, d.PDepthClampRange = vk.DEPTH_CLAMP_MODE_USER_DEFINED_RANGE_EXT, ranged(s, 0.125, 0.625)
			vulkan.Behind(unsafe.Pointer(g.Viewport), unsafe.Pointer(d))
			if dynamic >= 0 {
				d.PDepthClampRange = ranged(s, 0.5, 0.5)
				g.Vary(vk.DYNAMIC_STATE_DEPTH_CLAMP_RANGE_EXT)
			}
		}, record: func(cb vk.CommandBuffer) {
			if dynamic >= 0 {
				s.set("vkCmdSetDepthClampRangeEXT", uintptr(dynamic), ptr(ranged(s, 0.125, 0.625)))
			}
			c.dev.CallOn("vkCmdDraw", uintptr(cb), 3, 1, 0, 0)
		}})
		for i, v := range s.depths() {
			want := 0.25 + ((float64(i%32)+0.5)/16-0.5)/2
			if want = min(max(want, 0.125), 0.625); dynamic == vk.DEPTH_CLAMP_MODE_VIEWPORT_RANGE_EXT {
				want = min(max(0.25+((float64(i%32)+0.5)/16-0.5)/2, 0.25), 0.75)
			}
			if !near(float64(v), want, 1e-6) {
				c.Fatalf("mode %d: depth of pixel %d is %v, want %v", dynamic, i, v, want)
			}
		}
		s.close()
	}
}

func near(a, b, tolerance float64) bool { return a-b <= tolerance && b-a <= tolerance }

// depthClipCase clips although depths are clamped, and doesn't although they aren't.
func depthClipCase(c *Case) {
	for _, clip := range []bool{false, true} {
		s := c.scene(32, 8, 1, 1, vk.FORMAT_D32_SFLOAT, rgba32f)
		s.draw(&look{vertex: slanted, fragment: white, edit: func(g *vulkan.GraphicsState) {
			if g.Raster.DepthClampEnable = vk.FALSE; clip {
				g.Raster.DepthClampEnable = vk.TRUE
			}
			d := vulkan.Struct[vk.PipelineRasterizationDepthClipStateCreateInfoEXT](&s.a)
			d.DepthClipEnable = g.Raster.DepthClampEnable
			vulkan.Behind(unsafe.Pointer(g.Raster), unsafe.Pointer(d))
		}})
		s.pixels(s.colors[0], 0, func(x, y int) (w [4]float64) {
			if !clip || x >= 8 && x < 24 {
				w = [4]float64{1, 1, 1, 1}
			}
			return w
		})
		s.close()
	}
}

// clipControlCase draws with depths of clip coordinates from -w on.
func clipControlCase(c *Case) {
	s := c.scene(32, 8, 1, 1, vk.FORMAT_D32_SFLOAT, rgba32f)
	defer s.close()
	*s.depth.clear.DepthStencil() = vk.ClearDepthStencilValue{Depth: 1}
	s.draw(&look{vertex: `void main() {
			vec2 p = vec2(gl_VertexIndex == 1 ? 3 : -1, gl_VertexIndex == 2 ? 3 : -1);
			gl_Position = vec4(p, p.x * 2, 1);
		}`, fragment: white, edit: func(g *vulkan.GraphicsState) {
		depthTest(vk.COMPARE_OP_ALWAYS)(g)
		d := vulkan.Struct[vk.PipelineViewportDepthClipControlCreateInfoEXT](&s.a)
		d.NegativeOneToOne = vk.TRUE
		vulkan.Behind(unsafe.Pointer(g.Viewport), unsafe.Pointer(d))
	}})
	s.pixels(s.colors[0], 0, func(x, y int) (w [4]float64) {
		if x >= 8 && x < 24 {
			w = [4]float64{1, 1, 1, 1}
		}
		return w
	})
	for i, v := range s.depths() {
		want := 1.0
		if x := i % 32; x >= 8 && x < 24 {
			want = (float64(x) + 0.5 - 8) / 16
		}
		if !near(float64(v), want, 1e-6) {
			c.Fatalf("depth of pixel %d is %v, want %v", i, v, want)
		}
	}
}

// zeroOneCase writes depths beyond the range.
func zeroOneCase(c *Case) {
	for _, f := range []vk.Format{vk.FORMAT_D32_SFLOAT, vk.FORMAT_D16_UNORM} {
		s := c.scene(8, 4, 1, 1, f, rgba32f)
		*s.depth.clear.DepthStencil() = vk.ClearDepthStencilValue{Depth: 0.5}
		s.draw(&look{vertex: wholeTarget, fragment: `layout(location = 0) out vec4 c;
			void main() { gl_FragDepth = gl_FragCoord.x - 4; c = vec4(1); }`, edit: depthTest(vk.COMPARE_OP_ALWAYS)},
			&look{vertex: `void main() {
				gl_Position = vec4(gl_VertexIndex == 1 ? 3 : -1, gl_VertexIndex == 2 ? 3 : -1, 1, 1);
			}`, fragment: `layout(location = 0) out vec4 c; void main() { c = vec4(2); }`,
				edit: depthTest(vk.COMPARE_OP_EQUAL)})
		s.pixels(s.colors[0], 0, func(x, y int) [4]float64 {
			if x >= 5 {
				return [4]float64{2, 2, 2, 2}
			}
			return [4]float64{1, 1, 1, 1}
		})
		s.close()
	}
}

// depthBoundsCase draws where the stored depth is within bounds, whatever the fragment's is.
func depthBoundsCase(c *Case) {
	s := c.scene(16, 4, 1, 1, vk.FORMAT_D32_SFLOAT, rgba32f)
	defer s.close()
	*s.depth.clear.DepthStencil() = vk.ClearDepthStencilValue{Depth: 1}
	s.draw(&look{vertex: wholeTarget, fragment: `layout(location = 0) out vec4 c;
		void main() { gl_FragDepth = gl_FragCoord.x / 16; c = vec4(0); }`, edit: depthTest(vk.COMPARE_OP_ALWAYS)},
		&look{vertex: wholeTarget, fragment: white, edit: func(g *vulkan.GraphicsState) {
			g.Depth.DepthBoundsTestEnable, g.Depth.MinDepthBounds, g.Depth.MaxDepthBounds = vk.TRUE, 0.25, 0.65625
		}})
	s.pixels(s.colors[0], 0, func(x, y int) (w [4]float64) {
		if d := (float64(x) + 0.5) / 16; d >= 0.25 && d <= 0.65625 {
			w = [4]float64{1, 1, 1, 1}
		}
		return w
	})
}

// independentCase has another equation for each attachment, and none for one.
func independentCase(c *Case) {
	s := c.scene(4, 4, 1, 1, 0, rgba32f, rgba32f, rgba32f)
	defer s.close()
	for _, t := range s.colors {
		*t.clear.Color().Float32() = [4]float32{0.5, 0.25, 1, 0.5}
	}
	s.draw(&look{vertex: wholeTarget, fragment: `layout(location = 0) out vec4 a; layout(location = 1) out vec4 b;
		layout(location = 2) out vec4 c;
		void main() { a = b = c = vec4(0.25, 0.5, 0.75, 1); }`, edit: func(g *vulkan.GraphicsState) {
		adds(g)
		b := &g.Attachments[2]
		b.BlendEnable, b.SrcColorBlendFactor, b.DstAlphaBlendFactor = vk.TRUE, vk.BLEND_FACTOR_DST_COLOR,
			vk.BLEND_FACTOR_ONE
	}})
	for i, want := range [][4]float64{{0.75, 0.75, 1.75, 0}, {0.25, 0.5, 0.75, 1}, {0.125, 0.125, 0.75, 0.5}} {
		s.pixels(s.colors[i], 0, func(int, int) [4]float64 { return want })
	}
}

// alphaCoverageCase draws columns of growing alpha: as many samples are covered, but for the rounding.
func alphaCoverageCase(c *Case) {
	s := c.scene(16, 4, 4, 1, 0, rgba32f)
	defer s.close()
	s.draw(&look{vertex: wholeTarget, fragment: `layout(location = 0) out vec4 c;
		void main() { c = vec4(1, 0, 0, floor(gl_FragCoord.x) / 15); }`, edit: func(g *vulkan.GraphicsState) {
		g.Multisample.RasterizationSamples = vk.SAMPLE_COUNT_4_BIT
		g.Multisample.AlphaToCoverageEnable = vk.TRUE
	}})
	got := s.floats(s.resolve)
	for y := range 4 {
		for x := range 16 {
			v, want := got[(y*16+x)*4], float64(x)/15
			if !near(float64(v), want, 0.26) || x == 0 && v != 0 || x == 15 && v != 1 {
				c.Errorf("pixel (%d, %d) is %v, want about %v", x, y, v, want)
			}
		}
	}
}

func alphaOneCase(c *Case) {
	s := c.scene(4, 4, 4, 1, 0, rgba32f)
	defer s.close()
	s.draw(&look{vertex: wholeTarget, fragment: `layout(location = 0) out vec4 c;
		void main() { c = vec4(0.25, 0.5, 0.75, 0.125); }`, edit: func(g *vulkan.GraphicsState) {
		g.Multisample.RasterizationSamples, g.Multisample.AlphaToOneEnable = vk.SAMPLE_COUNT_4_BIT, vk.TRUE
		adds(g)
		g.Attachments[0].SrcColorBlendFactor = vk.BLEND_FACTOR_SRC_ALPHA
		g.Attachments[0].SrcAlphaBlendFactor = vk.BLEND_FACTOR_ONE
	}})
	s.pixels(s.resolve, 1e-6, func(int, int) [4]float64 { return [4]float64{0.25, 0.5, 0.75, 1} })
}

// sampleShadingCase counts the invocations of a shader that knows nothing of samples.
func sampleShadingCase(c *Case) {
	for _, t := range []struct {
		least float32
		want  uint32
	}{{0, 64}, {0.5, 128}, {1, 256}} {
		s := c.scene(8, 8, 4, 1, 0, rgba32f)
		counts := make([]uint32, 1)
		s.draw(&look{vertex: wholeTarget, buffers: []any{counts}, fragment: `layout(binding = 0) buffer B { uint n[1]; };
			layout(location = 0) out vec4 c;
			void main() { atomicAdd(n[0], 1); c = vec4(1); }`, edit: func(g *vulkan.GraphicsState) {
			g.Multisample.RasterizationSamples = vk.SAMPLE_COUNT_4_BIT
			g.Multisample.SampleShadingEnable, g.Multisample.MinSampleShading = vk.TRUE, t.least
		}})
		if counts[0] < t.want || c.driver == "farside" && t.least != 0.5 && counts[0] != t.want {
			c.Errorf("%d invocations with minSampleShading %v, want %d", counts[0], t.least, t.want)
		}
		s.pixels(s.resolve, 0, func(int, int) [4]float64 { return [4]float64{1, 1, 1, 1} })
		s.close()
	}
}

func clipDistanceCase(c *Case) {
	s := c.scene(16, 16, 1, 1, 0, rgba32f)
	defer s.close()
	s.draw(&look{vertex: `out gl_PerVertex { vec4 gl_Position; float gl_ClipDistance[2]; };
		void main() {
			vec2 p = vec2(gl_VertexIndex == 1 ? 3 : -1, gl_VertexIndex == 2 ? 3 : -1);
			gl_Position = vec4(p, 0.5, 1);
			gl_ClipDistance[0] = p.x + 0.5;
			gl_ClipDistance[1] = 0.25 - p.y;
		}`, fragment: white})
	s.pixels(s.colors[0], 0, func(x, y int) (w [4]float64) {
		if x >= 4 && y < 10 {
			w = [4]float64{1, 1, 1, 1}
		}
		return w
	})
}

// cullDistanceCase draws two triangles, one of which is behind a plane with all corners, the other with two.
func cullDistanceCase(c *Case) {
	s := c.scene(16, 16, 1, 1, 0, rgba32f)
	defer s.close()
	s.draw(&look{vertex: `out gl_PerVertex { vec4 gl_Position; float gl_CullDistance[1]; };
		void main() {
			int i = gl_VertexIndex % 3, k = gl_VertexIndex / 3;
			vec2 p = vec2(i == 1 ? 1 : 0, i == 2 ? 1 : 0);
			gl_Position = vec4(p + vec2(k - 1, -0.5), 0.5, 1);
			gl_CullDistance[0] = k == 0 || i > 0 ? -1 : 0;
		}`, fragment: white, record: func(cb vk.CommandBuffer) { c.dev.CallOn("vkCmdDraw", uintptr(cb), 6, 1, 0, 0) }})
	got := s.floats(s.colors[0])
	if a, b := got[(5*16+1)*4], got[(5*16+9)*4]; a != 0 || b != 1 {
		c.Errorf("the triangles are %v and %v, want 0 and 1", a, b)
	}
}

// colorWriteCase disables the writes of attachments, in the pipeline and by command.
func colorWriteCase(c *Case) {
	for _, dynamic := range []bool{false, true} {
		s := c.scene(4, 4, 1, 1, 0, rgba32f, rgba32f)
		s.draw(&look{vertex: wholeTarget, fragment: `layout(location = 0) out vec4 a; layout(location = 1) out vec4 b;
			void main() { a = b = vec4(1); }`, edit: func(g *vulkan.GraphicsState) {
			w := vulkan.Struct[vk.PipelineColorWriteCreateInfoEXT](&s.a)
			w.AttachmentCount = 2
			w.PColorWriteEnables = vulkan.First(vulkan.Make[vk.Bool32](&s.a, 2))
			*w.PColorWriteEnables = vk.TRUE
			vulkan.Behind(unsafe.Pointer(g.Blend), unsafe.Pointer(w))
			if dynamic {
				g.Vary(vk.DYNAMIC_STATE_COLOR_WRITE_ENABLE_EXT)
			}
		}, record: func(cb vk.CommandBuffer) {
			if dynamic {
				c.dev.CallOn("vkCmdSetColorWriteEnableEXT", uintptr(cb), 2, ptr(vulkan.Put(&s.a, [2]vk.Bool32{0, 1})))
			}
			c.dev.CallOn("vkCmdDraw", uintptr(cb), 3, 1, 0, 0)
		}})
		for i, t := range s.colors {
			want := [4]float64{}
			if (i == 1) == dynamic {
				want = [4]float64{1, 1, 1, 1}
			}
			s.pixels(t, 0, func(int, int) [4]float64 { return want })
		}
		s.close()
	}
}
