#version 450
// Points in a circle, by 128 numbers of a generator.
layout(local_size_x = 256) in;
layout(std430, binding = 0) readonly buffer Seeds { uint seeds[]; };
layout(std430, binding = 1) writeonly buffer Counts { uint counts[]; };
void main() {
	uint s = seeds[gl_GlobalInvocationID.x] | 1, n = 0;
	for (int i = 0; i < 128; i++) {
		s ^= s << 13;
		s ^= s >> 17;
		s ^= s << 5;
		vec2 p = vec2(s & 0xffff, s >> 16) / 65536.0;
		if (dot(p, p) < 1.0)
			n++;
	}
	counts[gl_GlobalInvocationID.x] = n;
}
