#version 450
// Functions of control flow. F chooses one; it runs once with an argument that differs between invocations, and once
// with one that is the same for a workgroup.
layout(local_size_x = 32) in;
layout(std430, binding = 0) buffer Out { uint results[]; };
layout(std430, binding = 1) readonly buffer In { uint table[64]; };

uint if_chain(uint x) {
	if (x % 7 == 0)
		return x * 3;
	else if (x % 5 == 0)
		x += 100;
	else if (x % 3 == 0) {
		if (x % 2 == 0)
			x ^= 0xff;
		else
			x <<= 2;
	}
	return x + 1;
}

uint for_break_continue(uint x) {
	uint s = 0;
	for (uint i = 0; i < 20; i++) {
		if (i % 3 == x % 3)
			continue;
		if (i > x)
			break;
		s += i * x + 1;
	}
	return s;
}

uint while_uneven(uint x) {
	uint n = 0;
	while (x != 1 && n < 200) {
		x = x % 2 == 0 ? x / 2 : 3 * x + 1;
		n++;
	}
	return n * 1000 + x;
}

uint do_while(uint x) {
	uint s = x, i = 0;
	do {
		s = s * 31 + i;
		if (s % 11 == 0)
			continue;
		i++;
		s ^= i;
	} while (++i < x % 13);
	return s;
}

uint nested_loops(uint x) {
	uint s = 0;
	for (uint i = 0; i < x % 6 + 1; i++) {
		for (uint j = i; j < 9; j++) {
			if ((i + j) % 4 == x % 4)
				break;
			for (uint k = 0; k < 3; k++) {
				if (k == 1 && j % 2 == 0)
					continue;
				s += i * 100 + j * 10 + k;
			}
		}
		if (s > 2000 + x)
			break;
	}
	return s;
}

uint switch_fallthrough(uint x) {
	uint r = 1;
	switch (x % 9) {
	case 0:
		r = 10;
	case 1:
		r += 5;
		break;
	case 2:
	case 3:
		r = x;
		break;
	case 7:
		r *= 7;
	default:
		r += 1000;
	case 8:
		r ^= 3;
	}
	return r;
}

uint switch_in_loop(uint x) {
	uint s = 0;
	for (uint i = 0; i < 12; i++) {
		switch ((x + i) % 5) {
		case 0:
			continue;
		case 1:
			s += 1;
			break;
		case 2:
			if (s > 20)
				return s + 10000;
			s *= 2;
		case 3:
			s += i;
			break;
		default:
			s ^= x;
		}
		s += 7;
	}
	return s;
}

uint nested_switch(uint x) {
	uint s = x;
	switch (x % 4) {
	case 0:
		switch (x % 8) {
		case 0: s += 1; break;
		case 4: s += 2;
		default: s += 4;
		}
		break;
	case 1:
		for (int i = 0; i < 3; i++) {
			if (s % 3 == 0)
				break;
			s += x;
		}
		break;
	case 3:
		return s * 5;
	}
	return s + 50;
}

uint return_from_loop(uint x) {
	for (uint i = 0; i < 64; i++) {
		for (uint j = 0; j < 4; j++)
			if (table[i] % (x + 2) == j && i > x % 9)
				return i * 10 + j;
	}
	return 9999;
}

uint helper(uint x) {
	if (x > 40)
		return x - 40;
	uint s = 0;
	while (true) {
		s += x + 1;
		if (s > 77)
			return s;
	}
}

uint calls(uint x) {
	uint s = helper(x);
	for (uint i = 0; i < x % 5; i++)
		s += helper(x * i % 64) * (i + 1);
	return s;
}

void both(inout uint a, out uint b, in uint c) {
	b = a + c;
	if (c % 2 == 0)
		return;
	a *= 2;
	b += a;
}

uint out_parameters(uint x) {
	uint a = x, b, s = 0;
	for (uint i = 0; i < 6; i++) {
		both(a, b, x + i);
		s += a ^ b;
	}
	return s;
}

uint side = 0;
bool touch(uint x) { side += x; return x % 2 == 0; }

uint short_circuit(uint x) {
	side = 0;
	uint r = 0;
	if (touch(x) && touch(x / 2) || touch(x / 3))
		r = 1;
	r += (touch(x / 5) ? touch(x / 7) : touch(x / 11)) ? 2 : 0;
	return r + side * 4;
}

