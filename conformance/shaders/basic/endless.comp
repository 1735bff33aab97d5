#version 450
// A loop that never ends, in some of its invocations.
layout(local_size_x = 32) in;
layout(std430, binding = 0) buffer Data { uint data[]; };
void main() {
	uint i = gl_LocalInvocationIndex, n = data[0];
	while (n < 10 || i == 7) {
		n = n * 3 + 1;
		data[i] = n;
	}
	data[i] = 5;
}
