package emit

import (
	"slices"
	"strings"

	"farside/cmd/icdgen/internal/registry"
)

// Faults prints internal/fault/zz_generated_commands.go: the commands that observers are told of, and the results that
// the registry allows for each.
func Faults(reg *registry.Registry, driver *Driver) (File, error) {
	g := &handles{reg: reg, driver: driver}
	enum, _ := reg.Type("VkResult").(*registry.Enum)
	p := new(printer)
	p.f("%spackage fault\n\nimport \"farside/internal/vk\"\n\n", header)
	p.f("// Commands are those that faults can be put into, sorted by name; aliases are left out.\n" +
		"var Commands = []Command{\n")
	var results []string
	for i, c := range byName(reg.Commands) {
		// vkCreateInstance takes no handle, so that nothing is generated for it, but has observers.
		if c.Alias != "" || !observable(c) || !g.checked(c) && c.Name != "vkCreateInstance" {
			continue
		}
		p.f("/* %s */ {place: %d", c.Name, i)
		if c.Result.Type == "VkResult" {
			first := len(results)
			for _, r := range c.Results {
				if known(enum, r) && r != "VK_SUCCESS" {
					results = append(results, "vk."+ConstName(r))
				}
			}
			p.f(", first: %d, count: %d", first, len(results)-first)
		}
		memory, handle := g.attributes(c)
		if memory {
			p.f(", Memory: true")
		}
		if handle {
			p.f(", Handle: true")
		}
		p.f("},\n")
	}
	p.f("}\n\n// commandResults are the results of all of them.\nvar commandResults = [...]vk.Result{\n")
	for _, r := range results {
		p.f("%s,\n", r)
	}
	p.f("}\n\n")
	p.f("// resultOfAlias is the result that has another name.\n" +
		"func resultOfAlias(name string) (vk.Result, bool) {\nswitch name {\n")
	if enum != nil {
		for _, v := range enum.Values {
			if v.Alias != "" {
				p.f("case %q:\nreturn vk.%s, true\n", v.Name, ConstName(v.Name))
			}
		}
	}
	p.f("}\nreturn 0, false\n}\n")
	return p.file("internal/fault/zz_generated_commands.go")
}

// known says whether an enumeration has a value: a command may name results of extensions that are left out.
func known(enum *registry.Enum, name string) bool {
	return enum != nil && slices.ContainsFunc(enum.Values, func(v *registry.EnumValue) bool { return v.Name == name })
}

// attributes says whether a call of the command names a VkDeviceMemory, or makes one, and whether it names types of
// external handles.
func (g *handles) attributes(c *registry.Command) (memory, handle bool) {
	memory = c.Name == "vkAllocateMemory"
	look := func(s *registry.Struct) {
		for _, m := range s.Members {
			memory = memory || m.Type == "VkDeviceMemory"
			handle = handle || externalHandle(m)
		}
	}
	for _, d := range c.Params {
		memory = memory || d.Type == "VkDeviceMemory" && d.Pointer == 0
		handle = handle || externalHandle(d)
		s, ok := g.reg.Type(g.reg.Resolve(d.Type)).(*registry.Struct)
		if !ok || !d.Const || d.Pointer != 1 {
			continue
		}
		look(s)
		for _, e := range (&walk{handles: g}).extensions(s) {
			look(e)
		}
	}
	return memory, handle
}

// externalHandle says whether a member or parameter is the type of an external handle.
func externalHandle(d *registry.Decl) bool {
	return strings.HasPrefix(d.Type, "VkExternal") && strings.Contains(d.Type, "HandleTypeFlag")
}
