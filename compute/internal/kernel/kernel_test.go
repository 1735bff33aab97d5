package kernel

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"unsafe"
)

// chunks is the length of the registers of the tests, room that of what they take in a file.
const (
	chunks = 11
	room   = 32
)

// file holds registers at addresses as the kernels want them.
type file struct {
	words []uint64
	used  int
}

func newFile() *file {
	words := make([]uint64, 4096)
	skip := 0
	for uintptr(unsafe.Pointer(&words[skip]))%64 != 0 {
		skip++
	}
	return &file{words: words[skip:]}
}

// register returns a register of lanes of so many bits.
func (f *file) register(bits int, uniform bool) Register {
	r := Register{Base: unsafe.Pointer(&f.words[f.used])}
	if !uniform {
		r.Step = uintptr(bits)
	}
	f.used += room * bits / 8
	return r
}

func get(r Register, bits, chunk, lane int) uint64 {
	if bits == 64 {
		return lanes[uint64](r, chunk)[lane]
	}
	return uint64(lanes[uint32](r, chunk)[lane])
}

func set(r Register, bits, chunk, lane int, value uint64) {
	if bits == 64 {
		lanes[uint64](r, chunk)[lane] = value
	} else {
		lanes[uint32](r, chunk)[lane] = uint32(value)
	}
}

// fill gives a register values of next: one if it is uniform.
func fill(r Register, bits int, next func() uint64) {
	if r.Step == 0 {
		value := next()
		for lane := range Width {
			set(r, bits, 0, lane, value)
		}
		return
	}
	for chunk := range chunks {
		for lane := range Width {
			set(r, bits, chunk, lane, next())
		}
	}
}

// sets are those to test: both, where this machine has two.
func sets() []*Set {
	return slices.Compact([]*Set{Go(), Best()})
}

// value returns a random or a special value that is of interest for a type.
func value(random *rand.Rand, t kind) uint64 {
	switch t {
	case kindMask:
		return uint64(mask(random.IntN(2) == 0))
	case kindF16:
		return random.Uint64() & 0xffff
	case kindF32:
		switch random.IntN(8) {
		case 0:
			return uint64(math.Float32bits(specials32[random.IntN(len(specials32))]))
		case 1, 2, 3:
			return uint64(math.Float32bits(float32((random.Float64() - 0.5) * math.Ldexp(1, random.IntN(40)-8))))
		case 4:
			return uint64(math.Float32bits(float32(random.IntN(65) - 32)))
		case 5: // near to the numbers of 16 bits, and half-way between them
			return uint64(random.Uint32()&^0x1fff + uint32(random.IntN(3))<<12 + uint32(random.IntN(3)-1))
		}
		return uint64(random.Uint32())
	case kindF64:
		switch random.IntN(8) {
		case 0:
			return math.Float64bits(specials64[random.IntN(len(specials64))])
		case 1, 2, 3:
			return math.Float64bits((random.Float64() - 0.5) * math.Ldexp(1, random.IntN(80)-12))
		case 4:
			return math.Float64bits(float64(random.IntN(65) - 32))
		case 5:
			return math.Float64bits(float64(math.Float32frombits(random.Uint32())))
		}
		return random.Uint64()
	case kindI32:
		switch random.IntN(4) {
		case 0:
			return uint64(specialInts[random.IntN(len(specialInts))] & math.MaxUint32)
		case 1:
			return uint64(uint32(random.IntN(80) - 20))
		}
		return uint64(random.Uint32() >> random.IntN(32))
	case kindI64:
		switch random.IntN(4) {
		case 0:
			return specialInts[random.IntN(len(specialInts))]
		case 1:
			return uint64(random.IntN(160) - 40)
		}
		return random.Uint64() >> random.IntN(64)
	}
	panic("no such kind")
}

