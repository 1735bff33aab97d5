package registry

import (
	"io"
	"regexp"
	"strconv"
	"strings"
)

const api = "vulkan"

// forAPI says whether an element whose api (or supported) attribute is list belongs to API "vulkan".
func forAPI(list string) bool {
	if list == "" {
		return true
	}
	for a := range strings.SplitSeq(list, ",") {
		if a == api {
			return true
		}
	}
	return false
}

// parser holds everything that the document declares; keep then picks what the API requires.
type parser struct {
	root      *node
	types     map[string]any
	typeNodes []string // names in document order
	enums     map[string]*enumBlock
	values    map[string]int64 // every enumerant seen, for aliases and duplicates
	constants map[string]string
	commands  map[string]*Command
	cmdOrder  []string
	required  map[string]bool // types and commands
	reg       *Registry
}

type enumBlock struct {
	bitmask bool
	width   int
	values  []*EnumValue
	seen    map[string]bool
}

// Parse reads a registry. Every error it returns is one line and names the element at fault.
func Parse(r io.Reader) (*Registry, error) {
	root, err := parseTree(r)
	if err != nil {
		return nil, err
	}
	p := &parser{
		root: root, types: map[string]any{}, enums: map[string]*enumBlock{}, values: map[string]int64{},
		constants: map[string]string{}, commands: map[string]*Command{}, required: map[string]bool{},
		reg: &Registry{types: map[string]any{}},
	}
	for _, step := range []func() error{
		p.readTypes, p.readEnums, p.readCommands, p.readFeatures, p.readExtensions, p.keep, p.readFormats,
	} {
		if err := step(); err != nil {
			return nil, err
		}
	}
	return p.reg, nil
}

var headerVersion = regexp.MustCompile(`#define\s+VK_HEADER_VERSION\s+(\d+)`)

func (p *parser) section(name string) []*node {
	var out []*node
	for _, s := range p.root.elems(name) {
		out = append(out, s.elems("")...)
	}
	return out
}

func (p *parser) declare(n *node, name string, t any) error {
	if name == "" {
		return n.errorf("no name")
	}
	if !strings.HasPrefix(name, "PFN_") && !isIdent(name) {
		return n.errorf("%q is not an identifier", name)
	}
	if _, dup := p.types[name]; dup {
		return n.errorf("declared twice")
	}
	p.types[name] = t
	p.typeNodes = append(p.typeNodes, name)
	return nil
}

func isIdent(s string) bool {
	for i, c := range []byte(s) {
		letter := c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
		if !letter && (i == 0 || c < '0' || c > '9') {
			return false
		}
	}
	return s != ""
}

func nodeName(n *node) string {
	if name := n.attr("name"); name != "" {
		return name
	}
	if c := n.first("name"); c != nil {
		return strings.TrimSpace(c.text())
	}
	if pr := n.first("proto"); pr != nil {
		return nodeName(pr)
	}
	return ""
}

func (p *parser) readTypes() error {
	for _, n := range p.section("types") {
		if n.name != "type" || !forAPI(n.attr("api")) {
			continue
		}
		if err := p.readType(n); err != nil {
			return err
		}
	}
	if p.reg.HeaderVersion == 0 {
		return &Error{Element: `<type name="VK_HEADER_VERSION">`, Reason: "not defined"}
	}
	return nil
}

func (p *parser) readType(n *node) error {
	name, alias := nodeName(n), n.attr("alias")
	switch n.attr("category") {
	case "define":
		if m := headerVersion.FindStringSubmatch(n.text()); m != nil {
			v, err := strconv.ParseUint(m[1], 10, 12)
			if err != nil {
				return n.errorf("bad version %q", m[1])
			}
			p.reg.HeaderVersion = uint32(v)
		}
		return nil
	case "include":
		return nil
	case "":
		return p.declare(n, name, &External{Name: name, Header: n.attr("requires")})
	case "basetype":
		b := &BaseType{Name: name, Pointer: strings.Contains(n.text(), "*")}
		if t := n.first("type"); t != nil {
			b.Underlying = strings.TrimSpace(t.text())
		}
		return p.declare(n, name, b)
	case "bitmask":
		b := &Bitmask{Name: name, Alias: alias, Bits: n.attr("requires") + n.attr("bitvalues"), Width: 32}
		if t := n.first("type"); t != nil && strings.TrimSpace(t.text()) == "VkFlags64" {
			b.Width = 64
		}
		return p.declare(n, name, b)
	case "handle":
		h := &Handle{Name: name, Alias: alias, Parent: n.attr("parent"), ObjectType: n.attr("objtypeenum")}
		if t := n.first("type"); t != nil {
			h.Dispatchable = strings.TrimSpace(t.text()) == "VK_DEFINE_HANDLE"
		}
		return p.declare(n, name, h)
	case "enum":
		return p.declare(n, name, &Enum{Name: name, Alias: alias, Width: 32})
	case "funcpointer":
		return p.declare(n, name, &FuncPointer{Name: name})
	case "struct", "union":
		s := &Struct{Name: name, Alias: alias, Union: n.attr("category") == "union"}
		if e := n.attr("structextends"); e != "" {
			s.Extends = strings.Split(e, ",")
		}
		for _, m := range n.elems("member") {
			if !forAPI(m.attr("api")) {
				continue
			}
			d, err := p.readDecl(m)
			if err != nil {
				return err
			}
			s.Members = append(s.Members, d)
		}
		if alias == "" && len(s.Members) == 0 {
			return n.errorf("no members")
		}
		return p.declare(n, name, s)
	}
	return n.errorf("unknown category %q", n.attr("category"))
}

