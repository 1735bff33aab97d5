// Package vmtest is for tests of what runs programs: an Assembly is a program that is written by hand, Buffers and
// Pictures are memory and images for it to run on.
package vmtest

import (
	"math"
	"unsafe"

	"farside/compute/internal/kernel"
	"farside/compute/internal/program"
	"farside/internal/sampling"
	"farside/spirv"
)

// Assembly builds a program by hand.
type Assembly struct {
	program.Program
	labels map[string]int32
	jumps  map[int]string
}

func Assemble(size [3]uint32) *Assembly {
	a := &Assembly{labels: map[string]int32{}, jumps: map[int]string{}}
	a.Name, a.LocalSize, a.SubgroupSize = "main", size, 32
	a.Lanes = int(size[0] * size[1] * size[2])
	a.Mask = a.Varying(32)
	return a
}

func (a *Assembly) take(n uint32) uint32 {
	at := a.FileSize
	a.FileSize += (n + 63) &^ 63
	return at
}

func (a *Assembly) Varying(size uint32) program.Register {
	return program.Register{Offset: a.take(size * uint32((a.Lanes+7)/8)), Step: size, Size: size}
}

func (a *Assembly) Uniform(size uint32) program.Register {
	return program.Register{Offset: a.take(size), Step: 0, Size: size}
}

func (a *Assembly) Constant(value uint32) program.Register {
	r := a.Uniform(32)
	a.Constants = append(a.Constants, program.Constant{Register: r, Bits: uint64(value)})
	return r
}

func (a *Assembly) Builtin(kind spirv.BuiltIn, component int, uniform bool) program.Register {
	r := a.Varying(32)
	if uniform {
		r = a.Uniform(32)
	}
	a.Builtins = append(a.Builtins, program.Builtin{Kind: kind, Component: component, Register: r})
	return r
}

// GlobalID is a component of GlobalInvocationId.
func (a *Assembly) GlobalID(component int) program.Register {
	first := a.Op(kernel.MulI32, a.Builtin(spirv.BuiltInWorkgroupId, component, true), a.Constant(a.LocalSize[component]))
	return a.Op(kernel.AddI32, first, a.Builtin(spirv.BuiltInLocalInvocationId, component, a.LocalSize[component] == 1))
}

func (a *Assembly) Slot(s program.Slot) int32 {
	a.Slots = append(a.Slots, s)
	return int32(len(a.Slots) - 1)
}

func (a *Assembly) Emit(in program.Inst) { a.Insts = append(a.Insts, in) }

// Op emits a kernel and returns its result, which is uniform if all operands are.
func (a *Assembly) Op(op kernel.Op, operands ...program.Register) program.Register {
	in := program.Inst{Code: program.Kernel, Op: op}
	uniform := true
	for i, r := range operands {
		*[]*program.Register{&in.A, &in.B, &in.C}[i] = r
		uniform = uniform && r.Uniform()
	}
	if uniform {
		in.Dst = a.Uniform(32)
	} else {
		in.Dst = a.Varying(32)
	}
	a.Emit(in)
	return in.Dst
}

func (a *Assembly) Load(slot int32, offset program.Register, immediate uint64) program.Register {
	dst := a.Varying(32)
	if offset.Uniform() {
		dst = a.Uniform(32)
	}
	a.Emit(program.Inst{Code: program.Access, Op: kernel.Load32, Index: slot, Dst: dst, A: offset, Immediate: immediate})
	return dst
}

func (a *Assembly) Store(slot int32, offset, value program.Register) {
	a.Emit(program.Inst{Code: program.Access, Op: kernel.Store32, Index: slot, A: offset, B: value})
}

// Flow emits control flow to a label.
func (a *Assembly) Flow(in program.Inst, label string) {
	a.jumps[len(a.Insts)] = label
	a.Emit(in)
}

func (a *Assembly) Label(name string) { a.labels[name] = int32(len(a.Insts)) }

func (a *Assembly) End() *program.Program {
	a.Emit(program.Inst{Code: program.End})
	for i, label := range a.jumps {
		a.Insts[i].Target = a.labels[label]
	}
	return &a.Program
}

// Buffers are bindings: those of set 0 are words, elements of binding 1 are those of elements.
type Buffers struct {
	Words     [][]uint32
	Elements  [][]uint32
	Addresses map[uint64][]uint32
}

func (b Buffers) Memory(set, binding, element uint32) kernel.Memory {
	of := b.Words
	if binding == 1 && set == 1 {
		of, binding = b.Elements, element
	}
	if int(binding) >= len(of) || len(of[binding]) == 0 {
		return kernel.Memory{}
	}
	return kernel.Memory{Base: unsafe.Pointer(&of[binding][0]), Size: uint64(4 * len(of[binding]))}
}

func (b Buffers) Image(set, binding, element uint32) *sampling.View      { return nil }
func (b Buffers) Sampler(set, binding, element uint32) *sampling.Sampler { return nil }

func (b Buffers) Physical(address uint64) (m kernel.Memory, start uint64, found bool) {
	for start, words := range b.Addresses {
		if address-start < uint64(4*len(words)) {
			return kernel.Memory{Base: unsafe.Pointer(&words[0]), Size: uint64(4 * len(words))}, start, true
		}
	}
	return kernel.Memory{}, 0, false
}

// Image emits an instruction on an image.
func (a *Assembly) Image(op program.ImageOp) {
	a.Images = append(a.Images, op)
	a.Emit(program.Inst{Code: program.CallImage, Index: int32(len(a.Images) - 1)})
}

func (a *Assembly) Float(v float32) program.Register { return a.Constant(math.Float32bits(v)) }

// Varyings are n registers.
func (a *Assembly) Varyings(n int) (all []program.Register) {
	for range n {
		all = append(all, a.Varying(32))
	}
	return all
}

// Pictures are bindings: set 0 has words in buffers, set 1 views, one binding of many elements, and set 2 samplers.
type Pictures struct {
	Buffers
	Views    []*sampling.View
	Samplers []*sampling.Sampler
}

func (p Pictures) Image(set, binding, element uint32) *sampling.View {
	if set != 1 || binding != 3 || int(element) >= len(p.Views) {
		return nil
	}
	return p.Views[element]
}

func (p Pictures) Sampler(set, binding, element uint32) *sampling.Sampler {
	if set != 2 || binding != 4 || int(element) >= len(p.Samplers) {
		return nil
	}
	return p.Samplers[element]
}
