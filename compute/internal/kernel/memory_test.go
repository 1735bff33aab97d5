package kernel

import (
	little "encoding/binary"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"unsafe"
)

// space is memory between guards.
type space struct {
	words  []uint64
	before []byte // what was in the memory
	memory Memory
}

const guard = 64 // bytes before and behind the memory

func newSpace(random *rand.Rand, size, skip int) *space {
	s := &space{words: make([]uint64, (2*guard+size+skip)/8+2)}
	for i := range s.words {
		s.words[i] = random.Uint64()
	}
	s.memory = Memory{Base: unsafe.Add(unsafe.Pointer(&s.words[0]), guard+skip), Size: uint64(size)}
	s.before = slices.Clone(s.bytes())
	return s
}

// bytes is the memory with the guards.
func (s *space) bytes() []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(&s.words[0])), 8*len(s.words))
}

// getWord and putWord are a word's bytes.
func getWord(b []byte, size int) uint64 {
	var word [8]byte
	copy(word[:], b[:size])
	return little.LittleEndian.Uint64(word[:])
}

func putWord(b []byte, size int, value uint64) {
	var word [8]byte
	little.LittleEndian.PutUint64(word[:], value)
	copy(b[:size], word[:])
}

// offsets are those of a chunk, in one of the shapes that shaders have.
func offsets(random *rand.Rand, size, unit int, set func(lane int, offset uint32)) {
	first := uint32(random.IntN(size+1)/unit*unit + unit*(random.IntN(3)-1))
	shape := random.IntN(7)
	for lane := range Width {
		switch shape {
		case 0:
			set(lane, first)
		case 1, 2:
			set(lane, first+uint32(lane*unit))
		case 3:
			set(lane, first+uint32(2*lane*unit))
		case 4:
			set(lane, first-uint32(lane*unit))
		case 5:
			set(lane, random.Uint32())
		default:
			set(lane, uint32(random.IntN(size+unit)/unit*unit))
		}
	}
}

type access struct {
	op       Op
	size     int // bytes in memory
	bits     int // of a lane
	store    bool
	physical bool
	atomic   func(old, b, c uint64) uint64
}

func accesses() map[string]access {
	all := map[string]access{
		"LoadU8": {op: LoadU8, size: 1, bits: 32}, "LoadU16": {op: LoadU16, size: 2, bits: 32},
		"Load32": {op: Load32, size: 4, bits: 32}, "Load64": {op: Load64, size: 8, bits: 64},
		"Store8": {op: Store8, size: 1, bits: 32, store: true}, "Store16": {op: Store16, size: 2, bits: 32, store: true},
		"Store32": {op: Store32, size: 4, bits: 32, store: true}, "Store64": {op: Store64, size: 8, bits: 64, store: true},
	}
	physical := map[Op]Op{
		LoadU8: LoadPhysicalU8, LoadU16: LoadPhysicalU16, Load32: LoadPhysical32, Load64: LoadPhysical64,
		Store8: StorePhysical8, Store16: StorePhysical16, Store32: StorePhysical32, Store64: StorePhysical64,
	}
	for name, a := range maps.Clone(all) {
		a.op = physical[a.op]
		a.physical = true
		all["Physical"+name] = a
	}
	f32 := func(f func(a, b float32) float32) func(old, b, c uint64) uint64 {
		return func(old, b, c uint64) uint64 {
			return uint64(math.Float32bits(f(math.Float32frombits(uint32(old)), math.Float32frombits(uint32(b)))))
		}
	}
	f64 := func(f func(a, b float64) float64) func(old, b, c uint64) uint64 {
		return func(old, b, c uint64) uint64 {
			return math.Float64bits(f(math.Float64frombits(old), math.Float64frombits(b)))
		}
	}
	for _, x := range []struct {
		op32, op64 Op
		of         func(old, b, c uint64) uint64
	}{
		{AtomicExchange32, AtomicExchange64, func(old, b, c uint64) uint64 { return b }},
		{AtomicCompareExchange32, AtomicCompareExchange64, func(old, b, c uint64) uint64 { return choose(old == c, b, old) }},
		{AtomicAddI32, AtomicAddI64, func(old, b, c uint64) uint64 { return old + b }},
		{AtomicMinU32, AtomicMinU64, func(old, b, c uint64) uint64 { return min(old, b) }},
		{AtomicMaxU32, AtomicMaxU64, func(old, b, c uint64) uint64 { return max(old, b) }},
		{AtomicAnd32, AtomicAnd64, func(old, b, c uint64) uint64 { return old & b }},
		{AtomicOr32, AtomicOr64, func(old, b, c uint64) uint64 { return old | b }},
		{AtomicXor32, AtomicXor64, func(old, b, c uint64) uint64 { return old ^ b }},
	} {
		all[x.op32.String()] = access{op: x.op32, size: 4, bits: 32, atomic: x.of}
		all[x.op64.String()] = access{op: x.op64, size: 8, bits: 64, atomic: x.of}
	}
	signed := func(f func(a, b int64) int64, extend func(uint64) int64) func(old, b, c uint64) uint64 {
		return func(old, b, c uint64) uint64 { return uint64(f(extend(old), extend(b))) }
	}
	lesser, greater := func(a, b int64) int64 { return min(a, b) }, func(a, b int64) int64 { return max(a, b) }
	narrow, wide := func(a uint64) int64 { return int64(int32(a)) }, func(a uint64) int64 { return int64(a) }
	all["AtomicMinS32"] = access{op: AtomicMinS32, size: 4, bits: 32, atomic: signed(lesser, narrow)}
	all["AtomicMaxS32"] = access{op: AtomicMaxS32, size: 4, bits: 32, atomic: signed(greater, narrow)}
	all["AtomicMinS64"] = access{op: AtomicMinS64, size: 8, bits: 64, atomic: signed(lesser, wide)}
	all["AtomicMaxS64"] = access{op: AtomicMaxS64, size: 8, bits: 64, atomic: signed(greater, wide)}
	all["AtomicAddF32"] = access{op: AtomicAddF32, size: 4, bits: 32, atomic: f32(func(a, b float32) float32 {
		return a + b
	})}
	all["AtomicMinF32"] = access{op: AtomicMinF32, size: 4, bits: 32, atomic: f32(Least[float32])}
	all["AtomicMaxF32"] = access{op: AtomicMaxF32, size: 4, bits: 32, atomic: f32(Greatest[float32])}
	all["AtomicAddF64"] = access{op: AtomicAddF64, size: 8, bits: 64, atomic: f64(func(a, b float64) float64 {
		return a + b
	})}
	all["AtomicMinF64"] = access{op: AtomicMinF64, size: 8, bits: 64, atomic: f64(Least[float64])}
	all["AtomicMaxF64"] = access{op: AtomicMaxF64, size: 8, bits: 64, atomic: f64(Greatest[float64])}
	return all
}

