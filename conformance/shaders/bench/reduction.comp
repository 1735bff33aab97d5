#version 450
// A sum for each workgroup.
layout(local_size_x = 256) in;
layout(std430, binding = 0) readonly buffer In { float values[]; };
layout(std430, binding = 1) writeonly buffer Out { float sums[]; };
shared float tree[256];
void main() {
	uint i = gl_LocalInvocationID.x;
	tree[i] = values[gl_GlobalInvocationID.x];
	barrier();
	for (uint n = 128; n > 0; n >>= 1) {
		if (i < n)
			tree[i] += tree[i + n];
		barrier();
	}
	if (i == 0)
		sums[gl_WorkGroupID.x] = tree[0];
}
