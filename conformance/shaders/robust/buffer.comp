#version 450
// Reads, writes and atomic operations at indices that the host chooses.
layout(local_size_x = 32) in;
layout(std430, binding = 0) readonly buffer Indices { uint indices[]; };
layout(std430, binding = 1) buffer Target { uint target[]; };
layout(std430, binding = 2) buffer Out { uint results[]; };
layout(std430, binding = 3) readonly buffer Vectors { uvec4 vectors[]; };
layout(std140, binding = 4) uniform Uniforms { uvec4 uniforms[64]; };
void main() {
	uint id = gl_GlobalInvocationID.x, i = indices[id];
	if (MODE == 0)
		results[id] = target[i];
	else if (MODE == 1)
		target[i] = id + 1;
	else if (MODE == 2)
		results[id] = atomicAdd(target[i], 1);
	else if (MODE == 3)
		results[id] = vectors[i].x + vectors[i].w * 3;
	else
		results[id] = uniforms[i].y;
}
