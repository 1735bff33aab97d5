package vm

import (
	"fmt"
	"math"
	"math/bits"
	"slices"
	"testing"
	"time"

	"farside/compute/internal/kernel"
	"farside/compute/internal/program"
	"farside/compute/internal/vmtest"
	"farside/spirv"
)

// subgroupCase is an instruction and what it gives in a lane: values are of all lanes of the subgroup by their numbers,
// active says which take part.
type subgroupCase struct {
	name string
	op   program.SubgroupOp
	want func(lane, size int, values []uint64, active []bool) uint64
}

// fold combines the values of the active lanes from one lane to before another.
func fold(f func(a, b uint64) uint64, identity uint64, values []uint64, active []bool, from, to int) uint64 {
	sum := identity
	for i := from; i < to; i++ {
		if active[i] {
			sum = f(sum, values[i])
		}
	}
	return sum
}

func firstActive(active []bool) int {
	for i, a := range active {
		if a {
			return i
		}
	}
	return -1
}

func f32op(f func(a, b float32) float32) func(a, b uint64) uint64 {
	return func(a, b uint64) uint64 {
		return uint64(math.Float32bits(f(math.Float32frombits(uint32(a)), math.Float32frombits(uint32(b)))))
	}
}

func subgroupCases() []subgroupCase {
	var cases []subgroupCase
	add := func(name string, op program.SubgroupOp, want func(lane, size int, values []uint64, active []bool) uint64) {
		cases = append(cases, subgroupCase{name, op, want})
	}
	truthOf := func(f func(values []uint64, active []bool) bool) func(lane, size int, values []uint64,
		active []bool) uint64 {
		return func(_, _ int, values []uint64, active []bool) uint64 { return truth(f(values, active)) }
	}
	add("Elect", program.SubgroupOp{Op: spirv.OpGroupNonUniformElect},
		func(lane, _ int, _ []uint64, active []bool) uint64 {
			return truth(lane == firstActive(active))
		})
	add("All", program.SubgroupOp{Op: spirv.OpGroupNonUniformAll, Type: typeBool},
		truthOf(func(values []uint64, active []bool) bool {
			return fold(func(a, b uint64) uint64 { return a & b }, 1<<32-1, values, active, 0, len(values)) != 0
		}))
	add("Any", program.SubgroupOp{Op: spirv.OpGroupNonUniformAny, Type: typeBool},
		truthOf(func(values []uint64, active []bool) bool {
			return fold(func(a, b uint64) uint64 { return a | b }, 0, values, active, 0, len(values)) != 0
		}))
	add("BroadcastFirst", program.SubgroupOp{Op: spirv.OpGroupNonUniformBroadcastFirst, Type: typeUint},
		func(_, _ int, values []uint64, active []bool) uint64 { return values[firstActive(active)] })
	add("ShuffleXor", program.SubgroupOp{Op: spirv.OpGroupNonUniformShuffleXor, Type: typeUint},
		func(lane, size int, values []uint64, _ []bool) uint64 { return values[lane^3] })
	add("ShuffleUp", program.SubgroupOp{Op: spirv.OpGroupNonUniformShuffleUp, Type: typeUint},
		func(lane, _ int, values []uint64, _ []bool) uint64 {
			if lane < 3 {
				return 0
			}
			return values[lane-3]
		})
	add("ShuffleDown", program.SubgroupOp{Op: spirv.OpGroupNonUniformShuffleDown, Type: typeUint},
		func(lane, size int, values []uint64, _ []bool) uint64 {
			if lane+3 >= size {
				return 0
			}
			return values[lane+3]
		})
	add("Shuffle", program.SubgroupOp{Op: spirv.OpGroupNonUniformShuffle, Type: typeUint},
		func(_, _ int, values []uint64, _ []bool) uint64 { return values[3] })
	add("QuadBroadcast", program.SubgroupOp{Op: spirv.OpGroupNonUniformQuadBroadcast, Type: typeUint},
		func(lane, _ int, values []uint64, _ []bool) uint64 { return values[lane&^3+3] })
	add("QuadAll", program.SubgroupOp{Op: spirv.OpGroupNonUniformQuadAllKHR, Type: typeBool},
		func(lane, _ int, values []uint64, active []bool) uint64 {
			return fold(func(a, b uint64) uint64 { return a & b }, 1<<32-1, values, active, lane&^3, lane&^3+4)
		})
	add("QuadAny", program.SubgroupOp{Op: spirv.OpGroupNonUniformQuadAnyKHR, Type: typeBool},
		func(lane, _ int, values []uint64, active []bool) uint64 {
			return fold(func(a, b uint64) uint64 { return a | b }, 0, values, active, lane&^3, lane&^3+4)
		})
	type arithmetic struct {
		op       spirv.Op
		t        *spirv.Type
		f        func(a, b uint64) uint64
		identity uint64
	}
	inf := func(sign int) uint64 { return uint64(math.Float32bits(float32(math.Inf(sign)))) }
	for _, c := range []arithmetic{
		{spirv.OpGroupNonUniformIAdd, typeUint, func(a, b uint64) uint64 { return uint64(uint32(a + b)) }, 0},
		{spirv.OpGroupNonUniformIAdd, typeInt8, func(a, b uint64) uint64 { return uint64(uint8(a + b)) }, 0},
		{spirv.OpGroupNonUniformIMul, typeUint, func(a, b uint64) uint64 { return uint64(uint32(a * b)) }, 1},
		{spirv.OpGroupNonUniformSMin, typeInt, func(a, b uint64) uint64 { return uint64(uint32(min(int32(a), int32(b)))) },
			math.MaxInt32},
		{spirv.OpGroupNonUniformSMax, typeInt, func(a, b uint64) uint64 { return uint64(uint32(max(int32(a), int32(b)))) },
			1 << 31},
		{spirv.OpGroupNonUniformSMax, typeInt8, func(a, b uint64) uint64 { return uint64(uint8(max(int8(a), int8(b)))) },
			0x80},
		{spirv.OpGroupNonUniformUMin, typeUint, func(a, b uint64) uint64 { return min(a, b) }, math.MaxUint32},
		{spirv.OpGroupNonUniformUMax, typeUint, func(a, b uint64) uint64 { return max(a, b) }, 0},
		{spirv.OpGroupNonUniformBitwiseAnd, typeUint, func(a, b uint64) uint64 { return a & b }, math.MaxUint32},
		{spirv.OpGroupNonUniformBitwiseOr, typeUint, func(a, b uint64) uint64 { return a | b }, 0},
		{spirv.OpGroupNonUniformBitwiseXor, typeUint, func(a, b uint64) uint64 { return a ^ b }, 0},
		{spirv.OpGroupNonUniformLogicalAnd, typeBool, func(a, b uint64) uint64 { return a & b }, math.MaxUint32},
		{spirv.OpGroupNonUniformLogicalOr, typeBool, func(a, b uint64) uint64 { return a | b }, 0},
		{spirv.OpGroupNonUniformLogicalXor, typeBool, func(a, b uint64) uint64 { return a ^ b }, 0},
		{spirv.OpGroupNonUniformFAdd, typeFloat, f32op(func(a, b float32) float32 { return a + b }), 0},
		{spirv.OpGroupNonUniformFMul, typeFloat, f32op(func(a, b float32) float32 { return a * b }),
			uint64(math.Float32bits(1))},
		{spirv.OpGroupNonUniformFMin, typeFloat, f32op(func(a, b float32) float32 { return min(a, b) }), inf(1)},
		{spirv.OpGroupNonUniformFMax, typeFloat, f32op(func(a, b float32) float32 { return max(a, b) }), inf(-1)},
	} {
		name := fmt.Sprint(c.op, c.t.Width)
		add(name+" reduce", program.SubgroupOp{Op: c.op, Type: c.t, Combines: true, Operation: spirv.GroupOperationReduce},
			func(_, size int, values []uint64, active []bool) uint64 {
				return fold(c.f, c.identity, values, active, 0, size)
			})
		add(name+" inclusive", program.SubgroupOp{Op: c.op, Type: c.t, Combines: true,
			Operation: spirv.GroupOperationInclusiveScan}, func(lane, _ int, values []uint64, active []bool) uint64 {
			return fold(c.f, c.identity, values, active, 0, lane+1)
		})
		add(name+" exclusive", program.SubgroupOp{Op: c.op, Type: c.t, Combines: true,
			Operation: spirv.GroupOperationExclusiveScan}, func(lane, _ int, values []uint64, active []bool) uint64 {
			return fold(c.f, c.identity, values, active, 0, lane)
		})
		for _, n := range []int{2, 4} {
			add(fmt.Sprint(name, " in clusters of ", n), program.SubgroupOp{Op: c.op, Type: c.t, Combines: true,
				Cluster: uint32(n), Operation: spirv.GroupOperationClusteredReduce},
				func(lane, _ int, values []uint64, active []bool) uint64 {
					return fold(c.f, c.identity, values, active, lane&^(n-1), lane&^(n-1)+n)
				})
		}
	}
	return cases
}

