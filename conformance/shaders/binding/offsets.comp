#version 450
// result has the first word of each dynamic descriptor in the order of their offsets, then that of one without an offset.
layout(local_size_x = 1) in;
layout(std430, set = 0, binding = 1) readonly buffer A { uint v[]; } a[2];
layout(std140, set = 0, binding = 2) uniform B { uvec4 v; } b;
layout(std140, set = 0, binding = 3) uniform C { uvec4 v; } c;
layout(std140, set = 0, binding = 5) uniform D { uvec4 v; } d;
layout(std430, set = 1, binding = 0) buffer Out { uint result[]; };
layout(std140, set = 1, binding = 2) uniform E { uvec4 v; } e;
layout(std430, set = 1, binding = 4) readonly buffer F { uint v[]; } f;
void main() {
	result[0] = a[0].v[0];
	result[1] = a[1].v[0];
	result[2] = b.v.x;
	result[3] = d.v.x;
	result[4] = e.v.x;
	result[5] = f.v[0];
	result[6] = c.v.x;
}
