package compute

import (
	"testing"

	"farside/compute/internal/vm"
)

func mustRun(t *testing.T, p *Program, d *vm.Dispatch) {
	t.Helper()
	if err := p.Run(d); err != nil {
		t.Fatal(err)
	}
}

// planOf is how a program is executed.
func planOf(t *testing.T, p *Program) string {
	t.Helper()
	if err := p.LayOut(); err != nil {
		t.Fatal(err)
	}
	plan, err := p.engine.Plan(&p.Program)
	if err != nil {
		t.Fatal(err)
	}
	return plan
}
