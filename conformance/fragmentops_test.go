package conformance

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"

	"farside/conformance/vulkan"
	"farside/internal/sampling"
	"farside/internal/vk"
)

// fragmentCases are about what happens to fragments: tests, blending, samples, queries.
func fragmentCases() []definition {
	list := []definition{
		drawCase("fragment_operations.scissor", scissorCase),
		drawCase("fragment_operations.viewport", viewportCase),
		drawCase("fragment_operations.discard", discardCase, "FragmentStoresAndAtomics"),
		drawCase("fragment_operations.early_tests", earlyCase, "FragmentStoresAndAtomics"),
		drawCase("fragment_operations.helpers_store_nothing", helperCase, "FragmentStoresAndAtomics"),
		drawCase("fragment_operations.demote", demoteCase, "ShaderDemoteToHelperInvocation"),
		drawCase("fragment_operations.frag_depth", fragDepthCase),
		drawCase("fragment_operations.write_masks", writeMaskCase, "IndependentBlend"),
		drawCase("rasterization.culling", cullCase),
		drawCase("rasterization.depth_bias", biasCase),
		drawCase("pipeline.blend.random", blendCase),
		drawCase("pipeline.blend.dual_source", dualSourceCase, "DualSrcBlend"),
		drawCase("pipeline.logic_op.all", logicCase, "LogicOp"),
		drawCase("pipeline.multisample.coverage", sampleCoverageCase),
		drawCase("pipeline.multisample.sample_mask", sampleMaskCase),
		drawCase("pipeline.multisample.sample_id", sampleIDCase, "SampleRateShading"),
		drawCase("pipeline.push_constant.both_stages", pushCase),
		drawCase("pipeline.layers", layerCase),
		drawCase("multiview.masks", multiviewCase, "Multiview"),
		drawCase("texture.implicit_lod", implicitLODCase),
	}
	for op := vk.COMPARE_OP_NEVER; op <= vk.COMPARE_OP_ALWAYS; op++ {
		name := strings.ToLower(strings.TrimPrefix(op.String(), "VK_COMPARE_OP_"))
		list = append(list, drawCase("pipeline.depth.op_"+name, func(c *Case) { depthOpCase(c, op) }),
			drawCase("pipeline.stencil.compare_"+name, func(c *Case) { stencilOpCase(c, op) }))
	}
	return list
}

const white = `layout(location = 0) out vec4 c; void main() { c = vec4(1); }`

func scissorCase(c *Case) {
	s := c.scene(40, 30, 1, 1, 0, rgba32f)
	defer s.close()
	s.draw(&look{vertex: wholeTarget, fragment: white, edit: func(g *vulkan.GraphicsState) {
		g.Viewport.PScissors = vulkan.Put(&s.a, vk.Rect2D{Offset: vk.Offset2D{X: 7, Y: 11},
			Extent: vk.Extent2D{Width: 13, Height: 5}})
	}})
	s.pixels(s.colors[0], 0, func(x, y int) (w [4]float64) {
		if x >= 7 && x < 20 && y >= 11 && y < 16 {
			w = [4]float64{1, 1, 1, 1}
		}
		return w
	})
}

// viewportCase draws a square into a viewport with a negative height, whose depths are reversed.
func viewportCase(c *Case) {
	s := c.scene(40, 30, 1, 1, 0, rgba32f)
	defer s.close()
	s.draw(&look{vertex: `layout(location = 0) out vec2 p;
			void main() {
				p = vec2(gl_VertexIndex & 1, gl_VertexIndex >> 1);
				gl_Position = vec4(p * 2 - 1, 0.25, 1);
			}`,
		fragment: `layout(location = 0) in vec2 p; layout(location = 0) out vec4 c;
			void main() { c = vec4(p, gl_FragCoord.z, 1); }`,
		edit: func(g *vulkan.GraphicsState) {
			g.Assembly.Topology = vk.PRIMITIVE_TOPOLOGY_TRIANGLE_STRIP
			g.Viewport.PViewports = vulkan.Put(&s.a, vk.Viewport{X: 4, Y: 24, Width: 16, Height: -16, MinDepth: 1, MaxDepth: 0})
		},
		record: func(cb vk.CommandBuffer) { c.dev.CallOn("vkCmdDraw", uintptr(cb), 4, 1, 0, 0) }})
	s.pixels(s.colors[0], 1e-6, func(x, y int) (w [4]float64) {
		if x >= 4 && x < 20 && y >= 8 && y < 24 {
			w = [4]float64{(float64(x) - 3.5) / 16, (23.5 - float64(y)) / 16, 0.75, 1}
		}
		return w
	})
}

