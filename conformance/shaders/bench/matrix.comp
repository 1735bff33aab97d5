#version 450
// c = a b, of size x size, by tiles of 16 x 16 in shared memory.
layout(local_size_x = 16, local_size_y = 16) in;
layout(std430, binding = 0) readonly buffer A { float a[]; };
layout(std430, binding = 1) writeonly buffer C { float c[]; };
layout(std430, binding = 2) readonly buffer B { float b[]; };
layout(push_constant) uniform Push { uint size; };
shared float left[16][16], right[16][16];
void main() {
	uint x = gl_LocalInvocationID.x, y = gl_LocalInvocationID.y;
	uint column = gl_GlobalInvocationID.x, row = gl_GlobalInvocationID.y;
	float sum = 0.0;
	for (uint t = 0; t < size; t += 16) {
		left[y][x] = a[row * size + t + x];
		right[y][x] = b[(t + y) * size + column];
		barrier();
		for (uint k = 0; k < 16; k++)
			sum += left[y][k] * right[k][x];
		barrier();
	}
	c[row * size + column] = sum;
}
