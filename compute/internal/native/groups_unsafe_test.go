package native

import (
	"math"
	"math/rand/v2"
	"testing"
	"unsafe"

	"farside/compute/internal/kernel"
	"farside/internal/ieee"
)

// TestTogether compares what all lanes of a subgroup get with what the kernels make of their values, in the order of
// reduce: chunk by chunk, then the lower lanes with the upper ones.
func TestTogether(t *testing.T) {
	need(t)
	defer ieee.Leave(ieee.Enter())
	random := rand.New(rand.NewPCG(9, 1))
	by := []kernel.Op{kernel.AddI32, kernel.MulI32, kernel.AddF32, kernel.MulF32, kernel.MinF32, kernel.MaxF32,
		kernel.MinU32, kernel.MinS32, kernel.MaxU32, kernel.MaxS32, kernel.AndI32, kernel.OrI32, kernel.XorI32}
	for round := range 1000 {
		in := Inst{Op: []kernel.Op{Reduce, Reduce, Ballot, First, Elect}[round%5], By: by[random.IntN(len(by))],
			C: varying(1), Dst: varying(2), Keep: true, Apart: uint32(8) << random.IntN(3), Immediate: 8 * chunks}
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
		code, err := Compile([][]Inst{run}, Options{Scratch: fileSize, Masked: true})
		if err != nil {
			t.Fatal(err)
		}
		m := newMachine()
		lanes := func(r Register) []uint32 {
			return unsafe.Slice((*uint32)(unsafe.Pointer(&m.file[r.Offset])), 8*chunks)
		}
		for i := range lanes(varying(1)) {
			lanes(varying(1))[i] = word(random)
			if in.Op == Ballot {
				lanes(varying(1))[i] = -uint32(random.IntN(2))
			}
		}
		code.Run(0, Plain, unsafe.Pointer(&m.file[0]), &m.slots[0], nil, 0, chunks)
		for i, got := range lanes(varying(3)) {
			first := i &^ (int(in.Apart) - 1)
			want := together(&in, lanes(varying(1))[first:first+int(in.Apart)], i-first)
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
func together(in *Inst, values []uint32, lane int) (want uint32) {
	switch in.Op {
	case Ballot:
		for i, v := range values {
			want |= v & 1 << i
		}
		return want
	case First:
		return values[0]
	case Elect:
		if lane == 0 {
			want = math.MaxUint32
		}
		return want
	}
	sum, other := [8]uint32(values), [8]uint32{}
	combine := func() {
		register := func(v *[8]uint32) kernel.Register { return kernel.Register{Base: unsafe.Pointer(v)} }
		kernel.Best().Ops[in.By](&kernel.Args{Dst: register(&sum), A: register(&sum), B: register(&other)}, 0, 1)
	}
	for values = values[8:]; len(values) > 0; values = values[8:] {
		other = [8]uint32(values)
		combine()
	}
	for half := 4; half > 0; half /= 2 {
		copy(other[:half], sum[half:2*half])
		combine()
	}
	return sum[0]
}
