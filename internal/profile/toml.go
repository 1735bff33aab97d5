package profile

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/docker/go-units"
	"github.com/pelletier/go-toml/v2"

	"farside/internal/vk"
)

// tomlFile is our own format: the keys of one device, or of several in devices.
type tomlFile struct {
	tomlDevice
	Devices []tomlDevice `toml:"devices"`
	Groups  [][]int      `toml:"groups"`
}

// tomlDevice is what is changed of a base: the driver's own device, a built-in profile or a file.
type tomlDevice struct {
	Base          string         `toml:"base"`
	Properties    map[string]any `toml:"properties"`
	Features      map[string]any `toml:"features"`
	Extensions    map[string]any `toml:"extensions"`
	Heaps         []tomlHeap     `toml:"heaps"`
	Types         []tomlType     `toml:"types"`
	QueueFamilies []tomlFamily   `toml:"queueFamilies"`
}

type tomlHeap struct {
	Size  any      `toml:"size"`
	Flags []string `toml:"flags"`
}

type tomlType struct {
	Heap    uint32   `toml:"heap"`
	Flags   []string `toml:"flags"`
	Optimal *bool    `toml:"optimal"`
	Linear  *bool    `toml:"linear"`
}

type tomlFamily struct {
	Count         uint32     `toml:"count"`
	Flags         []string   `toml:"flags"`
	TimestampBits *uint32    `toml:"timestampValidBits"`
	Granularity   *[3]uint32 `toml:"minImageTransferGranularity"`
}

// tomlKeys are all keys of the format, for messages about others.
var tomlKeys = []string{"base", "properties", "features", "extensions", "heaps", "types", "queueFamilies", "devices",
	"groups", "size", "flags", "heap", "optimal", "linear", "count", "timestampValidBits", "minImageTransferGranularity"}

// parseTOML reads a file of our own. base loads the profile that one is based on.
func parseTOML(data []byte, base func(name string) ([]*Device, error)) ([]*Device, error) {
	var file tomlFile
	err := toml.NewDecoder(bytes.NewReader(data)).DisallowUnknownFields().Decode(&file)
	if err != nil {
		return nil, tomlError(err)
	}
	if file.Devices == nil {
		list, err := file.devices(data, base)
		if err != nil {
			return nil, err
		}
		return list, file.group(list)
	}
	if !file.empty() {
		return nil, errorf("a file with [[devices]] has no other keys of a device beside them")
	}
	var all []*Device
	for i := range file.Devices {
		list, err := file.Devices[i].devices(data, base)
		if err != nil {
			return nil, fmt.Errorf("device %d: %w", i, err)
		}
		moved := map[*Group]bool{}
		for _, d := range list {
			if d.Group != nil && !moved[d.Group] {
				moved[d.Group] = true
				for k := range d.Group.Devices {
					d.Group.Devices[k] += len(all)
				}
			}
		}
		all = append(all, list...)
	}
	return all, file.group(all)
}

// group makes the device groups that the file asks for, in the place of those of its base.
func (f *tomlFile) group(list []*Device) error {
	if f.Groups == nil {
		return nil
	}
	for _, d := range list {
		d.Group = nil
	}
	seen := map[int]bool{}
	for i, numbers := range f.Groups {
		if len(numbers) == 0 || len(numbers) > vk.MAX_DEVICE_GROUP_SIZE {
			return errorf("groups[%d]: %d devices, there are 1 to %d in a device group", i, len(numbers),
				vk.MAX_DEVICE_GROUP_SIZE)
		}
		g := &Group{Devices: slices.Sorted(slices.Values(numbers))}
		for _, n := range numbers {
			switch {
			case n < 0 || n >= len(list):
				return errorf("groups[%d]: there is no device %d, the file has %d", i, n, len(list))
			case seen[n]:
				return errorf("groups[%d]: device %d stands there twice, and each is in exactly one device group", i, n)
			}
			if seen[n] = true; len(numbers) > 1 {
				list[n].Group = g
			}
		}
	}
	return nil
}

