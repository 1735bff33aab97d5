package compute

import (
	"runtime"
	"runtime/debug"
	"strings"
	"testing"

	"farside/compute/internal/kernel"
	"farside/compute/internal/ops"
	"farside/spirv"
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
	mustRun(t, p, &Dispatch{Groups: [3]uint32{1, 1, 1}, Bindings: buffers{words: [][]uint32{out, in, {0}}}})
	for i, got := range out {
		if got != 77 {
			t.Errorf("invocation %d reads %d, want 77", i, got)
		}
	}
}

// TestSizeOfRegisterFile: registers whose sizes are more than 4 GiB together are refused, instead of beginning at 0
// again.
func TestSizeOfRegisterFile(t *testing.T) {
	e := &emitter{p: &Program{}, chunks: maxLanes / kernel.Width}
	defer func() {
		if f, ok := recover().(failure); !ok || !strings.Contains(f.err.Error(), "more than 1 GiB") {
			t.Errorf("the registers end with %v", f.err)
		}
	}()
	last := uint32(0)
	for range 1 << 14 {
		r := e.take(true, true)
		if r.Offset < last {
			t.Fatal("a register begins where another one is")
		}
		last = r.Offset
	}
	t.Fatalf("a file of %d bytes", e.p.FileSize)
}

// TestPanicOfWorker: a program whose worker can't be made fails, and does not end the process.
func TestPanicOfWorker(t *testing.T) {
	a := assemble([3]uint32{8, 1, 1})
	p := a.end()
	p.Constants = append(p.Constants, Constant{Register: Register{Offset: 1 << 30, Size: 32}, Bits: 1})
	err := p.Run(&Dispatch{Groups: [3]uint32{1, 1, 1}, Bindings: buffers{}})
	if err == nil || !strings.Contains(err.Error(), "panic") {
		t.Errorf("error %v, want one of a panic", err)
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

// TestDeepStride: the stride of a value at the end of a chain of operations, as long as a module chooses.
func TestDeepStride(t *testing.T) {
	defer debug.SetMaxStack(debug.SetMaxStack(4 << 20))
	for length, regular := range map[int]bool{deepestChain - 1: true, 100_000: false} {
		index := node{op: ops.Builtin, varying: true, imm: uint64(spirv.BuiltInLocalInvocationIndex)}
		g := &graph{nodes: []node{{}, index, {op: ops.Const}}, blocks: make([]block, 1)}
		for range length {
			last := value(len(g.nodes) - 1)
			if last == 2 {
				last = 1
			}
			g.nodes = append(g.nodes, node{op: kernel.AddI32, varying: true, args: [4]value{last, 2}})
		}
		p := &Program{LocalSize: [3]uint32{64, 1, 1}}
		e := &emitter{liveness: &liveness{graph: g}, p: p, strides: make([]stride, len(g.nodes))}
		done := make(chan stride)
		go func() { done <- e.strideOf(value(len(g.nodes)-1), 0) }()
		if s := <-done; s.regular != regular || s.regular && s.step != 1 {
			t.Errorf("%d operations: %+v", length, s)
		}
	}
}
