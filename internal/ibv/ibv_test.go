package ibv

import (
	"debug/dwarf"
	"debug/elf"
	"go/ast"
	"go/build"
	"go/constant"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// goPackage is this package as the type checker sees it.
func goPackage(t *testing.T) (*types.Package, types.Sizes) {
	t.Helper()
	fset := token.NewFileSet()
	names, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	var files []*ast.File
	for _, name := range names {
		arch := strings.HasPrefix(name, "pthread_") && name != "pthread_"+runtime.GOARCH+".go"
		if arch || strings.HasSuffix(name, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(fset, name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, f)
	}
	root, err := exec.Command("go", "env", "GOROOT").Output() // a test that is compiled with -trimpath doesn't know
	if err != nil {
		t.Fatal(err)
	}
	build.Default.GOROOT = strings.TrimSpace(string(root))
	conf := types.Config{Importer: importer.ForCompiler(fset, "source", nil)}
	pkg, err := conf.Check("farside/internal/ibv", fset, files, nil)
	if err != nil {
		t.Fatal(err)
	}
	return pkg, types.SizesFor("gc", runtime.GOARCH)
}

// headers are the types and enumerators of Debian's headers, as the C compiler sees them.
func headers(t *testing.T) (structs map[string]*dwarf.StructType, values map[string]int64) {
	t.Helper()
	for file, pkg := range map[string]string{"infiniband/verbs.h": "libibverbs-dev", "rdma/rdma_cma.h": "librdmacm-dev"} {
		if _, err := os.Stat("/usr/include/" + file); err != nil {
			t.Skipf("package %s is missing", pkg)
		}
	}
	dir := t.TempDir()
	src, obj := filepath.Join(dir, "headers.c"), filepath.Join(dir, "headers.o")
	text := "#include <infiniband/verbs.h>\n#include <infiniband/sa.h>\n#include <rdma/rdma_cma.h>\n"
	if err := os.WriteFile(src, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("gcc", "-gdwarf-4", "-fno-eliminate-unused-debug-types", "-c", "-o", obj, src)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("gcc: %v\n%s", err, out)
	}
	f, err := elf.Open(obj)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	data, err := f.DWARF()
	if err != nil {
		t.Fatal(err)
	}
	structs, values = map[string]*dwarf.StructType{}, map[string]int64{}
	for r := data.Reader(); ; {
		e, err := r.Next()
		if err != nil {
			t.Fatal(err)
		}
		if e == nil {
			return structs, values
		}
		switch e.Tag {
		case dwarf.TagStructType, dwarf.TagUnionType, dwarf.TagEnumerationType:
			typ, err := data.Type(e.Offset)
			if err != nil {
				t.Fatal(err)
			}
			switch typ := typ.(type) {
			case *dwarf.StructType:
				if typ.StructName != "" && !typ.Incomplete {
					structs[typ.StructName] = typ
				}
			case *dwarf.EnumType:
				for _, v := range typ.Val {
					values[v.Name] = v.Val
				}
			}
		}
	}
}

// plain is what a name has in both languages.
func plain(name string) string { return strings.ToLower(strings.ReplaceAll(name, "_", "")) }

// spelled are the fields of C that Go spells otherwise.
var spelled = map[string]string{
	"readcompletionts": "readcompletiontimestamp",
	"qptype":           "remotesrqn", // of ibv_send_wr, whose union has one member
	"ibvdestroyflow":   "destroyflow",
	"ibvcreateflow":    "createflow",
}

// goNameless are the structures of C that have no type of their own in Go: parts of others, and what flow steering, tag
// matching and counters use.
var goNameless = []string{"ibv_flow", "ibv_tm_", "ibv_ops_", "ibv_counter", "ibv_wc_tm_info", "ibv_sa_", "ibv_kern_",
	"ibv_esp", "ibv_device_ops", "_ibv_device_ops"}

func TestStructures(t *testing.T) {
	pkg, sizes := goPackage(t)
	cTypes, _ := headers(t)
	byName := map[string]*dwarf.StructType{}
	for name, s := range cTypes {
		for _, prefix := range []string{"ibv_", "rdma_", ""} {
			if short, ok := strings.CutPrefix(name, prefix); ok {
				if byName[plain(short)] == nil || prefix != "" {
					byName[plain(short)] = s
				}
				break
			}
		}
	}
	seen := map[string]bool{}
	fields := 0
	for _, name := range pkg.Scope().Names() {
		obj, ok := pkg.Scope().Lookup(name).(*types.TypeName)
		if !ok {
			continue
		}
		s, ok := obj.Type().Underlying().(*types.Struct)
		if !ok || name == "BindMW" || name == "Symbol" { // a member of a union, and a row of the libraries' symbols
			continue
		}
		c := byName[plain(name)]
		if c == nil {
			t.Errorf("%s: the headers have no such structure", name)
			continue
		}
		seen[c.StructName] = true
		if got := sizes.Sizeof(obj.Type()); got != c.ByteSize {
			t.Errorf("sizeof(struct %s) is %d, of %s %d", c.StructName, c.ByteSize, name, got)
		}
		fields += compareFields(t, c, s, sizes)
	}
	for name := range cTypes {
		ours := strings.HasPrefix(name, "ibv_") || strings.HasPrefix(name, "rdma_") || name == "verbs_context"
		for _, prefix := range goNameless {
			ours = ours && (!strings.HasPrefix(name, prefix) || seen[name])
		}
		if ours && !seen[name] && name != "ibv_gid" {
			t.Errorf("struct %s has no counterpart", name)
		}
	}
	if len(seen) < 70 || fields < 500 {
		t.Errorf("only %d structures with %d fields were compared", len(seen), fields)
	}
}

// compareFields compares offsets and sizes, and returns of how many fields.
func compareFields(t *testing.T, c *dwarf.StructType, s *types.Struct, sizes types.Sizes) int {
	t.Helper()
	type place struct{ offset, size int64 }
	goFields := map[string]place{}
	var vars []*types.Var
	for i := range s.NumFields() {
		vars = append(vars, s.Field(i))
	}
	offsets := sizes.Offsetsof(vars)
	for i, v := range vars {
		if v.Name() != "_" {
			goFields[plain(v.Name())] = place{offsets[i], sizes.Sizeof(v.Type())}
		}
	}
	n := 0
	for _, f := range c.Field {
		name := plain(f.Name)
		if f.Name == "" { // a union without a name has that of its first member
			name = plain(f.Type.(*dwarf.StructType).Field[0].Name)
		}
		g, ok := goFields[name]
		if !ok {
			name = spelled[name]
			g, ok = goFields[name]
		}
		if want := (place{f.ByteOffset, f.Type.Size()}); !ok || g != want {
			t.Errorf("struct %s: %q is at %+v, in Go at %+v", c.StructName, f.Name, want, g)
		}
		delete(goFields, name)
		n++
	}
	for name := range goFields {
		t.Errorf("struct %s has no field %s", c.StructName, name)
	}
	return n
}

func TestUnions(t *testing.T) {
	cTypes, _ := headers(t)
	wr := cTypes["ibv_send_wr"]
	if wr == nil {
		t.Fatal("no ibv_send_wr")
	}
	got := map[string]int64{}
	for _, f := range wr.Field {
		u, ok := f.Type.(*dwarf.StructType)
		if !ok || u.Kind != "union" {
			continue
		}
		for _, m := range u.Field {
			if s, ok := m.Type.(*dwarf.StructType); ok {
				for _, leaf := range s.Field {
					got[m.Name+"."+leaf.Name] = leaf.ByteOffset
				}
			}
		}
	}
	want := map[string]int64{
		"rdma.remote_addr": 0, "rdma.rkey": 8,
		"atomic.remote_addr": 0, "atomic.compare_add": 8, "atomic.swap": 16, "atomic.rkey": 24,
		"ud.ah": 0, "ud.remote_qpn": 8, "ud.remote_qkey": 12,
		"xrc.remote_srqn": 0,
		"bind_mw.mw":      0, "bind_mw.rkey": 8, "bind_mw.bind_info": 16,
	}
	for name, offset := range want {
		if o, ok := got[name]; !ok || o != offset {
			t.Errorf("%s is at %d (%v), the accessors take it from %d", name, o, ok, offset)
		}
	}
	w := SendWR{WR: [4]uint64{1, 0x3_0000_0002, 4, 5}}
	if a, k := w.RDMA(); a != 1 || k != 2 {
		t.Errorf("RDMA: %d, %d", a, k)
	}
	if a, c, s, k := w.Atomic(); a != 1 || c != 0x3_0000_0002 || s != 4 || k != 5 {
		t.Errorf("Atomic: %d, %#x, %d, %d", a, c, s, k)
	}
	if ah, n, k := w.UD(); ah != 1 || n != 2 || k != 3 {
		t.Errorf("UD: %d, %d, %d", ah, n, k)
	}
}

func TestConstants(t *testing.T) {
	pkg, _ := goPackage(t)
	_, values := headers(t)
	compared := 0
	for _, name := range pkg.Scope().Names() {
		c, ok := pkg.Scope().Lookup(name).(*types.Const)
		if !ok || !strings.Contains(name, "_") {
			continue
		}
		want, ok := values["IBV_"+name]
		if !ok {
			want, ok = values[name]
		}
		got, exact := constant.Int64Val(c.Val())
		if !ok || !exact || got != want {
			t.Errorf("%s is %d, in C %d (%v)", name, got, want, ok)
		}
		compared++
	}
	if compared < 350 {
		t.Errorf("only %d constants were compared", compared)
	}
}
