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
	"unsafe"

	"farside/compute/internal/kernel"
	"farside/internal/sampling"
	"farside/spirv"
)

// assembly builds a program by hand.
type assembly struct {
	Program
	labels map[string]int32
	jumps  map[int]string
}

func assemble(size [3]uint32) *assembly {
	a := &assembly{labels: map[string]int32{}, jumps: map[int]string{}}
	a.Name, a.LocalSize, a.SubgroupSize = "main", size, 32
	a.Lanes = int(size[0] * size[1] * size[2])
	a.Mask = a.varying(32)
	return a
}

func (a *assembly) take(n uint32) uint32 {
	at := a.FileSize
	a.FileSize += (n + 63) &^ 63
	return at
}

func (a *assembly) varying(size uint32) Register {
	return Register{a.take(size * uint32((a.Lanes+7)/8)), size, size}
}

func (a *assembly) uniform(size uint32) Register { return Register{a.take(size), 0, size} }

func (a *assembly) constant(value uint32) Register {
	r := a.uniform(32)
	a.Constants = append(a.Constants, Constant{r, uint64(value)})
	return r
}

func (a *assembly) builtin(kind spirv.BuiltIn, component int, uniform bool) Register {
	r := a.varying(32)
	if uniform {
		r = a.uniform(32)
	}
	a.Builtins = append(a.Builtins, Builtin{kind, component, r})
	return r
}

// globalID is a component of GlobalInvocationId.
func (a *assembly) globalID(component int) Register {
	first := a.op(kernel.MulI32, a.builtin(spirv.BuiltInWorkgroupId, component, true), a.constant(a.LocalSize[component]))
	return a.op(kernel.AddI32, first, a.builtin(spirv.BuiltInLocalInvocationId, component, a.LocalSize[component] == 1))
}

func (a *assembly) slot(s Slot) int32 {
	a.Slots = append(a.Slots, s)
	return int32(len(a.Slots) - 1)
}

func (a *assembly) emit(in Inst) { a.Insts = append(a.Insts, in) }

// op emits a kernel and returns its result, which is uniform if all operands are.
func (a *assembly) op(op kernel.Op, operands ...Register) Register {
	in := Inst{Code: Kernel, Op: op}
	uniform := true
	for i, r := range operands {
		*[]*Register{&in.A, &in.B, &in.C}[i] = r
		uniform = uniform && r.Uniform()
	}
	if uniform {
		in.Dst = a.uniform(32)
	} else {
		in.Dst = a.varying(32)
	}
	a.emit(in)
	return in.Dst
}

func (a *assembly) load(slot int32, offset Register, immediate uint64) Register {
	dst := a.varying(32)
	if offset.Uniform() {
		dst = a.uniform(32)
	}
	a.emit(Inst{Code: Access, Op: kernel.Load32, Index: slot, Dst: dst, A: offset, Immediate: immediate})
	return dst
}

func (a *assembly) store(slot int32, offset, value Register) {
	a.emit(Inst{Code: Access, Op: kernel.Store32, Index: slot, A: offset, B: value})
}

// flow emits control flow to a label.
func (a *assembly) flow(in Inst, label string) {
	a.jumps[len(a.Insts)] = label
	a.emit(in)
}

func (a *assembly) label(name string) { a.labels[name] = int32(len(a.Insts)) }

func (a *assembly) end() *Program {
	a.emit(Inst{Code: End})
	for i, label := range a.jumps {
		a.Insts[i].Target = a.labels[label]
	}
	return &a.Program
}

// buffers are bindings: those of set 0 are words, elements of binding 1 are those of elements.
type buffers struct {
	words    [][]uint32
	elements [][]uint32
	physical map[uint64][]uint32
}

func (b buffers) Memory(set, binding, element uint32) Memory {
	of := b.words
	if binding == 1 && set == 1 {
		of, binding = b.elements, element
	}
	if int(binding) >= len(of) || len(of[binding]) == 0 {
		return Memory{}
	}
	return Memory{Base: unsafe.Pointer(&of[binding][0]), Size: uint64(4 * len(of[binding]))}
}

