#version 450
// Counts the words of memory that don't have a pattern, in one of which a number was added to 64 bits, and writes
// another pattern. The pattern is meet.h's.
layout(local_size_x = 64) in;
layout(std430, binding = 0) buffer Memory { uint words[]; };
layout(std430, binding = 1) buffer Wrong { uint wrong; };
layout(push_constant) uniform Step { uint from, to, counter, added; };
uint word(uint pattern, uint i) { return i * 2654435761u ^ pattern * 0x9e3779b9u; }
void main() {
	uint i = gl_GlobalInvocationID.x, want = word(from, i), carry;
	uint low = uaddCarry(word(from, counter), added, carry);
	if (i == counter)
		want = low;
	else if (i == counter + 1)
		want += carry;
	if (words[i] != want)
		atomicAdd(wrong, 1);
	words[i] = word(to, i);
}
