#version 450
#ifdef WIDE
#extension GL_EXT_shader_explicit_arithmetic_types : enable
#extension GL_EXT_shader_image_int64 : enable
#endif
#extension GL_EXT_shader_atomic_float : enable
#extension GL_EXT_shader_atomic_float2 : enable
// Each invocation does an operation on a texel that SHARE of them have in common, and keeps what was there.
layout(local_size_x = 64) in;
layout(std430, binding = 0) buffer Result { TYPE result[]; };
layout(binding = 1, FORMAT) uniform IMAGE image;
void main() {
	uint i = gl_GlobalInvocationID.x;
	int place = int(i / SHARE);
	TYPE value = TYPE(i * 7u % 32u + 1u);
	result[i] = EXPR;
}
