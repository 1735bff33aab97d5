package compute

import (
	"strings"
	"testing"

	"farside/compute/internal/vmtest"
)

// TestCallsInLoops: a loop with an instruction on subgroups becomes copies, of which each has its own result, also
// where a branch in it keeps some lanes away.
func TestCallsInLoops(t *testing.T) {
	const lanes = 32
	p := compileWords(t, glslWords(t, shader(lanes, "", `
	uint l = gl_LocalInvocationIndex;
	r = l;
	for (uint k = 0; k < 5u; k++) {
		r += subgroupShuffleXor(r, 1u << k);
		if ((l & 1u) == 0u) r ^= subgroupAdd(k + 1u);
	}`)), Options{SubgroupSize: lanes})
	if text := p.String(); strings.Contains(text, "again") || strings.Count(text, "ShuffleXor") != 5 {
		t.Errorf("the loop is not five copies\n%s", text)
	}
	out := make([]uint32, lanes)
	mustRun(t, p, dispatch([3]uint32{1, 1, 1}, vmtest.Buffers{Words: [][]uint32{out}}))
	want := make([]uint32, lanes)
	for l := range want {
		want[l] = uint32(l)
	}
	for k := range 5 {
		before := append([]uint32(nil), want...)
		for l := range want {
			want[l] += before[l^1<<k]
			if l&1 == 0 {
				want[l] ^= uint32(lanes / 2 * (k + 1))
			}
		}
	}
	for l := range want {
		if out[l] != want[l] {
			t.Errorf("invocation %d: %d, want %d", l, out[l], want[l])
		}
	}
}
