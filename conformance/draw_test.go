package conformance

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"farside/conformance/vulkan"
	"farside/internal/vk"
)

const (
	rgba32f = vk.FORMAT_R32G32B32A32_SFLOAT
	rgba8   = vk.FORMAT_R8G8B8A8_UNORM
)

// drawCase is a row of the table for what draws.
func drawCase(name string, run func(c *Case), needs ...string) definition {
	return definition{name: name, compute: true, graphics: true, valid: true, needs: needs, run: run}
}

// drawCases draw with every kind of topology, index and command, and look at each pixel.
func drawCases() []definition {
	list := []definition{
		drawCase("draw.dynamic_rendering.coverage", coverageCase),
		drawCase("draw.dynamic_rendering.frag_coord", func(c *Case) {
			s := c.scene(37, 21, 1, 1, 0, rgba32f)
			defer s.close()
			s.draw(&look{vertex: `void main() {
				vec2 p = vec2(gl_VertexIndex == 1 ? 3 : -1, gl_VertexIndex == 2 ? 3 : -1);
				gl_Position = vec4(p * 2, 0.5, 2);
			}`, fragment: `layout(location = 0) out vec4 c; void main() { c = gl_FragCoord; }`})
			s.pixels(s.colors[0], 1e-6, func(x, y int) [4]float64 {
				return [4]float64{float64(x) + 0.5, float64(y) + 0.5, 0.25, 0.5}
			})
		}),
		drawCase("draw.dynamic_rendering.interpolation", interpolationCase),
		drawCase("draw.dynamic_rendering.derivatives", func(c *Case) {
			s := c.scene(33, 19, 1, 1, 0, rgba32f)
			defer s.close()
			s.draw(&look{vertex: wholeTarget, fragment: `layout(location = 0) out vec4 c;
				void main() {
					float v = gl_FragCoord.x * 3 + gl_FragCoord.y * 5;
					c = vec4(dFdx(v), dFdy(v), fwidth(v), dFdx(gl_FragCoord.x * gl_FragCoord.x));
				}`})
			s.pixels(s.colors[0], 1e-3, func(x, y int) [4]float64 {
				return [4]float64{3, 5, 8, float64(x&^1+1) * 2}
			})
		}),
		drawCase("draw.dynamic_rendering.no_fragment_shader", func(c *Case) {
			s := c.scene(16, 16, 1, 1, vk.FORMAT_D32_SFLOAT)
			defer s.close()
			*s.depth.clear.DepthStencil() = vk.ClearDepthStencilValue{Depth: 1}
			s.draw(&look{vertex: wholeTarget, edit: depthTest(vk.COMPARE_OP_LESS)})
			for i, v := range s.depths() {
				if v != 0.5 {
					c.Fatalf("depth %d is %v, want 0.5", i, v)
				}
			}
		}),
		drawCase("draw.instanced", instancedCase),
		drawCase("draw.indexed", indexedCase),
		drawCase("draw.indirect", indirectCase, "MultiDrawIndirect", "DrawIndirectFirstInstance"),
		drawCase("draw.shader_draw_parameters", parametersCase, "ShaderDrawParameters"),
	}
	for t := vk.PRIMITIVE_TOPOLOGY_POINT_LIST; t <= vk.PRIMITIVE_TOPOLOGY_TRIANGLE_FAN; t++ {
		list = append(list, drawCase("draw.topology."+topologyName(t), func(c *Case) { provokingCase(c, t, false) }))
	}
	return list
}

// depths reads the depth attachment, of VK_FORMAT_D32_SFLOAT.
func (s *scene) depths() []float32 {
	b := s.read(s.depth, vk.IMAGE_ASPECT_DEPTH_BIT, 0, 4)
	out := make([]float32, len(b)/4)
	for i := range out {
		out[i] = math.Float32frombits(uint32(b[4*i]) | uint32(b[4*i+1])<<8 | uint32(b[4*i+2])<<16 | uint32(b[4*i+3])<<24)
	}
	return out
}

func depthTest(op vk.CompareOp) func(g *vulkan.GraphicsState) {
	return func(g *vulkan.GraphicsState) {
		g.Depth.DepthTestEnable, g.Depth.DepthWriteEnable, g.Depth.DepthCompareOp = vk.TRUE, vk.TRUE, op
	}
}