// readDecl reads a C declaration with its <type> and <name> marked: "const <type>T</type>* <name>x</name>[4]".
func (p *parser) readDecl(n *node) (*Decl, error) {
	d := &Decl{
		Len: n.attr("len"), Values: n.attr("values"),
		Optional: n.attr("optional"), NoAutoValidity: n.attr("noautovalidity") == "true",
		LimitType: n.attr("limittype"),
	}
	var before, after strings.Builder
	for _, k := range n.kids {
		switch {
		case k.elem == nil && d.Name == "":
			before.WriteString(k.text)
		case k.elem == nil:
			after.WriteString(k.text)
		case k.elem.name == "type":
			d.Type = strings.TrimSpace(k.elem.text())
		case k.elem.name == "name":
			d.Name = strings.TrimSpace(k.elem.text())
			d.Twin = k.elem.attr("alias")
		case k.elem.name == "enum":
			after.WriteString(strings.TrimSpace(k.elem.text()))
		}
	}
	if !isIdent(d.Name) {
		return nil, n.errorf("no <name>")
	}
	if !isIdent(d.Type) {
		return nil, n.errorf("no <type>")
	}
	d.Pointer = strings.Count(before.String(), "*")
	d.Const = strings.HasPrefix(strings.TrimSpace(before.String()), "const")
	return d, p.readSuffix(n, d, strings.TrimSpace(after.String()))
}

// readSuffix reads what follows a declared name: array dimensions or a bitfield's width.
func (p *parser) readSuffix(n *node, d *Decl, s string) error {
	if bits, ok := strings.CutPrefix(s, ":"); ok {
		v, err := strconv.Atoi(bits)
		if err != nil || v < 1 || v > 64 {
			return n.errorf("bad bitfield width %q", bits)
		}
		d.Bits = v
		return nil
	}
	for s != "" {
		dim, rest, ok := strings.Cut(strings.TrimPrefix(s, "["), "]")
		if !ok || s[0] != '[' {
			return n.errorf("cannot read %q after the name", s)
		}
		v, err := strconv.Atoi(dim)
		if err != nil {
			if v, err = p.constantInt(dim); err != nil {
				return n.errorf("unknown array length %q", dim)
			}
		}
		if v < 1 || v > 1<<16 {
			return n.errorf("array length %d out of range", v)
		}
		d.Array = append(d.Array, v)
		s = strings.TrimSpace(rest)
	}
	return nil
}

// constantInt looks an API constant up in the document: types come before the enums that define them.
func (p *parser) constantInt(name string) (int, error) {
	if len(p.constants) == 0 {
		for _, b := range p.root.elems("enums") {
			if b.attr("type") == "constants" {
				for _, e := range b.elems("enum") {
					p.constants[e.attr("name")] = e.attr("value")
				}
			}
		}
	}
	return strconv.Atoi(p.constants[name])
}

func (p *parser) readCommands() error {
	for _, n := range p.section("commands") {
		if n.name != "command" || !forAPI(n.attr("api")) {
			continue
		}
		name := nodeName(n)
		if !isIdent(name) {
			return n.errorf("no name")
		}
		if p.commands[name] != nil {
			return n.errorf("declared twice")
		}
		c := &Command{Name: name, Alias: n.attr("alias")}
		p.commands[name] = c
		p.cmdOrder = append(p.cmdOrder, name)
		if c.Alias != "" {
			continue
		}
		proto := n.first("proto")
		if proto == nil {
			return n.errorf("no <proto>")
		}
		result, err := p.readDecl(proto)
		if err != nil {
			return err
		}
		c.Result = *result
		c.Result.Name = ""
		if queues := n.attr("queues"); queues != "" {
			c.Queues = strings.Split(queues, ",")
		}
		for _, codes := range []string{n.attr("successcodes"), n.attr("errorcodes")} {
			if codes != "" {
				c.Results = append(c.Results, strings.Split(codes, ",")...)
			}
		}
		for _, pn := range n.elems("param") {
			if !forAPI(pn.attr("api")) {
				continue
			}
			d, err := p.readDecl(pn)
			if err != nil {
				return err
			}
			c.Params = append(c.Params, d)
		}
		if len(c.Params) == 0 {
			return n.errorf("no parameters")
		}
		switch c.Params[0].Type {
		case "VkInstance":
			c.Level = Instance
		case "VkPhysicalDevice":
			c.Level = PhysicalDevice
		case "VkDevice", "VkQueue", "VkCommandBuffer", "VkExternalComputeQueueNV":
			c.Level = Device
		}
		if c.Params[0].Pointer > 0 || name == "vkGetInstanceProcAddr" {
			c.Level = Global
		}
	}
	for _, name := range p.cmdOrder {
		c := p.commands[name]
		if c.Alias == "" {
			continue
		}
		target := p.commands[c.Alias]
		if target == nil || target.Alias != "" {
			return &Error{Element: `<command name="` + name + `">`,
				Reason: "alias of an unknown command " + strconv.Quote(c.Alias)}
		}
		c.Result, c.Params, c.Level, c.Queues = target.Result, target.Params, target.Level, target.Queues
		c.Results = target.Results
	}
	return nil
}
