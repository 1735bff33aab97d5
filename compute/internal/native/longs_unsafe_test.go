package native

import (
	"math"
	"math/rand/v2"
	"testing"
	"unsafe"

	"farside/compute/internal/kernel"
	"farside/compute/internal/ops"
)

// nearDouble is the bits of a float of 64 bits, or of an integer, at which an operation is likely to go wrong: at the
// ends of what other types hold, where floats stop being whole numbers or normal, and anything else.
func nearDouble(r *rand.Rand, other uint64) uint64 {
	near := []float64{0, 0.5, 1, 0x1p23, 0x1p24, 0x1p31, 0x1p32, 0x1p52, 0x1p53, 0x1p63, 0x1p64, 0x1p128, 0x1p-126,
		0x1p-149, 0x1p-1022, math.MaxFloat64, math.SmallestNonzeroFloat64, math.Inf(1), math.NaN()}
	f := near[r.IntN(len(near))]
	switch r.IntN(6) {
	case 0:
		return 1<<r.IntN(64) + uint64(r.IntN(5)) - 2
	case 1:
		return r.Uint64() >> r.IntN(64)
	case 2:
		f = math.Float64frombits(other) * float64(r.Uint64()>>r.IntN(64))
	case 3:
		f = math.Float64frombits(other) / float64(1+r.IntN(1<<20))
	}
	return (math.Float64bits(f) + uint64(r.IntN(5)) - 2) ^ uint64(r.IntN(2))<<63
}

// TestWideNumbers compares conversions, remainders, exponents and bits of 64 bits with the kernels, and those of 32
// whose operands or results are.
func TestWideNumbers(t *testing.T) {
	need(t)
	has := avx512()
	hasBits := bits512()
	defer func(old, bits func() bool) { avx512, bits512 = old, bits }(avx512, bits512)
	for _, op := range []kernel.Op{kernel.S64ToF64, kernel.U64ToF64, kernel.S64ToF32, kernel.U64ToF32, kernel.F64ToS64,
		kernel.F64ToU64, kernel.F32ToS64, kernel.F32ToU64, kernel.F64ToF32Zero, kernel.SignF64, kernel.PopCount64,
		kernel.FindLSB64, kernel.FindMSBU64, kernel.FindMSBS64, kernel.FrexpF64, kernel.FrexpExpF64, kernel.LdexpF64,
		kernel.RemF64, kernel.ModF64, kernel.FrexpF32, kernel.FrexpExpF32, kernel.LdexpF32, kernel.PopCount32,
		kernel.Reverse32, kernel.FindLSB32, kernel.FindMSBU32, kernel.FindMSBS32} {
		for _, use := range [][2]bool{{false, false}, {has, false}, {has, hasBits}} {
			avx512, bits512 = func() bool { return use[0] }, func() bool { return use[1] }
			testNumbers(t, op)
		}
	}
}

func testNumbers(t *testing.T, op kernel.Op) {
	r := rand.New(rand.NewPCG(uint64(op), 1))
	in, info := Inst{Op: op, Dst: varying(5), Keep: true}, ops.Of(op)
	for i, o := range []*Register{&in.A, &in.B} {
		switch info.Args[i].Type.Width() {
		case 64:
			*o = wideVarying(i)
		case 32:
			*o = varying(3 + i)
		}
	}
	if info.Result.Width() == 64 {
		in.Dst = wideVarying(2)
	}
	run := []Inst{in}
	code, err := Compile([][]Inst{run}, Options{Scratch: fileSize})
	if err != nil {
		t.Fatal(err)
	}
	got, want := newMachine(), newMachine()
	for range 1000 {
		for lane := range uint32(8 * chunks) {
			word := func(r Register) *uint32 { return (*uint32)(unsafe.Pointer(&got.file[r.Offset+4*lane])) }
			quad := func(r Register) *uint64 { return (*uint64)(unsafe.Pointer(&got.file[r.Offset+8*lane])) }
			*quad(wideVarying(0)) = nearDouble(r, math.Float64bits(math.Pi))
			*quad(wideVarying(1)) = nearDouble(r, *quad(wideVarying(0)))
			*word(varying(3)) = nearFloat(r, 0x1p31)
			*word(varying(4)) = uint32(r.IntN(5000)) - 2500
			if r.IntN(8) == 0 {
				*word(varying(4)) = r.Uint32()
			}
		}
		want.copy(got)
		code.Run(0, Plain, unsafe.Pointer(&got.file[0]), &got.slots[0], nil, 0, chunks)
		want.interpret(run, 0, chunks, false)
		compare(t, run, got, want)
	}
}
