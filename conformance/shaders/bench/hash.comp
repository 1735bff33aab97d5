#version 450
#extension GL_EXT_shader_explicit_arithmetic_types_int64 : require
// A hash of 128 bytes in each invocation, by xxHash's 64-bit rounds.
layout(local_size_x = 256) in;
layout(std430, binding = 0) readonly buffer Words { uvec2 words[]; };
layout(std430, binding = 1) writeonly buffer Hashes { uvec2 hashes[]; };
const uint64_t prime1 = 0x9E3779B185EBCA87ul, prime2 = 0xC2B2AE3D27D4EB4Ful, prime4 = 0x85EBCA77C2B2AE63ul;
uint64_t rotate(uint64_t x, int n) { return x << n | x >> (64 - n); }
void main() {
	uint i = gl_GlobalInvocationID.x;
	uint64_t h = prime1 + i;
	for (uint k = 0; k < 16; k++) {
		uint64_t x = packUint2x32(words[k * gl_NumWorkGroups.x * 256 / 16 * 2 + i]) * prime2;
		h = rotate(h ^ rotate(x, 31) * prime1, 27) * prime1 + prime4;
	}
	h = (h ^ h >> 33) * prime2;
	hashes[i] = unpackUint2x32(h ^ h >> 29);
}
