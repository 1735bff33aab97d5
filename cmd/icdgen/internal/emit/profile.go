package emit

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"farside/cmd/icdgen/internal/registry"
)

// profileEnums are the enumerations that profiles name values of, beside those of properties.
var profileEnums = []string{"VkQueueFlagBits", "VkMemoryPropertyFlagBits", "VkMemoryHeapFlagBits"}

// Profile prints the text of package internal/profile: the members of all structures of properties with the way in
// which each is less (limittype), the enumerations that they hold, and what versions and extensions provide. It is one
// string, so that loading the driver neither relocates nor initialises anything of it.
//
// A line is one of, with fields separated by blanks:
//
//	P STRUCT STYPE PROVIDERS     a structure of properties
//	F STRUCT STYPE PROVIDERS     a structure of features
//	M MEMBER OFFSET TYPE COUNT LIMITTYPE TWIN   a member of the structure above; "-" stands for nothing
//	E ENUM                       an enumeration
//	V NAME VALUE                 an enumerant of the enumeration above
//	R PROVIDER FEATURES STRUCT DEPENDS   features of which the provider requires one
//
// PROVIDERS are versions and extensions, separated by commas. TYPE is i, u or f with a width in bits, bool, text, or
// the name of an enumeration. Members of nested structures have names with dots; those of VkPhysicalDeviceLimits and
// VkPhysicalDeviceSparseProperties are structures of their own, with offsets in VkPhysicalDeviceProperties.
func Profile(reg *registry.Registry) (File, error) {
	g := &generator{reg: reg, lay: newLayouts(reg)}
	g.index()
	t := &profileTable{generator: g, enums: map[string]bool{}}
	for _, e := range profileEnums {
		t.enums[e] = true
	}
	if err := t.structures(); err != nil {
		return File{}, err
	}
	for _, e := range reg.Enums {
		if t.enums[e.Name] && e.Alias == "" {
			t.f("E %s\n", e.Name)
			for _, v := range e.Values {
				t.f("V %s %d\n", v.Name, v.Value)
			}
		}
	}
	t.requirements()
	p := new(printer)
	p.f("%spackage profile\n\n", header)
	p.f("// registryText is what the registry says of properties and features; parseRegistry reads it.\n")
	p.f("const registryText = `%s`\n", t.String())
	return p.file("internal/profile/zz_generated_registry.go")
}

type profileTable struct {
	printer
	*generator
	enums map[string]bool
}

// provider names whoever brings a structure: its versions and extensions, under any of its names.
func (t *profileTable) providers(s *registry.Struct) string {
	has := func(p *registry.Provides) bool {
		return slices.ContainsFunc(p.Types, func(name string) bool { return t.reg.Resolve(name) == s.Name })
	}
	var names []string
	for _, v := range t.reg.Versions {
		if has(&v.Provides) {
			names = append(names, v.Name)
		}
	}
	for _, e := range t.reg.Extensions {
		if has(&e.Provides) {
			names = append(names, e.Name)
		}
	}
	if names == nil {
		return "-"
	}
	return strings.Join(names, ",")
}

func (t *profileTable) structures() error {
	if core, ok := t.reg.Type("VkPhysicalDeviceProperties").(*registry.Struct); ok {
		if err := t.core(core, 0); err != nil {
			return err
		}
	}
	for _, s := range t.byValue() {
		kind := ""
		switch {
		case slices.Contains(s.Extends, "VkPhysicalDeviceProperties2"):
			kind = "P"
		case slices.Contains(s.Extends, "VkPhysicalDeviceFeatures2"):
			kind = "F"
		default:
			continue
		}
		t.f("%s %s %d %s\n", kind, s.Name, t.values[s.SType()], t.providers(s))
		if kind == "F" {
			continue // vk.FeatureStructs has the members
		}
		if err := t.members(s, "", 0); err != nil {
			return err
		}
	}
	return nil
}