// tomlError adds the place of an error, and the nearest key of an unknown one.
func tomlError(err error) error {
	var strict *toml.StrictMissingError
	if errors.As(err, &strict) && len(strict.Errors) > 0 {
		row, _ := strict.Errors[0].Position()
		key := strict.Errors[0].Key()
		return fmt.Errorf("line %d: %w", row, unknown("key", key[len(key)-1], tomlKeys))
	}
	var decode *toml.DecodeError
	if errors.As(err, &decode) {
		row, _ := decode.Position()
		what := strings.TrimPrefix(decode.Error(), "toml: ")
		if kind, _, ok := strings.Cut(what, " into struct field "); ok { // of Go
			return errorf("line %d: %s: %s there", row, strings.Join(decode.Key(), "."), kind)
		}
		return errorf("line %d: %s; a profile is the text or the JSON of vulkaninfo, a report of gpuinfo.org, or TOML", row,
			what)
	}
	return err
}

func (t *tomlDevice) empty() bool {
	return t.Base == "" && t.Properties == nil && t.Features == nil && t.Extensions == nil && t.Heaps == nil &&
		t.Types == nil && t.QueueFamilies == nil
}

// devices are those of the base with the changes made to each.
func (t *tomlDevice) devices(data []byte, base func(string) ([]*Device, error)) ([]*Device, error) {
	list := []*Device{newDevice(false)}
	if t.Base != "" {
		var err error
		if list, err = base(t.Base); err != nil {
			return nil, fmt.Errorf("base %s: %w", clip(t.Base), err)
		}
	}
	for _, d := range list {
		if err := t.change(d, data); err != nil {
			return nil, err
		}
	}
	return list, nil
}

func (t *tomlDevice) change(d *Device, data []byte) error {
	for _, key := range sortedKeys(t.Properties) {
		words, err := tomlWords(t.Properties[key])
		if err == nil {
			err = d.set(key, words...)
		}
		if err != nil {
			return fmt.Errorf("%sproperties: %w", placeOf(data, key), err)
		}
	}
	for _, key := range sortedKeys(t.Features) {
		on, isBool := t.Features[key].(bool)
		if !knownFeature(key) {
			return fmt.Errorf("%sfeatures: %w", placeOf(data, key), unknown("feature", key, allFeatures()))
		}
		if !isBool {
			return fmt.Errorf("%sfeatures: %s is neither true nor false", placeOf(data, key), key)
		}
		d.Features[key] = on
	}
	for _, key := range sortedKeys(t.Extensions) {
		e := vk.ExtensionByName(key)
		if e == nil || e.Type != vk.DeviceExtension {
			return fmt.Errorf("%sextensions: %w", placeOf(data, key), unknown("device extension", key, allExtensions()))
		}
		switch v := t.Extensions[key].(type) {
		case bool:
			d.Extensions[key] = 0
			if v {
				d.Extensions[key] = e.SpecVersion
			}
		case int64:
			d.Extensions[key] = uint32(min(max(v, 0), 1<<31))
		default:
			return errorf("%sextensions: %s is neither true, false nor a revision", placeOf(data, key), key)
		}
	}
	return t.changeMemoryAndQueues(d)
}

// tomlWords are the words of a value or of a list of values.
func tomlWords(value any) ([]string, error) {
	switch v := value.(type) {
	case string:
		return []string{v}, nil
	case bool:
		return []string{strconv.FormatBool(v)}, nil
	case int64:
		return []string{strconv.FormatInt(v, 10)}, nil
	case float64:
		return []string{strconv.FormatFloat(v, 'g', -1, 64)}, nil
	case []any:
		words := []string{}
		for _, x := range v {
			w, err := tomlWords(x)
			if err != nil || len(w) != 1 {
				return nil, errorf("a list in a list is no value")
			}
			words = append(words, w[0])
		}
		return words, nil
	}
	return nil, errorf("a value of type %T is no property's", value)
}