var (
	specials32 = []float32{0, float32(math.Copysign(0, -1)), 1, -1, 0.5, -0.5, 1.5, 2.5, -2.5, 3, float32(math.Inf(1)),
		float32(math.Inf(-1)), float32(math.NaN()), math.MaxFloat32, -math.MaxFloat32, math.SmallestNonzeroFloat32,
		-math.SmallestNonzeroFloat32, 0x1p-126, 0x1p-127, 0x1p31, -0x1p31, 0x1p32, 0x1p63, -0x1p63, 0x1p64, 0x1.fffffep30,
		0x1.fffffep31, 65504, 65519.996, 65520, 65536, 0x1p-14, 0x1p-24, 0x1p-25, 0x1.8p-25, 0x1.ffcp-15, 8388607.5, 8388608,
		16777215, math.Pi, math.Pi / 2, 710, 88.72284, -103.97208}
	specials64 = []float64{0, math.Copysign(0, -1), 1, -1, 0.5, -0.5, 1.5, 2.5, -2.5, 3, math.Inf(1), math.Inf(-1),
		math.NaN(), math.MaxFloat64, -math.MaxFloat64, math.SmallestNonzeroFloat64, 0x1p-1022, 0x1p-1023, 0x1p31, 0x1p32,
		0x1.fffffffcp30, 2147483647.5, -2147483648.5, -2147483649, 4294967295.5, 0x1p52, 0x1.8p52, 0x1p53, 0x1p63, -0x1p63,
		0x1.fffffffffffffp62, 0x1p64, 0x1.fffffffffffffp63, math.MaxFloat32, 0x1.ffffffp127, 0x1p128, 0x1p-149, 0x1p-150,
		0x1.8p-150, 0x1p-151, 4503599627370495.5}
	specialInts = []uint64{0, 1, 2, 3, 7, 8, 31, 32, 33, 63, 64, 65, 0x7f, 0x80, 0xff, 0x100, 0x7fff, 0x8000, 0xffff,
		0x10000,
		0xffffff, 0x1000000, 0x1000001, 0x7fffff80, 0x7fffffff, 0x80000000, 0x80000001, 0xfffffffe, math.MaxUint32, 1 << 32,
		math.MaxUint32 << 32, 1<<53 - 1, 1<<53 + 1, math.MaxInt64, 1 << 63, 1<<63 + 1, math.MaxUint64 - 1, math.MaxUint64}
)

// same says whether two values of a type are the same to the bit, where one NaN is as good as another.
func same(t kind, a, b uint64) bool {
	switch {
	case a == b:
		return true
	case t == kindF32:
		return isNaN32(a) && isNaN32(b)
	case t == kindF64:
		return math.IsNaN(math.Float64frombits(a)) && math.IsNaN(math.Float64frombits(b))
	}
	return false
}

func isNaN32(a uint64) bool { return a&0x7fffffff > 0x7f800000 }

func format(t kind, a uint64) string {
	switch t {
	case kindF32:
		return fmt.Sprintf("%#x (%v)", a, math.Float32frombits(uint32(a)))
	case kindF64:
		return fmt.Sprintf("%#x (%v)", a, math.Float64frombits(a))
	}
	return fmt.Sprintf("%#x", a)
}

// Every kernel of every set gives what its expectation says, for any operands uniform, any range of chunks, and with
// the destination in the place of the first operand.
func TestKernels(t *testing.T) {
	for _, s := range sets() {
		for op, want := range expectations() {
			t.Run(fmt.Sprintf("%s/%s", s.Name, want.name), func(t *testing.T) {
				if s.Ops[op] == nil {
					t.Fatal("there is no kernel")
				}
				random := rand.New(rand.NewPCG(1, uint64(op)))
				for round := range 100 {
					check(t, s.Ops[op], want, random, round)
					if t.Failed() {
						return
					}
				}
			})
		}
	}
}

