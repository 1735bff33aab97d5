#version 450
layout(local_size_x = 16, local_size_y = 16) in;
layout(binding = 0) writeonly buffer C { float c[]; };
layout(binding = 1) readonly buffer A { float a[]; };
layout(binding = 2) readonly buffer B { float b[]; };
layout(push_constant) uniform Push { uint n; };
shared float tileA[16][16];
shared float tileB[16][16];

void main() {
	uint x = gl_LocalInvocationID.x, y = gl_LocalInvocationID.y;
	uint row = gl_GlobalInvocationID.y, column = gl_GlobalInvocationID.x;
	float sum = 0.0;
	for (uint t = 0; t < n; t += 16) {
		tileA[y][x] = a[row * n + t + x];
		tileB[y][x] = b[(t + y) * n + column];
		barrier();
		for (uint k = 0; k < 16; k++)
			sum += tileA[y][k] * tileB[k][x];
		barrier();
	}
	c[row * n + column] = sum;
}
