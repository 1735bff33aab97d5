#version 450
layout(local_size_x = 64) in;
layout(set = 0, binding = 0) readonly buffer In { uint from[]; };
layout(set = 0, binding = 1) writeonly buffer Out { uint to[]; };
void main() {
	uint i = gl_GlobalInvocationID.x;
	to[i] = from[i] + 3 * i;
}
