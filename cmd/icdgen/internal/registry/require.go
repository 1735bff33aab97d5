package registry

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

func (p *parser) readEnums() error {
	for _, b := range p.root.elems("enums") {
		if b.attr("type") == "constants" {
			if err := p.readConstants(b); err != nil {
				return err
			}
			continue
		}
		name := b.attr("name")
		if p.enums[name] != nil {
			return b.errorf("declared twice")
		}
		e := &enumBlock{bitmask: b.attr("type") == "bitmask", width: 32, seen: map[string]bool{}}
		switch w := b.attr("bitwidth"); w {
		case "":
		case "64":
			e.width = 64
		default:
			return b.errorf("bad bitwidth %q", w)
		}
		p.enums[name] = e
		for _, n := range b.elems("enum") {
			if err := p.addValue(e, n, 0); err != nil {
				return err
			}
		}
	}
	return nil
}

// addValue adds an enumerant; ext is the number of the extension around it, which an offset counts from.
func (p *parser) addValue(e *enumBlock, n *node, ext int) error {
	if !forAPI(n.attr("api")) {
		return nil
	}
	name := n.attr("name")
	if !isIdent(name) {
		return n.errorf("no name")
	}
	v := &EnumValue{Name: name, Alias: n.attr("alias")}
	if v.Alias == "" {
		value, err := enumValue(n, e.width, ext)
		if err != nil {
			return err
		}
		v.Value = value
		if old, ok := p.values[name]; ok && old != value {
			return n.errorf("has the values %d and %d", old, value)
		}
		p.values[name] = value
	}
	if !e.seen[name] {
		e.seen[name] = true
		e.values = append(e.values, v)
	}
	return nil
}

func enumValue(n *node, width, ext int) (int64, error) {
	if s, ok := n.attrs["bitpos"]; ok {
		pos, err := strconv.Atoi(s)
		if err != nil || pos < 0 || pos >= width {
			return 0, n.errorf("bad bitpos %q", s)
		}
		return int64(uint64(1) << pos), nil
	}
	if s, ok := n.attrs["value"]; ok {
		v, err := strconv.ParseInt(s, 0, 64)
		if err != nil {
			return 0, n.errorf("bad value %q", s)
		}
		return v, nil
	}
	s, ok := n.attrs["offset"]
	if !ok {
		return 0, n.errorf("neither bitpos, value, offset nor alias")
	}
	if x := n.attr("extnumber"); x != "" {
		var err error
		if ext, err = strconv.Atoi(x); err != nil {
			return 0, n.errorf("bad extnumber %q", x)
		}
	}
	offset, err := strconv.Atoi(s)
	if err != nil || offset < 0 || offset > 999 {
		return 0, n.errorf("bad offset %q", s)
	}
	if ext < 1 || ext > 1_000_000 {
		return 0, n.errorf("an offset without an extension's number")
	}
	v := int64(1_000_000_000) + int64(ext-1)*1000 + int64(offset)
	if n.attr("dir") == "-" {
		v = -v
	}
	return v, nil
}

func (p *parser) readConstants(b *node) error {
	for _, n := range b.elems("enum") {
		if err := p.addConstant(n); err != nil {
			return err
		}
	}
	return nil
}

func (p *parser) addConstant(n *node) error {
	name := n.attr("name")
	if !isIdent(name) {
		return n.errorf("no name")
	}
	if slices.ContainsFunc(p.reg.Constants, func(c *Constant) bool { return c.Name == name }) {
		return nil
	}
	c := &Constant{Name: name, Alias: n.attr("alias")}
	if c.Alias == "" {
		lit, err := literal(n.attr("value"))
		if err != nil {
			return n.errorf("%v", err)
		}
		c.Value = lit
	}
	p.reg.Constants = append(p.reg.Constants, c)
	return nil
}