uint endless_with_break(uint x) {
	uint n = 0;
	for (;;) {
		x = x * 1664525 + 1013904223;
		if (x >> 28 == 5)
			break;
		if (++n == 300)
			break;
	}
	return x ^ n;
}

struct State { uint a; uvec2 v; float f[3]; };

State advance(State s, uint k) {
	s.a += k;
	s.v = s.v.yx + uvec2(k, 1);
	s.f[k % 3] += 0.5;
	return s;
}

uint struct_state(uint x) {
	State s = State(x, uvec2(x, 3), float[3](1.0, 2.0, 3.0));
	for (uint i = 0; i < x % 8; i++) {
		if (s.v.x % 3 == 0)
			s = advance(s, i);
		else
			s.f[i % 3] *= 2.0;
		s.v.x++;
	}
	return s.a + s.v.x * 3 + s.v.y * 5 + uint(s.f[0] + s.f[1] * 4.0 + s.f[2] * 16.0);
}

uint two_exits(uint x) {
	uint i = 0, why = 0;
	while (i < 50) {
		i += x % 4 + 1;
		if (i % 7 == 3) {
			why = 1;
			break;
		}
		if ((i * x) % 13 == 1) {
			why = 2;
			break;
		}
	}
	uint after = i * 10 + why; // what the invocations that left early had
	return after;
}

uint loop_in_branches(uint x) {
	uint s = x;
	if (x % 2 == 0) {
		for (uint i = 0; i < 5; i++)
			s += i * x;
		if (s % 3 == 0)
			for (uint i = 0; i < x % 3; i++)
				s ^= i + 9;
	} else {
		uint i = x;
		do {
			s -= i;
			i /= 2;
		} while (i > 2);
	}
	return s;
}

uint private_arrays(uint x) {
	uint a[8];
	for (uint i = 0; i < 8; i++)
		a[i] = (x >> i) * (i + 1);
	for (uint i = 0; i < 16; i++) {
		uint from = (x + i * 3) % 8, to = (x * i) % 8;
		if (from != to)
			a[to] += a[from];
	}
	uint b[8] = a; // a copy
	a[x % 8] = 0;
	uint s = 0;
	for (uint i = 0; i < 8; i++)
		s = s * 3 + a[i] + b[(i + x) % 8];
	return s;
}

const uint primes[10] = uint[10](2, 3, 5, 7, 11, 13, 17, 19, 23, 29);

uint constant_arrays(uint x) {
	uint s = 0;
	for (uint i = 0; i < x % 6 + 1; i++)
		s = s * 31 + primes[(x + i) % 10];
	return s;
}

uint dynamic_vectors(uint x) {
	uvec4 v = uvec4(x, x + 1, x * 2, 7);
	mat3 m = mat3(1.0);
	for (uint i = 0; i < 5; i++) {
		v[(x + i) % 4] += v[i % 4];
		m[(x + i) % 3][i % 3] += float(x % 5);
	}
	vec3 t = m * vec3(1, 2, 3);
	m[x % 3] = t;
	return v.x ^ v.y * 3 ^ v.z * 5 ^ v.w * 7 ^ uint(m[0].x + m[1].y * 10.0 + m[2].z * 100.0);
}

uint arrays_of_arrays(uint x) {
	uvec2 a[3][4];
	for (uint i = 0; i < 3; i++)
		for (uint j = 0; j < 4; j++)
			a[i][j] = uvec2(i * x, j + x);
	uvec2 row[4] = a[x % 3];
	row[x % 4].y += 100;
	a[(x + 1) % 3] = row;
	uint s = 0;
	for (uint i = 0; i < 3; i++)
		for (uint j = 0; j < 4; j++)
			s = s * 5 + a[i][j].x + a[i][j].y * 2;
	return s;
}

uint invariant_exit(uint x) {
	uint s = 0;
	for (uint i = 0; i < gl_WorkGroupID.x + 4; i++) { // the same for all
		if (x < i * 4)
			continue;
		for (uint j = 0; j < x % 4; j++) {
			s += table[(i * j + x) % 64];
			if (s > 0x80000000u)
				return s;
		}
	}
	return s;
}

void main() {
	uint id = gl_GlobalInvocationID.x;
	results[id] = F(id);
	results[gl_NumWorkGroups.x * 32 + id] = F(gl_WorkGroupID.x * 5 + 2);
}
