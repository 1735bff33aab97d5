package native

import (
	"bytes"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"runtime"
	"runtime/debug"
	"runtime/pprof"
	"slices"
	"sync"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"farside/compute/internal/kernel"
	"farside/compute/internal/ops"
	"farside/internal/ieee"
)

// machine is a register file and memories, for both ways to execute a run.
type machine struct {
	file  []byte
	data  [4][]byte
	slots [4]kernel.Memory
	mask  kernel.Register // none if all lanes take part
}

const (
	chunks    = 4
	registers = 24 // varying ones
	uniforms  = 12
	elements  = 3 // of the array of registers
	wides     = 8 // of 64 bits, varying and uniform
	wideFrom  = 32 * ((registers+elements)*chunks + uniforms)
	fileSize  = wideFrom + 64*wides*(chunks+1)
)

func aligned(n int) []byte {
	b := make([]byte, n+64)
	skip := int(-uintptr(unsafe.Pointer(&b[0])) & 63)
	return b[skip : skip+n]
}

func newMachine() *machine {
	m := &machine{file: aligned(fileSize + Scratch)}
	for i, n := range []int{4096, 100, 0, 4096} {
		m.data[i] = make([]byte, n+64)
		m.slots[i] = kernel.Memory{Base: unsafe.Pointer(&m.data[i][32]), Size: uint64(n)}
	}
	return m
}

func (m *machine) copy(o *machine) {
	copy(m.file, o.file)
	for i := range m.data {
		copy(m.data[i], o.data[i])
	}
}

func (m *machine) bind(r Register) kernel.Register {
	if !r.Valid {
		return kernel.Register{}
	}
	return kernel.Register{Base: unsafe.Pointer(&m.file[r.Offset]), Step: uintptr(r.Step)}
}

// someMasked has some of the lanes take part, in one of three runs, and gives the mode for it; else all do.
func (m *machine) someMasked(r *rand.Rand) Mode {
	if r.IntN(3) > 0 {
		return Plain
	}
	mask := make([]uint32, 8*chunks)
	for i := range mask {
		mask[i] = -uint32(r.IntN(2))
	}
	m.mask = kernel.Register{Base: unsafe.Pointer(&mask[0]), Step: 32}
	return Masked
}

// interpret executes a run by the kernels, as code does it: chunk by chunk, or pair by pair.
func (m *machine) interpret(run []Inst, first, n int, pairs bool) {
	m.pass(run, true, 0, 1)
	for at := first; at < first+n; {
		k := 1
		if pairs && at+1 < first+n {
			k = 2
		}
		m.pass(run, false, at, k)
		at += k
	}
}

// zeroWords are the offsets of an access that has none.
var zeroWords [8]uint32

func (m *machine) pass(run []Inst, once bool, chunk, n int) {
	for _, in := range run {
		if in.Once != once {
			continue
		}
		a := kernel.Args{Dst: m.bind(in.Dst), A: m.bind(in.A), B: m.bind(in.B), C: m.bind(in.C), Immediate: in.Immediate}
		if in.accesses() || in.Atomic() || in.Private() || in.Op == kernel.Load64 || in.Op == kernel.Store64 {
			if !in.Atomic() {
				a.C = kernel.Register{}
			} else if !in.A.Valid {
				a.A = kernel.Register{Base: unsafe.Pointer(&zeroWords)}
			}
			a.Memory = &m.slots[in.Slot]
			if in.Private() {
				a.Memory = &kernel.Memory{Base: m.bind(in.C).Base, Size: uint64(in.C.Step) * chunks * in.Immediate}
				if !in.A.Valid {
					a.A = kernel.Register{Base: unsafe.Pointer(&zeroWords)}
				}
			}
			if in.Base.Valid {
				a.Immediate += uint64(*(*uint32)(m.bind(in.Base).Base))
			}
		}
		if in.Physical() {
			a.Memory = &m.slots[3]
			a.Immediate -= physicalStart
		}
		if in.Stores() || in.movesMasked() && !in.Once {
			a.Mask = m.mask
		}
		kernel.Best().Ops[in.Op](&a, chunk, n)
	}
}

func varying(i int) Register { return Register{Offset: uint32(32 * chunks * i), Step: 32, Valid: true} }
func uniform(i int) Register {
	return Register{Offset: uint32(32 * (registers*chunks + i)), Valid: true}
}

