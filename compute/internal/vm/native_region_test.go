package vm

import (
	"testing"

	"farside/compute/internal/program"
)

// TestEmptyAround shows that a mask which other code uses, too, is a loop's own where no lane is in it around the
// loop.
func TestEmptyAround(t *testing.T) {
	mask, condition := program.Register{Offset: 32, Step: 32, Size: 32}, program.Register{Offset: 64, Step: 32, Size: 32}
	add := program.Inst{Code: program.Split, A: condition, Dst: mask}
	leave := program.Inst{Code: program.Leave, Dst: mask}
	take := program.Inst{Code: program.Enter, Dst: mask}
	again := program.Inst{Code: program.Again, Dst: mask}
	other := program.Inst{Code: program.Kernel}
	for _, c := range []struct {
		name  string
		insts []program.Inst
		loop  loopSpan
		want  bool
	}{
		{"all of it in the loop", []program.Inst{other, add, take, other}, loopSpan{1, 3}, true},
		{"one construct after the other", []program.Inst{add, take, leave, take, add, take}, loopSpan{2, 4}, true},
		{"the header of a loop", []program.Inst{add, take, add, again, add, take}, loopSpan{2, 4}, true},
		{"lanes wait around the loop", []program.Inst{add, add, take, take}, loopSpan{1, 3}, false},
		{"lanes wait behind the loop", []program.Inst{add, take, add, take, take}, loopSpan{2, 4}, false},
		{"lanes come from before the loop", []program.Inst{add, take, add, take}, loopSpan{1, 4}, false},
		{"lanes go on in an outer loop", []program.Inst{take, add, take, leave, again}, loopSpan{1, 4}, false},
	} {
		f := newLoopFinder(&program.Program{Insts: c.insts})
		if got := f.emptyAround(mask, c.loop); got != c.want {
			t.Errorf("%s: %v", c.name, got)
		}
	}
}