// literal turns a C constant into a Go one: "(~1U)", "1000.0F", a string, or an integer.
func literal(s string) (string, error) {
	if inner, ok := strings.CutPrefix(s, "(~"); ok {
		digits := strings.TrimRight(inner, "ULl)")
		v, err := strconv.ParseUint(digits, 10, 32)
		if err != nil {
			return "", fmt.Errorf("bad constant %q", s)
		}
		if strings.Contains(s, "ULL") {
			return fmt.Sprintf("%#x", ^v), nil
		}
		return fmt.Sprintf("%#x", ^uint32(v)), nil
	}
	if strings.HasPrefix(s, `"`) {
		v, err := strconv.Unquote(s)
		if err != nil {
			return "", fmt.Errorf("bad constant %s", s)
		}
		return strconv.Quote(v), nil
	}
	if v, err := strconv.ParseInt(s, 0, 64); err == nil {
		return strconv.FormatInt(v, 10), nil
	}
	v, err := strconv.ParseFloat(strings.TrimRight(s, "Ff"), 32)
	if err != nil {
		return "", fmt.Errorf("bad constant %q", s)
	}
	f := strconv.FormatFloat(v, 'f', -1, 32)
	if !strings.Contains(f, ".") {
		f += ".0"
	}
	return f, nil
}

func (p *parser) readFeatures() error {
	provided := map[uint32]*Provides{} // a version's parts (base, compute, graphics) come before the version itself
	for _, f := range p.root.elems("feature") {
		if !forAPI(f.attr("api")) {
			continue
		}
		v := &Version{Name: f.attr("name")}
		if n, err := fmt.Sscanf(f.attr("number"), "%d.%d", &v.Major, &v.Minor); n != 2 || err != nil {
			return f.errorf("bad number %q", f.attr("number"))
		}
		if f.attr("apitype") != "internal" {
			p.reg.Versions = append(p.reg.Versions, v)
		}
		if provided[v.Number()] == nil {
			provided[v.Number()] = new(Provides)
		}
		err := p.require(f, 0, provided[v.Number()], func(c *Command) {
			if c.Version == 0 || v.Number() < c.Version {
				c.Version = v.Number()
			}
		})
		if err != nil {
			return err
		}
	}
	for _, v := range p.reg.Versions {
		v.Provides = *provided[v.Number()]
	}
	if len(p.reg.Versions) == 0 {
		return &Error{Element: "<feature>", Reason: "no core version"}
	}
	return nil
}

func (p *parser) readExtensions() error {
	for _, n := range p.section("extensions") {
		if n.name != "extension" || !forAPI(n.attr("supported")) {
			continue
		}
		number, err := strconv.Atoi(n.attr("number"))
		if err != nil || number < 1 {
			return n.errorf("bad number %q", n.attr("number"))
		}
		e := &Extension{
			Name: n.attr("name"), Number: number, Type: n.attr("type"), Depends: n.attr("depends"),
			PromotedTo: n.attr("promotedto"), Platform: n.attr("platform"),
		}
		if e.Name == "" {
			return n.errorf("no name")
		}
		if e.Type != "instance" && e.Type != "device" {
			return n.errorf("bad type %q", e.Type)
		}
		err = p.require(n, number, &e.Provides, func(c *Command) {
			if !slices.Contains(e.Commands, c.Name) {
				e.Commands = append(e.Commands, c.Name)
				c.Extensions = append(c.Extensions, e.Name)
			}
		})
		if err != nil {
			return err
		}
		for _, c := range p.reg.Constants {
			if c.Name == specVersionName(e.Name, n) {
				if e.SpecVersion, err = strconv.Atoi(c.Value); err != nil {
					return n.errorf("bad revision %q", c.Value)
				}
			}
		}
		if e.SpecVersion == 0 {
			return n.errorf("no revision")
		}
		p.reg.Extensions = append(p.reg.Extensions, e)
	}
	return nil
}

// specVersionName finds the extension's own …_SPEC_VERSION constant; other spellings of it are aliases.
func specVersionName(ext string, n *node) string {
	for _, r := range n.elems("require") {
		for _, e := range r.elems("enum") {
			if strings.HasSuffix(e.attr("name"), "_SPEC_VERSION") && e.attr("alias") == "" && e.attr("value") != "" {
				return e.attr("name")
			}
		}
	}
	return strings.ToUpper(ext) + "_SPEC_VERSION"
}

