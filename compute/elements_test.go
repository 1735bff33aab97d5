package compute

import (
	"errors"
	"fmt"
	"math/bits"
	"slices"
	"strings"
	"testing"

	"farside/compute/internal/kernel"
	"farside/compute/internal/program"
	"farside/compute/internal/vmtest"
	"farside/conformance/shaders"
)

// TestSharedElements: of loads of an element between which nothing stores to the array, one is done.
func TestSharedElements(t *testing.T) {
	for _, c := range []struct {
		body  string
		loads int
		want  func(i uint32, t []uint32) uint32
	}{
		{"r = t[k] + t[k] * t[k];", 1, func(i uint32, t []uint32) uint32 { return t[i%40] * (1 + t[i%40]) }},
		{"r = t[k]; t[k] = r + 1u; r += t[k];", 2, func(i uint32, t []uint32) uint32 { return 2*t[i%40] + 1 }},
		{"r = t[k]; s[k] = r; r += t[k];", 1, func(i uint32, t []uint32) uint32 { return 2 * t[i%40] }},
		{"r = t[k]; if (i % 3u == 0u) t[i % 30u] = y[i]; r += t[k];", 2, func(i uint32, t []uint32) uint32 {
			r := t[i%40]
			if i%3 == 0 {
				t[i%30] = 0
			}
			return r + t[i%40]
		}},
		{"r = t[k]; if (i % 3u == 0u) { r += t[k]; y[i] = r; } r *= t[k];", 1, func(i uint32, t []uint32) uint32 {
			r := t[i%40]
			if i%3 == 0 {
				r *= 2
			}
			return r * t[i%40]
		}},
		// The first load of a round sees what the one before has stored, the second one doesn't.
		{"r = t[k]; for (uint n = 0u; n < i % 7u; n++) { r += t[k]; r ^= t[k]; t[(n + r) % 40u] += i; }", 3,
			func(i uint32, t []uint32) uint32 {
				r := t[i%40]
				for n := range i % 7 {
					r += t[i%40]
					r ^= t[i%40]
					t[(n+r)%40] += i
				}
				return r
			}},
		{"r = t[k]; for (uint n = 0u; n < i % 7u; n++) { r = r * 3u + t[k]; }", 1, func(i uint32, t []uint32) uint32 {
			r := t[i%40]
			for range i % 7 {
				r = r*3 + t[i%40]
			}
			return r
		}},
	} {
		p := compileWords(t, glslWords(t, fmt.Sprintf(`#version 450
layout(local_size_x = 64) in;
layout(set=0,binding=0) buffer Out { uint y[]; };
void main() {
	uint i = gl_GlobalInvocationID.x, k = i %% 40u, r = 0u, t[40], s[40];
	for (uint n = 0u; n < 40u; n++) { t[n] = n * i + 3u; s[n] = n; }
	%s
	y[i] = r;
}`, c.body)), Options{})
		loads := 0
		for i := range p.Insts {
			if p.Insts[i].Op == kernel.LoadPrivate32 {
				loads++
			}
		}
		if loads != c.loads {
			t.Errorf("%s: %d loads, want %d\n%s", c.body, loads, c.loads, p)
		}
		got, want := make([]uint32, 128), make([]uint32, 128)
		mustRun(t, p, dispatch([3]uint32{2, 1, 1}, vmtest.Buffers{Words: [][]uint32{got}}))
		for i := range uint32(128) {
			array := make([]uint32, 40)
			for n := range array {
				array[n] = uint32(n)*i + 3
			}
			want[i] = c.want(i, array)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: %d, want %d\n%s", c.body, got, want, p)
		}
	}
}