// Factors that are powers of two, with nothing to add or something, have loops of their own.
func TestMulAddSat(t *testing.T) {
	random := rand.New(rand.NewPCG(8, 8))
	for _, s := range sets() {
		for round := range 500 {
			f := newFile()
			a, b, dst := f.register(32, round%5 == 0), f.register(32, round%2 == 0), f.register(32, false)
			fill(a, 32, func() uint64 { return value(random, kindI32) })
			fill(b, 32, func() uint64 { return value(random, kindI32) * uint64(round/2%2) })
			args := Args{Dst: dst, A: a, B: b, Immediate: 1 << (round % 35)}
			s.Ops[MulAddSat](&args, 0, chunks)
			for chunk := range chunks {
				for lane := range Width {
					want := min(get(a, 32, chunk, lane)*args.Immediate+get(b, 32, chunk, lane), math.MaxUint32)
					if args.Immediate > math.MaxUint32 && get(a, 32, chunk, lane) > 0 {
						want = math.MaxUint32
					}
					if got := get(dst, 32, chunk, lane); got != want {
						t.Fatalf("%s: %#x * %#x + %#x is %#x, not %#x", s.Name, get(a, 32, chunk, lane), args.Immediate,
							get(b, 32, chunk, lane), got, want)
					}
				}
			}
		}
	}
}

func check(t *testing.T, kernel Func, want expectation, random *rand.Rand, round int) {
	t.Helper()
	f := newFile()
	var operands [3]Register
	for i, k := range want.operands {
		operands[i] = f.register(k.bits(), round>>i&1 == 1)
		fill(operands[i], k.bits(), func() uint64 { return value(random, k) })
	}
	args := Args{A: operands[0], B: operands[1], C: operands[2], Immediate: random.Uint64() >> random.IntN(64)}
	if round%2 == 0 {
		args.Immediate = 1 << random.IntN(36) // most factors are powers of two
	}
	dst := f.register(want.result.bits(), false)
	if round%4 == 2 && want.result.bits() == want.operands[0].bits() {
		dst = operands[0]
	} else {
		fill(dst, want.result.bits(), random.Uint64)
	}
	args.Dst = dst
	if want.masked && round%5 > 0 {
		args.Mask = f.register(32, false)
		fill(args.Mask, 32, func() uint64 { return value(random, kindMask) })
	}
	first := random.IntN(chunks)
	n := random.IntN(chunks - first + 1)
	type lane struct{ a, b, c, want uint64 }
	var all [chunks][Width]lane
	for chunk := range all {
		for i := range all[chunk] {
			l := &all[chunk][i]
			l.want = get(dst, want.result.bits(), chunk, i)
			for j, v := range []*uint64{&l.a, &l.b, &l.c}[:len(want.operands)] {
				*v = get(operands[j], want.operands[j].bits(), chunk, i)
			}
			if chunk >= first && chunk < first+n && (args.Mask.Base == nil || get(args.Mask, 32, chunk, i) != 0) {
				l.want = want.of(l.a, l.b, l.c, args.Immediate)
			}
		}
	}
	kernel(&args, first, n)
	for chunk := range all {
		for i, l := range all[chunk] {
			got := get(dst, want.result.bits(), chunk, i)
			inside := chunk >= first && chunk < first+n
			if same(want.result, got, l.want) || inside && want.near != nil && want.near(l.a, l.b, got) {
				continue
			}
			text := ""
			for j, v := range []uint64{l.a, l.b, l.c}[:len(want.operands)] {
				text += " " + format(want.operands[j], v)
			}
			t.Errorf("round %d, chunk %d (%d from %d): of%s with %#x: %s, want %s", round, chunk, n, first, text,
				args.Immediate, format(want.result, got), format(want.result, l.want))
			return
		}
	}
}

