package profile

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/agnivade/levenshtein"

	"farside/internal/vk"
)

// limitKind says which way a limit is less: the parts of the registry's limittype.
type limitKind uint8

const (
	limitExact   limitKind = iota // what a device is: no value is less than another
	limitMax                      // less is lower; of a boolean, false
	limitMin                      // less is higher
	limitMul                      // with limitMin: less is any common multiple
	limitBitmask                  // less is a subset
	limitRange                    // less lies within
)

// limitKinds are the words of limittype. "bits" is a number of bits of precision.
var limitKinds = map[string]limitKind{
	"max": limitMax, "max,pot": limitMax, "bits": limitMax, "bitmask": limitBitmask, "range": limitRange,
	"min": limitMin, "min,pot": limitMin, "min,mul": limitMul,
}

// valueKind is what a member holds.
type valueKind uint8

const (
	kindUint valueKind = iota
	kindInt
	kindFloat
	kindBool
	kindText
	kindEnum
	kindBits
)

// member is a member of a structure of properties, or of a structure in it.
type member struct {
	structure *structure
	name      string // with dots where it lies in a structure in the structure
	offset    uintptr
	kind      valueKind
	size      uintptr // bytes of an element
	count     int     // elements
	limit     limitKind
	enum      *enum
	twin      string // STRUCT.member that this one repeats
}

// key is how profiles name the member.
func (m *member) key() string { return m.structure.name + "." + m.name }

// structure is a structure of properties or of features.
type structure struct {
	name      string
	sType     vk.StructureType
	providers []string // versions and extensions
	members   []*member
}

// enum is an enumeration or the bits of a bitmask.
type enum struct {
	name   string
	names  []string          // in the registry's order
	values map[string]uint64 // by name, as two's complement
}

// requirement says that whoever offers provider must support one of the features.
type requirement struct {
	provider string
	features []string
	depends  string
}

// tables is registryText, parsed.
type tables struct {
	properties   []*structure
	features     map[string]*structure
	byName       map[string]*structure // structures of properties
	members      map[string]*member    // by key
	named        map[string][]*member  // by name without the structure's
	twins        map[string][]string   // keys that hold the same value
	enums        map[string]*enum
	requirements []requirement
}

// registry parses the table when something first needs it: nothing does without a profile.
var registry = sync.OnceValue(func() *tables { return parseRegistry(registryText) })

func parseRegistry(text string) *tables {
	t := &tables{features: map[string]*structure{}, byName: map[string]*structure{}, members: map[string]*member{},
		named: map[string][]*member{}, twins: map[string][]string{}, enums: map[string]*enum{}}
	var s *structure
	var e *enum
	for line := range strings.Lines(text) {
		f := strings.Fields(line)
		switch f[0] {
		case "P", "F":
			number, _ := strconv.ParseInt(f[2], 10, 32)
			s = &structure{name: f[1], sType: vk.StructureType(number)}
			if f[3] != "-" {
				s.providers = strings.Split(f[3], ",")
			}
			if f[0] == "F" {
				t.features[s.name] = s
			} else {
				t.properties, t.byName[s.name] = append(t.properties, s), s
			}
		case "M":
			t.add(s, f[1:])
		case "E":
			e = t.enumOf(f[1])
		case "V":
			value, _ := strconv.ParseInt(f[2], 10, 64)
			e.names = append(e.names, f[1])
			e.values[f[1]] = uint64(value)
		case "R":
			t.requirements = append(t.requirements, requirement{f[1], strings.Split(f[2], ","), strings.TrimPrefix(f[4], "-")})
		}
	}
	t.addTwins()
	return t
}

// addTwins makes members of the aggregates (VkPhysicalDeviceVulkan13Properties) twins of those that have their name and
// type, where the registry doesn't say so.
func (t *tables) addTwins() {
	for _, list := range t.named {
		for _, m := range list {
			if m.twin != "" || !strings.HasPrefix(m.structure.name, "VkPhysicalDeviceVulkan") {
				continue
			}
			for _, other := range list {
				if other != m && other.kind == m.kind && other.size == m.size && other.count == m.count {
					t.twins[m.key()] = append(t.twins[m.key()], other.key())
					t.twins[other.key()] = append(t.twins[other.key()], m.key())
				}
			}
		}
	}
}

