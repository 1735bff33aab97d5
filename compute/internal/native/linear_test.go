package native

import (
	"runtime/debug"
	"testing"

	"farside/compute/internal/kernel"
)

// TestDeepPlan: what an access's offset depends on may be as long as the program. A recursion along it would need more
// stack than is allowed here, and end the process.
func TestDeepPlan(t *testing.T) {
	defer debug.SetMaxStack(debug.SetMaxStack(4 << 20))
	r := Register{Step: 32, Valid: true}
	insts := make([]Inst, 100_000, 100_001)
	for i := range insts {
		insts[i] = Inst{Op: kernel.AddI32, Dst: r, A: r, B: r}
	}
	insts = append(insts, Inst{Op: kernel.Load32, Pattern: Linear, A: r, Dst: Register{Offset: 32, Step: 32, Valid: true}})
	done := make(chan *plan)
	go func() { done <- newPlan(insts, 1) }()
	if p := <-done; len(p.ways) != 1 {
		t.Errorf("%d ways", len(p.ways))
	}
}
