package compute

import (
	"encoding/binary"
	"errors"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"farside/compute/internal/vmtest"
	"farside/conformance/shaders"
	"farside/spirv"
)

// tool finds a program of Debian's packages glslang-tools and spirv-tools.
func tool(t testing.TB, name string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		t.Skipf("%s is missing (packages glslang-tools, spirv-tools)", name)
	}
	return path
}

func toWords(data []byte) []uint32 {
	words := make([]uint32, len(data)/4)
	for i := range words {
		words[i] = binary.LittleEndian.Uint32(data[4*i:])
	}
	return words
}

// testShaders is the code of the shaders below testdata, with their files.
func testShaders(t testing.TB) (files []string, modules [][]uint32) {
	t.Helper()
	files, err := filepath.Glob("testdata/shaders/*.comp")
	if err != nil || len(files) == 0 {
		t.Fatal("no shaders", err)
	}
	for _, f := range files {
		source, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		modules = append(modules, glslWords(t, string(source)))
	}
	return files, modules
}

// glslWords compiles GLSL of a compute shader to SPIR-V.
func glslWords(t testing.TB, source string) []uint32 {
	t.Helper()
	return stageWords(t, "comp", source)
}

// stageWords compiles GLSL of a stage: "comp", "vert" or "frag".
func stageWords(t testing.TB, stage, source string) []uint32 {
	t.Helper()
	words, err := shaders.Source{Name: "shader." + stage, Text: source, Target: "vulkan1.3", Invalid: true}.Compile()
	if errors.Is(err, shaders.ErrTool) {
		t.Skip(err)
	} else if err != nil {
		t.Fatalf("%v\n%s", err, source)
	}
	return words
}

func compileWords(t testing.TB, words []uint32, o Options) *Program {
	t.Helper()
	m, err := spirv.Decode(words)
	if err != nil {
		t.Fatal(err)
	}
	if o.SubgroupSize == 0 {
		o.SubgroupSize = 32
	}
	p, err := Compile(m, "main", o)
	if err != nil {
		t.Fatal(err)
	}
	bound := uint64(1 << 30)
	if p.draft != nil {
		bound = p.draft.FileBound()
	}
	if err := p.LayOut(); err != nil {
		t.Fatal(err)
	}
	if uint64(p.FileSize) > bound {
		t.Errorf("%d bytes of registers, more than the %d that were foreseen", p.FileSize, bound)
	}
	return p
}

// shaderHead declares what the shaders of these tests share: bindings of words, floats and ints.
const shaderHead = `#version 450
#extension GL_EXT_shader_explicit_arithmetic_types : require
#extension GL_EXT_shader_atomic_float : enable
#extension GL_KHR_shader_subgroup_basic : enable
#extension GL_KHR_shader_subgroup_arithmetic : enable
#extension GL_KHR_shader_subgroup_ballot : enable
#extension GL_KHR_shader_subgroup_shuffle : enable
#extension GL_EXT_buffer_reference : enable
#extension GL_EXT_nonuniform_qualifier : enable
#extension GL_EXT_control_flow_attributes : enable
`

// shader wraps the body of main: in.a to in.d are inputs, r is the result of this invocation, i its number.
func shader(size int, before, body string) string {
	return shaderHead + strings.NewReplacer("SIZE", strconv.Itoa(size)).Replace(`
layout(local_size_x = SIZE) in;
layout(set=0,binding=0) buffer Out { uint result[]; };
layout(set=0,binding=1) readonly buffer In { uint a[]; };
layout(set=0,binding=2) readonly buffer InF { float f[]; };
`) + before + `
void main() {
	uint i = gl_GlobalInvocationID.x;
	uint r = 0;
` + body + `
	result[i] = r;
}
`
}

var testWords = []uint32{0, 1, 2, 3, 5, 7, 8, 31, 32, 100, 255, 256, 65535, 65536, 1 << 24, 0x7fffffff, 0x80000000,
	0xffffffff, 0xfffffff0,
	0x12345678, 0xdeadbeef, 17, 23, 42, 99, 1000, 12345, 77, 64, 63, 11, 13, 19}

func testInput(i int) uint32 { return testWords[i%len(testWords)] * uint32(1+i/len(testWords)) }

func testFloat(i int) float32 { return float32(i)*0.37 - 3 }