// coverageCase draws random triangles whose corners are multiples of 1/16 of a pixel, two of each pair with a common
// edge. Each pixel adds up how often its center is covered: the rule for edges through a center gives it to one of two.
func coverageCase(c *Case) {
	const size = 64
	s := c.scene(size, size, 1, 1, 0, rgba32f)
	defer s.close()
	random := uint32(12345)
	next := func(n uint32) int64 {
		random = random*1664525 + 1013904223
		return int64(random >> 8 % n)
	}
	var corners [][2]int64 // in sixteenths
	for range 200 {
		var p [4][2]int64
		for i := range p {
			// Many corners lie on centers of pixels.
			p[i] = [2]int64{next(size*2) * 8, next(size*2) * 8}
			if next(3) == 0 {
				p[i] = [2]int64{next(size * 16), next(size * 16)}
			}
		}
		corners = append(corners, p[0], p[1], p[2], p[2], p[1], p[3])
	}
	words := make([]float32, 0, len(corners)*2)
	for _, p := range corners {
		words = append(words, float32(p[0])/16, float32(p[1])/16)
	}
	s.draw(&look{buffers: []any{words},
		vertex: `layout(binding = 0) readonly buffer B { vec2 p[]; };
			void main() { gl_Position = vec4(p[gl_VertexIndex] / 32 - 1, 0, 1); }`,
		fragment: `layout(location = 0) out vec4 c; void main() { c = vec4(1, gl_FrontFacing ? 1 : 0, 0, 0); }`,
		edit: func(g *vulkan.GraphicsState) {
			b := &g.Attachments[0]
			b.BlendEnable, b.SrcColorBlendFactor, b.DstColorBlendFactor = vk.TRUE, vk.BLEND_FACTOR_ONE, vk.BLEND_FACTOR_ONE
		},
		record: func(cb vk.CommandBuffer) { c.dev.CallOn("vkCmdDraw", uintptr(cb), uintptr(len(corners)), 1, 0, 0) }})
	want := make([][2]float64, size*size)
	for i := 0; i < len(corners); i += 3 {
		coverTriangle([3][2]int64(corners[i:]), size, func(x, y int, front bool) {
			want[y*size+x][0]++
			if front {
				want[y*size+x][1]++
			}
		})
	}
	s.pixels(s.colors[0], 0, func(x, y int) [4]float64 {
		return [4]float64{want[y*size+x][0], want[y*size+x][1], 0, 0}
	})
}

// coverTriangle calls cover for the pixels whose centers are inside of a triangle, whose corners are in sixteenths of a
// pixel: in exact numbers, with the rule for top and left edges.
func coverTriangle(p [3][2]int64, size int, cover func(x, y int, front bool)) {
	area := (p[1][0]-p[0][0])*(p[2][1]-p[0][1]) - (p[2][0]-p[0][0])*(p[1][1]-p[0][1])
	if area == 0 {
		return
	}
	// With y downwards a positive area is clockwise, and counter-clockwise triangles are those in front.
	front := area < 0
	if area < 0 {
		p[1], p[2] = p[2], p[1]
	}
	for y := range size {
	next:
		for x := range size {
			at := [2]int64{int64(x)*16 + 8, int64(y)*16 + 8}
			for i := range p {
				a, b := p[i], p[(i+1)%3]
				dx, dy := b[0]-a[0], b[1]-a[1]
				e := dx*(at[1]-a[1]) - dy*(at[0]-a[0])
				topLeft := dy < 0 || dy == 0 && dx > 0
				if e < 0 || e == 0 && !topLeft {
					continue next
				}
			}
			cover(x, y, front)
		}
	}
}

