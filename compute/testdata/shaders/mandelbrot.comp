#version 450
layout(local_size_x = 16, local_size_y = 16) in;
layout(binding = 0) writeonly buffer Out { uint count[]; };
layout(push_constant) uniform Push { uint n; };

void main() {
	uvec2 p = gl_GlobalInvocationID.xy;
	vec2 c = vec2(p) * (3.0 / float(n)) - vec2(2.0, 1.5);
	vec2 z = vec2(0.0);
	uint i = 0;
	while (i < 256 && dot(z, z) <= 4.0) {
		z = vec2(z.x * z.x - z.y * z.y, 2.0 * z.x * z.y) + c;
		i++;
	}
	count[p.y * n + p.x] = i;
}
