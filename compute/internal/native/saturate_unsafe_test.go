package native

import (
	"math/rand/v2"
	"slices"
	"testing"
	"unsafe"

	"farside/compute/internal/kernel"
)

// TestProducts compares products that saturate, to which nothing is added, with the kernel that adds 0.
func TestProducts(t *testing.T) {
	need(t)
	for i, factor := range []uint64{0, 1, 2, 4, 12, 20, 64, 1 << 16, 1<<16 + 1, 1 << 31, 1<<32 - 1} {
		for _, narrow := range []bool{false, true} {
			r := rand.New(rand.NewPCG(uint64(i), 5))
			run := []Inst{{Op: kernel.MulAddSat, A: varying(3), Dst: varying(4), Immediate: factor, Keep: true},
				{Op: kernel.MulAddSat, A: varying(3), Dst: varying(3), Immediate: factor, Keep: true}}
			code, err := Compile([][]Inst{run}, Options{Scratch: fileSize, Narrow: narrow})
			if err != nil {
				t.Fatal(err)
			}
			got, want := newMachine(), newMachine()
			for k := range uint32(8 * chunks) {
				*(*uint32)(unsafe.Pointer(&got.file[varying(3).Offset+4*k])) = word(r)
			}
			want.copy(got)
			code.Run(0, Plain, unsafe.Pointer(&got.file[0]), &got.slots[0], nil, 0, chunks)
			run = slices.Clone(run)
			run[0].B, run[1].B = uniform(0), uniform(0) // which is 0
			want.interpret(run, 0, chunks, !narrow)
			compare(t, run, got, want)
		}
	}
}
