#version 460
#extension GL_EXT_nonuniform_qualifier : require
#extension GL_EXT_samplerless_texture_functions : require
#extension GL_EXT_shader_image_load_formatted : require
layout(local_size_x = 16) in;
layout(set = 0, binding = 0) uniform sampler2D s2;
layout(set = 0, binding = 1) uniform sampler2DArrayShadow shadows;
layout(set = 0, binding = 2) uniform samplerCube cube;
layout(set = 0, binding = 3) uniform sampler3D s3;
layout(set = 0, binding = 4) uniform texture2D textures[];
layout(set = 0, binding = 5) uniform sampler samplers[3];
layout(set = 0, binding = 6) uniform usampler2D us2;
layout(set = 0, binding = 7) uniform isamplerBuffer texels;
layout(set = 0, binding = 8, rgba8) uniform image2D i2;
layout(set = 0, binding = 9, r32ui) uniform uimage2DArray counters;
layout(set = 0, binding = 10, rgba32f) uniform writeonly image3D i3;
layout(set = 0, binding = 11, r32f) uniform imageBuffer ib;
layout(set = 0, binding = 12) uniform readonly image1D any;
layout(set = 0, binding = 13) uniform texture2DMS ms;
layout(set = 0, binding = 14) uniform samplerCubeArray cubes;
layout(set = 0, binding = 15, r32i) coherent volatile uniform iimageCube ic;
layout(set = 0, binding = 16) buffer O { uint count; vec4 v[]; } o[2];
layout(set = 0, binding = 17) uniform sampler1DArray s1;
void main() {
	ivec2 p = ivec2(gl_GlobalInvocationID.xy);
	vec2 uv = vec2(p) / 16.0;
	vec4 r = textureLod(s2, uv, 1.5) + textureLodOffset(s2, uv, 0.0, ivec2(1, -1)) + texelFetch(s2, p, 0) + texelFetchOffset(s2, p, 0, ivec2(2));
	r += textureGrad(s2, uv, vec2(0.1), vec2(0.2)) + textureProjLod(s2, vec3(uv, 2.0), 0.0) + textureGradOffset(s2, uv, vec2(0), vec2(1), ivec2(3));
	r += textureGather(s2, uv) + textureGather(s2, uv, 2) + textureGatherOffset(s2, uv, p, 1);
	const ivec2 offsets[4] = ivec2[](ivec2(0), ivec2(1), ivec2(-1), ivec2(2));
	r += textureGatherOffsets(s2, uv, offsets, 3);
	r += textureGather(shadows, vec3(uv, 1), 0.5);
	r.x += textureGrad(shadows, vec4(uv, 1, 0.3), vec2(0), vec2(0));
	r += textureLod(cube, vec3(uv, 1), 0) + textureLod(s3, vec3(uv, 0.5), 2) + textureLod(cubes, vec4(uv, 1, 2), 1) + textureLod(s1, uv, 0);
	r += textureLod(sampler2D(textures[nonuniformEXT(p.x)], samplers[p.y % 3]), uv, 0);
	r += texelFetch(textures[3], p, 1) + vec4(texelFetch(us2, p, 0)) + vec4(texelFetch(texels, p.x)) + texelFetch(ms, p, 2);
	r += imageLoad(i2, p) + imageLoad(ib, p.x) + imageLoad(any, p.x);
	imageStore(i2, p, r);
	imageStore(i3, ivec3(p, 1), r);
	imageStore(ib, p.x, r);
	uint n = imageAtomicAdd(counters, ivec3(p, 0), 1u) + imageAtomicCompSwap(counters, ivec3(p, 1), 2u, 3u) + imageAtomicExchange(counters, ivec3(p, 1), 7u);
	n += uint(imageAtomicMax(ic, ivec3(p, 2), 5));
	n += imageLoad(ic, ivec3(p, 1)).x;
	n += textureSize(s2, 0).x + textureSize(cube, 1).y + textureSize(ms).x + textureSize(texels) + imageSize(i2).y + imageSize(counters).z + imageSize(any);
	n += textureQueryLevels(s2) + textureSamples(ms) + textureSize(textures[2], 0).x;
	o[p.x & 1].v[p.x] = r;
	o[1].count = n;
}
