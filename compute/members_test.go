package compute

import (
	"slices"
	"testing"

	"farside/compute/internal/ops"
	"farside/compute/internal/program"
	"farside/compute/internal/vmtest"
)

// TestMembers computes and stores words of blocks that the lanes have: the offsets are immediates, as the first word's
// number ends with zeros, and the stores come together, behind what computes them and behind loads of what nobody
// writes. Blocks of 4, 8 and 16 words have code of their own, and sums that may wrap stay sums.
func TestMembers(t *testing.T) {
	for _, c := range []struct {
		body       string
		words      uint32
		last       uint64 // the largest immediate
		store      func(i uint32, y []uint32)
		interrupts bool // stores don't come together
	}{
		{"for (uint k = 0u; k < 4u; k++) y[i * 4u + k] = x[i * 4u + k] * 3u;", 4, 12,
			func(i uint32, y []uint32) {
				for k := range uint32(4) {
					y[4*i+k] = (4*i + k) * 3
				}
			}, false},
		{"for (uint k = 0u; k < 8u; k++) y[(i << 3) | k] = x[(i << 3) ^ k] + k;", 8, 28,
			func(i uint32, y []uint32) {
				for k := range uint32(8) {
					y[8*i+k] = 8*i + k + k
				}
			}, false},
		{"uint at = i * 16u + x[0]; for (uint k = 0u; k < 16u; k++) y[at + k] = x[at + k] ^ i;", 16, 0,
			func(i uint32, y []uint32) {
				for k := range uint32(16) {
					y[16*i+k] = 16*i + k ^ i
				}
			}, true},
		{"uint at = (i ^ 5u) * 16u; for (uint k = 0u; k < 15u; k++) y[at + k] = x[at + k] - i;", 16, 56,
			func(i uint32, y []uint32) {
				for k := range uint32(15) {
					y[16*(i^5)+k] = 16*(i^5) + k - i
				}
			}, false},
		{"for (uint k = 0u; k < 4u; k++) { y[i * 4u + k] = k; y[i * 4u + k] += y[i * 4u]; }", 4, 12,
			func(i uint32, y []uint32) {
				for k := range uint32(4) {
					y[4*i+k] = k
				}
			}, true},
	} {
		p := compileWords(t, glslWords(t, `#version 450
layout(local_size_x = 64) in;
layout(set=0,binding=0) buffer Out { uint y[]; };
layout(set=0,binding=1) readonly buffer In { uint x[]; };
void main() { uint i = gl_GlobalInvocationID.x; `+c.body+` }
`), Options{})
		last, stores := uint64(0), []int{}
		for i, in := range p.Insts {
			if in.Code == program.Access {
				last = max(last, in.Immediate)
				if ops.Stores(in.Op) {
					stores = append(stores, i)
				}
			}
		}
		if last != c.last {
			t.Errorf("%s: the largest immediate is %d, not %d\n%s", c.body, last, c.last, p)
		}
		if together := stores[len(stores)-1]-stores[0] == len(stores)-1; together == c.interrupts {
			t.Errorf("%s: the stores are %v\n%s", c.body, stores, p)
		}
		n := 128 * c.words
		got, want, x := make([]uint32, n), make([]uint32, n), make([]uint32, n)
		for i := range x {
			x[i] = uint32(i)
		}
		for i := range uint32(128) {
			c.store(i, want)
		}
		mustRun(t, p, dispatch([3]uint32{2, 1, 1}, vmtest.Buffers{Words: [][]uint32{got, x}}))
		if !slices.Equal(got, want) {
			t.Errorf("%s: %v, not %v", c.body, got, want)
		}
	}
}
