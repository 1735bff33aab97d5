#version 450
// CRC-32 of 128 bytes in each invocation, by a table in shared memory.
layout(local_size_x = 64) in;
layout(std430, binding = 0) readonly buffer In { uint x[]; };
layout(std430, binding = 1) writeonly buffer Out { uint y[]; };
shared uint table[256];
void main() {
	for (uint k = gl_LocalInvocationID.x; k < 256u; k += 64u) {
		uint c = k;
		for (int j = 0; j < 8; j++)
			c = (c & 1u) != 0u ? 0xedb88320u ^ (c >> 1) : c >> 1;
		table[k] = c;
	}
	barrier();
	uint i = gl_GlobalInvocationID.x, c = ~0u;
	for (uint w = 0u; w < 32u; w++) {
		uint v = x[i * 32u + w];
		for (int j = 0; j < 4; j++) {
			c = table[(c ^ v) & 255u] ^ (c >> 8);
			v >>= 8;
		}
	}
	y[i] = ~c;
}
