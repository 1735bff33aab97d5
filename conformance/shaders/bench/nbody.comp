#version 450
// The accelerations of bodies by each other, by tiles in shared memory; w is the mass.
layout(local_size_x = 256) in;
layout(std430, binding = 0) readonly buffer In { vec4 bodies[]; };
layout(std430, binding = 1) writeonly buffer Out { vec4 accelerations[]; };
layout(push_constant) uniform Push { uint count; };
shared vec4 tile[256];
void main() {
	vec3 me = bodies[gl_GlobalInvocationID.x].xyz;
	vec3 sum = vec3(0.0);
	for (uint t = 0; t < count; t += 256) {
		tile[gl_LocalInvocationID.x] = bodies[t + gl_LocalInvocationID.x];
		barrier();
		for (uint k = 0; k < 256; k++) {
			vec3 d = tile[k].xyz - me;
			float r = inversesqrt(dot(d, d) + 0.01);
			sum += d * (tile[k].w * r * r * r);
		}
		barrier();
	}
	accelerations[gl_GlobalInvocationID.x] = vec4(sum, 0.0);
}