// TestSubgroups runs each instruction in workgroups with subgroups of several sizes, all lanes active and not, and
// compares each lane's result with what the case says.
func TestSubgroups(t *testing.T) {
	const lanes = 128
	for _, c := range subgroupCases() {
		for _, size := range []int{4, 8, 32, 128} {
			for _, keep := range []uint32{^uint32(0), 0x53a7d1e9, 1 << 5, 0xfff00} { // of lanes, by their number modulo 32
				a := vmtest.Assemble([3]uint32{lanes, 1, 1})
				a.SubgroupSize = uint32(size)
				index := a.Builtin(spirv.BuiltInLocalInvocationIndex, 0, false)
				out := a.Slot(program.Slot{Kind: program.SlotBuffer})
				value := a.Load(a.Slot(program.Slot{Kind: program.SlotBuffer, Binding: 1}),
					a.Op(kernel.ShlI32, index, a.Constant(2)), 0)
				op := c.op
				op.Value, op.Arg, op.Dst = []program.Register{value}, a.Constant(3), []program.Register{a.Varying(32)}
				a.Subgroups = []program.SubgroupOp{op}
				in := a.Varying(32)
				bit := a.Op(kernel.AndI32, a.Op(kernel.ShrU32, a.Constant(keep), a.Op(kernel.AndI32, index, a.Constant(31))),
					a.Constant(1))
				a.Emit(program.Inst{Code: program.Split, A: a.Op(kernel.EqI32, bit, a.Constant(1)), Dst: in})
				a.Flow(program.Inst{Code: program.Enter, Dst: in}, "end")
				a.Emit(program.Inst{Code: program.CallSubgroup})
				a.Store(out, a.Op(kernel.ShlI32, index, a.Constant(2)), op.Dst[0])
				a.Label("end")
				values, words := make([]uint64, lanes), make([]uint32, lanes)
				input := make([]uint32, lanes)
				for i := range values {
					v := uint32(i)*0x9e3779b9 ^ uint32(i)<<13
					switch typ := c.op.Type; {
					case typ == typeBool:
						v = uint32(truth(i%7 != 3))
					case typ == typeFloat:
						v = math.Float32bits(float32(i%5+1) / 1.7)
					case typ == typeInt8:
						v &= 0xff
					}
					values[i], input[i] = uint64(v), v
				}
				const nothing = 0xabababab
				for i := range words {
					words[i] = nothing
				}
				bySteps, m := slices.Clone(words), ended(a)
				runMachine(t, m, dispatch([3]uint32{1, 1, 1}, vmtest.Buffers{Words: [][]uint32{words, input}}))
				kernels := &machine{Program: m.Program, Engine: Engine{NoNative: true}}
				runMachine(t, kernels, dispatch([3]uint32{1, 1, 1}, vmtest.Buffers{Words: [][]uint32{bySteps, input}}))
				if !slices.Equal(words, bySteps) {
					t.Fatalf("%s, size %d, lanes %#x: machine code gives %#x, kernels %#x", c.name, size, keep, words, bySteps)
				}
				for i, got := range words {
					active := make([]bool, size)
					for j := range active {
						active[j] = keep>>((i/size*size+j)%32)&1 != 0
					}
					want := uint32(nothing)
					if active[i%size] {
						want = uint32(c.want(i%size, size, values[i/size*size:(i/size+1)*size], active))
					}
					// In which order floats are added or multiplied is not said.
					if rounded := c.op.Type == typeFloat && c.op.Combines &&
						math.Abs(f32(got)/f32(want)-1) < 1e-5; got != want && !rounded {
						t.Fatalf("%s, size %d, lanes %#x: lane %d has %#x, not %#x", c.name, size, keep, i, got, want)
					}
				}
			}
		}
	}
}

