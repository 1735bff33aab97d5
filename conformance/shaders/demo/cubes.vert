#version 450
// Cubes on a wavy field, one for each instance.
layout(location = 0) out vec3 normal;
layout(location = 1) flat out vec3 colour;

layout(push_constant) uniform Scene {
	float aspect;
	int side; // cubes in a row
};

void main() {
	// Six faces of two triangles.
	int face = gl_VertexIndex / 6;
	vec2 corner = vec2[](vec2(-1, -1), vec2(1, -1), vec2(-1, 1), vec2(-1, 1), vec2(1, -1), vec2(1, 1))[gl_VertexIndex % 6];
	int axis = face % 3;
	float way = face < 3 ? 1 : -1;
	vec3 n = vec3(axis == 0, axis == 1, axis == 2) * way;
	vec3 p = n + vec3(0, corner.x, corner.y) * float(axis == 0) + vec3(corner.x, 0, corner.y) * float(axis == 1) +
		vec3(corner.x, corner.y, 0) * float(axis == 2);

	vec2 cell = vec2(gl_InstanceIndex % side, gl_InstanceIndex / side) - (side - 1) * 0.5;
	float wave = sin(length(cell) * 0.9) * exp(-length(cell) * 0.12);
	float angle = cell.x * 0.35 + cell.y * 0.2;
	mat2 turn = mat2(cos(angle), sin(angle), -sin(angle), cos(angle));
	p.xz = turn * p.xz;
	n.xz = turn * n.xz;
	normal = n;
	colour = 0.5 + 0.5 * cos(vec3(0, 2.1, 4.2) + wave * 3.0 + cell.x * 0.18);
	vec3 at = p * 0.36 + vec3(cell.x, wave * 2.2, cell.y);

	// A camera above the field that looks down at it.
	const float tilt = 0.6;
	at = vec3(at.x, cos(tilt) * at.y - sin(tilt) * at.z, sin(tilt) * at.y + cos(tilt) * at.z);
	at += vec3(0, 0.2, -12.5);
	const float near = 1, far = 40, zoom = 1.9;
	gl_Position = vec4(at.x * zoom / aspect, -at.y * zoom, far * (-at.z - near) / (far - near), -at.z);
}
