#version 450
// Indices out of the range of arrays in private, shared and constant memory and of push constants: nothing is said of what
// they give, but that nothing else is touched.
layout(local_size_x = 32) in;
layout(std430, binding = 0) readonly buffer Indices { uint indices[]; };
layout(std430, binding = 1) buffer Out { uint results[]; };
layout(push_constant) uniform Push { uint pushed[4]; };
shared uint tile[32];
const uint primes[5] = uint[5](2, 3, 5, 7, 11);
uint global[6];
void main() {
	uint id = gl_GlobalInvocationID.x, i = indices[id];
	uint a[7];
	uvec4 v = uvec4(1, 2, 3, 4);
	mat4 m = mat4(2.0);
	for (int k = 0; k < 7; k++)
		a[k] = k;
	a[i] = 9;
	global[i] = 10;
	tile[i] = 11;
	v[i] = 12;
	m[i][i] = 13.0;
	barrier();
	uint s = a[i] + global[i + 1] + tile[i * 2] + v[i] + primes[i] + pushed[i] + uint(m[i / 3][i]);
	results[id] = s == 0 ? 0 : 1;
}