type shaderCase struct {
	name, before, body string
	want               func(i uint32, a []uint32, f []float32) uint32
}

const testLanes, testGroups = 50, 3

func (s shaderCase) run(t *testing.T) {
	p := compileWords(t, glslWords(t, shader(testLanes, s.before, s.body)), Options{})
	n := testLanes * testGroups
	out, in, f := make([]uint32, n), make([]uint32, n), make([]uint32, n)
	floats := make([]float32, n)
	for i := range n {
		in[i] = testInput(i)
		floats[i] = testFloat(i)
		f[i] = math.Float32bits(floats[i])
	}
	mustRun(t, p, dispatch([3]uint32{testGroups, 1, 1}, vmtest.Buffers{Words: [][]uint32{out, in, f}}))
	for i := range n {
		if want := s.want(uint32(i), in, floats); out[i] != want {
			t.Errorf("invocation %d: %#x, want %#x\n%s", i, out[i], want, p)
			return
		}
	}
}

func TestShaders(t *testing.T) {
	for _, s := range controlCases {
		t.Run(s.name, s.run)
	}
}

var controlCases = []shaderCase{
	{"copy", "", "r = a[i];", func(i uint32, a []uint32, f []float32) uint32 { return a[i] }},
	{"loads behind stores", "shared uint s[50];", `
		result[i] = 1u; uint old = result[i]; result[i]++; result[i]++; r = result[i] + old;
		uint l = gl_LocalInvocationIndex;
		s[l] = a[i]; s[l]++; s[l] *= 2u; s[l] += s[l]; r += s[l] << 8;`, func(i uint32, a []uint32, f []float32) uint32 {
		return 4 + (a[i]+1)*4<<8
	}},
	{"the first store is seen", "", `
		result[i]++; result[i]++; result[i]++; r = result[i];`, func(i uint32, a []uint32, f []float32) uint32 { return 3 }},
	{"arithmetic", "", "r = (a[i] * 3u + (a[i] >> 3)) ^ (i - 7u);", func(i uint32, a []uint32, f []float32) uint32 {
		return (a[i]*3 + a[i]>>3) ^ (i - 7)
	}},
	{"if", "", "if (a[i] > 50u) r = 1u; else r = a[i] + 2u;", func(i uint32, a []uint32, f []float32) uint32 {
		if a[i] > 50 {
			return 1
		}
		return a[i] + 2
	}},
	{"nested if", "", `
		if ((i & 1u) != 0u) { r = 5u; if ((i & 2u) != 0u) { r += a[i]; if ((i & 4u) != 0u) r *= 3u; } else r -= 1u; }
		else if ((i & 8u) != 0u) r = 77u;
		r += i;`, func(i uint32, a []uint32, f []float32) uint32 {
		r := uint32(0)
		if i&1 != 0 {
			r = 5
			if i&2 != 0 {
				r += a[i]
				if i&4 != 0 {
					r *= 3
				}
			} else {
				r--
			}
		} else if i&8 != 0 {
			r = 77
		}
		return r + i
	}},
	{"uniform loop", "", "for (uint k = 0; k < 10; k++) r += a[k] * (i + k);",
		func(i uint32, a []uint32, f []float32) uint32 {
			r := uint32(0)
			for k := range uint32(10) {
				r += a[k] * (i + k)
			}
			return r
		}},
	{"divergent loop", "", "for (uint k = 0; k < (i & 15u); k++) r += a[k] ^ k; r = r * 2u + i;",
		func(i uint32, a []uint32, f []float32) uint32 {
			r := uint32(0)
			for k := range i & 15 {
				r += a[k] ^ k
			}
			return r*2 + i
		}},
	{"break and continue", "", `
		uint last = 0;
		for (uint k = 0; k < 20u; k++) {
			if (((k + i) % 3u) == 0u) continue;
			if (k > (i & 15u)) break;
			r += k * i;
			last = k;
		}
		r ^= last << 16;`, func(i uint32, a []uint32, f []float32) uint32 {
		r, last := uint32(0), uint32(0)
		for k := range uint32(20) {
			if (k+i)%3 == 0 {
				continue
			}
			if k > i&15 {
				break
			}
			r += k * i
			last = k
		}
		return r ^ last<<16
	}},
	{"value of the last iteration", "", `
		uint k = 0, t;
		while (true) { t = a[k] * 3u + k; if (t % 5u == i % 5u) break; k++; if (k >= 30u) break; }
		r = t + k;`, func(i uint32, a []uint32, f []float32) uint32 {
		k, t := uint32(0), uint32(0)
		for {
			t = a[k]*3 + k
			if t%5 == i%5 {
				break
			}
			k++
			if k >= 30 {
				break
			}
		}
		return t + k
	}},
	{"nested loops", "", `
		for (uint x = 0; x < (i & 7u); x++) {
			for (uint y = 0; y < 5u; y++) {
				if (x + y == (i & 3u)) break;
				r += x * y + a[x + y];
			}
			if (r > 500u) break;
		}`, func(i uint32, a []uint32, f []float32) uint32 {
		r := uint32(0)
		for x := range i & 7 {
			for y := range uint32(5) {
				if x+y == i&3 {
					break
				}
				r += x*y + a[x+y]
			}
			if r > 500 {
				break
			}
		}
		return r
	}},
	{"do while", "", "uint n = i; do { r += n & 1u; n >>= 1; } while (n != 0u);",
		func(i uint32, a []uint32, f []float32) uint32 {
			r := uint32(0)
			for n := i; n != 0; n >>= 1 {
				r += n & 1
			}
			return r
		}},
	{"swap in a loop", "",
		"uint x = 1, y = i; for (uint k = 0; k < (i & 7u); k++) { uint z = x; x = y; y = z; } r = x * 1000u + y;",
		func(i uint32, a []uint32, f []float32) uint32 {
			x, y := uint32(1), i
			for range i & 7 {
				x, y = y, x
			}
			return x*1000 + y
		}},
	{"rotation in a uniform loop", "",
		"uint x = 1, y = i, z = 3; for (uint k = 0; k < 5u; k++) { uint t = x; x = y; y = z; z = t; } r = x * 10000u " +
			"+ y * 100u + z;", func(i uint32, a []uint32, f []float32) uint32 {
			x, y, z := uint32(1), i, uint32(3)
			for range 5 {
				x, y, z = y, z, x
			}
			return x*10000 + y*100 + z
		}},
	{"switch", "", `
		switch (i % 7u) {
		case 0u: r = 10u; break;
		case 1u: case 2u: r = 20u;
		case 3u: r += 5u; break;
		case 5u: r = 50u; if (i > 20u) break; r++; break;
		default: r = 99u;
		}`, func(i uint32, a []uint32, f []float32) uint32 {
		r := uint32(0)
		switch i % 7 {
		case 0:
			r = 10
		case 1, 2:
			r = 25
		case 3:
			r = 5
		case 5:
			r = 50
			if i <= 20 {
				r++
			}
		default:
			r = 99
		}
		return r
	}},
	{"early return", "", "if (i % 3u == 1u) return; r = 4u;", func(i uint32, a []uint32, f []float32) uint32 {
		if i%3 == 1 {
			return 0
		}
		return 4
	}},
	{"functions", `
		uint g(uint x) { if (x > 20u) return x - 20u; for (uint k = 0; k < x; k++) if (k * k > x) return k; return 1000u; }
		void h(inout uint x, out uint y) { y = x + 1u; x *= 2u; }`, "uint y; r = g(i); h(r, y); r += y;",
		func(i uint32, a []uint32, f []float32) uint32 {
			g := func(x uint32) uint32 {
				if x > 20 {
					return x - 20
				}
				for k := range x {
					if k*k > x {
						return k
					}
				}
				return 1000
			}
			r := g(i)
			return 2*r + r + 1
		}},
	{"private array", "",
		"uint t[16]; for (uint k = 0; k < 16u; k++) t[k] = k * i; t[i & 15u] = 7u; for (uint k = 0; k < 16u; k++) r = " +
			"r * 3u + t[(k + i) & 15u];", func(i uint32, a []uint32, f []float32) uint32 {
			var t [16]uint32
			for k := range t {
				t[k] = uint32(k) * i
			}
			t[i&15] = 7
			r := uint32(0)
			for k := range uint32(16) {
				r = r*3 + t[(k+i)&15]
			}
			return r
		}},
	{"array with counters only", "", `
		uint t[24], w[16];
		for (uint k = 0; k < 24u; k++) { t[k] = i * k; if (k < 16u) w[k] = k; }
		if ((i & 1u) != 0u) for (uint k = 0; k < 16u; k++) { if (k != 3u) w[k] += t[k + 1u]; }
		for (uint n = 0; n < (i & 3u); n++) for (uint k = 0; k < 15u; k++) {
			w[k] = w[k + 1u] * 3u + t[23u - k]; if (w[k] % 7u == 0u) break;
		}
		for (uint k = 0; k < 16u; k++) r = r * 5u + w[k];`, func(i uint32, a []uint32, f []float32) uint32 {
		var t [24]uint32
		var w [16]uint32
		for k := range uint32(24) {
			t[k] = i * k
			if k < 16 {
				w[k] = k
			}
		}
		if i&1 != 0 {
			for k := range 16 {
				if k != 3 {
					w[k] += t[k+1]
				}
			}
		}
		for range i & 3 {
			for k := range 15 {
				if w[k] = w[k+1]*3 + t[23-k]; w[k]%7 == 0 {
					break
				}
			}
		}
		r := uint32(0)
		for _, x := range w {
			r = r*5 + x
		}
		return r
	}},
	{"array in registers", "",
		"uint t[12]; for (uint k = 0; k < 12u; k++) { t[k] = i ^ k; if (k > 5u) t[k] += t[k - 3u]; } for (uint n = 0; " +
			"n < (i & 7u); n++) for (uint k = 1; k < 12u; k++) t[k] = t[k] * 3u + t[k - 1u]; for (uint k = 0; k < 12u; " +
			"k++) r = r * 5u + t[k];", func(i uint32, a []uint32, f []float32) uint32 {
			var t [12]uint32
			for k := range uint32(12) {
				if t[k] = i ^ k; k > 5 {
					t[k] += t[k-3]
				}
			}
			for range i & 7 {
				for k := 1; k < 12; k++ {
					t[k] = t[k]*3 + t[k-1]
				}
			}
			r := uint32(0)
			for _, x := range t {
				r = r*5 + x
			}
			return r
		}},
	{"small array", "",
		"uvec4 v = uvec4(1, 2, 3, 4); v[i & 3u] = 9u; uint t[3]; t[0] = 5u; t[1] = 6u; t[2] = 7u; t[i % 3u] += v[(i + " +
			"1u) & 3u]; r = v.x * 1000u + v.w * 100u + t[0] * 10u + t[2];", func(i uint32, a []uint32, f []float32) uint32 {
			v := [4]uint32{1, 2, 3, 4}
			v[i&3] = 9
			t := [3]uint32{5, 6, 7}
			t[i%3] += v[(i+1)&3]
			return v[0]*1000 + v[3]*100 + t[0]*10 + t[2]
		}},
	{"constant table", "const uint table[12] = uint[](3,1,4,1,5,9,2,6,5,3,5,8);",
		"r = table[i % 12u] + table[a[i] % 12u];", func(i uint32, a []uint32, f []float32) uint32 {
			t := []uint32{3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8}
			return t[i%12] + t[a[i]%12]
		}},
	{"shared", "shared uint s[50]; shared uint total;", `
		uint l = gl_LocalInvocationIndex;
		if (l == 0u) total = 0u;
		s[l] = a[i];
		barrier();
		atomicAdd(total, s[49u - l] & 15u);
		barrier();
		r = s[(l + 1u) % 50u] + total;`, func(i uint32, a []uint32, f []float32) uint32 {
		base := i / 50 * 50
		total := uint32(0)
		for k := range uint32(50) {
			total += a[base+k] & 15
		}
		return a[base+(i-base+1)%50] + total
	}},
	{"loop with function", "uint f2(uint x) { uint k = 0; while (true) { if (k * 3u >= x) return k; k++; } return 0u; }",
		"for (uint k = 0; k < 4u; k++) { if ((i & k) == 3u) continue; r += f2(i + k) << k; }",
		func(i uint32, a []uint32, f []float32) uint32 {
			r := uint32(0)
			for k := range uint32(4) {
				if i&k == 3 {
					continue
				}
				r += (i + k + 2) / 3 << k
			}
			return r
		}},
	{"out of range", "", "r = a[i + 1000000u] + a[i | 0xf0000000u] + 5u; if (i == 3u) r += a[0x40000000u + i];",
		func(i uint32, a []uint32, f []float32) uint32 { return 5 }},
}
