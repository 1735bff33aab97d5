package conformance

import (
	"encoding/binary"
	"math/bits"
	"unsafe"

	"farside/conformance/vulkan"
	"farside/internal/vk"
)

// interfaceCases are about built-ins of fragments, and about variables between the stages.
func interfaceCases() []definition {
	return []definition{
		drawCase("glsl.builtin_var.frontfacing.all", frontFacingCase),
		drawCase("glsl.builtin_var.pointcoord", pointCoordCase, "LargePoints"),
		drawCase("glsl.builtin_var.sample_mask_in", sampleMaskInCase, "SampleRateShading"),
		drawCase("glsl.conservative_depth.all", conservativeDepthCase),
		drawCase("fragment_operations.early_tests.stores", earlyStoresCase, "FragmentStoresAndAtomics"),
		drawCase("pipeline.interface.aggregates", aggregatesCase),
		drawCase("pipeline.interface.components", componentsCase),
		drawCase("pipeline.interface.missing", missingCase, "IndependentBlend"),
		drawCase("pipeline.spec_constant.both_stages", specializedCase),
		drawCase("draw.base_vertex_of_instances", baseVertexCase, "ShaderDrawParameters"),
	}
}

// frontFacingCase has triangles of both orientations, points and lines, which are all in front.
func frontFacingCase(c *Case) {
	for _, t := range []struct {
		topology vk.PrimitiveTopology
		face     vk.FrontFace
		front    bool
	}{{vk.PRIMITIVE_TOPOLOGY_TRIANGLE_LIST, vk.FRONT_FACE_CLOCKWISE, true},
		{vk.PRIMITIVE_TOPOLOGY_TRIANGLE_LIST, vk.FRONT_FACE_COUNTER_CLOCKWISE, false},
		{vk.PRIMITIVE_TOPOLOGY_LINE_LIST, vk.FRONT_FACE_CLOCKWISE, true},
		{vk.PRIMITIVE_TOPOLOGY_LINE_LIST, vk.FRONT_FACE_COUNTER_CLOCKWISE, true},
		{vk.PRIMITIVE_TOPOLOGY_POINT_LIST, vk.FRONT_FACE_COUNTER_CLOCKWISE, true}} {
		s := c.scene(8, 8, 1, 1, 0, rgba32f)
		s.draw(&look{vertex: `void main() {
				vec2 p = vec2[](vec2(0.5, 3.5), vec2(7.5, 3.5), vec2(0.5, 7.5))[gl_VertexIndex];
				gl_Position = vec4(p / 4 - 1, 0, 1);
				gl_PointSize = 1;
			}`, fragment: `layout(location = 0) out vec4 c; void main() { c = vec4(gl_FrontFacing ? 2 : 1); }`,
			edit: func(g *vulkan.GraphicsState) { g.Assembly.Topology, g.Raster.FrontFace = t.topology, t.face },
			record: func(cb vk.CommandBuffer) {
				n := uintptr(3)
				if t.topology != vk.PRIMITIVE_TOPOLOGY_TRIANGLE_LIST {
					n = 2
				}
				c.dev.CallOn("vkCmdDraw", uintptr(cb), n, 1, 0, 0)
			}})
		seen, want := 0, float32(1)
		if t.front {
			want = 2
		}
		for i, v := range s.floats(s.colors[0]) {
			if v != 0 {
				if seen++; v != want {
					c.Fatalf("%v, %v: value %d is %v, want %v", t.topology, t.face, i, v, want)
				}
			}
		}
		if seen == 0 {
			c.Errorf("%v: nothing is drawn", t.topology)
		}
		s.close()
	}
}

// pointCoordCase draws a point of 8 pixels, whose middle is at (9, 7).
func pointCoordCase(c *Case) {
	s := c.scene(16, 16, 1, 1, 0, rgba32f)
	defer s.close()
	s.draw(&look{vertex: `void main() { gl_Position = vec4(9 / 8.0 - 1, 7 / 8.0 - 1, 0, 1); gl_PointSize = 8; }`,
		fragment: `layout(location = 0) out vec4 c;
		void main() { c = vec4(gl_PointCoord, dFdx(gl_PointCoord.x), dFdy(gl_PointCoord.y)); }`, edit: points,
		record: func(cb vk.CommandBuffer) { c.dev.CallOn("vkCmdDraw", uintptr(cb), 1, 1, 0, 0) }})
	s.pixels(s.colors[0], 1e-6, func(x, y int) (w [4]float64) {
		if x >= 5 && x < 13 && y >= 3 && y < 11 {
			w = [4]float64{(float64(x) - 4.5) / 8, (float64(y) - 2.5) / 8, 0.125, 0.125}
		}
		return w
	})
}

