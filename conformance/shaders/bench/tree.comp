#version 450
// A walk through a tree of 2,047 nodes, down the branches that a number is in, with a stack in an array.
layout(local_size_x = 256) in;
layout(std430, binding = 0) readonly buffer Numbers { uint numbers[]; };
layout(std430, binding = 1) writeonly buffer Found { uint found[]; };
void main() {
	uint i = gl_GlobalInvocationID.x, x = numbers[i] >> 8, hits = 0;
	uint stack[16];
	int depth = 1;
	stack[0] = 0;
	while (depth > 0) {
		uint node = stack[--depth];
		if (x > max(numbers[2 * node] >> 8, numbers[2 * node + 1] >> 9))
			continue;
		if (node < 1023) {
			stack[depth++] = 2 * node + 1;
			stack[depth++] = 2 * node + 2;
		} else
			hits += node;
	}
	found[i] = hits;
}
