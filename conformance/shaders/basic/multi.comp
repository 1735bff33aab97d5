#version 450
// Several blocks, one of them with a part of fixed size before the runtime array, and a length of each.
layout(local_size_x = 1) in;
struct Item { vec3 v; float f; };
layout(std430, binding = 0) buffer A { uvec4 head; uvec2 tail[]; } a;
layout(std430, binding = 1) buffer B { uint tail[]; } b;
layout(std430, binding = 2) buffer C { mat3x2 head; Item tail[]; } c;
layout(std430, binding = 3) buffer D { uint lengths[3]; };
void main() {
	lengths[0] = a.tail.length();
	lengths[1] = b.tail.length();
	lengths[2] = c.tail.length();
}