func wideVarying(i int) Register {
	return Register{Offset: uint32(wideFrom + 64*chunks*i), Step: 64, Valid: true, Wide: true}
}

func wideUniform(i int) Register {
	return Register{Offset: uint32(wideFrom + 64*(chunks*wides+i)), Valid: true, Wide: true}
}

// element is an element of an array that runs access by indices alone.
func element(i int) Register {
	return Register{Offset: uint32(32 * ((registers+i)*chunks + uniforms)), Step: 32, Valid: true}
}

// operands is how many operands an operation has.
func operands(op kernel.Op) int {
	if supportsWide(op) {
		n := 0
		for _, a := range ops.Of(op).Args {
			if a.Type != ops.None {
				n++
			}
		}
		return max(n, 1)
	}
	if f, ok := simple[op]; ok {
		if f.unary {
			return 1
		}
		return 2
	}
	switch op {
	case kernel.Select32, kernel.FmaF32, kernel.MulAddF32, kernel.MulSubF32, kernel.SubMulF32:
		return 3
	case kernel.ShlI32, kernel.ShrU32, kernel.ShrS32, kernel.LtU32, kernel.LeU32, kernel.MinF32, kernel.MaxF32,
		kernel.DivU32, kernel.RemU32, kernel.DivS32, kernel.RemS32, kernel.ModS32, kernel.MulHighU32, kernel.MulHighS32,
		kernel.MulAddSat, kernel.LdexpF32, kernel.PowF32, kernel.RemF32, kernel.ModF32, kernel.Atan2F32:
		return 2
	}
	return 1
}

var interesting = []uint32{0, 1, 2, 3, 31, 32, 0x7fffffff, 0x80000000, 0xffffffff, 0x3f800000, 0xbf800000, 0x7f800000,
	0xff800000,
	0x7fc00001, 0xffc12345, 0x7f812345, 0x00000001, 0x80000001, 0x4f000000, 0x4effffff, 0xcf000000, 0x00800000, 0x7f7fffff}

func word(r *rand.Rand) uint32 {
	switch r.IntN(4) {
	case 0:
		return interesting[r.IntN(len(interesting))]
	case 1:
		return uint32(r.IntN(256))
	case 2:
		return math.Float32bits(float32(r.NormFloat64()))
	}
	return r.Uint32()
}

// supported are the operations that there is code for, but for loads and stores.
func supported() []kernel.Op {
	var list []kernel.Op
	for op := range kernel.NumOps {
		if in := (Inst{Op: op}); Supports(&in) && ops.Of(op).Space == ops.SpaceNone {
			list = append(list, op)
		}
	}
	return list
}

// narrow is the load or store of so many bytes.
func narrow(op kernel.Op, bytes int) kernel.Op {
	if op == kernel.Store32 {
		return []kernel.Op{1: kernel.Store8, 2: kernel.Store16, 4: op}[bytes]
	}
	return []kernel.Op{1: kernel.LoadU8, 2: kernel.LoadU16, 4: op}[bytes]
}

