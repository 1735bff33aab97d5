package vm

import (
	"slices"
	"strings"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"farside/compute/internal/kernel"
	"farside/compute/internal/program"
	"farside/compute/internal/vmtest"
	"farside/spirv"
)

func ramp(n int, first, step uint32) []uint32 {
	words := make([]uint32, n)
	for i := range words {
		words[i] = first + uint32(i)*step
	}
	return words
}

// A shader that chooses the buffer in each lane: loads, lengths, and atomics into it.
func TestChosenBuffers(t *testing.T) {
	for _, uniform := range []bool{false, true} {
		a := vmtest.Assemble([3]uint32{20, 1, 1})
		a.Resources = []program.Resource{{Set: 1, Binding: 1, Name: "array"}}
		out := a.Slot(program.Slot{Kind: program.SlotBuffer})
		index := a.Builtin(spirv.BuiltInLocalInvocationIndex, 0, false)
		group := a.Builtin(spirv.BuiltInWorkgroupId, 0, true)
		chosen := a.Op(kernel.RemU32, a.Op(kernel.MulI32, index, a.Constant(7)), a.Constant(6))
		if uniform {
			chosen = group
		}
		value, length := a.Varying(32), a.Varying(32)
		at := a.Op(kernel.ShlI32, index, a.Constant(2))
		a.Emit(program.Inst{Code: program.Access, Dynamic: true, Op: kernel.Load32, C: chosen, Dst: value, A: at,
			Immediate: 4})
		a.Emit(program.Inst{Code: program.ArrayLength, Dynamic: true, C: chosen, Dst: length, Immediate: 4, Stride: 8})
		a.Emit(program.Inst{Code: program.Access, Dynamic: true, Op: kernel.AtomicAddI32, C: chosen, B: a.Constant(1)})
		a.Emit(program.Inst{Code: program.Access, Op: kernel.Store32, Index: out, A: at, B: value})
		a.Emit(program.Inst{Code: program.Access, Op: kernel.Store32, Index: out, A: at, B: length, Immediate: 80})
		words := make([]uint32, 40)
		elements := [][]uint32{ramp(30, 1000, 1), ramp(10, 2000, 1), nil, ramp(1, 3000, 1), ramp(20, 4000, 1)}
		runMachine(t, ended(a), &Dispatch{Base: [3]uint32{4}, Groups: [3]uint32{1, 1, 1},
			Environment: Environment{Bindings: vmtest.Buffers{Words: [][]uint32{words}, Elements: elements}}})
		var counts [6]uint32
		for i := range 20 {
			chosen := i * 7 % 6
			if uniform {
				chosen = 4
			}
			counts[chosen]++
			var value, length uint32
			if chosen < len(elements) && i+1 < len(elements[chosen]) {
				value = elements[chosen][i+1]
			}
			if chosen < len(elements) && len(elements[chosen]) > 0 {
				length = uint32(4*len(elements[chosen])-4) / 8
			}
			if words[i] != value || words[20+i] != length {
				t.Errorf("uniform %v, lane %d: buffer %d has %d and length %d, not %d and %d", uniform, i, chosen,
					words[i], words[20+i], value, length)
			}
		}
		for i, e := range elements {
			if len(e) > 0 && e[0]%1000 != counts[i] {
				t.Errorf("uniform %v: buffer %d counts %d, not %d", uniform, i, e[0]%1000, counts[i])
			}
		}
	}
}

func TestLengthOfSlot(t *testing.T) {
	a := vmtest.Assemble([3]uint32{9, 1, 1})
	out := a.Slot(program.Slot{Kind: program.SlotBuffer})
	length, long := a.Uniform(32), a.Varying(32)
	a.Emit(program.Inst{Code: program.ArrayLength, Index: out, Dst: length, Immediate: 8, Stride: 4})
	a.Emit(program.Inst{Code: program.ArrayLength, Index: out, Dst: long, Immediate: 1000, Stride: 4})
	at := a.Op(kernel.ShlI32, a.Builtin(spirv.BuiltInLocalInvocationIndex, 0, false), a.Constant(2))
	a.Store(out, at, a.Op(kernel.AddI32, length, long))
	words := make([]uint32, 10)
	runMachine(t, ended(a), dispatch([3]uint32{1, 1, 1}, vmtest.Buffers{Words: [][]uint32{words}}))
	if want := []uint32{8, 8, 8, 8, 8, 8, 8, 8, 8, 0}; !slices.Equal(words, want) {
		t.Errorf("lengths are %v, not %v", words, want)
	}
}

