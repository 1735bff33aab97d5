#version 450
#extension GL_EXT_shader_atomic_float : enable
#extension GL_EXT_shader_atomic_float2 : enable
// Atomic operations on floats.
layout(local_size_x = 64) in;
layout(std430, binding = 0) buffer Data { float global[4]; };
#ifdef SHARED
shared float words[4];
#else
#define words global
#endif
void main() {
	uint i = gl_LocalInvocationIndex;
#ifdef SHARED
	if (i < 4)
		words[i] = global[i];
	barrier();
#endif
	float x = float(i) - 20.0;
#ifdef ADD
	atomicAdd(words[0], x);
#endif
	atomicExchange(words[1], 5.0);
#ifdef MINMAX
	atomicMin(words[2], x);
	atomicMax(words[3], x);
#endif
#ifdef SHARED
	barrier();
	if (i < 4)
		global[i] = words[i];
#endif
}