// randomRun is a run whose loads and stores find what their pattern says: register 0 is linear, its lanes so many words
// apart, and others become so, 1 is the same in each chunk, 2 and 3 anything, and the last is a mask. If straight, all
// accesses are linear, and none is of what another chunk stores: in which order chunks do that is not said. small is
// the load of 8 or 16 bits for which the lanes of the linear registers are one after the other; it is 0 where they are
// words.
func randomRun(r *rand.Rand, some []kernel.Op, size int, straight bool, words uint8, small kernel.Op) []Inst {
	var once, each []Inst
	linear := []Register{varying(0)}
	stores := uint64(0)
	any := func() Register {
		if r.IntN(4) == 0 {
			return uniform(r.IntN(uniforms))
		}
		return varying(r.IntN(registers))
	}
	for len(once)+len(each) < size {
		in, sum := Inst{Op: some[r.IntN(len(some))], Keep: r.IntN(3) == 0}, false
		switch r.IntN(5) {
		case 0:
			in.Op = kernel.Load32
		case 1:
			if r.IntN(3) == 0 && !(straight && stores == 3) {
				in.Op = kernel.Store32
			}
		}
		if in.accesses() {
			in.Slot = int32(r.IntN(3))
			in.Immediate = uint64(r.IntN(64))
			switch {
			case straight && in.Op == kernel.Load32:
				in.Slot = 3
			case straight:
				in.Slot, in.Immediate = 0, 1312*stores
				stores++
			case r.IntN(16) == 0:
				in.Immediate = uint64(r.IntN(5000))
			}
			if r.IntN(2) == 0 {
				in.Base = uniform(0)
			}
			pattern := r.IntN(4)
			if straight {
				pattern = 0
			}
			switch pattern {
			case 0, 1:
				in.A, in.Pattern, in.Words = linear[r.IntN(len(linear))], Consecutive, words
				if straight || r.IntN(3) > 0 {
					in.Pattern = Linear
				}
				switch {
				case small == kernel.LoadU8:
					in.Op, in.Words = narrow(in.Op, 1), 0
				case small == kernel.LoadU16:
					in.Op, in.Words = narrow(in.Op, 2), 0
				case !straight:
					in.Op = narrow(in.Op, 1<<r.IntN(3))
				}
			case 2:
				in.A, in.Pattern = varying(1), Same
				in.Op = narrow(in.Op, 1<<r.IntN(3))
			case 3:
				in.A = varying(2 * r.IntN(2))
				in.Op = narrow(in.Op, 1<<r.IntN(3))
			}
			if in.Stores() {
				in.B, in.Stream = any(), in.Op == kernel.Store32 && r.IntN(2) == 0
			} else {
				in.Dst = varying(3 + r.IntN(registers-4))
			}
			if !straight && r.IntN(6) == 0 {
				private := Inst{Op: kernel.LoadPrivate32, C: element(r.IntN(2)), Dst: in.Dst, Keep: in.Keep, Apart: 32 * chunks}
				private.Immediate = elements - uint64(private.C.Offset-element(0).Offset)/(32*chunks)
				private.A = []Register{varying(registers - 2), uniform(uniforms - 2)}[r.IntN(2)]
				if in.Stores() {
					private.Op, private.B = kernel.StorePrivate32, in.B
				}
				in = private
			} else if !in.Stores() && r.IntN(8) == 0 {
				in.Once, in.Pattern, in.Words, in.A, in.Dst = true, Same, 0, uniform(r.IntN(2)), uniform(2+r.IntN(uniforms-3))
			}
		} else {
			n := operands(in.Op)
			in.Once = r.IntN(6) == 0
			pick := any
			if in.Once {
				pick = func() Register { return uniform(r.IntN(uniforms)) }
			}
			in.A = pick()
			if n > 1 {
				in.B = pick()
			}
			if n > 2 {
				in.C = pick()
			}
			in.Dst = varying(3 + r.IntN(registers-4))
			mask := varying(registers - 1)
			if in.Once {
				in.Dst, mask = uniform(2+r.IntN(uniforms-3)), uniform(uniforms-1)
			}
			switch in.Op {
			case kernel.Select32:
				in.C = mask
			case kernel.MaskToI32:
				in.A = mask
			}
			if !in.Once && r.IntN(4) == 0 {
				in.Op, in.A, in.B, in.C = kernel.AddI32, linear[r.IntN(len(linear))], uniform(0), Register{}
				sum = true
			}
			if supportsWide(in.Op) {
				widen(r, &in)
			}
			if in.Op == kernel.MulAddSat {
				in.Immediate = []uint64{1, 4, 64, 12, 0, 1 << 31, math.MaxUint32, 20}[r.IntN(8)]
			}
		}
		linear = slices.DeleteFunc(linear, func(l Register) bool { return l == in.Dst })
		if sum {
			linear = append(linear, in.Dst)
		}
		if in.Once {
			once = append(once, in)
		} else {
			each = append(each, in)
		}
	}
	run := append(once, each...)
	return run
}

// widen gives an instruction the registers of 64 bits that its operation takes.
func widen(r *rand.Rand, in *Inst) {
	info, moves := ops.Of(in.Op), in.Op == kernel.MoveMasked64
	for i, o := range []*Register{&in.A, &in.B, &in.C} {
		switch {
		case info.Args[i].Type.Width() != 64 && !(moves && i == 0):
		case in.Once || r.IntN(4) == 0:
			*o = wideUniform(r.IntN(wides))
		default:
			*o = wideVarying(r.IntN(wides))
		}
	}
	switch {
	case info.Result.Width() != 64 && !moves:
	case in.Once:
		in.Dst = wideUniform(1 + r.IntN(wides-1))
	default:
		in.Dst = wideVarying(r.IntN(wides))
	}
	switch in.Op {
	case kernel.Select64:
		in.C = varying(registers - 1)
		if in.Once {
			in.C = uniform(uniforms - 1)
		}
	case kernel.ShlI64, kernel.ShrU64, kernel.ShrS64:
		if in.B == wideUniform(0) {
			in.Count = wideCount + 1
		}
	}
}

