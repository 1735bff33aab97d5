package conformance

import (
	"farside/conformance/vulkan"
	"farside/internal/vk"
)

// subgroupStageCases are about subgroups of vertices and of fragments. Which invocations share one is the device's
// affair, so that each shader compares what operations say of its own subgroup.
func subgroupStageCases() []definition {
	return []definition{
		drawCase("draw.subgroups.fragment", func(c *Case) { subgroupStageCase(c, vk.SHADER_STAGE_FRAGMENT_BIT) }),
		drawCase("draw.subgroups.vertex", func(c *Case) { subgroupStageCase(c, vk.SHADER_STAGE_VERTEX_BIT) }),
		drawCase("draw.subgroups.quads", subgroupQuadCase),
	}
}

// subgroupChecks defines a function that says which operations disagree: 0 for none. What it is given may be different
// in any invocations.
const subgroupChecks = `#extension GL_KHR_shader_subgroup_arithmetic : enable
#extension GL_KHR_shader_subgroup_ballot : enable
#extension GL_KHR_shader_subgroup_vote : enable
uint together(uint v) {
	uint bad = 0;
	uint me = gl_SubgroupInvocationID;
	uvec4 here = subgroupBallot(true);
	uint count = subgroupBallotBitCount(here);
	if (count == 0 || count > gl_SubgroupSize || me >= gl_SubgroupSize) bad |= 1;
	if (subgroupAdd(1u) != count) bad |= 2;
	if (subgroupInclusiveAdd(1u) != subgroupBallotInclusiveBitCount(here)) bad |= 4;
	if (subgroupExclusiveAdd(1u) != subgroupBallotExclusiveBitCount(here)) bad |= 8;
	if (!subgroupInverseBallot(here) || !subgroupBallotBitExtract(here, me)) bad |= 16;
	if (subgroupElect() != (me == subgroupBallotFindLSB(here))) bad |= 32;
	if (subgroupMin(me) != subgroupBallotFindLSB(here) || subgroupMax(me) != subgroupBallotFindMSB(here)) bad |= 64;
	if (subgroupAll(subgroupMin(v) == v) != subgroupAllEqual(v)) bad |= 128;
	if (subgroupAny(v % 3 == 1) != (subgroupBallotBitCount(subgroupBallot(v % 3 == 1)) != 0)) bad |= 256;
	if (subgroupBroadcastFirst(me) != subgroupBallotFindLSB(here)) bad |= 512;
	return bad;
}
uint check(uint v) {
	uint bad = together(v);
	uint parts[2] = uint[2](subgroupBallotBitCount(subgroupBallot(v % 2 == 0)),
		subgroupBallotBitCount(subgroupBallot(v % 2 == 1)));
	if (v % 2 == 0) {
		bad |= together(v);
		if (subgroupAdd(1u) != parts[0]) bad |= 1024;
	} else {
		bad |= together(v / 2);
		if (subgroupAnd(v & 1) != 1 || subgroupAdd(1u) != parts[1]) bad |= 2048;
	}
	if (subgroupBallotBitCount(subgroupBallot(true)) != parts[0] + parts[1]) bad |= 4096;
	return bad;
}
`

// subgroupsOf ends a case on a device whose stage lacks some operations.
func (c *Case) subgroupsOf(stage vk.ShaderStageFlags, operations vk.SubgroupFeatureFlags) {
	p := vulkan.Struct[vk.PhysicalDeviceSubgroupProperties](&c.a)
	c.inst.Properties2(c.pd, vulkan.Pointer(p))
	if p.SupportedStages&stage != stage || p.SupportedOperations&operations != operations {
		c.Unsupported("subgroups of " + stage.String() + " with " + operations.String())
	}
}

// subgroupStageCase draws many small triangles, so that a subgroup has parts of several, and vertices of several.
func subgroupStageCase(c *Case, stage vk.ShaderStageFlags) {
	c.subgroupsOf(stage, vk.SUBGROUP_FEATURE_BASIC_BIT|vk.SUBGROUP_FEATURE_VOTE_BIT|vk.SUBGROUP_FEATURE_ARITHMETIC_BIT|
		vk.SUBGROUP_FEATURE_BALLOT_BIT)
	const size, cells = 48, 9
	s := c.scene(size, size, 1, 1, 0, rgba32f)
	defer s.close()
	vertex, fragment := "0", "check(uint(gl_FragCoord.x) * 7u + uint(gl_FragCoord.y))"
	headV, headF := "", subgroupChecks
	if stage == vk.SHADER_STAGE_VERTEX_BIT {
		vertex, fragment = "check(uint(gl_VertexIndex))", "0u"
		headV, headF = subgroupChecks, ""
	}
	s.draw(&look{vertex: headV + `layout(location = 0) flat out uint bad;
		void main() {
			int cell = gl_VertexIndex / 6, corner = gl_VertexIndex % 6;
			ivec2 at = ivec2(cell % 9, cell / 9) + ivec2[6](ivec2(0), ivec2(1, 0), ivec2(0, 1), ivec2(1, 0), ivec2(0, 1),
				ivec2(1))[corner];
			bad = ` + vertex + `;
			gl_Position = vec4(vec2(at) * 2 / 9 - 1, 0.5, 1);
		}`, fragment: headF + `layout(location = 0) flat in uint bad; layout(location = 0) out vec4 c;
		void main() {
			c = vec4(float(bad), float(` + fragment + `), 1, 1);
		}`,
		record: func(cb vk.CommandBuffer) { c.dev.CallOn("vkCmdDraw", uintptr(cb), 6*cells*cells, 1, 0, 0) }})
	s.pixels(s.colors[0], 0, func(int, int) [4]float64 { return [4]float64{0, 0, 1, 1} })
}

// subgroupQuadCase reads the other fragments of quads, of which helper invocations are some.
func subgroupQuadCase(c *Case) {
	c.subgroupsOf(vk.SHADER_STAGE_FRAGMENT_BIT, vk.SUBGROUP_FEATURE_BASIC_BIT|vk.SUBGROUP_FEATURE_QUAD_BIT)
	s := c.scene(31, 23, 1, 1, 0, rgba32f)
	defer s.close()
	s.draw(&look{vertex: `void main() {
			gl_Position = vec4(gl_VertexIndex == 1 ? 0.9 : -0.8, gl_VertexIndex == 2 ? 0.95 : -0.7, 0.5, 1);
		}`, fragment: `#extension GL_KHR_shader_subgroup_quad : enable
		layout(location = 0) out vec4 c;
		void main() {
			vec2 at = floor(gl_FragCoord.xy);
			vec2 x = subgroupQuadSwapHorizontal(at), y = subgroupQuadSwapVertical(at), d = subgroupQuadSwapDiagonal(at);
			vec2 first = subgroupQuadBroadcast(at, 0);
			vec2 even = floor(at / 2) * 2;
			vec2 other = even * 2 + 1 - at;
			c = vec4(x == vec2(other.x, at.y) && y == vec2(at.x, other.y), d == other, first == even,
				dFdx(gl_FragCoord.x) + dFdy(gl_FragCoord.y));
		}`})
	covered := 0
	for i, v := range s.floats(s.colors[0]) {
		if want := [4]float32{1, 1, 1, 2}[i%4]; v != 0 {
			if covered++; v != want {
				c.Fatalf("component %d of pixel (%d, %d) is %v, want %v", i%4, i/4%31, i/4/31, v, want)
			}
		}
	}
	if covered < 4*150 || covered%4 != 0 {
		c.Fatalf("%d components are covered", covered)
	}
}