func TestPhysicalMemory(t *testing.T) {
	const first, second = 0x1000, 1 << 40
	for _, spread := range []uint32{4, 1 << 30} { // lanes in one buffer, or in several and in none
		a := vmtest.Assemble([3]uint32{16, 1, 1})
		a.Physical = true
		index := a.Builtin(spirv.BuiltInLocalInvocationIndex, 0, false)
		out := a.Slot(program.Slot{Kind: program.SlotBuffer})
		wide, base := a.Varying(64), a.Uniform(64)
		a.Constants = append(a.Constants, program.Constant{Register: base, Bits: first})
		step := a.Uniform(64)
		a.Constants = append(a.Constants, program.Constant{Register: step, Bits: uint64(spread)})
		a.Emit(program.Inst{Code: program.Kernel, Op: kernel.ZextI32I64, Dst: wide, A: index})
		product, addresses := a.Varying(64), a.Varying(64)
		a.Emit(program.Inst{Code: program.Kernel, Op: kernel.MulI64, Dst: product, A: wide, B: step})
		if spread > 4 { // lane 8 is 8<<30 + first; 1 << 40 is 1024 steps: multiply by 128
			by := a.Uniform(64)
			a.Constants = append(a.Constants, program.Constant{Register: by, Bits: 128})
			a.Emit(program.Inst{Code: program.Kernel, Op: kernel.MulI64, Dst: product, A: product, B: by})
		}
		a.Emit(program.Inst{Code: program.Kernel, Op: kernel.AddI64, Dst: addresses, A: product, B: base})
		value, one := a.Varying(32), a.Uniform(32)
		a.Emit(program.Inst{Code: program.AccessPhysical, Op: kernel.LoadPhysical32, Dst: value, A: addresses, Immediate: 4})
		a.Emit(program.Inst{Code: program.AccessPhysical, Op: kernel.LoadPhysical32, Dst: one, A: base, Immediate: 12})
		a.Emit(program.Inst{Code: program.AccessPhysical, Op: kernel.StorePhysical32, A: addresses, B: index,
			Immediate: 8 + 4*15})
		a.Emit(program.Inst{Code: program.AccessPhysical, Op: kernel.AtomicAddI32, A: addresses, B: a.Constant(5)})
		at := a.Op(kernel.ShlI32, index, a.Constant(2))
		a.Store(out, at, a.Op(kernel.AddI32, value, one))
		memory := map[uint64][]uint32{first: ramp(40, 100, 1), second + first: ramp(40, 500, 1)}
		before := memory[first][3]
		words := make([]uint32, 16)
		runMachine(t, ended(a), dispatch([3]uint32{1, 1, 1},
			vmtest.Buffers{Words: [][]uint32{words}, Addresses: memory}))
		for i, got := range words {
			want := before
			switch {
			case spread == 4:
				want += 101 + uint32(i)
				if i+17 < 40 && memory[first][i+17] != uint32(i) {
					t.Errorf("lane %d stored %d", i, memory[first][i+17])
				}
				if memory[first][i] != 105+uint32(i) {
					t.Errorf("lane %d's atomic gives %d", i, memory[first][i])
				}
			case i == 0:
				want += 101
			case i == 8:
				want += 501
				if memory[second+first][17] != 8 || memory[second+first][0] != 505 {
					t.Errorf("the second buffer has %v", memory[second+first])
				}
			}
			if got != want {
				t.Errorf("spread %d, lane %d: %d, not %d", spread, i, got, want)
			}
		}
	}
}

