package emit

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strings"
	"unicode"

	"farside/cmd/icdgen/internal/registry"
)

// Ops reads the constants of type Op in a Go file, without their prefix: the commands that streams hold.
func Ops(path string, src []byte) ([]string, error) {
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, path, src, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	var ops []string
	for _, d := range file.Decls {
		g, ok := d.(*ast.GenDecl)
		if !ok || g.Tok != token.CONST {
			continue
		}
		for _, s := range g.Specs {
			s := s.(*ast.ValueSpec)
			op, ok := strings.CutPrefix(s.Names[0].Name, "Op")
			if !ok {
				return nil, fmt.Errorf("%s: %s is no op", fset.Position(s.Pos()), s.Names[0].Name)
			}
			// The stubs hold the ops' values, which this keeps simple.
			if first := len(ops) == 0; first != (len(s.Values) == 1) || first && !countsFromOne(s.Values[0]) {
				return nil, fmt.Errorf("%s: the ops must count from iota + 1", fset.Position(s.Pos()))
			}
			ops = append(ops, op)
		}
	}
	if len(ops) == 0 {
		return nil, fmt.Errorf("%s: no ops", path)
	}
	return ops, nil
}

// countsFromOne says whether e is iota + 1.
func countsFromOne(e ast.Expr) bool {
	b, ok := e.(*ast.BinaryExpr)
	if !ok || b.Op != token.ADD {
		return false
	}
	x, ok := b.X.(*ast.Ident)
	y, ok2 := b.Y.(*ast.BasicLit)
	return ok && ok2 && x.Name == "iota" && y.Value == "1"
}

// What a parameter of a recorded command becomes.
type recordedKind int

const (
	wordArgument   recordedKind = iota // a word of the record
	countArgument                      // a word too: how many elements an array has
	arrayArgument                      // elements behind the words
	structArgument                     // one structure, or array of fixed size, behind the words
	leftOut                            // elements with a pNext chain, and their count
)

// argument is one parameter of a recorded command, after the command buffer.
type argument struct {
	name  string // of the Go parameter
	field string // of the Go structure
	kind  recordedKind
	typ   cType // of the value or of one element
	count int   // arrays: the index of the argument that counts the elements
	place int   // among the integer arguments of the C function, from 0

	signed bool // an int32 in Go
}

// recordedCommand is a command as a stream holds it: a header, one word for each argument that is no pointer,
// in order, then what the pointers point to, in order, each padded to whole words.
type recordedCommand struct {
	op   string
	name string
	args []argument
}

// words is the number of words before the first array.
func (c *recordedCommand) words() int {
	n := 1
	for _, a := range c.args {
		if a.kind == wordArgument || a.kind == countArgument {
			n++
		}
	}
	return n
}

// pointers says whether anything lies behind the words.
func (c *recordedCommand) pointers() bool {
	return slices.ContainsFunc(c.args, func(a argument) bool {
		return a.kind == arrayArgument || a.kind == structArgument
	})
}

func recordedCommands(reg *registry.Registry, ops []string) ([]*recordedCommand, error) {
	byName := map[string]*registry.Command{}
	for _, c := range reg.Commands {
		byName[c.Name] = c
	}
	lay := newLayouts(reg)
	var list []*recordedCommand
	for _, op := range ops {
		c := byName["vkCmd"+op]
		switch {
		case c == nil:
			return nil, fmt.Errorf("op %s: the registry has no command vkCmd%s", op, op)
		case c.Alias != "":
			return nil, fmt.Errorf("op %s: an alias; record %s instead", op, strings.TrimPrefix(c.Alias, "vkCmd"))
		}
		args, err := recordedArguments(lay, c)
		if err != nil {
			return nil, fmt.Errorf("<command name=%q>: %w", c.Name, err)
		}
		list = append(list, &recordedCommand{op, c.Name, args})
	}
	return list, nil
}

func recordedArguments(lay *layouts, c *registry.Command) ([]argument, error) {
	index := map[string]int{}
	var args []argument
	for i, d := range c.Params[1:] {
		a := argument{name: paramName(d.Name), field: recordField(d.Name), place: i + 1}
		if d.Pointer > 1 {
			return nil, fmt.Errorf("%s: no way to record it", d.Name)
		}
		element := *d
		element.Pointer = 0
		if d.Pointer == 1 && d.Type == "void" {
			element.Type = "uint8_t"
		}
		var err error
		if a.typ, err = lay.typeOf(&element, "vk."); err != nil {
			return nil, err
		}
		if a.typ.expr == "uint8" {
			a.typ.expr = "byte"
		}
		switch {
		case len(d.Array) > 0: // a pointer in C
			a.kind = structArgument
		case d.Pointer == 0 && (strings.HasPrefix(a.typ.expr, "float") || byValueStruct(lay.reg, d)):
			return nil, fmt.Errorf("%s: no way to record it", d.Name)
		case d.Pointer == 0:
			e, ok := lay.reg.Type(lay.reg.Resolve(d.Type)).(*registry.Enum)
			a.kind, a.signed = wordArgument, ok && !e.Bitmask || a.typ.expr == "int32"
		case chained(lay.reg, d):
			a.kind = leftOut
			if n, ok := index[d.Len]; ok {
				args[n].kind = leftOut
			}
		case d.Len == "":
			a.kind = structArgument
		default:
			n, ok := index[d.Len]
			if !ok {
				return nil, fmt.Errorf("%s: no argument counts its elements", d.Name)
			}
			if args[n].kind == countArgument {
				return nil, fmt.Errorf("%s: another array has the same count", d.Name)
			}
			a.kind, a.count, args[n].kind = arrayArgument, n, countArgument
		}
		index[d.Name] = i
		args = append(args, a)
	}
	return args, nil
}

