package profile

import (
	"fmt"
	"strconv"
	"strings"

	"farside/internal/vk"
)

// parseVulkaninfoJSON reads a document of the Vulkan Profiles schema, such as vulkaninfo --json writes. Of several
// profiles in it the first counts; without one all capabilities do. The schema has no memory.
func parseVulkaninfoJSON(root *node) (*Device, error) {
	d := newDevice(true)
	capabilities := root.get("capabilities")
	if capabilities == nil {
		return nil, errorf("the document has no capabilities")
	}
	for _, name := range chosen(root) {
		set := capabilities.get(name)
		if set == nil {
			return nil, fmt.Errorf("profiles: %w", unknown("set of capabilities", name, capabilities.keys))
		}
		if err := d.readSet(set); err != nil {
			return nil, err
		}
	}
	return d, nil
}

// chosen are the names of the sets of capabilities that the first profile asks for, the first of each list of
// alternatives.
func chosen(root *node) []string {
	if profiles := root.get("profiles"); profiles != nil && len(profiles.kids) > 0 {
		var names []string
		if list := profiles.kids[0].get("capabilities"); list != nil {
			for _, k := range list.kids {
				if k.kind == '[' && len(k.kids) > 0 {
					k = k.kids[0]
				}
				names = append(names, k.word)
			}
			return names
		}
	}
	if c := root.get("capabilities"); c != nil {
		return c.keys
	}
	return nil
}

func (d *Device) readSet(set *node) error {
	if e := set.get("extensions"); e != nil {
		for i, name := range e.keys {
			n, err := strconv.ParseUint(e.kids[i].word, 10, 32)
			if err != nil {
				return errorf("line %d: the revision of %s is not a number", e.kids[i].line, clip(name))
			}
			d.extension(e.kids[i].line, name, uint32(n))
		}
	}
	if f := set.get("features"); f != nil {
		for i, s := range f.keys {
			if err := d.readFeatures(s, f.kids[i]); err != nil {
				return err
			}
		}
	}
	if p := set.get("properties"); p != nil {
		for i, s := range p.keys {
			if err := d.readProperties(s, p.kids[i]); err != nil {
				return err
			}
		}
	}
	if q := set.get("queueFamiliesProperties"); q != nil {
		return d.readFamilies(q)
	}
	return nil
}

// extension adds an extension, which may be one that the registry here doesn't know yet.
func (d *Device) extension(line int, name string, revision uint32) {
	if vk.ExtensionByName(name) == nil {
		d.note(line, unknown("extension", name, nil))
		return
	}
	d.Extensions[name] = max(revision, 1)
}

func (d *Device) readFeatures(name string, s *node) error {
	if registry().features[canonical(name)] == nil && name != "VkPhysicalDeviceFeatures" {
		d.note(s.line, unknown("structure of features", name, nil))
		return nil
	}
	d.Reported[canonical(name)] = true
	for i, feature := range s.keys {
		n, err := boolean.readWord(s.kids[i].word)
		if err != nil {
			return errorf("line %d: %s.%s: %q is neither true nor false", s.kids[i].line, name, clip(feature),
				clip(s.kids[i].word))
		}
		d.feature(canonical(name), feature, n != 0)
	}
	return nil
}

var boolean = &member{structure: &structure{}, kind: kindBool, size: 4, count: 1}

// feature adds a feature of a structure. Structures that repeat one agree, but for that of the extension that
// VK_KHR_buffer_device_address replaced.
func (d *Device) feature(structure, name string, on bool) {
	if structure != "VkPhysicalDeviceBufferDeviceAddressFeaturesEXT" {
		d.Features[name] = d.Features[name] || on
	}
}

// canonical is the name that the registry has for a structure: files may use that from before it was promoted.
func canonical(name string) string {
	t := registry()
	for _, suffix := range [...]string{"", "KHR", "EXT"} {
		if base := strings.TrimSuffix(name, suffix); strings.HasSuffix(name, suffix) {
			for _, other := range [...]string{base, base + "KHR"} {
				if t.features[other] != nil || t.byName[other] != nil {
					return other
				}
			}
		}
	}
	return name
}

func (d *Device) readProperties(name string, s *node) error {
	name = canonical(name)
	if registry().byName[name] == nil {
		d.note(s.line, unknown("structure of properties", name, nil))
		return nil
	}
	return d.readMembers(name, "", s)
}

// nestedStructures are the members of VkPhysicalDeviceProperties that are structures of their own here.
var nestedStructures = map[string]string{
	"limits": "VkPhysicalDeviceLimits", "sparseProperties": "VkPhysicalDeviceSparseProperties",
}

func (d *Device) readMembers(structure, prefix string, s *node) error {
	for i, name := range s.keys {
		k := s.kids[i]
		if inner := nestedStructures[name]; inner != "" && k.kind == '{' && structure == "VkPhysicalDeviceProperties" {
			if err := d.readMembers(inner, "", k); err != nil {
				return err
			}
			continue
		}
		if k.kind == '{' {
			if err := d.readMembers(structure, prefix+name+".", k); err != nil {
				return err
			}
			continue
		}
		words, ok := k.words()
		if !ok {
			continue // lists of structures are no limits
		}
		if err := d.read(k.line, structure+"."+prefix+name, words); err != nil {
			return err
		}
	}
	return nil
}

// read reads a property of a file that a program wrote. What nobody knows is a note.
func (d *Device) read(line int, key string, words []string) error {
	if registry().members[key] == nil {
		d.note(line, unknown("property", key, nil))
		return nil
	}
	if err := d.set(key, words...); err != nil {
		return fmt.Errorf("line %d: %w", line, err)
	}
	return nil
}

// flagsOf reads a set of bits.
func flagsOf(enumName string, words []string) (uint64, error) {
	bits := uint64(0)
	for _, word := range words {
		n, err := registry().enums[enumName].read(word)
		if err != nil {
			return 0, err
		}
		bits |= n
	}
	return bits, nil
}

// readFamilies reads a list of VkQueueFamilyProperties, each in an object of its own or in one with what extends it.
func (d *Device) readFamilies(list *node) error {
	d.Families = []Family{}
	for _, k := range list.kids {
		if inner := k.get("VkQueueFamilyProperties"); inner != nil {
			k = inner
		}
		f := Family{TimestampBits: 64, Granularity: [3]uint32{1, 1, 1}}
		if n := k.get("queueFlags"); n != nil {
			words, _ := n.words()
			bits, err := flagsOf("VkQueueFlagBits", words)
			if err != nil {
				return fmt.Errorf("line %d: queueFlags: %w", n.line, err)
			}
			f.Flags = vk.QueueFlags(bits)
		}
		g := k.get("minImageTransferGranularity")
		for name, at := range map[string]struct {
			from *node
			to   *uint32
		}{"queueCount": {k, &f.Count}, "timestampValidBits": {k, &f.TimestampBits},
			"width": {g, &f.Granularity[0]}, "height": {g, &f.Granularity[1]}, "depth": {g, &f.Granularity[2]}} {
			n := at.from.get(name)
			if n == nil {
				continue
			}
			v, err := strconv.ParseUint(n.word, 0, 32)
			if err != nil {
				return errorf("line %d: %s: %q is not a number", n.line, name, clip(n.word))
			}
			*at.to = uint32(v)
		}
		d.Families = append(d.Families, f)
	}
	return nil
}
