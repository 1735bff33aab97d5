package native

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"unsafe"

	"farside/compute/internal/kernel"
	"farside/internal/ieee"
)

// truthRun is a run of comparisons, and of what is done with their results. Registers up to lastTruth are true or false
// in each lane, those behind it any words.
func truthRun(r *rand.Rand) []Inst {
	const lastTruth = 12
	truth := func() Register { return varying(r.IntN(lastTruth + 1)) }
	wordOf := func() Register {
		if r.IntN(6) == 0 {
			return uniform(r.IntN(uniforms - 2))
		}
		return varying(lastTruth + 1 + r.IntN(registers-lastTruth-1))
	}
	compare := []kernel.Op{kernel.EqI32, kernel.NeI32, kernel.LtS32, kernel.LeS32, kernel.LtU32, kernel.LeU32,
		kernel.EqF32, kernel.LtF32, kernel.LeF32, kernel.NeOrdF32, kernel.IsNaNF32, kernel.IsInfF32, kernel.I32ToMask}
	both := []kernel.Op{kernel.AndI32, kernel.OrI32, kernel.XorI32, kernel.AndNotI32, kernel.NotI32, kernel.EqI32,
		kernel.MoveMasked32, kernel.Move32}
	var run []Inst
	for range 1 + r.IntN(60) {
		in := Inst{Keep: r.IntN(4) == 0}
		switch r.IntN(4) {
		case 0, 1:
			in.Op, in.A, in.Dst = compare[r.IntN(len(compare))], wordOf(), truth()
			in.B = wordOf()
		case 2:
			in.Op, in.A, in.Dst = both[r.IntN(len(both))], truth(), truth()
			in.B = truth()
		default:
			in.Op, in.A, in.B, in.C, in.Dst = kernel.Select32, wordOf(), wordOf(), truth(), varying(lastTruth+1+r.IntN(8))
			if r.IntN(4) == 0 {
				in.Op, in.A, in.B, in.C = kernel.MaskToI32, truth(), Register{}, Register{}
			}
		}
		if operands(in.Op) == 1 {
			in.B = Register{}
		}
		run = append(run, in)
	}
	for i := range run {
		run[i].Keep = run[i].Keep || run[i].Op == kernel.MoveMasked32
	}
	return run
}

// TestTruths compares runs of comparisons with the kernels.
func TestTruths(t *testing.T) {
	need(t)
	defer ieee.Leave(ieee.Enter())
	for seed := range uint64(3000) {
		r := rand.New(rand.NewPCG(seed, 3))
		run := truthRun(r)
		single := r.IntN(4) == 0
		code, err := Compile([][]Inst{run}, Options{Scratch: fileSize, Masked: true, Narrow: single})
		if err != nil {
			t.Fatal(err)
		}
		got, want := newMachine(), newMachine()
		words := unsafe.Slice((*uint32)(unsafe.Pointer(&got.file[0])), fileSize/4)
		for i := range words {
			words[i] = word(r)
			if i < 13*8*chunks {
				words[i] = -uint32(r.IntN(2))
			}
		}
		for i := range uniforms {
			u := unsafe.Slice((*uint32)(unsafe.Pointer(&got.file[uniform(i).Offset])), 8)
			for k := range u {
				u[k] = u[0]
			}
		}
		want.copy(got)
		mode := Plain
		if r.IntN(2) == 0 {
			mode = Masked
			mask := make([]uint32, 8*chunks)
			for i := range mask {
				mask[i] = -uint32(r.IntN(2))
			}
			want.mask = kernel.Register{Base: unsafe.Pointer(&mask[0]), Step: 32}
		}
		first := r.IntN(chunks)
		n := r.IntN(chunks - first + 1)
		code.Run(0, mode, unsafe.Pointer(&got.file[0]), &got.slots[0], want.mask.Base, first, n)
		want.interpret(run, first, n, avx512() && !single)
		t.Run(fmt.Sprint(seed), func(t *testing.T) { compare(t, run, got, want) })
		if t.Failed() {
			return
		}
	}
}
