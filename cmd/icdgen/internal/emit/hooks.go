package emit

import (
	"strings"

	"farside/cmd/icdgen/internal/registry"
)

// observable says whether observers are told of a command. Those that are recorded are left out: their stubs don't come
// to Go for most calls, so an observer would see some and miss the others. So is what only looks up addresses.
func observable(c *registry.Command) bool {
	return !strings.HasPrefix(c.Name, "vkCmd") && c.Name != "vkGetDeviceProcAddr"
}

// invoke prints the end of an entry: the command's function, with observers around it where there are any. args are
// its arguments. statement does the same without observers, and is the plain call where it is empty.
func (w *walk) invoke(e *entryPoint, args []string, statement string) {
	list := strings.Join(args, ", ")
	call := lowerFirst(e.goName) + "(" + list + ")"
	if e.kind == kindVoid && statement == "" {
		statement = call + "\n"
	}
	if observable(e.Command) {
		w.p.f("if observers.Load() != nil {\n")
		observed := "observe"
		switch {
		case e.kind == kindVoid:
			w.p.f("observeVoid(%q, []any{%s}, func() {\n%s})\nreturn\n}\n", e.Name, list, statement)
		default:
			if e.kind == kindWord {
				observed = "observeWord"
			}
			w.p.f("return %s(%q, []any{%s}, func()%s { return %s })\n}\n", observed, e.Name, list, goResult(e), call)
		}
	}
	if e.kind != kindVoid {
		statement = "return " + call + "\n"
	}
	w.p.f("%s", statement)
}
