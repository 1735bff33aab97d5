#version 450
layout(local_size_x = 256) in;
layout(binding = 0) buffer Out { float y[]; };
layout(binding = 1) readonly buffer In { float x[]; };
layout(push_constant) uniform Push { float a; uint n; };

void main() {
	uint i = gl_GlobalInvocationID.x;
	if (i < n)
		y[i] = a * x[i] + y[i];
}
