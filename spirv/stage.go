package spirv

import "farside/internal/vk"

// models is a set of execution models, a bit for each. Those that Vulkan's core has no more of have none.
type models uint32

const (
	inVertex   models = 1 << ExecutionModelVertex
	inFragment models = 1 << ExecutionModelFragment
	inCompute  models = 1 << ExecutionModelGLCompute
	others            = ^(inVertex | inFragment | inCompute) // of which little is checked
)

func (m models) has(e ExecutionModel) bool { return e >= 32 || m>>e&1 != 0 }

// checked says whether the interface and the modes of an execution model are.
func checked(e ExecutionModel) bool { return !others.has(e) }

// stageError is an error that only counts in functions that an entry point of other models reaches.
type stageError struct {
	at     *Instruction
	models models // that may have it
	vuid   vk.VUID
	why    string
}

func (e *stageError) Error() string { return e.why }

// of is the error for an entry point of a model.
func (e *stageError) of(m ExecutionModel) error {
	name := "fragment"
	switch m {
	case ExecutionModelVertex:
		name = "vertex"
	case ExecutionModelGLCompute:
		name = "compute"
	}
	return ruleAt(e.at, e.vuid, "%s, and in a function that a %s entry point reaches", e.why, name)
}

// onlyIn says that only some stages may have an instruction.
func onlyIn(i *Instruction, m models, vuid vk.VUID, why string) error {
	return &stageError{i, m, vuid, why}
}

// limit keeps an error for the entry points of some stages; others it gives back.
func (k *checker) limit(function int, err error) error {
	limit, ok := err.(*stageError)
	if !ok {
		return err
	}
	for _, other := range k.limits[function] {
		if other.models == limit.models {
			return nil
		}
	}
	k.limits[function] = append(k.limits[function], limit)
	return nil
}