// discardCase counts invocations behind and before a discard: an atomic before it happens, one behind it does not.
func discardCase(c *Case) {
	s := c.scene(16, 16, 1, 1, 0, rgba32f)
	defer s.close()
	counts := make([]uint32, 2)
	s.draw(&look{vertex: wholeTarget, buffers: []any{counts}, fragment: `layout(binding = 0) buffer B { uint n[2]; };
		layout(location = 0) out vec4 c;
		void main() {
			atomicAdd(n[0], 1);
			if ((int(gl_FragCoord.x) + int(gl_FragCoord.y)) % 3 == 0)
				discard;
			atomicAdd(n[1], 1);
			c = vec4(1);
		}`})
	kept := uint32(0)
	s.pixels(s.colors[0], 0, func(x, y int) [4]float64 {
		if (x+y)%3 == 0 {
			return [4]float64{}
		}
		kept++
		return [4]float64{1, 1, 1, 1}
	})
	if counts[0] != 256 || counts[1] != kept {
		c.Errorf("%d and %d atomics, want 256 and %d", counts[0], counts[1], kept)
	}
}

// earlyCase counts invocations that the depth test has left, with early tests, and draws a discarded one's depth.
func earlyCase(c *Case) {
	s := c.scene(16, 16, 1, 1, vk.FORMAT_D32_SFLOAT, rgba32f)
	defer s.close()
	*s.depth.clear.DepthStencil() = vk.ClearDepthStencilValue{Depth: 1}
	half := &look{vertex: `void main() {
			vec2 p = vec2(gl_VertexIndex & 1, gl_VertexIndex >> 1);
			gl_Position = vec4(p.x - 1, p.y * 2 - 1, 0.25, 1);
		}`, fragment: white, edit: func(g *vulkan.GraphicsState) {
		depthTest(vk.COMPARE_OP_LESS)(g)
		g.Assembly.Topology = vk.PRIMITIVE_TOPOLOGY_TRIANGLE_STRIP
	}, record: func(cb vk.CommandBuffer) { c.dev.CallOn("vkCmdDraw", uintptr(cb), 4, 1, 0, 0) }}
	counts := make([]uint32, 1)
	s.draw(half, &look{vertex: wholeTarget, buffers: []any{counts}, edit: depthTest(vk.COMPARE_OP_LESS),
		fragment: `layout(early_fragment_tests) in; layout(binding = 0) buffer B { uint n[1]; };
		layout(location = 0) out vec4 c;
		void main() {
			atomicAdd(n[0], 1);
			if (int(gl_FragCoord.y) % 2 == 0)
				discard;
			c = vec4(0.5);
		}`})
	if counts[0] != 128 {
		c.Errorf("%d invocations behind the early test, want 128", counts[0])
	}
	s.pixels(s.colors[0], 0, func(x, y int) [4]float64 {
		switch {
		case x < 8:
			return [4]float64{1, 1, 1, 1}
		case y%2 == 0:
			return [4]float64{}
		}
		return [4]float64{0.5, 0.5, 0.5, 0.5}
	})
	for i, v := range s.depths() {
		want := float32(0.5)
		if i%16 < 8 {
			want = 0.25
		}
		if v != want {
			c.Fatalf("depth of pixel %d is %v, want %v: early tests write also for what discards", i, v, want)
		}
	}
}

