package spirv

import (
	"fmt"
	"slices"
	"strings"
)

// The generated tables hold neither pointers nor strings, so that loading the driver costs nothing for them.

// name is a place in names: its offset, then 8 bits of its length.
type name uint32

func (n name) String() string { return names[n>>8:][:n&0xff] }

// span is a place in one of the tables of sequences.
type span struct {
	at uint16
	n  uint8
}

// operandKind is a kind of operands of the grammar.
type operandKind uint8

// operand is an operand's kind, and above it optional or repeated.
type operand uint16

const (
	optional operand = 1 << 8 // once or not at all
	repeated operand = 2 << 8 // any number of times
)

func (o operand) kind() operandKind { return operandKind(o) }

func (s span) operands() []operand { return operandTable[s.at:][:s.n] }

// requirement says what brings an instruction or an enumerant.
type requirement struct {
	capabilities span  // any of them
	extensions   span  // any of them
	version      uint8 // 0x16 for 1.6; 0 where only extensions and capabilities bring it
	last         uint8 // the last version that has it, or 0
}

// basic is the requirement of what has been there from the start.
var basic = requirement{version: 0x10}

type opInfo struct {
	name     name
	operands span
	requirement
}

type enumerantInfo struct {
	value      uint32
	name       name
	parameters span
	requirement
}

type kindInfo struct {
	at, n uint16
	mask  bool
}

type glslInfo struct {
	name     name
	operands uint8
}

// info is nil for an opcode that the grammar lacks.
func (op Op) info() *opInfo {
	if int(op) < len(opIndex) && opIndex[op] != 0 {
		return &opTable[opIndex[op]-1]
	}
	return nil
}

// Scoped says whether the first operand of an instruction, behind its result, is the scope of what takes part in it.
func (op Op) Scoped() bool {
	if i := op.info(); i != nil {
		for _, o := range i.operands.operands() {
			if k := o.kind(); k != kindIdResultType && k != kindIdResult {
				return k == kindIdScope
			}
		}
	}
	return false
}

// Grouped says whether an instruction has an operand that is a GroupOperation.
func (op Op) Grouped() bool {
	i := op.info()
	return i != nil && slices.ContainsFunc(i.operands.operands(), func(o operand) bool {
		return o.kind() == kindGroupOperation
	})
}

func (op Op) String() string {
	if i := op.info(); i != nil {
		return i.name.String()
	}
	return fmt.Sprintf("Op(%d)", uint16(op))
}

// info is nil for a number that the set lacks.
func (g GLSL) info() *glslInfo {
	if int64(g) < int64(len(glslTable)) && glslTable[g].name != 0 {
		return &glslTable[g]
	}
	return nil
}

func (g GLSL) String() string {
	if i := g.info(); i != nil {
		return i.name.String()
	}
	return fmt.Sprintf("GLSL(%d)", uint32(g))
}

// enumerant is nil for a value that the kind lacks.
func (k operandKind) enumerant(value uint32) *enumerantInfo {
	info := kindTable[k]
	list := enumerantTable[info.at:][:info.n]
	if int64(value) < int64(len(list)) && list[value].value == value {
		return &list[value] // as in lists without gaps
	}
	at, ok := slices.BinarySearchFunc(list, value, func(e enumerantInfo, v uint32) int {
		switch {
		case e.value < v:
			return -1
		case e.value > v:
			return 1
		}
		return 0
	})
	if !ok {
		return nil
	}
	return &list[at]
}

// format gives the name of a value, or the names of a mask's bits.
func (k operandKind) format(value uint32) string {
	if e := k.enumerant(value); e != nil {
		return e.name.String()
	}
	if !kindTable[k].mask || value == 0 {
		return fmt.Sprint(value)
	}
	var parts []string
	for rest := value; rest != 0; rest &= rest - 1 {
		bit := rest & -rest
		if e := k.enumerant(bit); e != nil {
			parts = append(parts, e.name.String())
		} else {
			parts = append(parts, fmt.Sprintf("%#x", bit))
		}
	}
	return strings.Join(parts, "|")
}