// interpolationCase compares the three ways of interpolation with their definition, on a triangle in perspective.
func interpolationCase(c *Case) {
	const size = 32
	s := c.scene(size, size, 1, 1, 0, rgba32f, rgba32f)
	defer s.close()
	s.draw(&look{vertex: `layout(location = 0) out vec2 a; layout(location = 1) noperspective out vec2 b;
			layout(location = 2) flat out int n;
			void main() {
				float w = gl_VertexIndex == 0 ? 1 : gl_VertexIndex == 1 ? 2 : 4;
				vec2 p = vec2(gl_VertexIndex == 1 ? 3 : -1, gl_VertexIndex == 2 ? 3 : -1);
				gl_Position = vec4(p, 0, 1) * w;
				a = b = vec2(gl_VertexIndex == 1, gl_VertexIndex == 2);
				n = gl_VertexIndex + 7;
			}`,
		fragment: `layout(location = 0) in vec2 a; layout(location = 1) noperspective in vec2 b;
			layout(location = 2) flat in int n;
			layout(location = 0) out vec4 c; layout(location = 1) out vec4 d;
			void main() { c = vec4(a, b); d = vec4(n, 0, 0, 0); }`})
	s.pixels(s.colors[0], 1e-5, func(x, y int) [4]float64 {
		l1, l2 := (float64(x)+0.5)/(2*size), (float64(y)+0.5)/(2*size)
		l0 := 1 - l1 - l2
		w := l0 + l1/2 + l2/4
		return [4]float64{l1 / 2 / w, l2 / 4 / w, l1, l2}
	})
	s.pixels(s.colors[1], 0, func(int, int) [4]float64 { return [4]float64{7, 0, 0, 0} })
}

// pixelPoint is a vertex shader that puts a point on the pixel that its number n, of the expression, says, of a target
// of 16 x 16, and gives it values.
func pixelPoint(declarations, n, value string) string {
	return fmt.Sprintf(`%s
		layout(location = 0) flat out vec4 v;
		void main() {
			int n = %s;
			gl_Position = vec4((n %% 16 + 0.5) / 8 - 1, (n / 16 + 0.5) / 8 - 1, 0, 1);
			gl_PointSize = 1;
			v = %s;
		}`, declarations, n, value)
}

const passValue = `layout(location = 0) flat in vec4 v; layout(location = 0) out vec4 c; void main() { c = v; }`

func points(g *vulkan.GraphicsState) { g.Assembly.Topology = vk.PRIMITIVE_TOPOLOGY_POINT_LIST }

// pixelsOf compares the 256 pixels of a target with a list; those that it lacks are zero.
func (s *scene) pixelsOf(want map[int][4]float64) {
	s.pixels(s.colors[0], 0, func(x, y int) [4]float64 { return want[y*16+x] })
}

// instancedCase draws instances of points from two buffers, one of which goes on by instance.
func instancedCase(c *Case) {
	s := c.scene(16, 16, 1, 1, 0, rgba32f)
	defer s.close()
	values := make([]float32, 64)
	for i := range values {
		values[i] = float32(i) + 0.25
	}
	vertices := c.shaderBuffer(values, vk.BUFFER_USAGE_VERTEX_BUFFER_BIT)
	defer vertices.free()
	s.draw(&look{
		vertex: pixelPoint("layout(location = 3) in float a; layout(location = 5) in float b;",
			"gl_VertexIndex + gl_InstanceIndex * 16", "vec4(a, b, gl_VertexIndex, gl_InstanceIndex)"),
		fragment: passValue,
		edit: func(g *vulkan.GraphicsState) {
			points(g)
			g.Vertex([]vk.VertexInputBindingDescription{{Binding: 0, Stride: 4},
				{Binding: 2, Stride: 8, InputRate: vk.VERTEX_INPUT_RATE_INSTANCE}},
				[]vk.VertexInputAttributeDescription{{Location: 3, Binding: 0, Format: vk.FORMAT_R32_SFLOAT, Offset: 8},
					{Location: 5, Binding: 2, Format: vk.FORMAT_R32_SFLOAT, Offset: 4}})
		},
		record: func(cb vk.CommandBuffer) {
			c.dev.BindVertices(cb, 0, vertices.buffer)
			c.dev.BindVertices(cb, 2, vertices.buffer)
			c.dev.CallOn("vkCmdDraw", uintptr(cb), 9, 4, 3, 2)
		}})
	want := map[int][4]float64{}
	for i := 2; i < 6; i++ {
		for v := 3; v < 12; v++ {
			want[v+i*16] = [4]float64{float64(v) + 2.25, float64(i)*2 + 1.25, float64(v), float64(i)}
		}
	}
	s.pixelsOf(want)
}

