#version 450
// Counts invocations and adds a constant.
layout(local_size_x = 32) in;
layout(std430, binding = 0) buffer Data { uint count; uint add[]; };
layout(push_constant) uniform Push { uint step; };
void main() {
	atomicAdd(count, step);
	add[gl_GlobalInvocationID.x] += step;
}
