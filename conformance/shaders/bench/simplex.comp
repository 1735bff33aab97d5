#version 450
// Six octaves of gradient noise on a grid of triangles.
layout(local_size_x = 16, local_size_y = 16) in;
layout(std430, binding = 1) writeonly buffer Out { float y[]; };
layout(push_constant) uniform Push { uint edge; };
vec3 mix289(vec3 v) {
	v = v - floor(v * (1.0 / 289.0)) * 289.0;
	v = (v * 34.0 + 1.0) * v;
	return v - floor(v * (1.0 / 289.0)) * 289.0;
}
float noise(vec2 v) {
	const float skew = 0.366025403784439, unskew = 0.211324865405187;
	vec2 cell = floor(v + (v.x + v.y) * skew), a = v - cell + (cell.x + cell.y) * unskew;
	vec2 step_ = a.x > a.y ? vec2(1.0, 0.0) : vec2(0.0, 1.0);
	vec2 b = a + unskew - step_, c = a - 1.0 + 2.0 * unskew;
	cell = cell - floor(cell * (1.0 / 289.0)) * 289.0;
	vec3 p = mix289(mix289(cell.y + vec3(0.0, step_.y, 1.0)) + cell.x + vec3(0.0, step_.x, 1.0));
	vec3 m = max(0.5 - vec3(dot(a, a), dot(b, b), dot(c, c)), 0.0);
	m = m * m;
	m = m * m;
	vec3 g = 2.0 * fract(p / 41.0) - 1.0, h = abs(g) - 0.5;
	g -= floor(g + 0.5);
	return 91.0 * dot(m, vec3(g.x * a.x + h.x * a.y, g.y * b.x + h.y * b.y, g.z * c.x + h.z * c.y));
}
void main() {
	vec2 p = vec2(gl_GlobalInvocationID.xy) / 64.0;
	float sum = 2.0, weight = 0.5;
	for (int k = 0; k < 6; k++) {
		sum += weight * noise(p);
		p = p * 2.0 + 17.0;
		weight *= 0.5;
	}
	y[gl_GlobalInvocationID.y * edge + gl_GlobalInvocationID.x] = sum;
}
