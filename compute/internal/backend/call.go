package backend

import (
	"farside/compute/internal/ir"
	"farside/compute/internal/ops"
	"farside/compute/internal/program"
)

// callRegisters are the registers of a call: those of its operands by part, and of its results.
type callRegisters struct {
	parts   [ir.NumParts][]program.Register
	results []program.Register
}

// call makes the operation with many operands that an instruction names.
func (e *emitter) call(i *program.Inst, v ir.Value) {
	n := &e.g.Nodes[v]
	c := e.g.CallOf(n)
	all := make([]program.Register, len(n.List)+c.Results)
	for k, a := range n.List {
		all[k] = e.register(a)
	}
	var r callRegisters
	for p, count := range c.Parts {
		r.parts[p], all = all[:count:count], all[count:]
	}
	for _, w := range e.live.resultsOf[v] {
		all[e.g.Nodes[w].Imm] = e.registers[w]
	}
	r.results = all
	*i = program.Inst{Offset: i.Offset}
	switch n.Op {
	case ops.Image:
		i.Code, i.Index = program.CallImage, int32(len(e.p.Images))
		e.p.Images = append(e.p.Images, r.image(c))
	case ops.Subgroup:
		i.Code, i.Index = program.CallSubgroup, int32(len(e.p.Subgroups))
		e.p.Subgroups = append(e.p.Subgroups, program.SubgroupOp{Op: c.Op, Operation: c.Subgroup.Operation,
			Combines: c.Subgroup.Combines, Cluster: c.Subgroup.Cluster, Type: c.Subgroup.Typ, Value: r.parts[ir.PartValue],
			Arg: r.one(ir.PartArg), Dst: r.results})
	case ops.Print:
		i.Code, i.Index = program.CallPrint, int32(len(e.p.Prints))
		e.p.Prints = append(e.p.Prints, program.Print{Format: c.Print.Format, Args: r.parts[ir.PartValue],
			Types: c.Print.Types})
	}
}

// one is the register of a part with at most one operand.
func (r *callRegisters) one(p ir.Part) program.Register {
	if len(r.parts[p]) == 0 {
		return program.Register{}
	}
	return r.parts[p][0]
}

func (r *callRegisters) image(c *ir.Call) program.ImageOp {
	x := c.Image
	chosen := func(e ir.Element, p ir.Part) program.Element {
		return program.Element{Resource: e.Resource, Constant: e.Constant, Register: r.one(p)}
	}
	return program.ImageOp{
		Op: c.Op, Image: chosen(x.Image, ir.PartImage), Sampler: chosen(x.Sampler, ir.PartSampler),
		Coordinate: r.parts[ir.PartCoordinate], Projective: x.Projective, Dref: r.one(ir.PartDref),
		Component: r.one(ir.PartComponent), Bias: r.one(ir.PartBias), Lod: r.one(ir.PartLod), MinLod: r.one(ir.PartMinLod),
		GradX: r.parts[ir.PartGradX], GradY: r.parts[ir.PartGradY], Offset: r.parts[ir.PartOffset], Offsets: x.Offsets,
		HasOffsets: x.HasOffsets, Sample: r.one(ir.PartSample), Texel: r.parts[ir.PartTexel], Dst: r.results,
	}
}
