package emit

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strconv"
	"strings"

	"farside/cmd/icdgen/internal/registry"
)

// Table is a table of handles in package icd: a variable made by handle.NewTable[T](kind, "VkThing") or
// handle.NewDispatchable[T]("VkThing").
type Table struct {
	Handle string // VkThing
	Name   string // the variable
	Type   string // T
}

// Driver is what the generator reads from the sources of package icd.
type Driver struct {
	Commands []string        // all that the driver implements, without their vk prefix
	Checked  []string        // commands, without their vk prefix, whose entry in cabi.Commands is vkThing: generated
	Tables   []Table         // by Handle
	Uses     map[string]bool // names X that stand as vk.X somewhere
}

// ReadDriver reads the Go files of package icd, by path, but for generated ones and tests.
// commands are those that the driver implements.
func ReadDriver(sources map[string][]byte, commands []string) (*Driver, error) {
	d := &Driver{Commands: commands, Uses: map[string]bool{}}
	for path, src := range sources {
		if strings.HasSuffix(path, "_test.go") || strings.Contains(path, "zz_generated") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, src, parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.SelectorExpr:
				if pkg, ok := n.X.(*ast.Ident); ok && pkg.Name == "vk" {
					d.Uses[n.Sel.Name] = true
				}
			case *ast.KeyValueExpr:
				key, ok1 := n.Key.(*ast.Ident)
				value, ok2 := n.Value.(*ast.Ident)
				if ok1 && ok2 && value.Name == "vk"+key.Name {
					d.Checked = append(d.Checked, key.Name)
				}
			case *ast.ValueSpec:
				for i, v := range n.Values {
					if t, ok := tableOf(v); ok {
						t.Name = n.Names[i].Name
						d.Tables = append(d.Tables, t)
					}
				}
			}
			return true
		})
	}
	slices.SortFunc(d.Tables, func(a, b Table) int { return cmp.Compare(a.Handle, b.Handle) })
	return d, nil
}

// tableOf reads the call that makes a table.
func tableOf(e ast.Expr) (Table, bool) {
	call, ok := e.(*ast.CallExpr)
	if !ok || len(call.Args) == 0 {
		return Table{}, false
	}
	index, ok := call.Fun.(*ast.IndexExpr)
	if !ok {
		return Table{}, false
	}
	f, ok := index.X.(*ast.SelectorExpr)
	if !ok || f.Sel.Name != "NewTable" && f.Sel.Name != "NewDispatchable" {
		return Table{}, false
	}
	typ, ok1 := index.Index.(*ast.Ident)
	name, ok2 := call.Args[len(call.Args)-1].(*ast.BasicLit)
	if !ok1 || !ok2 {
		return Table{}, false
	}
	handle, err := strconv.Unquote(name.Value)
	return Table{Handle: handle, Type: typ.Name}, err == nil
}

// handles prints the generated part of package icd.
type handles struct {
	reg    *registry.Registry
	driver *Driver
	vuids  *VUIDList
	tables map[string]*Table
	lay    *layouts

	p     *printer // the functions
	tests *printer // rows of the test
}

