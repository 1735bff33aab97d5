package emit

import (
	"cmp"
	"fmt"
	"math/bits"
	"slices"
	"strings"

	"farside/cmd/icdgen/internal/registry"
)

// SPIRV prints package spirv's enumerations and tables. The tables hold neither pointers nor strings, only places in
// one long string and in other tables: the dynamic linker has nothing to do for them when the driver is loaded, and
// nothing runs at start-up.
func SPIRV(grammar *registry.Grammar, glsl []registry.Instruction) ([]File, error) {
	g := &grammarPrinter{grammar: grammar, glsl: glsl, capabilities: map[string]uint32{}}
	for _, k := range grammar.Kinds {
		if k.Name == "Capability" {
			for _, e := range k.Enumerants {
				for _, n := range append([]string{e.Name}, e.Aliases...) {
					g.capabilities[n] = uint32(e.Value)
				}
			}
		}
	}
	var files []File
	for _, part := range []struct {
		name  string
		print func(*printer) error
	}{
		{"ops", g.ops},
		{"enums", g.enums},
		{"tables", g.tables},
	} {
		p := new(printer)
		p.f("%spackage spirv\n\n", header)
		if err := part.print(p); err != nil {
			return nil, err
		}
		f, err := p.file("spirv/zz_generated_" + part.name + ".go")
		if err != nil {
			return nil, err
		}
		files = append(files, f)
	}
	return files, nil
}

type grammarPrinter struct {
	grammar      *registry.Grammar
	glsl         []registry.Instruction
	capabilities map[string]uint32

	names  strings.Builder
	nameAt map[string]int
	pools  [3]pool // of operands, capabilities, extensions
}

// pool collects sequences of numbers; equal ones share their place.
type pool struct {
	values []uint32
	at     map[string]int
}

const (
	operandPool = iota
	capabilityPool
	extensionPool
)

// kindType is the Go type of an enumeration. The decorations' own name is that of the type that has their operands too.
func kindType(kind string) string {
	if kind == "Decoration" {
		return "DecorationKind"
	}
	return kind
}

func (g *grammarPrinter) ops(p *printer) error {
	p.f("// Op is an opcode.\ntype Op uint16\n\n// The opcodes.\nconst (\n")
	for _, i := range g.grammar.Instructions {
		for _, n := range append([]string{i.Name}, i.Aliases...) {
			p.f("%s Op = %d\n", n, i.Opcode)
		}
	}
	p.f(")\n\n" +
		"// GLSL is an instruction of GLSL.std.450.\ntype GLSL uint32\n\n// The instructions of GLSL.std.450.\nconst (\n")
	for _, i := range g.glsl {
		p.f("GLSL%s GLSL = %d\n", i.Name, i.Opcode)
	}
	p.f(")\n")
	return nil
}

func (g *grammarPrinter) enums(p *printer) error {
	for _, k := range g.grammar.Kinds {
		if k.Category != "ValueEnum" && k.Category != "BitEnum" {
			continue
		}
		typ := kindType(k.Name)
		p.f("// %s is SPIR-V's enumeration of this name.\ntype %s uint32\n\n// The values of %s.\nconst (\n", typ, typ, typ)
		for _, e := range k.Enumerants {
			if k.Category == "BitEnum" && bits.OnesCount32(uint32(e.Value)) > 1 {
				return fmt.Errorf("%s: %q has several bits", k.Name, e.Name)
			}
			for _, n := range append([]string{e.Name}, e.Aliases...) {
				// The enumerants of Dim begin with it: 2D is Dim2D.
				p.f("%s%s %s = %#x\n", k.Name, n, typ, uint32(e.Value))
			}
		}
		p.f(")\n\nfunc (v %s) String() string { return kind%s.format(uint32(v)) }\n\n", typ, k.Name)
	}
	return nil
}

// name gives a name's place as spirv.name has it.
func (g *grammarPrinter) name(s string) string {
	at, ok := g.nameAt[s]
	if !ok {
		at = g.names.Len()
		g.nameAt[s] = at
		g.names.WriteString(s)
	}
	return fmt.Sprintf("%d<<8 | %d", at, len(s))
}

// sequence gives a sequence's place as spirv.span has it.
func (g *grammarPrinter) sequence(which int, values []uint32) string {
	if len(values) == 0 {
		return "span{}"
	}
	pl := &g.pools[which]
	key := fmt.Sprint(values)
	at, ok := pl.at[key]
	if !ok {
		at = len(pl.values)
		pl.at[key] = at
		pl.values = append(pl.values, values...)
	}
	return fmt.Sprintf("span{%d, %d}", at, len(values))
}

