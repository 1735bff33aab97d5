#version 450
// Reads beyond the edge of an image, through samplers that are part of the layout: the first ones repeat the edge, the
// second ones have a border of ones.
layout(local_size_x = 1) in;
layout(std430, set = 0, binding = 0) buffer Out { uint result[]; };
layout(set = 1, binding = 0) uniform usampler2D both[2];
layout(set = 1, binding = 1) uniform sampler how[2];
layout(set = 1, binding = 2) uniform utexture2D image;
void main() {
	result[0] = textureLod(both[0], vec2(-0.5), 0.0).x;
	result[1] = textureLod(both[1], vec2(-0.5), 0.0).x;
	result[2] = textureLod(usampler2D(image, how[0]), vec2(1.5), 0.0).x;
	result[3] = textureLod(usampler2D(image, how[1]), vec2(1.5), 0.0).x;
}