// wideCount is in the first uniform register of 64 bits, which nothing writes.
const wideCount = 37

// compare compares what a run has to have written: registers that are kept, and memory.
func compare(t *testing.T, run []Inst, got, want *machine) {
	t.Helper()
	last := map[Register]*Inst{}
	for i := range run {
		if run[i].Dst.Valid {
			last[run[i].Dst] = &run[i]
		}
	}
	check := func(r Register) {
		if in := last[r]; in != nil && !in.Keep && !in.Once {
			return
		}
		n := 32
		if r.Step > 0 {
			n = int(r.Step) * chunks
		} else if r.Wide {
			n = 64
		}
		if g, w := got.file[r.Offset:int(r.Offset)+n], want.file[r.Offset:int(r.Offset)+n]; !bytes.Equal(g, w) {
			for i, in := range run {
				t.Logf("%2d %+v", i, in)
			}
			t.Fatalf("register %+v, written by %+v, is\n%x, not\n%x", r, last[r], g, w)
		}
	}
	for i := range registers {
		check(varying(i))
	}
	for i := range uniforms {
		check(uniform(i))
	}
	for i := range wides {
		check(wideVarying(i))
		check(wideUniform(i))
	}
	if g, w := got.file[element(0).Offset:wideFrom], want.file[element(0).Offset:wideFrom]; !bytes.Equal(g, w) {
		t.Fatalf("the array is\n%x, not\n%x", g, w)
	}
	for i := range got.data {
		if !bytes.Equal(got.data[i], want.data[i]) {
			for i, in := range run {
				t.Logf("%2d %+v", i, in)
			}
			at := 0
			for got.data[i][at] == want.data[i][at] {
				at++
			}
			t.Fatalf("memory %d at offset %d is\n%x, not\n%x", i, at-32, got.data[i][at:], want.data[i][at:])
		}
	}
}

var interestingWide = []uint64{0, 1, 63, 64, 1 << 31, 1 << 32, 1 << 63, math.MaxInt64, math.MaxUint64, 1<<63 | 1,
	math.Float64bits(1), math.Float64bits(-1.5), 0x7ff << 52, 0xfff << 52, 0x7ff8000000000001, 0xfff8123456789abc,
	0x7ff0123456789abc, math.Float64bits(math.MaxInt32 + 0.5), math.Float64bits(math.MinInt32 - 1),
	math.Float64bits(math.MaxUint32), math.Float64bits(1 << 32), math.Float64bits(1e300), 1, math.Float64bits(0.5)}

func fillWide(r *rand.Rand, m *machine) {
	list := unsafe.Slice((*uint64)(unsafe.Pointer(&m.file[wideFrom])), (fileSize-wideFrom)/8)
	for i := range list {
		switch r.IntN(4) {
		case 0:
			list[i] = interestingWide[r.IntN(len(interestingWide))]
		case 1:
			list[i] = r.Uint64() >> r.IntN(64)
		case 2:
			list[i] = math.Float64bits(r.NormFloat64() * math.Ldexp(1, r.IntN(80)-40))
		default:
			list[i] = r.Uint64()
		}
		if at := i - 8*chunks*wides; at >= 0 {
			list[i] = list[i-at%8]
			if at < 8 {
				list[i] = wideCount
			}
		}
	}
}

// TestTooMuchCode has no room for the code of random runs, from some byte on: an error, whatever is left out.
func TestTooMuchCode(t *testing.T) {
	need(t)
	defer func(old int) { mostCode = old }(mostCode)
	all := supported()
	for seed := range uint64(1000) {
		r := rand.New(rand.NewPCG(seed, 2))
		run := randomRun(r, all, 1+r.IntN(40), r.IntN(2) == 0, 1, 0)
		options := Options{Scratch: fileSize, Masked: true, Narrow: r.IntN(3) == 0}
		mostCode = 1 << 20
		if _, err := Compile([][]Inst{slices.Clone(run)}, options); err != nil {
			t.Fatal(err)
		}
		mostCode = 1 + r.IntN(200)
		if code, err := Compile([][]Inst{slices.Clone(run), run}, options); err == nil && code.fence > mostCode+16 {
			t.Fatalf("seed %d: %d bytes, not %d", seed, code.fence, mostCode)
		}
	}
}

