#version 450
// Cholesky's decomposition of a matrix of 32 x 32 by each workgroup, in shared memory.
layout(local_size_x = 32, local_size_y = 8) in;
layout(std430, binding = 0) readonly buffer In { float x[]; };
layout(std430, binding = 1) writeonly buffer Out { float y[]; };
shared float m[32][33];
void main() {
	uint c = gl_LocalInvocationID.x, from = 1024u * gl_WorkGroupID.x;
	for (uint r = gl_LocalInvocationID.y; r < 32u; r += 8u)
		m[r][c] = x[from + 32u * max(r, c) + min(r, c)] + (r == c ? 512.0 : 0.0);
	barrier();
	for (uint k = 0u; k < 32u; k++) {
		if (gl_LocalInvocationIndex == 0u)
			m[k][k] = sqrt(m[k][k]);
		barrier();
		if (gl_LocalInvocationID.y == 0u && c > k)
			m[c][k] /= m[k][k];
		barrier();
		for (uint r = gl_LocalInvocationID.y; r < 32u; r += 8u)
			if (c > k && r >= c)
				m[r][c] -= m[r][k] * m[c][k];
		barrier();
	}
	for (uint r = gl_LocalInvocationID.y; r < 32u; r += 8u)
		y[from + 32u * r + c] = r >= c ? m[r][c] : 0.0;
}
