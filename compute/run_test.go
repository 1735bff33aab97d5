package compute

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
	"farside/spirv"
)

// machine is a program that is written by hand, with what runs it.
type machine struct {
	*Program
	engine
}

func (m *machine) Run(d *Dispatch) error { return m.engine.Run(m.Program, d) }

// ended is the machine of an assembly.
func ended(a *assembly) *machine { return &machine{Program: a.end()} }

func runMachine(t *testing.T, m *machine, d *Dispatch) {
	t.Helper()
	if err := m.Run(d); err != nil {
		t.Fatal(err)
	}
}

func TestIDsOfInvocations(t *testing.T) {
	for _, size := range [][3]uint32{{1, 1, 1}, {5, 1, 1}, {8, 2, 1}, {3, 5, 7}, {256, 1, 1}} {
		a := assemble(size)
		out := a.slot(Slot{Kind: SlotBuffer})
		groups := [3]uint32{3, 2, 4}
		width := [2]uint32{groups[0] * size[0], groups[1] * size[1]}
		// word = x + width*(y + height*z), value = that + 1000*local + workgroup's number * 100000
		var global, group, local [3]Register
		for i := range 3 {
			global[i] = a.globalID(i)
			group[i] = a.builtin(spirv.BuiltInWorkgroupId, i, true)
			local[i] = a.builtin(spirv.BuiltInLocalInvocationId, i, false)
		}
		counts := a.builtin(spirv.BuiltInNumWorkgroups, 1, true)
		index := a.builtin(spirv.BuiltInLocalInvocationIndex, 0, false)
		row := a.op(kernel.AddI32, a.op(kernel.MulI32, global[2], a.constant(width[1])), global[1])
		at := a.op(kernel.AddI32, a.op(kernel.MulI32, row, a.constant(width[0])), global[0])
		value := a.op(kernel.AddI32, a.op(kernel.MulI32, group[2], counts), group[1])
		value = a.op(kernel.AddI32, a.op(kernel.MulI32, value, a.constant(groups[0])), group[0])
		value = a.op(kernel.MulI32, value, a.constant(4096))
		for i, place := range []uint32{1, size[0], size[0] * size[1]} {
			value = a.op(kernel.AddI32, value, a.op(kernel.MulI32, local[i], a.constant(place)))
		}
		value = a.op(kernel.AddI32, a.op(kernel.MulI32, value, a.constant(2)), index)
		a.store(out, a.op(kernel.ShlI32, at, a.constant(2)), value)
		p := ended(a)
		words := make([]uint32, 24*size[0]*size[1]*size[2])
		runMachine(t, p, &Dispatch{Groups: groups, Bindings: buffers{words: [][]uint32{words}}})
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
	a := assemble([3]uint32{4, 1, 1})
	at := a.op(kernel.ShlI32, a.globalID(0), a.constant(2))
	a.store(a.slot(Slot{Kind: SlotBuffer}), at, a.builtin(spirv.BuiltInNumWorkgroups, 0, true))
	words := make([]uint32, 32)
	runMachine(t, ended(a), &Dispatch{Base: [3]uint32{3}, Groups: [3]uint32{2, 1, 1},
		Bindings: buffers{words: [][]uint32{words}}})
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
	a := assemble([3]uint32{lanes, 1, 1})
	a.Loops = []Loop{{Name: "collatz.comp:3"}}
	id := a.globalID(0)
	one := a.constant(1)
	n, steps := a.varying(32), a.varying(32)
	header, merge, odd, even, next := a.varying(32), a.varying(32), a.varying(32), a.varying(32), a.varying(32)
	a.emit(Inst{Code: Assign, Dst: n, A: id})
	a.emit(Inst{Code: Assign, Dst: steps, A: a.constant(0)})
	a.emit(Inst{Code: Leave, Dst: header})
	a.label("header")
	a.flow(Inst{Code: Enter, Dst: header}, "merge")
	body := a.varying(32)
	a.emit(Inst{Code: Split, A: a.op(kernel.LeS32, n, one), Dst: merge, B: body})
	a.flow(Inst{Code: Enter, Dst: body}, "next")
	a.emit(Inst{Code: Split, A: a.op(kernel.EqI32, a.op(kernel.AndI32, n, one), one), Dst: odd, B: even})
	a.flow(Inst{Code: Enter, Dst: odd}, "even")
	more := a.op(kernel.AddI32, a.op(kernel.MulI32, n, a.constant(3)), one)
	a.emit(Inst{Code: Assign, Dst: n, A: more})
	a.emit(Inst{Code: Leave, Dst: next})
	a.label("even")
	a.flow(Inst{Code: Enter, Dst: even}, "next")
	half := a.op(kernel.ShrU32, n, one)
	a.emit(Inst{Code: Assign, Dst: n, A: half})
	a.emit(Inst{Code: Leave, Dst: next})
	a.label("next")
	a.flow(Inst{Code: Enter, Dst: next}, "again")
	a.emit(Inst{Code: Assign, Dst: steps, A: a.op(kernel.AddI32, steps, one)})
	a.emit(Inst{Code: Leave, Dst: header})
	a.label("again")
	a.flow(Inst{Code: Again, Dst: header}, "header")
	a.label("merge")
	a.flow(Inst{Code: Enter, Dst: merge}, "end")
	a.store(a.slot(Slot{Kind: SlotBuffer}), a.op(kernel.ShlI32, id, a.constant(2)), steps)
	a.label("end")
	return ended(a)
}

func TestDivergentLoop(t *testing.T) {
	for _, lanes := range []uint32{1, 7, 8, 64, 100, 256} {
		p := collatz(lanes)
		words := make([]uint32, lanes*20)
		runMachine(t, p, &Dispatch{Groups: [3]uint32{20, 1, 1}, Bindings: buffers{words: [][]uint32{words}}})
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
				if err := p.Run(&Dispatch{Groups: [3]uint32{100, 1, 1}, Bindings: buffers{words: [][]uint32{words}}}); err != nil {
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
	a := assemble([3]uint32{8, 1, 1})
	a.Loops = []Loop{{Name: "endless.comp:7"}}
	a.label("header")
	a.emit(Inst{Code: Again, Index: 0})
	a.flow(Inst{Code: Jump}, "header")
	return ended(a)
}

func TestStop(t *testing.T) {
	p := endless()
	for _, groups := range []uint32{1, 100} {
		var asked atomic.Int32
		stop := func() bool { return asked.Add(1) > 10 }
		err := p.Run(&Dispatch{Groups: [3]uint32{groups, 1, 1}, Bindings: buffers{}, Stop: stop})
		if !errors.Is(err, ErrStopped) || !strings.Contains(err.Error(), `"main"`) ||
			!strings.Contains(err.Error(), "endless.comp:7") {
			t.Errorf("the error is %v", err)
		}
	}
	// Without loops, but too many workgroups to ever end.
	start := time.Now()
	err := ended(assemble([3]uint32{1, 1, 1})).Run(&Dispatch{
		Groups: [3]uint32{1<<32 - 1, 1<<32 - 1, 1<<32 - 1},
		Stop:   func() bool { return time.Since(start) > 20*time.Millisecond }})
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
	a := assemble([3]uint32{20, 1, 1})
	a.Shared, a.ZeroShared = 80, true
	a.Data = binary.LittleEndian.AppendUint32(nil, 1000)
	index := a.builtin(spirv.BuiltInLocalInvocationIndex, 0, false)
	group := a.builtin(spirv.BuiltInWorkgroupId, 0, true)
	out, push := a.slot(Slot{Kind: SlotBuffer}), a.slot(Slot{Kind: SlotPush})
	shared, data := a.slot(Slot{Kind: SlotShared}), a.slot(Slot{Kind: SlotData})
	at := a.op(kernel.ShlI32, index, a.constant(2))
	zero := a.load(shared, at, 0)
	a.store(shared, at, index)
	a.emit(Inst{Code: Barrier})
	back := a.load(shared, a.op(kernel.SubI32, a.constant(76), at), 0)
	sum := a.op(kernel.AddI32, a.op(kernel.AddI32, back, zero), a.load(data, a.constant(0), 0))
	sum = a.op(kernel.AddI32, sum, a.load(push, a.constant(4), 4))
	sum = a.op(kernel.AddI32, sum, a.load(push, a.constant(4), 1<<63)) // beyond the end
	base := a.op(kernel.MulI32, group, a.constant(80))
	a.emit(Inst{Code: Access, Op: kernel.Store32, Index: out, A: at, B: sum, Base: base})
	words := make([]uint32, 60)
	d := &Dispatch{Groups: [3]uint32{3, 1, 1}, Bindings: buffers{words: [][]uint32{words}},
		PushConstants: []byte{2: 9, 8: 0x10, 9: 0x27}}
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
	a := assemble([3]uint32{8, 1, 1})
	group := a.builtin(spirv.BuiltInWorkgroupId, 0, true)
	out := a.slot(Slot{Kind: SlotBuffer})
	at := a.op(kernel.ShlI32, group, a.constant(2))
	a.flow(Inst{Code: JumpIf, A: a.op(kernel.EqI32, group, a.constant(1))}, "one")
	a.flow(Inst{Code: JumpUnless, A: a.op(kernel.LeS32, group, a.constant(1))}, "more")
	a.store(out, at, a.constant(10))
	a.flow(Inst{Code: Jump}, "end")
	a.label("one")
	a.store(out, at, a.constant(11))
	a.flow(Inst{Code: Jump}, "end")
	a.label("more")
	a.store(out, at, a.constant(12))
	a.label("end")
	words := make([]uint32, 4)
	runMachine(t, ended(a), &Dispatch{Groups: [3]uint32{4, 1, 1}, Bindings: buffers{words: [][]uint32{words}}})
	if [4]uint32(words) != [4]uint32{10, 11, 12, 12} {
		t.Errorf("the workgroups wrote %v", words)
	}
}

func TestRunDoesNotAllocate(t *testing.T) {
	p := collatz(8)
	d := &Dispatch{Groups: [3]uint32{1, 1, 1}, Bindings: &buffers{words: [][]uint32{make([]uint32, 8)}}}
	runMachine(t, p, d)
	if n := testing.AllocsPerRun(100, func() { runMachine(t, p, d) }); n > 0.5 && !raceEnabled {
		t.Errorf("a dispatch allocates %v times", n)
	}
}

func BenchmarkEmptyDispatch(b *testing.B) {
	p := ended(assemble([3]uint32{1, 1, 1}))
	d := &Dispatch{Groups: [3]uint32{1, 1, 1}, Bindings: buffers{}}
	for b.Loop() {
		if err := p.Run(d); err != nil {
			b.Fatal(err)
		}
	}
}

// What an instruction costs, on one chunk and on 32.
func BenchmarkInstruction(b *testing.B) {
	for _, lanes := range []uint32{8, 256} {
		a := assemble([3]uint32{lanes, 1, 1})
		x := a.builtin(spirv.BuiltInLocalInvocationIndex, 0, false)
		const n = 1000
		for range n {
			a.op(kernel.AddI32, x, x)
		}
		p := ended(a)
		b.Run(fmt.Sprint(lanes), func(b *testing.B) {
			d := &Dispatch{Groups: [3]uint32{1, 1, 1}, Bindings: buffers{}}
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
	a := assemble([3]uint32{1, 1, 1})
	out := a.slot(Slot{Kind: SlotBuffer})
	var want []uint32
	for _, c := range [][3]uint64{{3, 4, 5}, {1 << 31, 2, 0}, {1 << 31, 2, 7}, {1<<32 - 1, 1, 0}, {1<<32 - 1, 1, 1},
		{1 << 16, 1<<16 - 1, 1<<16 - 1},
		{5, 1 << 62, 0}, {0, 1 << 62, 9}, {1 << 31, 1 << 33, 3}} {
		dst := a.uniform(32)
		a.emit(Inst{Code: Kernel, Op: kernel.MulAddSat, Dst: dst, A: a.constant(uint32(c[0])), B: a.constant(uint32(c[2])),
			Immediate: c[1]})
		a.emit(Inst{Code: Access, Op: kernel.Store32, Index: out, A: a.constant(uint32(4 * len(want))), B: dst})
		sum := new(big.Int).Mul(new(big.Int).SetUint64(c[0]), new(big.Int).SetUint64(c[1]))
		if sum.Add(sum, new(big.Int).SetUint64(c[2])); sum.BitLen() > 32 {
			sum.SetUint64(1<<32 - 1)
		}
		want = append(want, uint32(sum.Uint64()))
	}
	got := make([]uint32, len(want))
	runMachine(t, ended(a), &Dispatch{Groups: [3]uint32{1, 1, 1}, Bindings: buffers{words: [][]uint32{got}}})
	if !slices.Equal(got, want) {
		t.Errorf("the sums are %v, not %v", got, want)
	}
}

// TestPanicOfWorker: a program whose worker can't be made fails, and does not end the process.
func TestPanicOfWorker(t *testing.T) {
	a := assemble([3]uint32{8, 1, 1})
	p := ended(a)
	p.Constants = append(p.Constants, Constant{Register: Register{Offset: 1 << 30, Size: 32}, Bits: 1})
	err := p.Run(&Dispatch{Groups: [3]uint32{1, 1, 1}, Bindings: buffers{}})
	if err == nil || !strings.Contains(err.Error(), "panic") {
		t.Errorf("error %v, want one of a panic", err)
	}
}
