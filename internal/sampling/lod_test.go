package sampling

import (
	"math"
	"math/rand/v2"
	"testing"
)

// TestLog2 compares log2 with Go's.
func TestLog2(t *testing.T) {
	for e := -1022; e <= 1023; e++ {
		if v := math.Ldexp(1, e); log2(v) != float64(e) {
			t.Errorf("log2(2^%d) = %v", e, log2(v))
		}
	}
	for _, v := range []float64{0, math.Inf(1), 5e-324, 1e-310, math.MaxFloat64, math.Copysign(0, -1)} {
		if got, want := log2(v), math.Log2(v); math.Abs(got-want) > 1e-9 {
			t.Errorf("log2(%v) = %v, want %v", v, got, want)
		}
	}
	for _, v := range []float64{-1, math.NaN(), math.Inf(-1)} {
		if got := log2(v); got == got {
			t.Errorf("log2(%v) = %v", v, got)
		}
	}
	rng := rand.New(rand.NewPCG(1, 2))
	for range 100000 {
		v := math.Ldexp(1+rng.Float64(), rng.IntN(200)-100)
		if got, want := log2(v), math.Log2(v); math.Abs(got-want) > 1e-12*max(1, math.Abs(want)) {
			t.Fatalf("log2(%v) = %v, want %v", v, got, want)
		}
	}
}
