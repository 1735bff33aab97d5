package vm

import (
	"fmt"
	"testing"

	"farside/compute/internal/vmtest"
)

// TestWaitingLanes: lanes of other chunks come to what lanes wait for in a loop, also where its atomics are machine
// code.
func TestWaitingLanes(t *testing.T) {
	for _, look := range []string{"atomicAdd(turn, 0u)", "atomicMax(turn, 0u)", "turn"} {
		for _, where := range []string{"shared uint turn;",
			"layout(set = 0, binding = 1) volatile buffer Turn { uint turn; };"} {
			m := compiled(t, fmt.Sprintf(`#version 450
layout(local_size_x = 64) in;
layout(set = 0, binding = 0) buffer Out { uint result[]; };
%s
void main() {
	uint i = gl_LocalInvocationID.x;
	if (i == 0) turn = 0;
	memoryBarrier();
	barrier();
	for (uint n = 0; n < 10000; n++) {
		if (%s == 63 - i) {
			result[i] = n + 1;
			atomicOr(turn, 0u);
			memoryBarrier();
			atomicExchange(turn, 64 - i);
			break;
		}
	}
}
`, where, look))
			out := make([]uint32, 64)
			runMachine(t, m, dispatch([3]uint32{1, 1, 1}, vmtest.Buffers{Words: [][]uint32{out, make([]uint32, 1)}}))
			for i, n := range out {
				if n == 0 {
					t.Errorf("%s of %q: it was never lane %d's turn", look, where, i)
					break
				}
			}
		}
	}
}

// TestAtomicRegion: a loop that counts in shared memory is one region of machine code.
func TestAtomicRegion(t *testing.T) {
	m := compiled(t, `#version 450
layout(local_size_x = 60) in;
layout(set = 0, binding = 0) buffer Out { uint result[]; };
layout(set = 0, binding = 1) readonly buffer In { uint a[]; };
shared uint sums[64], marks[64];
void main() {
	uint i = gl_LocalInvocationID.x;
	sums[i] = 0;
	marks[i] = 0;
	barrier();
	for (uint k = 0; k < a[i] % 50; k++) {
		atomicAdd(sums[(a[i] + k * i) % 60], k);
		atomicXor(marks[k], i * 1234567);
	}
	barrier();
	result[i] = sums[i] * 3 + marks[i];
}
`)
	const lanes = 60
	in, out := make([]uint32, lanes), make([]uint32, lanes)
	var sums, marks [lanes]uint32
	for i := range in {
		in[i] = uint32(i*i*7919 + 31*i)
		for k := range in[i] % 50 {
			sums[(in[i]+k*uint32(i))%lanes] += k
			marks[k] ^= uint32(i) * 1234567
		}
	}
	for _, engine := range []*Engine{{}, {Narrow: true}, {NoNative: true}} {
		if err := engine.Prepare(m.Program); err != nil {
			t.Fatal(err)
		}
		if engine.usesNative() && len(engine.regions) != 1 {
			t.Errorf("there are %d regions", len(engine.regions))
		}
		d := dispatch([3]uint32{1, 1, 1}, vmtest.Buffers{Words: [][]uint32{out, in}})
		if err := engine.Run(m.Program, d); err != nil {
			t.Fatal(err)
		}
		for i, got := range out {
			if want := sums[i]*3 + marks[i]; got != want {
				t.Fatalf("result %d is %#x, not %#x", i, got, want)
			}
		}
	}
}
