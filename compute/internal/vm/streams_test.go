package vm

import (
	"testing"

	"farside/compute/internal/kernel"
	"farside/compute/internal/program"
	"farside/compute/internal/vmtest"
)

// TestWhatStreams: stores of a large dispatch go past the caches, but not to memory that it reads.
func TestWhatStreams(t *testing.T) {
	if kernel.Best().Name != "avx2" {
		t.Skip("needs a processor with AVX2")
	}
	const n = worthStreaming/4 + 64
	a := vmtest.Assemble([3]uint32{64, 1, 1})
	out, in := a.Slot(program.Slot{Kind: program.SlotBuffer}), a.Slot(program.Slot{Kind: program.SlotBuffer})
	at := a.Op(kernel.ShlI32, a.GlobalID(0), a.Constant(2))
	a.Store(out, at, a.Op(kernel.AddI32, a.Load(in, at, 0), a.Constant(1)))
	m := ended(a)
	if err := m.Prepare(m.Program); err != nil {
		t.Fatal(err)
	}
	r := &run{execution: execution{engine: &m.Engine, program: m.Program,
		slots: []kernel.Memory{slice(make([]byte, 4*n)), slice(make([]byte, 4*n))}}, total: n / 64}
	if !r.streams() {
		t.Error("stores of a large dispatch are not streamed")
	}
	if r.slots[1] = r.slots[0]; r.streams() {
		t.Error("what is read is streamed, too")
	}
}