// helperCase draws points: three of four invocations of each quad are helpers, and none of these stores.
func helperCase(c *Case) {
	s := c.scene(16, 16, 1, 1, 0, rgba32f)
	defer s.close()
	counts := make([]uint32, 1)
	s.draw(&look{vertex: pixelPoint("", "gl_VertexIndex * 5", "vec4(1)"), buffers: []any{counts}, edit: points,
		fragment: `layout(location = 0) flat in vec4 v; layout(binding = 0) buffer B { uint n[1]; };
			layout(location = 0) out vec4 c;
			void main() {
				atomicAdd(n[0], 1);
				float x = gl_FragCoord.x * gl_FragCoord.y;
				c = vec4(dFdx(x), dFdy(x), gl_HelperInvocation ? 1 : 0, 1);
			}`, record: func(cb vk.CommandBuffer) { c.dev.CallOn("vkCmdDraw", uintptr(cb), 40, 1, 0, 0) }})
	if counts[0] != 40 {
		c.Errorf("%d atomics of 40 points", counts[0])
	}
	s.pixels(s.colors[0], 1e-4, func(x, y int) (w [4]float64) {
		if n := y*16 + x; n%5 == 0 && n < 200 {
			// Coarse derivatives may be those of either row or column of the quad.
			w = [4]float64{float64(y) + 0.5, float64(x) + 0.5, 0, 1}
		}
		return w
	})
}

func demoteCase(c *Case) {
	s := c.scene(16, 16, 1, 1, 0, rgba32f)
	defer s.close()
	s.draw(&look{vertex: wholeTarget, fragment: `layout(location = 0) out vec4 c;
		void main() {
			if (int(gl_FragCoord.x) % 2 == 1)
				demote;
			float v = gl_FragCoord.x * 7;
			c = vec4(dFdx(v), helperInvocationEXT() ? 1 : 0, 0, 1);
		}`})
	s.pixels(s.colors[0], 1e-4, func(x, y int) (w [4]float64) {
		if x%2 == 0 {
			w = [4]float64{7, 0, 0, 1}
		}
		return w
	})
}

func fragDepthCase(c *Case) {
	s := c.scene(16, 16, 1, 1, vk.FORMAT_D32_SFLOAT, rgba32f)
	defer s.close()
	*s.depth.clear.DepthStencil() = vk.ClearDepthStencilValue{Depth: 0.5}
	s.draw(&look{vertex: wholeTarget, edit: depthTest(vk.COMPARE_OP_LESS), fragment: `layout(location = 0) out vec4 c;
		void main() { gl_FragDepth = gl_FragCoord.x / 16; c = vec4(1); }`})
	s.pixels(s.colors[0], 0, func(x, y int) (w [4]float64) {
		if x < 8 {
			w = [4]float64{1, 1, 1, 1}
		}
		return w
	})
	for i, v := range s.depths() {
		if want := min((float32(i%16)+0.5)/16, 0.5); v != want {
			c.Fatalf("depth of pixel %d is %v, want %v", i, v, want)
		}
	}
}

func writeMaskCase(c *Case) {
	s := c.scene(8, 8, 1, 1, 0, rgba8, rgba8)
	defer s.close()
	for _, t := range s.colors {
		*t.clear.Color().Float32() = [4]float32{0.2, 0.4, 0.6, 0.8}
	}
	s.draw(&look{vertex: wholeTarget, fragment: `layout(location = 0) out vec4 c; layout(location = 1) out vec4 d;
		void main() { c = vec4(1); d = vec4(0); }`, edit: func(g *vulkan.GraphicsState) {
		g.Attachments[0].ColorWriteMask, g.Attachments[1].ColorWriteMask = 5, 8
	}})
	for i, want := range [][4]byte{{255, 102, 255, 204}, {51, 102, 153, 0}} {
		if got := s.bytes4(s.colors[i])[9]; got != want {
			c.Errorf("attachment %d is %v, want %v", i, got, want)
		}
	}
}

// cullCase draws one triangle of each orientation with each mode and front face.
func cullCase(c *Case) {
	for mode := vk.CullModeFlags(0); mode < 4; mode++ {
		for _, face := range []vk.FrontFace{vk.FRONT_FACE_COUNTER_CLOCKWISE, vk.FRONT_FACE_CLOCKWISE} {
			s := c.scene(16, 16, 1, 1, 0, rgba32f)
			s.draw(&look{vertex: `void main() {
					int i = gl_VertexIndex % 3, k = gl_VertexIndex / 3;
					vec2 p = vec2(i == 1 ? 1 : 0, i == 2 ? 1 : 0);
					if (k == 1)
						p = p.yx;
					gl_Position = vec4(p + vec2(k - 1, -0.5), 0, 1);
				}`, fragment: `layout(location = 0) out vec4 c; void main() { c = vec4(gl_FrontFacing ? 2 : 1); }`,
				edit:   func(g *vulkan.GraphicsState) { g.Raster.CullMode, g.Raster.FrontFace = mode, face },
				record: func(cb vk.CommandBuffer) { c.dev.CallOn("vkCmdDraw", uintptr(cb), 6, 1, 0, 0) }})
			got := s.floats(s.colors[0])
			for k := range 2 {
				// In framebuffer coordinates, with y downwards, the first is clockwise.
				front := (k == 0) == (face == vk.FRONT_FACE_CLOCKWISE)
				want := float32(1)
				if front {
					want = 2
				}
				if front && mode&vk.CULL_MODE_FRONT_BIT != 0 || !front && mode&vk.CULL_MODE_BACK_BIT != 0 {
					want = 0
				}
				if v := got[(5*16+k*8+1)*4]; v != want {
					c.Errorf("cull mode %d, %v, triangle %d: %v, want %v", mode, face, k, v, want)
				}
			}
			s.close()
		}
	}
}

