package emit

import (
	"fmt"
	"slices"

	"farside/cmd/icdgen/internal/registry"
)

func (g *generator) constants(p *printer) error {
	p.f("// Versions of the API, as VK_MAKE_API_VERSION packs them.\nconst (\n")
	for _, v := range g.reg.Versions {
		p.f("API_VERSION_%d_%d = %d<<22 | %d<<12\n", v.Major, v.Minor, v.Major, v.Minor)
	}
	last := g.reg.Versions[len(g.reg.Versions)-1]
	p.f("HEADER_VERSION = %d\n", g.reg.HeaderVersion)
	p.f("HEADER_VERSION_COMPLETE = API_VERSION_%d_%d | HEADER_VERSION\n)\n\n", last.Major, last.Minor)
	p.f("// NULL_HANDLE is no object.\nconst NULL_HANDLE = 0\n\n")
	p.f("// Constants of the API, and names and revisions of its extensions.\nconst (\n")
	for _, c := range g.reg.Constants {
		value := c.Value
		if c.Alias != "" {
			value = ConstName(c.Alias)
		}
		p.f("%s = %s\n", ConstName(c.Name), value)
	}
	p.f(")\n")
	return nil
}

func (g *generator) baseTypes(p *printer) error {
	p.f("// Base types.\ntype (\n")
	for _, b := range g.reg.BaseTypes {
		if _, ok := exceptionFor(b.Name); ok {
			continue
		}
		goType := "uintptr"
		if !b.Pointer {
			s, ok := scalars[b.Underlying]
			if !ok {
				return fmt.Errorf("<type name=%q>: no Go type; it needs a row in exceptions.go", b.Name)
			}
			goType = s.goType
		}
		p.f("%s = %s\n", TypeName(b.Name), goType)
	}
	p.f(")\n\n// Pointers to functions in C.\ntype (\n")
	for _, name := range g.reg.FuncPointers {
		p.f("%s = uintptr\n", name)
	}
	p.f(")\n\n// Dispatchable handles.\ntype (\n")
	for _, h := range g.reg.Handles {
		if h.Dispatchable {
			p.f("%s uintptr\n", TypeName(h.Name))
		}
	}
	p.f(")\n\n// Other handles.\ntype (\n")
	for _, h := range g.reg.Handles {
		switch {
		case h.Alias != "":
			p.f("%s = %s\n", TypeName(h.Name), TypeName(h.Alias))
		case !h.Dispatchable:
			p.f("%s uint64\n", TypeName(h.Name))
		}
	}
	p.f(")\n")
	return nil
}

// enumConsts prints the enumerants. An alias keeps its target's name on the right, if it is of this type.
func (g *generator) enumConsts(p *printer, e *registry.Enum, typ string) {
	if len(e.Values) == 0 {
		return
	}
	p.f("const (\n")
	for _, v := range e.Values {
		switch {
		case e.Bitmask && v.Value >= 0:
			p.f("%s %s = %#x\n", ConstName(v.Name), typ, v.Value)
		case e.Bitmask:
			p.f("%s %s = %#x\n", ConstName(v.Name), typ, uint64(v.Value))
		default:
			p.f("%s %s = %d\n", ConstName(v.Name), typ, v.Value)
		}
	}
	p.f(")\n\n")
}

func (g *generator) enums(p *printer) error {
	p.f("import \"strconv\"\n\n")
	for _, e := range g.reg.Enums {
		if e.Bitmask {
			continue
		}
		name := TypeName(e.Name)
		if e.Alias != "" {
			if target, ok := g.reg.Type(g.reg.Resolve(e.Name)).(*registry.Enum); ok && !target.Bitmask {
				p.f("// %s is an alias.\ntype %s = %s\n\n", name, name, TypeName(e.Alias))
			}
			continue
		}
		p.f("// %s is %s.\ntype %s int32\n\n", name, e.Name, name)
		g.enumConsts(p, e, name)
		p.f("func (v %s) String() string {\n", name)
		if len(e.Values) > 0 {
			p.f("switch v {\n")
			seen := map[int64]bool{}
			for _, v := range e.Values {
				if v.Alias == "" && !seen[v.Value] {
					seen[v.Value] = true
					p.f("case %s:\nreturn %q\n", ConstName(v.Name), v.Name)
				}
			}
			p.f("}\n")
		}
		p.f("return \"%s(\" + strconv.Itoa(int(v)) + \")\"\n}\n\n", e.Name)
	}
	return nil
}

func (g *generator) bitmasks(p *printer) error {
	for _, b := range g.reg.Bitmasks {
		name := TypeName(b.Name)
		if b.Alias != "" {
			p.f("// %s is an alias.\ntype %s = %s\n\n", name, name, TypeName(b.Alias))
			continue
		}
		g.bitmask(p, b.Name, b.Width, g.flags[b.Name])
	}
	for _, e := range g.reg.Enums {
		name := TypeName(e.Name)
		target, ok := g.reg.Type(g.reg.Resolve(e.Name)).(*registry.Enum)
		if !ok || !target.Bitmask {
			continue
		}
		switch {
		case e.Alias != "":
			p.f("// %s is an alias.\ntype %s = %s\n\n", name, name, TypeName(e.Alias))
		case g.owner[e.Name] != "":
			p.f("// %s is one bit of %s.\ntype %s = %s\n\n", name, TypeName(g.owner[e.Name]), name, TypeName(g.owner[e.Name]))
		default:
			g.bitmask(p, e.Name, e.Width, e)
		}
	}
	return nil
}

// bitmask prints a …Flags type with the enumerants of its …FlagBits.
func (g *generator) bitmask(p *printer, cName string, width int, bits *registry.Enum) {
	name := TypeName(cName)
	p.f("// %s is %s.\ntype %s uint%d\n\n", name, cName, name, width)
	table := "nil"
	if bits != nil && len(bits.Values) > 0 {
		g.enumConsts(p, bits, name)
		table = "names" + name + "[:]"
		var rows []*registry.EnumValue
		seen := map[int64]bool{}
		for _, v := range bits.Values {
			// Names of several bits together would hide which of them are set.
			u := uint64(v.Value)
			if v.Alias == "" && !seen[v.Value] && u&(u-1) == 0 {
				seen[v.Value] = true
				rows = append(rows, v)
			}
		}
		slices.SortFunc(rows, func(a, b *registry.EnumValue) int {
			switch {
			case uint64(a.Value) < uint64(b.Value):
				return -1
			case uint64(a.Value) > uint64(b.Value):
				return 1
			}
			return 0
		})
		p.f("var names%s = [...]flagName{\n", name)
		for _, v := range rows {
			p.f("{%#x, %q},\n", uint64(v.Value), v.Name)
		}
		p.f("}\n\n")
	}
	p.f("func (f %s) String() string { return flagString(uint64(f), %s) }\n\n", name, table)
}
