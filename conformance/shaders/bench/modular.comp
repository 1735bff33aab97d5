#version 450
#extension GL_EXT_shader_explicit_arithmetic_types_int64 : require
// Products of integers of 64 bits to 128, from products of words, and remainders by a constant.
layout(local_size_x = 256) in;
layout(std430, binding = 0) readonly buffer In { uint x[]; };
layout(std430, binding = 1) writeonly buffer Out { uint y[]; };
uint64_t fold(uint64_t a, uint64_t b) {
	uint al = uint(a), ah = uint(a >> 32), bl = uint(b), bh = uint(b >> 32);
	uint64_t ll = uint64_t(al) * bl, lh = uint64_t(al) * bh, hl = uint64_t(ah) * bl, hh = uint64_t(ah) * bh;
	uint64_t middle = (ll >> 32) + (lh & 0xffffffffUL) + (hl & 0xffffffffUL);
	return (ll & 0xffffffffUL | middle << 32) ^ (hh + (lh >> 32) + (hl >> 32) + (middle >> 32));
}
void main() {
	uint i = gl_GlobalInvocationID.x;
	uint64_t a = uint64_t(x[2 * i]) << 32 | x[2 * i + 1], s = a | 1UL;
	for (int k = 0; k < 64; k++) {
		s = fold(s, a);
		a += s >> 3;
		if (s % 7UL == 0UL)
			a ^= 0x1234567UL;
	}
	y[2 * i] = uint(s);
	y[2 * i + 1] = uint(s >> 32);
}