func TestPrivateArray(t *testing.T) {
	a := vmtest.Assemble([3]uint32{12, 1, 1})
	index := a.Builtin(spirv.BuiltInLocalInvocationIndex, 0, false)
	out := a.Slot(program.Slot{Kind: program.SlotBuffer})
	array := a.Varying(32)
	for range 2 {
		a.Varying(32)
	}
	for i := range uint32(3) { // each lane has 10*lane+i
		value := a.Op(kernel.AddI32, a.Op(kernel.MulI32, index, a.Constant(10)), a.Constant(i))
		a.Emit(program.Inst{Code: program.AccessPrivate, Op: kernel.StorePrivate32, A: a.Constant(i), B: value, C: array,
			Immediate: 3})
	}
	value := a.Varying(32)
	a.Emit(program.Inst{Code: program.AccessPrivate, Op: kernel.LoadPrivate32,
		A: a.Op(kernel.RemU32, index, a.Constant(4)), Dst: value, C: array, Immediate: 3})
	a.Store(out, a.Op(kernel.ShlI32, index, a.Constant(2)), value)
	words := make([]uint32, 12)
	p := ended(a)
	runMachine(t, p, dispatch([3]uint32{1, 1, 1}, vmtest.Buffers{Words: [][]uint32{words}}))
	for i, got := range words {
		want := uint32(10*i + i%4)
		if i%4 == 3 {
			want = 0
		}
		if got != want {
			t.Errorf("lane %d: %d, not %d", i, got, want)
		}
	}
}

// unmapped is bindings of memory that is not mapped any more.
type unmapped struct{ vmtest.Buffers }

func (u unmapped) Memory(set, binding, element uint32) kernel.Memory {
	page, err := unix.Mmap(-1, 0, 4096, unix.PROT_NONE, unix.MAP_ANON|unix.MAP_PRIVATE)
	if err != nil {
		panic(err)
	}
	return slice(page)
}

// Memory that the application took away ends the dispatch with an error, and the next one works.
func TestFaults(t *testing.T) {
	for _, op := range []kernel.Op{kernel.Load32, kernel.Store32, kernel.AtomicAddI32} {
		a := vmtest.Assemble([3]uint32{64, 1, 1})
		at := a.Op(kernel.ShlI32, a.Builtin(spirv.BuiltInLocalInvocationIndex, 0, false), a.Constant(2))
		a.Emit(program.Inst{Code: program.Access, Op: op, Index: a.Slot(program.Slot{Kind: program.SlotBuffer}), A: at, B: at,
			Dst: a.Varying(32)})
		p := ended(a)
		for _, groups := range []uint32{1, 1000} {
			err := p.Run(dispatch([3]uint32{groups, 1, 1}, unmapped{}))
			if err == nil || !strings.Contains(err.Error(), "memory fault at address 0x") {
				t.Errorf("the error is %v", err)
			}
			runMachine(t, p, dispatch([3]uint32{groups, 1, 1}, vmtest.Buffers{Words: [][]uint32{make([]uint32, 64)}}))
		}
	}
}

// wild is bindings that panic.
type wild struct{ vmtest.Buffers }

func (wild) Physical(uint64) (kernel.Memory, uint64, bool) { panic("wild") }

func TestPanicBecomesError(t *testing.T) {
	a := vmtest.Assemble([3]uint32{8, 1, 1})
	a.Emit(program.Inst{Code: program.AccessPhysical, Op: kernel.LoadPhysical32, A: a.Uniform(64), Dst: a.Uniform(32)})
	err := ended(a).Run(dispatch([3]uint32{1, 1, 1}, wild{}))
	if err == nil || !strings.Contains(err.Error(), "wild") {
		t.Errorf("the error is %v", err)
	}
}