// biasCase checks the constant and the slope factor of the depth bias in VK_FORMAT_D32_SFLOAT.
func biasCase(c *Case) {
	s := c.scene(16, 16, 1, 1, vk.FORMAT_D32_SFLOAT, rgba32f)
	defer s.close()
	*s.depth.clear.DepthStencil() = vk.ClearDepthStencilValue{Depth: 1}
	s.draw(&look{vertex: `void main() {
			vec2 p = vec2(gl_VertexIndex == 1 ? 3 : -1, gl_VertexIndex == 2 ? 3 : -1);
			gl_Position = vec4(p, (p.x + 1) / 8 + 0.25, 1);
		}`, fragment: white, edit: func(g *vulkan.GraphicsState) {
		depthTest(vk.COMPARE_OP_LESS)(g)
		g.Raster.DepthBiasEnable, g.Raster.DepthBiasConstantFactor, g.Raster.DepthBiasSlopeFactor = vk.TRUE, 1024, 4
	}})
	// The slope is 1/64 a pixel. The unit is 2^(e-23), where e is the exponent of the largest depth, 0.75: -1.
	bias := 4.0/64 + 1024*math.Exp2(-24)
	for i, v := range s.depths() {
		if want := 0.25 + (float64(i%16)+0.5)/64 + bias; math.Abs(float64(v)-want) > 1e-6 {
			c.Fatalf("depth of pixel %d is %v, want %v", i, v, want)
		}
	}
}

// factor is what a blend factor is of source, destination, second source and constants, for component i.
func factor(f vk.BlendFactor, s, d, s1, k [4]float64, i int) float64 {
	switch f {
	case vk.BLEND_FACTOR_ZERO:
		return 0
	case vk.BLEND_FACTOR_ONE:
		return 1
	case vk.BLEND_FACTOR_SRC_COLOR:
		return s[i]
	case vk.BLEND_FACTOR_ONE_MINUS_SRC_COLOR:
		return 1 - s[i]
	case vk.BLEND_FACTOR_DST_COLOR:
		return d[i]
	case vk.BLEND_FACTOR_ONE_MINUS_DST_COLOR:
		return 1 - d[i]
	case vk.BLEND_FACTOR_SRC_ALPHA:
		return s[3]
	case vk.BLEND_FACTOR_ONE_MINUS_SRC_ALPHA:
		return 1 - s[3]
	case vk.BLEND_FACTOR_DST_ALPHA:
		return d[3]
	case vk.BLEND_FACTOR_ONE_MINUS_DST_ALPHA:
		return 1 - d[3]
	case vk.BLEND_FACTOR_CONSTANT_COLOR:
		return k[i]
	case vk.BLEND_FACTOR_ONE_MINUS_CONSTANT_COLOR:
		return 1 - k[i]
	case vk.BLEND_FACTOR_CONSTANT_ALPHA:
		return k[3]
	case vk.BLEND_FACTOR_ONE_MINUS_CONSTANT_ALPHA:
		return 1 - k[3]
	case vk.BLEND_FACTOR_SRC_ALPHA_SATURATE:
		if i == 3 {
			return 1
		}
		return min(s[3], 1-d[3])
	case vk.BLEND_FACTOR_SRC1_COLOR:
		return s1[i]
	case vk.BLEND_FACTOR_ONE_MINUS_SRC1_COLOR:
		return 1 - s1[i]
	case vk.BLEND_FACTOR_SRC1_ALPHA:
		return s1[3]
	case vk.BLEND_FACTOR_ONE_MINUS_SRC1_ALPHA:
		return 1 - s1[3]
	}
	panic(fmt.Sprint("no such factor: ", f))
}

