#version 450
// How many steps the Collatz sequence of a word takes to 1: loops within loops that each invocation leaves in its own
// time.
layout(local_size_x = 256) in;
layout(std430, binding = 0) readonly buffer In { uint words[]; };
layout(std430, binding = 1) writeonly buffer Out { uint steps[]; };
void main() {
	uint i = gl_GlobalInvocationID.x;
	uint n = (words[i] >> 12) | 1;
	uint taken = 0;
	while (n != 1 && taken < 1024) {
		n = 3 * n + 1;
		do {
			n >>= 1;
			taken++;
		} while ((n & 1) == 0);
	}
	steps[i] = taken;
}
