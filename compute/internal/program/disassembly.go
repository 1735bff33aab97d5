package program

import (
	"fmt"
	"strings"

	"farside/compute/internal/kernel"
)

// String is a program as text: what it uses, then an instruction a line. Registers are r and, if uniform, u, with
// their place in the file in units of 32 bytes, and a colon where they hold 64-bit values.
func (p *Program) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %d×%d×%d invocations, subgroups of %d, %d bytes of registers, %d of shared memory\n", p.Name,
		p.LocalSize[0], p.LocalSize[1], p.LocalSize[2], p.SubgroupSize, p.FileSize, p.Shared)
	fmt.Fprintf(&b, "execution mask %v\n", p.Mask)
	for _, c := range p.Constants {
		fmt.Fprintf(&b, "%v = %#x\n", c.Register, c.Bits)
	}
	for _, in := range p.Builtins {
		if in.Kind >= InputKind {
			fmt.Fprintf(&b, "%v = input %d\n", in.Register, in.Kind-InputKind)
			continue
		}
		fmt.Fprintf(&b, "%v = %v.%c\n", in.Register, in.Kind, "xyzw"[in.Component&3])
	}
	targets := map[int32]bool{}
	for i := range p.Insts {
		if p.Insts[i].Jumps() {
			targets[p.Insts[i].Target] = true
		}
	}
	for i := range p.Insts {
		mark := ' '
		if targets[int32(i)] {
			mark = '>'
		}
		fmt.Fprintf(&b, "%c%5d  %s\n", mark, i, p.instruction(&p.Insts[i]))
	}
	return b.String()
}

// String names a register.
func (r Register) String() string {
	if r.Size == 0 {
		return "none"
	}
	name := "r"
	if r.Uniform() {
		name = "u"
	}
	if r.Size == 64 {
		return fmt.Sprintf("%s%d:", name, r.Offset/32)
	}
	return fmt.Sprintf("%s%d", name, r.Offset/32)
}

// Jumps says whether an instruction has a target.
func (in *Inst) Jumps() bool {
	switch in.Code {
	case Jump, JumpIf, JumpUnless, Enter:
		return true
	case Again:
		return in.Dst.Size > 0
	}
	return false
}

func registers(of ...Register) string {
	var names []string
	for _, r := range of {
		if r.Size > 0 {
			names = append(names, r.String())
		}
	}
	return strings.Join(names, ", ")
}

func (p *Program) instruction(in *Inst) string {
	result := ""
	if in.Dst.Size > 0 {
		result = in.Dst.String() + " = "
	}
	switch in.Code {
	case Kernel:
		text := fmt.Sprintf("%s%v %s", result, in.Op, registers(in.A, in.B, in.C))
		if in.Op == kernel.MulAddSat || in.Immediate != 0 {
			text += fmt.Sprintf(", %d", in.Immediate)
		}
		return text
	case Access:
		return fmt.Sprintf("%s%v %s%s", result, in.Op, p.place(in), in.values())
	case AccessPhysical:
		return fmt.Sprintf("%s%v [%s]%s", result, in.Op, in.offset(), in.values())
	case AccessPrivate:
		return fmt.Sprintf("%s%v %v+%d registers[%v]%s", result, in.Op, in.C, in.Immediate, in.A, in.values())
	case Assign:
		return fmt.Sprintf("%s%v in active lanes", result, in.A)
	case Jump:
		return fmt.Sprintf("jump %d", in.Target)
	case JumpIf:
		return fmt.Sprintf("jump %d if %v", in.Target, in.A)
	case JumpUnless:
		return fmt.Sprintf("jump %d unless %v", in.Target, in.A)
	case Split:
		return fmt.Sprintf("split by %v to %v, %v", in.A, in.Dst, in.B)
	case Leave:
		return fmt.Sprintf("leave to %v", in.Dst)
	case Enter:
		return fmt.Sprintf("enter %v, else %d", in.Dst, in.Target)
	case Again:
		loop := ""
		if int(in.Index) < len(p.Loops) && in.Index >= 0 {
			loop = ", loop " + p.Loops[in.Index].Name
		}
		if in.Dst.Size == 0 {
			return "again" + loop
		}
		return fmt.Sprintf("again %d if %v%s", in.Target, in.Dst, loop)
	case Barrier:
		if in.Immediate == 1 {
			return "barrier of the workgroup"
		}
		return "barrier"
	case CallImage:
		return p.imageText(&p.Images[in.Index])
	case CallSubgroup:
		op := &p.Subgroups[in.Index]
		text := fmt.Sprintf("%s = %v %s", registers(op.Dst...), op.Op,
			registers(append(op.Value[:len(op.Value):len(op.Value)], op.Arg)...))
		if op.Op.Grouped() {
			text += fmt.Sprintf(" %v", op.Operation)
		}
		if op.Cluster > 0 {
			text += fmt.Sprintf(" of %d", op.Cluster)
		}
		return text
	case CallPrint:
		print := &p.Prints[in.Index]
		return fmt.Sprintf("print %q %s", print.Format, registers(print.Args...))
	case ArrayLength:
		return fmt.Sprintf("%slength of %s, elements of %d behind %d", result, p.memory(in), in.Stride, in.Immediate)
	case End:
		return "end"
	}
	return fmt.Sprintf("code %d", in.Code)
}

