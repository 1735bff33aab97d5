package vm

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/big"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"farside/compute/internal/kernel"
	"farside/compute/internal/program"
	"farside/compute/internal/vmtest"
	"farside/spirv"
)

// machine is a program that is written by hand, with what runs it.
type machine struct {
	*program.Program
	Engine
}

func (m *machine) Run(d *Dispatch) error { return m.Engine.Run(m.Program, d) }

// ended is the machine of an assembly.
func ended(a *vmtest.Assembly) *machine { return &machine{Program: a.End()} }

func runMachine(t *testing.T, m *machine, d *Dispatch) {
	t.Helper()
	if err := m.Run(d); err != nil {
		t.Fatal(err)
	}
}

// dispatch is a dispatch of so many workgroups on bindings.
func dispatch(groups [3]uint32, b Bindings) *Dispatch {
	return &Dispatch{Groups: groups, Environment: Environment{Bindings: b}}
}

func TestIDsOfInvocations(t *testing.T) {
	for _, size := range [][3]uint32{{1, 1, 1}, {5, 1, 1}, {8, 2, 1}, {3, 5, 7}, {256, 1, 1}} {
		a := vmtest.Assemble(size)
		out := a.Slot(program.Slot{Kind: program.SlotBuffer})
		groups := [3]uint32{3, 2, 4}
		width := [2]uint32{groups[0] * size[0], groups[1] * size[1]}
		// word = x + width*(y + height*z), value = that + 1000*local + workgroup's number * 100000
		var global, group, local [3]program.Register
		for i := range 3 {
			global[i] = a.GlobalID(i)
			group[i] = a.Builtin(spirv.BuiltInWorkgroupId, i, true)
			local[i] = a.Builtin(spirv.BuiltInLocalInvocationId, i, false)
		}
		counts := a.Builtin(spirv.BuiltInNumWorkgroups, 1, true)
		index := a.Builtin(spirv.BuiltInLocalInvocationIndex, 0, false)
		row := a.Op(kernel.AddI32, a.Op(kernel.MulI32, global[2], a.Constant(width[1])), global[1])
		at := a.Op(kernel.AddI32, a.Op(kernel.MulI32, row, a.Constant(width[0])), global[0])
		value := a.Op(kernel.AddI32, a.Op(kernel.MulI32, group[2], counts), group[1])
		value = a.Op(kernel.AddI32, a.Op(kernel.MulI32, value, a.Constant(groups[0])), group[0])
		value = a.Op(kernel.MulI32, value, a.Constant(4096))
		for i, place := range []uint32{1, size[0], size[0] * size[1]} {
			value = a.Op(kernel.AddI32, value, a.Op(kernel.MulI32, local[i], a.Constant(place)))
		}
		value = a.Op(kernel.AddI32, a.Op(kernel.MulI32, value, a.Constant(2)), index)
		a.Store(out, a.Op(kernel.ShlI32, at, a.Constant(2)), value)
		p := ended(a)
		words := make([]uint32, 24*size[0]*size[1]*size[2])
		runMachine(t, p, dispatch(groups, vmtest.Buffers{Words: [][]uint32{words}}))
		for i, got := range words {
			x, y, z := uint32(i)%width[0], uint32(i)/width[0]%width[1], uint32(i)/width[0]/width[1]
			local := x%size[0] + size[0]*(y%size[1]+size[1]*(z%size[2]))
			want := ((z/size[2]*2+y/size[1])*3+x/size[0])*8192 + 3*local
			if got != want {
				t.Fatalf("%v: invocation %d,%d,%d wrote %d, not %d", size, x, y, z, got, want)
			}
		}
	}
}

func TestBaseOfWorkgroups(t *testing.T) {
	a := vmtest.Assemble([3]uint32{4, 1, 1})
	at := a.Op(kernel.ShlI32, a.GlobalID(0), a.Constant(2))
	a.Store(a.Slot(program.Slot{Kind: program.SlotBuffer}), at, a.Builtin(spirv.BuiltInNumWorkgroups, 0, true))
	words := make([]uint32, 32)
	runMachine(t, ended(a), &Dispatch{Base: [3]uint32{3}, Groups: [3]uint32{2, 1, 1},
		Environment: Environment{Bindings: vmtest.Buffers{Words: [][]uint32{words}}}})
	for i, got := range words {
		want := uint32(0)
		if i >= 12 && i < 20 {
			want = 2
		}
		if got != want {
			t.Errorf("word %d is %d, not %d", i, got, want)
		}
	}
}

