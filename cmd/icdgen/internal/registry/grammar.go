package registry

import (
	"encoding/json"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"
)

// Grammar is what SPIR-V's core grammar says: instructions, and the kinds of their operands.
type Grammar struct {
	Major        uint32        `json:"major_version"`
	Minor        uint32        `json:"minor_version"`
	Instructions []Instruction `json:"instructions"`
	Kinds        []OperandKind `json:"operand_kinds"`
}

// Requirement is what makes an instruction or an enumerant available: the version that it came with, "None" where only
// extensions and capabilities bring it, and those. LastVersion is empty where it has not been removed.
type Requirement struct {
	Capabilities []string `json:"capabilities"`
	Extensions   []string `json:"extensions"`
	Version      string   `json:"version"`
	LastVersion  string   `json:"lastVersion"`
}

// Instruction is an instruction of the core grammar or of an extended set.
type Instruction struct {
	Name     string    `json:"opname"`
	Aliases  []string  `json:"aliases"`
	Opcode   uint16    `json:"opcode"`
	Operands []Operand `json:"operands"`
	Requirement
}

// Operand is an operand of an instruction or a parameter of an enumerant. Quantifier is "", "?" or "*".
type Operand struct {
	Kind       string `json:"kind"`
	Quantifier string `json:"quantifier"`
}

// OperandKind is a kind of operands. Category is BitEnum, ValueEnum, Id, Literal or Composite.
type OperandKind struct {
	Category   string      `json:"category"`
	Name       string      `json:"kind"`
	Enumerants []Enumerant `json:"enumerants"`
	Bases      []string    `json:"bases"`
}

// Enumerant is a value of an enumeration or one bit of a mask.
type Enumerant struct {
	Name       string    `json:"enumerant"`
	Aliases    []string  `json:"aliases"`
	Value      Number    `json:"value"`
	Parameters []Operand `json:"parameters"`
	Requirement
}

// Number is a number in JSON, or a string with one.
type Number uint32

// UnmarshalJSON takes 7 and "0x7".
func (n *Number) UnmarshalJSON(data []byte) error {
	v, err := strconv.ParseUint(strings.Trim(string(data), `"`), 0, 32)
	if err != nil {
		return fmt.Errorf("the value %s is no number of 32 bits", data)
	}
	*n = Number(v)
	return nil
}

var (
	identifier     = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_]*$`)
	enumerantName  = regexp.MustCompile(`^[A-Za-z0-9_]+$`)
	grammarVersion = regexp.MustCompile(`^(None|[0-9]\.[0-9])?$`)
)

// ParseGrammar reads SPIR-V's core grammar. Every error it returns is one line and names the element at fault.
func ParseGrammar(r io.Reader) (*Grammar, error) {
	g := new(Grammar)
	if err := decodeJSON(r, g); err != nil {
		return nil, err
	}
	if g.Major == 0 || len(g.Instructions) == 0 {
		return nil, fmt.Errorf("no version or no instructions: this is not SPIR-V's core grammar")
	}
	kinds := map[string]bool{}
	capabilities := map[string]bool{}
	for _, k := range g.Kinds {
		if !identifier.MatchString(k.Name) || kinds[k.Name] {
			return nil, fmt.Errorf("operand kind %q: a bad name, or there twice", k.Name)
		}
		kinds[k.Name] = true
		if k.Name == "Capability" {
			for _, e := range k.Enumerants {
				capabilities[e.Name] = true
				for _, a := range e.Aliases {
					capabilities[a] = true
				}
			}
		}
	}
	c := grammarCheck{kinds, capabilities}
	names := map[string]bool{}
	opcodes := map[uint16]bool{}
	for _, i := range g.Instructions {
		if opcodes[i.Opcode] {
			return nil, fmt.Errorf("%q: the opcode %d is there twice", i.Name, i.Opcode)
		}
		opcodes[i.Opcode] = true
		if err := c.element(i.Name, identifier, i.Aliases, i.Operands, i.Requirement, names); err != nil {
			return nil, err
		}
	}
	for _, k := range g.Kinds {
		names, values := map[string]bool{}, map[Number]bool{}
		for _, e := range k.Enumerants {
			if values[e.Value] {
				return nil, fmt.Errorf("%s: %q: the value %d is there twice", k.Name, e.Name, e.Value)
			}
			values[e.Value] = true
			if err := c.element(e.Name, enumerantName, e.Aliases, e.Parameters, e.Requirement, names); err != nil {
				return nil, fmt.Errorf("%s: %w", k.Name, err)
			}
		}
		for _, b := range k.Bases {
			if !kinds[b] {
				return nil, fmt.Errorf("%s: unknown operand kind %q", k.Name, b)
			}
		}
	}
	return g, nil
}

// ParseExtendedSet reads the grammar of an extended instruction set.
func ParseExtendedSet(r io.Reader) ([]Instruction, error) {
	var set struct {
		Instructions []Instruction `json:"instructions"`
	}
	if err := decodeJSON(r, &set); err != nil {
		return nil, err
	}
	if len(set.Instructions) == 0 {
		return nil, fmt.Errorf("no instructions: this is not the grammar of an extended instruction set")
	}
	names := map[string]bool{}
	opcodes := map[uint16]bool{}
	c := grammarCheck{kinds: map[string]bool{"IdRef": true}}
	for _, i := range set.Instructions {
		if opcodes[i.Opcode] {
			return nil, fmt.Errorf("%q: the opcode %d is there twice", i.Name, i.Opcode)
		}
		opcodes[i.Opcode] = true
		i.Capabilities = nil // those of the enumerants of the core
		if err := c.element(i.Name, identifier, i.Aliases, i.Operands, i.Requirement, names); err != nil {
			return nil, err
		}
	}
	return set.Instructions, nil
}

type grammarCheck struct{ kinds, capabilities map[string]bool }

func (c grammarCheck) element(name string, pattern *regexp.Regexp, aliases []string, operands []Operand, r Requirement,
	names map[string]bool) error {
	for _, n := range append([]string{name}, aliases...) {
		if !pattern.MatchString(n) || names[n] {
			return fmt.Errorf("%q: a bad name, or there twice", n)
		}
		names[n] = true
	}
	for _, o := range operands {
		if !c.kinds[o.Kind] {
			return fmt.Errorf("%q: unknown operand kind %q", name, o.Kind)
		}
		if o.Quantifier != "" && o.Quantifier != "?" && o.Quantifier != "*" {
			return fmt.Errorf("%q: unknown quantifier %q", name, o.Quantifier)
		}
	}
	for _, n := range r.Capabilities {
		if !c.capabilities[n] {
			return fmt.Errorf("%q: unknown capability %q", name, n)
		}
	}
	for _, n := range r.Extensions {
		if !identifier.MatchString(n) {
			return fmt.Errorf("%q: the extension's name %q is bad", name, n)
		}
	}
	for _, v := range []string{r.Version, r.LastVersion} {
		if !grammarVersion.MatchString(v) {
			return fmt.Errorf("%q: bad version %q", name, v)
		}
	}
	return nil
}

func decodeJSON(r io.Reader, v any) error {
	data, err := io.ReadAll(r)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(data, v); err != nil {
		return fmt.Errorf("%s", strings.ReplaceAll(err.Error(), "\n", " "))
	}
	return nil
}
