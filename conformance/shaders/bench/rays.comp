#version 450
// Rays through a hierarchy of boxes, an implicit tree of 4,095 nodes, with a stack of nodes in an array.
layout(local_size_x = 64) in;
layout(std430, binding = 0) readonly buffer In { uint x[]; };
layout(std430, binding = 1) writeonly buffer Out { uint y[]; };
void main() {
	uint r = x[gl_GlobalInvocationID.x];
	vec3 from = vec3(r & 255u, r >> 8 & 255u, r >> 16 & 255u) / 256.0;
	uint q = r * 0x9e3779b1u;
	vec3 to = normalize(vec3(q & 255u, q >> 8 & 255u, q >> 16 & 255u) - 127.5), inverse = 1.0 / to;
	uint stack[16], top = 1u, hits = 0u, seen = 0u;
	stack[0] = 1u;
	while (top > 0u) {
		uint node = stack[--top], code = node * 0x85ebca6bu;
		uint level = uint(findMSB(node));
		vec3 middle = vec3(code & 255u, code >> 8 & 255u, code >> 16 & 255u) / 256.0;
		float half_ = 0.6 * exp2(-0.35 * float(level));
		vec3 a = (middle - half_ - from) * inverse, b = (middle + half_ - from) * inverse;
		vec3 low = min(a, b), high = max(a, b);
		float near = max(max(low.x, low.y), max(low.z, 0.0)), far = min(min(high.x, high.y), high.z);
		seen++;
		if (near > far)
			continue;
		if (level == 11u) {
			hits++;
		} else {
			stack[top++] = 2u * node;
			stack[top++] = 2u * node + 1u;
		}
	}
	y[gl_GlobalInvocationID.x] = seen << 12 | hits;
}
