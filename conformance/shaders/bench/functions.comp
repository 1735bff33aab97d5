#version 450
// Sines, exponentials, logarithms, powers and arcs of numbers between 0 and 1.
layout(local_size_x = 256) in;
layout(std430, binding = 0) readonly buffer In { uint x[]; };
layout(std430, binding = 1) writeonly buffer Out { float y[]; };
void main() {
	uint i = gl_GlobalInvocationID.x;
	float a = float(x[i] >> 8) / 16777216.0 * 0.9 + 0.05, sum = 0.0;
	for (int k = 0; k < 16; k++) {
		float b = a * 0.5 + 0.25;
		sum += sin(a * 7.0) + cos(a * 3.0) + tan(a * 0.5) + atan(a, 0.3) + pow(a, 1.7) + log(b) + exp(-a) + sqrt(a) +
			tanh(a);
		a = 0.05 + 0.9 * abs(b - float(k & 3) * 0.125);
	}
	y[i] = sum + 64.0;
}
