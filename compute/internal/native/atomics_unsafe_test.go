package native

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"unsafe"

	"farside/compute/internal/kernel"
)

// TestAtomics compares atomics with the kernels: of words that several lanes change, outside of the memory, and where
// no word begins.
func TestAtomics(t *testing.T) {
	need(t)
	has := avx512()
	defer func(old func() bool) { avx512 = old }(avx512)
	var all []kernel.Op
	for op := range changes {
		all = append(all, op)
	}
	slices.Sort(all)
	for seed := range uint64(3000) {
		r := rand.New(rand.NewPCG(seed, 9))
		use := has && r.IntN(2) == 0
		avx512 = func() bool { return use }
		var run []Inst
		for range 1 + r.IntN(5) {
			in := Inst{Op: all[r.IntN(len(all))], A: varying(r.IntN(3)), B: varying(3 + r.IntN(5)), Slot: int32(r.IntN(4)),
				Immediate: uint64(r.IntN(12)), Unshared: r.IntN(2) == 0}
			switch r.IntN(5) {
			case 0:
				in.A = Register{}
			case 1:
				in.A = uniform(1)
			case 2:
				in.B = uniform(2)
			}
			if r.IntN(3) == 0 {
				in.Base = uniform(0)
			}
			if comparesWord(in.Op) {
				in.C = varying(3 + r.IntN(5))
			}
			if r.IntN(3) > 0 {
				in.Dst, in.Keep = varying(8+r.IntN(5)), true
			}
			if changes[in.Op].wide {
				widenAtomic(r, &in)
			}
			run = append(run, in, Inst{Op: kernel.AddI32, Dst: varying(3 + r.IntN(5)), A: varying(r.IntN(13)),
				B: varying(3), Keep: r.IntN(2) == 0})
		}
		code, err := Compile([][]Inst{run}, Options{Scratch: fileSize, Masked: true})
		if err != nil {
			t.Fatal(err)
		}
		got, want := newMachine(), newMachine()
		for i := range got.data {
			for k := range got.data[i] {
				got.data[i][k] = byte(r.IntN(4)) * byte(r.IntN(256))
			}
		}
		lanes := unsafe.Slice((*uint32)(unsafe.Pointer(&got.file[0])), 8*chunks*registers)
		for i := range lanes {
			lanes[i] = word(r)
			if i < 3*8*chunks {
				lanes[i] = 4*r.Uint32N(26) + uint32(r.IntN(8)/7)
			}
		}
		for i, n := range []uint32{4 * r.Uint32N(4), 4 * r.Uint32N(30), word(r)} {
			shared := (*[8]uint32)(unsafe.Pointer(&got.file[uniform(i).Offset]))
			*shared = [8]uint32{n, n, n, n, n, n, n, n}
		}
		fillWide(r, got)
		want.copy(got)
		mode := want.someMasked(r)
		code.Run(0, mode, unsafe.Pointer(&got.file[0]), &got.slots[0], want.mask.Base, 0, chunks)
		pairs := avx512() && !slices.ContainsFunc(run, func(in Inst) bool { return !in.Pairs() })
		want.interpret(run, 0, chunks, pairs)
		got.forgetInactive(want.mask)
		want.forgetInactive(want.mask)
		t.Run(fmt.Sprint(seed), func(t *testing.T) { compare(t, run, got, want) })
		if t.Failed() {
			return
		}
	}
}

// widenAtomic gives an atomic the registers of 64 bits that it takes.
func widenAtomic(r *rand.Rand, in *Inst) {
	wide := func(from int) Register {
		if r.IntN(4) == 0 {
			return wideUniform(r.IntN(wides))
		}
		return wideVarying(from + r.IntN(2))
	}
	in.B = wide(0)
	if in.C.Valid {
		in.C = wide(2)
	}
	if in.Dst.Valid {
		in.Dst = wideVarying(4 + r.IntN(3))
	}
}