// TestRuns compares random runs with the kernels.
func TestRuns(t *testing.T) {
	need(t)
	defer ieee.Leave(ieee.Enter())
	all := supported()
	if len(all) < 110 {
		t.Fatal("operations with code:", len(all))
	}
	var inPairs []kernel.Op // that there is code for two chunks at once for
	for _, op := range all {
		if in := (Inst{Op: op, Dst: varying(3)}); in.Pairs() {
			inPairs = append(inPairs, op)
		}
	}
	if len(inPairs) < 180 {
		t.Fatal("operations with code for two chunks at once:", len(inPairs))
	}
	has := avx512()
	defer func(old func() bool) { avx512 = old }(avx512)
	written, planned := 0, 0
	for seed := range uint64(4000) {
		r := rand.New(rand.NewPCG(seed, 1))
		some, straight := all, r.IntN(4) == 0
		if straight || r.IntN(2) == 0 {
			some = inPairs
		}
		words := uint8(1)
		if !straight && r.IntN(2) == 0 {
			words += uint8(r.IntN(MostWords))
		}
		unit, small := 4*uint32(words), kernel.Op(0)
		if !straight && words == 1 && r.IntN(4) == 0 {
			unit = 1 + uint32(r.IntN(2))
			small = []kernel.Op{0, kernel.LoadU8, kernel.LoadU16}[unit]
		}
		run := randomRun(r, some, 1+r.IntN(40), straight, words, small)
		use := has && r.IntN(4) > 0
		avx512 = func() bool { return use }
		each := slices.DeleteFunc(slices.Clone(run), func(in Inst) bool { return in.Once })
		single := r.IntN(3) == 0
		pairs := use && !single && !slices.ContainsFunc(each, func(in Inst) bool { return !in.Pairs() })
		if pairs {
			written++
			if p := newPlan(each, len(pointers)-1); len(p.ways) > 0 {
				planned++
			}
		}
		code, err := Compile([][]Inst{slices.Clone(run)}, Options{Scratch: fileSize, Masked: true, Narrow: single})
		if err != nil {
			t.Fatal(err)
		}
		got, want := newMachine(), newMachine()
		for i := 0; i < fileSize; i += 4 {
			*(*uint32)(unsafe.Pointer(&got.file[i])) = word(r)
		}
		fillWide(r, got)
		for _, d := range got.data {
			for i := range d {
				d[i] = byte(r.Uint32())
			}
		}
		start := uint32(r.IntN(4000))
		if straight {
			start = start / 5 &^ (uint32(r.IntN(2)) * 31)
		}
		if r.IntN(8) == 0 {
			start = -uint32(r.IntN(200))
		}
		lanes := func(i int) []uint32 {
			return unsafe.Slice((*uint32)(unsafe.Pointer(&got.file[varying(i).Offset])), 8*chunks)
		}
		for lane := range 8 * chunks {
			lanes(0)[lane] = start + unit*uint32(lane)
			lanes(1)[lane] = uint32(lane / 8 * 52)
			lanes(2)[lane] = uint32(r.IntN(4200))
			lanes(registers - 2)[lane] = []uint32{0, 1, 2, 3, r.Uint32()}[r.IntN(5)]
			lanes(registers - 1)[lane] = -uint32(r.IntN(2))
		}
		// Uniform registers hold eight copies.
		for i := range uniforms {
			u := unsafe.Slice((*uint32)(unsafe.Pointer(&got.file[uniform(i).Offset])), 8)
			switch i {
			case 0, 1:
				u[0] = uint32(r.IntN(300))
			case uniforms - 2:
				u[0] = []uint32{0, 1, 2, 3, r.Uint32()}[r.IntN(5)]
			case uniforms - 1:
				u[0] = -uint32(r.IntN(2))
			}
			for k := range u {
				u[k] = u[0]
			}
		}
		want.copy(got)
		first := r.IntN(chunks)
		n := r.IntN(chunks - first + 1)
		mode := Mode(r.IntN(3))
		if mode == Masked {
			words := make([]uint32, 8*chunks)
			for i := range words {
				words[i] = -uint32(r.IntN(2))
			}
			want.mask = kernel.Register{Base: unsafe.Pointer(&words[0]), Step: 32}
		}
		code.Run(0, mode, unsafe.Pointer(&got.file[0]), &got.slots[0], want.mask.Base, first, n)
		if mode == Streaming {
			code.Fence()
		}
		byChunk := newMachine()
		byChunk.copy(want)
		byChunk.mask = want.mask
		want.interpret(run, first, n, pairs)
		if mode == Masked && pairs {
			// Code with ways goes chunk by chunk then, which shows where lanes store to the same place.
			byChunk.interpret(run, first, n, false)
			if slices.EqualFunc(got.data[:], byChunk.data[:], bytes.Equal) {
				want = byChunk
			}
		}
		t.Run(fmt.Sprint(seed), func(t *testing.T) { compare(t, run, got, want) })
		if t.Failed() {
			return
		}
	}
	if has && (written < 1000 || planned < 300) {
		t.Errorf("%d of the runs are for pairs of chunks, %d of them with ways", written, planned)
	}
}

