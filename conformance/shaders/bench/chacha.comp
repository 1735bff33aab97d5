#version 450
// ChaCha20: a block of 64 bytes in each invocation.
layout(local_size_x = 256) in;
layout(std430, binding = 0) readonly buffer State { uint state[]; };
layout(std430, binding = 1) writeonly buffer Stream { uint stream[]; };
uint x[16];
uint rotate(uint v, int n) { return v << n | v >> (32 - n); }
void quarter(int a, int b, int c, int d) {
	x[a] += x[b]; x[d] = rotate(x[d] ^ x[a], 16);
	x[c] += x[d]; x[b] = rotate(x[b] ^ x[c], 12);
	x[a] += x[b]; x[d] = rotate(x[d] ^ x[a], 8);
	x[c] += x[d]; x[b] = rotate(x[b] ^ x[c], 7);
}
void main() {
	uint first = gl_GlobalInvocationID.x * 16;
	for (int i = 0; i < 16; i++)
		x[i] = state[first + i];
	for (int i = 0; i < 10; i++) {
		quarter(0, 4, 8, 12);
		quarter(1, 5, 9, 13);
		quarter(2, 6, 10, 14);
		quarter(3, 7, 11, 15);
		quarter(0, 5, 10, 15);
		quarter(1, 6, 11, 12);
		quarter(2, 7, 8, 13);
		quarter(3, 4, 9, 14);
	}
	for (int i = 0; i < 16; i++)
		stream[first + i] = x[i] + state[first + i];
}