func blended(b *vk.PipelineColorBlendAttachmentState, s, d, s1, k [4]float64) (out [4]float64) {
	for i := range out {
		op, from, to := b.ColorBlendOp, b.SrcColorBlendFactor, b.DstColorBlendFactor
		if i == 3 {
			op, from, to = b.AlphaBlendOp, b.SrcAlphaBlendFactor, b.DstAlphaBlendFactor
		}
		fs, fd := s[i]*factor(from, s, d, s1, k, i), d[i]*factor(to, s, d, s1, k, i)
		switch op {
		case vk.BLEND_OP_ADD:
			out[i] = fs + fd
		case vk.BLEND_OP_SUBTRACT:
			out[i] = fs - fd
		case vk.BLEND_OP_REVERSE_SUBTRACT:
			out[i] = fd - fs
		case vk.BLEND_OP_MIN:
			out[i] = min(s[i], d[i])
		case vk.BLEND_OP_MAX:
			out[i] = max(s[i], d[i])
		}
	}
	return out
}

// blendCase draws with random equations, in a float and in a normalized format.
func blendCase(c *Case) {
	random := rand.New(rand.NewPCG(3, 4))
	source, constants := [4]float64{0.75, 0.25, 0.5, 0.625}, [4]float64{0.25, 0.5, 0.875, 0.375}
	target := [4]float64{0.5, 0.75, 0.25, 0.5}
	for range 24 {
		s := c.scene(4, 4, 1, 1, 0, rgba32f, rgba8)
		b := vk.PipelineColorBlendAttachmentState{BlendEnable: vk.TRUE, ColorWriteMask: 15,
			SrcColorBlendFactor: vk.BlendFactor(random.IntN(15)), DstColorBlendFactor: vk.BlendFactor(random.IntN(15)),
			SrcAlphaBlendFactor: vk.BlendFactor(random.IntN(15)), DstAlphaBlendFactor: vk.BlendFactor(random.IntN(15)),
			ColorBlendOp: vk.BlendOp(random.IntN(5)), AlphaBlendOp: vk.BlendOp(random.IntN(5))}
		for _, t := range s.colors {
			*t.clear.Color().Float32() = [4]float32{0.5, 0.75, 0.25, 0.5}
		}
		s.draw(&look{vertex: wholeTarget, fragment: `layout(location = 0) out vec4 c; layout(location = 1) out vec4 d;
			void main() { c = d = vec4(0.75, 0.25, 0.5, 0.625); }`, edit: func(g *vulkan.GraphicsState) {
			g.Attachments[0], g.Attachments[1] = b, b
			for i, v := range constants {
				g.Blend.BlendConstants[i] = float32(v)
			}
		}})
		want := blended(&b, source, target, [4]float64{}, constants)
		s.pixels(s.colors[0], 1e-6, func(int, int) [4]float64 { return want })
		got := s.bytes4(s.colors[1])[5]
		for i, v := range want {
			if v = min(max(v, 0), 1) * 255; math.Abs(v-float64(got[i])) > 1.5 {
				c.Errorf("component %d is %d, want %g: %+v", i, got[i], v, b)
			}
		}
		s.close()
	}
}

func dualSourceCase(c *Case) {
	s := c.scene(4, 4, 1, 1, 0, rgba32f)
	defer s.close()
	*s.colors[0].clear.Color().Float32() = [4]float32{0.5, 0.75, 0.25, 0.5}
	b := vk.PipelineColorBlendAttachmentState{BlendEnable: vk.TRUE, ColorWriteMask: 15,
		SrcColorBlendFactor: vk.BLEND_FACTOR_SRC1_COLOR, DstColorBlendFactor: vk.BLEND_FACTOR_ONE_MINUS_SRC1_COLOR,
		SrcAlphaBlendFactor: vk.BLEND_FACTOR_SRC1_ALPHA, DstAlphaBlendFactor: vk.BLEND_FACTOR_ONE_MINUS_SRC1_ALPHA}
	s.draw(&look{vertex: wholeTarget, fragment: `layout(location = 0, index = 0) out vec4 c;
		layout(location = 0, index = 1) out vec4 d;
		void main() { c = vec4(0.75, 0.25, 0.5, 0.625); d = vec4(0.125, 0.5, 0.75, 1); }`,
		edit: func(g *vulkan.GraphicsState) { g.Attachments[0] = b }})
	want := blended(&b, [4]float64{0.75, 0.25, 0.5, 0.625}, [4]float64{0.5, 0.75, 0.25, 0.5},
		[4]float64{0.125, 0.5, 0.75, 1}, [4]float64{})
	s.pixels(s.colors[0], 1e-6, func(int, int) [4]float64 { return want })
}