func need(t *testing.T) {
	if kernel.Best().Name != "avx2" {
		t.Skip("needs a processor with AVX2")
	}
}

// TestFault shows that a fault in the code is a panic of who called it, and that the code can be used again.
func TestFault(t *testing.T) {
	need(t)
	gone, err := unix.Mmap(-1, 0, 4096, unix.PROT_NONE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Munmap(gone)
	code, err := Compile([][]Inst{{
		{Op: kernel.Load32, A: varying(0), Dst: varying(1), Slot: 0, Pattern: Consecutive, Keep: true},
		{Op: kernel.Store32, A: varying(0), B: varying(1), Slot: 1, Pattern: Consecutive},
	}}, Options{Scratch: fileSize})
	if err != nil {
		t.Fatal(err)
	}
	m := newMachine()
	whole := m.slots
	for i := range 2 {
		m.slots = whole
		m.slots[i] = kernel.Memory{Base: unsafe.Pointer(&gone[0]), Size: 4096}
		m.slots[1-i] = whole[0]
		func() {
			defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
			defer func() {
				fault, ok := recover().(interface{ Addr() uintptr })
				if !ok || fault.Addr() != uintptr(unsafe.Pointer(&gone[0])) {
					t.Errorf("access %d: the panic is %v, %v", i, fault, ok)
				}
			}()
			code.Run(0, Plain, unsafe.Pointer(&m.file[0]), &m.slots[0], nil, 0, chunks)
		}()
	}
	m.slots = whole
	copy(m.data[0][32:], "here")
	m.slots[1] = whole[0]
	code.Run(0, Plain, unsafe.Pointer(&m.file[0]), &m.slots[0], nil, 0, chunks)
	if got := string(m.file[32*chunks:][:4]); got != "here" {
		t.Errorf("after the faults %q is loaded", got)
	}
}

// TestSignals runs code while the collector and profiler interrupt it.
func TestSignals(t *testing.T) {
	need(t)
	var run []Inst
	for i := range 200 {
		run = append(run, Inst{Op: kernel.AddI32, A: varying(i % 20), B: varying(i % 7), Dst: varying((i + 1) % 20),
			Keep: true})
	}
	code, err := Compile([][]Inst{run}, Options{Scratch: fileSize})
	if err != nil {
		t.Fatal(err)
	}
	if err := pprof.StartCPUProfile(io.Discard); err != nil {
		t.Fatal(err)
	}
	defer pprof.StopCPUProfile()
	var wg sync.WaitGroup
	for range 3 {
		wg.Go(func() {
			m := newMachine()
			for i := range m.file {
				m.file[i] = byte(i)
			}
			want := newMachine()
			want.copy(m)
			want.interpret(run, 0, chunks, false)
			before := newMachine()
			before.copy(m)
			for end := time.Now().Add(300 * time.Millisecond); time.Now().Before(end); {
				copy(m.file, before.file)
				code.Run(0, Plain, unsafe.Pointer(&m.file[0]), &m.slots[0], nil, 0, chunks)
				if !bytes.Equal(m.file[:fileSize], want.file[:fileSize]) {
					t.Error("a run that was interrupted has other results")
					return
				}
			}
		})
	}
	done := make(chan bool)
	go func() { wg.Wait(); close(done) }()
	for {
		select {
		case <-done:
			return
		default:
			runtime.GC()
		}
	}
}