func (t *tables) enumOf(name string) *enum {
	if t.enums[name] == nil {
		t.enums[name] = &enum{name: name, values: map[string]uint64{}}
	}
	return t.enums[name]
}

// add adds a member from the fields of its line: name, offset, type, count, limittype, twin.
func (t *tables) add(s *structure, f []string) {
	offset, _ := strconv.ParseUint(f[1], 10, 32)
	count, _ := strconv.Atoi(f[3])
	m := &member{structure: s, name: f[0], offset: uintptr(offset), count: count, limit: limitKinds[f[4]]}
	switch typ := f[2]; {
	case typ == "bool":
		m.kind, m.size = kindBool, 4
	case typ == "text":
		m.kind, m.size = kindText, 1
	case strings.HasPrefix(typ, "Vk"):
		m.kind, m.size, m.enum = kindEnum, 4, t.enumOf(typ)
		if strings.Contains(typ, "FlagBits") {
			m.kind = kindBits
		}
		if strings.HasSuffix(typ, "FlagBits2") {
			m.size = 8
		}
	default:
		bits, _ := strconv.Atoi(typ[1:])
		m.size = uintptr(bits / 8)
		m.kind = map[byte]valueKind{'u': kindUint, 'i': kindInt, 'f': kindFloat}[typ[0]]
	}
	s.members = append(s.members, m)
	t.members[m.key()] = m
	t.named[m.name] = append(t.named[m.name], m)
	if f[5] != "-" {
		m.twin = f[5]
		t.twins[m.key()] = append(t.twins[m.key()], m.twin)
		t.twins[m.twin] = append(t.twins[m.twin], m.key())
	}
}

// find returns the members that a key means: STRUCT.member, or the name of a member alone where that is clear, with
// those that hold the same value. An error names the nearest key.
func (t *tables) find(key string) ([]*member, error) {
	if m := t.members[key]; m != nil {
		return t.withTwins(m), nil
	}
	list := t.named[key]
	for _, m := range list {
		// Without a structure the members of Vulkan 1.0 are meant first.
		if m.structure.sType == vk.STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2 || len(list) == 1 {
			return t.withTwins(m), nil
		}
	}
	if len(list) > 1 {
		all := t.withTwins(list[0])
		if !slices.ContainsFunc(list, func(m *member) bool { return !slices.Contains(all, m) }) {
			return all, nil
		}
		var keys []string
		for _, m := range list {
			keys = append(keys, m.key())
		}
		return nil, errorf("%q may mean %s", key, strings.Join(keys, " or "))
	}
	if strings.Contains(key, ".") {
		return nil, unknown("property", key, sortedKeys(t.members))
	}
	return nil, unknown("property", key, sortedKeys(t.named))
}

// withTwins is m and the members that hold the same value.
func (t *tables) withTwins(m *member) []*member {
	all := []*member{m}
	for i := 0; i < len(all); i++ {
		for _, key := range t.twins[all[i].key()] {
			if other := t.members[key]; other != nil && !slices.Contains(all, other) {
				all = append(all, other)
			}
		}
	}
	return all
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// nearest is the word of words with the least distance to name, "" where none is near.
func nearest(name string, words []string) string {
	if len(words) == 0 || len(name) > 256 {
		return ""
	}
	word := slices.MinFunc(words, func(a, b string) int {
		return cmp.Compare(levenshtein.ComputeDistance(a, name), levenshtein.ComputeDistance(b, name))
	})
	if levenshtein.ComputeDistance(word, name) > max(2, len(name)/2) {
		return ""
	}
	return word
}

// unknown says that there is no such word, and which one may be meant, or all if they are few.
func unknown(what, name string, words []string) error {
	if near := nearest(name, words); near != "" {
		return errorf("there is no %s %q; the nearest is %s", what, clip(name), near)
	}
	if len(words) > 0 && len(words) <= 20 {
		return errorf("there is no %s %q; there are %s", what, clip(name), strings.Join(words, ", "))
	}
	return errorf("there is no %s %q", what, clip(name))
}

// clip bounds what a message repeats of a file.
func clip(s string) string {
	const most = 100
	if len(s) > most {
		return s[:most] + "…"
	}
	return s
}