// collatz is a program with a divergent loop and a divergent branch in it: how many steps to 1 from the number of the
// invocation.
func collatz(lanes uint32) *machine {
	a := vmtest.Assemble([3]uint32{lanes, 1, 1})
	a.Loops = []program.Loop{{Name: "collatz.comp:3"}}
	id := a.GlobalID(0)
	one := a.Constant(1)
	n, steps := a.Varying(32), a.Varying(32)
	header, merge, odd, even, next := a.Varying(32), a.Varying(32), a.Varying(32), a.Varying(32), a.Varying(32)
	a.Emit(program.Inst{Code: program.Assign, Dst: n, A: id})
	a.Emit(program.Inst{Code: program.Assign, Dst: steps, A: a.Constant(0)})
	a.Emit(program.Inst{Code: program.Leave, Dst: header})
	a.Label("header")
	a.Flow(program.Inst{Code: program.Enter, Dst: header}, "merge")
	body := a.Varying(32)
	a.Emit(program.Inst{Code: program.Split, A: a.Op(kernel.LeS32, n, one), Dst: merge, B: body})
	a.Flow(program.Inst{Code: program.Enter, Dst: body}, "next")
	a.Emit(program.Inst{Code: program.Split, A: a.Op(kernel.EqI32, a.Op(kernel.AndI32, n, one), one), Dst: odd, B: even})
	a.Flow(program.Inst{Code: program.Enter, Dst: odd}, "even")
	more := a.Op(kernel.AddI32, a.Op(kernel.MulI32, n, a.Constant(3)), one)
	a.Emit(program.Inst{Code: program.Assign, Dst: n, A: more})
	a.Emit(program.Inst{Code: program.Leave, Dst: next})
	a.Label("even")
	a.Flow(program.Inst{Code: program.Enter, Dst: even}, "next")
	half := a.Op(kernel.ShrU32, n, one)
	a.Emit(program.Inst{Code: program.Assign, Dst: n, A: half})
	a.Emit(program.Inst{Code: program.Leave, Dst: next})
	a.Label("next")
	a.Flow(program.Inst{Code: program.Enter, Dst: next}, "again")
	a.Emit(program.Inst{Code: program.Assign, Dst: steps, A: a.Op(kernel.AddI32, steps, one)})
	a.Emit(program.Inst{Code: program.Leave, Dst: header})
	a.Label("again")
	a.Flow(program.Inst{Code: program.Again, Dst: header}, "header")
	a.Label("merge")
	a.Flow(program.Inst{Code: program.Enter, Dst: merge}, "end")
	a.Store(a.Slot(program.Slot{Kind: program.SlotBuffer}), a.Op(kernel.ShlI32, id, a.Constant(2)), steps)
	a.Label("end")
	return ended(a)
}

func TestDivergentLoop(t *testing.T) {
	for _, lanes := range []uint32{1, 7, 8, 64, 100, 256} {
		p := collatz(lanes)
		words := make([]uint32, lanes*20)
		runMachine(t, p, dispatch([3]uint32{20, 1, 1}, vmtest.Buffers{Words: [][]uint32{words}}))
		for i, got := range words {
			want := uint32(0)
			for n := i; n > 1; want++ {
				if n%2 == 1 {
					n = 3*n + 1
				} else {
					n /= 2
				}
			}
			if got != want {
				t.Fatalf("%d lanes: %d takes %d steps, not %d", lanes, i, got, want)
			}
		}
	}
}

func TestRunsAtOnce(t *testing.T) {
	p := collatz(64)
	var group sync.WaitGroup
	for range 4 {
		group.Go(func() {
			for range 3 {
				words := make([]uint32, 6400)
				if err := p.Run(dispatch([3]uint32{100, 1, 1}, vmtest.Buffers{Words: [][]uint32{words}})); err != nil {
					t.Error(err)
				}
				if words[6171] != 261 {
					t.Errorf("6171 takes %d steps, not 261", words[6171])
				}
			}
		})
	}
	group.Wait()
}

func endless() *machine {
	a := vmtest.Assemble([3]uint32{8, 1, 1})
	a.Loops = []program.Loop{{Name: "endless.comp:7"}}
	a.Label("header")
	a.Emit(program.Inst{Code: program.Again, Index: 0})
	a.Flow(program.Inst{Code: program.Jump}, "header")
	return ended(a)
}

