#version 450
// A hash table of 1,024 words in shared memory for each workgroup: each invocation puts a key there by
// compare and exchange, then how far the keys of others lie from their place.
layout(local_size_x = 256) in;
layout(std430, binding = 0) readonly buffer In { uint x[]; };
layout(std430, binding = 1) writeonly buffer Out { uint y[]; };
shared uint keys[1024];
void main() {
	uint i = gl_LocalInvocationIndex;
	for (uint k = i; k < 1024u; k += 256u)
		keys[k] = 0u;
	barrier();
	for (uint k = 0u; k < 2u; k++) {
		uint key = x[2u * gl_GlobalInvocationID.x + k] % 4093u + 1u, at = key * 0x9e3779b1u >> 22;
		for (uint n = 0u; n < 1024u; n++) {
			uint was = atomicCompSwap(keys[at], 0u, key);
			if (was == 0u || was == key)
				break;
			at = (at + 1u) & 1023u;
		}
	}
	barrier();
	uint found = 0u;
	for (uint k = i; k < 1024u; k += 256u)
		found += keys[k] != 0u ? 1u : 0u;
	y[gl_GlobalInvocationID.x] = found;
}
