#version 450
// Nine queens on a board: a search with a stack of places in arrays.
layout(local_size_x = 64) in;
layout(std430, binding = 1) writeonly buffer Out { uint y[]; };
void main() {
	const int n = 9;
	uint i = gl_GlobalInvocationID.x, columns[n], left[n], right[n], free[n], found = 0u, all = (1u << n) - 1u;
	int row = 0;
	columns[0] = 1u << (i % 9u);
	left[0] = columns[0] << 1;
	right[0] = columns[0] >> 1;
	free[0] = all & ~(columns[0] | left[0] | right[0]);
	while (row >= 0) {
		if (free[row] == 0u) {
			row--;
			continue;
		}
		uint bit = free[row] & -free[row];
		free[row] ^= bit;
		if (row == n - 2) {
			found++;
			continue;
		}
		uint c = columns[row] | bit, l = (left[row] | bit) << 1, r = (right[row] | bit) >> 1;
		row++;
		columns[row] = c;
		left[row] = l;
		right[row] = r;
		free[row] = all & ~(c | l | r);
	}
	y[i] = found;
}
