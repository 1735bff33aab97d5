#version 450
// data[i] = data[i] * factor + term, in a uniform block.
layout(local_size_x = 64) in;
layout(std430, binding = 0) buffer Data { uint data[]; };
layout(std140, binding = 1) uniform Factors { uint factor; uint term; };
void main() {
	if (gl_GlobalInvocationID.x < data.length())
		data[gl_GlobalInvocationID.x] = data[gl_GlobalInvocationID.x] * factor + term;
}
