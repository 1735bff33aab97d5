#version 450
#extension GL_EXT_debug_printf : require
#extension GL_EXT_shader_explicit_arithmetic_types : require
// Messages with arguments of each kind, of the invocations that are divisible by 3. Which dispatch it is, constants say.
layout(local_size_x = 16) in;
layout(push_constant) uniform Push { uint number; };
layout(std430, binding = 0) buffer Data { uint count; };
void main() {
	uint i = gl_GlobalInvocationID.x;
	atomicAdd(count, 1);
	if (i % 3 == 0)
		debugPrintfEXT("dispatch %u invocation %u: %d %x %1.2f %v3u %v2f %lu 100%%", number, i, -int(i), i * 255, float(i) / 4.0,
			gl_WorkGroupID + uvec3(0, 5, 6), vec2(0.5, -1.0 - float(i)), uint64_t(i) << 40);
}
