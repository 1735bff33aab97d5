package icd

import (
	"fmt"
	"strings"
	"testing"

	"farside/internal/vk"
)

// met evaluates the registry's expression of what an extension depends on: names of extensions and versions,
// "+" for and, "," for or, from left to right, and parentheses.
func met(expression string, has func(name string) bool) (value bool, rest string) {
	value, rest = metTerm(expression, has)
	for rest != "" && rest[0] != ')' {
		var next bool
		operator := rest[0]
		next, rest = metTerm(rest[1:], has)
		if operator == '+' {
			value = value && next
		} else {
			value = value || next
		}
	}
	return value, rest
}

func metTerm(s string, has func(name string) bool) (value bool, rest string) {
	if s[0] == '(' {
		value, rest = met(s[1:], has)
		return value, rest[1:]
	}
	end := strings.IndexAny(s, "+,)")
	if end < 0 {
		end = len(s)
	}
	return has(s[:end]), s[end:]
}

// TestExtensionsMeetTheirDependencies: an extension is advertised only with what it depends on (chapter
// "Extensions", "Extension Dependencies").
func TestExtensionsMeetTheirDependencies(t *testing.T) {
	has := func(name string) bool {
		var major, minor uint32
		if n, _ := fmt.Sscanf(name, "VK_VERSION_%d_%d", &major, &minor); n == 2 {
			return vk.MakeVersion(major, minor, 0) <= computeVersion
		}
		return supports(instanceExtensions, name) || supports(deviceExtensions, name)
	}
	for kind, table := range map[vk.ExtensionType][]extension{vk.InstanceExtension: instanceExtensions,
		vk.DeviceExtension: deviceExtensions} {
		for _, row := range table {
			e := vk.ExtensionByName(row.name)
			if e == nil || e.Type != kind {
				t.Errorf("%s is no %v extension of the registry", row.name, kind)
				continue
			}
			if e.Depends == 0 {
				continue
			}
			if ok, rest := met(e.Depends.String(), has); !ok || rest != "" {
				t.Errorf("%s depends on %s", row.name, e.Depends)
			}
		}
	}
}
