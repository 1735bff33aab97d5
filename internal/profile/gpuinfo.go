package profile

import (
	"fmt"
	"strconv"
	"strings"

	"farside/internal/vk"
)

// parseGPUInfo reads a report of gpuinfo.org (VulkanCapsViewer), format 2 and later.
func parseGPUInfo(root *node) (*Device, error) {
	d := newDevice(true)
	if err := d.readGPUInfoProperties(root); err != nil {
		return nil, err
	}
	if err := d.readGPUInfoFeatures(root); err != nil {
		return nil, err
	}
	if list := root.get("extensions"); list != nil {
		for _, k := range list.kids {
			name, revision := k.get("extensionName"), k.get("specVersion")
			if name == nil {
				continue
			}
			n := uint64(1)
			if revision != nil {
				n, _ = strconv.ParseUint(revision.word, 0, 32)
			}
			d.extension(k.line, name.word, uint32(n))
		}
	}
	if m := root.get("memory"); m != nil {
		if err := d.readMemory(m); err != nil {
			return nil, err
		}
	}
	for _, name := range [...]string{"queues", "queuefamilies"} {
		if q := root.get(name); q != nil {
			if err := d.readFamilies(q); err != nil {
				return nil, err
			}
		}
	}
	return d, nil
}

// coreParts are the parts of a report about a version of Vulkan, with the aggregates that they repeat.
var coreParts = map[string]string{"core11": "VkPhysicalDeviceVulkan11", "core12": "VkPhysicalDeviceVulkan12",
	"core13": "VkPhysicalDeviceVulkan13", "core14": "VkPhysicalDeviceVulkan14"}

func (d *Device) readGPUInfoProperties(root *node) error {
	if p := root.get("properties"); p != nil {
		if err := d.readMembers("VkPhysicalDeviceProperties", "", p); err != nil {
			return err
		}
	}
	for _, part := range sortedKeys(coreParts) {
		p := root.get(part).get("properties")
		if p == nil {
			continue
		}
		for i, name := range p.keys {
			words, ok := p.kids[i].words()
			if !ok {
				continue
			}
			key := coreParts[part] + "Properties." + name
			if name == "conformanceVersion" {
				continue // this device is not that product
			}
			if err := d.read(p.kids[i].line, key, words); err != nil {
				return err
			}
		}
	}
	list := root.get("extended").get("deviceproperties2")
	if list == nil {
		return nil
	}
	for _, k := range list.kids {
		extension, name, value := k.get("extension"), k.get("name"), k.get("value")
		if extension == nil || name == nil || value == nil {
			continue
		}
		if err := d.readGPUInfoProperty(extension.word, name.word, value); err != nil {
			return err
		}
	}
	return nil
}

// readGPUInfoProperty reads a property of an extension. Its value is a text, the report's word for a boolean, a number
// or a list.
func (d *Device) readGPUInfoProperty(extension, name string, value *node) error {
	for _, m := range registry().named[name] {
		for _, p := range m.structure.providers {
			if p != extension {
				continue
			}
			words, ok := value.words()
			if !ok {
				return nil
			}
			if m.count > 1 && len(words) == 1 {
				words = strings.FieldsFunc(words[0], func(c rune) bool { return strings.ContainsRune("[]{}(), ", c) })
			}
			return d.read(value.line, m.key(), words)
		}
	}
	return nil
}

func (d *Device) readGPUInfoFeatures(root *node) error {
	if f := root.get("features"); f != nil {
		if err := d.readFeatures("VkPhysicalDeviceFeatures", f); err != nil {
			return err
		}
	}
	for _, part := range sortedKeys(coreParts) {
		if f := root.get(part).get("features"); f != nil {
			if err := d.readFeatures(coreParts[part]+"Features", f); err != nil {
				return err
			}
		}
	}
	list := root.get("extended").get("devicefeatures2")
	if list == nil {
		return nil
	}
	for _, k := range list.kids {
		extension, name, on := k.get("extension"), k.get("name"), k.get("supported")
		if extension == nil || name == nil || on == nil {
			continue
		}
		value, err := boolean.readWord(on.word)
		if err != nil {
			return errorf("line %d: %s: %q is neither true nor false", on.line, clip(name.word), clip(on.word))
		}
		for _, s := range providedBy(extension.word) {
			d.Reported[s] = true
		}
		if extension.word != vk.EXT_BUFFER_DEVICE_ADDRESS_EXTENSION_NAME {
			d.feature("", name.word, value != 0)
		}
	}
	return nil
}

// providedBy are the structures of features that a version or an extension brings.
func providedBy(provider string) []string {
	var names []string
	for name, s := range registry().features {
		for _, p := range s.providers {
			if p == provider {
				names = append(names, name)
			}
		}
	}
	return names
}

// readMemory reads heaps and types with the names of VkPhysicalDeviceMemoryProperties.
func (d *Device) readMemory(m *node) error {
	number := func(n *node, name string, bits int) (uint64, error) {
		k := n.get(name)
		if k == nil {
			return 0, errorf("line %d: there is no %s", n.line, name)
		}
		v, err := strconv.ParseUint(k.word, 0, bits)
		if err != nil {
			return 0, errorf("line %d: %s: %q is not a number", k.line, name, clip(k.word))
		}
		return v, nil
	}
	heaps, types := m.get("memoryHeaps"), m.get("memoryTypes")
	if heaps == nil || types == nil {
		return fmt.Errorf("line %d: memory without memoryHeaps or memoryTypes", m.line)
	}
	d.Heaps, d.Types = []Heap{}, []Type{}
	for _, k := range heaps.kids {
		size, err := number(k, "size", 64)
		if err != nil {
			return err
		}
		flags, err := number(k, "flags", 32)
		if err != nil {
			return err
		}
		d.Heaps = append(d.Heaps, Heap{Size: size, Flags: vk.MemoryHeapFlags(flags)})
	}
	for _, k := range types.kids {
		heap, err := number(k, "heapIndex", 32)
		if err != nil {
			return err
		}
		flags, err := number(k, "propertyFlags", 32)
		if err != nil {
			return err
		}
		d.Types = append(d.Types, Type{Flags: vk.MemoryPropertyFlags(flags), Heap: uint32(heap), Optimal: true, Linear: true})
	}
	return nil
}