func (t *tomlDevice) changeMemoryAndQueues(d *Device) error {
	if t.Heaps != nil {
		d.Heaps = []Heap{}
		for i, h := range t.Heaps {
			size, err := tomlSize(h.Size)
			if err != nil {
				return fmt.Errorf("heaps[%d]: %w", i, err)
			}
			flags, err := flagsOf("VkMemoryHeapFlagBits", h.Flags)
			if err != nil {
				return fmt.Errorf("heaps[%d]: %w", i, err)
			}
			d.Heaps = append(d.Heaps, Heap{Size: size, Flags: vk.MemoryHeapFlags(flags)})
		}
	}
	if t.Types != nil {
		d.Types = []Type{}
		for i, x := range t.Types {
			flags, err := flagsOf("VkMemoryPropertyFlagBits", x.Flags)
			if err != nil {
				return fmt.Errorf("types[%d]: %w", i, err)
			}
			d.Types = append(d.Types, Type{Flags: vk.MemoryPropertyFlags(flags), Heap: x.Heap,
				Optimal: x.Optimal == nil || *x.Optimal, Linear: x.Linear == nil || *x.Linear})
		}
	}
	if t.QueueFamilies != nil {
		d.Families = []Family{}
		for i, x := range t.QueueFamilies {
			flags, err := flagsOf("VkQueueFlagBits", x.Flags)
			if err != nil {
				return fmt.Errorf("queueFamilies[%d]: %w", i, err)
			}
			f := Family{Flags: vk.QueueFlags(flags), Count: x.Count, TimestampBits: 64, Granularity: [3]uint32{1, 1, 1}}
			if x.TimestampBits != nil {
				f.TimestampBits = *x.TimestampBits
			}
			if x.Granularity != nil {
				f.Granularity = *x.Granularity
			}
			d.Families = append(d.Families, f)
		}
	}
	return nil
}

// tomlSize reads a number of bytes, or a text such as "8GiB".
func tomlSize(value any) (uint64, error) {
	switch v := value.(type) {
	case int64:
		if v >= 0 {
			return uint64(v), nil
		}
	case string:
		if n, err := units.RAMInBytes(v); err == nil && n >= 0 && !strings.ContainsAny(v, "xX_") {
			return uint64(n), nil
		}
	}
	return 0, errorf("size: %v is not a size such as \"8GiB\"", value)
}

// placeOf finds the line of a key for a message, "" if it stands nowhere as it is.
func placeOf(data []byte, key string) string {
	at := bytes.Index(data, []byte(key))
	if at < 0 {
		return ""
	}
	return fmt.Sprintf("line %d: ", 1+bytes.Count(data[:at], []byte{'\n'}))
}

func knownFeature(name string) bool {
	for i := range vk.CoreFeatures {
		if vk.CoreFeatures[i].Name.String() == name {
			return true
		}
	}
	return len(structuresOf(name)) > 0
}

// structuresOf are the structures of features that have one of that name.
func structuresOf(feature string) []*vk.FeatureStruct { return featureStructures()[feature] }

var featureStructures = sync.OnceValue(func() map[string][]*vk.FeatureStruct {
	all := map[string][]*vk.FeatureStruct{}
	for i := range vk.FeatureStructs {
		for _, f := range vk.FeatureStructs[i].Fields() {
			all[f.Name.String()] = append(all[f.Name.String()], &vk.FeatureStructs[i])
		}
	}
	return all
})

func allFeatures() []string {
	names := map[string]bool{}
	for _, f := range vk.CoreFeatures {
		names[f.Name.String()] = true
	}
	for i := range vk.FeatureStructs {
		for _, f := range vk.FeatureStructs[i].Fields() {
			names[f.Name.String()] = true
		}
	}
	return sortedKeys(names)
}

func allExtensions() []string {
	var names []string
	for i := range vk.Extensions {
		if vk.Extensions[i].Type == vk.DeviceExtension {
			names = append(names, vk.Extensions[i].Name.String())
		}
	}
	return names
}
