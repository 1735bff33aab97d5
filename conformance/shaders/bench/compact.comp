#version 450
#extension GL_KHR_shader_subgroup_ballot : require
#extension GL_KHR_shader_subgroup_arithmetic : require
// Sums of those words of 8 that some lanes of a subgroup keep: scans and reductions in branches, with few lanes.
layout(local_size_x = 256) in;
layout(std430, binding = 0) readonly buffer In { uint x[]; };
layout(std430, binding = 1) writeonly buffer Out { uint y[]; };
shared uint total;
void main() {
	uint sum = 0u;
	total = 0u;
	barrier();
	for (uint k = 0u; k < 8u; k++) {
		uint v = x[gl_WorkGroupID.x * 2048u + 256u * k + gl_LocalInvocationIndex];
		if ((v & 3u) != 0u) {
			uint before = subgroupExclusiveAdd(v & 255u), all = subgroupAdd(v & 255u);
			if (subgroupElect())
				atomicAdd(total, all);
			if (before + (v & 255u) > all)
				sum++;
		}
	}
	barrier();
	y[gl_GlobalInvocationID.x] = total + sum;
}