// sampleMaskInCase adds up which samples a fragment says that it covers: of two triangles at a diagonal each sample
// once, and with sample shading each invocation has its own alone.
func sampleMaskInCase(c *Case) {
	for _, perSample := range []bool{false, true} {
		s := c.scene(16, 16, 4, 1, 0, rgba32f)
		own := ""
		if perSample {
			own = " + 0 * gl_SampleID"
		}
		s.draw(&look{vertex: `void main() {
				int i = gl_VertexIndex;
				vec2 p = vec2(i == 1 || i == 3 || i == 4, i == 2 || i > 3);
				gl_Position = vec4(p * 2 - 1, 0, 1);
			}`, fragment: `layout(location = 0) out vec4 c;
			void main() {
				uint m = gl_SampleMaskIn[0]` + own + `;
				c = vec4(m, bitCount(m), 1, m >> 4);
			}`, edit: func(g *vulkan.GraphicsState) { g.Multisample.RasterizationSamples = vk.SAMPLE_COUNT_4_BIT },
			record: func(cb vk.CommandBuffer) { c.dev.CallOn("vkCmdDraw", uintptr(cb), 6, 1, 0, 0) }})
		got := s.floats(s.resolve)
		for i := 0; i < len(got); i += 4 {
			x, y := i/4%16, i/64
			want := [4]float32{15, 4, 1, 0}
			switch {
			case perSample:
				want = [4]float32{15.0 / 4, 1, 1, 0}
			case x+y == 15: // the diagonal: the fragments of both triangles, each in the samples that it names
				sum, both := float32(0), float32(0)
				mask := uint32(0)
				for k, l := range [][2]float32{{0.375, 0.125}, {0.875, 0.375}, {0.125, 0.625}, {0.625, 0.875}} {
					if l[0]+l[1] < 1 {
						mask |= 1 << k
					}
				}
				for _, m := range []uint32{mask, 15 &^ mask} {
					n := float32(bits.OnesCount32(m))
					sum, both = sum+float32(m)*n/4, both+n*n/4
				}
				want[0], want[1] = sum, both
			}
			if [4]float32(got[i:]) != want {
				c.Fatalf("per sample %v: pixel (%d, %d) is %v, want %v", perSample, x, y, got[i:i+4], want)
			}
		}
		s.close()
	}
}

// conservativeDepthCase writes depths that keep their promises, in front of a depth of 0.5.
func conservativeDepthCase(c *Case) {
	for _, t := range []struct {
		layout, depth string
		at            float32
		want          func(x int) float32
	}{
		{"depth_any", "gl_FragCoord.x / 16", 0.25, func(x int) float32 { return (float32(x) + 0.5) / 16 }},
		{"depth_greater", "gl_FragCoord.z + gl_FragCoord.x / 16", 0.25,
			func(x int) float32 { return 0.25 + (float32(x)+0.5)/16 }},
		{"depth_less", "gl_FragCoord.z - gl_FragCoord.x / 32", 0.75,
			func(x int) float32 { return 0.75 - (float32(x)+0.5)/32 }},
		{"depth_unchanged", "gl_FragCoord.z", 0.25, func(int) float32 { return 0.25 }},
	} {
		s := c.scene(16, 4, 1, 1, vk.FORMAT_D32_SFLOAT, rgba32f)
		*s.depth.clear.DepthStencil() = vk.ClearDepthStencilValue{Depth: 0.5}
		s.draw(&look{push: []float32{t.at}, vertex: `layout(push_constant) uniform P { float z; };
			void main() {
				gl_Position = vec4(gl_VertexIndex == 1 ? 3 : -1, gl_VertexIndex == 2 ? 3 : -1, z, 1);
			}`, edit: depthTest(vk.COMPARE_OP_LESS), fragment: `layout(` + t.layout + `) out float gl_FragDepth;
			layout(location = 0) out vec4 c;
			void main() { gl_FragDepth = ` + t.depth + `; c = vec4(1); }`})
		for i, v := range s.depths() {
			if want := min(t.want(i%16), 0.5); v != want {
				c.Fatalf("%s: depth of pixel %d is %v, want %v", t.layout, i, v, want)
			}
		}
		s.pixels(s.colors[0], 0, func(x, y int) (w [4]float64) {
			if t.want(x) < 0.5 {
				w = [4]float64{1, 1, 1, 1}
			}
			return w
		})
		s.close()
	}
}

