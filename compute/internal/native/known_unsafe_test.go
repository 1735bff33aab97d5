package native

import (
	"math/rand/v2"
	"testing"
	"unsafe"

	"farside/compute/internal/kernel"
)

// TestKnown compares accesses whose offsets have a bound, and products that don't saturate, with the kernels: with
// memory that is large enough for the bound and with memory that isn't. Lanes that don't take part have any offsets.
func TestKnown(t *testing.T) {
	need(t)
	has := avx512()
	defer func(old func() bool) { avx512 = old }(avx512)
	const most = 92
	run := []Inst{
		{Op: kernel.Load32, A: varying(0), Dst: varying(3), Immediate: 4, Most: most, Keep: true},
		{Op: kernel.Load32, A: varying(0), Dst: varying(4), Slot: 1, Most: most, Keep: true}, // neighbours
		{Op: kernel.Load32, A: varying(0), Dst: varying(5), Slot: 1, Immediate: 4, Most: most, Keep: true},
		{Op: kernel.Load32, A: varying(1), Dst: varying(6), Slot: 1, Immediate: 8, Most: most, Keep: true},
		{Op: kernel.Load32, A: varying(1), Dst: varying(7), Slot: 2, Most: most, Keep: true},
		{Op: kernel.Load32, A: varying(1), Base: uniform(0), Dst: varying(8), Most: 2 * most, Keep: true},
		{Op: kernel.Store32, A: varying(0), B: varying(1), Slot: 3, Immediate: 12, Most: most},
		{Op: kernel.Store32, A: varying(1), B: varying(0), Base: uniform(0), Slot: 1, Most: 2 * most},
		{Op: kernel.MulAddSat, A: varying(0), B: uniform(1), Dst: varying(9), Immediate: 8, Most: 8 * most, Keep: true},
		{Op: kernel.MulAddSat, A: varying(0), B: varying(1), Dst: varying(10), Immediate: 12, Most: 13 * most, Keep: true},
	}
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 7))
		use := has && r.IntN(3) > 0
		avx512 = func() bool { return use }
		code, err := Compile([][]Inst{run}, Options{Scratch: fileSize, Masked: true, Skip: r.IntN(2) == 0,
			Narrow: r.IntN(2) == 0})
		if err != nil {
			t.Fatal(err)
		}
		got, want := newMachine(), newMachine()
		for _, data := range got.data {
			for i := range data {
				data[i] = byte(r.Uint32())
			}
		}
		mode := got.someMasked(r)
		words := unsafe.Slice((*uint32)(unsafe.Pointer(&got.file[0])), 16*chunks)
		for i := range words {
			words[i] = r.Uint32N(most + 1)
			if lane := i % (8 * chunks); mode == Masked && activeLane(got, lane) == 0 {
				words[i] = r.Uint32()
			}
		}
		for i := range uint32(8) {
			*(*uint32)(unsafe.Pointer(&got.file[uniform(0).Offset+4*i])) = 20
		}
		want.copy(got)
		want.mask = got.mask
		code.Run(0, mode, unsafe.Pointer(&got.file[0]), &got.slots[0], got.mask.Base, 0, chunks)
		want.interpret(run, 0, chunks, code.Pairs(0))
		for i := 3; i <= 10; i++ { // lanes that don't take part may have anything
			for lane := range 8 * chunks {
				if mode == Masked && activeLane(got, lane) == 0 {
					at := varying(i).Offset + 4*uint32(lane)
					copy(got.file[at:at+4], want.file[at:])
				}
			}
		}
		compare(t, run, got, want)
	}
}

// activeLane is the mask of a lane.
func activeLane(m *machine, lane int) uint32 {
	return *(*uint32)(unsafe.Add(m.mask.Base, 4*lane))
}

// TestKnownIsShorter: where all lanes are known to be within a memory, and products to fit, there is less to do.
func TestKnownIsShorter(t *testing.T) {
	need(t)
	var sizes [2]int
	for i := range sizes {
		most := uint32(4 * 255 * i)
		code, err := Compile([][]Inst{{
			{Op: kernel.MulAddSat, A: varying(0), Dst: varying(1), Immediate: 4, Most: most},
			{Op: kernel.Load32, A: varying(1), Dst: varying(2), Most: most, Keep: true}}},
			Options{Scratch: fileSize, Narrow: true})
		if err != nil {
			t.Fatal(err)
		}
		sizes[i] = code.fence
		if i == 1 { // what is for memory that is too small comes besides
			sizes[i] -= 64
		}
	}
	if sizes[1] >= sizes[0] {
		t.Errorf("%d bytes, without what is known %d", sizes[1], sizes[0])
	}
}
