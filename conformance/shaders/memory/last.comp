#version 450
// The last workgroup to end sums what all have written: atomics, memoryBarrier and coherent memory.
layout(local_size_x = 64) in;
layout(std430, binding = 0) coherent buffer Data { uint ended; uint total; uint parts[]; };
shared uint sum;
shared bool last;
void main() {
	if (gl_LocalInvocationIndex == 0)
		sum = 0;
	barrier();
	atomicAdd(sum, gl_GlobalInvocationID.x);
	barrier();
	if (gl_LocalInvocationIndex == 0) {
		parts[gl_WorkGroupID.x] = sum;
		memoryBarrier();
		last = atomicAdd(ended, 1) == gl_NumWorkGroups.x - 1;
	}
	barrier();
	if (!last)
		return;
	memoryBarrier();
	uint s = 0;
	for (uint i = gl_LocalInvocationIndex; i < gl_NumWorkGroups.x; i += 64)
		s += parts[i];
	atomicAdd(total, s);
}