// Handles prints icd/zz_generated_handles.go, the entries that look the handles of their arguments up, and the table
// that its test goes through. vuids are those of the specification.
func Handles(reg *registry.Registry, driver *Driver, vuids *VUIDList) ([]File, error) {
	g := &handles{
		reg: reg, driver: driver, vuids: vuids, tables: map[string]*Table{}, lay: newLayouts(reg),
		p: new(printer), tests: new(printer),
	}
	for i := range driver.Tables {
		t := &driver.Tables[i]
		if h, ok := reg.Type(t.Handle).(*registry.Handle); !ok || h.ObjectType == "" {
			return nil, fmt.Errorf("table %s: the registry has no handle %s", t.Name, t.Handle)
		}
		g.tables[t.Handle] = t
	}
	g.p.f("%spackage icd\n\nimport (\n\"iter\"\n"+
		"\"unsafe\"\n\n\"farside/internal/vk\"\n)\n\nvar _ unsafe.Pointer\n\n", header)
	g.residents()
	g.ruleOf("recordingRule", "the rule of each command of command buffers that the buffer is being recorded",
		"recording", g.checked)
	g.ruleOf("graphicsRule", "the rule that each command breaks which is recorded for a queue family without graphics",
		"cmdpool", func(c *registry.Command) bool { return g.checked(c) && forGraphics(c) })
	g.tests.f("%spackage icd\n\nimport (\n\"unsafe\"\n\n\"farside/internal/vk\"\n)\n\nvar _ unsafe.Pointer\n\n", header)
	g.tests.f(
		"// handleTests has a row for each command whose handles generated code looks up.\nvar handleTests = []handleTest{\n")
	for _, c := range reg.Commands {
		if c.Alias != "" || !g.checked(c) {
			if err := g.unchecked(c); err != nil {
				return nil, err
			}
			continue
		}
		e, err := newEntryPoint(g.lay, c)
		if err == nil {
			err = g.entry(e)
		}
		if err != nil {
			return nil, fmt.Errorf("<command name=%q>: %w", c.Name, err)
		}
	}
	g.tests.f("}\n")
	code, err := g.p.file("icd/zz_generated_handles.go")
	if err != nil {
		return nil, err
	}
	tests, err := g.tests.file("icd/zz_generated_handles_test.go")
	if err != nil {
		return nil, err
	}
	return []File{code, tests}, nil
}

// residents prints what a device needs to know of its objects.
func (g *handles) residents() {
	var tables []string
	for i := range g.driver.Tables {
		t := &g.driver.Tables[i]
		h := g.reg.Type(t.Handle).(*registry.Handle)
		if h.Parent != "VkDevice" || h.Dispatchable {
			continue
		}
		tables = append(tables, t.Name)
		g.p.f("func (*%s) objectType() vk.ObjectType { return %s }\n\n", t.Type, objectType(h))
		g.p.f("// fail reports err as the outcome of command on this object.\n")
		g.p.f("func (o *%s) fail(command string, err error) vk.Result {\n"+
			"return o.device.failOn(command, err, %s, o.handle)\n}\n\n", t.Type, objectType(h))
		g.p.f("func (o *%s) publish() { o.handle = %s.Insert(o) }\n\n", t.Type, t.Name)
		g.p.f("func (o *%s) withdraw() bool { return %s.Remove(o.handle) != nil }\n\n", t.Type, t.Name)
	}
	g.p.f("// children yields the live objects of the device that belong to no other object of it.\n" +
		"func (d *device) children() iter.Seq[resident] {\nreturn func(yield func(resident) bool) {\n")
	for _, name := range tables {
		g.p.f("if !childrenIn(%s, d, yield) {\nreturn\n}\n", name)
	}
	g.p.f("}\n}\n\n")
}

// ruleOf prints a function: what VUID a rule of commandBuffer has with each command that is recorded and that want
// picks. A map would be made whenever the driver is loaded.
func (g *handles) ruleOf(name, what, rule string, want func(*registry.Command) bool) {
	g.p.f("// %s is %s.\nfunc %s(command string) vk.VUID {\nswitch command {\n", name, what, name)
	for _, c := range g.reg.Commands {
		if c.Alias != "" || !strings.HasPrefix(c.Name, "vkCmd") || !want(c) {
			continue
		}
		g.p.f("case %q:\nreturn %s\n", c.Name, g.vuid("VUID-"+c.Name+"-commandBuffer-"+rule))
	}
	g.p.f("}\nreturn vk.NoVUID\n}\n\n")
}

func objectType(h *registry.Handle) string { return "vk." + ConstName(h.ObjectType) }

// noVUID is the Go expression of no rule.
const noVUID = "vk.NoVUID"

