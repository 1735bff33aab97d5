#version 450
#extension GL_EXT_multiview : enable
#extension GL_EXT_demote_to_helper_invocation : enable
#extension GL_ARB_shader_stencil_export : enable
#extension GL_KHR_shader_subgroup_quad : enable
layout(location = 0) in vec4 color;
layout(location = 1) flat in dvec3 doubles;
layout(location = 3) noperspective in vec2 linear;
layout(location = 4) centroid in float where[4];
layout(location = 8) in Block { vec4 a; flat int b; mat2 c; } block;
layout(location = 13) sample in vec2 each;
in float gl_ClipDistance[2];
in float gl_CullDistance[1];
layout(location = 0, index = 0) out vec4 first;
layout(location = 0, index = 1) out vec4 second;
layout(location = 1) out ivec2 integers;
layout(depth_greater) out float gl_FragDepth;
layout(set = 0, binding = 0) uniform sampler2D image;
layout(set = 0, binding = 1) uniform sampler2DShadow shadow;
layout(input_attachment_index = 0, set = 0, binding = 2) uniform subpassInput attachment;
layout(input_attachment_index = 1, set = 0, binding = 3) uniform isubpassInputMS samples;
void main() {
	vec4 c = color + texture(image, linear) + texture(image, linear, 1.0) + textureProj(image, color.xyz);
	c += vec4(texture(shadow, color.xyz), textureQueryLod(image, linear), 1);
	c += dFdx(color) + dFdyFine(color) + fwidthCoarse(color);
	c += interpolateAtCentroid(color) + interpolateAtSample(color, gl_SampleID) + interpolateAtOffset(color, vec2(0.25));
	c += subpassLoad(attachment) + vec4(subpassLoad(samples, gl_SampleID)) + subgroupQuadSwapHorizontal(color);
	if (gl_FragCoord.x < 1) discard;
	if (gl_FragCoord.y < 1) demote;
	if (gl_FrontFacing && !gl_HelperInvocation && !helperInvocationEXT()) c *= 2;
	c.xy += gl_PointCoord + gl_SamplePosition;
	c.z += gl_ClipDistance[0] + gl_CullDistance[0] + float(doubles.x) + where[gl_SampleMaskIn[0] & 3] + each.x;
	first = c;
	second = block.a + vec4(block.b) + vec4(block.c[0], block.c[1]);
	integers = ivec2(gl_PrimitiveID + gl_Layer + gl_ViewportIndex, gl_ViewIndex);
	gl_FragDepth = gl_FragCoord.z;
	gl_FragStencilRefARB = 3;
	gl_SampleMask[0] = 1;
}
