#version 450
// c = a b, of size x size: a workgroup makes 128 x 128 of it and an invocation 8 x 8, in registers. Tiles of 128 x 8 of a
// and of 8 x 128 of b are in shared memory.
layout(local_size_x = 16, local_size_y = 16) in;
layout(std430, binding = 0) readonly buffer A { vec4 a[]; };
layout(std430, binding = 1) writeonly buffer C { vec4 c[]; };
layout(std430, binding = 2) readonly buffer B { vec4 b[]; };
layout(push_constant) uniform Push { uint size; };
shared float left[8][128];
shared vec4 right[8][32];
void main() {
	uint x = gl_LocalInvocationID.x, y = gl_LocalInvocationID.y, n = gl_LocalInvocationIndex;
	uint row = gl_WorkGroupID.y * 128, column = gl_WorkGroupID.x * 128;
	vec4 sum[8][2];
	for (int i = 0; i < 8; i++)
		sum[i][0] = sum[i][1] = vec4(0.0);
	for (uint t = 0; t < size; t += 8) {
		vec4 part = a[((row + n / 2) * size + t) / 4 + n % 2];
		for (int i = 0; i < 4; i++)
			left[n % 2 * 4 + i][n / 2] = part[i];
		right[n / 32][n % 32] = b[((t + n / 32) * size + column) / 4 + n % 32];
		barrier();
		for (int k = 0; k < 8; k++) {
			vec4 r0 = right[k][x], r1 = right[k][x + 16];
			for (int i = 0; i < 8; i++) {
				float l = left[k][y * 8 + i];
				sum[i][0] = fma(vec4(l), r0, sum[i][0]);
				sum[i][1] = fma(vec4(l), r1, sum[i][1]);
			}
		}
		barrier();
	}
	for (int i = 0; i < 8; i++) {
		uint at = ((row + y * 8 + i) * size + column) / 4 + x;
		c[at] = sum[i][0];
		c[at + 16] = sum[i][1];
	}
}