// TestBallots runs the instructions on ballots: the four words of one, and a lane's own bit in it.
func TestBallots(t *testing.T) {
	const lanes, size = 128, 64
	a := vmtest.Assemble([3]uint32{lanes, 1, 1})
	a.SubgroupSize = size
	index := a.Builtin(spirv.BuiltInLocalInvocationIndex, 0, false)
	masks := []spirv.BuiltIn{spirv.BuiltInSubgroupEqMask, spirv.BuiltInSubgroupGeMask, spirv.BuiltInSubgroupGtMask,
		spirv.BuiltInSubgroupLeMask, spirv.BuiltInSubgroupLtMask}
	local := a.Builtin(spirv.BuiltInSubgroupLocalInvocationId, 0, false)
	out := a.Slot(program.Slot{Kind: program.SlotBuffer})
	odd := a.Op(kernel.EqI32, a.Op(kernel.AndI32, index, a.Constant(1)), a.Constant(1))
	words := []program.Register{a.Varying(32), a.Varying(32), a.Varying(32), a.Varying(32)}
	var results []program.Register
	call := func(op program.SubgroupOp) {
		a.Emit(program.Inst{Code: program.CallSubgroup, Index: int32(len(a.Subgroups))})
		a.Subgroups = append(a.Subgroups, op)
	}
	call(program.SubgroupOp{Op: spirv.OpGroupNonUniformBallot, Type: typeBool, Value: []program.Register{odd}, Dst: words})
	results = append(results, words...)
	one := func(op program.SubgroupOp) {
		op.Value, op.Dst = words, []program.Register{a.Varying(32)}
		call(op)
		results = append(results, op.Dst[0])
	}
	one(program.SubgroupOp{Op: spirv.OpGroupNonUniformInverseBallot})
	one(program.SubgroupOp{Op: spirv.OpGroupNonUniformBallotBitExtract, Arg: local})
	one(program.SubgroupOp{Op: spirv.OpGroupNonUniformBallotBitCount, Operation: spirv.GroupOperationReduce})
	one(program.SubgroupOp{Op: spirv.OpGroupNonUniformBallotBitCount, Operation: spirv.GroupOperationInclusiveScan})
	one(program.SubgroupOp{Op: spirv.OpGroupNonUniformBallotBitCount, Operation: spirv.GroupOperationExclusiveScan})
	one(program.SubgroupOp{Op: spirv.OpGroupNonUniformBallotFindLSB})
	one(program.SubgroupOp{Op: spirv.OpGroupNonUniformBallotFindMSB})
	for _, m := range masks {
		results = append(results, a.Builtin(m, 0, false), a.Builtin(m, 1, false))
	}
	results = append(results, a.Builtin(spirv.BuiltInSubgroupId, 0, false), a.Builtin(spirv.BuiltInNumSubgroups, 0, true),
		a.Builtin(spirv.BuiltInSubgroupSize, 0, true))
	at := a.Op(kernel.MulI32, index, a.Constant(uint32(4*len(results))))
	for i, r := range results {
		a.Emit(program.Inst{Code: program.Access, Op: kernel.Store32, Index: out, A: at, B: r, Immediate: uint64(4 * i)})
	}
	got := make([]uint32, lanes*len(results))
	runMachine(t, ended(a), dispatch([3]uint32{1, 1, 1}, vmtest.Buffers{Words: [][]uint32{got}}))
	for i := range lanes {
		lane := i % size
		set := uint64(0xaaaaaaaaaaaaaaaa)
		has := uint32(truth(set>>lane&1 != 0))
		below := uint64(1)<<lane - 1
		eq := uint64(1) << lane
		want := []uint32{uint32(set), uint32(set >> 32), 0, 0, has, has, 32, uint32(bits.OnesCount64(set & (below | eq))),
			uint32(bits.OnesCount64(set & below)), 1, 63}
		for _, m := range []uint64{eq, ^below, ^below &^ eq, below | eq, below} {
			want = append(want, uint32(m), uint32(m>>32))
		}
		want = append(want, uint32(i/size), 2, size)
		for j, w := range want {
			if g := got[i*len(results)+j]; g != w {
				t.Errorf("lane %d: result %d is %#x, not %#x", i, j, g, w)
			}
		}
	}
}

