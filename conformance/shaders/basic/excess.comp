#version 450
// Every word becomes 3 times itself plus 1, by arithmetic of TYPE, in a block whose layout is LAYOUT.
#extension GL_EXT_shader_explicit_arithmetic_types : require
#extension GL_EXT_scalar_block_layout : require
layout(local_size_x = 64) in;
layout(LAYOUT, binding = 0) buffer Data { uint first; uvec3 others[]; };
uint next(uint x) { return uint(TYPE(x) * TYPE(3) + TYPE(1)); }
void main() {
	uint i = gl_GlobalInvocationID.x;
	if (i == 0)
		first = next(first);
	if (i < others.length())
		others[i] = uvec3(next(others[i].x), next(others[i].y), next(others[i].z));
}
