package compute

import "farside/compute/internal/ops"

// callRegisters are the registers of a call: those of its operands by part, and of its results.
type callRegisters struct {
	parts   [numParts][]Register
	results []Register
}

// call makes the operation with many operands that an instruction names.
func (e *emitter) call(i *Inst, v value) {
	n := &e.nodes[v]
	c := e.callOf(n)
	all := make([]Register, len(n.list)+c.results)
	for k, a := range n.list {
		all[k] = e.register(a)
	}
	var r callRegisters
	for p, count := range c.parts {
		r.parts[p], all = all[:count:count], all[count:]
	}
	for _, w := range e.resultsOf[v] {
		all[e.nodes[w].imm] = e.registers[w]
	}
	r.results = all
	*i = Inst{Offset: i.Offset}
	switch n.op {
	case ops.Image:
		i.Code, i.Index = CallImage, int32(len(e.p.Images))
		e.p.Images = append(e.p.Images, r.image(c))
	case ops.Subgroup:
		i.Code, i.Index = CallSubgroup, int32(len(e.p.Subgroups))
		e.p.Subgroups = append(e.p.Subgroups, SubgroupOp{Op: c.op, Operation: c.subgroup.operation,
			Combines: c.subgroup.combines, Cluster: c.subgroup.cluster, Type: c.subgroup.typ, Value: r.parts[partValue],
			Arg: r.one(partArg), Dst: r.results})
	case ops.Print:
		i.Code, i.Index = CallPrint, int32(len(e.p.Prints))
		e.p.Prints = append(e.p.Prints, Print{Format: c.print.format, Args: r.parts[partValue], Types: c.print.types})
	}
}

// one is the register of a part with at most one operand.
func (r *callRegisters) one(p part) Register {
	if len(r.parts[p]) == 0 {
		return Register{}
	}
	return r.parts[p][0]
}

func (r *callRegisters) image(c *call) ImageOp {
	x := c.image
	chosen := func(e irElement, p part) Element {
		return Element{Resource: e.resource, Constant: e.constant, Register: r.one(p)}
	}
	return ImageOp{
		Op: c.op, Image: chosen(x.image, partImage), Sampler: chosen(x.sampler, partSampler),
		Coordinate: r.parts[partCoordinate], Projective: x.projective, Dref: r.one(partDref),
		Component: r.one(partComponent), Bias: r.one(partBias), Lod: r.one(partLod), MinLod: r.one(partMinLod),
		GradX: r.parts[partGradX], GradY: r.parts[partGradY], Offset: r.parts[partOffset], Offsets: x.offsets,
		HasOffsets: x.hasOffsets, Sample: r.one(partSample), Texel: r.parts[partTexel], Dst: r.results,
	}
}
