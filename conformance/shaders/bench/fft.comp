#version 450
// A Fourier transform of 512 complex numbers in shared memory, in each workgroup.
layout(local_size_x = 256) in;
layout(std430, binding = 0) readonly buffer Signal { vec2 signal[]; };
layout(std430, binding = 1) writeonly buffer Spectrum { vec2 spectrum[]; };
shared vec2 data[512];
void main() {
	uint t = gl_LocalInvocationIndex, first = gl_WorkGroupID.x * 512;
	data[t] = signal[first + t];
	data[t + 256] = signal[first + t + 256];
	for (uint n = 1; n < 512; n *= 2) {
		barrier();
		uint k = t & (n - 1), to = (t - k) * 2 + k;
		float angle = -3.14159265 * float(k) / float(n);
		vec2 w = vec2(cos(angle), sin(angle)), x = data[t], y = data[t + 256];
		y = vec2(y.x * w.x - y.y * w.y, y.x * w.y + y.y * w.x);
		barrier();
		data[to] = x + y;
		data[to + n] = x - y;
	}
	barrier();
	spectrum[first + t] = data[t];
	spectrum[first + t + 256] = data[t + 256];
}