func logicCase(c *Case) {
	for op := vk.LOGIC_OP_CLEAR; op <= vk.LOGIC_OP_SET; op++ {
		s := c.scene(4, 4, 1, 1, 0, vk.FORMAT_R8G8B8A8_UINT)
		*s.colors[0].clear.Color().Uint32() = [4]uint32{0x0f, 0x33, 0xff, 0}
		s.draw(&look{vertex: wholeTarget, fragment: `layout(location = 0) out uvec4 c;
			void main() { c = uvec4(0x55, 0x5a, 0xa5, 0xc3); }`,
			edit: func(g *vulkan.GraphicsState) { g.Blend.LogicOpEnable, g.Blend.LogicOp = vk.TRUE, op }})
		got := s.bytes4(s.colors[0])[7]
		source, target := [4]byte{0x55, 0x5a, 0xa5, 0xc3}, [4]byte{0x0f, 0x33, 0xff, 0}
		for i, a := range source {
			b := target[i]
			want := [16]byte{0, a & b, a &^ b, a, ^a & b, b, a ^ b, a | b, ^(a | b), ^(a ^ b), ^b, a | ^b, ^a, ^a | b, ^(a & b),
				0xff}[op]
			if got[i] != want {
				c.Errorf("%v of %#x and %#x is %#x, want %#x", op, a, b, got[i], want)
			}
		}
		s.close()
	}
}

// sampleCoverageCase compares the resolve of a half plane with how many of the standard locations are inside.
func sampleCoverageCase(c *Case) {
	for _, at := range []struct {
		samples   uint32
		locations [][2]float64
	}{
		{4, [][2]float64{{0.375, 0.125}, {0.875, 0.375}, {0.125, 0.625}, {0.625, 0.875}}},
		{8, [][2]float64{{0.5625, 0.3125}, {0.4375, 0.6875}, {0.8125, 0.5625}, {0.3125, 0.1875}, {0.1875, 0.8125},
			{0.0625, 0.4375}, {0.6875, 0.9375}, {0.9375, 0.0625}}},
	} {
		limits := c.inst.Properties2(c.pd, nil).Properties.Limits
		if limits.FramebufferColorSampleCounts&vk.SampleCountFlags(at.samples) == 0 || limits.StandardSampleLocations == 0 {
			continue
		}
		s := c.scene(32, 32, at.samples, 1, 0, rgba32f)
		s.draw(&look{vertex: `void main() {
				vec2 p = vec2[](vec2(-1, -1), vec2(0.21875, -1), vec2(-1, 0.84375))[gl_VertexIndex];
				gl_Position = vec4(p, 0, 1);
			}`, fragment: white, edit: func(g *vulkan.GraphicsState) {
			g.Multisample.RasterizationSamples = vk.SampleCountFlagBits(at.samples)
		}})
		s.pixels(s.resolve, 1e-6, func(x, y int) [4]float64 {
			inside := 0.0
			for _, l := range at.locations {
				if (float64(x)+l[0])/19.5+(float64(y)+l[1])/29.5 < 1 {
					inside++
				}
			}
			v := inside / float64(at.samples)
			return [4]float64{v, v, v, v}
		})
		s.close()
	}
}

// sampleMaskCase draws with a mask of the pipeline and one of the shader.
func sampleMaskCase(c *Case) {
	s := c.scene(8, 8, 4, 1, 0, rgba32f)
	defer s.close()
	s.draw(&look{vertex: wholeTarget, fragment: `layout(location = 0) out vec4 c;
		void main() { gl_SampleMask[0] = int(gl_FragCoord.x) % 2 == 0 ? 0xe : 0x3; c = vec4(1); }`,
		edit: func(g *vulkan.GraphicsState) {
			g.Multisample.RasterizationSamples = vk.SAMPLE_COUNT_4_BIT
			g.Multisample.PSampleMask = vulkan.Put(&s.a, vk.SampleMask(0xa))
		}})
	s.pixels(s.resolve, 1e-6, func(x, y int) [4]float64 {
		v := []float64{0.5, 0.25}[x%2]
		return [4]float64{v, v, v, v}
	})
}

