package compute

import (
	"fmt"
	"math"
	"math/bits"
	"strings"
	"testing"

	"farside/compute/internal/vmtest"
)

// feature is an expression or a few statements that compute r, an uint, or x, a float, from p, q (uint), s, w (int) and
// f, g (float).
type feature struct {
	body string
	want func(v *inputs) any // a uint32, or a float64 that x is near to
}

type inputs struct {
	p, q uint32
	s, w int32
	f, g float64
}

var features = []feature{
	{"r = uint(s / (w | 1));", func(v *inputs) any { return uint32(v.s / (v.w | 1)) }},
	{"r = uint((s >> 3) - w * 5);", func(v *inputs) any { return uint32(v.s>>3 - v.w*5) }},
	{"r = uint(s % 7) + uint(s < w) * 100u;", func(v *inputs) any {
		m := (v.s%7 + 7) % 7
		return uint32(m) + bit(v.s < v.w)*100
	}},
	{"r = bitfieldExtract(p, 5, 9) | bitfieldExtract(p, 0, 0);", func(v *inputs) any { return v.p >> 5 & 511 }},
	{"r = uint(bitfieldExtract(s, 3, 7));", func(v *inputs) any { return uint32(v.s << 22 >> 25) }},
	{"r = bitfieldInsert(p, q, 4, 11);", func(v *inputs) any { return v.p&^(2047<<4) | v.q&2047<<4 }},
	{"r = bitfieldInsert(p, q, 0, 32);", func(v *inputs) any { return v.q }},
	{"r = uint(bitCount(p) + findLSB(p) * 100 + findMSB(p) * 10000);", func(v *inputs) any {
		lsb, msb := bits.TrailingZeros32(v.p), 31-bits.LeadingZeros32(v.p)
		if v.p == 0 {
			lsb = -1
		}
		return uint32(bits.OnesCount32(v.p) + lsb*100 + msb*10000)
	}},
	{"r = uint(findMSB(s)) ^ bitfieldReverse(p);", func(v *inputs) any {
		u := uint32(v.s)
		if v.s < 0 {
			u = ^u
		}
		return uint32(31-bits.LeadingZeros32(u)) ^ bits.Reverse32(v.p)
	}},
	{"uint c; r = uaddCarry(p, q, c) ^ c; uint b; r += usubBorrow(p, q, b) * 3u + b;", func(v *inputs) any {
		sum, c := bits.Add32(v.p, v.q, 0)
		d, b := bits.Sub32(v.p, v.q, 0)
		return sum ^ c + 0 + (d*3 + b) - 0
	}},
	{"uint h, l; umulExtended(p, q, h, l); r = h ^ l; int hs, ls; imulExtended(s, w, hs, ls); r += uint(hs) * 7u;",
		func(v *inputs) any {
			h, l := bits.Mul32(v.p, v.q)
			return h ^ l + uint32(int64(v.s)*int64(v.w)>>32)*7
		}},
	{"r = uint(abs(s)) + uint(sign(w)) + uint(clamp(s, -5, 9)) + min(p, q) * max(p, 3u);", func(v *inputs) any {
		a := v.s
		if a < 0 {
			a = -a
		}
		sign := int32(0)
		if v.w > 0 {
			sign = 1
		} else if v.w < 0 {
			sign = -1
		}
		return uint32(a) + uint32(sign) + uint32(min(max(v.s, -5), 9)) + min(v.p, v.q)*max(v.p, 3)
	}},
	// Narrow and wide integers.
	{"uint8_t a8 = uint8_t(p), b8 = uint8_t(q); r = uint(a8 + b8) * 2u + uint(uint8_t(a8 * b8)) + uint(a8 / (b8 | " +
		"uint8_t(1)));", func(v *inputs) any {
		a, b := uint8(v.p), uint8(v.q)
		return uint32(uint8(a+b))*2 + uint32(a*b) + uint32(a/(b|1))
	}},
	{"int8_t a8 = int8_t(s), b8 = int8_t(w | 1); r = uint(int(a8 / b8)) + uint(int(a8 >> int8_t(2))) * 3u + uint(a8 " +
		"< b8);", func(v *inputs) any {
		a, b := int8(v.s), int8(v.w|1)
		return uint32(int32(a/b)) + uint32(int32(a>>2))*3 + bit(a < b)
	}},
	{"int16_t a16 = int16_t(s), b16 = int16_t(w); r = uint(int(a16 * b16)) ^ uint(int(max(a16, b16))) ^ " +
		"uint(uint16_t(a16 - b16));", func(v *inputs) any {
		a, b := int16(v.s), int16(v.w)
		return uint32(int32(a*b)) ^ uint32(int32(max(a, b))) ^ uint32(uint16(a-b))
	}},
	{"uint64_t z = uint64_t(p) * uint64_t(q) + 12345ul; r = uint(z >> 32) ^ uint(z) ^ uint(z % 1000003ul) ^ uint(z " +
		"/ uint64_t(p | 1u));", func(v *inputs) any {
		z := uint64(v.p)*uint64(v.q) + 12345
		return uint32(z>>32) ^ uint32(z) ^ uint32(z%1000003) ^ uint32(z/uint64(v.p|1))
	}},
	{"int64_t z = int64_t(s) * int64_t(w); r = uint(z >> 40) ^ uint(z / 77l) ^ uint(z < 0l) ^ uint(min(z, 5l));",
		func(v *inputs) any {
			z := int64(v.s) * int64(v.w)
			return uint32(z>>40) ^ uint32(z/77) ^ bit(z < 0) ^ uint32(min(z, 5))
		}},
	{"uvec2 two = unpack32(packUint2x32(uvec2(p, q)) + 1ul); r = two.x ^ two.y;", func(v *inputs) any {
		z := uint64(v.p) | uint64(v.q)<<32 + 0
		z++
		return uint32(z) ^ uint32(z>>32)
	}},
	// Composites.
	{"uvec4 a4 = uvec4(p, q, p + 1u, q + 2u); uvec3 b3 = a4.wzx; a4.yw = b3.xy; r = a4[p & 3u] + b3[q % 3u];",
		func(v *inputs) any {
			a := [4]uint32{v.p, v.q, v.p + 1, v.q + 2}
			b := [3]uint32{a[3], a[2], a[0]}
			a[1], a[3] = b[0], b[1]
			return a[v.p&3] + b[v.q%3]
		}},
	{"struct S { uint a; uvec2 b[3]; } o; o.a = p; for (uint n = 0; n < 3u; n++) o.b[n] = uvec2(n, q); o.b[p % " +
		"3u].y = 7u; r = o.a + o.b[q % 3u].y + o.b[2].x;", func(v *inputs) any {
		b := [3]uint32{v.q, v.q, v.q}
		b[v.p%3] = 7
		return v.p + b[v.q%3] + 2
	}},
	{"r = uint(any(lessThan(uvec3(p, q, 5), uvec3(q, p, 4)))) + 2u * uint(all(equal(uvec2(p, q), uvec2(p, q | 1u))));",
		func(v *inputs) any {
			return bit(v.p < v.q || v.q < v.p) + 2*bit(v.q == v.q|1)
		}},
	// Floats.
	{"x = f * 3.0 + g - f / (g + 100.0);", func(v *inputs) any { return v.f*3 + v.g - v.f/(v.g+100) }},
	{"x = floor(f) + ceil(g) * 2.0 + fract(f) * 4.0 + trunc(g) * 8.0 + roundEven(f) * 16.0;", func(v *inputs) any {
		return math.Floor(v.f) + math.Ceil(v.g)*2 + (v.f-math.Floor(v.f))*4 + math.Trunc(v.g)*8 + math.RoundToEven(v.f)*16
	}},
	{"x = mod(f, 3.0) + mix(f, g, 0.25) + step(f, g) + smoothstep(-2.0, 5.0, f) + clamp(f, -1.0, 2.0) + sign(f);",
		func(v *inputs) any {
			t := min(max((v.f+2)/7, 0), 1)
			step := 1.0
			if v.g < v.f {
				step = 0
			}
			sign := 0.0
			if v.f > 0 {
				sign = 1
			} else if v.f < 0 {
				sign = -1
			}
			return v.f - 3*math.Floor(v.f/3) + v.f*0.75 + v.g*0.25 + step + t*t*(3-2*t) + min(max(v.f, -1), 2) + sign
		}},
	{"float m; x = modf(f, m) * 2.0; x += m; int e; x += frexp(g, e); x += float(e) + ldexp(f, 3);", func(v *inputs) any {
		m, frac := math.Modf(v.f)
		fr, e := math.Frexp(v.g)
		return frac*2 + m + fr + float64(e) + v.f*8
	}},
	{"x = sin(f) + cos(g) * 2.0 + exp(f * 0.1) + log(g + 10.0) + sqrt(abs(f)) + pow(abs(g) + 1.0, 1.5) + " +
		"inversesqrt(f * f + 1.0);", func(v *inputs) any {
		return math.Sin(v.f) + math.Cos(v.g)*2 + math.Exp(v.f*0.1) + math.Log(v.g+10) + math.Sqrt(math.Abs(v.f)) +
			math.Pow(math.Abs(v.g)+1, 1.5) + 1/math.Sqrt(v.f*v.f+1)
	}},
	{"x = atan(f, g + 20.0) + radians(f) + degrees(0.1) + exp2(f * 0.2) + log2(g + 10.0) + tanh(f);", func(v *inputs) any {
		return math.Atan2(v.f, v.g+20) + v.f*math.Pi/180 + 18/math.Pi + math.Exp2(v.f*0.2) + math.Log2(v.g+10) +
			math.Tanh(v.f)
	}},
	{"vec3 a3 = vec3(f, g, 1), b3 = vec3(2, f, g + 9.0); x = dot(a3, b3) + length(a3) + distance(a3, b3) + " +
		"cross(a3, b3).y + normalize(b3).x + reflect(a3, vec3(0, 1, 0)).y + faceforward(a3, b3, a3).x + " +
		"refract(vec3(0.6, 0.8, 0), vec3(0, -1, 0), 0.5).y;", func(v *inputs) any {
		a, b := [3]float64{v.f, v.g, 1}, [3]float64{2, v.f, v.g + 9}
		dot := func(a, b [3]float64) float64 { return a[0]*b[0] + a[1]*b[1] + a[2]*b[2] }
		d := [3]float64{a[0] - b[0], a[1] - b[1], a[2] - b[2]}
		face := -a[0]
		if dot(a, b) < 0 {
			face = a[0]
		}
		return dot(a, b) + math.Sqrt(dot(a, a)) + math.Sqrt(dot(d, d)) + a[2]*b[0] - a[0]*b[2] +
			b[0]/math.Sqrt(dot(b, b)) - a[1] + face +
			-(-0.5*0.8+math.Sqrt(1-0.25*(1-0.64)))*-1 + 0.5*0.8
	}},
	{"mat3 m3 = mat3(f, 1, 2, 3, g, 5, 6, 7, 30); x = determinant(m3) * 0.01 + (m3 * vec3(1, 2, 3)).y + (vec3(1, 2, " +
		"3) * m3).x + (transpose(m3) * m3)[2][0];", func(v *inputs) any {
		f, g := v.f, v.g
		det := f*(g*30-5*7) - 3*(1*30-2*7) + 6*(1*5-2*g)
		return det*0.01 + 1 + 2*g + 3*7 + f + 2 + 6 + 6*f + 7*1 + 30*2
	}},
	{"mat4 m4 = mat4(10, 1, 2, 0, 3, f + 20.0, 5, 1, 6, 7, 30, 2, 0, 0, 1, 5); mat4 one = m4 * inverse(m4); x = " +
		"one[0][0] + one[1][1] * 2.0 + one[2][2] * 4.0 + one[3][3] * 8.0 + abs(one[1][2]) + abs(one[3][0]);",
		func(v *inputs) any { return 15.0 }},
	{"x = outerProduct(vec2(f, g), vec3(1, 2, 3))[2].y + matrixCompMult(mat2(f), mat2(g))[0][0];",
		func(v *inputs) any { return 3*v.g + v.f*v.g }},
	// Conversions and packing.
	{"r = uint(int(f * 100.0)) + uint(max(g, 0.0));",
		func(v *inputs) any { return uint32(int32(float32(v.f)*100)) + uint32(max(v.g, 0)) }},
	{"x = float(s) * 0.001 + float(p) * 0.002;", func(v *inputs) any { return float64(v.s)*0.001 + float64(v.p)*0.002 }},
	{"r = packUnorm4x8(vec4(f * 0.1, g * 0.1, 0.5, 1)) ^ packHalf2x16(vec2(1.5, -2)); vec2 h = " +
		"unpackHalf2x16(0x3c00c000u); r += uint(h.x + 10.0) + uint(h.y);", func(v *inputs) any {
		unorm := func(x float32) uint32 { return uint32(math.RoundToEven(float64(float32(min(max(x, 0), 1)) * 255))) }
		f, g := float32(v.f)*float32(0.1), float32(v.g)*float32(0.1)
		return (unorm(f) | unorm(g)<<8 | 128<<16 | 255<<24) ^ 0xc0003e00 + 9
	}},
	{"vec2 n2 = unpackSnorm2x16(p); vec4 u4 = unpackUnorm4x8(q); x = n2.x + n2.y * 2.0 + u4.x * 4.0 + u4.w;",
		func(v *inputs) any {
			snorm := func(n uint32) float64 { return max(float64(int16(n))/32767, -1) }
			return snorm(v.p) + snorm(v.p>>16)*2 + float64(v.q&255)/255*4 + float64(v.q>>24)/255
		}},
	{"float16_t h = float16_t(floor(f)) * float16_t(0.5) + float16_t(1); x = float(h); f16vec2 h2 = f16vec2(h, h) + " +
		"float16_t(2); x += float(h2.y);", func(v *inputs) any { return math.Floor(v.f) + 2 + 2 }},
	{"double d = double(f) * 1.25lf + sqrt(double(abs(g))); x = float(d) + float(uint64_t(abs(d))) + float(int(d)); " +
		"r = uint(d > 1.0lf);", func(v *inputs) any {
		d := v.f*1.25 + math.Sqrt(math.Abs(v.g))
		return d + math.Trunc(math.Abs(d)) + math.Trunc(d)
	}},
	{"dvec2 d2 = dvec2(f, g); x = float(dot(d2, d2) + floor(d2.x) + fract(d2.y)); x += " +
		"float(unpackDouble2x32(packDouble2x32(uvec2(p, q))).x == p);", func(v *inputs) any {
		return v.f*v.f + v.g*v.g + math.Floor(v.f) + v.g - math.Floor(v.g) + 1
	}},
	{"r = uint(isnan(f / 0.0 * 0.0)) + 2u * uint(isinf((f + 100.0) / 0.0)) + 4u * uint(isnan(f)) + 8u * uint(!(f < " +
		"sqrt(-1.0))) + 16u * uint(f != sqrt(-1.0 + f * 0.0));", func(v *inputs) any { return uint32(1 + 2 + 8 + 16) }},
	{"r = floatBitsToUint(f) ^ uint(floatBitsToInt(g)); x = uintBitsToFloat(0x40490fdbu) + intBitsToFloat(0x3f800000);",
		func(v *inputs) any { return math.Pi + 1 }},
}

