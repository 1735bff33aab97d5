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

const turnsShader = `#version 450
layout(local_size_x = 120) in;
layout(set = 0, binding = 0) buffer Out { uint result[]; };
layout(set = 0, binding = 1) readonly buffer In { uint a[]; };
shared uint turn, done;
void main() {
	uint i = gl_LocalInvocationID.x, sum = 0, last = 0;
	turn = done = 0;
	barrier();
	if (a[i] % 7 != 0) {
		for (uint n = 0; n < 700; n++) {
			sum = sum * 3 + n;
			for (uint k = 0; k < (a[i] + n) % 5; k++)
				sum ^= k * n << k;
			if (n > 300 + a[i] % 400) {
				last = n;
				break;
			}
			if (atomicOr(turn, 0u) != 0)
				sum++;
		}
	}
	// The last lanes come first.
	for (uint n = 0; n < 100000; n++)
		if (atomicCompSwap(done, (119 - i) * 2, (119 - i) * 2 + 1) == (119 - i) * 2) {
			atomicExchange(done, (120 - i) * 2);
			break;
		}
	barrier();
	result[i] = sum + last * 31 + done;
}
`

// TestTurns: what a loop with atomics that it looks at computes doesn't depend on the turns that its chunks take. Its
// counters are the same in all lanes; lanes go round another loop for different times, and leave at different ones.
func TestTurns(t *testing.T) {
	m := compiled(t, turnsShader)
	const lanes = 120
	in := make([]uint32, lanes)
	want := make([]uint32, lanes)
	for i := range in {
		in[i] = uint32(i*i*7919+31*i)*7 + uint32(i%3)
		if i/8%2 == 0 { // lanes of some chunks alone
			in[i] = in[i]/7*7 + 1
		}
		want[i] = 2 * lanes
		if in[i]%7 == 0 {
			continue
		}
		var sum, last uint32
		for n := uint32(0); n < 700; n++ {
			sum = sum*3 + n
			for k := uint32(0); k < (in[i]+n)%5; k++ {
				sum ^= k * n << k
			}
			if n > 300+in[i]%400 {
				last = n
				break
			}
		}
		want[i] += sum + last*31
	}
	for _, engine := range []*Engine{{}, {Narrow: true}} {
		if err := engine.Prepare(m.Program); err != nil {
			t.Fatal(err)
		}
		turns := 0
		for i := range engine.regions {
			if engine.regions[i].turns {
				turns++
			}
		}
		if engine.usesNative() && turns < 2 {
			t.Errorf("chunks take turns in %d regions", turns)
		}
		out := make([]uint32, lanes)
		d := dispatch([3]uint32{1, 1, 1}, vmtest.Buffers{Words: [][]uint32{out, in}})
		if err := engine.Run(m.Program, d); err != nil {
			t.Fatal(err)
		}
		for i, got := range out {
			if got != want[i] {
				t.Fatalf("result %d is %#x, not %#x", i, got, want[i])
			}
		}
	}
}
