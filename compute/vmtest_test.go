package compute

import (
	"unsafe"

	"farside/compute/internal/kernel"
	"farside/internal/sampling"
	"farside/spirv"
)

// assembly builds a program by hand.
type assembly struct {
	Program
	labels map[string]int32
	jumps  map[int]string
}

func assemble(size [3]uint32) *assembly {
	a := &assembly{labels: map[string]int32{}, jumps: map[int]string{}}
	a.Name, a.LocalSize, a.SubgroupSize = "main", size, 32
	a.Lanes = int(size[0] * size[1] * size[2])
	a.Mask = a.varying(32)
	return a
}

func (a *assembly) take(n uint32) uint32 {
	at := a.FileSize
	a.FileSize += (n + 63) &^ 63
	return at
}

func (a *assembly) varying(size uint32) Register {
	return Register{a.take(size * uint32((a.Lanes+7)/8)), size, size}
}

func (a *assembly) uniform(size uint32) Register { return Register{a.take(size), 0, size} }

func (a *assembly) constant(value uint32) Register {
	r := a.uniform(32)
	a.Constants = append(a.Constants, Constant{r, uint64(value)})
	return r
}

func (a *assembly) builtin(kind spirv.BuiltIn, component int, uniform bool) Register {
	r := a.varying(32)
	if uniform {
		r = a.uniform(32)
	}
	a.Builtins = append(a.Builtins, Builtin{kind, component, r})
	return r
}

// globalID is a component of GlobalInvocationId.
func (a *assembly) globalID(component int) Register {
	first := a.op(kernel.MulI32, a.builtin(spirv.BuiltInWorkgroupId, component, true), a.constant(a.LocalSize[component]))
	return a.op(kernel.AddI32, first, a.builtin(spirv.BuiltInLocalInvocationId, component, a.LocalSize[component] == 1))
}

func (a *assembly) slot(s Slot) int32 {
	a.Slots = append(a.Slots, s)
	return int32(len(a.Slots) - 1)
}

func (a *assembly) emit(in Inst) { a.Insts = append(a.Insts, in) }

// op emits a kernel and returns its result, which is uniform if all operands are.
func (a *assembly) op(op kernel.Op, operands ...Register) Register {
	in := Inst{Code: Kernel, Op: op}
	uniform := true
	for i, r := range operands {
		*[]*Register{&in.A, &in.B, &in.C}[i] = r
		uniform = uniform && r.Uniform()
	}
	if uniform {
		in.Dst = a.uniform(32)
	} else {
		in.Dst = a.varying(32)
	}
	a.emit(in)
	return in.Dst
}

func (a *assembly) load(slot int32, offset Register, immediate uint64) Register {
	dst := a.varying(32)
	if offset.Uniform() {
		dst = a.uniform(32)
	}
	a.emit(Inst{Code: Access, Op: kernel.Load32, Index: slot, Dst: dst, A: offset, Immediate: immediate})
	return dst
}

func (a *assembly) store(slot int32, offset, value Register) {
	a.emit(Inst{Code: Access, Op: kernel.Store32, Index: slot, A: offset, B: value})
}

// flow emits control flow to a label.
func (a *assembly) flow(in Inst, label string) {
	a.jumps[len(a.Insts)] = label
	a.emit(in)
}

func (a *assembly) label(name string) { a.labels[name] = int32(len(a.Insts)) }

func (a *assembly) end() *Program {
	a.emit(Inst{Code: End})
	for i, label := range a.jumps {
		a.Insts[i].Target = a.labels[label]
	}
	return &a.Program
}

// buffers are bindings: those of set 0 are words, elements of binding 1 are those of elements.
type buffers struct {
	words    [][]uint32
	elements [][]uint32
	physical map[uint64][]uint32
}

func (b buffers) Memory(set, binding, element uint32) Memory {
	of := b.words
	if binding == 1 && set == 1 {
		of, binding = b.elements, element
	}
	if int(binding) >= len(of) || len(of[binding]) == 0 {
		return Memory{}
	}
	return Memory{Base: unsafe.Pointer(&of[binding][0]), Size: uint64(4 * len(of[binding]))}
}

func (b buffers) Image(set, binding, element uint32) *sampling.View      { return nil }
func (b buffers) Sampler(set, binding, element uint32) *sampling.Sampler { return nil }

func (b buffers) Physical(address uint64) (Memory, bool) {
	for start, words := range b.physical {
		if skip := address - start; skip < uint64(4*len(words)) {
			return Memory{Base: unsafe.Add(unsafe.Pointer(&words[0]), skip), Size: uint64(4*len(words)) - skip}, true
		}
	}
	return Memory{}, false
}