// indexedCase draws with indices of 16 and 32 bits, an offset for the vertices, and a first index.
func indexedCase(c *Case) {
	for _, wide := range []bool{false, true} {
		s := c.scene(16, 16, 1, 1, 0, rgba32f)
		list := []uint16{9, 9, 0, 7, 3, 65535, 100, 2}
		var data any = list
		kind := vk.INDEX_TYPE_UINT16
		if wide {
			more := make([]uint32, len(list))
			for i, v := range list {
				more[i] = uint32(v)
			}
			data, kind = more, vk.INDEX_TYPE_UINT32
		}
		indices := c.shaderBuffer(data, vk.BUFFER_USAGE_INDEX_BUFFER_BIT)
		s.draw(&look{vertex: pixelPoint("", "gl_VertexIndex & 255", "vec4(gl_VertexIndex, gl_InstanceIndex, 1, 0)"),
			fragment: passValue, edit: points,
			record: func(cb vk.CommandBuffer) {
				size := uintptr(4)
				if !wide {
					size = 2
				}
				c.dev.CallOn("vkCmdBindIndexBuffer", uintptr(cb), uintptr(indices.buffer), size, uintptr(kind))
				offset := int32(-2)
				c.dev.CallOn("vkCmdDrawIndexed", uintptr(cb), 6, 1, 1, uintptr(uint32(offset)), 3)
			}})
		want := map[int][4]float64{}
		for _, v := range list[2:] {
			n := int32(v) - 2
			want[int(n&255)] = [4]float64{float64(n), 3, 1, 0}
		}
		s.pixelsOf(want)
		indices.free()
		s.close()
	}
}

// indirectCase draws what buffers say, with gaps between the commands.
func indirectCase(c *Case) {
	s := c.scene(16, 16, 1, 1, 0, rgba32f)
	defer s.close()
	commands := c.shaderBuffer([]uint32{77, 3, 2, 10, 0, 0, 2, 1, 40, 5, 0, 0, 0, 9, 0, 0},
		vk.BUFFER_USAGE_INDIRECT_BUFFER_BIT)
	defer commands.free()
	indexed := c.shaderBuffer([]uint32{2, 1, 1, 100, 6}, vk.BUFFER_USAGE_INDIRECT_BUFFER_BIT)
	defer indexed.free()
	indices := c.shaderBuffer([]uint16{50, 60, 70, 80}, vk.BUFFER_USAGE_INDEX_BUFFER_BIT)
	defer indices.free()
	s.draw(&look{vertex: pixelPoint("", "gl_VertexIndex", "vec4(gl_VertexIndex, gl_InstanceIndex, 1, 0)"),
		fragment: passValue, edit: points,
		record: func(cb vk.CommandBuffer) {
			c.dev.CallOn("vkCmdDrawIndirect", uintptr(cb), uintptr(commands.buffer), 4, 3, 20)
			c.dev.CallOn("vkCmdBindIndexBuffer", uintptr(cb), uintptr(indices.buffer), 0, uintptr(vk.INDEX_TYPE_UINT16))
			c.dev.CallOn("vkCmdDrawIndexedIndirect", uintptr(cb), uintptr(indexed.buffer), 0, 1, 20)
		}})
	want := map[int][4]float64{}
	for v := 10; v < 13; v++ {
		want[v] = [4]float64{float64(v), 1, 1, 0}
	}
	for v := 40; v < 42; v++ {
		want[v] = [4]float64{float64(v), 5, 1, 0}
	}
	want[160], want[170] = [4]float64{160, 6, 1, 0}, [4]float64{170, 6, 1, 0}
	s.pixelsOf(want)
}

// parametersCase reads gl_BaseVertex, gl_BaseInstance and gl_DrawID.
func parametersCase(c *Case) {
	s := c.scene(16, 16, 1, 1, 0, rgba32f)
	defer s.close()
	s.draw(&look{vertex: pixelPoint("", "gl_VertexIndex",
		"vec4(gl_BaseVertexARB, gl_BaseInstanceARB, gl_DrawIDARB, gl_InstanceIndex)"), fragment: passValue, edit: points,
		record: func(cb vk.CommandBuffer) { c.dev.CallOn("vkCmdDraw", uintptr(cb), 2, 1, 33, 8) }})
	s.pixelsOf(map[int][4]float64{33: {33, 8, 0, 8}, 34: {33, 8, 0, 8}})
}

// topologyName is the end of a topology's name in cases.
func topologyName(t vk.PrimitiveTopology) string {
	return strings.ToLower(strings.TrimPrefix(t.String(), "VK_PRIMITIVE_TOPOLOGY_"))
}