// Accesses do to memory and registers what a model of bytes says, lane after lane, and nothing beyond the memory.
func TestAccesses(t *testing.T) {
	for _, s := range sets() {
		for name, a := range accesses() {
			t.Run(s.Name+"/"+name, func(t *testing.T) {
				random := rand.New(rand.NewPCG(4, uint64(a.op)))
				for round := range 400 {
					if round%2 == 1 && a.atomic != nil {
						a.check(t, Unshared(a.op), random)
					} else {
						a.check(t, s.Ops[a.op], random)
					}
					if t.Failed() {
						return
					}
				}
			})
		}
	}
}

func (a access) check(t *testing.T, kernel Func, random *rand.Rand) {
	size := random.IntN(400)
	if random.IntN(8) == 0 {
		size = random.IntN(a.size + 1)
	}
	m := newSpace(random, size, random.IntN(2)*4)
	f := newFile()
	args := Args{Memory: &m.memory}
	bitsA := 32
	if a.physical {
		bitsA = 64
	}
	if random.IntN(2) == 0 {
		args.Immediate = uint64(random.IntN(40))
	}
	if random.IntN(20) == 0 {
		args.Immediate = random.Uint64() >> random.IntN(64)
	}
	if random.IntN(3) == 0 {
		args.Mask = f.register(32, false)
		fill(args.Mask, 32, func() uint64 { return value(random, kindMask) })
	}
	args.A = f.register(bitsA, random.IntN(4) == 0)
	for chunk := range chunks {
		offsets(random, size, choose(random.IntN(10) == 0, 1, a.size), func(lane int, offset uint32) {
			value := uint64(offset)
			if a.physical {
				value = uint64(int64(int32(offset))) - args.Immediate*uint64(random.IntN(2))
			}
			if args.A.Step == 0 && lane > 0 {
				value = get(args.A, bitsA, 0, 0)
			}
			set(args.A, bitsA, chunk, lane, value)
		})
	}
	args.B, args.C = f.register(a.bits, random.IntN(4) == 0), f.register(a.bits, false)
	fill(args.B, a.bits, func() uint64 { return random.Uint64() >> random.IntN(64) })
	fill(args.C, a.bits, func() uint64 { return random.Uint64() >> random.IntN(64) })
	dst := f.register(a.bits, false)
	fill(dst, a.bits, random.Uint64)
	if !a.store && (a.atomic == nil || random.IntN(3) > 0) {
		args.Dst = dst
	}
	first := random.IntN(chunks)
	n := random.IntN(chunks - first + 1)

	model := slices.Clone(m.before)
	base := int(uintptr(m.memory.Base) - uintptr(unsafe.Pointer(&m.words[0])))
	var want [chunks][Width]uint64
	for chunk := range chunks {
		for lane := range Width {
			want[chunk][lane] = get(dst, a.bits, chunk, lane)
			if chunk < first || chunk >= first+n || args.Mask.Base != nil && get(args.Mask, 32, chunk, lane) == 0 {
				continue
			}
			offset := get(args.A, bitsA, chunk, lane) + args.Immediate
			inside := uint64(size) >= uint64(a.size) && offset <= uint64(size-a.size)
			if !a.physical && args.Immediate > uint64(size) {
				inside = false // the sum is not modulo 2^64
			}
			if a.atomic != nil && (uint64(base)+offset)%uint64(a.size) != 0 {
				inside = false
			}
			var old uint64
			if inside {
				at := model[base+int(offset):]
				old = getWord(at, a.size)
				b, c := get(args.B, a.bits, chunk, lane), get(args.C, a.bits, chunk, lane)
				if a.store {
					putWord(at, a.size, b)
				} else if a.atomic != nil {
					putWord(at, a.size, a.atomic(old, b, c))
				}
			}
			if args.Dst.Base != nil {
				want[chunk][lane] = old
			}
		}
	}
	kernel(&args, first, n)
	for chunk := range chunks {
		for lane := range Width {
			if got := get(dst, a.bits, chunk, lane); got != want[chunk][lane] {
				t.Fatalf("chunk %d (%d from %d), lane %d, at %#x+%#x of %d bytes: %#x, want %#x", chunk, n, first, lane,
					get(args.A, bitsA, chunk, lane), args.Immediate, size, got, want[chunk][lane])
			}
		}
	}
	if !slices.Equal(model, m.bytes()) {
		t.Fatalf("memory of %d bytes from byte %d on is\n%x, want\n%x", size, base, m.bytes(), model)
	}
}

