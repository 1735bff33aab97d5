#version 450
#extension GL_EXT_buffer_reference2 : enable
#extension GL_EXT_shader_explicit_arithmetic_types_int64 : enable
// A list in memory that is walked by device addresses, and an array that is written by its address.
layout(local_size_x = 16) in;
layout(buffer_reference) buffer Node;
layout(buffer_reference, std430, buffer_reference_align = 16) buffer Node { Node next; uint value; uint seen; };
layout(buffer_reference, std430, buffer_reference_align = 4) buffer Words { uint words[]; };
layout(push_constant) uniform Push { Node first; Words target; };
void main() {
	Node n = first;
	uint s = 0;
	for (uint i = 0; i <= gl_LocalInvocationIndex % 4; i++) {
		s = s * 10 + n.value;
		if (gl_LocalInvocationIndex == 3)
			n.seen = i + 1;
		n = n.next;
	}
	target.words[gl_LocalInvocationIndex] = s;
	Words shifted = Words(uint64_t(target) + 128ul);
	if (gl_LocalInvocationIndex == 0)
		shifted.words[0] = uint(uint64_t(shifted) - uint64_t(target));
}
