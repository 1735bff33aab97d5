#version 450
// Each workgroup sums its values as a tree in shared memory.
layout(local_size_x = SIZE) in;
layout(std430, binding = 0) readonly buffer In { uint values[]; };
layout(std430, binding = 1) writeonly buffer Out { uint sums[]; };
shared uint tree[SIZE];
void main() {
	uint i = gl_LocalInvocationID.x;
	tree[i] = values[gl_GlobalInvocationID.x];
	for (uint n = SIZE / 2; n > 0; n /= 2) {
		barrier();
		if (i < n)
			tree[i] += tree[i + n];
	}
	if (i == 0)
		sums[gl_WorkGroupID.x] = tree[0];
}
