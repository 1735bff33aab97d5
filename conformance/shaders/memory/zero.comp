#version 450
#extension GL_EXT_null_initializer : enable
// Workgroup memory that is zero when a workgroup begins.
layout(local_size_x = 32) in;
struct S { uint a; vec3 v; uint b[5]; };
shared S s = {};
shared uint t[100] = {};
layout(std430, binding = 0) buffer Out { uint results[]; };
void main() {
	uint bad = s.a | uint(s.v.x != 0.0 || s.v.z != 0.0) | s.b[gl_LocalInvocationIndex % 5];
	for (uint i = gl_LocalInvocationIndex; i < 100; i += 32)
		bad |= t[i];
	results[gl_GlobalInvocationID.x] = bad == 0 ? 1 : 2;
	barrier();
	s.a = ~0;
	s.v = vec3(1);
	s.b[gl_LocalInvocationIndex % 5] = 7;
	for (uint i = gl_LocalInvocationIndex; i < 100; i += 32)
		t[i] = i + 1;
}
