#version 450
#extension GL_EXT_shader_explicit_arithmetic_types : enable
// Specialization constants of all types, and what is computed of them: array sizes, other constants, branches.
layout(local_size_x = 4) in;
layout(constant_id = 0) const bool yes = true;
layout(constant_id = 1) const int i = -3;
layout(constant_id = 2) const uint u = 7;
layout(constant_id = 3) const float f = 1.5;
layout(constant_id = 10) const uint length = 5;
#ifdef WIDE
layout(constant_id = 4) const int64_t i64 = -5l;
layout(constant_id = 5) const uint64_t u64 = 6ul;
layout(constant_id = 6) const double d = 2.25lf;
#endif
const int sum = i + int(u) * 2;
const uint chosen = yes ? u << 1 : ~u;
const bool compared = (i < sum) != yes;
const uvec3 vector = uvec3(u, chosen, 9);
const int mixed = -i / 2 + (sum % 5 & 3) - (i >> 1);
layout(std430, binding = 0) buffer Out { uint results[]; };
shared uint tile[length * 2 + 1];
void main() {
	uint a[length];
	for (uint n = 0; n < length; n++)
		a[n] = n * u;
	tile[gl_LocalInvocationIndex] = gl_LocalInvocationIndex;
	barrier();
	uint s = 0;
	for (uint n = 0; n < a.length(); n++)
		s += a[n];
	if (gl_LocalInvocationIndex != 3)
		return;
	results[0] = uint(yes);
	results[1] = uint(i);
	results[2] = u;
	results[3] = floatBitsToUint(f * 2.0);
	results[4] = uint(sum);
	results[5] = chosen;
	results[6] = uint(compared);
	results[7] = vector.x + vector.y * 3 + vector.z;
	results[8] = uint(mixed);
	results[9] = s + tile.length() * 1000;
	if (yes)
		results[10] = tile[2];
	else
		results[10] = 77;
#ifdef WIDE
	uint zero = gl_LocalInvocationIndex - 3; // conversions of constants are instructions only from SPIR-V 1.4 on
	results[11] = uint((i64 + int64_t(zero)) * 3l >> 1);
	results[12] = uint(u64 + zero >> 32) + uint(u64 + zero);
	results[13] = unpackDouble2x32(d * 2.0lf).y;
#endif
}
