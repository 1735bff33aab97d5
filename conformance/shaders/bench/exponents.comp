#version 450
#extension GL_EXT_shader_explicit_arithmetic_types_int64 : require
// Numbers by their exponents, and a 64-bit generator whose words become floats.
layout(local_size_x = 256) in;
layout(std430, binding = 0) readonly buffer In { uint x[]; };
layout(std430, binding = 1) writeonly buffer Out { float y[]; };
void main() {
	uint64_t state = uint64_t(x[gl_GlobalInvocationID.x]);
	float sum = 0.0;
	for (int k = 0; k < 16; k++) {
		state = state * 6364136223846793005ul + 1442695040888963407ul;
		float v = float(state >> 40) + 1.0;
		int e;
		float f = frexp(v, e);
		sum += ldexp(f, e & 7);
	}
	y[gl_GlobalInvocationID.x] = sum;
}
