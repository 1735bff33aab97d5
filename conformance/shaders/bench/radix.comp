#version 450
#extension GL_KHR_shader_subgroup_ballot : require
#extension GL_KHR_shader_subgroup_arithmetic : require
// A radix sort of 256 words by each workgroup: a bit in each of 16 rounds, with ballots of subgroups and barriers.
layout(local_size_x = 256) in;
layout(std430, binding = 0) readonly buffer In { uint x[]; };
layout(std430, binding = 1) writeonly buffer Out { uint y[]; };
shared uint keys[256], zeros[256];
void main() {
	uint i = gl_LocalInvocationIndex, key = x[gl_GlobalInvocationID.x] >> 16;
	for (uint bit = 0u; bit < 16u; bit++) {
		bool one = (key >> bit & 1u) != 0u;
		uvec4 vote = subgroupBallot(!one);
		uint before = subgroupBallotExclusiveBitCount(vote);
		if (subgroupElect())
			zeros[gl_SubgroupID] = subgroupBallotBitCount(vote);
		barrier();
		if (gl_SubgroupID == 0u) {
			uint sum = 0u;
			for (uint k = gl_SubgroupInvocationID; k < gl_NumSubgroups; k += gl_SubgroupSize) {
				uint n = zeros[k], up = subgroupInclusiveAdd(n);
				zeros[k] = sum + up;
				sum += subgroupAdd(n);
			}
		}
		barrier();
		uint all = zeros[gl_NumSubgroups - 1u], first = gl_SubgroupID > 0u ? zeros[gl_SubgroupID - 1u] : 0u;
		uint rank = first + before;
		keys[one ? all + i - rank : rank] = key;
		barrier();
		key = keys[i];
	}
	y[gl_GlobalInvocationID.x] = key;
}