// vuid is the Go expression of the first of names that exists.
func (g *handles) vuid(names ...string) string {
	for _, n := range names {
		if g.vuids.ids[n] {
			return "vk." + vuidMarks.Replace(n)
		}
	}
	return noVUID
}

// look is one place of a command's arguments where a handle stands.
type look struct {
	handle         *registry.Handle
	where          string // for people: pAllocateInfo.commandPool
	expr           string // the handle
	optional       bool
	stale, foreign string // VUIDs as Go expressions
	parent         string // what the object must be of besides the device: a Go expression, or ""
}

// walk is the state of printing one command.
type walk struct {
	*handles
	command *registry.Command
	kind    int
	owner   string            // the device, or the instance, as a Go expression
	pools   map[string]string // handles among the parameters by type: the Go variable of their object
	depth   int               // of structures
	lists   int               // number of arrays of structures
	never   bool              // nothing can stand for a parameter
	rows    []string          // the test's places
	setup   []string          // the test's statements
	late    []string          // those that come after all others
}

// entry prints a command's function and its row.
func (g *handles) entry(e *entryPoint) error {
	w := &walk{handles: g, command: e.Command, kind: e.kind, pools: map[string]string{}}
	params := make([]param, len(e.params))
	for i, v := range e.params {
		params[i] = param{name: e.Params[i].Name, goType: v.goType}
		if token.IsKeyword(params[i].name) {
			params[i].name += "_"
		}
	}
	g.p.f("func vk%s(", e.goName)
	for i, v := range params {
		if i > 0 {
			g.p.f(", ")
		}
		g.p.f("%s %s", v.name, v.goType)
	}
	g.p.f(")%s {\n", goResult(e))
	w.clear()
	args := make([]string, len(params))
	tests := make([]string, len(params))
	for i, d := range e.Params {
		name := params[i].name
		args[i] = name
		switch t := g.reg.Type(g.reg.Resolve(d.Type)).(type) {
		case *registry.Handle:
			if d.Pointer == 0 {
				arg, err := w.object(i, d, t, name)
				if err != nil {
					return err
				}
				args[i] = arg
				tests[i] = w.pick(t, d.Type, len(w.rows)-1)
				continue
			}
			if d.Const {
				h, err := w.list(e.Name, t, d, name, "vk.Slice("+name+", "+w.count(d, "")+")", "")
				if err != nil {
					return err
				}
				tests[i] = h
				continue
			}
		case *registry.Struct:
			if d.Const && d.Pointer == 1 {
				v, err := w.structs(e.Name, t, d, name, "")
				if err != nil {
					return err
				}
				tests[i] = v
				continue
			}
		}
		tests[i] = w.plain(d, params[i].goType)
	}
	end := e.Name == "vkFreeMemory" || strings.HasPrefix(e.Name, "vkDestroy") && len(params) == 3 &&
		g.isResident(e.Params[1].Type)
	switch {
	case w.never || end && g.tables[e.Params[1].Type] == nil: // of a kind that there are none of
	case end:
		w.invoke(e, args, w.end(e.Params[1]))
	default:
		w.invoke(e, args, "")
	}
	g.p.f("}\n\n")
	w.row(e, tests)
	return nil
}

// unchecked fails for a command that takes a handle without a generated entry. vkGetInstanceProcAddr does: it may be
// called without an instance, and is called by loaders before there is one.
func (g *handles) unchecked(c *registry.Command) error {
	_, takes := g.reg.Type(g.reg.Resolve(c.Params[0].Type)).(*registry.Handle)
	name := strings.TrimPrefix(c.Name, "vk")
	if !takes || c.Params[0].Pointer > 0 || c.Name == "vkGetInstanceProcAddr" ||
		!slices.Contains(g.driver.Commands, name) {
		return nil
	}
	return fmt.Errorf("%s: its handles are not checked; let its field of cabi.Commands be %s", name, c.Name)
}

