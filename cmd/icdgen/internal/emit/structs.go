package emit

import (
	"slices"
	"strings"

	"farside/cmd/icdgen/internal/registry"
)

func (g *generator) structs(p *printer) error {
	p.f("import (\n\"structs\"\n\"unsafe\"\n)\n\n")
	for _, s := range g.reg.Structs {
		name := TypeName(s.Name)
		if s.Alias != "" {
			p.f("// %s is an alias.\ntype %s = %s\n\n", name, name, TypeName(s.Alias))
			continue
		}
		lay, err := g.lay.of(s)
		if err != nil {
			return err
		}
		p.f("// %s is %s", name, s.Name)
		if s.Union {
			p.f(", a union")
		}
		if names := keptTypes(g.reg, s.Extends); len(names) > 0 {
			p.f("; it extends %s", strings.Join(names, ", "))
		}
		p.f(".\ntype %s struct {\n_ structs.HostLayout\n", name)
		if s.Union {
			g.union(p, name, lay)
			continue
		}
		for _, f := range lay.fields {
			p.f("%s %s\n", f.goName, f.typ.expr)
		}
		p.f("}\n\n")
		if st := s.SType(); st != "" {
			p.f("// StructureType is %s.\nfunc (*%s) StructureType() StructureType { return %s }\n\n", st, name, ConstName(st))
		}
		for _, b := range lay.bits {
			g.bitfield(p, name, b)
		}
	}
	return nil
}

// keptTypes are the Go names of those that the model kept.
func keptTypes(reg *registry.Registry, names []string) []string {
	var out []string
	for _, n := range names {
		if reg.Type(n) != nil {
			out = append(out, TypeName(n))
		}
	}
	return out
}

// union prints the storage as words of the union's alignment, and an accessor for each member.
func (g *generator) union(p *printer, name string, lay *layout) {
	p.f("data [%d]uint%d\n}\n\n", lay.size/lay.align, lay.align*8)
	for _, f := range lay.fields {
		p.f("// %s is the member %s.\nfunc (u *%s) %s() *%s { return (*%s)(unsafe.Pointer(u)) }\n\n",
			f.goName, f.member.Name, name, f.goName, f.typ.expr, f.typ.expr)
	}
}

func (g *generator) bitfield(p *printer, name string, b bitfield) {
	get, mask := FieldName(b.member.Name), uint64(1)<<b.member.Bits-1
	p.f("// %s is the bitfield %s of %d bits.\nfunc (s *%s) %s() %s { return %s(s.%s >> %d & %#x) }\n\n",
		get, b.member.Name, b.member.Bits, name, get, b.typ.expr, b.typ.expr, b.word, b.shift, mask)
	word := "uint" + strings.TrimPrefix(bitsOf(b.typ), "uint")
	p.f("// Set%s stores the low %d bits of v.\nfunc (s *%s) Set%s(v %s) {\ns.%s = s.%s&^(%#x<<%d) | %s(v)&%#x<<%d\n}\n\n",
		get, b.member.Bits, name, get, b.typ.expr, b.word, b.word, mask, b.shift, word, mask, b.shift)
}

func bitsOf(t cType) string {
	return map[uintptr]string{1: "uint8", 2: "uint16", 4: "uint32", 8: "uint64"}[t.size]
}

// byValue sorts structures with a fixed sType by its number.
func (g *generator) byValue() []*registry.Struct {
	var out []*registry.Struct
	for _, s := range g.reg.Structs {
		if g.sTypes[s.Name] != nil {
			out = append(out, s)
		}
	}
	slices.SortFunc(out, func(a, b *registry.Struct) int {
		return int(g.values[a.SType()] - g.values[b.SType()])
	})
	return out
}

func (g *generator) structures(p *printer) error {
	p.f("import \"unsafe\"\n\n" +
		"// Structures lists every structure with a fixed sType, sorted by it.\nvar Structures = []StructureInfo{\n")
	var extended []string
	for _, s := range g.byValue() {
		p.f("/* %s */ {SType: %s, Name: %s, Size: unsafe.Sizeof(%s{})", s.Name, ConstName(s.SType()), g.texts.place(s.Name),
			TypeName(s.Name))
		var ext []string
		for _, e := range s.Extends {
			if t, ok := g.reg.Type(g.reg.Resolve(e)).(*registry.Struct); ok && t.SType() != "" {
				ext = append(ext, ConstName(t.SType()))
			}
		}
		if len(ext) > 0 {
			p.f(", extends: part{%d, %d}", len(extended), len(ext))
			extended = append(extended, ext...)
		}
		p.f("},\n")
	}
	p.f("}\n\n// extended are the structures that all of them extend.\nvar extended = [...]StructureType{\n%s,\n}\n",
		strings.Join(extended, ",\n"))
	return nil
}

func (g *generator) features(p *printer) error {
	p.f("import \"unsafe\"\n\n")
	count := 0
	fields := func(p *printer, s *registry.Struct) error {
		lay, err := g.lay.of(s)
		if err != nil {
			return err
		}
		for _, f := range lay.fields {
			if f.member != nil && f.member.Type == "VkBool32" && f.member.Pointer == 0 {
				p.f("{%s, unsafe.Offsetof(%s{}.%s)},\n", g.texts.place(f.member.Name), TypeName(s.Name), f.goName)
				count++
			}
		}
		return nil
	}
	p.f("// CoreFeatures are the members of VkPhysicalDeviceFeatures.\nvar CoreFeatures = []FeatureField{\n")
	if core, ok := g.reg.Type("VkPhysicalDeviceFeatures").(*registry.Struct); ok {
		if err := fields(p, core); err != nil {
			return err
		}
	}
	p.f("}\n\n" +
		"// FeatureStructs are the structures that extend VkPhysicalDeviceFeatures2, sorted by sType.\n" +
		"var FeatureStructs = []FeatureStruct{\n")
	count = 0
	all := new(printer)
	for _, s := range g.byValue() {
		if !slices.Contains(s.Extends, "VkPhysicalDeviceFeatures2") {
			continue
		}
		first := count
		if err := fields(all, s); err != nil {
			return err
		}
		p.f("/* %s */ {SType: %s, Name: %s, fields: part{%d, %d}},\n", s.Name, ConstName(s.SType()), g.texts.place(s.Name),
			first, count-first)
	}
	p.f("}\n\n// featureFields are the members of all of them.\nvar featureFields = [...]FeatureField{\n%s}\n",
		all.String())
	return nil
}

// layoutTest lists the structures for the test that compares them with the C compiler's.
func (g *generator) layoutTest(p *printer) error {
	p.f("import \"reflect\"\n\nvar goLayouts = []goLayout{\n")
	for _, s := range g.reg.Structs {
		if s.Alias == "" {
			p.f("{%q, %t, reflect.TypeFor[%s]()},\n", s.Name, s.Union, TypeName(s.Name))
		}
	}
	p.f("}\n")
	return nil
}