// Both sets give the same bits for each op.
func TestSameBits(t *testing.T) {
	if Best() == Go() {
		t.Skip("this machine has one set")
	}
	for op, want := range expectations() {
		random := rand.New(rand.NewPCG(2, uint64(op)))
		exact := want
		exact.near = nil
		exact.of = func(a, b, c, immediate uint64) uint64 { return one(Go().Ops[op], want, a, b, c, immediate) }
		t.Run(want.name, func(t *testing.T) {
			for round := range 100 {
				check(t, Best().Ops[op], exact, random, round)
				if t.Failed() {
					return
				}
			}
		})
	}
}

// one runs a kernel on one lane.
func one(kernel Func, want expectation, a, b, c, immediate uint64) uint64 {
	var space [5][16]uint64
	var registers [4]Register
	for i := range registers {
		registers[i].Base = unsafe.Pointer(&space[i])
	}
	for i, v := range []uint64{a, b, c}[:len(want.operands)] {
		set(registers[i], want.operands[i].bits(), 0, 0, v)
	}
	kernel(&Args{Dst: registers[3], A: registers[0], B: registers[1], C: registers[2], Immediate: immediate}, 0, 1)
	return get(registers[3], want.result.bits(), 0, 0)
}

func TestMasks(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 3))
	for _, s := range sets() {
		for range 2000 {
			f := newFile()
			var masks [4]Register
			var before [4][chunks][Width]uint64
			density := random.IntN(5)
			for i := range masks {
				masks[i] = f.register(32, i == 3 && random.IntN(2) == 0)
				fill(masks[i], 32, func() uint64 { return uint64(mask(random.IntN(4) < density)) })
			}
			if density > 0 && random.IntN(2) == 0 { // nothing before and after some chunks
				from, to := random.IntN(chunks+1), random.IntN(chunks+1)
				for chunk := range chunks {
					if chunk < from || chunk >= to {
						*lanes[uint32](masks[2], chunk) = [Width]uint32{}
					}
				}
			}
			for i := range masks {
				for chunk := range chunks {
					for lane := range Width {
						before[i][chunk][lane] = get(masks[i], 32, chunk, lane)
					}
				}
			}
			first := random.IntN(chunks)
			n := random.IntN(chunks - first + 1)
			inside := func(chunk int) bool { return chunk >= first && chunk < first+n }
			expect := func(what string, i int, want func(chunk, lane int) uint64) {
				t.Helper()
				for chunk := range chunks {
					for lane := range Width {
						if got := get(masks[i], 32, chunk, lane); got != want(chunk, lane) {
							t.Fatalf("%s: %s: mask %d, chunk %d, lane %d: %#x", s.Name, what, i, chunk, lane, got)
						}
					}
				}
			}

			s.Split(masks[0], masks[1], masks[2], masks[3], first, n)
			expect("Split", 0, func(chunk, lane int) uint64 {
				if inside(chunk) {
					return before[0][chunk][lane] | before[2][chunk][lane]&before[3][chunk][lane]
				}
				return before[0][chunk][lane]
			})
			expect("Split", 1, func(chunk, lane int) uint64 {
				if inside(chunk) {
					return before[1][chunk][lane] | before[2][chunk][lane]&^before[3][chunk][lane]
				}
				return before[1][chunk][lane]
			})
			expect("Split", 2, func(chunk, lane int) uint64 { return before[2][chunk][lane] })

			zero := f.register(32, false)
			masks[0] = zero
			s.OrInto(masks[0], masks[1], first, n)
			expect("OrInto", 0, func(chunk, lane int) uint64 {
				if inside(chunk) {
					return get(masks[1], 32, chunk, lane)
				}
				return 0
			})

			wantFirst, wantLast, count := 0, 0, 0
			for chunk := range n {
				for lane := range Width {
					if before[2][chunk][lane] != 0 {
						if count == 0 {
							wantFirst = chunk
						}
						wantLast = chunk + 1
						count++
					}
				}
			}
			if from, to, set := s.Active(masks[2], n); from != wantFirst || to != wantLast || set != count {
				t.Fatalf("%s: Active: %d to %d, %d lanes; want %d to %d, %d", s.Name, from, to, set, wantFirst, wantLast, count)
			}
			if from, to, set := s.Take(masks[1], masks[2], n); from != wantFirst || to != wantLast || set != count {
				t.Fatalf("%s: Take: %d to %d, %d lanes; want %d to %d, %d", s.Name, from, to, set, wantFirst, wantLast, count)
			}
			expect("Take", 2, func(chunk, lane int) uint64 {
				if chunk < n {
					return 0
				}
				return before[2][chunk][lane]
			})
			for chunk := range n {
				for lane := range Width {
					if get(masks[1], 32, chunk, lane) != before[2][chunk][lane] {
						t.Fatalf("%s: Take: chunk %d, lane %d", s.Name, chunk, lane)
					}
				}
			}
		}
	}
}

