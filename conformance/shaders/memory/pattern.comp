#version 450
// Writes words of the bytes that the host's fill writes, or counts those that differ.
layout(local_size_x = 64) in;
layout(std430, binding = 0) buffer Data { uint data[]; };
layout(std430, binding = 1) buffer Bad { uint bad; };
layout(push_constant) uniform Push { uint seed; uint check; };
void main() {
	uint i = gl_GlobalInvocationID.x;
	if (i >= data.length())
		return;
	uint w = 0;
	for (uint k = 0; k < 4; k++) {
		uint n = 4 * i + k;
		w |= (n * 31 + (n >> 8) + seed & 255) << 8 * k;
	}
	if (check == 0)
		data[i] = w;
	else if (data[i] != w)
		atomicAdd(bad, 1);
}
