package ir

import (
	"fmt"
	"strings"

	"farside/compute/internal/ops"
	"farside/spirv"
)

// String is the graph as text: the loops, then the blocks in their order, a node a line. Nodes are v and a number, with
// a colon where they hold 64 bits; constants stand where they are used. A node that differs between lanes, as far as
// that is known yet, has a ~ behind it. The number behind the semicolon is the word of the SPIR-V instruction.
func (g *Graph) String() string {
	var b strings.Builder
	for i := range g.Loops {
		if l := &g.Loops[i]; l.Last >= 0 {
			fmt.Fprintf(&b, "loop %d: b%d to b%d, in loop %d", i, l.Header, l.Last, l.Parent)
			if l.divergent {
				b.WriteString(", lanes leave it one after the other")
			}
			b.WriteByte('\n')
		}
	}
	for i := range g.Memories[min(1, len(g.Memories)):] {
		m := &g.Memories[i+1]
		fmt.Fprintf(&b, "memory %d: %s", i+1, m.text())
		for _, flag := range []struct {
			set  bool
			name string
		}{{m.Resource, "chosen at run time"}, {m.Constant, "constant"}, {m.Volatile, "volatile"}} {
			if flag.set {
				b.WriteString(", " + flag.name)
			}
		}
		b.WriteByte('\n')
	}
	for i := range g.Privates {
		fmt.Fprintf(&b, "array %d: %d registers of %d bits\n", i, g.Privates[i].Count, g.Privates[i].Size())
	}
	for _, at := range g.Order {
		g.blockText(&b, at)
	}
	return b.String()
}

// text names a memory.
func (m *Memory) text() string {
	switch m.Kind {
	case MemoryPush:
		return "push constants"
	case MemoryShared:
		return "shared"
	case MemoryData:
		return "data"
	case MemoryOutputs:
		return "outputs"
	}
	return fmt.Sprintf("%s(%d.%d)[%d]", m.Name, m.Set, m.Binding, m.Element)
}

func (g *Graph) blockText(b *strings.Builder, at int32) {
	blk := &g.Blocks[at]
	fmt.Fprintf(b, "b%d:", at)
	for i, p := range blk.Preds {
		word := ", b"
		if i == 0 {
			word = " from b"
		}
		fmt.Fprintf(b, "%s%d", word, p)
	}
	for _, flag := range []struct {
		set  bool
		name string
	}{{blk.Loop >= 0, fmt.Sprintf(" loop %d", blk.Loop)}, {blk.Pend, " waits"}, {blk.join, " joins"}} {
		if flag.set {
			b.WriteString(flag.name)
		}
	}
	b.WriteByte('\n')
	for _, list := range [][]Value{blk.Phis, blk.Insts} {
		for _, v := range list {
			b.WriteString("  " + g.nodeText(v) + "\n")
		}
	}
	switch {
	case blk.Cond != 0:
		fmt.Fprintf(b, "  if %s b%d else b%d\n", g.operandText(blk.Cond), blk.Succs[0], blk.Succs[1])
	case blk.Succs[0] >= 0:
		fmt.Fprintf(b, "  to b%d\n", blk.Succs[0])
	default:
		b.WriteString("  end\n")
	}
}

// nodeText is the line of a node. The graph may be wrong: the validator quotes it.
func (g *Graph) nodeText(v Value) string {
	n := &g.Nodes[v]
	o := ops.Of(n.Op)
	var b strings.Builder
	if o.Result != ops.None {
		b.WriteString(g.name(v))
		if n.Varying {
			b.WriteByte('~')
		}
		b.WriteString(" = ")
	}
	b.WriteString(o.Name)
	list := n.List
	if o.Class == ops.ClassCall && int(n.Extra) < len(g.calls) {
		c := g.CallOf(n)
		b.WriteString(" " + c.text() + g.operandsText(c, list))
		list = nil
	}
	last := 0
	for i, a := range n.Args {
		if a != 0 {
			last = i + 1
		}
	}
	for _, a := range append(n.Args[:last:last], list...) {
		b.WriteString(" " + g.operandText(a))
	}
	if n.Base != 0 {
		b.WriteString(" base " + g.operandText(n.Base))
	}
	if n.Imm != 0 {
		fmt.Fprintf(&b, " imm %#x", n.Imm)
	}
	switch {
	case o.Space == ops.SpaceSlot && n.Extra > 0, n.Op == ops.ArrayLength:
		fmt.Fprintf(&b, " memory %d", n.Extra)
	case o.Space == ops.SpacePrivate:
		fmt.Fprintf(&b, " array %d", n.Extra)
	}
	if n.Version != 0 {
		fmt.Fprintf(&b, " version %d", n.Version)
	}
	fmt.Fprintf(&b, " ; %d", n.Offset)
	return b.String()
}

// name is the number of a value.
func (g *Graph) name(v Value) string {
	if g.Nodes[v].Wide {
		return fmt.Sprintf("v%d:", v)
	}
	return fmt.Sprintf("v%d", v)
}

// operandText names a value where it is used.
func (g *Graph) operandText(v Value) string {
	if v <= 0 || int(v) >= len(g.Nodes) {
		return "none"
	}
	n := &g.Nodes[v]
	switch {
	case n.Op == ops.Const:
		return fmt.Sprintf("%#x", n.Imm)
	case n.Op == ops.Builtin:
		return fmt.Sprintf("%v.%d", spirv.BuiltIn(uint32(n.Imm)), n.Imm>>32)
	}
	return g.name(v)
}
