#version 450
// Bits: Morton codes, counts, first and last bits, and reversals of words, 16 rounds of each.
layout(local_size_x = 256) in;
layout(std430, binding = 0) readonly buffer In { uint x[]; };
layout(std430, binding = 1) writeonly buffer Out { uint y[]; };
uint spread(uint v) {
	v = (v | v << 8) & 0x00ff00ffu;
	v = (v | v << 4) & 0x0f0f0f0fu;
	v = (v | v << 2) & 0x33333333u;
	return (v | v << 1) & 0x55555555u;
}
void main() {
	uint v = x[gl_GlobalInvocationID.x], sum = 0u;
	for (uint k = 0u; k < 16u; k++) {
		uint code = spread(v & 0xffffu) | spread(v >> 16) << 1;
		sum += uint(bitCount(code)) + uint(findMSB(code)) * 3u + uint(findLSB(code)) * 5u;
		v = bitfieldReverse(code) ^ bitfieldExtract(code, 5, 17) * 0x9e3779b1u;
		v = bitfieldInsert(v, sum, 3, 9);
	}
	y[gl_GlobalInvocationID.x] = v ^ sum;
}