// checked says whether a command's entry is generated.
func (g *handles) checked(c *registry.Command) bool {
	return slices.Contains(g.driver.Checked, strings.TrimPrefix(c.Name, "vk"))
}

// isResident says whether objects of a type belong to their device alone.
func (g *handles) isResident(typ string) bool {
	h, ok := g.reg.Type(typ).(*registry.Handle)
	return ok && h.Parent == "VkDevice" && !h.Dispatchable
}

// clear prints that no handle is handed out unless the command succeeds, and no number by a command without a result.
func (w *walk) clear() {
	for _, d := range w.command.Params {
		_, handle := w.reg.Type(w.reg.Resolve(d.Type)).(*registry.Handle)
		if d.Pointer != 1 || d.Const || !handle && (w.kind != kindVoid || !w.number(d)) ||
			handleRules[w.command.Name+"."+d.Name].skip != "" {
			continue
		}
		switch n := w.count(d, ""); {
		case d.Len == "":
			w.p.f("*%s = 0\n", d.Name)
		case !strings.HasPrefix(n, "*"):
			w.p.f("clear(vk.Slice(%s, %s))\n", d.Name, n)
		}
	}
}

// number says whether a parameter points to a number that is not the count of an array.
func (w *walk) number(d *registry.Decl) bool {
	for _, p := range w.command.Params {
		if n, _, _ := strings.Cut(p.Len, ","); n == d.Name {
			return false
		}
	}
	if _, ok := scalars[d.Type]; ok {
		return true
	}
	switch t := w.reg.Type(w.reg.Resolve(d.Type)).(type) {
	case *registry.Bitmask:
		return true
	case *registry.BaseType:
		return scalars[t.Underlying].goType != ""
	}
	return false
}

// count is the number of elements that a len attribute names, as a Go expression; s is the structure, or "".
func (w *walk) count(d *registry.Decl, s string) string {
	n, _, _ := strings.Cut(d.Len, ",")
	if s != "" {
		return s + "." + FieldName(n)
	}
	if base, member, ok := strings.Cut(n, "->"); ok {
		return base + "." + FieldName(member)
	}
	for _, p := range w.command.Params {
		if p.Name == n && p.Pointer == 1 {
			return "*" + n
		}
	}
	return n
}

// object prints the look-up of a parameter and returns what the command's function gets for it.
func (w *walk) object(i int, d *registry.Decl, h *registry.Handle, name string) (string, error) {
	rule, err := w.rule(w.command.Name+"."+d.Name, d)
	if err != nil {
		return "", err
	}
	if rule.skip != "" || w.skipRecorded(i) {
		return name, nil
	}
	l := &look{handle: h, where: d.Name, expr: name, optional: rule.optional || strings.HasPrefix(d.Optional, "true")}
	l.stale = w.vuid(cmp.Or(rule.vuid, "VUID-"+w.command.Name+"-"+d.Name+"-parameter"))
	l.foreign = w.vuid("VUID-"+w.command.Name+"-"+d.Name+"-parent", "VUID-"+w.command.Name+"-commonparent")
	t := w.tables[h.Name]
	if t == nil {
		w.look(l)
		return name, nil
	}
	object := name + "Object"
	w.pools[h.Name] = object
	if i == 0 {
		w.first(l, t, object)
		return object, nil
	}
	w.p.f("%s := %s.Get(%s)\n", object, t.Name, w.key(h, name))
	w.refuse(l, object, "")
	return object, nil
}

// skipRecorded says whether a parameter is left to who executes the command: stubs record commands without a look at
// the handles among their arguments, and so do the functions that they leave a command to.
func (w *walk) skipRecorded(i int) bool {
	return i > 0 && w.command.Params[0].Type == "VkCommandBuffer" && strings.HasPrefix(w.command.Name, "vkCmd")
}

