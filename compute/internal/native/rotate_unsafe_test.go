package native

import (
	"math/rand/v2"
	"slices"
	"testing"
	"unsafe"

	"farside/compute/internal/kernel"
)

// TestRotations puts shifts together, where they are a rotation and where they almost are one.
func TestRotations(t *testing.T) {
	need(t)
	joined := 0
	for seed := range uint64(600) {
		r := rand.New(rand.NewPCG(seed, 1))
		bits, from, wide := 32, 3, seed%2 == 1
		ops := []kernel.Op{kernel.ShlI32, kernel.ShrU32, kernel.OrI32, kernel.XorI32}
		lanes, shared := varying, uniform
		if wide {
			bits, from, lanes, shared = 64, 0, wideVarying, wideUniform
			ops = []kernel.Op{kernel.ShlI64, kernel.ShrU64, kernel.OrI64, kernel.XorI64}
		}
		left, right := 1+r.IntN(bits-1), 0
		right = bits - left
		if r.IntN(4) == 0 {
			right = r.IntN(bits)
		}
		register := func() Register { return lanes(from + r.IntN(5)) }
		x := register()
		run := []Inst{
			{Op: ops[0], A: x, B: shared(3), Count: uint8(left) + 1, Dst: register()},
			{Op: ops[1], A: x, B: shared(4), Count: uint8(right) + 1, Dst: register()},
			{Op: ops[2], A: register(), B: register(), Dst: register(), Keep: true},
			{Op: ops[3], A: register(), B: lanes(6), Dst: lanes(6), Keep: true},
		}
		if r.IntN(4) > 0 {
			run[2].A, run[2].B = run[0].Dst, run[1].Dst
		}
		if r.IntN(2) == 0 {
			run[0], run[1] = run[1], run[0]
		}
		for i := range run[:2] {
			// What other code may read is kept.
			run[i].Keep = r.IntN(6) == 0
		}
		if avx512() && slices.ContainsFunc(joinRotations(run, nil), func(in Inst) bool { return in.Op == rotate }) {
			joined++
		}
		code, err := Compile([][]Inst{slices.Clone(run)}, Options{Scratch: fileSize})
		if err != nil {
			t.Fatal(err)
		}
		if avx512() && !code.Pairs(0) {
			t.Fatal("it isn't for pairs")
		}
		got, want := newMachine(), newMachine()
		for i := 0; i < fileSize; i += 4 {
			*(*uint32)(unsafe.Pointer(&got.file[i])) = word(r)
		}
		for i, n := range []int{3: left, 4: right} {
			for k := range uint32(8) {
				if wide {
					*(*uint64)(unsafe.Pointer(&got.file[shared(i).Offset+8*k])) = uint64(n)
				} else {
					*(*uint32)(unsafe.Pointer(&got.file[shared(i).Offset+4*k])) = uint32(n)
				}
			}
		}
		want.copy(got)
		code.Run(0, Plain, unsafe.Pointer(&got.file[0]), &got.slots[0], nil, 0, chunks)
		want.interpret(run, 0, chunks, false)
		if compare(t, run, got, want); t.Failed() {
			t.Fatal(seed)
		}
	}
	if avx512() && joined < 50 {
		t.Error("rotations:", joined)
	}
}
