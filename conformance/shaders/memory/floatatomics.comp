#version 450
#extension GL_EXT_shader_atomic_float : enable
#extension GL_EXT_shader_atomic_float2 : enable
// Atomic operations on floats of type T, of many workgroups on the same memory, or of each on its own shared memory, which
// it has from there. What each invocation gets, it keeps.
layout(local_size_x = 64) in;
layout(std430, binding = 0) buffer Data { T global[4]; };
layout(std430, binding = 1) buffer Results { T before[]; };
layout(std430, binding = 2) buffer Ends { T ends[]; };
#ifdef SHARED
shared T words[4];
#else
#define words global
#endif
void main() {
	uint i = gl_LocalInvocationIndex;
	uint id = gl_GlobalInvocationID.x;
#ifdef SHARED
	if (i < 4)
		words[i] = global[i];
	barrier();
#endif
	T x = T(id) - T(20);
#ifdef ADD
	before[id] = atomicAdd(words[0], x + T(20.5));
#endif
#ifdef EXCHANGE
	before[id] = atomicExchange(words[1], x);
#endif
#ifdef MIN
	before[id] = atomicMin(words[2], x);
#endif
#ifdef MAX
	before[id] = atomicMax(words[3], x);
#endif
#ifdef SHARED
	barrier();
	if (i < 4)
		ends[gl_WorkGroupID.x * 4 + i] = words[i];
#endif
}