func (b buffers) Image(set, binding, element uint32) *sampling.View      { return nil }
func (b buffers) Sampler(set, binding, element uint32) *sampling.Sampler { return nil }
func (b buffers) Count(set, binding uint32) uint32                       { return uint32(len(b.elements)) }

func (b buffers) Physical(address uint64) (Memory, bool) {
	for start, words := range b.physical {
		if skip := address - start; skip < uint64(4*len(words)) {
			return Memory{Base: unsafe.Add(unsafe.Pointer(&words[0]), skip), Size: uint64(4*len(words)) - skip}, true
		}
	}
	return Memory{}, false
}

func mustRun(t *testing.T, p *Program, d *Dispatch) {
	t.Helper()
	if err := p.Run(d); err != nil {
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
		p := a.end()
		words := make([]uint32, 24*size[0]*size[1]*size[2])
		mustRun(t, p, &Dispatch{Groups: groups, Bindings: buffers{words: [][]uint32{words}}})
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
	mustRun(t, a.end(), &Dispatch{Base: [3]uint32{3}, Groups: [3]uint32{2, 1, 1},
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
func collatz(lanes uint32) *Program {
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
	return a.end()
}

func TestDivergentLoop(t *testing.T) {
	for _, lanes := range []uint32{1, 7, 8, 64, 100, 256} {
		p := collatz(lanes)
		words := make([]uint32, lanes*20)
		mustRun(t, p, &Dispatch{Groups: [3]uint32{20, 1, 1}, Bindings: buffers{words: [][]uint32{words}}})
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

func endless() *Program {
	a := assemble([3]uint32{8, 1, 1})
	a.Loops = []Loop{{Name: "endless.comp:7"}}
	a.label("header")
	a.emit(Inst{Code: Again, Index: 0})
	a.flow(Inst{Code: Jump}, "header")
	return a.end()
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
	err := assemble([3]uint32{1, 1, 1}).end().Run(&Dispatch{
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
	p := a.end()
	mustRun(t, p, d)
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
	mustRun(t, a.end(), &Dispatch{Groups: [3]uint32{4, 1, 1}, Bindings: buffers{words: [][]uint32{words}}})
	if [4]uint32(words) != [4]uint32{10, 11, 12, 12} {
		t.Errorf("the workgroups wrote %v", words)
	}
}

func TestRunDoesNotAllocate(t *testing.T) {
	p := collatz(8)
	d := &Dispatch{Groups: [3]uint32{1, 1, 1}, Bindings: &buffers{words: [][]uint32{make([]uint32, 8)}}}
	mustRun(t, p, d)
	if n := testing.AllocsPerRun(100, func() { mustRun(t, p, d) }); n > 0.5 && !raceEnabled {
		t.Errorf("a dispatch allocates %v times", n)
	}
}

func BenchmarkEmptyDispatch(b *testing.B) {
	p := assemble([3]uint32{1, 1, 1}).end()
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
		p := a.end()
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
	mustRun(t, a.end(), &Dispatch{Groups: [3]uint32{1, 1, 1}, Bindings: buffers{words: [][]uint32{got}}})
	if !slices.Equal(got, want) {
		t.Errorf("the sums are %v, not %v", got, want)
	}
}

// TestGuards holds the number of the invocation against a size, as shaders do before they access a buffer, with all
// sizes about the ends of workgroups.
func TestGuards(t *testing.T) {
	const lanes, groups = 32, 3
	for _, c := range []struct {
		guard string
		in    func(i, n uint32) bool
	}{
		{"if (g >= n) return;", func(i, n uint32) bool { return i < n }},
		{"if (n <= g) return;", func(i, n uint32) bool { return i < n }},
		{"if (!(g < n)) return;", func(i, n uint32) bool { return i < n }},
		{"if (g + 5u >= n) return;", func(i, n uint32) bool { return i+5 < n }},
		{"if (g - 40u >= n) return;", func(i, n uint32) bool { return i-40 < n }},
		{"if (g + 0x7fffffd0u >= n) return;", func(i, n uint32) bool { return i+0x7fffffd0 < n }},
		{"if (int(g) >= int(n)) return;", func(i, n uint32) bool { return int32(i) < int32(n) }},
		{"if (int(g) - 40 >= int(n)) return;", func(i, n uint32) bool { return int32(i)-40 < int32(n) }},
	} {
		p := compileWords(t,
			glslWords(t,
				shader(lanes, "", "uint g = gl_GlobalInvocationID.x, n = floatBitsToUint(f[0]); "+c.guard+" r = a[i] * 3u + 1u;")),
			Options{})
		if err := p.engine.prepare(p); err != nil {
			t.Fatal(err)
		}
		if !slices.ContainsFunc(p.engine.steps, func(s step) bool { return s.act == actPrefix }) {
			t.Errorf("%s looks at each lane\n%s", c.guard, p)
		}
		a := make([]uint32, lanes*groups)
		for i := range a {
			a[i] = uint32(i) * 7
		}
		for _, n := range []uint32{0, 1, 5, 7, 8, 9, 31, 32, 33, 40, 63, 64, 65, 90, 96, 97, 200, 0x7fffffef, 0x7fffffff,
			0x80000000, 0x80000010, ^uint32(0)} {
			out := make([]uint32, lanes*groups)
			for i := range out {
				out[i] = 99
			}
			mustRun(t, p, &Dispatch{Groups: [3]uint32{groups, 1, 1}, Bindings: buffers{words: [][]uint32{out, a, {n}}}})
			for i, got := range out {
				want := uint32(99)
				if c.in(uint32(i), n) {
					want = uint32(i)*21 + 1
				}
				if got != want {
					t.Fatalf("%s with n = %#x: invocation %d: %d, want %d\n%s", c.guard, n, i, got, want, p)
				}
			}
		}
	}
}

// TestPrefixes branches on whether an invocation is among the first so many, with all bounds, from full and from
// narrower masks.
func TestPrefixes(t *testing.T) {
	const lanes = 64
	p := compileWords(t, glslWords(t, shader(lanes, "shared uint s[64];", `
	uint l = gl_LocalInvocationIndex;
	s[l] = 0u;
	for (uint k = 0; k < 130u; k++) {
		uint bound = a[k];
		if (l < bound) {
			s[l] += k + 1u;
			if (l < k) s[l] ^= 5u;
		} else
			s[l] = s[l] * 3u + bound;
		if (l == 0u) s[l] += 1000u;
		if (l < bound * 2u) s[l] ^= k << 4;
	}
	r = s[l];
	if (l < a[130]) { result[i] = r; return; }
	r ^= 77u;
	if (l < a[131]) r += 9u;`)), Options{})
	if err := p.engine.prepare(p); err != nil {
		t.Fatal(err)
	}
	prefixes := 0
	for i := range p.engine.steps {
		if p.engine.steps[i].act == actPrefix {
			prefixes++
		}
	}
	if prefixes < 4 {
		t.Errorf("%d branches are for the first lanes\n%s", prefixes, p)
	}
	bounds := make([]uint32, 132)
	for k := range bounds {
		bounds[k] = uint32(k)
	}
	bounds[129] = 0xffffffff
	const groups = 3
	out := make([]uint32, lanes*groups)
	for _, last := range [][2]uint32{{13, 40}, {0, 64}, {8, 8}, {64, 1}, {1000, 0}} {
		bounds[130], bounds[131] = last[0], last[1]
		mustRun(t, p, &Dispatch{Groups: [3]uint32{groups, 1, 1}, Bindings: buffers{words: [][]uint32{out, bounds, nil}}})
		for i, got := range out {
			l, r := uint32(i%lanes), uint32(0)
			for k := range uint32(130) {
				bound := bounds[k]
				if l < bound {
					r += k + 1
					if l < k {
						r ^= 5
					}
				} else {
					r = r*3 + bound
				}
				if l == 0 {
					r += 1000
				}
				if l < bound*2 {
					r ^= k << 4
				}
			}
			if l >= last[0] {
				r ^= 77
				if l < last[1] {
					r += 9
				}
			}
			if got != r {
				t.Fatalf("bounds %v: invocation %d: %#x, want %#x\n%s", last, i, got, r, p)
			}
		}
	}
}
