package ir

import (
	"math"
	"math/rand/v2"
	"testing"

	"farside/compute/internal/budget"
	"farside/compute/internal/kernel"
	"farside/compute/internal/ops"
)

// TestExtensions: extensions that change nothing, or nothing that counts, go.
func TestExtensions(t *testing.T) {
	g := New(new(budget.Budget))
	x := g.Add(Node{Op: ops.Builtin})
	op1, op2 := g.Op1, g.Op2
	s16, z16, z8 := op1(kernel.Sext16, x), op1(kernel.Zext16, x), op1(kernel.Zext8, x)
	for _, c := range []struct{ got, want Value }{
		{op1(kernel.Sext16, z16), s16},
		{op1(kernel.Zext16, s16), z16},
		{op1(kernel.Zext8, s16), z8},
		{op1(kernel.Zext16, z8), z8},
		{op1(kernel.Sext16, z8), z8},
		{op1(kernel.Sext16, op1(kernel.Zext16, op2(kernel.MaxS32, s16, z8))), op2(kernel.MaxS32, s16, z8)},
		{op1(kernel.Zext16, op2(kernel.AddI32, z16, g.C32(5))), op1(kernel.Zext16, op2(kernel.AddI32, x, g.C32(5)))},
		{op1(kernel.Sext16, op2(kernel.ShrS32, s16, g.C32(3))), op2(kernel.ShrS32, s16, g.C32(3))},
		{op1(kernel.Zext8, op2(kernel.ShlI32, s16, g.C32(3))), op1(kernel.Zext8, op2(kernel.ShlI32, x, g.C32(3)))},
	} {
		if c.got != c.want {
			t.Errorf("%s, not %s", g.nodeText(c.got), g.nodeText(c.want))
		}
	}
	if v := op1(kernel.Zext16, op1(kernel.Sext8, x)); g.Nodes[v].Op != kernel.Zext16 {
		t.Errorf("the sign of 8 bits is lost: %s", g.nodeText(v))
	}
}

// TestRandomExtensions compares expressions with extensions in all places with what they are without folding.
func TestRandomExtensions(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	extensions := []kernel.Op{kernel.Zext8, kernel.Zext16, kernel.Sext8, kernel.Sext16}
	binary := []kernel.Op{kernel.AddI32, kernel.SubI32, kernel.MulI32, kernel.AndI32, kernel.OrI32, kernel.XorI32,
		kernel.ShlI32, kernel.ShrS32, kernel.ShrU32, kernel.MinS32, kernel.MaxS32, kernel.MinU32, kernel.DivS32,
		kernel.RemS32, kernel.ModS32, kernel.DivU32, kernel.RemU32}
	numbers := []uint32{0, 1, 2, 7, 127, 128, 129, 255, 256, 32767, 32768, 32769, 65535, 65536, 1 << 31}
	for range 20000 {
		g := New(new(budget.Budget))
		x := g.Add(Node{Op: ops.Builtin})
		list, words := []Value{x}, []uint64{}
		a := numbers[r.IntN(len(numbers))] ^ -uint32(r.IntN(2))
		words = append(words, uint64(a))
		for range 12 {
			i := r.IntN(len(list))
			if op := extensions[r.IntN(4)]; r.IntN(2) == 0 {
				list, words = append(list, g.Op1(op, list[i])), append(words, Evaluate(op, words[i], 0, 0, 0))
				continue
			}
			op, k, with := binary[r.IntN(len(binary))], r.IntN(len(list)), uint64(0)
			if with = words[k]; r.IntN(2) == 0 {
				with = uint64(numbers[r.IntN(len(numbers))] ^ -uint32(r.IntN(2)))
				list = append(list, g.Op2(op, list[i], g.C32(uint32(with))))
			} else {
				list = append(list, g.Op2(op, list[i], list[k]))
			}
			words = append(words, Evaluate(op, words[i], with, 0, 0))
		}
		for i, v := range list {
			if got := computed(g, v, x, uint64(a)); got&math.MaxUint32 != words[i] {
				t.Fatalf("value %d of %#x is %#x, not %#x: %s", i, a, got, words[i], g.nodeText(v))
			}
		}
	}
}
