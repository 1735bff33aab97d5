#version 450
#extension GL_KHR_shader_subgroup_basic : enable
#extension GL_KHR_shader_subgroup_vote : enable
#extension GL_KHR_shader_subgroup_ballot : enable
#extension GL_KHR_shader_subgroup_arithmetic : enable
#extension GL_KHR_shader_subgroup_shuffle : enable
#extension GL_KHR_shader_subgroup_shuffle_relative : enable
#extension GL_KHR_shader_subgroup_clustered : enable
#extension GL_KHR_shader_subgroup_quad : enable
#extension GL_EXT_shader_explicit_arithmetic_types : enable
#extension GL_EXT_shader_subgroup_extended_types_int64 : enable
// Operations of subgroups, each of which gives a vector, with all invocations of a workgroup or with those that ACTIVE chooses.
layout(local_size_x = SIZE) in;
layout(std430, binding = 0) readonly buffer In { uint values[]; };
layout(std430, binding = 1) buffer Out { uvec4 results[]; };
void main() {
	uint id = gl_GlobalInvocationID.x;
	uint value = values[id];
	T v = T(value);
	uint lane = gl_SubgroupInvocationID;
	uint at = id * (1 + COUNT);
	results[at] = uvec4(gl_SubgroupID, lane, gl_SubgroupSize, gl_NumSubgroups);
	if (ACTIVE) {
		OPERATIONS
	}
}