// TestIndicesThatBecomeKnown: an array becomes values where its indices are elements of another one that does.
func TestIndicesThatBecomeKnown(t *testing.T) {
	p := compileWords(t, glslWords(t, `#version 450
layout(local_size_x = 64) in;
layout(set=0,binding=0) buffer Out { uint y[]; };
const int order[12] = int[12](5, 8, 11, 2, 0, 9, 1, 10, 7, 3, 6, 4);
void main() {
	uint i = gl_GlobalInvocationID.x, r = i, t[12];
	for (int n = 0; n < 12; n++) { t[n] = uint(n) * i + 3u; }
	for (uint k = 0u; k <= i; k++) {
		for (int n = 0; n < 12; n++) { int at = order[n]; uint b = t[at]; t[at] = r + k; r = b; }
	}
	for (int n = 0; n < 12; n++) { r = r * 5u + t[n]; }
	y[i] = r;
}`), Options{})
	for i := range p.Insts {
		if p.Insts[i].Op == kernel.Move32 {
			t.Fatalf("it copies an element\n%s", p)
		}
	}
	got := make([]uint32, 128)
	mustRun(t, p, dispatch([3]uint32{2, 1, 1}, vmtest.Buffers{Words: [][]uint32{got}}))
	for i := range uint32(128) {
		r, array := i, [12]uint32{}
		for n := range array {
			array[n] = uint32(n)*i + 3
		}
		for k := range i + 1 {
			for _, at := range [12]int{5, 8, 11, 2, 0, 9, 1, 10, 7, 3, 6, 4} {
				r, array[at] = array[at], r+k
			}
		}
		for _, a := range array {
			r = r*5 + a
		}
		if got[i] != r {
			t.Fatalf("%d, want %d of %d", got[i], r, i)
		}
	}
}

// TestLongLoopsOverElements: a loop that is too long to become copies becomes them if an array is values then.
func TestLongLoopsOverElements(t *testing.T) {
	source := `#version 450
layout(local_size_x = 64) in;
layout(set=0,binding=0) buffer Out { uint y[]; };
void main() {
	uint i = gl_GlobalInvocationID.x, t[%[1]d];
	for (int n = 0; n < %[1]d; n++) { t[n] = uint(n) * i + 3u; }
	for (uint k = 0u; k <= i; k++) {
		for (int n = 0; n < %[1]d; n++) {` + strings.Repeat("\n			t[n] = (t[n] ^ t[(n + 3) %% %[1]d]) * 5u + k;", 10) + `
		}%[2]s
	}
	y[i] = t[0] ^ t[5];
}`
	for _, c := range []struct {
		size   int
		more   string
		values bool
	}{
		{8, "", true}, {12, "", true}, {12, "t[t[1] & 7u] ^= 1u;", false}, // 8: an array is values that are selected
	} {
		p := compileWords(t, glslWords(t, fmt.Sprintf(source, c.size, c.more)), Options{})
		if err := p.LayOut(); err != nil {
			t.Fatal(err)
		}
		if values := !strings.Contains(p.String(), "Private") && !strings.Contains(p.String(), "Select"); values != c.values {
			t.Errorf("values: %v\n%s", values, p)
		}
		got := make([]uint32, 128)
		mustRun(t, p, dispatch([3]uint32{2, 1, 1}, vmtest.Buffers{Words: [][]uint32{got}}))
		for i := range uint32(128) {
			array := make([]uint32, c.size)
			for n := range array {
				array[n] = uint32(n)*i + 3
			}
			for k := range i + 1 {
				for n := range array {
					for range 10 {
						array[n] = (array[n]^array[(n+3)%c.size])*5 + k
					}
				}
				if c.more != "" {
					array[array[1]&7] ^= 1
				}
			}
			if want := array[0] ^ array[5]; got[i] != want {
				t.Fatalf("%s: %#x, want %#x of %d", c.more, got[i], want, i)
			}
		}
	}
}

