#version 450
#extension GL_EXT_shader_8bit_storage : require
// A 5 x 5 filter of an image with 8 bits a pixel, whose edge pixels go on beyond it.
layout(local_size_x = 16, local_size_y = 16) in;
layout(set=0,binding=0) buffer Out { uint8_t y[]; };
layout(set=0,binding=1) readonly buffer In { uint8_t x[]; };
layout(push_constant) uniform Push { int side; };
const int weights[5] = int[](1, 4, 6, 4, 1);
void main() {
	ivec2 at = ivec2(gl_GlobalInvocationID.xy);
	int sum = 128;
	for (int v = -2; v <= 2; v++)
		for (int u = -2; u <= 2; u++) {
			ivec2 from = clamp(at + ivec2(u, v), ivec2(0), ivec2(side - 1));
			sum += weights[u + 2] * weights[v + 2] * int(x[from.y * side + from.x]);
		}
	y[at.y * side + at.x] = uint8_t(sum / 256);
}