// key converts a handle to what its table takes.
func (w *walk) key(h *registry.Handle, expr string) string {
	if h.Dispatchable {
		return "uintptr(" + expr + ")"
	}
	return "uint64(" + expr + ")"
}

// first prints the look-up of the object that a command is called on.
func (w *walk) first(l *look, t *Table, object string) {
	switch l.handle.Name {
	case "VkInstance":
		w.owner = object
	case "VkPhysicalDevice":
		w.owner = object + ".instance"
	case "VkDevice":
		w.owner = object
	default:
		w.owner = object + ".owner()"
	}
	w.rows = append(w.rows, w.place(l, noVUID))
	if l.optional {
		w.p.f("if %s == 0 {\n%s\n}\n", l.expr, w.leave(""))
	}
	w.p.f("%s := %s.Get(%s)\n", object, t.Name, w.key(l.handle, l.expr))
	w.p.f("if %s == nil {\n%s\n}\n", object, w.leave(fmt.Sprintf("refuseFirst(%q, %s, uint64(%s), %s)",
		w.command.Name, objectType(l.handle), l.expr, l.stale)))
}

// leave is the statement that ends the command, with the result of report where it has one.
func (w *walk) leave(report string) string {
	switch {
	case w.kind == kindResult:
		return "return " + report
	case report == "":
		return "return"
	case w.kind == kindWord:
		return report + "\nreturn 0"
	}
	return report + "\nreturn"
}

// refuse prints what happens unless object, which was looked up, may stand where l says. unless is a condition in
// front.
func (w *walk) refuse(l *look, object, unless string) {
	foreign := l.foreign
	if foreign == noVUID {
		foreign = l.stale
	}
	w.rows = append(w.rows, w.place(l, foreign))
	var bad string
	switch {
	case l.parent != "":
		bad = fmt.Sprintf("%s == nil || %s.pool != %s", object, object, l.parent)
	case l.handle.Parent == "VkInstance":
		bad = fmt.Sprintf("%s == nil || %s.instance != %s", object, object, w.instance())
	default:
		bad = fmt.Sprintf("%s == nil || %s.owner() != %s", object, object, w.owner)
	}
	if l.optional {
		bad = fmt.Sprintf("%s != 0 && (%s)", l.expr, bad)
	}
	w.p.f("if %s%s {\n%s\n}\n", unless, bad, w.leave(fmt.Sprintf("%s.refuse(%q, %s, uint64(%s), %s != nil, %s, %s)",
		w.owner, w.command.Name, objectType(l.handle), l.expr, object, l.stale, foreign)))
}

// instance is the instance that the command belongs to, as a Go expression.
func (w *walk) instance() string {
	switch w.command.Params[0].Type {
	case "VkInstance", "VkPhysicalDevice":
		return w.owner
	}
	return w.owner + ".physical.instance"
}

// look prints a look-up whose object is not kept.
func (w *walk) look(l *look) {
	t := w.tables[l.handle.Name]
	if t == nil {
		w.rows = append(w.rows, w.place(l, noVUID))
		report := w.leave(fmt.Sprintf("%s.refuse(%q, %s, uint64(%s), false, %s, %s)",
			w.owner, w.command.Name, objectType(l.handle), l.expr, l.stale, l.stale))
		if l.optional {
			w.p.f("if %s != 0 {\n%s\n}\n", l.expr, report)
		} else {
			w.p.f("%s\n", strings.TrimSuffix(report, "\nreturn"))
			w.never = true
		}
		return
	}
	w.refuse(l, "o", fmt.Sprintf("o := %s.Get(%s); ", t.Name, w.key(l.handle, l.expr)))
}

// place is a row's description of one place.
func (w *walk) place(l *look, foreign string) string {
	table := w.tables[l.handle.Name] != nil
	if l.handle.Name == "VkPhysicalDevice" || w.command.Params[0].Type == "VkInstance" && l.handle.Parent != "VkInstance" {
		foreign = noVUID
	}
	return fmt.Sprintf("{%q, %s, %t, %t, %s, %s}", l.where, objectType(l.handle), l.optional, table, l.stale, foreign)
}

