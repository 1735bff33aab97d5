package conformance

import "math/rand/v2"

// makerPixels are the fragments of a random draw: each of a square target is covered once.
const makerPixels = 256

// makeDraw is the GLSL of a vertex and a fragment shader, which covers a target of 16 x 16 with two triangles: the
// halves to the left and the right of the middle, so that there are no helper invocations, for which lavapipe loads
// nothing. Both shaders have random statements. The results of vertices go to fragments flat, and coordinates that are
// multiples of 1/16.
func makeDraw(seed uint64) (vertex, fragment string) {
	m := &shaderMaker{rng: rand.New(rand.NewPCG(seed, 78)), wide: seed%3 == 2, stage: "vert"}
	m.line("#extension GL_EXT_shader_explicit_arithmetic_types : enable")
	m.globals()
	m.line("layout(location = 0) flat out uvec4 flat0;")
	m.line("layout(location = 1) flat out ivec4 flat1;")
	m.line("layout(location = 2) out Block { vec2 at; vec2 other; float list[2]; } block;")
	m.callees()
	m.line("void main() {")
	m.depth++
	m.line("uint lid = gl_VertexIndex, gid = lid + 7u, group = pushed[0];")
	m.line("uint u0 = gid * 3u, u1 = data[gid & 63u];")
	m.line("int i0 = int(lid) - 2;")
	m.line("precise float x0 = float(lid) * 0.25 - 3.0;")
	m.locals([]string{"u2", "u3"}, []string{"i1", "i2"}, []string{"x1", "x2"})
	m.budget = 20
	m.statements(0)
	m.line("vec2 corner = vec2(gl_VertexIndex %% 3 == 1 ? 2 : 0, gl_VertexIndex %% 3 == 2 ? 2 : 0);")
	m.line("gl_Position = vec4(corner * 2 - 1, 0, 1);")
	m.line("gl_ClipDistance[0] = gl_VertexIndex < 3 ? 0.5 - corner.x : corner.x - 0.5;")
	m.line("flat0 = uvec4(u0 ^ v.x, u1 + v.y, u2, u3 ^ a[%d]);", m.rng.IntN(8))
	m.line("flat1 = ivec4(i0, i1, i2, int(x0 * 16.0) + int(b[%d] * 16.0));", m.rng.IntN(5))
	m.line("block.at = corner * 16;")
	m.line("block.other = corner.yx * 32;")
	m.line("block.list = float[2](corner.x * 8, corner.y * 64);")
	m.depth--
	m.line("}")
	vertex = m.b.String()

	m = &shaderMaker{rng: m.rng, wide: m.wide, stage: "frag"}
	m.line("#extension GL_EXT_shader_explicit_arithmetic_types : enable")
	m.globals()
	m.line("layout(location = 0) flat in uvec4 flat0;")
	m.line("layout(location = 1) flat in ivec4 flat1;")
	m.line("layout(location = 2) in Block { vec2 at; vec2 other; float list[2]; } block;")
	m.line("layout(location = 0) out uvec4 color0;")
	m.line("layout(location = 1) out uvec4 color1;")
	m.line("float near(float x) { return floor(x * 16.0 + 0.5) * 0.0625; }")
	m.callees()
	m.line("void main() {")
	m.depth++
	m.line("uint lid = uint(gl_FragCoord.y) * 16u + uint(gl_FragCoord.x), gid = lid, group = pushed[0];")
	m.line("uint u0 = gid ^ flat0.x, u1 = data[gid & 63u] + flat0.y;")
	m.line("int i0 = int(lid) - 20 + flat1.x;")
	m.line("precise float x0 = near(block.at.x) + near(block.other.y) * 0.5;")
	m.locals([]string{"u2", "u3"}, []string{"i1", "i2"}, []string{"x1", "x2"})
	m.line("x1 = near(block.list[gid & 1u]);")
	m.line("color0 = uvec4(flat0.z, flat0.w, flat1.y, flat1.z);")
	for range 1 + m.rng.IntN(3) {
		m.fragmentPhase()
	}
	m.line("color1 = uvec4(u0, u1, uint(i0), uint(int(x0 * 16.0)));")
	m.output()
	m.depth--
	m.line("}")
	return vertex, m.b.String()
}

// fragmentPhase is a part of main behind which some invocations leave the pixel. None asks for derivatives: lavapipe
// 22.3 gives two pixels of a column different ones by dFdyFine.
func (m *shaderMaker) fragmentPhase() {
	m.budget = 14
	m.statements(0)
	if m.rng.IntN(4) == 0 {
		m.line("if (%s && %s) discard;", m.boolean(1), m.boolean(1))
	}
}
