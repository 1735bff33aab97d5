package native

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"unsafe"

	"farside/compute/internal/kernel"
)

// stridedRun is a run of accesses to members of what lies some words apart, at offsets in register 0, and of some at
// offsets in register 1 that are the same in a chunk.
func stridedRun(r *rand.Rand, words uint8, pattern Pattern) []Inst {
	var run []Inst
	for range 1 + r.IntN(12) {
		in := Inst{Op: kernel.Load32, A: varying(0), Pattern: pattern, Words: words, Dst: varying(2 + r.IntN(8)),
			Immediate: uint64(4 * r.IntN(int(words)+1)), Keep: r.IntN(2) == 0, Slot: int32(r.IntN(3))}
		switch r.IntN(6) {
		case 0:
			in.Op, in.Dst, in.B, in.Slot, in.Keep = kernel.Store32, Register{}, varying(2+r.IntN(8)), 3, false
		case 1:
			in = Inst{Op: kernel.AddI32, A: varying(2 + r.IntN(8)), B: varying(2 + r.IntN(8)), Dst: in.Dst, Keep: in.Keep}
		case 2:
			in.A, in.Pattern, in.Words = varying(1), Same, 0
		}
		n := 1
		if in.Pattern == pattern && in.accesses() && r.IntN(2) == 0 {
			n = 2 + r.IntN(int(words)-1)
		}
		if in.Stores() { // lanes of different chunks store in any order
			in.Immediate = uint64(4 * r.IntN(int(words)-n+1))
		}
		for range n {
			run = append(run, in)
			if in.Dst.Valid {
				in.Dst = varying(2 + r.IntN(8))
			} else {
				in.B = []Register{varying(2 + r.IntN(8)), uniform(r.IntN(uniforms))}[r.IntN(2)]
			}
			in.Immediate += 4
		}
	}
	if last := &run[len(run)-1]; last.Op == kernel.Load32 && pattern != Linear && r.IntN(3) == 0 {
		last.Dst, last.Keep = varying(0), true
	}
	return run
}

// TestStrides compares random runs of loads and stores of members with the kernels: within the memory, beyond its end,
// and with pairs whose second chunk doesn't follow the first.
func TestStrides(t *testing.T) {
	need(t)
	for seed := range uint64(5000) {
		r := rand.New(rand.NewPCG(seed, 4))
		words := []uint8{2, 3, 4, 2, 3, 4, 5, 8, 16}[r.IntN(9)]
		pattern := []Pattern{Consecutive, Linear}[r.IntN(2)]
		run := stridedRun(r, words, pattern)
		single := r.IntN(8) == 0
		code, err := Compile([][]Inst{run}, Options{Scratch: fileSize, Masked: true, Narrow: single})
		if err != nil {
			t.Fatal(err)
		}
		got, want := newMachine(), newMachine()
		for i := range got.data {
			got.data[i], want.data[i] = make([]byte, 4096+64), make([]byte, 4096+64)
			got.slots[i].Base = unsafe.Pointer(&got.data[i][32])
			for k := range got.data[i] {
				got.data[i][k] = byte(r.Uint32())
			}
		}
		offsets := unsafe.Slice((*uint32)(unsafe.Pointer(&got.file[0])), 2*8*chunks)
		first, apart := r.Uint32N(40), r.IntN(3)
		size := 4*int(words)*8*chunks + int(first) - 64 + r.IntN(128)
		for i := range got.slots {
			got.slots[i].Size = uint64(min(size+r.IntN(32), 4096))
		}
		for i := range 8 * chunks {
			lane := i
			if pattern == Consecutive && apart == 0 {
				lane = i%8 + i/8*r.IntN(8) // each chunk begins anywhere
				if i%8 > 0 {
					lane = int(offsets[i-1]-first)/4/int(words) + 1
				}
			}
			offsets[i] = first + uint32(4*int(words)*lane)
			offsets[8*chunks+i] = uint32(i / 8 / (1 + apart) * 12)
		}
		want.copy(got)
		want.slots = got.slots
		for i := range want.slots {
			want.slots[i].Base = unsafe.Pointer(&want.data[i][32])
		}
		mode := want.someMasked(r)
		code.Run(0, mode, unsafe.Pointer(&got.file[0]), &got.slots[0], want.mask.Base, 0, chunks)
		want.interpret(run, 0, chunks, avx512() && !single)
		t.Run(fmt.Sprint(seed), func(t *testing.T) { compare(t, run, got, want) })
		if t.Failed() {
			return
		}
	}
}
