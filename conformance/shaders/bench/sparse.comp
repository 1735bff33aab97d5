#version 450
// A sparse matrix by a vector: an invocation takes a row of 0 to 31 entries, whose columns are anywhere.
layout(local_size_x = 256) in;
layout(std430, binding = 0) readonly buffer Columns { uint columns[]; };
layout(std430, binding = 1) writeonly buffer Result { float result[]; };
layout(std430, binding = 2) readonly buffer Values { float values[]; };
void main() {
	uint row = gl_GlobalInvocationID.x;
	uint first = row * 8, last = first + (columns[row] & 31);
	float sum = 0.0;
	for (uint i = first; i < last; i++)
		sum += values[i] * values[columns[i] & 0xfffff];
	result[row] = sum;
}
