#version 450
// How long it takes to leave the circle; every operation is rounded by itself.
layout(local_size_x = 16, local_size_y = 16) in;
layout(std430, binding = 1) writeonly buffer Out { uint iterations[]; };
layout(push_constant) uniform Push { uint size; };
void main() {
	uvec2 g = gl_GlobalInvocationID.xy;
	precise float cx = float(g.x) * (3.0 / 1024.0) - 2.25, cy = float(g.y) * (3.0 / 1024.0) - 1.5;
	precise float x = 0.0, y = 0.0;
	uint n = 0;
	for (; n < 256; n++) {
		precise float xx = x * x, yy = y * y;
		if (xx + yy > 4.0)
			break;
		precise float next = xx - yy + cx;
		y = 2.0 * x * y + cy;
		x = next;
	}
	iterations[g.y * size + g.x] = n;
}
