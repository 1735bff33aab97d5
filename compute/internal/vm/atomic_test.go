package vm

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"farside/compute/internal/kernel"
	"farside/compute/internal/program"
	"farside/compute/internal/vmtest"
	"farside/spirv"
)

// histogram counts the low bytes of words: in global memory, or in shared memory first.
func histogram(shared bool) *machine {
	a := vmtest.Assemble([3]uint32{256, 1, 1})
	a.Shared, a.ZeroShared = 1024, shared
	counts, in := a.Slot(program.Slot{Kind: program.SlotBuffer}),
		a.Slot(program.Slot{Kind: program.SlotBuffer, Binding: 1})
	local := a.Slot(program.Slot{Kind: program.SlotShared})
	two, one := a.Constant(2), a.Constant(1)
	value := a.Load(in, a.Op(kernel.ShlI32, a.GlobalID(0), two), 0)
	at := a.Op(kernel.ShlI32, a.Op(kernel.AndI32, value, a.Constant(255)), two)
	to := counts
	if shared {
		to = local
	}
	a.Emit(program.Inst{Code: program.Access, Op: kernel.AtomicAddI32, Index: to, A: at, B: one})
	if shared {
		a.Emit(program.Inst{Code: program.Barrier, Immediate: 1})
		own := a.Op(kernel.ShlI32, a.Builtin(spirv.BuiltInLocalInvocationIndex, 0, false), two)
		a.Emit(program.Inst{Code: program.Access, Op: kernel.AtomicAddI32, Index: counts, A: own, B: a.Load(local, own, 0)})
	}
	return ended(a)
}

func TestHistogram(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 1))
	values, want := make([]uint32, 1<<16), make([]uint32, 256)
	for i := range values {
		values[i] = random.Uint32() >> random.IntN(32)
		want[values[i]&255]++
	}
	for _, shared := range []bool{false, true} {
		got := make([]uint32, 256)
		runMachine(t, histogram(shared), dispatch([3]uint32{256, 1, 1}, vmtest.Buffers{Words: [][]uint32{got, values}}))
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("shared %v: the counts are %v, not %v", shared, got, want)
		}
	}
}

// What a workgroup has added it sees: by a load, by an atomic, and through another binding of the same memory.
func TestAdditionsAreSeen(t *testing.T) {
	for _, binding := range []uint32{0, 1} {
		a := vmtest.Assemble([3]uint32{8, 1, 1})
		index := a.Builtin(spirv.BuiltInLocalInvocationIndex, 0, false)
		at := a.Op(kernel.ShlI32, index, a.Constant(2))
		counts, seen, out := a.Slot(program.Slot{Kind: program.SlotBuffer}),
			a.Slot(program.Slot{Kind: program.SlotBuffer, Binding: binding}),
			a.Slot(program.Slot{Kind: program.SlotBuffer, Binding: 2})
		add := func() {
			a.Emit(program.Inst{Code: program.Access, Op: kernel.AtomicAddI32, Index: counts, A: at, B: index, Immediate: 32})
		}
		add()
		loaded := a.Load(seen, at, 32)
		add()
		old := a.Varying(32)
		a.Emit(program.Inst{Code: program.Access, Op: kernel.AtomicExchange32, Index: counts, A: at, B: a.Constant(5),
			Dst: old, Immediate: 32})
		add()
		a.Store(out, at, a.Op(kernel.AddI32, a.Op(kernel.MulI32, loaded, a.Constant(100)), old))
		memory, got := make([]uint32, 16), make([]uint32, 8)
		p := ended(a)
		runMachine(t, p, dispatch([3]uint32{1, 1, 1}, vmtest.Buffers{Words: [][]uint32{memory, memory, got}}))
		for i := range uint32(8) {
			if got[i] != 102*i || memory[8+i] != 5+i {
				t.Errorf("binding %d, lane %d: saw %d, left %d; want %d and %d", binding, i, got[i], memory[8+i], 102*i, 5+i)
			}
		}
	}
}

func BenchmarkHistogram(b *testing.B) {
	values := make([]uint32, 1<<22)
	for i := range values {
		values[i] = rand.Uint32()
	}
	for _, shared := range []bool{false, true} {
		p := histogram(shared)
		b.Run(fmt.Sprintf("shared=%v", shared), func(b *testing.B) {
			d := dispatch([3]uint32{1 << 14, 1, 1}, vmtest.Buffers{Words: [][]uint32{make([]uint32, 256), values}})
			for b.Loop() {
				if err := p.Run(d); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N<<22), "ns/value")
		})
	}
}
