#version 450
// Counts values by their highest byte.
layout(local_size_x = 256) in;
layout(std430, binding = 0) readonly buffer In { uint values[]; };
layout(std430, binding = 1) buffer Out { uint bins[256]; };
void main() { atomicAdd(bins[values[gl_GlobalInvocationID.x] >> 24], 1); }
