package native

import (
	"math/rand/v2"
	"slices"
	"testing"
	"unsafe"

	"farside/compute/internal/kernel"
)

// TestLogic puts random instructions on bits together, between others, and compares what they give with the kernels.
func TestLogic(t *testing.T) {
	need(t)
	joined, gone := 0, 0
	for seed := range uint64(3000) {
		r := rand.New(rand.NewPCG(seed, 5))
		ops := []kernel.Op{kernel.AndI32, kernel.OrI32, kernel.XorI32, kernel.AndNotI32, kernel.NotI32, kernel.XorI32,
			kernel.AddI32, kernel.EqI32, kernel.LtU32, kernel.Select32}
		lanes, shared, from := varying, uniform, 3
		if seed%3 == 0 {
			ops = []kernel.Op{kernel.AndI64, kernel.OrI64, kernel.XorI64, kernel.NotI64, kernel.XorI64, kernel.AddI64}
			lanes, shared, from = wideVarying, wideUniform, 0
		}
		register := func() Register { return lanes(from + r.IntN(5)) }
		operand := func() Register {
			if r.IntN(5) == 0 {
				return shared(3 + r.IntN(2))
			}
			return register()
		}
		var run []Inst
		for range 3 + r.IntN(20) {
			op := ops[r.IntN(len(ops)-r.IntN(5))]
			in := Inst{Op: op, A: operand(), B: operand(), Dst: register(), Keep: r.IntN(5) == 0}
			switch op {
			case kernel.NotI32, kernel.NotI64:
				in.B = Register{}
			case kernel.Select32:
				in.C = register()
				run = append(run, Inst{Op: kernel.EqI32, A: operand(), B: operand(), Dst: in.C})
			}
			run = append(run, in)
		}
		run = append(run, Inst{Op: ops[2], A: register(), B: register(), Dst: register(), Keep: true})
		if avx512() {
			for _, in := range joinLogic(run, nil, true) {
				if in.Op == ternary {
					joined++
				} else if in.Op == nothing {
					gone++
				}
			}
		}
		code, err := Compile([][]Inst{slices.Clone(run)}, Options{Scratch: fileSize, Narrow: r.IntN(3) == 0})
		if err != nil {
			t.Fatal(err)
		}
		got, want := newMachine(), newMachine()
		for i := 0; i < fileSize; i += 4 {
			*(*uint32)(unsafe.Pointer(&got.file[i])) = word(r)
		}
		for i := 3; i < 5; i++ {
			for k := range uint32(8) {
				*(*uint32)(unsafe.Pointer(&got.file[uniform(i).Offset+4*k])) = uint32(seed) * 0x9e3779b1
				*(*uint64)(unsafe.Pointer(&got.file[wideUniform(i).Offset+8*k])) = seed * 0x9e3779b1
			}
		}
		want.copy(got)
		code.Run(0, Plain, unsafe.Pointer(&got.file[0]), &got.slots[0], nil, 0, chunks)
		want.interpret(run, 0, chunks, false)
		if compare(t, run, got, want); t.Failed() {
			t.Fatal(seed)
		}
	}
	if avx512() && (joined < 2000 || gone < 3000) {
		t.Error("joined:", joined, "gone:", gone)
	}
}

// TestLogicTogether: what three operands are enough for becomes one instruction.
func TestLogicTogether(t *testing.T) {
	v := varying
	and := func(a, b, dst int) Inst { return Inst{Op: kernel.AndI32, A: v(a), B: v(b), Dst: v(dst)} }
	xor := func(a, b, dst int) Inst { return Inst{Op: kernel.XorI32, A: v(a), B: v(b), Dst: v(dst)} }
	for name, run := range map[string][]Inst{
		"choice":   {and(0, 1, 3), {Op: kernel.AndNotI32, A: v(2), B: v(0), Dst: v(4)}, xor(3, 4, 5)},
		"majority": {and(0, 1, 3), and(0, 2, 4), xor(3, 4, 3), and(1, 2, 4), xor(3, 4, 5)},
		"parity":   {xor(0, 1, 3), xor(3, 2, 5)},
		"in place": {xor(0, 1, 0), xor(0, 2, 0)},
	} {
		left := slices.DeleteFunc(joinLogic(run, nil, true), func(in Inst) bool { return in.Op == nothing })
		if len(left) != 1 || left[0].Op != ternary {
			t.Errorf("%s: %+v", name, left)
		}
	}
	kept := []Inst{xor(0, 1, 3), xor(3, 2, 5)}
	kept[0].Keep = true
	for name, run := range map[string][]Inst{
		"kept":    kept,
		"read":    {xor(0, 1, 3), xor(3, 2, 5), xor(3, 5, 4), xor(3, 0, 6)},
		"changed": {xor(0, 1, 3), {Op: kernel.AddI32, A: v(0), B: v(1), Dst: v(0)}, xor(3, 2, 5)},
		"true":    {{Op: kernel.EqI32, A: v(0), B: v(1), Dst: v(3)}, and(3, 4, 5), xor(5, 2, 6)},
		"both true": {{Op: kernel.EqI32, A: v(0), B: v(1), Dst: v(3)}, {Op: kernel.LtS32, A: v(0), B: v(2), Dst: v(4)},
			and(3, 4, 5), {Op: kernel.NotI32, A: v(5), Dst: v(6)}},
	} {
		if got := joinLogic(run, nil, true); slices.ContainsFunc(got, func(in Inst) bool {
			return in.Op == ternary && name != "read"
		}) || name == "read" && got[0].Op == nothing {
			t.Errorf("%s: %+v", name, got)
		}
	}
}
