#version 450

// Of all draws that conformance/bench measures: a position, a colour, and a place in textures.
layout(location = 0) in vec3 position;
layout(location = 1) in vec4 color;
layout(location = 0) out vec4 tint;
layout(location = 1) out vec2 place;
layout(push_constant) uniform Push { vec2 offset; float scale; } push;

void main() {
	gl_Position = vec4(position.xy + push.offset, position.z, 1);
	tint = color;
	place = position.xy * push.scale;
}
