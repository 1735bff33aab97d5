package native

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"unsafe"

	"farside/compute/internal/kernel"
)

// TestQuads compares loads and stores of 64 bits with the kernels: lanes next to each other, words apart, the same in
// all lanes, anywhere, at the end of a memory, across it, and behind it.
func TestQuads(t *testing.T) {
	need(t)
	has := avx512()
	defer func(old func() bool) { avx512 = old }(avx512)
	for seed := range uint64(2000) {
		r := rand.New(rand.NewPCG(seed, 3))
		use := has && r.IntN(2) == 0
		avx512 = func() bool { return use }
		got, want := newMachine(), newMachine()
		for i := range got.data {
			for k := range got.data[i] {
				got.data[i][k] = byte(r.Uint32())
			}
		}
		for i := range got.file[:fileSize] {
			got.file[i] = byte(r.Uint32())
		}
		words := []uint32{1, 2, 2, 3, 4}[r.IntN(5)]
		slot, pattern := int32(r.IntN(2)), []Pattern{Any, Same, Consecutive, Linear}[r.IntN(4)]
		size := uint32(got.slots[slot].Size)
		first := []uint32{0, 4, size - 4*words*8*chunks, size - 4*words*8, size - 8, size - 4, size}[r.IntN(7)]
		base := r.Uint32N(3) * 4
		lanes := unsafe.Slice((*uint32)(unsafe.Pointer(&got.file[varying(0).Offset])), 8*chunks)
		for i := range lanes {
			switch {
			case pattern == Linear || pattern == Any && seed%2 == 0:
				lanes[i] = first + 4*words*uint32(i)
			case pattern == Consecutive:
				lanes[i] = first + 4*words*uint32(i%8)
			case pattern == Same:
				lanes[i] = first + 8*uint32(i/8)
			default:
				lanes[i] = uint32(i*8*13) % (size + 16) // no two lanes at the same place
			}
		}
		for i := range 8 {
			*(*uint32)(unsafe.Pointer(&got.file[uniform(0).Offset+4*uint32(i)])) = base
		}
		in := Inst{A: varying(0), Slot: slot, Pattern: pattern, Immediate: uint64(r.IntN(2) * 8)}
		if words != 2 || r.IntN(2) == 0 {
			in.Words = uint8(words)
		}
		if r.IntN(2) == 0 {
			in.Base = uniform(0)
		}
		load, store := in, in
		load.Op, load.Dst, load.Keep = kernel.Load64, wideVarying(0), true
		store.Op, store.B = kernel.Store64, wideVarying(1)
		run := []Inst{load, store}
		if pattern == Same || words == 1 {
			run = run[:1] // lanes would store to the same words
		}
		again := load
		again.Dst, again.Immediate = wideVarying(2), load.Immediate+8
		run = append(run, again)
		single := r.IntN(2) == 0
		switch {
		case single || len(run) < 3: // chunk by chunk, each of which may load what the one before has stored
		case r.IntN(2) == 0:
			run = []Inst{load, again}
		default:
			run = run[1:2]
		}
		code, err := Compile([][]Inst{run}, Options{Scratch: fileSize, Masked: true, Narrow: single})
		if err != nil {
			t.Fatal(err)
		}
		want.copy(got)
		mode := want.someMasked(r)
		code.Run(0, mode, unsafe.Pointer(&got.file[0]), &got.slots[0], want.mask.Base, 0, chunks)
		want.interpret(run, 0, chunks, false)
		t.Run(fmt.Sprint(seed), func(t *testing.T) { compare(t, run, got, want) })
		if t.Failed() {
			return
		}
	}
}