// sampleIDCase gives each sample a value of its own.
func sampleIDCase(c *Case) {
	s := c.scene(8, 8, 4, 1, 0, rgba32f)
	defer s.close()
	s.draw(&look{vertex: wholeTarget, fragment: `layout(location = 0) out vec4 c;
		void main() { c = vec4(1 << (2 * gl_SampleID), gl_SamplePosition, 1); }`, edit: func(g *vulkan.GraphicsState) {
		g.Multisample.RasterizationSamples = vk.SAMPLE_COUNT_4_BIT
	}})
	s.pixels(s.resolve, 1e-5, func(x, y int) [4]float64 { return [4]float64{85.0 / 4, 0.5, 0.5, 1} })
}

func pushCase(c *Case) {
	s := c.scene(8, 8, 1, 1, 0, rgba32f)
	defer s.close()
	s.draw(&look{push: []float32{0.5, 2, 3, 4}, vertex: `layout(push_constant) uniform P { vec4 p; };
		layout(location = 0) out float v;
		void main() {
			gl_Position = vec4(gl_VertexIndex == 1 ? 3 : -1, gl_VertexIndex == 2 ? 3 : -1, p.x, 1);
			v = p.y;
		}`, fragment: `layout(push_constant) uniform P { vec4 p; }; layout(location = 0) in float v;
		layout(location = 0) out vec4 c;
		void main() { c = vec4(gl_FragCoord.z, v, p.z, p.w); }`})
	s.pixels(s.colors[0], 1e-6, func(int, int) [4]float64 { return [4]float64{0.5, 2, 3, 4} })
}

// layerCase renders to an attachment of three layers without a shader that chooses one: the first is drawn into.
func layerCase(c *Case) {
	s := c.scene(8, 8, 1, 3, 0, rgba8)
	defer s.close()
	s.draw(&look{layers: 3, vertex: wholeTarget, fragment: white})
	for layer, want := range [][4]byte{{255, 255, 255, 255}, {}, {}} {
		if got := s.read(s.colors[0], vk.IMAGE_ASPECT_COLOR_BIT, uint32(layer), 4)[:4]; [4]byte(got) != want {
			c.Errorf("layer %d is %v, want %v", layer, got, want)
		}
	}
}

// multiviewCase draws with the numbers of views, and with the device's, 0, in their place.
func multiviewCase(c *Case) {
	s := c.scene(8, 8, 1, 3, 0, rgba8)
	defer s.close()
	for flag, second := range map[vk.PipelineCreateFlagBits]byte{0: 102,
		vk.PIPELINE_CREATE_VIEW_INDEX_FROM_DEVICE_INDEX_BIT: 0} {
		edit := func(g *vulkan.GraphicsState) { g.Info.Flags |= vk.PipelineCreateFlags(flag) }
		s.draw(&look{viewMask: 5, vertex: wholeTarget, edit: edit, fragment: `layout(location = 0) out vec4 c;
			void main() { c = vec4(gl_ViewIndex * 0.2, 0, 0, 1); }`})
		for layer, want := range [][4]byte{{0, 0, 0, 255}, {}, {second, 0, 0, 255}} {
			if got := s.read(s.colors[0], vk.IMAGE_ASPECT_COLOR_BIT, uint32(layer), 4)[:4]; [4]byte(got) != want {
				c.Errorf("flags %#x: layer %d is %v, want %v", flag, layer, got, want)
			}
		}
	}
}