// An array of registers: each lane has an element of its own for each index.
func TestPrivateMemory(t *testing.T) {
	for _, s := range sets() {
		for _, bits := range []int{32, 64} {
			load, store := s.Ops[LoadPrivate32], s.Ops[StorePrivate32]
			if bits == 64 {
				load, store = s.Ops[LoadPrivate64], s.Ops[StorePrivate64]
			}
			random := rand.New(rand.NewPCG(5, uint64(bits)))
			for round := range 200 {
				const count = 5
				f := newFile()
				array := make([]Register, count)
				for i := range array {
					array[i] = f.register(bits, false)
					fill(array[i], bits, random.Uint64)
				}
				memory := Memory{Base: array[0].Base, Size: uint64(count * room * bits)}
				args := Args{Memory: &memory, Immediate: count}
				args.A = f.register(32, round%4 == 0)
				fill(args.A, 32,
					func() uint64 { return choose(random.IntN(8) == 0, random.Uint64(), uint64(random.IntN(count+1))) })
				if round%2 == 1 {
					args.Mask = f.register(32, false)
					fill(args.Mask, 32, func() uint64 { return value(random, kindMask) })
				}
				args.B = f.register(bits, round%3 == 0)
				fill(args.B, bits, random.Uint64)
				dst := f.register(bits, false)
				fill(dst, bits, random.Uint64)
				first := random.IntN(chunks)
				n := random.IntN(chunks - first + 1)
				var loaded [chunks][Width]uint64
				var stored [count][chunks][Width]uint64
				for chunk := range chunks {
					for lane := range Width {
						for i := range array {
							stored[i][chunk][lane] = get(array[i], bits, chunk, lane)
						}
						loaded[chunk][lane] = get(dst, bits, chunk, lane)
						if chunk < first || chunk >= first+n || args.Mask.Base != nil && get(args.Mask, 32, chunk, lane) == 0 {
							continue
						}
						loaded[chunk][lane] = 0
						if i := get(args.A, 32, chunk, lane); i < count {
							loaded[chunk][lane] = stored[i][chunk][lane]
							stored[i][chunk][lane] = get(args.B, bits, chunk, lane)
						}
					}
				}
				args.Dst = dst
				load(&args, first, n)
				args.Dst = Register{}
				store(&args, first, n)
				for chunk := range chunks {
					for lane := range Width {
						if got := get(dst, bits, chunk, lane); got != loaded[chunk][lane] {
							t.Fatalf("%s, %d bits: load in chunk %d, lane %d: %#x, want %#x", s.Name, bits, chunk, lane, got,
								loaded[chunk][lane])
						}
						for i := range array {
							if got := get(array[i], bits, chunk, lane); got != stored[i][chunk][lane] {
								t.Fatalf("%s, %d bits: store to %d in chunk %d, lane %d: %#x, want %#x", s.Name, bits, i, chunk, lane,
									got, stored[i][chunk][lane])
							}
						}
					}
				}
			}
		}
	}
}

