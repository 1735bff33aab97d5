#version 450
// Writes the demo's pattern, or counts the words that are not its complement.
layout(local_size_x = 256) in;
layout(std430, binding = 0) buffer Remote { uint words[]; };
layout(std430, binding = 1) buffer Count { uint wrong; };
layout(push_constant) uniform Push { uint check; };

uint pattern(uint i) { return i * 7 + (i >> 8) & 255; }

void main() {
	uint at = gl_GlobalInvocationID.x, word = 0;
	for (uint k = 0; k < 4; k++)
		word |= pattern(4 * at + k) << 8 * k;
	if (check == 0)
		words[at] = word;
	else if (words[at] != ~word)
		atomicAdd(wrong, 1);
}