func TestNarrow(t *testing.T) {
	random := rand.New(rand.NewPCG(7, 7))
	for _, s := range sets() {
		for round := range 2000 {
			f := newFile()
			src, rest, condition := f.register(32, round%5 == 0), f.register(32, false), f.register(32, round%3 == 0)
			dst := src
			if round%5 < 3 {
				dst = f.register(32, false)
			}
			density := random.IntN(5)
			for _, r := range []Register{src, rest, condition} {
				fill(r, 32, func() uint64 { return -uint64(random.IntN(4)/max(density, 1)&1) & math.MaxUint32 })
			}
			invert, n := round%2 == 1, random.IntN(chunks+1)
			if round%7 == 0 {
				fill(condition, 32, func() uint64 { return uint64(mask(!invert)) })
			}
			var want, wantRest [chunks][Width]uint64
			first, last, count, others := 0, 0, 0, false
			for chunk := range chunks {
				for lane := range Width {
					want[chunk][lane] = get(src, 32, chunk, lane)
					wantRest[chunk][lane] = get(rest, 32, chunk, lane)
					if chunk >= n {
						continue
					}
					keep := get(condition, 32, chunk, lane)
					if invert {
						keep ^= math.MaxUint32
					}
					others = others || want[chunk][lane]&^keep != 0
					wantRest[chunk][lane] |= want[chunk][lane] &^ keep
					want[chunk][lane] &= keep
					if want[chunk][lane] != 0 {
						if count == 0 {
							first = chunk
						}
						last = chunk + 1
						count++
					}
				}
			}
			before := *lanes[uint32](dst, 0)
			if !others {
				first, last, count = 0, 0, 0
			}
			gotFirst, gotLast, set, gotOthers := s.Narrow(dst, src, rest, condition, invert, n)
			if gotFirst != first || gotLast != last || set != count || gotOthers != others {
				t.Fatalf("%s: %d to %d, %d lanes, %t; want %d to %d, %d, %t", s.Name, gotFirst, gotLast, set, gotOthers, first,
					last, count, others)
			}
			if !others {
				if *lanes[uint32](dst, 0) != before {
					t.Fatalf("%s: written to without need", s.Name)
				}
				continue
			}
			for chunk := range chunks {
				for lane := range Width {
					if chunk < n && get(dst, 32, chunk, lane) != want[chunk][lane] {
						t.Fatalf("%s: chunk %d, lane %d of the mask", s.Name, chunk, lane)
					}
					if get(rest, 32, chunk, lane) != wantRest[chunk][lane] {
						t.Fatalf("%s: chunk %d, lane %d of the rest", s.Name, chunk, lane)
					}
				}
			}
		}
	}
}

// A set has a kernel for each op.
func TestComplete(t *testing.T) {
	for op := range NumOps {
		if op == 0 {
			continue
		}
		for _, s := range sets() {
			if _, ok := expectations()[op]; ok && s.Ops[op] == nil {
				t.Errorf("%s: op %d has no kernel", s.Name, op)
			}
		}
	}
}
