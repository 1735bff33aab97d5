#version 460
#extension GL_EXT_buffer_reference2 : require
#extension GL_EXT_shader_explicit_arithmetic_types_int64 : require
layout(local_size_x = 4) in;
layout(buffer_reference, std430, buffer_reference_align = 16) readonly buffer V { vec4 v; uint n; };
layout(buffer_reference) buffer Out { float f; };
layout(push_constant) uniform P { V in_; Out out_; uint64_t raw; } p;
void main() {
	V v = p.in_ + gl_GlobalInvocationID.x;
	V w = V(p.raw);
	Out o = p.out_;
	for (uint i = 0; i < v.n; i++) {
		o.f += v[i].v.y * w.v.x;
		w = w + 1;
	}
}
