#version 450
// SHA-256 (FIPS 180-4) of one block of 64 bytes in each invocation: without padding, so only its compression.
layout(local_size_x = 64) in;
layout(set=0,binding=0) buffer Out { uint y[]; };
layout(set=0,binding=1) readonly buffer In { uint x[]; };
const uint k[64] = uint[](
	0x428a2f98u, 0x71374491u, 0xb5c0fbcfu, 0xe9b5dba5u, 0x3956c25bu, 0x59f111f1u, 0x923f82a4u, 0xab1c5ed5u,
	0xd807aa98u, 0x12835b01u, 0x243185beu, 0x550c7dc3u, 0x72be5d74u, 0x80deb1feu, 0x9bdc06a7u, 0xc19bf174u,
	0xe49b69c1u, 0xefbe4786u, 0x0fc19dc6u, 0x240ca1ccu, 0x2de92c6fu, 0x4a7484aau, 0x5cb0a9dcu, 0x76f988dau,
	0x983e5152u, 0xa831c66du, 0xb00327c8u, 0xbf597fc7u, 0xc6e00bf3u, 0xd5a79147u, 0x06ca6351u, 0x14292967u,
	0x27b70a85u, 0x2e1b2138u, 0x4d2c6dfcu, 0x53380d13u, 0x650a7354u, 0x766a0abbu, 0x81c2c92eu, 0x92722c85u,
	0xa2bfe8a1u, 0xa81a664bu, 0xc24b8b70u, 0xc76c51a3u, 0xd192e819u, 0xd6990624u, 0xf40e3585u, 0x106aa070u,
	0x19a4c116u, 0x1e376c08u, 0x2748774cu, 0x34b0bcb5u, 0x391c0cb3u, 0x4ed8aa4au, 0x5b9cca4fu, 0x682e6ff3u,
	0x748f82eeu, 0x78a5636fu, 0x84c87814u, 0x8cc70208u, 0x90befffau, 0xa4506cebu, 0xbef9a3f7u, 0xc67178f2u);
const uint start[8] = uint[](0x6a09e667u, 0xbb67ae85u, 0x3c6ef372u, 0xa54ff53au, 0x510e527fu, 0x9b05688cu, 0x1f83d9abu,
	0x5be0cd19u);
uint rotate(uint v, int n) { return v >> n | v << (32 - n); }
void main() {
	uint i = gl_GlobalInvocationID.x, w[64];
	for (int t = 0; t < 16; t++)
		w[t] = x[16u * i + t];
	for (int t = 16; t < 64; t++) {
		uint a = w[t - 15], b = w[t - 2];
		w[t] = w[t - 16] + w[t - 7] + (rotate(a, 7) ^ rotate(a, 18) ^ a >> 3) + (rotate(b, 17) ^ rotate(b, 19) ^ b >> 10);
	}
	uint v[8] = start;
	for (int t = 0; t < 64; t++) {
		uint e = v[4], a = v[0];
		uint one = v[7] + (rotate(e, 6) ^ rotate(e, 11) ^ rotate(e, 25)) + (e & v[5] ^ ~e & v[6]) + k[t] + w[t];
		uint two = (rotate(a, 2) ^ rotate(a, 13) ^ rotate(a, 22)) + (a & v[1] ^ a & v[2] ^ v[1] & v[2]);
		v[7] = v[6]; v[6] = v[5]; v[5] = e; v[4] = v[3] + one;
		v[3] = v[2]; v[2] = v[1]; v[1] = a; v[0] = one + two;
	}
	for (int t = 0; t < 8; t++)
		y[8u * i + t] = start[t] + v[t];
}
