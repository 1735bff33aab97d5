#version 460
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_vote : require
#extension GL_KHR_shader_subgroup_ballot : require
#extension GL_KHR_shader_subgroup_arithmetic : require
#extension GL_KHR_shader_subgroup_shuffle : require
#extension GL_KHR_shader_subgroup_shuffle_relative : require
#extension GL_KHR_shader_subgroup_clustered : require
#extension GL_KHR_shader_subgroup_quad : require
#extension GL_EXT_shader_subgroup_extended_types_int64 : require
#extension GL_EXT_shader_explicit_arithmetic_types_int64 : require
layout(local_size_x = 128) in;
layout(set = 0, binding = 0) buffer B { uint u[128]; vec4 v[128]; int64_t l[]; } b;
void main() {
	uint i = gl_LocalInvocationIndex;
	uint u = b.u[i];
	vec4 v = b.v[i];
	if (subgroupElect())
		u += gl_NumSubgroups + gl_SubgroupID + gl_SubgroupSize + gl_SubgroupInvocationID;
	uvec4 m = subgroupBallot(u > 3u) ^ gl_SubgroupLtMask;
	u += subgroupBallotBitCount(m) + subgroupBallotInclusiveBitCount(m) + subgroupBallotExclusiveBitCount(m) + subgroupBallotFindLSB(m) + subgroupBallotFindMSB(m);
	u += uint(subgroupAll(u > 1u)) + uint(subgroupAny(u > 2u)) + uint(subgroupAllEqual(v)) + uint(subgroupInverseBallot(m)) + uint(subgroupBallotBitExtract(m, 5));
	u += subgroupAdd(u) + subgroupMul(u) + subgroupMin(u) + subgroupMax(u) + subgroupAnd(u) + subgroupOr(u) + subgroupXor(u);
	v += subgroupInclusiveAdd(v) + subgroupExclusiveMul(v) + subgroupClusteredMin(v, 4) + subgroupClusteredAdd(v, 16);
	v += subgroupBroadcast(v, 3) + subgroupBroadcastFirst(v) + subgroupShuffle(v, u & 31) + subgroupShuffleXor(v, 1) + subgroupShuffleUp(v, 2) + subgroupShuffleDown(v, 3);
	v += subgroupQuadBroadcast(v, 2) + subgroupQuadSwapHorizontal(v) + subgroupQuadSwapVertical(v) + subgroupQuadSwapDiagonal(v);
	bool t = subgroupAnd(u > 7u) || subgroupXor(v.x > 1.0);
	subgroupBarrier();
	subgroupMemoryBarrier();
	b.u[i] = u + uint(t);
	b.v[i] = v;
	b.l[i] = subgroupAdd(b.l[i]);
}
