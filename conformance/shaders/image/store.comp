#version 450
#extension GL_EXT_shader_image_load_formatted : enable
// Texels of one image are stored in another, at the same place.
layout(local_size_x = 8, local_size_y = 8) in;
layout(binding = 0 FORMAT) readonly uniform IMAGE from;
layout(binding = 1 FORMAT) writeonly uniform IMAGE to;
void main() {
	uvec3 i = gl_GlobalInvocationID;
	imageStore(to, PLACE, imageLoad(from, PLACE));
}
