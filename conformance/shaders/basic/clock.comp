#version 450
#extension GL_ARB_gpu_shader_int64 : require
#extension GL_ARB_shader_clock : require
#extension GL_EXT_shader_realtime_clock : require
// Each invocation reads a clock twice as a number and as two halves, and writes the four as four numbers.
#if DEVICE
#define NUMBER clockRealtimeEXT()
#define HALVES clockRealtime2x32EXT()
#else
#define NUMBER clockARB()
#define HALVES clock2x32ARB()
#endif
layout(local_size_x = 64) in;
layout(binding = 0) buffer Times { uvec2 times[]; };
void main() {
    uint at = gl_GlobalInvocationID.x * 4;
    times[at] = unpackUint2x32(NUMBER);
    times[at + 1] = HALVES;
    uint x = at;
    for (uint i = 0; i < 1000 + at % 7; i++)
        x = x * 1664525 + 1013904223;
    times[at + 2] = x == 0 ? uvec2(0) : HALVES;
    times[at + 3] = unpackUint2x32(NUMBER);
}
