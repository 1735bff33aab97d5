#version 450
// Random walks: each invocation takes one of eight ways in each of 64 rounds.
layout(local_size_x = 256) in;
layout(std430, binding = 0) readonly buffer In { uint words[]; };
layout(std430, binding = 1) writeonly buffer Out { uint places[]; };
void main() {
	uint i = gl_GlobalInvocationID.x;
	uint s = words[i] | 1;
	uint x = i, y = ~i;
	for (int round = 0; round < 64; round++) {
		s ^= s << 13;
		s ^= s >> 17;
		s ^= s << 5;
		switch (s & 7) {
		case 0: x += y; break;
		case 1: y ^= x >> 3; break;
		case 2: x = x * 2654435761u + 1; break;
		case 3: y = min(x, y); break;
		case 4: if (x > y) { uint z = x; x = y; y = z; } break;
		case 5: x -= s; y += s; break;
		case 6: y = (y << 7) | (y >> 25); break;
		default: x ^= y;
		}
	}
	places[i] = x ^ y;
}
