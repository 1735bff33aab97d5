package compute

import (
	"fmt"
	"strings"

	"farside/compute/internal/kernel"
	"farside/compute/internal/ops"
	"farside/spirv"
)

// part says what some operands of a call are: its node lists them part by part.
type part uint8

const (
	partImage   part = iota // the number of an element that the shader chooses: an I32
	partSampler             // likewise
	partCoordinate
	partDref
	partComponent // of a gather
	partBias
	partLod // of a fetch or a query of a size an I32
	partMinLod
	partGradX
	partGradY
	partOffset // I32
	partSample
	partTexel // what is written; of an atomic the value, then the comparator
	partValue // of subgroups: one, or the four words of a ballot; what is printed
	partArg   // an index, delta, mask or direction
	numParts
)

var partNames = [numParts]string{"image", "sampler", "at", "dref", "component", "bias", "lod", "minlod", "gradx", "grady",
	"offset", "sample", "texel", "value", "arg"}

// call is what an operation of ClassCall does with its operands. Nodes may share one: nothing changes it once a node has
// it. Its image, subgroup or print is there, as the operation is ops.Image, Subgroup or Print.
type call struct {
	op       spirv.Op        // the instruction
	pure     bool            // nothing but its results matters
	results  int             // there is an ops.Result for each that is used
	parts    [numParts]int32 // how many operands each has
	image    *imageCall
	subgroup *subgroupCall
	print    *printCall
}

// irElement chooses an element of a resource: constant, unless the call has an operand for it.
type irElement struct {
	resource int // index in shader.resources; -1 is none
	constant uint32
}

// imageCall is an instruction on an image: OpImageRead, OpImageWrite, OpImageFetch, OpImageSample*, OpImageGather,
// OpImageDrefGather, OpImageQuery*, or the OpAtomic* of an OpImageTexelPointer. Coordinates of images with layers have
// the layer last.
type imageCall struct {
	image, sampler irElement
	projective     bool        // the last coordinate divides the others
	offsets        [4][2]int32 // ConstOffsets of a gather
	hasOffsets     bool
}

// subgroupCall is an instruction on the lanes of a subgroup; scalars only, vectors are several.
type subgroupCall struct {
	operation spirv.GroupOperation
	combines  bool // it combines the values of lanes, as operation says
	cluster   uint32
	typ       *spirv.Type // of the value
}

// printCall is a call of NonSemantic.DebugPrintf.
type printCall struct {
	format string
	types  []*spirv.Type // of the arguments; a vector has as many operands as components
}

// callOperands are the operands of a call that is being built.
type callOperands [numParts][]value

// put appends operands to a part; 0 is none.
func (o *callOperands) put(p part, operands ...value) {
	for _, v := range operands {
		if v != 0 {
			o[p] = append(o[p], v)
		}
	}
}

// call adds a call, and gives its results: of wide, those that have 64 bits.
func (g *graph) call(op kernel.Op, c call, o *callOperands, wide []bool) []value {
	n := 0
	for p := range o {
		c.parts[p] = int32(len(o[p]))
		n += len(o[p])
	}
	list := g.values(n)[:0]
	for _, operands := range o {
		list = append(list, operands...)
	}
	c.results = len(wide)
	g.calls = append(g.calls, c)
	v := g.add(node{op: op, extra: int32(len(g.calls) - 1), list: list})
	results := g.values(len(wide))
	for i := range results {
		results[i] = g.add(node{op: ops.Result, wide: wide[i], args: [4]value{v}, imm: uint64(i)})
	}
	return results
}

// callOf is what a node of ClassCall does.
func (g *graph) callOf(n *node) *call { return &g.calls[n.extra] }

// text names what a call does.
func (c *call) text() string {
	switch {
	case c.image != nil:
		text := c.op.String()
		for _, e := range []irElement{c.image.image, c.image.sampler} {
			if e.resource >= 0 {
				text += fmt.Sprintf(" resource %d[%d]", e.resource, e.constant)
			}
		}
		if c.image.hasOffsets {
			text += fmt.Sprintf(" offsets %d", c.image.offsets)
		}
		return text
	case c.subgroup != nil:
		text := c.op.String()
		if c.subgroup.combines {
			text += " " + c.subgroup.operation.String()
		}
		if c.subgroup.cluster > 0 {
			text += fmt.Sprintf(" of %d", c.subgroup.cluster)
		}
		return text
	}
	return fmt.Sprintf("%q", c.print.format)
}

// operandsText lists the operands of a call by their parts. The graph may be wrong: the list may have more or fewer.
func (g *graph) operandsText(c *call, list []value) string {
	var b strings.Builder
	for p, n := range c.parts {
		if n > 0 {
			b.WriteString(" " + partNames[p])
		}
		for ; n > 0 && len(list) > 0; n-- {
			b.WriteString(" " + g.operandText(list[0]))
			list = list[1:]
		}
	}
	for _, v := range list {
		b.WriteString(" more " + g.operandText(v))
	}
	return b.String()
}

// valid says what is wrong with the call of a node.
func (c *call) valid(n *node) error {
	operands := int32(0)
	for _, p := range c.parts {
		operands += p
	}
	if int(operands) != len(n.list) {
		return fmt.Errorf("a call with %d operands for %d", len(n.list), operands)
	}
	if (c.image != nil) != (n.op == ops.Image) || (c.subgroup != nil) != (n.op == ops.Subgroup) ||
		(c.print != nil) != (n.op == ops.Print) {
		return fmt.Errorf("a call of another kind")
	}
	return nil
}

// partOf is the part that operand i of a call's list belongs to.
func (c *call) partOf(i int) part {
	for p, n := range c.parts {
		if i -= int(n); i < 0 {
			return part(p)
		}
	}
	return numParts
}