// require reads the <require> blocks of a version or an extension.
func (p *parser) require(n *node, ext int, provides *Provides, command func(*Command)) error {
	for _, r := range n.elems("require") {
		if !forAPI(r.attr("api")) {
			continue
		}
		for _, item := range r.elems("") {
			if !forAPI(item.attr("api")) {
				continue
			}
			var err error
			switch item.name {
			case "type":
				p.required[item.attr("name")] = true
				provides.Types = append(provides.Types, item.attr("name"))
			case "feature":
				provides.Features = append(provides.Features,
					Feature{Names: item.attr("name"), Struct: item.attr("struct"), Depends: r.attr("depends")})
			case "command":
				c := p.commands[item.attr("name")]
				if c == nil {
					return item.errorf("no such command")
				}
				p.required[c.Name] = true
				command(c)
			case "enum":
				err = p.requireEnum(item, ext)
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}

func (p *parser) requireEnum(n *node, ext int) error {
	base := n.attr("extends")
	if base == "" {
		// Without a value it only refers to a constant or enumerant defined elsewhere.
		if n.attr("value") == "" && n.attr("alias") == "" {
			return nil
		}
		return p.addConstant(n)
	}
	e := p.enums[base]
	if e == nil {
		if p.types[base] == nil {
			return n.errorf("extends an unknown enum %q", base)
		}
		e = &enumBlock{bitmask: strings.Contains(base, "FlagBits"), width: 32, seen: map[string]bool{}}
		p.enums[base] = e
	}
	return p.addValue(e, n, ext)
}

// keep fills the registry with what is required and what that reaches.
func (p *parser) keep() error {
	for _, name := range p.cmdOrder {
		if !p.required[name] {
			continue
		}
		c := p.commands[name]
		p.reg.Commands = append(p.reg.Commands, c)
		for _, d := range append([]*Decl{&c.Result}, c.Params...) {
			if err := p.reach(d.Type, "command", name); err != nil {
				return err
			}
		}
	}
	for _, name := range p.typeNodes {
		if p.required[name] {
			if err := p.reach(name, "type", name); err != nil {
				return err
			}
		}
	}
	for _, name := range p.typeNodes {
		t := p.reg.types[name]
		switch t := t.(type) {
		case *Handle:
			p.reg.Handles = append(p.reg.Handles, t)
		case *BaseType:
			p.reg.BaseTypes = append(p.reg.BaseTypes, t)
		case *Enum:
			if err := p.fillEnum(t); err != nil {
				return err
			}
			p.reg.Enums = append(p.reg.Enums, t)
		case *Bitmask:
			p.reg.Bitmasks = append(p.reg.Bitmasks, t)
		case *FuncPointer:
			p.reg.FuncPointers = append(p.reg.FuncPointers, t.Name)
		case *Struct:
			p.reg.Structs = append(p.reg.Structs, t)
		}
	}
	return p.checkAliases()
}

// reach keeps a type and, through it, all that its declaration names.
func (p *parser) reach(name, byElem, by string) error {
	if p.reg.types[name] != nil {
		return nil
	}
	t := p.types[name]
	if t == nil {
		if strings.HasPrefix(name, "VK_") || strings.HasPrefix(name, "vk_") {
			return nil // a macro or an include
		}
		return &Error{Element: fmt.Sprintf("<%s name=%q>", byElem, by), Reason: fmt.Sprintf("unknown type %q", name)}
	}
	p.reg.types[name] = t
	var next []string
	switch t := t.(type) {
	case *Handle:
		next = append(next, t.Alias)
	case *Enum:
		next = append(next, t.Alias)
	case *Bitmask:
		next = append(next, t.Alias, t.Bits)
	case *BaseType:
		next = append(next, t.Underlying)
	case *Struct:
		next = append(next, t.Alias)
		for _, m := range t.Members {
			next = append(next, m.Type)
		}
	}
	for _, n := range next {
		if n != "" {
			if err := p.reach(n, "type", name); err != nil {
				return err
			}
		}
	}
	return nil
}

func (p *parser) fillEnum(t *Enum) error {
	b := p.enums[t.Name]
	if t.Alias != "" {
		return nil
	}
	t.Bitmask = strings.Contains(t.Name, "FlagBits")
	if b == nil {
		return nil // …FlagBits without a bit so far
	}
	t.Bitmask, t.Width, t.Values = b.bitmask, b.width, b.values
	for _, v := range t.Values {
		target := v.Alias
		for range maxDepth {
			if target == "" {
				break
			}
			if value, ok := p.values[target]; ok {
				v.Value = value
				p.values[v.Name] = value
				break
			}
			next := ""
			for _, w := range t.Values {
				if w.Name == target {
					next = w.Alias
				}
			}
			target = next
		}
		if _, ok := p.values[v.Name]; !ok {
			return &Error{Element: fmt.Sprintf("<enum name=%q>", v.Name),
				Reason: fmt.Sprintf("alias of an unknown enumerant %q", v.Alias)}
		}
		if t.Width == 32 && (v.Value < -1<<31 || v.Value >= 1<<32 || !t.Bitmask && v.Value >= 1<<31) {
			return &Error{Element: fmt.Sprintf("<enum name=%q>", v.Name), Reason: "its value needs more than 32 bits"}
		}
	}
	return nil
}

// checkAliases makes sure that emitters can follow aliases, sTypes and values by value without looking again.
func (p *parser) checkAliases() error {
	for _, name := range p.typeNodes {
		if p.reg.types[name] == nil {
			continue
		}
		final := p.reg.Resolve(name)
		if p.reg.aliasOf(final) != "" {
			return &Error{Element: fmt.Sprintf("<type name=%q>", name), Reason: "alias of itself"}
		}
		if got, want := fmt.Sprintf("%T", p.reg.types[final]), fmt.Sprintf("%T", p.reg.types[name]); got != want {
			return &Error{Element: fmt.Sprintf("<type name=%q>", name), Reason: "alias of a type of another kind"}
		}
	}
	known := map[string]bool{}
	for _, c := range p.reg.Constants {
		if c.Alias != "" && !known[c.Alias] && !slices.ContainsFunc(p.reg.Constants,
			func(d *Constant) bool { return d.Name == c.Alias }) {
			return &Error{Element: fmt.Sprintf("<enum name=%q>", c.Name),
				Reason: fmt.Sprintf("alias of an unknown constant %q", c.Alias)}
		}
		known[c.Name] = true
	}
	for _, s := range p.reg.Structs {
		if st := s.SType(); st != "" {
			if _, ok := p.values[st]; !ok {
				return &Error{Element: fmt.Sprintf("<type name=%q>", s.Name), Reason: fmt.Sprintf("unknown sType %q", st)}
			}
		}
	}
	return nil
}

func (p *parser) readFormats() error {
	for _, n := range p.section("formats") {
		if n.name != "format" {
			continue
		}
		f := &Format{Name: n.attr("name"), Class: n.attr("class"), Compressed: n.attr("compressed"), Chroma: n.attr("chroma"),
			BlockExtent: [3]int{1, 1, 1}}
		if _, ok := p.values[f.Name]; !ok {
			return n.errorf("no such enumerant")
		}
		ints := intReader{n: n}
		f.BlockSize = ints.get("blockSize", true)
		f.TexelsPerBlock = ints.get("texelsPerBlock", true)
		f.Packed = ints.get("packed", false)
		if x := n.attr("blockExtent"); x != "" {
			if k, err := fmt.Sscanf(x, "%d,%d,%d", &f.BlockExtent[0], &f.BlockExtent[1], &f.BlockExtent[2]); k != 3 ||
				err != nil {
				return n.errorf("bad blockExtent %q", x)
			}
		}
		for _, c := range n.elems("component") {
			ints := intReader{n: c, err: ints.err}
			fc := FormatComponent{Name: c.attr("name"), Numeric: c.attr("numericFormat"), Plane: ints.get("planeIndex", false)}
			if len(fc.Name) != 1 || !isIdent(fc.Numeric) {
				return c.errorf("bad name or numericFormat")
			}
			if c.attr("bits") != "compressed" {
				fc.Bits = ints.get("bits", true)
			}
			if ints.err != nil {
				return ints.err
			}
			f.Components = append(f.Components, fc)
		}
		for _, c := range n.elems("plane") {
			pi := intReader{n: c, err: ints.err}
			fp := FormatPlane{WidthDivisor: pi.get("widthDivisor", true), HeightDivisor: pi.get("heightDivisor", true),
				Compatible: c.attr("compatible")}
			if pi.err != nil {
				return pi.err
			}
			if _, ok := p.values[fp.Compatible]; !ok {
				return c.errorf("unknown compatible format %q", fp.Compatible)
			}
			f.Planes = append(f.Planes, fp)
		}
		if ints.err != nil {
			return ints.err
		}
		p.reg.Formats = append(p.reg.Formats, f)
	}
	return nil
}

// intReader reads small non-negative attributes and remembers the first that is not one.
type intReader struct {
	n   *node
	err error
}

func (r *intReader) get(attr string, must bool) int {
	s := r.n.attr(attr)
	if s == "" && !must {
		return 0
	}
	v, err := strconv.ParseUint(s, 10, 8)
	if err != nil && r.err == nil {
		r.err = r.n.errorf("bad %s %q", attr, s)
	}
	return int(v)
}