func TestStop(t *testing.T) {
	p := endless()
	for _, groups := range []uint32{1, 100} {
		var asked atomic.Int32
		stop := func(uint64) bool { return asked.Add(1) > 10 }
		err := p.Run(&Dispatch{Groups: [3]uint32{groups, 1, 1},
			Environment: Environment{Bindings: vmtest.Buffers{}, Stop: stop}})
		if !errors.Is(err, ErrStopped) || !strings.Contains(err.Error(), `"main"`) ||
			!strings.Contains(err.Error(), "endless.comp:7") {
			t.Errorf("the error is %v", err)
		}
	}
	// Without loops, but too many workgroups to ever end.
	start := time.Now()
	err := ended(vmtest.Assemble([3]uint32{1, 1, 1})).Run(&Dispatch{
		Groups:      [3]uint32{1<<32 - 1, 1<<32 - 1, 1<<32 - 1},
		Environment: Environment{Stop: func(uint64) bool { return time.Since(start) > 20*time.Millisecond }}})
	if !errors.Is(err, ErrStopped) {
		t.Errorf("the error is %v", err)
	}
	if took := time.Since(start); took > 20*time.Second {
		t.Errorf("it took %v to stop", took)
	}
}

func TestNoWorkgroups(t *testing.T) {
	if err := endless().Run(&Dispatch{Groups: [3]uint32{5, 0, 5}}); err != nil {
		t.Error(err)
	}
}

func TestPushConstantsDataAndShared(t *testing.T) {
	a := vmtest.Assemble([3]uint32{20, 1, 1})
	a.Shared, a.ZeroShared = 80, true
	a.Data = binary.LittleEndian.AppendUint32(nil, 1000)
	index := a.Builtin(spirv.BuiltInLocalInvocationIndex, 0, false)
	group := a.Builtin(spirv.BuiltInWorkgroupId, 0, true)
	out, push := a.Slot(program.Slot{Kind: program.SlotBuffer}), a.Slot(program.Slot{Kind: program.SlotPush})
	shared, data := a.Slot(program.Slot{Kind: program.SlotShared}), a.Slot(program.Slot{Kind: program.SlotData})
	at := a.Op(kernel.ShlI32, index, a.Constant(2))
	zero := a.Load(shared, at, 0)
	a.Store(shared, at, index)
	a.Emit(program.Inst{Code: program.Barrier})
	back := a.Load(shared, a.Op(kernel.SubI32, a.Constant(76), at), 0)
	sum := a.Op(kernel.AddI32, a.Op(kernel.AddI32, back, zero), a.Load(data, a.Constant(0), 0))
	sum = a.Op(kernel.AddI32, sum, a.Load(push, a.Constant(4), 4))
	sum = a.Op(kernel.AddI32, sum, a.Load(push, a.Constant(4), 1<<63)) // beyond the end
	base := a.Op(kernel.MulI32, group, a.Constant(80))
	a.Emit(program.Inst{Code: program.Access, Op: kernel.Store32, Index: out, A: at, B: sum, Base: base})
	words := make([]uint32, 60)
	d := &Dispatch{Groups: [3]uint32{3, 1, 1},
		Environment: Environment{Bindings: vmtest.Buffers{Words: [][]uint32{words}},
			PushConstants: []byte{2: 9, 8: 0x10, 9: 0x27}}}
	d.PushConstants = append(d.PushConstants, 0, 0)
	p := ended(a)
	runMachine(t, p, d)
	for i, got := range words {
		if want := uint32(19 - i%20 + 11000); got != want {
			t.Fatalf("word %d is %d, not %d", i, got, want)
		}
	}
}

func TestUniformBranches(t *testing.T) {
	a := vmtest.Assemble([3]uint32{8, 1, 1})
	group := a.Builtin(spirv.BuiltInWorkgroupId, 0, true)
	out := a.Slot(program.Slot{Kind: program.SlotBuffer})
	at := a.Op(kernel.ShlI32, group, a.Constant(2))
	a.Flow(program.Inst{Code: program.JumpIf, A: a.Op(kernel.EqI32, group, a.Constant(1))}, "one")
	a.Flow(program.Inst{Code: program.JumpUnless, A: a.Op(kernel.LeS32, group, a.Constant(1))}, "more")
	a.Store(out, at, a.Constant(10))
	a.Flow(program.Inst{Code: program.Jump}, "end")
	a.Label("one")
	a.Store(out, at, a.Constant(11))
	a.Flow(program.Inst{Code: program.Jump}, "end")
	a.Label("more")
	a.Store(out, at, a.Constant(12))
	a.Label("end")
	words := make([]uint32, 4)
	runMachine(t, ended(a), dispatch([3]uint32{4, 1, 1}, vmtest.Buffers{Words: [][]uint32{words}}))
	if [4]uint32(words) != [4]uint32{10, 11, 12, 12} {
		t.Errorf("the workgroups wrote %v", words)
	}
}