// earlyStoresCase has early tests leave gl_FragDepth and gl_SampleMask alone, while stores are made by what the depth
// and the stencil test have let through.
func earlyStoresCase(c *Case) {
	s := c.scene(16, 16, 1, 1, vk.FORMAT_D32_SFLOAT_S8_UINT, rgba32f)
	defer s.close()
	*s.depth.clear.DepthStencil() = vk.ClearDepthStencilValue{Depth: 0.5, Stencil: 3}
	hits := make([]uint32, 256)
	s.draw(&look{buffers: []any{hits}, vertex: `void main() {
			vec2 p = vec2(gl_VertexIndex == 1 ? 3 : -1, gl_VertexIndex == 2 ? 3 : -1);
			gl_Position = vec4(p, p.x / 2 + 0.5, 1);
		}`, fragment: `layout(early_fragment_tests) in;
		layout(binding = 0) buffer B { uint hits[]; };
		layout(location = 0) out vec4 c;
		void main() {
			atomicAdd(hits[int(gl_FragCoord.y) * 16 + int(gl_FragCoord.x)], 1u);
			gl_FragDepth = 0.9;
			c = vec4(1);
		}`, edit: func(g *vulkan.GraphicsState) {
		depthTest(vk.COMPARE_OP_LESS)(g)
		g.Depth.StencilTestEnable = vk.TRUE
		g.Depth.Front = vk.StencilOpState{PassOp: vk.STENCIL_OP_INCREMENT_AND_CLAMP, DepthFailOp: vk.STENCIL_OP_ZERO,
			CompareOp: vk.COMPARE_OP_EQUAL, CompareMask: 255, WriteMask: 255, Reference: 3}
		g.Depth.Back = g.Depth.Front
	}})
	stencils := s.read(s.depth, vk.IMAGE_ASPECT_STENCIL_BIT, 0, 1)
	depths := s.read(s.depth, vk.IMAGE_ASPECT_DEPTH_BIT, 0, 4)
	for i := range 256 {
		x, hit, stencil, depth := i%16, uint32(0), byte(0), float32(0.5)
		if x < 8 {
			hit, stencil, depth = 1, 4, (float32(x)+0.5)/16
		}
		d := binary.LittleEndian.Uint32(depths[4*i:])
		if v := *(*float32)(unsafe.Pointer(&d)); hits[i] != hit || stencils[i] != stencil || v != depth {
			c.Fatalf("pixel %d: %d stores, stencil %d, depth %v; want %d, %d, %v", i, hits[i], stencils[i], v, hit, stencil,
				depth)
		}
	}
}

// aggregatesCase sends matrices, arrays of structures and arrays of arrays.
func aggregatesCase(c *Case) {
	s := c.scene(16, 16, 1, 1, 0, rgba32f, rgba32f, rgba32f)
	defer s.close()
	const variables = `struct Part { vec2 a; ivec3 b; float list[2]; };
		layout(location = 0) %s mat3x2 matrix;
		layout(location = 3) %s mat2 matrices[2];
		layout(location = 7) flat %s Part parts[2];
		layout(location = 15) %s float grid[2][2];
		layout(location = 19) %s Block { vec3 v; layout(location = 21) mat2 m; } block;`
	in := []byte(variables)
	s.draw(&look{vertex: replaced(in, "out") + `
		void main() {
			gl_Position = vec4(gl_VertexIndex == 1 ? 3 : -1, gl_VertexIndex == 2 ? 3 : -1, 0, 1);
			float p = gl_Position.x;
			matrix = mat3x2(1, 2, 3, 4, 5, p);
			matrices[0] = mat2(6, 7, 8, 9);
			matrices[1] = mat2(10, p * 2, 12, 13);
			parts[0] = Part(vec2(14, 15), ivec3(16, 17, 18), float[2](19.0, 20.0));
			parts[1] = Part(vec2(21, 22), ivec3(23, 24, 25), float[2](26.0, 27.0));
			grid = float[2][2](float[2](28.0, 29.0), float[2](30.0, p * 3));
			block.v = vec3(32, 33, 34);
			block.m = mat2(35, 36, p * 4, 38);
		}`, fragment: replaced(in, "in") + `
		layout(location = 0) out vec4 c; layout(location = 1) out vec4 d; layout(location = 2) out vec4 e;
		void main() {
			int k = int(gl_FragCoord.y) & 1;
			c = vec4(matrix[2][1], matrix[k][1], matrices[1][0][1], matrices[k][1][0]);
			d = vec4(parts[k].b[2], parts[1].list[k], parts[0].a[k], parts[0].b[k]);
			e = vec4(grid[1][1], grid[k][0], block.m[1][0], block.v[1 + k] + block.m[0][k]);
		}`})
	at := func(x int) float64 { return (float64(x)+0.5)/8 - 1 }
	either := func(y int, a, b float64) float64 { return []float64{a, b}[y&1] }
	s.pixels(s.colors[0], 1e-4, func(x, y int) [4]float64 {
		return [4]float64{at(x), either(y, 2, 4), 2 * at(x), either(y, 8, 12)}
	})
	s.pixels(s.colors[1], 1e-4, func(x, y int) [4]float64 {
		return [4]float64{either(y, 18, 25), either(y, 26, 27), either(y, 14, 15), either(y, 16, 17)}
	})
	s.pixels(s.colors[2], 1e-4, func(x, y int) [4]float64 {
		return [4]float64{3 * at(x), either(y, 28, 30), 4 * at(x), either(y, 33+35, 34+36)}
	})
}

