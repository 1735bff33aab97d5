package compute

import (
	"runtime"
	"runtime/debug"
	"strings"
	"testing"

	"farside/compute/internal/vmtest"
)

// TestCounterThatWraps: a loop's signed counter that wraps is still below the limit. What is added to it to make an
// index must wrap too.
func TestCounterThatWraps(t *testing.T) {
	p := compileWords(t, glslWords(t, shader(8, "", `
	uint n = 0;
	for (int k = 0x7ffffff8; k < 0x7fffffff; k += 2) {
		if (n == a[6]) break;
		n++;
		r = a[uint(k) + 0x7fffffffu];
	}`)), Options{})
	out, in := make([]uint32, 8), []uint32{5, 77, 5, 5, 5, 5, 6, 5}
	mustRun(t, p, dispatch([3]uint32{1, 1, 1}, vmtest.Buffers{Words: [][]uint32{out, in, {0}}}))
	for i, got := range out {
		if got != 77 {
			t.Errorf("invocation %d reads %d, want 77", i, got)
		}
	}
}

// TestLargeBound: a shader with the largest bound that there is becomes the same program as with
// one in proportion, and takes little memory.
func TestLargeBound(t *testing.T) {
	words := glslWords(t, shader(8, "", "for (uint k = 0; k < 3; k++) r += a[k] * gl_LocalInvocationIndex;"))
	want := compileWords(t, append([]uint32(nil), words...), Options{})
	words[3] = 0x3fffff
	var from, to runtime.MemStats
	runtime.ReadMemStats(&from)
	got := compileWords(t, words, Options{})
	runtime.ReadMemStats(&to)
	if n := to.TotalAlloc - from.TotalAlloc; n > 16<<20 {
		t.Errorf("%d words take %d bytes", len(words), n)
	}
	if got.String() != want.String() {
		t.Error("the program is another one")
	}
}

// TestDeepCalls: calls within each other, as many as a module chooses, in a loop, whose stores are asked for before any
// of them is inlined. A recursion along them would need more stack than is allowed here, and end the process.
func TestDeepCalls(t *testing.T) {
	defer debug.SetMaxStack(debug.SetMaxStack(4 << 20))
	h := newHostile()
	h.loop(h.constant(4), 0, h.u32, []uint32{h.constant(0)}, func(_ uint32, phis []uint32) []uint32 {
		h.callChain(50_000)
		return phis
	})
	done := make(chan error)
	go func() { done <- compileHostile(h.words()) }()
	if err := <-done; err == nil || !strings.Contains(err.Error(), "calls are nested too deeply") {
		t.Errorf("error %v", err)
	}
}
