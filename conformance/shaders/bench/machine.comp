#version 450
// An interpreter: 64 steps, each by a switch on what the last one chose.
layout(local_size_x = 256) in;
layout(std430, binding = 0) readonly buffer Start { uint start[]; };
layout(std430, binding = 1) writeonly buffer End { uint end[]; };
void main() {
	uint x = start[gl_GlobalInvocationID.x], next = x & 7;
	for (int i = 0; i < 64; i++) {
		switch (next) {
		case 0: x += 3; next = x & 7; break;
		case 1: x ^= x << 3; next = 2; break;
		case 2: x *= 5; next = x >> 4 & 7; break;
		case 3: x -= 77; next = 5; break;
		case 4: x = x >> 1 | x << 31; next = 7; break;
		case 5: x = ~x; next = x >> 8 & 7; break;
		case 6: x += x << 5; next = 1; break;
		default: x ^= 0x5555; next = x >> 2 & 7;
		}
	}
	end[gl_GlobalInvocationID.x] = x;
}