// implicitLODCase draws a texture, each level of which has its number for a value, smaller and smaller.
func implicitLODCase(c *Case) {
	s := c.scene(32, 32, 1, 1, 0, rgba32f)
	defer s.close()
	var data []byte
	for level := range 7 {
		for range (64 >> level) * (64 >> level) {
			data = binary.LittleEndian.AppendUint32(data, math.Float32bits(float32(level)))
		}
		for len(data)%48 != 0 { // as texture's regions lie
			data = append(data, 0)
		}
	}
	t := c.texture(textureConfig{format: vk.FORMAT_R32_SFLOAT, view: vk.IMAGE_VIEW_TYPE_2D, extent: [3]uint32{64, 64, 1},
		levels: 7, layers: 1, usage: vk.IMAGE_USAGE_SAMPLED_BIT, data: data})
	defer t.free()
	sampler, _, free := c.sampler(sampling.SamplerInfo{MaxLod: 16, MipmapMode: vk.SAMPLER_MIPMAP_MODE_LINEAR}, false)
	defer free()
	bound := t.descriptor(vk.DESCRIPTOR_TYPE_COMBINED_IMAGE_SAMPLER, sampler)
	for _, shrink := range []float32{1, 2, 4, 8} {
		s.draw(&look{push: []float32{shrink}, buffers: []any{bound},
			vertex: wholeTarget,
			fragment: `layout(push_constant) uniform P { float shrink; }; layout(binding = 0) uniform sampler2D t;
			layout(location = 0) out vec4 c;
			void main() { c = texture(t, gl_FragCoord.xy * shrink / 64); }`})
		want := math.Log2(float64(shrink))
		s.pixels(s.colors[0], 1e-3, func(int, int) [4]float64 { return [4]float64{want, 0, 0, 1} })
	}
}

func depthOpCase(c *Case, op vk.CompareOp) {
	for _, f := range []vk.Format{vk.FORMAT_D32_SFLOAT, vk.FORMAT_D16_UNORM} {
		s := c.scene(12, 4, 1, 1, f, rgba32f)
		*s.depth.clear.DepthStencil() = vk.ClearDepthStencilValue{Depth: 0.5}
		s.draw(&look{vertex: wholeTarget, edit: depthTest(op), fragment: `layout(location = 0) out vec4 c;
			void main() { gl_FragDepth = int(gl_FragCoord.x) % 3 / 2.0; c = vec4(1); }`})
		s.pixels(s.colors[0], 0, func(x, y int) (w [4]float64) {
			d := float64(x%3) / 2
			if f == vk.FORMAT_D16_UNORM && x%3 == 1 {
				d = 0.5 // both are rounded in the same way
			}
			if compares(op, d, 0.5) {
				w = [4]float64{1, 1, 1, 1}
			}
			return w
		})
		s.close()
	}
}

func compares(op vk.CompareOp, a, b float64) bool {
	return []bool{false, a < b, a == b, a <= b, a > b, a != b, a >= b, true}[op]
}

// stencilOpCase compares with a reference, and applies each operation.
func stencilOpCase(c *Case, compare vk.CompareOp) {
	for op := vk.STENCIL_OP_KEEP; op <= vk.STENCIL_OP_DECREMENT_AND_WRAP; op++ {
		s := c.scene(4, 4, 1, 1, vk.FORMAT_S8_UINT, rgba32f)
		*s.depth.clear.DepthStencil() = vk.ClearDepthStencilValue{Stencil: 0x3c}
		const reference, compareMask, writeMask = 0x35, 0x1f, 0x7e
		s.draw(&look{vertex: wholeTarget, fragment: white, edit: func(g *vulkan.GraphicsState) {
			g.Depth.StencilTestEnable = vk.TRUE
			g.Depth.Front = vk.StencilOpState{FailOp: vk.STENCIL_OP_INVERT, PassOp: op, DepthFailOp: vk.STENCIL_OP_ZERO,
				CompareOp: compare, CompareMask: compareMask, WriteMask: writeMask, Reference: reference}
			g.Depth.Back = g.Depth.Front
		}})
		passes := compares(compare, reference&compareMask, 0x3c&compareMask)
		done := op
		if !passes {
			done = vk.STENCIL_OP_INVERT
		}
		result := [8]int{0x3c, 0, reference, 0x3d, 0x3b, ^0x3c & 0xff, 0x3d, 0x3b}[done]
		want := byte(result&writeMask | 0x3c&^writeMask)
		if got := s.read(s.depth, vk.IMAGE_ASPECT_STENCIL_BIT, 0, 1)[5]; got != want {
			c.Errorf("%v, %v: stencil %#x, want %#x", compare, op, got, want)
		}
		s.pixels(s.colors[0], 0, func(int, int) (w [4]float64) {
			if passes {
				w = [4]float64{1, 1, 1, 1}
			}
			return w
		})
		s.close()
	}
}
