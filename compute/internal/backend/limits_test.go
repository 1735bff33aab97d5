package backend

import (
	"runtime/debug"
	"strings"
	"testing"

	"farside/compute/internal/budget"
	"farside/compute/internal/ir"
	"farside/compute/internal/kernel"
	"farside/compute/internal/ops"
	"farside/compute/internal/program"
	"farside/spirv"
)

// TestSizeOfRegisterFile: registers whose sizes are more than 4 GiB together are refused, instead of beginning at 0
// again.
func TestSizeOfRegisterFile(t *testing.T) {
	e := &emitter{p: &program.Program{}, chunks: 1 << 16 / kernel.Width}
	err := func() (err error) {
		defer budget.Recover("", &err)
		last := uint32(0)
		for range 1 << 14 {
			r := e.take(true, true)
			if r.Offset < last {
				t.Fatal("a register begins where another one is")
			}
			last = r.Offset
		}
		return nil
	}()
	if err == nil || !strings.Contains(err.Error(), "more than 1 GiB") {
		t.Errorf("a file of %d bytes: error %v", e.p.FileSize, err)
	}
}

// TestDeepStride: the stride of a value at the end of a chain of operations, as long as a module chooses.
func TestDeepStride(t *testing.T) {
	defer debug.SetMaxStack(debug.SetMaxStack(4 << 20))
	for length, regular := range map[int]bool{deepestChain - 1: true, 100_000: false} {
		index := ir.Node{Op: ops.Builtin, Varying: true, Imm: uint64(spirv.BuiltInLocalInvocationIndex)}
		g := &ir.Graph{Nodes: []ir.Node{{}, index, {Op: ops.Const}}, Blocks: make([]ir.Block, 1), Budget: new(budget.Budget)}
		for range length {
			last := ir.Value(len(g.Nodes) - 1)
			if last == 2 {
				last = 1
			}
			g.Nodes = append(g.Nodes, ir.Node{Op: kernel.AddI32, Varying: true, Args: [4]ir.Value{last, 2}})
		}
		p := &program.Program{LocalSize: [3]uint32{64, 1, 1}}
		e := &emitter{g: g, live: &liveness{g: g}, p: p, strides: make([]stride, len(g.Nodes))}
		done := make(chan stride)
		go func() { done <- e.strideOf(ir.Value(len(g.Nodes)-1), 0) }()
		if s := <-done; s.regular != regular || s.regular && s.step != 1 {
			t.Errorf("%d operations: %+v", length, s)
		}
	}
}