// core prints VkPhysicalDeviceProperties, then the structures in it.
func (t *profileTable) core(s *registry.Struct, base uintptr) error {
	t.f("P %s %d VK_VERSION_1_0\n", s.Name, t.values["VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2"])
	lay, err := t.lay.of(s)
	if err != nil {
		return err
	}
	for _, f := range lay.fields {
		if f.member == nil {
			continue
		}
		if _, nested := t.reg.Type(f.member.Type).(*registry.Struct); nested {
			continue
		}
		if err := t.member(f, "", base); err != nil {
			return err
		}
	}
	for _, f := range lay.fields {
		if f.member == nil {
			continue
		}
		if nested, ok := t.reg.Type(f.member.Type).(*registry.Struct); ok {
			if err := t.core(nested, base+f.offset); err != nil {
				return err
			}
		}
	}
	return nil
}

func (t *profileTable) members(s *registry.Struct, prefix string, base uintptr) error {
	lay, err := t.lay.of(s)
	if err != nil {
		return err
	}
	for _, f := range lay.fields {
		if f.member == nil || f.member.Name == "sType" || f.member.Name == "pNext" {
			continue
		}
		if err := t.member(f, prefix, base); err != nil {
			return err
		}
	}
	return nil
}

func (t *profileTable) member(f field, prefix string, base uintptr) error {
	m := f.member
	if m.Pointer > 0 {
		return nil // the application's arrays
	}
	count := 1
	for _, n := range m.Array {
		count *= n
	}
	kind := ""
	switch d := t.reg.Type(t.reg.Resolve(m.Type)).(type) {
	case *registry.Struct:
		if count != 1 || d.Union {
			return nil
		}
		return t.nested(d, m, prefix, base+f.offset)
	case *registry.Enum:
		if kind = d.Name; d.Bitmask && t.owner[d.Name] == "" {
			return fmt.Errorf("<member name=%q>: a bit of no bitmask", m.Name)
		}
		t.enums[d.Name] = true
	case *registry.Bitmask:
		if bits := t.flags[d.Name]; bits != nil {
			kind = bits.Name
			t.enums[bits.Name] = true
		} else {
			kind = "u" + strconv.Itoa(d.Width)
		}
	default:
		kind = t.scalar(m)
	}
	if kind == "" {
		return nil // a handle or a pointer
	}
	t.f("M %s%s %d %s %d %s %s\n", prefix, m.Name, base+f.offset, kind, count, orDash(m.LimitType),
		orDash(strings.Replace(m.Twin, "::", ".", 1)))
	return nil
}

// nested prints the members of a structure in a structure, which are less in the same way where they don't say how.
func (t *profileTable) nested(s *registry.Struct, outer *registry.Decl, prefix string, base uintptr) error {
	lay, err := t.lay.of(s)
	if err != nil {
		return err
	}
	for _, f := range lay.fields {
		if f.member == nil {
			continue
		}
		inner := *f.member
		if inner.LimitType == "" {
			inner.LimitType = outer.LimitType
		}
		if inner.Twin == "" && outer.Twin != "" {
			inner.Twin = outer.Twin + "." + inner.Name
		}
		f.member = &inner
		if err := t.member(f, prefix+outer.Name+".", base); err != nil {
			return err
		}
	}
	return nil
}

func (t *profileTable) scalar(m *registry.Decl) string {
	name := m.Type
	if b, ok := t.reg.Type(name).(*registry.BaseType); ok {
		if name == "VkBool32" {
			return "bool"
		}
		name = b.Underlying
	}
	switch name {
	case "char":
		return "text"
	case "float":
		return "f32"
	case "double":
		return "f64"
	case "uint8_t":
		return "u8"
	case "uint16_t":
		return "u16"
	case "int32_t", "int":
		return "i32"
	case "uint32_t":
		return "u32"
	case "int64_t":
		return "i64"
	case "uint64_t", "size_t":
		return "u64"
	}
	return ""
}

func orDash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

// requirements prints the features that versions and extensions require.
func (t *profileTable) requirements() {
	row := func(provider string, p *registry.Provides) {
		for _, f := range p.Features {
			t.f("R %s %s %s %s\n", provider, f.Names, t.reg.Resolve(f.Struct), orDash(f.Depends))
		}
	}
	for _, v := range t.reg.Versions {
		row(v.Name, &v.Provides)
	}
	for _, e := range t.reg.Extensions {
		row(e.Name, &e.Provides)
	}
}