// rule finds the row for a parameter or member.
func (w *walk) rule(key string, d *registry.Decl) (handleRule, error) {
	rule, ok := handleRules[key]
	if d.NoAutoValidity && !ok {
		return rule, fmt.Errorf("%s: the registry has no rules for it; it needs a row in handle_rules.go", key)
	}
	if rule.vuid != "" && !w.vuids.ids[rule.vuid] {
		return rule, fmt.Errorf("%s: there is no %s", key, rule.vuid)
	}
	return rule, nil
}

// list prints the look-ups of an array of handles, and returns an array for the test. scope is the command or the
// structure that it belongs to, s the structure's variable.
func (w *walk) list(scope string, h *registry.Handle, d *registry.Decl, where, expr, s string) (string, error) {
	rule, err := w.rule(scope+"."+d.Name, d)
	if err != nil || rule.skip != "" || w.skipRecorded(1) {
		return "nil", err
	}
	var parent string
	if pool := w.pools[h.Parent]; h.Parent != "VkDevice" && pool != "" {
		parent = pool
	}
	_, elements, _ := strings.Cut(d.Optional, ",")
	l := &look{handle: h, where: where, expr: "h", optional: rule.optional || elements == "true", parent: parent}
	w.rules(l, scope, d, rule)
	if rule.when != "" {
		w.p.f("if s := %s; %s {\n", s, rule.when)
	}
	w.p.f("for _, h := range %s {\n", expr)
	w.look(l)
	w.p.f("}\n")
	if rule.when != "" {
		w.p.f("}\n")
	}
	at := len(w.rows) - 1
	v := fmt.Sprintf("v%d", at)
	w.setup = append(w.setup, fmt.Sprintf("%s := %s", v, w.pick(h, d.Type, at)))
	return "&" + v, nil
}

// rules finds the VUIDs of a place.
func (w *walk) rules(l *look, scope string, d *registry.Decl, rule handleRule) {
	l.stale = w.vuid(cmp.Or(rule.vuid, "VUID-"+scope+"-"+d.Name+"-parameter"))
	l.foreign = w.vuid("VUID-"+scope+"-"+d.Name+"-parent", "VUID-"+scope+"-commonparent",
		"VUID-"+w.command.Name+"-commonparent")
}

// structs prints the look-ups in the structures that a const pointer leads to, and returns a pointer to one of them for
// the test. s is the structure that the pointer is a member of, or "".
func (w *walk) structs(scope string, t *registry.Struct, d *registry.Decl, where, s string) (string, error) {
	rule, err := w.structRule(scope, t, d)
	if err != nil || rule.skip != "" || !w.reaches(t, nil) || w.skipRecorded(1) {
		return "nil", err
	}
	pointer := d.Name
	if s != "" {
		pointer = s + "." + FieldName(d.Name)
	}
	w.depth++
	name := fmt.Sprintf("s%d", w.depth)
	defer func() { w.depth-- }()
	if d.Len == "" {
		w.p.f("if %s := %s; %s != nil {\n", name, pointer, name)
	} else {
		w.lists++
		w.p.f("list%d := vk.Slice(%s, %s)\nfor i := range list%d {\n%s := &list%d[i]\n",
			w.lists, pointer, w.count(d, s), w.lists, name, w.lists)
	}
	v, err := w.members(t, name, where)
	w.p.f("}\n")
	return "&" + v, err
}

// structRule is the row for a pointer to structures; only those that lead to handles need one.
func (w *walk) structRule(scope string, t *registry.Struct, d *registry.Decl) (handleRule, error) {
	if !w.reaches(t, nil) {
		return handleRule{}, nil
	}
	return w.rule(scope+"."+d.Name, d)
}

