package compute

import (
	"strings"
	"testing"

	"farside/compute/internal/vmtest"
)

// TestGuards holds the number of the invocation against a size, as shaders do before they access a buffer, with all
// sizes about the ends of workgroups.
func TestGuards(t *testing.T) {
	const lanes, groups = 32, 3
	for _, c := range []struct {
		guard string
		in    func(i, n uint32) bool
	}{
		{"if (g >= n) return;", func(i, n uint32) bool { return i < n }},
		{"if (n <= g) return;", func(i, n uint32) bool { return i < n }},
		{"if (!(g < n)) return;", func(i, n uint32) bool { return i < n }},
		{"if (g + 5u >= n) return;", func(i, n uint32) bool { return i+5 < n }},
		{"if (g - 40u >= n) return;", func(i, n uint32) bool { return i-40 < n }},
		{"if (g + 0x7fffffd0u >= n) return;", func(i, n uint32) bool { return i+0x7fffffd0 < n }},
		{"if (int(g) >= int(n)) return;", func(i, n uint32) bool { return int32(i) < int32(n) }},
		{"if (int(g) - 40 >= int(n)) return;", func(i, n uint32) bool { return int32(i)-40 < int32(n) }},
	} {
		p := compileWords(t,
			glslWords(t,
				shader(lanes, "", "uint g = gl_GlobalInvocationID.x, n = floatBitsToUint(f[0]); "+c.guard+" r = a[i] * 3u + 1u;")),
			Options{})
		if !strings.Contains(planOf(t, p), " prefix ") {
			t.Errorf("%s looks at each lane\n%s", c.guard, p)
		}
		a := make([]uint32, lanes*groups)
		for i := range a {
			a[i] = uint32(i) * 7
		}
		for _, n := range []uint32{0, 1, 5, 7, 8, 9, 31, 32, 33, 40, 63, 64, 65, 90, 96, 97, 200, 0x7fffffef, 0x7fffffff,
			0x80000000, 0x80000010, ^uint32(0)} {
			out := make([]uint32, lanes*groups)
			for i := range out {
				out[i] = 99
			}
			mustRun(t, p, dispatch([3]uint32{groups, 1, 1}, vmtest.Buffers{Words: [][]uint32{out, a, {n}}}))
			for i, got := range out {
				want := uint32(99)
				if c.in(uint32(i), n) {
					want = uint32(i)*21 + 1
				}
				if got != want {
					t.Fatalf("%s with n = %#x: invocation %d: %d, want %d\n%s", c.guard, n, i, got, want, p)
				}
			}
		}
	}
}

// TestPrefixes branches on whether an invocation is among the first so many, with all bounds, from full and from
// narrower masks.
func TestPrefixes(t *testing.T) {
	const lanes = 64
	p := compileWords(t, glslWords(t, shader(lanes, "shared uint s[64];", `
	uint l = gl_LocalInvocationIndex;
	s[l] = 0u;
	for (uint k = 0; k < 130u; k++) {
		uint bound = a[k];
		if (l < bound) {
			s[l] += k + 1u;
			if (l < k) s[l] ^= 5u;
		} else
			s[l] = s[l] * 3u + bound;
		if (l == 0u) s[l] += 1000u;
		if (l < bound * 2u) s[l] ^= k << 4;
		barrier(); // or the loop would be machine code
	}
	r = s[l];
	if (l < a[130]) { result[i] = r; return; }
	r ^= 77u;
	if (l < a[131]) r += 9u;`)), Options{})
	if prefixes := strings.Count(planOf(t, p), " prefix "); prefixes < 4 {
		t.Errorf("%d branches are for the first lanes\n%s", prefixes, p)
	}
	bounds := make([]uint32, 132)
	for k := range bounds {
		bounds[k] = uint32(k)
	}
	bounds[129] = 0xffffffff
	const groups = 3
	out := make([]uint32, lanes*groups)
	for _, last := range [][2]uint32{{13, 40}, {0, 64}, {8, 8}, {64, 1}, {1000, 0}} {
		bounds[130], bounds[131] = last[0], last[1]
		mustRun(t, p, dispatch([3]uint32{groups, 1, 1}, vmtest.Buffers{Words: [][]uint32{out, bounds, nil}}))
		for i, got := range out {
			l, r := uint32(i%lanes), uint32(0)
			for k := range uint32(130) {
				bound := bounds[k]
				if l < bound {
					r += k + 1
					if l < k {
						r ^= 5
					}
				} else {
					r = r*3 + bound
				}
				if l == 0 {
					r += 1000
				}
				if l < bound*2 {
					r ^= k << 4
				}
			}
			if l >= last[0] {
				r ^= 77
				if l < last[1] {
					r += 9
				}
			}
			if got != r {
				t.Fatalf("bounds %v: invocation %d: %#x, want %#x\n%s", last, i, got, r, p)
			}
		}
	}
}
