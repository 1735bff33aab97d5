package compute

import (
	"math"
	"strings"
	"testing"

	"farside/compute/internal/vmtest"
)

// Products go into sums where only these need them. Each is rounded on its own.
func TestProductsInSums(t *testing.T) {
	source := shader(testLanes, "", `
	float x = f[i], y = f[i+1u], z = f[i+2u];
	float both = x * z;
	r = floatBitsToUint(x*y + z) ^ floatBitsToUint(z - y*z) ^ floatBitsToUint(x*x - y) ^ floatBitsToUint(both + both*y);
`)
	p := compileWords(t, glslWords(t, source), Options{})
	text := p.String()
	for op, count := range map[string]int{"MulAddF32": 2, "SubMulF32": 1, "MulSubF32": 1, " MulF32": 1, " AddF32": 0,
		" SubF32": 0} {
		if got := strings.Count(text, op); got != count {
			t.Errorf("%d times%s, want %d", got, op, count)
		}
	}
	n := testLanes * testGroups
	out, f := make([]uint32, n), make([]uint32, n+2)
	value := func(i int) float32 { return 1 + float32(i*i)*0x1.10ep-13 }
	for i := range f {
		f[i] = math.Float32bits(value(i))
	}
	mustRun(t, p, dispatch([3]uint32{testGroups, 1, 1}, vmtest.Buffers{Words: [][]uint32{out, nil, f}}))
	for i := range n {
		x, y, z := value(i), value(i+1), value(i+2)
		both := float32(x * z)
		want := math.Float32bits(float32(x*y)+z) ^ math.Float32bits(z-float32(y*z)) ^ math.Float32bits(float32(x*x)-y) ^
			math.Float32bits(both+float32(both*y))
		if out[i] != want {
			t.Fatalf("invocation %d: %#x, want %#x\n%s", i, out[i], want, text)
		}
	}
}
