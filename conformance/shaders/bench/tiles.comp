#version 450
// c = a b, of size x size: a tile of 64 x 64 for each workgroup, 4 x 4 of it for each invocation, 16 columns of a and
// rows of b at a time in shared memory.
layout(local_size_x = 16, local_size_y = 16) in;
layout(std430, binding = 0) readonly buffer A { float a[]; };
layout(std430, binding = 1) writeonly buffer C { float c[]; };
layout(std430, binding = 2) readonly buffer B { float b[]; };
layout(push_constant) uniform Push { uint size; };
shared float left[16][64], right[16][64];
void main() {
	uint x = gl_LocalInvocationID.x, y = gl_LocalInvocationID.y, i = gl_LocalInvocationIndex;
	uint row = 64u * gl_WorkGroupID.y, column = 64u * gl_WorkGroupID.x;
	float sums[4][4];
	for (uint r = 0u; r < 4u; r++)
		for (uint s = 0u; s < 4u; s++)
			sums[r][s] = 0.0;
	for (uint t = 0u; t < size; t += 16u) {
		for (uint k = i; k < 1024u; k += 256u) {
			left[k % 16u][k / 16u] = a[(row + k / 16u) * size + t + k % 16u];
			right[k / 64u][k % 64u] = b[(t + k / 64u) * size + column + k % 64u];
		}
		barrier();
		for (uint k = 0u; k < 16u; k++) {
			float l[4], m[4];
			for (uint r = 0u; r < 4u; r++) {
				l[r] = left[k][y + 16u * r];
				m[r] = right[k][x + 16u * r];
			}
			for (uint r = 0u; r < 4u; r++)
				for (uint s = 0u; s < 4u; s++)
					sums[r][s] += l[r] * m[s];
		}
		barrier();
	}
	for (uint r = 0u; r < 4u; r++)
		for (uint s = 0u; s < 4u; s++)
			c[(row + y + 16u * r) * size + column + x + 16u * s] = sums[r][s];
}
