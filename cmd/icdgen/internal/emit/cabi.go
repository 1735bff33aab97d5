package emit

import (
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"strings"
	"unicode"
	"unicode/utf8"

	"farside/cmd/icdgen/internal/registry"
)

// What a command returns; internal/cabi has constants of the same values.
const (
	kindVoid   = 0
	kindResult = 1
	kindWord   = 2
)

// Supported reads the keys of the cabi.Commands literal in a Go file: the commands that the driver
// implements, without their vk prefix.
func Supported(path string, src []byte) ([]string, error) {
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, path, src, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	var names []string
	var found bool
	ast.Inspect(file, func(n ast.Node) bool {
		lit, ok := n.(*ast.CompositeLit)
		if !ok {
			return true
		}
		sel, ok := lit.Type.(*ast.SelectorExpr)
		if !ok || sel.Sel.Name != "Commands" {
			return true
		}
		if pkg, ok := sel.X.(*ast.Ident); !ok || pkg.Name != "cabi" {
			return true
		}
		found = true
		for _, e := range lit.Elts {
			kv, ok := e.(*ast.KeyValueExpr)
			if !ok {
				err = fmt.Errorf("%s: a command without its name", fset.Position(e.Pos()))
				return false
			}
			key, ok := kv.Key.(*ast.Ident)
			if !ok {
				err = fmt.Errorf("%s: not a command's name", fset.Position(kv.Pos()))
				return false
			}
			names = append(names, key.Name)
		}
		return false
	})
	if err == nil && !found {
		err = fmt.Errorf("%s: no cabi.Commands literal", path)
	}
	return names, err
}

// entryPoint is one command that has a stub, with the names that C may call it by.
type entryPoint struct {
	*registry.Command
	goName string
	names  []string
	params []param
	kind   int
}

type param struct {
	name, goType, read string
}

// CABI prints the generated part of internal/cabi for the supported commands, and for those that streams hold.
func CABI(reg *registry.Registry, supported, ops []string) ([]File, error) {
	entries, err := entryPoints(reg, supported)
	if err != nil {
		return nil, err
	}
	p := new(printer)
	p.f("%spackage cabi\n\n", header)
	printCommands(p, entries, byName(reg.Commands))
	commands, err := p.file("internal/cabi/zz_generated_commands.go")
	if err != nil {
		return nil, err
	}
	recordings, err := recordings(reg, entries, ops)
	if err != nil {
		return nil, err
	}
	files := []File{commands}
	for _, a := range architectures {
		files = append(files, stubs(a.name, a.writer, entries, recordings))
	}
	return files, nil
}

func entryPoints(reg *registry.Registry, supported []string) ([]*entryPoint, error) {
	commands := map[string]*registry.Command{}
	for _, c := range reg.Commands {
		commands[c.Name] = c
	}
	wanted := map[string]bool{}
	for _, key := range supported {
		c := commands["vk"+key]
		switch {
		case c == nil:
			return nil, fmt.Errorf("%s: the registry has no command vk%s", key, key)
		case c.Alias != "":
			return nil, fmt.Errorf("%s: an alias; support %s instead", key, strings.TrimPrefix(c.Alias, "vk"))
		}
		wanted[c.Name] = true
	}
	lay := newLayouts(reg)
	entries := map[string]*entryPoint{}
	var list []*entryPoint
	for _, c := range reg.Commands {
		if !wanted[c.Name] {
			continue
		}
		e, err := newEntryPoint(lay, c)
		if err != nil {
			return nil, fmt.Errorf("<command name=%q>: %w", c.Name, err)
		}
		entries[c.Name] = e
		list = append(list, e)
	}
	for _, c := range reg.Commands {
		target := c
		for range len(reg.Commands) {
			if target.Alias == "" {
				break
			}
			if target = commands[target.Alias]; target == nil {
				return nil, fmt.Errorf("<command name=%q>: an alias of nothing", c.Name)
			}
		}
		if e := entries[target.Name]; e != nil {
			e.names = append(e.names, c.Name)
		}
	}
	return list, nil
}

func resultKind(c *registry.Command) int {
	switch {
	case c.Result.Type == "void" && c.Result.Pointer == 0:
		return kindVoid
	case c.Result.Type == "VkResult":
		return kindResult
	}
	return kindWord
}

