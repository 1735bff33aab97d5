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

// dispatch is a dispatch of so many workgroups on bindings.
func dispatch(groups [3]uint32, b vm.Bindings) *vm.Dispatch {
	return &vm.Dispatch{Groups: groups, Environment: vm.Environment{Bindings: b}}
}
