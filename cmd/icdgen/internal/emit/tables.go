package emit

import (
	"hash/fnv"
	"math/bits"
	"slices"
	"strings"

	"farside/cmd/icdgen/internal/registry"
)

func (g *generator) extensions(p *printer) error {
	list := slices.Clone(g.reg.Extensions)
	slices.SortFunc(list, func(a, b *registry.Extension) int { return strings.Compare(a.Name, b.Name) })
	p.f("// Extensions are those of the registry, sorted by name.\nvar Extensions = []Extension{\n")
	var commands []string
	for _, e := range list {
		typ := "DeviceExtension"
		if e.Type == "instance" {
			typ = "InstanceExtension"
		}
		p.f("/* %s */ {Name: %s, Number: %d, Type: %s, SpecVersion: %d", e.Name, g.texts.place(e.Name), e.Number, typ,
			e.SpecVersion)
		if e.Depends != "" {
			p.f(", Depends: %s", g.texts.place(e.Depends))
		}
		if e.PromotedTo != "" {
			p.f(", PromotedTo: %s", g.texts.place(e.PromotedTo))
		}
		if len(e.Commands) > 0 {
			p.f(", commands: part{%d, %d}", len(commands), len(e.Commands))
			commands = append(commands, e.Commands...)
		}
		p.f("},\n")
	}
	p.f("}\n\n// extensionCommands are the commands of all of them.\nvar extensionCommands = [...]Text{%s}\n",
		g.texts.list(commands))
	return nil
}

func byName(commands []*registry.Command) []*registry.Command {
	return slices.SortedFunc(slices.Values(commands),
		func(a, b *registry.Command) int { return strings.Compare(a.Name, b.Name) })
}

func (g *generator) commands(p *printer) error {
	p.f("// Commands are the registry's, sorted by name.\nvar Commands = []Command{\n")
	list := byName(g.reg.Commands)
	var extensions []string
	places := make([]int, 2<<bits.Len(uint(len(list))))
	for i, c := range list {
		p.f("/* %s */ {Name: %s", c.Name, g.texts.place(c.Name))
		if c.Alias != "" {
			p.f(", Alias: %s", g.texts.place(c.Alias))
		}
		p.f(", Level: %s", c.Level.String()+"Level")
		if c.Version != 0 {
			p.f(", Version: API_VERSION_%d_%d", c.Version>>22, c.Version>>12&0x3ff)
		}
		if len(c.Extensions) > 0 {
			p.f(", extensions: part{%d, %d}", len(extensions), len(c.Extensions))
			extensions = append(extensions, c.Extensions...)
		}
		p.f("},\n")
		h := fnv.New32a()
		_, _ = h.Write([]byte(c.Name))
		at := int(h.Sum32()) % len(places)
		for places[at] != 0 {
			at = (at + 1) % len(places)
		}
		places[at] = i + 1
	}
	p.f("}\n\n// commandExtensions are the extensions of all of them.\nvar commandExtensions = [...]Text{%s}\n\n",
		g.texts.list(extensions))
	p.f("// commandPlaces has the places of Commands plus 1, each at its name's hash (FNV-1a, 32 bits) or, if others " +
		"are\n// there, behind it. A quarter to a half of it is taken.\nvar commandPlaces = [...]uint16{")
	for i, place := range places {
		if i%16 == 0 {
			p.f("\n")
		}
		p.f("%d,", place)
	}
	p.f("\n}\n")
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
		p.f("/* %s */ {Format: %s, Name: %s, Class: %s, BlockSize: %d, TexelsPerBlock: %d, "+
			"BlockExtent: [3]uint32{%d, %d, %d}", f.Name, ConstName(f.Name), g.texts.place(f.Name), g.texts.place(f.Class),
			f.BlockSize, f.TexelsPerBlock, f.BlockExtent[0], f.BlockExtent[1], f.BlockExtent[2])
		if f.Packed != 0 {
			p.f(", Packed: %d", f.Packed)
		}
		if f.Compressed != "" {
			p.f(", Compressed: %s", g.texts.place(f.Compressed))
		}
		if f.Chroma != "" {
			p.f(", Chroma: %s", g.texts.place(f.Chroma))
		}
		p.f(", components: [4]FormatComponent{")
		for i, c := range f.Components {
			if i > 0 {
				p.f(", ")
			}
			p.f("{'%s', %d, Numeric%s, %d}", c.Name, c.Bits, c.Numeric, c.Plane)
		}
		p.f("}, componentCount: %d", len(f.Components))
		if len(f.Planes) > 0 {
			p.f(", planes: [3]FormatPlane{")
			for i, c := range f.Planes {
				if i > 0 {
					p.f(", ")
				}
				p.f("{%d, %d, %s}", c.WidthDivisor, c.HeightDivisor, ConstName(c.Compatible))
			}
			p.f("}, planeCount: %d", len(f.Planes))
		}
		p.f("},\n")
	}
	p.f("}\n")
	return nil
}
