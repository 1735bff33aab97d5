#version 450
// An inclusive prefix sum of a workgroup by shared memory, with barriers in uniform control flow and lanes that idle.
layout(local_size_x = SIZE) in;
layout(std430, binding = 0) buffer Data { uint data[]; };
shared uint a[SIZE];
void main() {
	uint i = gl_LocalInvocationIndex;
	a[i] = data[gl_GlobalInvocationID.x];
	barrier();
	for (uint d = 1; d < SIZE; d *= 2) {
		uint v = 0;
		if (i >= d)
			v = a[i - d];
		barrier();
		a[i] += v;
		barrier();
	}
	data[gl_GlobalInvocationID.x] = a[i];
}