// Copies between buffers by device address, of all widths, also beyond the end and in some lanes only.
func TestPhysicalCopies(t *testing.T) {
	const from, to, n = 0x10000, 0x7000000000, 1000
	for width, ops := range map[uint32][2]kernel.Op{1: {kernel.LoadPhysicalU8, kernel.StorePhysical8},
		2: {kernel.LoadPhysicalU16, kernel.StorePhysical16},
		4: {kernel.LoadPhysical32, kernel.StorePhysical32}, 8: {kernel.LoadPhysical64, kernel.StorePhysical64}} {
		for _, odd := range []bool{false, true} {
			a := vmtest.Assemble([3]uint32{40, 1, 1})
			a.Physical = true
			id := a.GlobalID(0)
			address := func(base uint64) program.Register {
				start, wide, sum := a.Uniform(64), a.Varying(64), a.Varying(64)
				a.Constants = append(a.Constants, program.Constant{Register: start, Bits: base})
				a.Emit(program.Inst{Code: program.Kernel, Op: kernel.ZextI32I64, Dst: wide,
					A: a.Op(kernel.MulI32, id, a.Constant(width))})
				a.Emit(program.Inst{Code: program.Kernel, Op: kernel.AddI64, Dst: sum, A: wide, B: start})
				return sum
			}
			source, target := address(from-16), address(to)
			counter := a.Uniform(64)
			a.Constants = append(a.Constants, program.Constant{Register: counter, Bits: to + 4*n - 4})
			value := a.Varying(32 * max(1, width/4))
			if odd {
				mask := a.Varying(32)
				a.Emit(program.Inst{Code: program.Split,
					A: a.Op(kernel.EqI32, a.Op(kernel.AndI32, id, a.Constant(1)), a.Constant(1)), Dst: mask})
				a.Flow(program.Inst{Code: program.Enter, Dst: mask}, "end")
			}
			a.Emit(program.Inst{Code: program.AccessPhysical, Op: ops[0], Dst: value, A: source, Immediate: 16})
			a.Emit(program.Inst{Code: program.AccessPhysical, Op: ops[1], A: target, B: value})
			a.Emit(program.Inst{Code: program.AccessPhysical, Op: kernel.AtomicAddI32, A: counter, B: a.Constant(1)})
			a.Label("end")
			groups := uint32(4*(n-2)) / width / 40 // all but the word that counts, or beyond it
			memory := map[uint64][]uint32{from: ramp(n-8, 0x01020304, 0x01010101), to: make([]uint32, n)}
			runMachine(t, ended(a), dispatch([3]uint32{groups, 1, 1}, vmtest.Buffers{Addresses: memory}))
			lanes := 40 * groups
			count := lanes
			if odd {
				count /= 2
			}
			if got := memory[to][n-1]; got != count {
				t.Errorf("width %d, odd %v: %d lanes counted, not %d", width, odd, got, count)
			}
			in, out := slice8(memory[from]), slice8(memory[to][:n-1])
			for i := range out {
				var want byte
				if lane := uint32(i) / width; i < len(in) && lane < lanes && (!odd || lane%2 == 1) {
					want = in[i]
				}
				if out[i] != want {
					t.Fatalf("width %d, odd %v: byte %d is %d, not %d", width, odd, i, out[i], want)
				}
			}
		}
	}
}

func slice8(words []uint32) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(&words[0])), 4*len(words))
}

func BenchmarkPhysical(b *testing.B) {
	a := vmtest.Assemble([3]uint32{256, 1, 1})
	id := a.GlobalID(0)
	wide, address, start, value := a.Varying(64), a.Varying(64), a.Uniform(64), a.Varying(32)
	a.Constants = append(a.Constants, program.Constant{Register: start, Bits: 1 << 20})
	a.Emit(program.Inst{Code: program.Kernel, Op: kernel.ZextI32I64, Dst: wide, A: a.Op(kernel.ShlI32, id, a.Constant(2))})
	a.Emit(program.Inst{Code: program.Kernel, Op: kernel.AddI64, Dst: address, A: wide, B: start})
	const n = 100
	for range n {
		a.Emit(program.Inst{Code: program.AccessPhysical, Op: kernel.LoadPhysical32, Dst: value, A: address})
	}
	p, d := ended(a), dispatch([3]uint32{1, 1, 1},
		vmtest.Buffers{Addresses: map[uint64][]uint32{1 << 20: make([]uint32, 256)}})
	best := time.Duration(1 << 62)
	for b.Loop() {
		start := time.Now()
		if err := p.Run(d); err != nil {
			b.Fatal(err)
		}
		best = min(best, time.Since(start))
	}
	b.ReportMetric(float64(best)/(n*256), "ns/lane")
}
