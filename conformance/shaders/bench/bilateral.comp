#version 450
// A bilateral filter of 7 x 7 pixels of float: an exponential for each.
layout(local_size_x = 16, local_size_y = 16) in;
layout(std430, binding = 0) readonly buffer From { float from[]; };
layout(std430, binding = 1) writeonly buffer To { float to[]; };
layout(push_constant) uniform Push { int size; };
void main() {
	ivec2 at = ivec2(gl_GlobalInvocationID.xy);
	float here = from[at.y * size + at.x], sum = 0.0, weights = 0.0;
	for (int y = -3; y <= 3; y++)
		for (int x = -3; x <= 3; x++) {
			ivec2 p = clamp(at + ivec2(x, y), 0, size - 1);
			float there = from[p.y * size + p.x], d = (there - here) / 16.0;
			float weight = exp(-d * d - float(x * x + y * y) * 0.1);
			sum += weight * there;
			weights += weight;
		}
	to[at.y * size + at.x] = sum / weights;
}
