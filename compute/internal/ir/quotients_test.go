package ir

import (
	"math"
	"math/rand/v2"
	"testing"

	"farside/compute/internal/budget"
	"farside/compute/internal/kernel"
	"farside/compute/internal/ops"
)

// computed is what a graph computes for v if the value x is known.
func computed(g *Graph, v, x Value, known uint64) uint64 {
	n := &g.Nodes[v]
	switch {
	case v == x:
		return known
	case n.Op == ops.Const:
		return n.Imm
	}
	var args [3]uint64
	for i := range args {
		if n.Args[i] != 0 {
			args[i] = computed(g, n.Args[i], x, known)
		}
	}
	return Evaluate(n.Op, args[0], args[1], args[2], n.Imm)
}

// numbersFor are numbers that operations are likely to go wrong with.
func numbersFor() []uint64 {
	const low, high = uint64(math.MaxInt64), uint64(1) << 63
	numbers := []uint64{0, 1, 2, 3, 5, 6, 7, 10, 12, 97, 641, 1000, 1<<16 + 1, 1e9 + 7, math.MaxUint32 - 1,
		math.MaxUint32, 1 << 32, 1<<32 + 1, 1e18, low - 1, low, high, high + 1, math.MaxUint64 / 3}
	source := rand.New(rand.NewPCG(1, 2))
	for range 100 {
		numbers = append(numbers, source.Uint64()>>source.IntN(64))
	}
	for _, n := range numbers[1:] {
		numbers = append(numbers, -n)
	}
	return numbers
}

// TestQuotientsByConstants: quotients and remainders of 64 bits by constants are no divisions, and give what those do.
func TestQuotientsByConstants(t *testing.T) {
	numbers := numbersFor()
	for _, op := range []kernel.Op{kernel.DivU64, kernel.RemU64, kernel.DivS64, kernel.RemS64, kernel.ModS64} {
		g := New(new(budget.Budget))
		x := g.Add(Node{Op: ops.Builtin, Wide: true})
		for _, d := range numbers {
			v := g.Op2(op, x, g.Constant(d, true))
			if divides := g.Nodes[v].Op == op; divides != (d == 0) {
				t.Fatalf("%v by %#x is %v", op, d, g.Nodes[v].Op)
			}
			for _, a := range numbers {
				if got, want := computed(g, v, x, a), Evaluate(op, a, d, 0, 0); got != want {
					t.Fatalf("%v of %#x and %#x: %#x, not %#x", op, a, d, got, want)
				}
			}
		}
	}
}

// TestSignedQuotientsByConstants: those of 32 bits have no sign if their operand has none, and give the same.
func TestSignedQuotientsByConstants(t *testing.T) {
	for _, op := range []kernel.Op{kernel.DivS32, kernel.RemS32, kernel.ModS32} {
		g := New(new(budget.Budget))
		x := g.Add(Node{Op: ops.Builtin})
		half := g.Op2(kernel.ShrU32, x, g.C32(1))
		for _, d := range numbersFor() {
			d := uint32(d)
			for _, of := range []Value{x, half} {
				v := g.Op2(op, of, g.C32(d))
				positive := int32(d) > 0 && of == half
				turned := op == kernel.ModS32 && int32(d) > 0 && d&(d-1) == 0
				if signed := g.Nodes[v].Op == op; signed == (positive || turned || d == 1 || d == math.MaxUint32) {
					t.Fatalf("%v by %#x is %v", op, d, g.Nodes[v].Op)
				}
				for _, a := range numbersFor() {
					a &= math.MaxUint32
					want := Evaluate(op, computed(g, of, x, a), uint64(d), 0, 0)
					if got := computed(g, v, x, a); got != want {
						t.Fatalf("%v of %#x and %#x: %#x, not %#x", op, a, d, got, want)
					}
				}
			}
		}
	}
}

