package compute

import (
	"math"
	"strings"
	"testing"

	"farside/compute/internal/vmtest"
)

// TestOrderedSums: a loop that adds products to 32 sums becomes copies, in which some sums have all of their products
// before the others, and gives what it gave.
func TestOrderedSums(t *testing.T) {
	source := shader(testLanes, "", `
	float sum[4][8];
	for (int a = 0; a < 32; a++)
		sum[a / 8][a % 8] = float(a);
	for (uint t = 0u; t < 3u + (i & 3u); t++)
		for (uint k = 0u; k < 6u; k++) {
			float x[4], y[8];
			for (uint a = 0u; a < 4u; a++)
				x[a] = f[(k * 4u + a + t) & 31u];
			for (uint b = 0u; b < 8u; b++)
				y[b] = f[(k * 8u + b) & 31u] + float(i);
			for (uint a = 0u; a < 4u; a++)
				for (uint b = 0u; b < 8u; b++)
					sum[a][b] += x[a] * y[b];
		}
	r = 0u;
	for (int a = 0; a < 32; a++)
		r = r * 31u ^ floatBitsToUint(sum[a / 8][a % 8]);
`)
	var before, behind string
	p := compileWords(t, glslWords(t, source), Options{Dump: func(stage, text string) {
		switch {
		case strings.HasSuffix(stage, "fuse"):
			before = text
		case strings.HasSuffix(stage, "orderSums"):
			behind = text
		}
	}})
	if behind == "" || behind == before {
		t.Error("the sums are in the order of the loop")
	}
	if n := strings.Count(p.String(), "MulAddF32"); n != 6*32 {
		t.Errorf("there are %d products", n)
	}
	n := testLanes * testGroups
	out, f := make([]uint32, n), make([]uint32, n+32)
	for i := range f {
		f[i] = math.Float32bits(1 + float32(i)/1024)
	}
	mustRun(t, p, dispatch([3]uint32{testGroups, 1, 1}, vmtest.Buffers{Words: [][]uint32{out, nil, f}}))
	at := func(k uint32) float32 { return math.Float32frombits(f[k&31]) }
	for i := range out {
		var sum [4][8]float32
		for a := range 32 {
			sum[a/8][a%8] = float32(a)
		}
		for u := range 3 + uint32(i&3) {
			for k := range uint32(6) {
				for a := range uint32(4) {
					for b := range uint32(8) {
						sum[a][b] += float32(at(k*4+a+u) * (at(k*8+b) + float32(i)))
					}
				}
			}
		}
		want := uint32(0)
		for a := range 32 {
			want = want*31 ^ math.Float32bits(sum[a/8][a%8])
		}
		if out[i] != want {
			t.Fatalf("invocation %d: %#x, want %#x", i, out[i], want)
		}
	}
}
