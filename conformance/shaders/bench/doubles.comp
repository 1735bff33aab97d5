#version 450
// Newton's method and remainders in doubles.
layout(local_size_x = 256) in;
layout(std430, binding = 0) readonly buffer In { uint x[]; };
layout(std430, binding = 1) writeonly buffer Out { float y[]; };
void main() {
	double v = double(x[gl_GlobalInvocationID.x]) + 1.0lf, root = v * 0.5lf, sum = 0.0lf;
	for (int k = 0; k < 16; k++) {
		root = 0.5lf * (root + v / root);
		sum += mod(root, 3.0lf) + floor(root) * 0.25lf + sqrt(root);
	}
	y[gl_GlobalInvocationID.x] = float(sum);
}
