#version 450
#extension GL_EXT_shader_explicit_arithmetic_types : enable
#extension GL_EXT_shader_atomic_int64 : enable
// Every atomic operation of a type from all invocations, on shared memory or on a buffer. WHERE is the memory.
layout(local_size_x = 64) in;
layout(std430, binding = 0) buffer Words { T global[10]; T result[]; };
shared T local[10];
void main() {
	uint id = gl_GlobalInvocationID.x;
	if (gl_LocalInvocationIndex < 10)
		local[gl_LocalInvocationIndex] = global[gl_LocalInvocationIndex];
	barrier();
	T v = T(id * 2654435761u) * T(77777);
	atomicAdd(WHERE[0], v);
	atomicMin(WHERE[1], v);
	atomicMax(WHERE[2], v);
	atomicAnd(WHERE[3], v | T(3));
	atomicOr(WHERE[4], v & T(0xff00));
	atomicXor(WHERE[5], v);
	T mine = atomicAdd(WHERE[6], T(1));
	// Each invocation takes a number of its own.
	result[10 + uint(mine)] = T(1);
	// One of them finds zero.
	if (atomicCompSwap(WHERE[7], T(0), T(5)) == T(0))
		atomicAdd(WHERE[8], T(1));
	// What was exchanged comes out again, but for one.
	atomicAdd(WHERE[9], atomicExchange(WHERE[8], T(1)) - T(1));
	barrier();
	if (gl_LocalInvocationIndex < 10)
		result[gl_LocalInvocationIndex] = WHERE[gl_LocalInvocationIndex];
}
