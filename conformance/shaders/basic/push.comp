#version 450
// Push constants of all shapes, some of them indexed by what is the same for a workgroup.
layout(local_size_x = 16) in;
layout(push_constant, std430) uniform Push {
	layout(offset = 8) uint a;
	vec3 v;
	mat2x3 m;
	layout(row_major) mat2x3 r;
	uint array[4];
	uvec2 pairs[2];
} p;
layout(std430, binding = 0) buffer Out { uint results[]; };
void main() {
	uint i = gl_WorkGroupID.x;
	uint x = p.a + p.array[i % 4] * 3 + p.pairs[i % 2][i / 8];
	x += uint(p.v.z) + uint(p.m[1][2] * 100.0) + uint(p.r[i / 8][i % 3] * 1000.0);
	results[gl_GlobalInvocationID.x] = x;
}
