package compute

import (
	"math"
	"strings"
	"testing"

	"farside/compute/internal/vmtest"
)

// A loop over the elements of an array goes round a few times, and has many selections by the index. Copies of it have
// none: it is unrolled by what they keep, and the array is in registers.
func TestUnrolledSelections(t *testing.T) {
	source := shader(testLanes, "", `
	float sum[8], x = f[i];
	for (int k = 0; k < 8; k++)
		sum[k] = float(k);
	for (uint t = 0u; t < 3u + (i & 3u); t++)
		for (int k = 0, back = 7; k < 8; k++, back--) {
			sum[k] += x * sum[back];
			x += 1.0;
		}
	r = 0u;
	for (int k = 0; k < 8; k++)
		r = r * 31u ^ floatBitsToUint(sum[k]);
`)
	p := compileWords(t, glslWords(t, source), Options{})
	text := p.String()
	if strings.Contains(text, "Select") || strings.Contains(text, "Private") || strings.Count(text, "MulAddF32") != 8 {
		t.Errorf("the inner loops are not unrolled:\n%s", text)
	}
	n := testLanes * testGroups
	out, f := make([]uint32, n), make([]uint32, n+2)
	for i := range f {
		f[i] = math.Float32bits(1 + float32(i)/1024)
	}
	mustRun(t, p, dispatch([3]uint32{testGroups, 1, 1}, vmtest.Buffers{Words: [][]uint32{out, nil, f}}))
	for i := range n {
		var sum [8]float32
		for k := range sum {
			sum[k] = float32(k)
		}
		x := math.Float32frombits(f[i])
		for range 3 + i&3 {
			for k := range sum {
				sum[k] += float32(x * sum[7-k])
				x++
			}
		}
		want := uint32(0)
		for k := range sum {
			want = want*31 ^ math.Float32bits(sum[k])
		}
		if out[i] != want {
			t.Fatalf("invocation %d: %#x, want %#x\n%s", i, out[i], want, text)
		}
	}
}

// Divisions by powers of two, and conversions of integers without a sign, have the bits that they had.
func TestCheaperFloats(t *testing.T) {
	source := shader(testLanes, "", `
	float x = uintBitsToFloat(a[i]);
	r = floatBitsToUint(x / 65536.0) ^ floatBitsToUint(x / -0.25) * 3u ^ floatBitsToUint(float(a[i] >> 1));
	r ^= floatBitsToUint(x / 3.0) * 5u ^ floatBitsToUint(float(a[i])) * 7u;
`)
	p := compileWords(t, glslWords(t, source), Options{})
	text := p.String()
	for op, count := range map[string]int{"DivF32": 1, " MulF32": 2, "S32ToF32": 1, "U32ToF32": 1} {
		if got := strings.Count(text, op); got != count {
			t.Errorf("%d times %s, want %d\n%s", got, op, count, text)
		}
	}
	n := testLanes * testGroups
	out, in := make([]uint32, n), make([]uint32, n)
	for i := range in {
		in[i] = testInput(i)
	}
	mustRun(t, p, dispatch([3]uint32{testGroups, 1, 1}, vmtest.Buffers{Words: [][]uint32{out, in}}))
	for i := range n {
		x := math.Float32frombits(in[i])
		if x != x {
			continue
		}
		want := math.Float32bits(x/65536) ^ math.Float32bits(x/-0.25)*3 ^ math.Float32bits(float32(in[i]>>1))
		want ^= math.Float32bits(x/3)*5 ^ math.Float32bits(float32(in[i]))*7
		if out[i] != want {
			t.Fatalf("invocation %d: %#x, want %#x\n%s", i, out[i], want, text)
		}
	}
}