// rows draws up to eight vertices in two rows, 0 2 4 6 at y = 2 and 1 3 5 7 at y = 14, each four pixels right of the
// one before. Each pixel has the number of the provoking vertex.
func rows(t vk.PrimitiveTopology) *look {
	return &look{vertex: `layout(location = 0) flat out int n;
			void main() {
				vec2 p = vec2(2.5 + gl_VertexIndex / 2 * 4, gl_VertexIndex % 2 == 0 ? 2.5 : 14.5);
				gl_Position = vec4(p / 8 - 1, 0, 1);
				gl_PointSize = 1;
				n = gl_VertexIndex;
			}`,
		fragment: `layout(location = 0) flat in int n; layout(location = 0) out vec4 c;
			void main() { c = vec4(n + 1, 0, 0, 1); }`,
		edit: func(g *vulkan.GraphicsState) { g.Assembly.Topology = t }}
}

// provoking reads the provoking vertices of what rows has drawn, in order.
func (s *scene) provoking() (list []int) {
	pixels := s.floats(s.colors[0])
	for i := 0; i < len(pixels); i += 4 {
		if n := int(pixels[i]) - 1; pixels[i+3] == 1 && !slices.Contains(list, n) {
			list = append(list, n)
		}
	}
	slices.Sort(list)
	return list
}

// provokingCase draws eight vertices as a topology and asks which primitives have covered something, by their
// provoking vertices: the first of each, or the last.
func provokingCase(c *Case, t vk.PrimitiveTopology, last bool) {
	s := c.scene(16, 16, 1, 1, 0, rgba32f)
	defer s.close()
	l := rows(t)
	l.edit = func(g *vulkan.GraphicsState) {
		if g.Assembly.Topology = t; last {
			s.last(g)
		}
	}
	l.record = func(cb vk.CommandBuffer) { c.dev.CallOn("vkCmdDraw", uintptr(cb), 8, 1, 0, 0) }
	s.draw(l)
	got := s.provoking()
	// The provoking vertices of the primitives that cover something.
	want := map[vk.PrimitiveTopology][]int{
		vk.PRIMITIVE_TOPOLOGY_POINT_LIST:     {0, 1, 2, 3, 4, 5, 6, 7},
		vk.PRIMITIVE_TOPOLOGY_LINE_LIST:      {0, 2, 4, 6},
		vk.PRIMITIVE_TOPOLOGY_LINE_STRIP:     {0, 1, 2, 3, 4, 5, 6},
		vk.PRIMITIVE_TOPOLOGY_TRIANGLE_LIST:  {0, 3},
		vk.PRIMITIVE_TOPOLOGY_TRIANGLE_STRIP: {0, 1, 2, 3, 4, 5},
		vk.PRIMITIVE_TOPOLOGY_TRIANGLE_FAN:   {1, 2, 3, 4, 5, 6},
	}[t]
	if last {
		want = map[vk.PrimitiveTopology][]int{
			vk.PRIMITIVE_TOPOLOGY_LINE_LIST:      {1, 3, 5, 7},
			vk.PRIMITIVE_TOPOLOGY_LINE_STRIP:     {1, 2, 3, 4, 5, 6, 7},
			vk.PRIMITIVE_TOPOLOGY_TRIANGLE_LIST:  {2, 5},
			vk.PRIMITIVE_TOPOLOGY_TRIANGLE_STRIP: {2, 3, 4, 5, 6, 7},
			vk.PRIMITIVE_TOPOLOGY_TRIANGLE_FAN:   {2, 3, 4, 5, 6, 7},
		}[t]
	}
	// Triangles of a fan lie over each other; the last ones hide some.
	if t == vk.PRIMITIVE_TOPOLOGY_TRIANGLE_FAN {
		for _, n := range got {
			if !slices.Contains(want, n) {
				c.Errorf("a triangle with provoking vertex %d", n)
			}
		}
		if end := want[len(want)-1]; !slices.Contains(got, end) || !slices.Contains(got, end-1) {
			c.Errorf("provoking vertices %v, want %d and %d among them", got, end-1, end)
		}
		return
	}
	if !slices.Equal(got, want) {
		c.Errorf("provoking vertices %v, want %v", got, want)
	}
}