// replaced puts a word in the place of each %s.
func replaced(text []byte, word string) string {
	var out []byte
	for i := 0; i < len(text); i++ {
		if text[i] == '%' && text[i+1] == 's' {
			out = append(out, word...)
			i++
			continue
		}
		out = append(out, text[i])
	}
	return string(out)
}

// componentsCase packs variables into locations, by their components.
func componentsCase(c *Case) {
	s := c.scene(16, 16, 1, 1, 0, rgba32f, rgba32f)
	defer s.close()
	s.draw(&look{vertex: `layout(location = 0, component = 0) out float a;
		layout(location = 0, component = 1) out vec2 b;
		layout(location = 0, component = 3) out float d;
		layout(location = 1, component = 1) flat out int n;
		layout(location = 1, component = 2) flat out uvec2 u;
		layout(location = 2, component = 2) out float list[3];
		layout(location = 2, component = 0) out vec2 other[2];
		void main() {
			gl_Position = vec4(gl_VertexIndex == 1 ? 3 : -1, gl_VertexIndex == 2 ? 3 : -1, 0, 1);
			a = gl_Position.x; b = vec2(2, gl_Position.y); d = 4;
			n = -5; u = uvec2(6, 7);
			list = float[3](8.0, 9.0, gl_Position.x * 10);
			other = vec2[2](vec2(11, 12), vec2(13, gl_Position.y * 14));
		}`, fragment: `layout(location = 0, component = 0) in float a;
		layout(location = 0, component = 1) in vec2 b;
		layout(location = 0, component = 3) in float d;
		layout(location = 1, component = 1) flat in int n;
		layout(location = 1, component = 2) flat in uvec2 u;
		layout(location = 2, component = 2) in float list[3];
		layout(location = 2, component = 0) in vec2 other[2];
		layout(location = 0, component = 2) out vec2 high; layout(location = 0, component = 0) out vec2 low;
		layout(location = 1, component = 1) out vec3 most; layout(location = 1, component = 0) out float least;
		void main() {
			low = vec2(a, b.y + d); high = vec2(n, u.y);
			least = list[2]; most = vec3(other[1].y, list[int(gl_FragCoord.x) & 1], other[0].x + b.x + u.x);
		}`})
	at := func(x int) float64 { return (float64(x)+0.5)/8 - 1 }
	s.pixels(s.colors[0], 1e-4, func(x, y int) [4]float64 { return [4]float64{at(x), at(y) + 4, -5, 7} })
	s.pixels(s.colors[1], 1e-4, func(x, y int) [4]float64 {
		return [4]float64{10 * at(x), 14 * at(y), float64(8 + x&1), 19}
	})
}