// TestMultiplesOfConstants: whether a remainder by a constant is 0 takes no remainder, but of even numbers with a sign.
func TestMultiplesOfConstants(t *testing.T) {
	numbers := numbersFor()
	for _, op := range []kernel.Op{kernel.RemU32, kernel.RemS32, kernel.ModS32, kernel.RemU64, kernel.RemS64} {
		wide := ops.WideResult(op)
		equal, unequal, mask := kernel.EqI32, kernel.NeI32, uint64(math.MaxUint32)
		if wide {
			equal, unequal, mask = kernel.EqI64, kernel.NeI64, math.MaxUint64
		}
		g := New(new(budget.Budget))
		x := g.Add(Node{Op: ops.Builtin, Wide: wide})
		for _, d := range numbers {
			d &= mask
			remainder := g.Op2(op, x, g.Constant(d, wide))
			for _, compare := range []kernel.Op{equal, unequal} {
				v := g.Op2(compare, remainder, g.Constant(0, wide))
				unsigned := op == kernel.RemU32 || op == kernel.RemU64
				if n := &g.Nodes[v]; d > 3 && unsigned && d&(d-1) != 0 && n.Op == compare && d < 1<<31 {
					t.Fatalf("%v of a %v by %#x stays", compare, op, d)
				}
				for _, a := range numbers {
					a &= mask
					want := Evaluate(compare, Evaluate(op, a, d, 0, 0), 0, 0, 0)
					if got := computed(g, v, x, a); got != want {
						t.Fatalf("%v of the %v of %#x and %#x: %#x, not %#x", compare, op, a, d, got, want)
					}
				}
			}
		}
	}
}

// TestWords: words that are taken out of values of 64 bits stay where they are, and one instruction multiplies them.
func TestWords(t *testing.T) {
	g := New(new(budget.Budget))
	x := g.Add(Node{Op: ops.Builtin, Wide: true})
	upper := g.shift(kernel.ShrU64, x, 32)
	extend := func(op kernel.Op, v Value) Value { return g.Op1(kernel.ZextI32I64, g.Op1(op, v)) }
	low, high := extend(kernel.TruncI64I32, x), extend(kernel.TruncI64I32, upper)
	product := g.Op2(kernel.MulI64, low, high)
	for _, c := range []struct {
		v    Value
		want kernel.Op
		of   func(x uint64) uint64
	}{
		{low, kernel.AndI64, func(x uint64) uint64 { return x & math.MaxUint32 }},
		{extend(kernel.Low32, x), kernel.AndI64, func(x uint64) uint64 { return x & math.MaxUint32 }},
		{high, kernel.ShrU64, func(x uint64) uint64 { return x >> 32 }},
		{extend(kernel.High32, x), kernel.ShrU64, func(x uint64) uint64 { return x >> 32 }},
		{g.Op1(kernel.TruncI64I32, upper), kernel.High32, func(x uint64) uint64 { return x >> 32 }},
		{g.Op1(kernel.TruncI64I32, low), kernel.TruncI64I32, func(x uint64) uint64 { return x & math.MaxUint32 }},
		{product, kernel.MulWordsU64, func(x uint64) uint64 { return x & math.MaxUint32 * (x >> 32) }},
		{g.Op2(kernel.MulI64, low, g.c64(all32)), kernel.MulWordsU64,
			func(x uint64) uint64 { return x & math.MaxUint32 * math.MaxUint32 }},
		{g.Op2(kernel.MulI64, low, g.c64(1<<32+1)), kernel.MulI64,
			func(x uint64) uint64 { return x & math.MaxUint32 * (1<<32 + 1) }},
		{g.Op2(kernel.MulI64, g.Op2(kernel.AddI64, low, high), low), kernel.MulI64,
			func(x uint64) uint64 { return (x&math.MaxUint32 + x>>32) * (x & math.MaxUint32) }},
		{g.Op2(kernel.AndI64, g.Op2(kernel.OrI64, low, high), g.c64(all32)), kernel.OrI64,
			func(x uint64) uint64 { return x&math.MaxUint32 | x>>32 }},
	} {
		if got := g.Nodes[c.v].Op; got != c.want {
			t.Errorf("a %v, not a %v", got, c.want)
		}
		for _, a := range numbersFor() {
			if got, want := computed(g, c.v, x, a), c.of(a); got != want {
				t.Fatalf("%v of %#x: %#x, not %#x", c.want, a, got, want)
			}
		}
	}
	if n := &g.Nodes[product]; n.Args[0] != x && n.Args[1] != x {
		t.Error("the product clears an upper word that it doesn't read")
	}
}
