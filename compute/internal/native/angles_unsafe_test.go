package native

import (
	"math/rand/v2"
	"slices"
	"testing"
	"unsafe"

	"farside/compute/internal/kernel"
)

// TestSinesWithCosines: the sine and the cosine of one value are computed together where nothing comes between them
// that matters.
func TestSinesWithCosines(t *testing.T) {
	need(t)
	joined := 0
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 2))
		register := func() Register { return varying(3 + r.IntN(5)) }
		run := []Inst{{Op: kernel.SinF32, A: register(), Dst: register()}, {Op: kernel.CosF32, Dst: register()}}
		run[1].A = run[0].A
		if r.IntN(2) == 0 {
			run[0].Op, run[1].Op = run[1].Op, run[0].Op
		}
		for range r.IntN(3) {
			between := Inst{Op: kernel.AddF32, A: register(), B: register(), Dst: register()}
			run = slices.Insert(run, 1, between)
		}
		run = append(run, Inst{Op: kernel.MulAddF32, A: register(), B: run[0].Dst, C: run[len(run)-1].Dst, Dst: varying(9)})
		for i := range run {
			run[i].Keep = i+1 == len(run) || r.IntN(2) == 0
		}
		if list := joinAngles(run); len(list) > 1 && list[0].withSine(&list[1]) {
			joined++
		}
		for _, narrow := range []bool{false, true} {
			code, err := Compile([][]Inst{slices.Clone(run)}, Options{Scratch: fileSize, Narrow: narrow})
			if err != nil {
				t.Fatal(err)
			}
			got, want := newMachine(), newMachine()
			for i := 0; i < fileSize; i += 4 {
				*(*uint32)(unsafe.Pointer(&got.file[i])) = word(r)
			}
			want.copy(got)
			code.Run(0, Plain, unsafe.Pointer(&got.file[0]), &got.slots[0], nil, 0, chunks)
			want.interpret(run, 0, chunks, false)
			if compare(t, run, got, want); t.Failed() {
				t.Fatalf("seed %d, narrow %v", seed, narrow)
			}
		}
	}
	if joined < 50 {
		t.Errorf("%d of 300 runs have both together", joined)
	}
}
