package native

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"unsafe"

	"farside/compute/internal/kernel"
	"farside/internal/ieee"
)

// fills are what By combines with a value to that value, and identities others.
var fills = map[kernel.Op]uint32{kernel.MulI32: 1, kernel.AddF32: 1 << 31, kernel.MulF32: 0x3f800000,
	kernel.MinF32: 0x7fc00000, kernel.MaxF32: 0x7fc00000, kernel.MinU32: math.MaxUint32, kernel.MinS32: math.MaxInt32,
	kernel.MaxS32: 1 << 31, kernel.AndI32: math.MaxUint32}

var identities = map[kernel.Op]uint32{kernel.AddF32: 0, kernel.MinF32: 0x7f800000, kernel.MaxF32: 0xff800000}

// TestTogether compares what lanes get of a subgroup's values with what the kernels make of those of the lanes that
// take part, in the order of reduce and scan: chunk by chunk, and the lanes of a chunk by distances.
func TestTogether(t *testing.T) {
	need(t)
	defer ieee.Leave(ieee.Enter())
	random := rand.New(rand.NewPCG(9, 1))
	by := []kernel.Op{kernel.AddI32, kernel.MulI32, kernel.AddF32, kernel.MulF32, kernel.MinF32, kernel.MaxF32,
		kernel.MinU32, kernel.MinS32, kernel.MaxU32, kernel.MaxS32, kernel.AndI32, kernel.OrI32, kernel.XorI32}
	has := avx512()
	defer func(old func() bool) { avx512 = old }(avx512)
	for round := range 3000 {
		use := has && random.IntN(2) == 0
		avx512 = func() bool { return use }
		in := Inst{Op: []kernel.Op{Reduce, ScanInclusive, ScanExclusive, Ballot, First, Elect}[round%6],
			By: by[random.IntN(len(by))], C: varying(1), Dst: varying(2), Keep: true, Apart: uint32(8) << random.IntN(3),
			Immediate: 8 * chunks}
		if in.Op == Reduce && random.IntN(3) == 0 {
			in.Apart = uint32(2) << random.IntN(2)
		}
		in.Fill = fills[in.By]
		in.Identity = in.Fill
		if n, ok := identities[in.By]; ok {
			in.Identity = n
		}
		if in.Op == Elect {
			in.C = Register{}
		}
		if !Supports(&in) {
			t.Fatalf("no code for %+v", in)
		}
		// Another reads the result, and one writes it later.
		run := []Inst{in, {Op: kernel.Move32, A: varying(2), Dst: varying(3), Keep: true}}
		again := random.IntN(2) == 0
		if again {
			run = append(run, Inst{Op: kernel.NotI32, A: varying(2), Dst: varying(2), Keep: true})
		}
		groups := Groups(ofTwoPairs) && (in.Apart == ofTwoPairs || in.Op == Reduce) && random.IntN(3) > 0
		code, err := Compile([][]Inst{run}, Options{Scratch: fileSize, Masked: true, Groups: groups})
		if err != nil {
			t.Fatal(err)
		}
		m := newMachine()
		lanes := func(r Register) []uint32 {
			return unsafe.Slice((*uint32)(unsafe.Pointer(&m.file[r.Offset])), 8*chunks)
		}
		mode, mask := Plain, slices.Repeat([]uint32{math.MaxUint32}, 8*chunks)
		if random.IntN(3) > 0 {
			mode = Masked
			for few, i := 1+random.IntN(8), 0; i < len(mask); i++ {
				mask[i] = -uint32(random.IntN(few+1) / few)
			}
		}
		for i := range lanes(varying(1)) {
			lanes(varying(1))[i] = word(random)
			if in.Op == Ballot {
				lanes(varying(1))[i] = -uint32(random.IntN(2))
			}
		}
		code.Run(0, mode, unsafe.Pointer(&m.file[0]), &m.slots[0], unsafe.Pointer(&mask[0]), 0, chunks)
		for i, got := range lanes(varying(3)) {
			if mask[i] == 0 {
				continue
			}
			first := i &^ (int(in.Apart) - 1)
			end := first + int(in.Apart)
			want := together(&in, lanes(varying(1))[first:end], mask[first:end], i-first)
			if got != want && !(isNaN(got) && isNaN(want)) {
				t.Fatalf("%+v: lane %d got %#x, not %#x", in, i, got, want)
			}
			if last := lanes(varying(2))[i]; !again && last != got || again && last != ^got {
				t.Fatalf("%+v: the result in lane %d is %#x, and then %#x", in, i, got, last)
			}
		}
	}
}

func isNaN(word uint32) bool { return math.IsNaN(float64(math.Float32frombits(word))) }

// together is what a lane gets of the values of a subgroup.
func together(in *Inst, values, mask []uint32, lane int) (want uint32) {
	first := slices.Index(mask, math.MaxUint32)
	switch in.Op {
	case Ballot:
		for i, v := range values {
			want |= v & mask[i] & 1 << i
		}
		return want
	case First:
		return values[first]
	case Elect:
		if lane == first {
			want = math.MaxUint32
		}
		return want
	}
	given := slices.Clone(values)
	for i := range given {
		if mask[i] == 0 {
			given[i] = in.Fill
		}
	}
	combine := func(a, b [8]uint32) (r [8]uint32) {
		register := func(v *[8]uint32) kernel.Register { return kernel.Register{Base: unsafe.Pointer(v)} }
		kernel.Best().Ops[in.By](&kernel.Args{Dst: register(&r), A: register(&a), B: register(&b)}, 0, 1)
		return r
	}
	if in.Op == Reduce {
		half := min(len(given), 8) / 2
		given = append(given, make([]uint32, 8-2*half)...)
		sum := [8]uint32(given)
		for given = given[8:]; len(given) > 0; given = given[8:] {
			sum = combine(sum, [8]uint32(given))
		}
		for ; half > 0; half /= 2 {
			other := sum
			copy(other[:half], sum[half:2*half])
			sum = combine(sum, other)
		}
		return sum[0]
	}
	carry := in.Fill
	for ; ; given, lane = given[8:], lane-8 {
		sum := [8]uint32(given)
		before := func(distance int, first uint32) (other [8]uint32) {
			for i := range other {
				if other[i] = first; i >= distance {
					other[i] = sum[i-distance]
				}
			}
			return other
		}
		for distance := 1; distance < 8; distance *= 2 {
			sum = combine(before(distance, in.Fill), sum)
		}
		sum = combine(before(8, carry), sum)
		if lane < 8 {
			if in.Op == ScanInclusive {
				return sum[lane]
			}
			if sum = before(1, carry); in.Identity != in.Fill {
				sum = combine(sum, [8]uint32(slices.Repeat([]uint32{in.Identity}, 8)))
			}
			return sum[lane]
		}
		carry = sum[7]
	}
}
