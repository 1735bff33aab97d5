#version 450
#extension GL_EXT_samplerless_texture_functions : enable
// result[i] = EXPR of t, whose members are what the functions take, and of the image s.
layout(local_size_x = 32) in;
struct Item { vec4 at; vec4 dx; vec4 dy; float lod; float dref; float pad0; float pad1; };
layout(std430, binding = 0) buffer Result { TYPE result[]; };
layout(std430, binding = 1) readonly buffer Items { Item items[]; };
layout(binding = 2) uniform SAMPLER s;
void main() {
	uint i = gl_GlobalInvocationID.x;
	if (i >= items.length())
		return;
	Item t = items[i];
	result[i] = EXPR;
}
