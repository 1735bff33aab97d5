package ir

import (
	"fmt"
	"strings"

	"farside/compute/internal/kernel"
	"farside/compute/internal/ops"
	"farside/spirv"
)

// Part says what some operands of a call are: its node lists them part by part.
type Part uint8

const (
	PartImage   Part = iota // the number of an element that the shader chooses: an I32
	PartSampler             // likewise
	PartCoordinate
	PartDref
	PartComponent // of a gather
	PartBias
	PartLod // of a fetch or a query of a size an I32
	PartMinLod
	PartGradX
	PartGradY
	PartOffset // I32
	PartSample
	PartTexel // what is written; of an atomic the value, then the comparator
	PartValue // of subgroups: one, or the four words of a ballot; what is printed
	PartArg   // an index, delta, mask or direction
	NumParts
)

var partNames = [NumParts]string{"image", "sampler", "at", "dref", "component", "bias", "lod", "minlod", "gradx",
	"grady", "offset", "sample", "texel", "value", "arg"}

// Call is what an operation of ClassCall does with its operands. Nodes may share one: nothing changes it once a node
// has it. Its image, subgroup or print is there, as the operation is ops.Image, Subgroup or Print.
type Call struct {
	Op       spirv.Op        // the instruction
	Pure     bool            // nothing but its results matters
	Results  int             // there is an ops.Result for each that is used
	Parts    [NumParts]int32 // how many operands each has
	Image    *ImageCall
	Subgroup *SubgroupCall
	Print    *PrintCall
}

// Element chooses an element of a resource: constant, unless the call has an operand for it.
type Element struct {
	Resource int // index in shader.resources; -1 is none
	Constant uint32
}

// ImageCall is an instruction on an image: OpImageRead, OpImageWrite, OpImageFetch, OpImageSample*, OpImageGather,
// OpImageDrefGather, OpImageQuery*, or the OpAtomic* of an OpImageTexelPointer. Coordinates of images with layers have
// the layer last.
type ImageCall struct {
	Image, Sampler Element
	Projective     bool        // the last coordinate divides the others
	Offsets        [4][2]int32 // ConstOffsets of a gather
	HasOffsets     bool
}

// SubgroupCall is an instruction on the lanes of a subgroup; scalars only, vectors are several.
type SubgroupCall struct {
	Operation spirv.GroupOperation
	Combines  bool // it combines the values of lanes, as operation says
	Cluster   uint32
	Typ       *spirv.Type // of the value
}

// PrintCall is a call of NonSemantic.DebugPrintf.
type PrintCall struct {
	Format string
	Types  []*spirv.Type // of the arguments; a vector has as many operands as components
}

// CallOperands are the operands of a call that is being built.
type CallOperands [NumParts][]Value

// Put appends operands to a part; 0 is none.
func (o *CallOperands) Put(p Part, operands ...Value) {
	for _, v := range operands {
		if v != 0 {
			o[p] = append(o[p], v)
		}
	}
}

// Call adds a call, and gives its results: of wide, those that have 64 bits.
func (g *Graph) Call(op kernel.Op, c Call, o *CallOperands, wide []bool) []Value {
	n := 0
	for p := range o {
		c.Parts[p] = int32(len(o[p]))
		n += len(o[p])
	}
	list := g.Values(n)[:0]
	for _, operands := range o {
		list = append(list, operands...)
	}
	c.Results = len(wide)
	g.calls = append(g.calls, c)
	v := g.Add(Node{Op: op, Extra: int32(len(g.calls) - 1), List: list})
	results := g.Values(len(wide))
	for i := range results {
		results[i] = g.Add(Node{Op: ops.Result, Wide: wide[i], Args: [4]Value{v}, Imm: uint64(i)})
	}
	return results
}

// CallOf is what a node of ClassCall does.
func (g *Graph) CallOf(n *Node) *Call { return &g.calls[n.Extra] }

// text names what a call does.
func (c *Call) text() string {
	switch {
	case c.Image != nil:
		text := c.Op.String()
		for _, e := range []Element{c.Image.Image, c.Image.Sampler} {
			if e.Resource >= 0 {
				text += fmt.Sprintf(" resource %d[%d]", e.Resource, e.Constant)
			}
		}
		if c.Image.HasOffsets {
			text += fmt.Sprintf(" offsets %d", c.Image.Offsets)
		}
		return text
	case c.Subgroup != nil:
		text := c.Op.String()
		if c.Subgroup.Combines {
			text += " " + c.Subgroup.Operation.String()
		}
		if c.Subgroup.Cluster > 0 {
			text += fmt.Sprintf(" of %d", c.Subgroup.Cluster)
		}
		return text
	}
	return fmt.Sprintf("%q", c.Print.Format)
}

// operandsText lists the operands of a call by their parts. The graph may be wrong: the list may have more or fewer.
func (g *Graph) operandsText(c *Call, list []Value) string {
	var b strings.Builder
	for p, n := range c.Parts {
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
func (c *Call) valid(n *Node) error {
	operands := int32(0)
	for _, p := range c.Parts {
		operands += p
	}
	if int(operands) != len(n.List) {
		return fmt.Errorf("a call with %d operands for %d", len(n.List), operands)
	}
	if (c.Image != nil) != (n.Op == ops.Image) || (c.Subgroup != nil) != (n.Op == ops.Subgroup) ||
		(c.Print != nil) != (n.Op == ops.Print) {
		return fmt.Errorf("a call of another kind")
	}
	return nil
}

// partOf is the part that operand i of a call's list belongs to.
func (c *Call) partOf(i int) Part {
	for p, n := range c.Parts {
		if i -= int(n); i < 0 {
			return Part(p)
		}
	}
	return NumParts
}