// extensions are the structures with handles that the driver looks for in the chain of t.
func (w *walk) extensions(t *registry.Struct) (list []*registry.Struct) {
	for _, e := range w.reg.Structs {
		if e.Alias == "" && slices.Contains(e.Extends, t.Name) && w.driver.Uses[TypeName(e.Name)] {
			list = append(list, e)
		}
	}
	return list
}

// reaches says whether a structure, or what it points to, has handles.
func (w *walk) reaches(t *registry.Struct, seen []*registry.Struct) bool {
	if slices.Contains(seen, t) {
		return false
	}
	seen = append(seen, t)
	for _, m := range t.Members {
		if m.Pointer > 0 && !m.Const {
			continue
		}
		switch m := w.reg.Type(w.reg.Resolve(m.Type)).(type) {
		case *registry.Handle:
			return true
		case *registry.Struct:
			if w.reaches(m, seen) {
				return true
			}
		}
	}
	return slices.ContainsFunc(w.extensions(t), func(e *registry.Struct) bool { return w.reaches(e, seen) })
}

// members prints the look-ups in the structure s, and returns the variable of the test that is one.
func (w *walk) members(t *registry.Struct, s, where string) (string, error) {
	v := fmt.Sprintf("t%d", len(w.setup))
	w.setup = append(w.setup, fmt.Sprintf("var %s vk.%s", v, TypeName(t.Name)))
	if t.SType() != "" {
		w.setup = append(w.setup, fmt.Sprintf("%s.SType = %s.StructureType()", v, v))
	}
	for _, m := range t.Members {
		if err := w.member(t, m, s, v, where+"."+m.Name); err != nil {
			return "", err
		}
	}
	for _, e := range w.extensions(t) {
		if !w.reaches(e, nil) {
			continue
		}
		w.depth++
		name := fmt.Sprintf("s%d", w.depth)
		w.p.f("if %s := vk.Find[vk.%s](%s.PNext); %s != nil {\n", name, TypeName(e.Name), s, name)
		chained, err := w.members(e, name, where+"."+e.Name)
		w.p.f("}\n")
		w.depth--
		if err != nil {
			return "", err
		}
		w.setup = append(w.setup, fmt.Sprintf("%s.PNext, %s.PNext = %s.PNext, unsafe.Pointer(&%s)", chained, v, v, chained))
	}
	return v, nil
}

// member prints the look-ups in one member.
func (w *walk) member(t *registry.Struct, m *registry.Decl, s, v, where string) error {
	field := FieldName(m.Name)
	switch typ := w.reg.Type(w.reg.Resolve(m.Type)).(type) {
	case *registry.Handle:
		rule, err := w.rule(t.Name+"."+m.Name, m)
		if err != nil || rule.skip != "" {
			return err
		}
		if first := w.command.Params[0].Type; typ.Parent != "VkInstance" &&
			(first == "VkInstance" || first == "VkPhysicalDevice") {
			return fmt.Errorf("%s.%s: there is no device to compare with; it needs a row in handle_rules.go", t.Name, m.Name)
		}
		if m.Pointer > 0 {
			array, err := w.list(t.Name, typ, m, where, "vk.Slice("+s+"."+field+", "+w.count(m, s)+")", s)
			if err != nil {
				return err
			}
			w.assign(v, m, array)
			w.set(v, rule)
			break
		}
		l := &look{handle: typ, where: where, expr: s + "." + field,
			optional: rule.optional || strings.HasPrefix(m.Optional, "true")}
		w.rules(l, t.Name, m, rule)
		if rule.when != "" {
			w.p.f("if s := %s; %s {\n", s, rule.when)
		}
		w.look(l)
		if rule.when != "" {
			w.p.f("}\n")
		}
		w.setup = append(w.setup, fmt.Sprintf("%s.%s = %s", v, field, w.pick(typ, m.Type, len(w.rows)-1)))
		w.set(v, rule)
	case *registry.Struct:
		if m.Pointer == 0 {
			if w.reaches(typ, nil) {
				inner, err := w.members(typ, s+"."+field, where)
				if err != nil {
					return err
				}
				w.setup = append(w.setup, fmt.Sprintf("%s.%s = %s", v, field, inner))
			}
			return nil
		}
		if m.Pointer == 1 && m.Const {
			pointer, err := w.structs(t.Name, typ, m, where, s)
			if err != nil {
				return err
			}
			w.assign(v, m, pointer)
		}
	}
	return nil
}

