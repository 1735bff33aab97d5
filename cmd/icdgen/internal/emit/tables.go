package emit

import (
	"slices"
	"strings"

	"farside/cmd/icdgen/internal/registry"
)

func quoted(list []string) string {
	var b strings.Builder
	b.WriteString("[]string{")
	for i, s := range list {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(`"` + s + `"`)
	}
	return b.String() + "}"
}

func (g *generator) extensions(p *printer) error {
	list := slices.Clone(g.reg.Extensions)
	slices.SortFunc(list, func(a, b *registry.Extension) int { return strings.Compare(a.Name, b.Name) })
	p.f("// Extensions are those of the registry, sorted by name.\nvar Extensions = []Extension{\n")
	for _, e := range list {
		typ := "DeviceExtension"
		if e.Type == "instance" {
			typ = "InstanceExtension"
		}
		p.f("{Name: %q, Number: %d, Type: %s, SpecVersion: %d", e.Name, e.Number, typ, e.SpecVersion)
		if e.Depends != "" {
			p.f(", Depends: %q", e.Depends)
		}
		if e.PromotedTo != "" {
			p.f(", PromotedTo: %q", e.PromotedTo)
		}
		if len(e.Commands) > 0 {
			p.f(", Commands: %s", quoted(e.Commands))
		}
		p.f("},\n")
	}
	p.f("}\n")
	return nil
}

func byName(commands []*registry.Command) []*registry.Command {
	return slices.SortedFunc(slices.Values(commands),
		func(a, b *registry.Command) int { return strings.Compare(a.Name, b.Name) })
}

func (g *generator) commands(p *printer) error {
	p.f("// Commands are the registry's, sorted by name.\nvar Commands = []Command{\n")
	for _, c := range byName(g.reg.Commands) {
		p.f("{Name: %q", c.Name)
		if c.Alias != "" {
			p.f(", Alias: %q", c.Alias)
		}
		p.f(", Level: %s", c.Level.String()+"Level")
		if c.Version != 0 {
			p.f(", Version: API_VERSION_%d_%d", c.Version>>22, c.Version>>12&0x3ff)
		}
		if len(c.Extensions) > 0 {
			p.f(", Extensions: %s", quoted(c.Extensions))
		}
		p.f("},\n")
	}
	p.f("}\n")
	return nil
}

func (g *generator) formats(p *printer) error {
	numerics := map[string]bool{}
	for _, f := range g.reg.Formats {
		for _, c := range f.Components {
			numerics[c.Numeric] = true
		}
	}
	var names []string
	for n := range numerics {
		names = append(names, n)
	}
	slices.Sort(names)
	p.f("// Kinds of numbers in a component.\nconst (\nNumericNone NumericFormat = iota\n")
	for _, n := range names {
		p.f("Numeric%s\n", n)
	}
	p.f(")\n\nvar numericNames = [...]string{\"NONE\"")
	for _, n := range names {
		p.f(", %q", n)
	}
	p.f("}\n\n// AllFormats are the described formats in the registry's order.\nvar AllFormats = []Format{\n")
	for _, f := range g.reg.Formats {
		p.f("%s,\n", ConstName(f.Name))
	}
	list := slices.Clone(g.reg.Formats)
	slices.SortFunc(list, func(a, b *registry.Format) int { return int(g.values[a.Name] - g.values[b.Name]) })
	p.f("}\n\n// formatTable is sorted by number.\nvar formatTable = [...]FormatDescription{\n")
	for _, f := range list {
		p.f("{Format: %s, Name: %q, Class: %q, BlockSize: %d, TexelsPerBlock: %d, BlockExtent: [3]uint32{%d, %d, %d}",
			ConstName(f.Name), f.Name, f.Class, f.BlockSize, f.TexelsPerBlock, f.BlockExtent[0], f.BlockExtent[1],
			f.BlockExtent[2])
		if f.Packed != 0 {
			p.f(", Packed: %d", f.Packed)
		}
		if f.Compressed != "" {
			p.f(", Compressed: %q", f.Compressed)
		}
		if f.Chroma != "" {
			p.f(", Chroma: %q", f.Chroma)
		}
		p.f(", Components: []FormatComponent{")
		for i, c := range f.Components {
			if i > 0 {
				p.f(", ")
			}
			p.f("{'%s', %d, Numeric%s, %d}", c.Name, c.Bits, c.Numeric, c.Plane)
		}
		p.f("}")
		if len(f.Planes) > 0 {
			p.f(", Planes: []FormatPlane{")
			for i, c := range f.Planes {
				if i > 0 {
					p.f(", ")
				}
				p.f("{%d, %d, %s}", c.WidthDivisor, c.HeightDivisor, ConstName(c.Compatible))
			}
			p.f("}")
		}
		p.f("},\n")
	}
	p.f("}\n")
	return nil
}
