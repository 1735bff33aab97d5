package compute

import (
	"fmt"
	"strings"
	"testing"

	"farside/compute/internal/vmtest"
)

// TestPowersOfTwo: 64-bit products, quotients and remainders with powers of two, which become shifts and masks.
func TestPowersOfTwo(t *testing.T) {
	var body strings.Builder
	body.WriteString("uint64_t x = uint64_t(a[i]) << 32 | a[i + 1];\n")
	powers := []uint{0, 1, 2, 31, 32, 33, 63}
	for n, p := range powers {
		fmt.Fprintf(&body, "out64[(i * %d + %d) * 3] = x * %dul;\n", len(powers), n, uint64(1)<<p)
		fmt.Fprintf(&body, "out64[(i * %d + %d) * 3 + 1] = x / %dul;\n", len(powers), n, uint64(1)<<p)
		fmt.Fprintf(&body, "out64[(i * %d + %d) * 3 + 2] = x %% %dul;\n", len(powers), n, uint64(1)<<p)
	}
	source := shader(16, "layout(set=0,binding=3) buffer Wide { uint64_t out64[]; };", body.String())
	p := compileWords(t, glslWords(t, source), Options{})
	for _, in := range p.Insts {
		switch in.Op.String() {
		case "MulI64", "DivU64", "RemU64":
			t.Errorf("there is a %v", in.Op)
		}
	}
	const lanes = 16
	in, out := make([]uint32, lanes+1), make([]uint32, 6*lanes*len(powers))
	for i := range in {
		in[i] = testInput(7*i) * 2654435761
	}
	mustRun(t, p, dispatch([3]uint32{1, 1, 1}, vmtest.Buffers{Words: [][]uint32{make([]uint32, lanes), in, in, out}}))
	for i := range lanes {
		x := uint64(in[i])<<32 | uint64(in[i+1])
		for n, p := range powers {
			k := uint64(1) << p
			for m, want := range []uint64{x * k, x / k, x % k} {
				at := 2 * ((i*len(powers)+n)*3 + m)
				if got := uint64(out[at+1])<<32 | uint64(out[at]); got != want {
					t.Errorf("lane %d, %#x and 1<<%d, operation %d: %#x, not %#x", i, x, p, m, got, want)
				}
			}
		}
	}
}
