package compute

import (
	"testing"

	"farside/compute/internal/kernel"
)

// TestWhatStreams: stores of a large dispatch go past the caches, but not to memory that it reads.
func TestWhatStreams(t *testing.T) {
	if kernel.Best().Name != "avx2" {
		t.Skip("needs a processor with AVX2")
	}
	const n = worthStreaming/4 + 64
	a := assemble([3]uint32{64, 1, 1})
	out, in := a.slot(Slot{Kind: SlotBuffer}), a.slot(Slot{Kind: SlotBuffer})
	at := a.op(kernel.ShlI32, a.globalID(0), a.constant(2))
	a.store(out, at, a.op(kernel.AddI32, a.load(in, at, 0), a.constant(1)))
	m := ended(a)
	if err := m.prepare(m.Program); err != nil {
		t.Fatal(err)
	}
	r := &run{engine: &m.engine, program: m.Program, Dispatch: &Dispatch{Groups: [3]uint32{n / 64, 1, 1}}, total: n / 64,
		slots: []Memory{slice(make([]byte, 4*n)), slice(make([]byte, 4*n))}}
	if !r.streams() {
		t.Error("stores of a large dispatch are not streamed")
	}
	if r.slots[1] = r.slots[0]; r.streams() {
		t.Error("what is read is streamed, too")
	}
}