func newEntryPoint(lay *layouts, c *registry.Command) (*entryPoint, error) {
	e := &entryPoint{Command: c, goName: strings.TrimPrefix(c.Name, "vk"), kind: resultKind(c)}
	ints, floats := 0, 0
	for _, d := range c.Params {
		decl := *d
		if len(d.Array) > 0 { // an array parameter is a pointer in C
			decl.Array = d.Array[1:]
		}
		t, err := lay.typeOf(&decl, "vk.")
		if err != nil {
			return nil, err
		}
		if len(d.Array) > 0 {
			t = cType{"*" + t.expr, 8, 8}
		}
		v := param{name: paramName(d.Name), goType: t.expr}
		switch {
		case t.expr == "float32":
			v.read = fmt.Sprintf("f.float(%d)", floats)
			floats++
		case t.expr == "unsafe.Pointer":
			v.read = fmt.Sprintf("f.pointer(%d)", ints)
			ints++
		case strings.HasPrefix(t.expr, "*"):
			v.read = fmt.Sprintf("(%s)(f.pointer(%d))", t.expr, ints)
			ints++
		case t.expr != "float64" && t.size <= 8 && !byValueStruct(lay.reg, d):
			v.read = fmt.Sprintf("%s(f.word(%d))", t.expr, ints)
			ints++
		default:
			return nil, errors.New(d.Name + ": no way to pass " + d.Type + " by value")
		}
		e.params = append(e.params, v)
	}
	if floats > 8 {
		return nil, errors.New("more floating-point arguments than registers")
	}
	return e, nil
}

func byValueStruct(reg *registry.Registry, d *registry.Decl) bool {
	_, ok := reg.Type(reg.Resolve(d.Type)).(*registry.Struct)
	return ok
}

// paramName drops the C prefix for pointers: pCreateInfo is createInfo.
func paramName(name string) string {
	trimmed := strings.TrimLeft(name, "p")
	if r, n := utf8.DecodeRuneInString(trimmed); n > 0 && unicode.IsUpper(r) {
		name = string(unicode.ToLower(r)) + trimmed[n:]
	}
	if token.IsKeyword(name) {
		return name + "_"
	}
	return name
}

// printCommands prints the tables of the stubs; commands are the registry's in the order of vk.Commands.
func printCommands(p *printer, entries []*entryPoint, commands []*registry.Command) {
	untyped := false
	for _, e := range entries {
		for _, v := range e.params {
			untyped = untyped || strings.Contains(v.goType, "unsafe.")
		}
	}
	p.f("import (\n")
	if untyped {
		p.f("\"unsafe\"\n\n")
	}
	p.f("\"farside/internal/vk\"\n)\n\n")
	printFunctions(p, entries)
	printTables(p, entries, commands)
	printDispatchers(p, entries)
}

// printFunctions prints the structure of the functions that the driver installs.
func printFunctions(p *printer, entries []*entryPoint) {
	p.f("// Commands has one function for every command that the driver implements.\ntype Commands struct {\n")
	for _, e := range entries {
		p.f("%s func(", e.goName)
		for i, v := range e.params {
			if i > 0 {
				p.f(", ")
			}
			p.f("%s %s", v.name, v.goType)
		}
		p.f(")%s\n", goResult(e))
	}
	p.f("}\n\n")
}

// printTables prints what the boundary looks up by the number of a stub or of a command.
func printTables(p *printer, entries []*entryPoint, commands []*registry.Command) {
	places := map[string]int{}
	for i, e := range entries {
		for _, name := range e.names {
			places[name] = i + 1
		}
	}
	n := len(entries) + 1
	p.f("// The tables below are indexed as the stubs are; place 0 is not used.\n\n")
	p.f("var names = [%d]string{\n", n)
	for i, e := range entries {
		p.f("%d: %q,\n", i+1, e.Name)
	}
	p.f("}\n\n// resultKinds is read by farside_entry too.\nvar resultKinds = [%d]uint8{\n", n)
	for i, e := range entries {
		if e.kind != kindVoid {
			p.f("%d: %s, // %s\n", i+1, [...]string{kindResult: "kindResult", kindWord: "kindWord"}[e.kind], e.Name)
		}
	}
	p.f("}\n\n// indices has the index of each command of vk.Commands, 0 for those without a stub.\n")
	p.f("var indices = [%d]uint16{\n", len(commands))
	for i, c := range commands {
		if n := places[c.Name]; n != 0 {
			p.f("%d: %d, // %s\n", i, n, c.Name)
		}
	}
	p.f("}\n\nvar dispatchers = [%d]func(*Frame){\n", n)
	for i, e := range entries {
		p.f("%d: call%s,\n", i+1, e.goName)
	}
	p.f("}\n\n")
}

// printDispatchers prints the functions that read a command's parameters from a frame and call what is installed.
func printDispatchers(p *printer, entries []*entryPoint) {
	for _, e := range entries {
		p.f("func call%s(f *Frame) {\n", e.goName)
		var args []string
		for _, v := range e.params {
			args = append(args, v.read)
		}
		call := fmt.Sprintf("installed.%s(%s)", e.goName, strings.Join(args, ", "))
		switch e.kind {
		case kindVoid:
			p.f("%s\n", call)
		case kindResult:
			p.f("f.result = uintptr(uint32(%s))\n", call)
		case kindWord:
			p.f("f.result = uintptr(%s)\n", call)
		}
		p.f("}\n\n")
	}
}

func goResult(e *entryPoint) string {
	switch {
	case e.kind == kindVoid:
		return ""
	case scalars[e.Result.Type].goType != "":
		return " " + scalars[e.Result.Type].goType
	}
	return " vk." + TypeName(e.Result.Type)
}
