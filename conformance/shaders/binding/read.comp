#version 450
#ifdef INDEXED
#extension GL_EXT_nonuniform_qualifier : require
#endif
#if KIND == 2
#extension GL_EXT_samplerless_texture_functions : require
#endif
// result[i] is the first word of what descriptor i of COUNT names, 16 bytes of each. KIND is the descriptors' type. With
// SPLIT the first one is at a binding of its own, before the others. With INDEXED the array has no size, and result[i] is
// for descriptor index[i]: in one invocation, or, with NONUNIFORM, in as many as there are.
#ifdef NONUNIFORM
layout(local_size_x = 8) in;
#else
layout(local_size_x = 1) in;
#endif
layout(std430, set = 0, binding = 0) buffer Out { uint result[]; };

#ifdef INDEXED
layout(std430, set = 0, binding = 2) readonly buffer Index { uint index[]; };
#define DIM(count) []
#else
#define DIM(count) [count]
#endif

#ifdef SPLIT
#define MORE (COUNT - 1)
#else
#define MORE COUNT
#endif

#if KIND == 0
#define DECLARE(name, at, count) layout(std140, set = 1, binding = at) uniform U##name { uvec4 v; } name DIM(count);
#define READ(name, i) name[i].v.x
#elif KIND == 1
#define DECLARE(name, at, count) layout(std430, set = 1, binding = at) readonly buffer U##name { uint v[]; } name DIM(count);
#define READ(name, i) (name[i].v.length() == 4 ? name[i].v[0] : 0xdeadu)
#elif KIND == 2
#define DECLARE(name, at, count) layout(set = 1, binding = at) uniform utextureBuffer name DIM(count);
#define READ(name, i) (textureSize(name[i]) == 4 ? texelFetch(name[i], 0).x : 0xdeadu)
#elif KIND == 3
#define DECLARE(name, at, count) layout(set = 1, binding = at, r32ui) uniform readonly uimageBuffer name DIM(count);
#define READ(name, i) (imageSize(name[i]) == 4 ? imageLoad(name[i], 0).x : 0xdeadu)
#elif KIND == 4
#define DECLARE(name, at, count) layout(std140, set = 1, binding = at) uniform U##name { uvec4 v[count]; } name;
#define READ(name, i) name.v[i].x
#elif KIND == 5
layout(set = 0, binding = 1) uniform sampler how;
#define DECLARE(name, at, count) layout(set = 1, binding = at) uniform utexture2D name DIM(count);
#define READ(name, i) texelFetch(usampler2D(name[i], how), ivec2(1, 2), 0).x
#elif KIND == 6
#define DECLARE(name, at, count) layout(set = 1, binding = at) uniform usampler2D name DIM(count);
#define READ(name, i) textureLod(name[i], vec2(0.5), 0.0).x
#elif KIND == 7
#define DECLARE(name, at, count) layout(set = 1, binding = at, r32ui) uniform readonly uimage2D name DIM(count);
#define READ(name, i) imageLoad(name[i], ivec2(3, 1)).x
#endif

#ifdef SPLIT
DECLARE(one, BINDING, 1)
DECLARE(many, BINDING + 2, MORE)
#else
DECLARE(many, BINDING, MORE)
#endif

void main() {
#if defined(NONUNIFORM)
	uint i = gl_GlobalInvocationID.x;
	if (i < index.length())
		result[i] = READ(many, nonuniformEXT(index[i]));
#elif defined(INDEXED)
	for (uint i = 0; i < index.length(); i++)
		result[i] = READ(many, index[i]);
#elif defined(SPLIT)
	result[0] = READ(one, 0);
	result[1] = READ(many, 0);
#if COUNT > 2
	result[2] = READ(many, 1);
#endif
#if COUNT > 3
	result[3] = READ(many, 2);
#endif
#else
	result[0] = READ(many, 0);
	result[1] = READ(many, 1);
#if COUNT > 2
	result[2] = READ(many, 2);
#endif
#if COUNT > 3
	result[3] = READ(many, 3);
#endif
#endif
}
