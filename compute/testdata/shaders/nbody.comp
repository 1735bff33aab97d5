#version 450
layout(local_size_x = 256) in;
layout(binding = 0) writeonly buffer Out { vec4 acceleration[]; };
layout(binding = 1) readonly buffer In { vec4 body[]; };
layout(push_constant) uniform Push { uint n; };
shared vec4 tile[256];

void main() {
	uint i = gl_GlobalInvocationID.x;
	vec3 position = body[i].xyz;
	vec3 sum = vec3(0.0);
	for (uint t = 0; t < n; t += 256) {
		tile[gl_LocalInvocationID.x] = body[t + gl_LocalInvocationID.x];
		barrier();
		for (uint k = 0; k < 256; k++) {
			vec3 d = tile[k].xyz - position;
			float inverse = inversesqrt(dot(d, d) + 0.01);
			sum += d * (tile[k].w * inverse * inverse * inverse);
		}
		barrier();
	}
	acceleration[i] = vec4(sum, 0.0);
}
