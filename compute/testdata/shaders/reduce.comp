#version 450
layout(local_size_x = 256) in;
layout(binding = 0) writeonly buffer Out { float y[]; };
layout(binding = 1) readonly buffer In { float x[]; };
shared float part[256];

void main() {
	uint local = gl_LocalInvocationID.x;
	part[local] = x[gl_GlobalInvocationID.x];
	barrier();
	for (uint half_ = 128; half_ > 0; half_ >>= 1) {
		if (local < half_)
			part[local] += part[local + half_];
		barrier();
	}
	if (local == 0)
		y[gl_WorkGroupID.x] = part[0];
}
