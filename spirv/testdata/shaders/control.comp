#version 460
layout(local_size_x_id = 3, local_size_y = 2) in;
layout(set = 0, binding = 0, std430) buffer B { int n; int data[]; } b;
layout(push_constant) uniform P { int limit; float scale; } p;
layout(constant_id = 0) const int rounds = 4;
layout(constant_id = 1) const float factor = 1.5;
layout(constant_id = 2) const bool twice = true;
const int table[] = int[](1, 2, 3, 4, 5);
shared int spread[rounds * 2 + 1];

int collatz(int n, inout int steps) {
	while (n != 1) {
		if (n < 1)
			return -1;
		n = (n & 1) == 0 ? n / 2 : 3 * n + 1;
		if (++steps > p.limit)
			break;
	}
	return n;
}

int classify(int v) {
	switch (v & 7) {
	case 0:
	case 1:
		return 1;
	case 2:
		v += 3;
	case 3:
		v *= 2;
		break;
	default:
		for (int i = 0; i < rounds; i++) {
			if (i == v)
				continue;
			if (i > 100)
				break;
			v ^= i;
		}
	}
	return v;
}

void main() {
	uint id = gl_GlobalInvocationID.x + gl_GlobalInvocationID.y * 7u;
	int steps = 0;
	spread[id % uint(rounds)] = int(id);
	if (id >= uint(b.n))
		return;
	int v = collatz(b.data[id], steps);
	do {
		v = classify(v + steps);
		for (int j = 0; j < 3; ++j)
			for (int k = j; k < 4; ++k) {
				if (k * j == v)
					break;
				v -= k;
			}
	} while (v > 1000);
	if (twice)
		v *= 2;
	b.data[id] = v + int(factor * p.scale) + table[v & 3] + spread[0];
}