// missingCase has outputs that nobody reads, outputs without an attachment, and an attachment without an output, which
// is masked.
func missingCase(c *Case) {
	s := c.scene(8, 8, 1, 1, 0, rgba32f, rgba32f)
	defer s.close()
	s.draw(&look{vertex: `layout(location = 0) out vec4 unread; layout(location = 1) out vec4 wide;
		layout(location = 5) out float other;
		void main() {
			gl_Position = vec4(gl_VertexIndex == 1 ? 3 : -1, gl_VertexIndex == 2 ? 3 : -1, 0, 1);
			unread = vec4(9); wide = vec4(1, 2, 3, 4); other = 5;
		}`, fragment: `layout(location = 1) in vec2 narrow;
		layout(location = 0) out vec4 c; layout(location = 6) out vec4 nowhere;
		void main() { c = vec4(narrow, 7, 8); nowhere = vec4(9); }`,
		edit: func(g *vulkan.GraphicsState) { g.Attachments[1].ColorWriteMask = 0 }})
	s.pixels(s.colors[0], 1e-5, func(int, int) [4]float64 { return [4]float64{1, 2, 7, 8} })
	s.pixels(s.colors[1], 0, func(int, int) [4]float64 { return [4]float64{} })
}

// specializedCase specializes both stages with other values: sizes of arrays, conditions and numbers.
func specializedCase(c *Case) {
	s := c.scene(8, 8, 1, 1, 0, rgba32f)
	defer s.close()
	type values struct {
		n    int32
		x    float32
		flag vk.Bool32
	}
	entries := []vk.SpecializationMapEntry{{ConstantID: 0, Size: 4}, {ConstantID: 1, Offset: 4, Size: 4},
		{ConstantID: 7, Offset: 8, Size: 4}, {ConstantID: 99, Offset: 0, Size: 4}}
	const constants = `layout(constant_id = 0) const int n = 2; layout(constant_id = 1) const float x = 1;
		layout(constant_id = 7) const bool flag = false; layout(constant_id = 2) const int kept = 11;
		`
	s.draw(&look{vertex: constants + `layout(location = 0) flat out vec2 v;
		void main() {
			float list[n];
			for (int i = 0; i < n; i++) list[i] = x * i;
			gl_Position = vec4(gl_VertexIndex == 1 ? 3 : -1, gl_VertexIndex == 2 ? 3 : -1, 0, 1);
			v = vec2(list[n - 1], flag ? n * 2 + 1 : 0);
		}`, fragment: constants + `layout(location = 0) flat in vec2 v; layout(location = 0) out vec4 c;
		const int more = n * 3;
		void main() { float list[more]; list[more - 1] = x; c = vec4(v, list[more - 1] + more, flag ? 1 : kept); }`,
		edit: func(g *vulkan.GraphicsState) {
			for i, v := range []values{{4, 0.5, vk.TRUE}, {5, 0.25, vk.FALSE}} {
				x := vulkan.New[vk.SpecializationInfo](&s.a)
				list := vulkan.Put(&s.a, [4]vk.SpecializationMapEntry(entries))
				x.MapEntryCount, x.PMapEntries = 4, &list[0]
				x.DataSize, x.PData = 12, unsafe.Pointer(vulkan.Put(&s.a, v))
				g.Stages[i].PSpecializationInfo = x
			}
		}})
	s.pixels(s.colors[0], 0, func(int, int) [4]float64 { return [4]float64{1.5, 9, 15.25, 11} })
}

// baseVertexCase looks at gl_BaseVertex, gl_BaseInstance and gl_DrawID of draws with and without indices.
func baseVertexCase(c *Case) {
	s := c.scene(16, 16, 1, 1, 0, rgba32f)
	defer s.close()
	indices := c.shaderBuffer([]uint16{9, 3, 4}, vk.BUFFER_USAGE_INDEX_BUFFER_BIT)
	defer indices.free()
	s.draw(&look{vertex: pixelPoint("", "gl_VertexIndex + 16 * gl_InstanceIndex",
		"vec4(gl_BaseVertexARB, gl_BaseInstanceARB, gl_VertexIndex, gl_InstanceIndex)"), fragment: passValue, edit: points,
		record: func(cb vk.CommandBuffer) {
			c.dev.CallOn("vkCmdBindIndexBuffer", uintptr(cb), uintptr(indices.buffer), 0, uintptr(vk.INDEX_TYPE_UINT16))
			c.dev.CallOn("vkCmdDraw", uintptr(cb), 2, 2, 5, 3)
			minus := int32(-2)
			c.dev.CallOn("vkCmdDrawIndexed", uintptr(cb), 2, 1, 1, uintptr(uint32(minus)), 8)
		}})
	s.pixelsOf(map[int][4]float64{5 + 48: {5, 3, 5, 3}, 6 + 48: {5, 3, 6, 3}, 5 + 64: {5, 3, 5, 4}, 6 + 64: {5, 3, 6, 4},
		1 + 128: {-2, 8, 1, 8}, 2 + 128: {-2, 8, 2, 8}})
}