// TestTablesOfCopies: what copies of a loop load from a table of constants is known, and so is what they do with it.
func TestTablesOfCopies(t *testing.T) {
	const text = `#version 450
#extension GL_EXT_shader_explicit_arithmetic_types : require
layout(local_size_x = 64) in;
layout(set=0,binding=0) buffer Out { uint y[]; };
const int order[12] = int[12](5, 8, 11, 2, 0, 9, 1, 10, 7, 3, 6, 4);
const int count[12] = int[12](1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12);
const uint64_t wide[4] = uint64_t[4](3ul, 0x9E3779B185EBCA87ul, 5ul, 1ul);
const uint8_t small[4] = uint8_t[4](uint8_t(200), uint8_t(7), uint8_t(9), uint8_t(1));
void main() {
	uint i = gl_GlobalInvocationID.x, r = i, t[12];
	for (int n = 0; n < 12; n++) { t[n] = uint(n) * i + 3u; }
	for (uint k = 0u; k <= i; k++) {
		for (int n = 0; n < 12; n++) {
			int at = order[n];
			uint b = t[at];
			t[at] = r << count[n] | r >> (32 - count[n]);
			r = b + uint(wide[n & 3] >> 30) + uint(small[n & 3]);
		}
	}
	y[i] = r;
}`
	for _, target := range []string{"vulkan1.1", "vulkan1.3"} { // with stores of constants, and with initializers
		words, err := shaders.Source{Name: "shader.comp", Text: text, Target: target}.Compile()
		if errors.Is(err, shaders.ErrTool) {
			t.Skip(err)
		} else if err != nil {
			t.Fatal(err)
		}
		checkTables(t, compileWords(t, words, Options{}))
	}
}

func checkTables(t *testing.T, p *Program) {
	t.Helper()
	for i := range p.Insts {
		in := &p.Insts[i]
		if in.Op == kernel.LoadPrivate32 || in.Code == program.Access && p.Slots[in.Index].Kind == program.SlotData {
			t.Fatalf("it loads what is known\n%s", p)
		}
	}
	got := make([]uint32, 64)
	mustRun(t, p, dispatch([3]uint32{1, 1, 1}, vmtest.Buffers{Words: [][]uint32{got}}))
	order := []uint32{5, 8, 11, 2, 0, 9, 1, 10, 7, 3, 6, 4}
	wide, small := []uint64{3, 0x9E3779B185EBCA87, 5, 1}, []uint32{200, 7, 9, 1}
	for i, word := range got {
		r, array := uint32(i), make([]uint32, 12)
		for n := range array {
			array[n] = uint32(n*i) + 3
		}
		for range i + 1 {
			for n, at := range order {
				b := array[at]
				array[at] = bits.RotateLeft32(r, n+1)
				r = b + uint32(wide[n&3]>>30) + small[n&3]
			}
		}
		if word != r {
			t.Fatalf("invocation %d: %d, want %d", i, word, r)
		}
	}
}

// TestTablesOfVariables: a variable that nothing stores to is a table, whatever it is indexed with.
func TestTablesOfVariables(t *testing.T) {
	var squares []string
	for n := range 64 {
		squares = append(squares, fmt.Sprint(n*n, "u"))
	}
	p := compileWords(t, glslWords(t, `#version 450
layout(local_size_x = 64) in;
layout(set=0,binding=0) buffer Out { uint y[]; };
const uint squares[64] = uint[64](`+strings.Join(squares, ", ")+`);
void main() {
	uint i = gl_GlobalInvocationID.x;
	y[i] = squares[i * 7u & 63u];
}`), Options{})
	got := make([]uint32, 64)
	mustRun(t, p, dispatch([3]uint32{1, 1, 1}, vmtest.Buffers{Words: [][]uint32{got}}))
	for i, word := range got {
		if n := uint32(i * 7 & 63); word != n*n {
			t.Errorf("invocation %d has %d", i, word)
		}
	}
	for i := range p.Insts {
		if in := &p.Insts[i]; in.Code == program.AccessPrivate {
			t.Errorf("it has an array for each invocation\n%s", p)
		}
	}
}
