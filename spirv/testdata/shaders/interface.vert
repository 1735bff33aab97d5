#version 450
#extension GL_ARB_shader_draw_parameters : enable
#extension GL_EXT_multiview : enable
#extension GL_ARB_shader_viewport_layer_array : enable
#extension GL_EXT_shader_explicit_arithmetic_types : enable
#extension GL_EXT_shader_16bit_storage : enable
layout(location = 0) in vec4 position;
layout(location = 1) in mat4x3 matrix;
layout(location = 5) in ivec2 integers;
layout(location = 6) in dvec4 doubles;
layout(location = 8) in vec2 arrays[3];
layout(location = 11) in f16vec2 halves;
layout(location = 12, component = 0) in vec2 low;
layout(location = 12, component = 2) in vec2 high;
layout(location = 0) out vec4 color;
layout(location = 1) flat out dvec3 outDoubles;
layout(location = 3) noperspective out vec2 linear;
layout(location = 4) centroid out float where[4];
layout(location = 8) out Block { vec4 a; flat int b; mat2 c; } block;
layout(location = 12) flat out u16vec4 small;
out gl_PerVertex { vec4 gl_Position; float gl_PointSize; float gl_ClipDistance[2]; float gl_CullDistance[1]; };
layout(push_constant) uniform Push { int which; } push;
void main() {
	gl_Position = position + vec4(matrix[push.which], 1);
	gl_PointSize = float(gl_BaseVertexARB + gl_BaseInstanceARB + gl_DrawIDARB + gl_ViewIndex);
	gl_ClipDistance[push.which & 1] = position.x;
	gl_CullDistance[0] = position.y;
	color = vec4(low, high) + vec4(arrays[push.which], vec2(halves));
	outDoubles = doubles.xyz;
	linear = vec2(integers);
	where[push.which & 3] = float(gl_VertexIndex);
	block.a = vec4(gl_InstanceIndex);
	block.b = integers.x;
	block.c = mat2(low, high);
	small = u16vec4(integers, integers);
	gl_Layer = gl_InstanceIndex;
	gl_ViewportIndex = 0;
}