// memory names the memory of an access.
func (p *Program) memory(in *Inst) string {
	if in.Dynamic {
		r := &p.Resources[in.Index]
		return fmt.Sprintf("%s(%d.%d)[%v]", r.Name, r.Set, r.Binding, in.C)
	}
	switch s := &p.Slots[in.Index]; s.Kind {
	case SlotPush:
		return "push constants"
	case SlotShared:
		return "shared"
	case SlotData:
		return "data"
	case SlotOutputs:
		return "outputs"
	default:
		return fmt.Sprintf("%s(%d.%d.%d)", s.Name, s.Set, s.Binding, s.Element)
	}
}

// place is where an access is.
func (p *Program) place(in *Inst) string { return fmt.Sprintf("%s[%s]", p.memory(in), in.offset()) }

// offset is the sum that an access is at.
func (in *Inst) offset() string {
	var terms []string
	for _, r := range []Register{in.Base, in.A} {
		if r.Size > 0 {
			terms = append(terms, r.String())
		}
	}
	if in.Immediate > 0 || len(terms) == 0 {
		terms = append(terms, fmt.Sprint(in.Immediate))
	}
	return strings.Join(terms, "+")
}

// values are the operands of a store or an atomic.
func (in *Inst) values() string {
	if text := registers(in.B, in.D); text != "" {
		return ", " + text
	}
	return ""
}

func (p *Program) imageText(op *ImageOp) string {
	element := func(e Element) string {
		if e.Resource < 0 {
			return ""
		}
		r := &p.Resources[e.Resource]
		if e.Register.Size > 0 {
			return fmt.Sprintf(" %s(%d.%d)[%v]", r.Name, r.Set, r.Binding, e.Register)
		}
		return fmt.Sprintf(" %s(%d.%d.%d)", r.Name, r.Set, r.Binding, e.Constant)
	}
	text := ""
	if len(op.Dst) > 0 {
		text = registers(op.Dst...) + " = "
	}
	text += op.Op.String() + element(op.Image) + element(op.Sampler) + " at " + registers(op.Coordinate...)
	for _, more := range []struct {
		name string
		of   []Register
	}{
		{"dref", []Register{op.Dref}}, {"component", []Register{op.Component}}, {"bias", []Register{op.Bias}},
		{"lod", []Register{op.Lod}}, {"minlod", []Register{op.MinLod}}, {"gradx", op.GradX}, {"grady", op.GradY},
		{"offset", op.Offset}, {"sample", []Register{op.Sample}}, {"texel", op.Texel},
	} {
		if list := registers(more.of...); list != "" {
			text += " " + more.name + " " + list
		}
	}
	return text
}
