#version 450
// Reverses each workgroup's part by shared memory, several times over with barriers between.
layout(local_size_x = SIZE) in;
layout(std430, binding = 0) buffer Data { uint data[]; };
shared uint tile[SIZE];
void main() {
	uint i = gl_LocalInvocationID.x;
	uint v = data[gl_GlobalInvocationID.x];
	for (uint round = 0; round < ROUNDS; round++) {
		tile[i] = v + round;
		barrier();
		v = tile[SIZE - 1 - i];
		barrier();
	}
	data[gl_GlobalInvocationID.x] = v;
}
