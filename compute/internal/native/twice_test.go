package native

import (
	"slices"
	"testing"

	"farside/compute/internal/kernel"
)

// TestBothPairsWait: lanes of both pairs are loaded before an instruction waits for those of one.
func TestBothPairsWait(t *testing.T) {
	r := func(i uint32) Register { return Register{Offset: 256 * i, Step: 32, Valid: true} }
	list := inTwo([]Inst{
		{Op: kernel.ShlI32, A: r(0), B: r(1), Dst: r(2)}, {Op: kernel.Load32, A: r(2), Dst: r(3)},
		{Op: kernel.LoadPrivate32, A: r(2), C: r(8), Dst: r(4)},
		{Op: kernel.AddI32, A: r(3), B: r(4), Dst: r(5)}, {Op: kernel.Store32, A: r(2), B: r(5)}})
	var got []part
	for i := range list {
		got = append(got, list[i].part)
	}
	want := []part{firstPart, firstPart, firstPart, secondPart, secondPart, secondPart, firstPart, firstPart, secondPart,
		secondPart}
	if !slices.Equal(got, want) {
		t.Errorf("parts %v, want %v", got, want)
	}
}

// TestCarriedByTwoPairs: the more instructions a loop has, the more registers may go from round to round.
func TestCarriedByTwoPairs(t *testing.T) {
	for _, c := range []struct {
		insts, carried int
		want           bool
	}{
		{20, mostCarried, true}, {20, mostCarried + 1, false}, {90, 30, true}, {90, 31, false}, {mostOfTwo + 1, 0, false},
	} {
		if r := (region{insts: make([]Inst, c.insts), carried: c.carried}); r.worthTwo() != c.want {
			t.Errorf("%d registers of %d instructions: %v", c.carried, c.insts, !c.want)
		}
	}
}
