#version 450
layout(local_size_x = 256) in;
layout(binding = 0) writeonly buffer Out { float y[]; };
layout(binding = 1) readonly buffer In { float x[]; };

void main() {
	uint i = gl_GlobalInvocationID.x;
	y[i] = x[i];
}