// chained says whether d points to structures that may have a pNext chain.
func chained(reg *registry.Registry, d *registry.Decl) bool {
	s, ok := reg.Type(reg.Resolve(d.Type)).(*registry.Struct)
	if !ok {
		return false
	}
	for _, m := range s.Members {
		if m.Name == "pNext" {
			return true
		}
	}
	return false
}

// recordField is the Go name of a record's field: pRegions is Regions.
func recordField(name string) string {
	if trimmed := strings.TrimLeft(name, "p"); trimmed != "" && unicode.IsUpper(rune(trimmed[0])) {
		return trimmed
	}
	return FieldName(name)
}

// Records prints the generated part of internal/command for the commands that streams hold.
func Records(reg *registry.Registry, ops []string) ([]File, error) {
	list, err := recordedCommands(reg, ops)
	if err != nil {
		return nil, err
	}
	p := new(printer)
	p.f("%spackage command\n\nimport \"farside/internal/vk\"\n\n", header)
	p.f("// opNames are the commands' names, by op.\nvar opNames = [...]string{\n")
	for _, c := range list {
		p.f("Op%s: %q,\n", c.op, c.name)
	}
	p.f("}\n\n")
	for _, c := range list {
		printRecord(p, c)
		printEncoder(p, c)
		printDecoder(p, c)
	}
	f, err := p.file("internal/command/zz_generated_records.go")
	return []File{f}, err
}

// goType is the type of an argument in the Go structure and in the encoder.
func (a *argument) goType() string {
	switch a.kind {
	case arrayArgument:
		return "[]" + a.typ.expr
	case structArgument:
		return "*" + a.typ.expr
	}
	return a.typ.expr
}

func printRecord(p *printer, c *recordedCommand) {
	p.f("// %s is a recorded %s", c.op, c.name)
	if c.pointers() {
		p.f("; what it points to lies in the stream")
	}
	p.f(".\ntype %s struct {\n", c.op)
	for _, a := range c.args {
		if a.kind != countArgument && a.kind != leftOut {
			p.f("%s %s\n", a.field, a.goType())
		}
	}
	p.f("}\n\n")
}

func printEncoder(p *printer, c *recordedCommand) {
	var params, words, tails []string
	counted := map[int]string{}
	for _, a := range c.args {
		if a.kind == arrayArgument {
			counted[a.count] = a.name
		}
	}
	for i, a := range c.args {
		switch a.kind {
		case wordArgument:
			word := "uint64(" + a.name + ")"
			if a.signed { // as C's registers hold it once the upper half is cleared
				word = "uint64(uint32(" + a.name + "))"
			}
			words = append(words, word)
		case countArgument:
			words = append(words, "uint64(len("+counted[i]+"))")
			continue
		case arrayArgument:
			tails = append(tails, "bytesOf("+a.name+")")
		case structArgument:
			tails = append(tails, "bytesAt("+a.name+")")
		case leftOut:
			continue
		}
		params = append(params, a.name+" "+a.goType())
	}
	p.f("// %s records %s. It fails with ErrMemory.\nfunc (s *Stream) %s(%s) error {\n", c.op, c.name, c.op,
		strings.Join(params, ", "))
	p.f("return s.add(%s)\n}\n\n",
		strings.Join(append([]string{"Op" + c.op, "[]uint64{" + strings.Join(words, ", ") + "}"}, tails...), ", "))
}

func printDecoder(p *printer, c *recordedCommand) {
	p.f("// %s reads a record of %s into c, which is zero. It returns false when the record's length does not fit.\n",
		c.op, c.name)
	p.f("func (r *Record) %s(c *%s) (ok bool) {\n", c.op, c.op)
	n := c.words() - 1
	if !c.pointers() {
		p.f("if r.Op != Op%s || len(r.words) != %d {\nreturn false\n}\n", c.op, n)
	} else {
		p.f("if r.Op != Op%s || len(r.words) < %d {\nreturn false\n}\n", c.op, n)
	}
	counts := map[int]int{}
	w := 0
	for i, a := range c.args {
		switch a.kind {
		case wordArgument:
			p.f("c.%s = %s(r.words[%d])\n", a.field, a.typ.expr, w)
			w++
		case countArgument:
			counts[i] = w
			w++
		}
	}
	if !c.pointers() {
		p.f("return true\n}\n\n")
		return
	}
	p.f("rest := r.words[%d:]\n", n)
	for _, a := range c.args {
		switch a.kind {
		case arrayArgument:
			p.f("if c.%s, rest, ok = array[%s](rest, r.words[%d]); !ok {\nreturn false\n}\n", a.field, a.typ.expr,
				counts[a.count])
		case structArgument:
			p.f("if c.%s, rest, ok = structure[%s](rest); !ok {\nreturn false\n}\n", a.field, a.typ.expr)
		}
	}
	p.f("return len(rest) == 0\n}\n\n")
}
