package compute

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"farside/compute/internal/kernel"
	"farside/compute/internal/vmtest"
)

// covered are bodies of shaders all of whose straight code is machine code.
var covered = []struct{ name, before, body string }{
	{"gather bytes", "", "r = uint(u8[a[i] & 1023u]) + uint(u8[5u * i + 3u]) + uint(u8[a[0] & 511u]);"},
	{"gather half words", "", "r = uint(u16[a[i] & 511u]) + uint(u16[3u * i + 2u]) + uint(u16[a[1] & 255u]);"},
	{"members", "",
		"r = uint(u16[8u * i + 2u]) * 3u + uint(u16[8u * i + 5u]) + uint(u8[8u * i + 7u]) + uint(u8[4u * i]);"},
	{"halves", "", "r = floatBitsToUint(float(h[4u * i]) + float(h[4u * i + 1u]) * float(h[4u * i + 3u]));"},
	{"divisions", "", `uint b = a[i + 64u] >> (i & 31u), z = b * (i & 1u);
		int p = int(a[i]), q = int(a[i + 64u]) >> int(i & 31u);
		r = a[i] / b + 3u * (a[i] % b) + 5u * uint(p / q) + 7u * uint(p % q) + a[i] / 700u + a[i] % 13u + uint(p / 11) +
			a[0] / a[i] + a[i] % a[1];`},
	{"array", "", `uint t[9]; for (uint k = 0u; k < 9u; k++) t[k] = a[i + k] + k;
		for (uint k = 0u; k < a[2] % 40u; k++) { t[a[k] % 9u] += t[k % 9u]; t[(a[i] >> k) % 10u] ^= k; }
		r = t[a[i] % 9u] + 3u * t[a[3] % 9u] + t[4];`},
	{"shuffles", "", `uint v = a[i] ^ i; v = subgroupShuffleXor(v, 5u) + 3u * v; v = subgroupShuffleUp(v, 3u) ^ v;
		r = subgroupShuffle(v, a[i] % 40u); r = r * 7u + subgroupShuffleDown(r, a[i] % 9u); v = r;
		v = v * 3u + subgroupBroadcast(v, 9u); r += v + subgroupQuadBroadcast(v, 1u) * 5u;
		r = subgroupQuadSwapHorizontal(r) + 3u * subgroupQuadSwapVertical(r) + 5u * subgroupQuadSwapDiagonal(r);`},
	{"store bytes", "", `b8[i] = uint8_t(a[i]);
		b8[128u + 4u * i] = uint8_t(a[i] >> 8);
		b8[600u + (a[i] & 127u)] = uint8_t(7);`},
	{"store half words", "", `b16[i + 2u] = uint16_t(a[i]);
		b16[160u + 6u * i + 1u] = uint16_t(a[i] >> 8);
		b16[1000u + i * 9u] = uint16_t(a[i]);`},
}

// coveredShader is a body as a shader, for some of the lanes or for all.
func coveredShader(before, body string, some bool) string {
	if some {
		body = "if ((a[i] & 3u) != 0u) {" + body + "}"
	}
	return fmt.Sprintf(`#version 450
#extension GL_EXT_shader_8bit_storage : require
#extension GL_EXT_shader_16bit_storage : require
#extension GL_EXT_shader_explicit_arithmetic_types : require
#extension GL_KHR_shader_subgroup_arithmetic : require
#extension GL_KHR_shader_subgroup_shuffle : require
#extension GL_KHR_shader_subgroup_shuffle_relative : require
#extension GL_KHR_shader_subgroup_quad : require
#extension GL_KHR_shader_subgroup_ballot : require
layout(local_size_x = 32) in;
layout(set=0,binding=0) buffer Out { uint result[]; };
layout(set=0,binding=0) buffer Out8 { uint8_t b8[]; };
layout(set=0,binding=0) buffer Out16 { uint16_t b16[]; };
layout(set=0,binding=1) readonly buffer In { uint a[]; };
layout(set=0,binding=1) readonly buffer In8 { uint8_t u8[]; };
layout(set=0,binding=1) readonly buffer In16 { uint16_t u16[]; };
layout(set=0,binding=1) readonly buffer InH { float16_t h[]; };
layout(set=0,binding=1) readonly buffer InF { float f[]; };
%s
void main() {
	uint i = gl_GlobalInvocationID.x;
	uint r = 0;
	%s
	result[1024u + i] = r;
}
`, before, body)
}

// TestCovered shows that the code of bodies has the results of Go's kernels, and that nothing of them is left to
// kernels.
func TestCovered(t *testing.T) {
	for _, c := range covered {
		for _, some := range []bool{false, true} {
			if some && c.name == "shuffles" {
				continue // what lanes get of others that don't take part is undefined
			}
			words := glslWords(t, coveredShader(c.before, c.body, some))
			random := rand.New(rand.NewPCG(1, 3))
			in := make([]uint32, 192)
			for i := range in {
				in[i] = random.Uint32()
			}
			var results [][]uint32
			for _, o := range []Options{{}, {Narrow: true}, {NoNative: true}, {PlainGo: true}} {
				p := compileWords(t, words, o)
				out := make([]uint32, 1536)
				mustRun(t, p, dispatch([3]uint32{3, 1, 1}, vmtest.Buffers{Words: [][]uint32{out, in}}))
				results = append(results, out)
				if !o.NoNative && !o.PlainGo && kernel.Best().Name == "avx2" {
					if left := leftToKernels(t, p); len(left) > 0 {
						t.Errorf("%s: %v are left to kernels\n%s", c.name, left, p)
					}
				}
			}
			for i, result := range results[1:] {
				for k := range result {
					if result[k] != results[0][k] {
						t.Fatalf("%s, in some lanes %v: word %d is %#x, by kernels (%d) %#x", c.name, some, k, results[0][k], i,
							result[k])
					}
				}
			}
		}
	}
}

// leftToKernels is what of a program's straight code is no machine code: the operations of loads, stores and
// arithmetic. A last comparison, and what stands alone between jumps, needs no code.
func leftToKernels(t *testing.T, p *Program) []string {
	var list []string
	for line := range strings.Lines(planOf(t, p)) {
		switch fields := strings.Fields(line); fields[1] {
		case "kernel", "masked", "based", "subgroup":
			list = append(list, strings.TrimSpace(line))
		}
	}
	return list
}