func TestRunDoesNotAllocate(t *testing.T) {
	p := collatz(8)
	d := dispatch([3]uint32{1, 1, 1}, &vmtest.Buffers{Words: [][]uint32{make([]uint32, 8)}})
	runMachine(t, p, d)
	if n := testing.AllocsPerRun(100, func() { runMachine(t, p, d) }); n > 0.5 && !raceEnabled {
		t.Errorf("a dispatch allocates %v times", n)
	}
}

func BenchmarkEmptyDispatch(b *testing.B) {
	p := ended(vmtest.Assemble([3]uint32{1, 1, 1}))
	d := dispatch([3]uint32{1, 1, 1}, vmtest.Buffers{})
	for b.Loop() {
		if err := p.Run(d); err != nil {
			b.Fatal(err)
		}
	}
}

// What an instruction costs, on one chunk and on 32.
func BenchmarkInstruction(b *testing.B) {
	for _, lanes := range []uint32{8, 256} {
		a := vmtest.Assemble([3]uint32{lanes, 1, 1})
		x := a.Builtin(spirv.BuiltInLocalInvocationIndex, 0, false)
		const n = 1000
		for range n {
			a.Op(kernel.AddI32, x, x)
		}
		p := ended(a)
		b.Run(fmt.Sprint(lanes), func(b *testing.B) {
			d := dispatch([3]uint32{1, 1, 1}, vmtest.Buffers{})
			for b.Loop() {
				if err := p.Run(d); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*n), "ns/instruction")
		})
	}
}

func TestUniformMulAddSat(t *testing.T) {
	a := vmtest.Assemble([3]uint32{1, 1, 1})
	out := a.Slot(program.Slot{Kind: program.SlotBuffer})
	var want []uint32
	for _, c := range [][3]uint64{{3, 4, 5}, {1 << 31, 2, 0}, {1 << 31, 2, 7}, {1<<32 - 1, 1, 0}, {1<<32 - 1, 1, 1},
		{1 << 16, 1<<16 - 1, 1<<16 - 1},
		{5, 1 << 62, 0}, {0, 1 << 62, 9}, {1 << 31, 1 << 33, 3}} {
		dst := a.Uniform(32)
		a.Emit(program.Inst{Code: program.Kernel, Op: kernel.MulAddSat, Dst: dst, A: a.Constant(uint32(c[0])),
			B: a.Constant(uint32(c[2])), Immediate: c[1]})
		a.Emit(program.Inst{Code: program.Access, Op: kernel.Store32, Index: out, A: a.Constant(uint32(4 * len(want))),
			B: dst})
		sum := new(big.Int).Mul(new(big.Int).SetUint64(c[0]), new(big.Int).SetUint64(c[1]))
		if sum.Add(sum, new(big.Int).SetUint64(c[2])); sum.BitLen() > 32 {
			sum.SetUint64(1<<32 - 1)
		}
		want = append(want, uint32(sum.Uint64()))
	}
	got := make([]uint32, len(want))
	runMachine(t, ended(a), dispatch([3]uint32{1, 1, 1}, vmtest.Buffers{Words: [][]uint32{got}}))
	if !slices.Equal(got, want) {
		t.Errorf("the sums are %v, not %v", got, want)
	}
}

// TestPanicOfWorker: a program whose worker can't be made fails, and does not end the process.
func TestPanicOfWorker(t *testing.T) {
	a := vmtest.Assemble([3]uint32{8, 1, 1})
	p := ended(a)
	p.Constants = append(p.Constants, program.Constant{Register: program.Register{Offset: 1 << 30, Size: 32}, Bits: 1})
	err := p.Run(dispatch([3]uint32{1, 1, 1}, vmtest.Buffers{}))
	if err == nil || !strings.Contains(err.Error(), "panic") {
		t.Errorf("error %v, want one of a panic", err)
	}
}