// A reduction of 16-bit floats is rounded to 16 bits; where the result is the same in all lanes it may be uniform.
func TestSubgroupUniformAndHalf(t *testing.T) {
	a := vmtest.Assemble([3]uint32{32, 1, 1})
	index := a.Builtin(spirv.BuiltInLocalInvocationIndex, 0, false)
	value := a.Op(kernel.AddF32, a.Op(kernel.U32ToF32, index), a.Constant(math.Float32bits(1024)))
	sum := a.Uniform(32)
	a.Subgroups = []program.SubgroupOp{{Op: spirv.OpGroupNonUniformFAdd, Combines: true, Type: typeHalf,
		Operation: spirv.GroupOperationReduce, Value: []program.Register{value}, Dst: []program.Register{sum}}}
	a.Emit(program.Inst{Code: program.CallSubgroup})
	a.Store(a.Slot(program.Slot{Kind: program.SlotBuffer}), a.Constant(0), sum)
	words := make([]uint32, 1)
	runMachine(t, ended(a), dispatch([3]uint32{1, 1, 1}, vmtest.Buffers{Words: [][]uint32{words}}))
	if got := math.Float32frombits(words[0]); got != 33264 && got != 33280 { // 32*1024 + 496 is between two
		t.Errorf("the sum is %v", got)
	}
}

