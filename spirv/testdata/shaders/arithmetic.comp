#version 460
#extension GL_EXT_shader_explicit_arithmetic_types : require
#extension GL_EXT_shader_16bit_storage : require
#extension GL_EXT_shader_8bit_storage : require
layout(local_size_x = 64) in;
layout(set = 0, binding = 0, std430) buffer B {
	int8_t i8; uint8_t u8; int16_t i16; uint16_t u16; float16_t f16;
	int i; uint u; float f; int64_t i64; uint64_t u64; double d;
	vec2 v2; vec3 v3; vec4 v4; mat3 m3; mat4x2 m42; dmat2 dm; layout(row_major) mat2x3 r23;
	f16vec4 h4; ivec3 i3; uvec4 u4; i64vec2 l2; bvec2 unused;
} b;
layout(set = 1, binding = 3, std140, row_major) uniform U { mat4 m; vec3 v; float a[5]; mat2 ms[2]; } u;
void main() {
	b.i8 = int8_t(b.i + 1) * b.i8 - int8_t(3);
	b.u8 = uint8_t(b.u) | b.u8 >> 2;
	b.i16 = b.i16 / int16_t(7) + int16_t(b.f);
	b.u16 = b.u16 % uint16_t(9) ^ uint16_t(b.i64);
	b.f16 = b.f16 * float16_t(0.5) + float16_t(b.d);
	b.h4 = fma(b.h4, f16vec4(2), b.h4.wzyx);
	b.i = b.i % 5 + bitfieldExtract(b.i, 3, 7) + findMSB(b.u) + findLSB(b.i) + bitCount(b.u);
	b.u = bitfieldInsert(b.u, 5u, 1, 4) + bitfieldReverse(b.u) + floatBitsToUint(b.f);
	uint carry, borrow, high, low;
	b.u += uaddCarry(b.u, 7u, carry) + usubBorrow(b.u, carry, borrow) + borrow;
	umulExtended(b.u, 12345u, high, low);
	b.u4 = uvec4(high, low, carry, borrow) << uvec4(1, 2, 3, 4);
	int hi, lo;
	imulExtended(b.i, -9, hi, lo);
	b.i3 = abs(ivec3(hi, lo, b.i)) * sign(b.i3);
	b.i64 = int64_t(b.i) * b.i64 >> 3;
	b.u64 = b.u64 / 10ul + packUint2x32(uvec2(b.u, 1));
	b.l2 = min(b.l2, i64vec2(3));
	b.d = sqrt(b.d) + double(b.f) * 2.0LF + float(b.i64);
	b.dm = b.dm * b.dm + outerProduct(dvec2(b.d), dvec2(1));
	b.f = dot(b.v3, u.v) + length(b.v2) + distance(b.v4, vec4(1)) + u.a[b.i & 3];
	b.v2 = (b.m42 * b.v4) + b.v3 * b.r23 * 0.5;
	b.v3 = cross(b.v3, u.v) + b.m3 * normalize(b.v3) + reflect(b.v3, u.v) + refract(b.v3, u.v, 1.3);
	b.v4 = u.m * b.v4 + b.v4 * transpose(u.m) + inverse(u.m)[1] - vec4(u.ms[1][0], u.ms[b.i & 1][1]);
	b.m3 = matrixCompMult(b.m3, b.m3) + determinant(b.m3) * mat3(1);
	b.v4 += sin(b.v4) + cos(b.f) + tan(b.v4) + asin(b.v4) + acos(b.v4) + atan(b.v4) + atan(b.v4, b.v4.yxwz);
	b.v4 += sinh(b.v4) + cosh(b.v4) + tanh(b.v4) + asinh(b.v4) + acosh(b.v4) + atanh(b.v4);
	b.v4 += pow(b.v4, b.v4) + exp(b.v4) + log(b.v4) + exp2(b.v4) + log2(b.v4) + inversesqrt(b.v4);
	b.v4 += floor(b.v4) + ceil(b.v4) + round(b.v4) + roundEven(b.v4) + trunc(b.v4) + fract(b.v4) + mod(b.v4, 3.0);
	b.v4 = clamp(mix(b.v4, b.v4.wzyx, 0.5), 0.0, 1.0) + step(b.v4, vec4(0.5)) + smoothstep(0.0, 1.0, b.v4) + faceforward(b.v4, b.v4, b.v4);
	float whole;
	int exponent;
	b.f = modf(b.f, whole) + whole + frexp(b.f, exponent) + ldexp(b.f, exponent) + degrees(b.f) + radians(b.f);
	b.v2 = unpackHalf2x16(packHalf2x16(b.v2)) + unpackSnorm2x16(packSnorm2x16(b.v2)) + unpackUnorm2x16(packUnorm2x16(b.v2));
	b.v4 += unpackSnorm4x8(packSnorm4x8(b.v4)) + unpackUnorm4x8(packUnorm4x8(b.v4));
	b.d += packDouble2x32(unpackDouble2x32(b.d)) + fma(b.d, b.d, 1.0LF);
	if (any(isnan(b.v4)) || all(isinf(b.v4)) || any(lessThan(b.v2, vec2(0))) != all(equal(b.i3, ivec3(1))))
		b.i = 0;
	b.i += b.v2 == vec2(1) ? 1 : 2;
	b.i += not(greaterThanEqual(b.u4, uvec4(3))).x ? 1 : int(b.m3 == mat3(2));
}
