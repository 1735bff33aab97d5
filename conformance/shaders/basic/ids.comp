#version 450
// Every invocation writes what it is told of itself, once.
layout(local_size_x_id = 0, local_size_y_id = 1, local_size_z_id = 2) in;
struct Ids {
	uvec4 groups, size, group, local, global;
};
layout(std430, binding = 0) buffer Out { Ids ids[]; };
layout(push_constant) uniform Push { uvec3 base; uint perGroup; uvec3 all; };
void main() {
	uvec3 g = gl_WorkGroupID - base;
	uint group = (g.z * all.y + g.y) * all.x + g.x;
	ids[group * perGroup + gl_LocalInvocationIndex] = Ids(uvec4(gl_NumWorkGroups, 1), uvec4(gl_WorkGroupSize, 2),
		uvec4(gl_WorkGroupID, 3), uvec4(gl_LocalInvocationID, gl_LocalInvocationIndex), uvec4(gl_GlobalInvocationID, 4));
}