func bit(b bool) uint32 {
	if b {
		return 1
	}
	return 0
}

func TestFeatures(t *testing.T) {
	const n = testLanes * testGroups
	var body strings.Builder
	for k, f := range features {
		fmt.Fprintf(&body, "{ uint r = 0; float x = 0; %s if (x != 0.0) r = floatBitsToUint(x); result[%d + i] = r; }\n",
			f.body, k*n)
	}
	source := strings.Replace(shader(testLanes, "", `
		uint p = a[i], q = a[i + 1];
		int s = int(a[i]), w = int(a[i + 2]) >> 3;
		float g = f[(i + 7u) % 150u];
		float f = f[i];
		`+body.String()), "\tresult[i] = r;\n", "", 1)
	p := compileWords(t, glslWords(t, source), Options{})
	out, in, floats := make([]uint32, n*len(features)), make([]uint32, n+2), make([]uint32, n)
	for i := range in {
		in[i] = testInput(i)
	}
	for i := range floats {
		floats[i] = math.Float32bits(testFloat(i) / 8)
	}
	mustRun(t, p, dispatch([3]uint32{testGroups, 1, 1}, vmtest.Buffers{Words: [][]uint32{out, in, floats}}))
	for k, f := range features {
		for i := range n {
			v := &inputs{p: in[i], q: in[i+1], s: int32(in[i]), w: int32(in[i+2]) >> 3,
				f: float64(math.Float32frombits(floats[i])), g: float64(math.Float32frombits(floats[(i+7)%n]))}
			got := out[k*n+i]
			switch want := f.want(v).(type) {
			case uint32:
				if got != want {
					t.Errorf("%s\n%+v: %#x, want %#x", f.body, *v, got, want)
				} else {
					continue
				}
			case float64:
				x := float64(math.Float32frombits(got))
				if math.Abs(x-want) > 2e-3+1e-4*math.Abs(want) || math.IsNaN(x) {
					t.Errorf("%s\n%+v: %v, want %v", f.body, *v, x, want)
				} else {
					continue
				}
			}
			break
		}
	}
}

// TestHalvesMoveAsBits: a 16-bit float that is only copied keeps its bits, whichever they are; data of other kinds is
// copied so.
func TestHalvesMoveAsBits(t *testing.T) {
	p := compileWords(t, glslWords(t, shaderHead+`
layout(local_size_x = 64) in;
layout(set=0,binding=0) buffer Out { float16_t to[]; };
layout(set=0,binding=1) readonly buffer In { float16_t from[]; };
void main() { to[gl_GlobalInvocationID.x] = from[gl_GlobalInvocationID.x]; }
`), Options{})
	out, in := make([]uint32, 1<<15), make([]uint32, 1<<15)
	for i := range in {
		in[i] = uint32(2*i) | uint32(2*i+1)<<16
	}
	mustRun(t, p, dispatch([3]uint32{1 << 10, 1, 1}, vmtest.Buffers{Words: [][]uint32{out, in}}))
	for i := range in {
		if out[i] != in[i] {
			t.Fatalf("%#x became %#x", in[i], out[i])
		}
	}
}
