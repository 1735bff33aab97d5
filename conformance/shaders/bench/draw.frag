#version 450

// The colour of the vertices, and as many textures as the macro says; with the macro SHADED a push constant, too.
layout(location = 0) in vec4 tint;
layout(location = 1) in vec2 place;
layout(location = 0) out vec4 result;
#if TEXTURES > 0
layout(set = 0, binding = 0) uniform sampler2D textures[4];
#endif
#ifdef SHADED
layout(push_constant) uniform Push { layout(offset = 16) vec4 shade; } push;
#endif
layout(constant_id = 0) const float more = 0;

void main() {
	result = tint + more;
#ifdef SHADED
	result *= push.shade;
#endif
#if TEXTURES > 0
	result *= texture(textures[0], place);
#endif
#if TEXTURES > 1
	result += texture(textures[1], place.yx) * 0.25;
	result += texture(textures[2], place * 1.5) * 0.25;
	result += texture(textures[3], place.yx * 0.75) * 0.25;
#endif
}
