#version 450
layout(local_size_x = 256) in;
layout(binding = 0) buffer Out { uint count[]; };
layout(binding = 1) readonly buffer In { uint value[]; };

void main() {
	atomicAdd(count[value[gl_GlobalInvocationID.x] & 255], 1);
}