func BenchmarkSubgroup(b *testing.B) {
	for name, op := range map[string]program.SubgroupOp{
		"FAdd": {Op: spirv.OpGroupNonUniformFAdd, Type: typeFloat, Combines: true, Operation: spirv.GroupOperationReduce},
		"IAdd scan": {Op: spirv.OpGroupNonUniformIAdd, Type: typeUint, Combines: true,
			Operation: spirv.GroupOperationInclusiveScan},
		"Shuffle": {Op: spirv.OpGroupNonUniformShuffleXor, Type: typeUint},
		"Elect":   {Op: spirv.OpGroupNonUniformElect},
		"Any":     {Op: spirv.OpGroupNonUniformAny, Type: typeBool},
	} {
		a := vmtest.Assemble([3]uint32{256, 1, 1})
		op.Value, op.Arg, op.Dst = []program.Register{a.Builtin(spirv.BuiltInLocalInvocationIndex, 0, false)}, a.Constant(1),
			[]program.Register{a.Varying(32)}
		a.Subgroups = []program.SubgroupOp{op}
		for range 100 {
			a.Emit(program.Inst{Code: program.CallSubgroup})
		}
		p, d := ended(a), &Dispatch{Groups: [3]uint32{1, 1, 1}}
		b.Run(name, func(b *testing.B) {
			best := time.Duration(math.MaxInt64) // of the runs that nothing came between
			for b.Loop() {
				start := time.Now()
				if err := p.Run(d); err != nil {
					b.Fatal(err)
				}
				best = min(best, time.Since(start))
			}
			b.ReportMetric(float64(best.Nanoseconds())/(100*256), "ns/lane")
		})
	}
}

func f32(word uint32) float64 { return float64(math.Float32frombits(word)) }
