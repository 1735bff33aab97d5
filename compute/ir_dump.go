package compute

import (
	"fmt"
	"strings"

	"farside/compute/internal/ops"
	"farside/spirv"
)

// String is the graph as text: the loops, then the blocks in their order, a node a line. Nodes are v and a number, with
// a colon where they hold 64 bits; constants stand where they are used. A node that differs between lanes, as far as
// that is known yet, has a ~ behind it. The number behind the semicolon is the word of the SPIR-V instruction.
func (g *graph) String() string {
	var b strings.Builder
	for i := range g.loops {
		if l := &g.loops[i]; l.last >= 0 {
			fmt.Fprintf(&b, "loop %d: b%d to b%d, in loop %d", i, l.header, l.last, l.parent)
			if l.divergent {
				b.WriteString(", lanes leave it one after the other")
			}
			b.WriteByte('\n')
		}
	}
	for i := range g.memories[min(1, len(g.memories)):] {
		m := &g.memories[i+1]
		fmt.Fprintf(&b, "memory %d: %s", i+1, m.text())
		for _, flag := range []struct {
			set  bool
			name string
		}{{m.resource, "chosen at run time"}, {m.constant, "constant"}, {m.volatile, "volatile"}} {
			if flag.set {
				b.WriteString(", " + flag.name)
			}
		}
		b.WriteByte('\n')
	}
	for i := range g.privates {
		fmt.Fprintf(&b, "array %d: %d registers of %d bits\n", i, g.privates[i].count, g.privates[i].size())
	}
	for _, at := range g.order {
		g.blockText(&b, at)
	}
	return b.String()
}

// text names a memory.
func (m *memory) text() string {
	switch m.kind {
	case memoryPush:
		return "push constants"
	case memoryShared:
		return "shared"
	case memoryData:
		return "data"
	}
	return fmt.Sprintf("%s(%d.%d)[%d]", m.name, m.set, m.binding, m.element)
}

func (g *graph) blockText(b *strings.Builder, at int32) {
	blk := &g.blocks[at]
	fmt.Fprintf(b, "b%d:", at)
	for i, p := range blk.preds {
		word := ", b"
		if i == 0 {
			word = " from b"
		}
		fmt.Fprintf(b, "%s%d", word, p)
	}
	for _, flag := range []struct {
		set  bool
		name string
	}{{blk.loop >= 0, fmt.Sprintf(" loop %d", blk.loop)}, {blk.pend, " waits"}, {blk.join, " joins"}} {
		if flag.set {
			b.WriteString(flag.name)
		}
	}
	b.WriteByte('\n')
	for _, list := range [][]value{blk.phis, blk.insts} {
		for _, v := range list {
			b.WriteString("  " + g.nodeText(v) + "\n")
		}
	}
	switch {
	case blk.cond != 0:
		fmt.Fprintf(b, "  if %s b%d else b%d\n", g.operandText(blk.cond), blk.succs[0], blk.succs[1])
	case blk.succs[0] >= 0:
		fmt.Fprintf(b, "  to b%d\n", blk.succs[0])
	default:
		b.WriteString("  end\n")
	}
}

// nodeText is the line of a node. The graph may be wrong: the validator quotes it.
func (g *graph) nodeText(v value) string {
	n := &g.nodes[v]
	o := ops.Of(n.op)
	var b strings.Builder
	if o.Result != ops.None {
		b.WriteString(g.name(v))
		if n.varying {
			b.WriteByte('~')
		}
		b.WriteString(" = ")
	}
	b.WriteString(o.Name)
	list := n.list
	if o.Class == ops.ClassCall && int(n.extra) < len(g.calls) {
		c := g.callOf(n)
		b.WriteString(" " + c.text() + g.operandsText(c, list))
		list = nil
	}
	last := 0
	for i, a := range n.args {
		if a != 0 {
			last = i + 1
		}
	}
	for _, a := range append(n.args[:last:last], list...) {
		b.WriteString(" " + g.operandText(a))
	}
	if n.base != 0 {
		b.WriteString(" base " + g.operandText(n.base))
	}
	if n.imm != 0 {
		fmt.Fprintf(&b, " imm %#x", n.imm)
	}
	switch {
	case o.Space == ops.SpaceSlot && n.extra > 0, n.op == ops.ArrayLength:
		fmt.Fprintf(&b, " memory %d", n.extra)
	case o.Space == ops.SpacePrivate:
		fmt.Fprintf(&b, " array %d", n.extra)
	}
	if n.version != 0 {
		fmt.Fprintf(&b, " version %d", n.version)
	}
	fmt.Fprintf(&b, " ; %d", n.offset)
	return b.String()
}

// name is the number of a value.
func (g *graph) name(v value) string {
	if g.nodes[v].wide {
		return fmt.Sprintf("v%d:", v)
	}
	return fmt.Sprintf("v%d", v)
}

// operandText names a value where it is used.
func (g *graph) operandText(v value) string {
	if v <= 0 || int(v) >= len(g.nodes) {
		return "none"
	}
	n := &g.nodes[v]
	switch {
	case n.op == ops.Const:
		return fmt.Sprintf("%#x", n.imm)
	case n.op == ops.Builtin:
		return fmt.Sprintf("%v.%d", spirv.BuiltIn(uint32(n.imm)), n.imm>>32)
	}
	return g.name(v)
}