// set makes a rule's condition true when the test tries the place that was printed last.
func (w *walk) set(v string, rule handleRule) {
	if rule.set != "" {
		w.late = append(w.late, fmt.Sprintf("if f.at == %d {\n%s\n}", len(w.rows)-1,
			strings.ReplaceAll(rule.set, "s.", v+".")))
	}
}

// assign lets a test's structure point to one element.
func (w *walk) assign(v string, m *registry.Decl, pointer string) {
	if pointer == "nil" {
		return
	}
	w.setup = append(w.setup, fmt.Sprintf("%s.%s = %s", v, FieldName(m.Name), pointer))
	if n, _, _ := strings.Cut(m.Len, ","); n != "" {
		w.setup = append(w.setup, fmt.Sprintf("%s.%s = 1", v, FieldName(n)))
	}
}

// end is the statement that ends an object; of several callers one does it.
func (w *walk) end(d *registry.Decl) string {
	h := w.reg.Type(w.reg.Resolve(d.Type)).(*registry.Handle)
	vuid := w.vuid("VUID-" + w.command.Name + "-" + d.Name + "-parameter")
	return fmt.Sprintf("if %s != 0 && !%s.end(%sObject) {\n", d.Name, w.owner, d.Name) +
		fmt.Sprintf("%s.refuse(%q, %s, uint64(%s), false, %s, %s)\n}\n", w.owner, w.command.Name, objectType(h), d.Name,
			vuid, vuid)
}

// pick is the expression of a handle in the test: the one to try at its place, a live one everywhere else.
func (w *walk) pick(h *registry.Handle, typ string, at int) string {
	return fmt.Sprintf("vk.%s(f.pick(%d, %s))", TypeName(typ), at, objectType(h))
}

// plain is an argument of the test that no handle stands in.
func (w *walk) plain(d *registry.Decl, goType string) string {
	for _, p := range w.command.Params {
		if n, _, _ := strings.Cut(p.Len, ","); n == d.Name && p.Const && d.Pointer == 0 {
			return "1"
		}
	}
	if elem, ok := strings.CutPrefix(goType, "*"); ok && !d.Const {
		return "new(" + elem + ")"
	}
	if goType == "unsafe.Pointer" || strings.HasPrefix(goType, "*") {
		return "nil"
	}
	return "0"
}

// row prints the test's row of a command.
func (w *walk) row(e *entryPoint, args []string) {
	w.tests.f("{%q, []handlePlace{\n%s,\n}, func(f *handleArgs) vk.Result {\n", e.Name, strings.Join(w.rows, ",\n"))
	for _, s := range slices.Concat(w.setup, w.late) {
		w.tests.f("%s\n", s)
	}
	for i, a := range args {
		if a == "" {
			args[i] = w.plain(e.Params[i], "0")
		}
	}
	call := fmt.Sprintf("commands.%s(%s)", e.goName, strings.Join(args, ", "))
	switch e.kind {
	case kindResult:
		w.tests.f("return %s\n", call)
	case kindVoid:
		w.tests.f("%s\nreturn vk.ERROR_UNKNOWN\n", call)
	default:
		w.tests.f("if %s != 0 {\nreturn vk.SUCCESS\n}\nreturn vk.ERROR_UNKNOWN\n", call)
	}
	w.tests.f("}},\n")
}

func lowerFirst(s string) string { return strings.ToLower(s[:1]) + s[1:] }