// Private memory that is the same in all lanes has registers of one chunk.
func TestUniformPrivateMemory(t *testing.T) {
	for _, s := range sets() {
		f := newFile()
		array := Memory{Base: unsafe.Pointer(&f.words[0]), Size: 3 * 32}
		for i := range 24 {
			lanes[uint32](Register{Base: array.Base, Step: 32}, i/8)[i%8] = uint32(100 + i/8)
		}
		f.used = 24
		a, dst := f.register(32, false), f.register(32, false)
		index := uint64(0)
		fill(a, 32, func() uint64 { index++; return index % 4 })
		s.Ops[LoadPrivate32](&Args{Dst: dst, A: a, Memory: &array, Immediate: 3}, 0, chunks)
		for chunk := range chunks {
			for lane := range Width {
				want := get(a, 32, chunk, lane) + 100
				if want == 103 {
					want = 0
				}
				if got := get(dst, 32, chunk, lane); got != want {
					t.Fatalf("%s: chunk %d, lane %d: %d, want %d", s.Name, chunk, lane, got, want)
				}
			}
		}
	}
}

// Atomics of several threads on the same words lose nothing.
func TestAtomicsOfThreads(t *testing.T) {
	for _, s := range sets() {
		words := make([]uint64, 2)
		memory := Memory{Base: unsafe.Pointer(&words[0]), Size: 16}
		var group sync.WaitGroup
		for range 4 {
			group.Go(func() {
				f := newFile()
				zero, one := f.register(32, true), f.register(32, true)
				half := f.register(64, true)
				fill(one, 32, func() uint64 { return 1 })
				fill(half, 64, func() uint64 { return math.Float64bits(0.5) })
				for range 100 {
					s.Ops[AtomicAddI32](&Args{A: zero, B: one, Memory: &memory}, 0, chunks)
					s.Ops[AtomicAddF64](&Args{A: zero, B: half, Memory: &memory, Immediate: 8}, 0, chunks)
				}
			})
		}
		group.Wait()
		const sum = 4 * 100 * chunks * Width
		if words[0] != sum || math.Float64frombits(words[1]) != sum/2 {
			t.Errorf("%s: the sums are %d and %v, not %d and %v", s.Name, words[0], math.Float64frombits(words[1]), sum, sum/2)
		}
	}
}

// What is added later is the same sums, also of more words than are kept.
func TestAdds(t *testing.T) {
	random := rand.New(rand.NewPCG(6, 6))
	words, want := make([]uint32, 5000), make([]uint32, 5000)
	memory := Memory{Base: unsafe.Pointer(&words[0]), Size: uint64(4 * len(words))}
	var adds Adds
	for round := range 300 {
		f := newFile()
		args := Args{A: f.register(32, false), B: f.register(32, round%2 == 0), Memory: &memory}
		if round%3 == 0 {
			args.Mask = f.register(32, false)
			fill(args.Mask, 32, func() uint64 { return value(random, kindMask) })
		}
		if round%4 == 0 {
			args.Immediate = uint64(random.IntN(20))
		}
		shared := uint64(random.IntN(6000))
		fill(args.A, 32, func() uint64 {
			switch round % 5 {
			case 0:
				return 4 * shared
			case 1:
				return uint64(random.IntN(25000))
			}
			return uint64(random.IntN(5100)) * 4
		})
		fill(args.B, 32, random.Uint64)
		for chunk := range chunks {
			for lane := range Width {
				at := get(args.A, 32, chunk, lane) + args.Immediate
				if at%4 == 0 && at < memory.Size && (args.Mask.Base == nil || get(args.Mask, 32, chunk, lane) != 0) {
					want[at/4] += uint32(get(args.B, 32, chunk, lane))
				}
			}
		}
		adds.Add(&args, 0, chunks)
		if round%20 == 0 || round == 299 {
			adds.Flush()
			if !slices.Equal(words, want) {
				t.Fatalf("round %d: sums differ", round)
			}
		}
	}
}
