#version 450
// Sums of floats by class, in shared memory, by compare and exchange, as where there is no atomic addition of floats.
layout(local_size_x = 256) in;
layout(std430, binding = 0) readonly buffer In { float x[]; };
layout(std430, binding = 1) writeonly buffer Out { float y[]; };
shared uint sums[64];
void main() {
	uint i = gl_LocalInvocationIndex;
	if (i < 64u)
		sums[i] = 0u;
	barrier();
	for (uint k = 0u; k < 16u; k++) {
		float v = x[gl_WorkGroupID.x * 4096u + 256u * k + i];
		uint bin = (i * 7u + uint(v) * 5u) & 63u, was = sums[bin], now;
		do {
			now = was;
			was = atomicCompSwap(sums[bin], now, floatBitsToUint(uintBitsToFloat(now) + v));
		} while (was != now);
	}
	barrier();
	if (i < 64u)
		y[64u * gl_WorkGroupID.x + i] = uintBitsToFloat(sums[i]);
}
