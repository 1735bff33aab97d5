package native

import (
	"math"
	"math/rand/v2"
	"testing"
	"unsafe"

	"farside/compute/internal/kernel"
)

// nearFloat is a float at which a function is likely to go wrong: around whole multiples of another, at the ends of
// what a polynomial is for, and anything else.
func nearFloat(r *rand.Rand, other float32) uint32 {
	near := []float32{0, 0x1p-6, 0.125, 0x1.5p-3, 0.25, 0.5, 1, math.Pi / 4, math.Pi / 2, math.Pi, 64, 88.72283, 0x1p23,
		0x1p24, 0x1p48, math.MaxFloat32, math.SmallestNonzeroFloat32, float32(math.Inf(1))}
	f := near[r.IntN(len(near))]
	switch r.IntN(4) {
	case 0:
		f = other * float32(r.IntN(1<<r.IntN(25)))
	case 1:
		f = other / float32(1+r.IntN(1<<r.IntN(25)))
	case 2:
		return word(r)
	}
	return (math.Float32bits(f) + uint32(r.IntN(5)) - 2) ^ uint32(r.IntN(2))<<31
}

// TestFunctions compares functions with their kernels.
func TestFunctions(t *testing.T) {
	need(t)
	for _, op := range []kernel.Op{kernel.SinF32, kernel.CosF32, kernel.TanF32, kernel.AsinF32, kernel.AcosF32,
		kernel.AtanF32, kernel.Atan2F32, kernel.SinhF32, kernel.CoshF32, kernel.TanhF32, kernel.AsinhF32, kernel.AcoshF32,
		kernel.AtanhF32, kernel.PowF32, kernel.ExpF32, kernel.LogF32, kernel.Exp2F32, kernel.Log2F32, kernel.RemF32,
		kernel.ModF32} {
		testFunction(t, op)
	}
}

func testFunction(t *testing.T, op kernel.Op) {
	r := rand.New(rand.NewPCG(uint64(op), 1))
	run := []Inst{{Op: op, A: varying(3), B: varying(4), Dst: varying(5), Keep: true}, {Op: op, A: varying(3),
		B: uniform(1), Dst: varying(6), Keep: true}}
	if operands(op) == 1 {
		run[0].B, run[1].B = Register{}, Register{}
	}
	for _, narrow := range []bool{false, true} {
		code, err := Compile([][]Inst{run}, Options{Scratch: fileSize, Narrow: narrow})
		if err != nil {
			t.Fatal(err)
		}
		got, want := newMachine(), newMachine()
		for range 300 {
			other := math.Float32frombits(nearFloat(r, math.Pi))
			for i := range uint32(8) {
				*(*float32)(unsafe.Pointer(&got.file[uniform(1).Offset+4*i])) = other
			}
			for i := range uint32(8 * chunks) {
				*(*uint32)(unsafe.Pointer(&got.file[varying(3).Offset+4*i])) = nearFloat(r, other)
				b := math.Float32bits(other)
				if r.IntN(2) == 0 {
					b = nearFloat(r, 1)
				}
				*(*uint32)(unsafe.Pointer(&got.file[varying(4).Offset+4*i])) = b
			}
			want.copy(got)
			code.Run(0, Plain, unsafe.Pointer(&got.file[0]), &got.slots[0], nil, 0, chunks)
			want.interpret(run, 0, chunks, false)
			compare(t, run, got, want)
		}
	}
}
