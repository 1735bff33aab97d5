#version 450
// Two storage buffers, one of them written through a dimension of its own.
layout(local_size_x = 8, local_size_y = 4, local_size_z = 2) in;
layout(std430, binding = 0) readonly buffer In { uint from[]; };
layout(std430, binding = 1) writeonly buffer Out { uint to[]; };
void main() {
	uvec3 n = gl_NumWorkGroups * gl_WorkGroupSize, g = gl_GlobalInvocationID;
	to[(g.x * n.y + g.y) * n.z + g.z] = ~from[(g.z * n.y + g.y) * n.x + g.x];
}
