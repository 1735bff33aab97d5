#version 460
#extension GL_EXT_debug_printf : require
#extension GL_EXT_control_flow_attributes : require
layout(local_size_x = 1) in;
layout(local_size_x_id = 1, local_size_y_id = 2, local_size_z_id = 3) in;
layout(set = 0, binding = 0) buffer B { vec4 v; uint a[4]; } b;
struct S { float f; mat3 m; bool flags[2]; };
S make(float f) { return S(f, mat3(f), bool[](true, f > 1.0)); }
void main() {
	S s = make(b.v.x);
	[[unroll]] for (int i = 0; i < 2; i++)
		s.flags[i] = !s.flags[1 - i];
	[[dont_flatten]] if (s.flags[0])
		debugPrintfEXT("value %f of %v4f, %u", s.f, b.v, b.a[1]);
	b.v = vec4(s.m[1], s.f);
	b.a[gl_WorkGroupSize.x & 3] = gl_WorkGroupSize.y;
}