func (g *grammarPrinter) operands(list []registry.Operand) string {
	var values []uint32
	for _, o := range list {
		// The kinds are numbered as they are printed, from 1; the quantifier is in the bits above.
		v := uint32(slices.IndexFunc(g.grammar.Kinds, func(k registry.OperandKind) bool { return k.Name == o.Kind })) + 1
		switch o.Quantifier {
		case "?":
			v |= 1 << 8
		case "*":
			v |= 2 << 8
		}
		values = append(values, v)
	}
	return g.sequence(operandPool, values)
}

func (g *grammarPrinter) requirement(r registry.Requirement) string {
	var caps, exts []uint32
	for _, n := range r.Capabilities {
		caps = append(caps, g.capabilities[n])
	}
	for _, n := range r.Extensions {
		g.name(n)
		exts = append(exts, uint32(g.nameAt[n])<<8|uint32(len(n)))
	}
	return fmt.Sprintf("requirement{%s, %s, %s, %s}", g.sequence(capabilityPool, caps), g.sequence(extensionPool, exts),
		packedVersion(r.Version), packedVersion(r.LastVersion))
}

// packedVersion is 0x16 for 1.6, and 0 for none.
func packedVersion(v string) string {
	major, minor, ok := strings.Cut(v, ".")
	if !ok {
		return "0"
	}
	return "0x" + major + minor
}

func (g *grammarPrinter) tables(p *printer) error {
	g.nameAt = map[string]int{}
	for i := range g.pools {
		g.pools[i].at = map[string]int{}
	}
	p.f("// The version of the grammar.\nconst grammarVersion = %#x\n\n", g.grammar.Major<<16|g.grammar.Minor<<8)
	p.f("// The kinds of operands.\nconst (\n_ operandKind = iota\n")
	for _, k := range g.grammar.Kinds {
		p.f("kind%s\n", k.Name)
	}
	p.f(")\n\n")

	list := slices.Clone(g.grammar.Instructions)
	slices.SortFunc(list, func(a, b registry.Instruction) int { return cmp.Compare(a.Opcode, b.Opcode) })
	p.f("// opIndex has the places of opcodes in opTable, plus 1.\nvar opIndex = [...]uint16{\n")
	for n, i := range list {
		p.f("%d: %d,\n", i.Opcode, n+1)
	}
	p.f("}\n\nvar opTable = [...]opInfo{\n")
	for _, i := range list {
		p.f("{%s, %s, %s},\n", g.name(i.Name), g.operands(i.Operands), g.requirement(i.Requirement))
	}
	p.f("}\n\n" +
		"// kindTable has the enumerants of each kind, as places in enumerantTable.\nvar kindTable = [...]kindInfo{\n")
	at := 0
	for _, k := range g.grammar.Kinds {
		p.f("kind%s: {%d, %d, %t},\n", k.Name, at, len(k.Enumerants), k.Category == "BitEnum")
		at += len(k.Enumerants)
	}
	p.f("}\n\n// enumerantTable is sorted by value for each kind.\nvar enumerantTable = [...]enumerantInfo{\n")
	for _, k := range g.grammar.Kinds {
		sorted := slices.Clone(k.Enumerants)
		slices.SortFunc(sorted, func(a, b registry.Enumerant) int { return cmp.Compare(a.Value, b.Value) })
		for _, e := range sorted {
			p.f("{%#x, %s, %s, %s},\n", uint32(e.Value), g.name(e.Name), g.operands(e.Parameters), g.requirement(e.Requirement))
		}
	}
	p.f("}\n\n" +
		"// glslTable has the instructions of GLSL.std.450 by number, with how many operands they have.\n" +
		"var glslTable = [...]glslInfo{\n")
	for _, i := range g.glsl {
		p.f("%d: {%s, %d},\n", i.Opcode, g.name(i.Name), len(i.Operands))
	}
	p.f("}\n\n")
	for _, pool := range []struct {
		name, typ string
		which     int
	}{{"operandTable", "operand", operandPool}, {"capabilityTable", "uint16", capabilityPool},
		{"extensionTable", "name", extensionPool}} {
		p.f("var %s = [...]%s{", pool.name, pool.typ)
		for i, v := range g.pools[pool.which].values {
			if i%16 == 0 {
				p.f("\n")
			}
			p.f("%d,", v)
		}
		p.f("\n}\n\n")
	}
	p.f("// names has all names, one behind the other.\nconst names = \"\" +\n")
	for s := g.names.String(); s != ""; {
		n := min(len(s), 110)
		p.f("%q", s[:n])
		if s = s[n:]; s != "" {
			p.f(" +\n")
		}
	}
	p.f("\n")
	return nil
}
