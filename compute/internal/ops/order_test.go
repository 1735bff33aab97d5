package ops

import (
	"go/ast"
	"go/build"
	"go/parser"
	"go/token"
	"go/types"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const module = "farside/"

// loader checks the types of packages of the module. What they take from elsewhere stays unknown.
type loader struct {
	*testing.T
	files    *token.FileSet
	packages map[string]*types.Package
	check    func(*token.FileSet, *ast.File, *types.Info)
	checked  int
}

// Import is that of types.Importer.
func (l *loader) Import(path string) (*types.Package, error) {
	if p := l.packages[path]; p != nil {
		return p, nil
	}
	if strings.HasPrefix(path, module+"compute") || path == module+"spirv" {
		return l.load(path, false), nil
	}
	p := types.NewPackage(path, filepath.Base(path))
	p.MarkComplete()
	l.packages[path] = p
	return p, nil
}

// load reads a package, with its tests or without, and hands its files to check.
func (l *loader) load(path string, tests bool) *types.Package {
	directory := filepath.Join("..", "..", "..", strings.TrimPrefix(path, module))
	entries, err := os.ReadDir(directory)
	if err != nil {
		l.Fatal(err)
	}
	var files []*ast.File
	for _, e := range entries {
		matches, err := build.Default.MatchFile(directory, e.Name())
		isTest := strings.HasSuffix(e.Name(), "_test.go")
		if err != nil || !matches || !strings.HasSuffix(e.Name(), ".go") || isTest && !tests {
			continue
		}
		f, err := parser.ParseFile(l.files, filepath.Join(directory, e.Name()), nil, parser.SkipObjectResolution)
		if err != nil {
			l.Fatal(err)
		}
		files = append(files, f)
	}
	info := &types.Info{Types: map[ast.Expr]types.TypeAndValue{}}
	config := types.Config{Importer: l, Error: func(error) {}, FakeImportC: true}
	p, _ := config.Check(path, l.files, files, info) // what it does not know is unknown, not wrong
	if !tests {
		l.packages[path] = p
	}
	if tests {
		for _, f := range files {
			if !strings.HasPrefix(filepath.Base(l.files.File(f.Pos()).Name()), "zz_generated_") {
				l.checked++
				l.check(l.files, f, info)
			}
		}
	}
	return p
}

// orderOf finds what uses the order of operations: comparisons other than for equality, and sums. The ends of the
// range, 0 and NumOps, may be compared with.
func orderOf(files *token.FileSet, f *ast.File, info *types.Info) (found []string) {
	is := func(e ast.Expr) bool {
		t := info.TypeOf(e)
		named, ok := types.Unalias(t).(*types.Named)
		return ok && named.Obj().Name() == "Op" && named.Obj().Pkg() != nil &&
			named.Obj().Pkg().Path() == module+"compute/internal/kernel"
	}
	end := func(e ast.Expr) bool {
		switch x := e.(type) {
		case *ast.BasicLit:
			return x.Value == "0"
		case *ast.SelectorExpr:
			return x.Sel.Name == "NumOps"
		case *ast.Ident:
			return x.Name == "NumOps"
		}
		return false
	}
	note := func(n ast.Node, what string) {
		p := files.Position(n.Pos())
		found = append(found, p.String()+": "+what)
	}
	ast.Inspect(f, func(n ast.Node) bool {
		switch x := n.(type) {
		case *ast.BinaryExpr:
			switch {
			case x.Op == token.EQL || x.Op == token.NEQ || !is(x.X) && !is(x.Y):
			case end(x.X) || end(x.Y):
			default:
				note(x, "an operation "+x.Op.String()+" another")
			}
		case *ast.IncDecStmt:
			if is(x.X) {
				note(x, "the operation that follows")
			}
		case *ast.AssignStmt:
			if x.Tok != token.ASSIGN && x.Tok != token.DEFINE && is(x.Lhs[0]) {
				note(x, "an operation "+x.Tok.String())
			}
		}
		return true
	})
	return found
}

// Nothing depends on the order of the operations' numbers.
func TestNoOrder(t *testing.T) {
	l := &loader{T: t, files: token.NewFileSet(), packages: map[string]*types.Package{}}
	l.check = func(files *token.FileSet, f *ast.File, info *types.Info) {
		for _, text := range orderOf(files, f, info) {
			t.Error(text)
		}
	}
	for _, path := range []string{"compute", "compute/internal/ops", "compute/internal/kernel", "compute/internal/native",
		"compute/internal/ir", "compute/internal/frontend", "compute/internal/backend", "compute/internal/program",
		"compute/internal/vm"} {
		l.load(module+path, true)
	}
	if l.checked < 50 {
		t.Errorf("%d files were looked at", l.checked)
	}
}

// TestOrderIsFound holds that TestNoOrder finds what it looks for.
func TestOrderIsFound(t *testing.T) {
	const text = `package p
import "farside/compute/internal/kernel"
type node struct{ op kernel.Op }
func f(n *node, op kernel.Op) (bool, kernel.Op) {
	op += 2
	n.op++
	if op > 0 && op < kernel.NumOps && op == kernel.AddI32 {
		return n.op >= kernel.LoadU8, op - kernel.AddF32 + kernel.AddF64
	}
	return op <= n.op, 0
}`
	files := token.NewFileSet()
	f, err := parser.ParseFile(files, "p.go", text, 0)
	if err != nil {
		t.Fatal(err)
	}
	l := &loader{T: t, files: files, packages: map[string]*types.Package{}}
	info := &types.Info{Types: map[ast.Expr]types.TypeAndValue{}}
	config := types.Config{Importer: l, Error: func(err error) { t.Error(err) }}
	config.Check("p", files, []*ast.File{f}, info)
	if found := orderOf(files, f, info); len(found) != 6 {
		t.Errorf("found %q", found)
	}
}
