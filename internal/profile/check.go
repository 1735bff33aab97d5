package profile

import (
	"errors"
	"fmt"
	"maps"
	"math/bits"
	"slices"
	"strings"

	"farside/internal/vk"
)

// ErrRule says that a profile breaks a rule of the specification.
var ErrRule = errors.New("the profile breaks a rule of the specification")

// A Broken rule: its name, where the specification has it, and what is wrong.
type Broken struct {
	Device int
	Rule   string
	Source string
	What   string
}

func (b *Broken) Error() string {
	return fmt.Sprintf("device %d: %s: %s (%s)", b.Device, b.Rule, b.What, b.Source)
}

// Is makes every Broken an ErrRule.
func (b *Broken) Is(target error) bool { return target == ErrRule }

// Check holds a profile to the rules of the specification. It returns all that it breaks, joined; each is a *Broken.
// has says which features the driver has. Others are false here whatever a profile says, so that it needn't claim them:
// those of graphics, above all.
func Check(p *Profile, has func(feature string) bool) error {
	var all []error
	if len(p.Devices) == 0 {
		return fmt.Errorf("%w: a profile without a device", ErrRule)
	}
	for i, d := range p.Devices {
		c := &checker{device: d, number: i, known: has}
		c.memory()
		c.families()
		c.extensions()
		c.features()
		c.limits()
		c.identity(p.Devices[:i])
		c.alike(p)
		all = append(all, c.broken...)
	}
	return errors.Join(all...)
}

type checker struct {
	device *Device
	number int
	known  func(feature string) bool
	broken []error
}

func (c *checker) fail(rule, source, format string, args ...any) {
	c.broken = append(c.broken, &Broken{c.number, rule, source, fmt.Sprintf(format, args...)})
}

const memoryChapter = "chapter \"Memory Allocation\", VkPhysicalDeviceMemoryProperties"

// memoryTypes are the sets of flags that the specification has, beside those with flags of AMD's.
var memoryTypes = []vk.MemoryPropertyFlags{
	0,
	vk.MEMORY_PROPERTY_HOST_VISIBLE_BIT | vk.MEMORY_PROPERTY_HOST_COHERENT_BIT,
	vk.MEMORY_PROPERTY_HOST_VISIBLE_BIT | vk.MEMORY_PROPERTY_HOST_CACHED_BIT,
	vk.MEMORY_PROPERTY_HOST_VISIBLE_BIT | vk.MEMORY_PROPERTY_HOST_CACHED_BIT | vk.MEMORY_PROPERTY_HOST_COHERENT_BIT,
	vk.MEMORY_PROPERTY_DEVICE_LOCAL_BIT,
	vk.MEMORY_PROPERTY_DEVICE_LOCAL_BIT | vk.MEMORY_PROPERTY_HOST_VISIBLE_BIT | vk.MEMORY_PROPERTY_HOST_COHERENT_BIT,
	vk.MEMORY_PROPERTY_DEVICE_LOCAL_BIT | vk.MEMORY_PROPERTY_HOST_VISIBLE_BIT | vk.MEMORY_PROPERTY_HOST_CACHED_BIT,
	vk.MEMORY_PROPERTY_DEVICE_LOCAL_BIT | vk.MEMORY_PROPERTY_HOST_VISIBLE_BIT | vk.MEMORY_PROPERTY_HOST_CACHED_BIT |
		vk.MEMORY_PROPERTY_HOST_COHERENT_BIT,
	vk.MEMORY_PROPERTY_DEVICE_LOCAL_BIT | vk.MEMORY_PROPERTY_LAZILY_ALLOCATED_BIT,
	vk.MEMORY_PROPERTY_PROTECTED_BIT,
	vk.MEMORY_PROPERTY_PROTECTED_BIT | vk.MEMORY_PROPERTY_DEVICE_LOCAL_BIT,
	vk.MEMORY_PROPERTY_DEVICE_LOCAL_BIT | vk.MEMORY_PROPERTY_RDMA_CAPABLE_BIT_NV,
}

func (c *checker) memory() {
	d := c.device
	if d.Heaps == nil && d.Types == nil {
		return
	}
	if len(d.Heaps) == 0 || len(d.Heaps) > vk.MAX_MEMORY_HEAPS {
		c.fail("memoryHeapCount", memoryChapter, "%d heaps, there are 1 to %d", len(d.Heaps), vk.MAX_MEMORY_HEAPS)
	}
	if len(d.Types) == 0 || len(d.Types) > vk.MAX_MEMORY_TYPES {
		c.fail("memoryTypeCount", memoryChapter, "%d memory types, there are 1 to %d", len(d.Types), vk.MAX_MEMORY_TYPES)
	}
	local := func(h Heap) bool { return h.Flags&vk.MEMORY_HEAP_DEVICE_LOCAL_BIT != 0 }
	if !slices.ContainsFunc(d.Heaps, local) {
		c.fail("VK_MEMORY_HEAP_DEVICE_LOCAL_BIT", memoryChapter, "no heap is device local")
	}
	for i, h := range d.Heaps {
		if h.Size == 0 {
			c.fail("VkMemoryHeap::size", memoryChapter, "heap %d has 0 bytes", i)
		}
	}
	has := func(flags vk.MemoryPropertyFlags) bool {
		return slices.ContainsFunc(d.Types, func(t Type) bool { return t.Flags&flags == flags })
	}
	if !has(vk.MEMORY_PROPERTY_HOST_VISIBLE_BIT | vk.MEMORY_PROPERTY_HOST_COHERENT_BIT) {
		c.fail("a host-visible and host-coherent memory type", memoryChapter, "there is none")
	}
	if !has(vk.MEMORY_PROPERTY_DEVICE_LOCAL_BIT) {
		c.fail("a device-local memory type", memoryChapter, "there is none")
	}
	for i, t := range d.Types {
		c.memoryType(i, t)
	}
}

func (c *checker) memoryType(i int, t Type) {
	const amd = vk.MEMORY_PROPERTY_DEVICE_COHERENT_BIT_AMD | vk.MEMORY_PROPERTY_DEVICE_UNCACHED_BIT_AMD
	d := c.device
	if !slices.Contains(memoryTypes, t.Flags&^amd) {
		c.fail("VkMemoryType::propertyFlags", memoryChapter, "the specification has no memory type %v (type %d)", t.Flags, i)
	}
	if t.Heap >= uint32(len(d.Heaps)) {
		c.fail("VkMemoryType::heapIndex", memoryChapter, "type %d is of heap %d, there are %d", i, t.Heap, len(d.Heaps))
	} else if local := d.Heaps[t.Heap].Flags&vk.MEMORY_HEAP_DEVICE_LOCAL_BIT != 0; local !=
		(t.Flags&vk.MEMORY_PROPERTY_DEVICE_LOCAL_BIT != 0) {
		c.fail("VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT", "VkMemoryPropertyFlagBits",
			"type %d is %v, its heap %d %v: a type is device local if and only if its heap is", i, t.Flags, t.Heap,
			d.Heaps[t.Heap].Flags)
	}
	for j, other := range d.Types[:i] {
		if other.Flags != t.Flags && t.Flags&^other.Flags == 0 {
			c.fail("the order of memory types", memoryChapter,
				"type %d has %v, a strict subset of the %v of type %d: it comes first", i, t.Flags, other.Flags, j)
		}
	}
}

func (c *checker) families() {
	const source = "chapter \"Devices and Queues\", VkQueueFamilyProperties"
	d := c.device
	if d.Families == nil {
		return
	}
	if len(d.Families) == 0 {
		c.fail("queue families", source, "there is none")
	}
	works := false
	for i, f := range d.Families {
		works = works || f.Flags&(vk.QUEUE_COMPUTE_BIT|vk.QUEUE_GRAPHICS_BIT) != 0
		if f.Count == 0 {
			c.fail("VkQueueFamilyProperties::queueCount", source, "family %d has no queue", i)
		}
		if f.Flags == 0 {
			c.fail("VkQueueFamilyProperties::queueFlags", source, "family %d can do nothing", i)
		}
	}
	// VkQueueFlagBits: an implementation that is exposed has a family of graphics and compute, or one of compute.
	if !works {
		c.fail("VK_QUEUE_COMPUTE_BIT", "VkQueueFlagBits", "no family supports compute operations")
	}
	if !slices.ContainsFunc(d.Families, func(f Family) bool { return f.Flags&vk.QUEUE_COMPUTE_BIT != 0 }) &&
		len(d.Families) > 0 {
		c.fail("VK_QUEUE_COMPUTE_BIT", "VkQueueFlagBits",
			"a device with graphics has a family that supports both, and one without has one of compute")
	}
}

// has answers for versions, extensions and features that the profile claims. What it leaves to the driver is true.
func (c *checker) has(name string) bool {
	d := c.device
	if version, ok := versionNumber(name); ok {
		return d.Version() == 0 || version <= d.Version()
	}
	if _, feature, ok := strings.Cut(name, "::"); ok {
		return d.claims(feature)
	}
	e := vk.ExtensionByName(name)
	if e != nil && e.Type == vk.InstanceExtension {
		return true // the profile is about devices
	}
	revision, ok := d.Extensions[name]
	return revision != 0 || !ok && !d.Whole
}

func (c *checker) extensions() {
	for _, name := range sortedKeys(c.device.Extensions) {
		e := vk.ExtensionByName(name)
		if c.device.Extensions[name] != 0 && e != nil && !satisfied(e.Depends.String(), c.has) {
			c.fail("the dependencies of "+name, "vk.xml, depends", "it needs %s", e.Depends)
		}
	}
}

// features holds the profile to what versions and extensions require. Features that it doesn't speak of are the
// driver's matter.
func (c *checker) features() {
	d := c.device
	for _, r := range registry().requirements {
		met := slices.ContainsFunc(r.features, func(name string) bool {
			on, said := d.Features[name]
			return on || !said
		})
		if met || !slices.ContainsFunc(r.features, c.known) || !c.requires(r.provider) || !satisfied(r.depends, c.has) {
			continue
		}
		rule := "the feature " + strings.Join(r.features, " or ")
		if !slices.ContainsFunc(c.broken, func(e error) bool { return e.(*Broken).Rule == rule }) {
			c.fail(rule, "chapter \"Feature Requirements\"", "%s requires it, and it is false", r.provider)
		}
	}
}

// requires says whether the profile itself claims a version or an extension.
func (c *checker) requires(provider string) bool {
	if version, ok := versionNumber(provider); ok {
		v := c.device.Version()
		if v == 0 && !c.device.Whole {
			return version <= vk.API_VERSION_1_3 // the driver's own; it is a later one where more is met
		}
		return version <= v
	}
	return c.has(provider)
}

// bound is what the table "Required Limits" says of a limit: at least Words or Floats of it, or at most where most is
// set. A limit of a feature holds with it, and without it is at least without.
type bound struct {
	limit   string
	least   float64
	most    bool
	feature string
	without float64
}

func (c *checker) limits() {
	const source = "chapter \"Limits\", table \"Required Limits\""
	d := c.device
	required := requiredLimits
	if d.Version() >= vk.API_VERSION_1_4 {
		required = slices.Concat(required, limits14)
	}
	for _, b := range required {
		least := b.least
		if b.feature != "" && !d.claims(b.feature) {
			least = b.without
		}
		for _, x := range d.beyond(b, least) {
			if b.most {
				c.fail(b.limit, source, "%v is more than %v", x, least)
			} else {
				c.fail(b.limit, source, "%v is less than %v", x, least)
			}
		}
	}
	for key, v := range d.Values {
		m := registry().members[key]
		if m.limit == limitMin && strings.HasSuffix(m.name, "Alignment") && len(v.Words) == 1 &&
			bits.OnesCount64(v.Words[0]) != 1 {
			c.fail(m.name, source, "%d is no power of two", v.Words[0])
		}
	}
	c.subgroups()
	if v := d.Version(); v != 0 && (v>>29 != 0 || v < vk.API_VERSION_1_0) {
		c.fail("apiVersion", "chapter \"Version Numbers\", VkPhysicalDeviceProperties",
			"%s is no version of Vulkan: those begin with 1.0, and have the variant 0", versionText(v))
	}
}

func (c *checker) subgroups() {
	d := c.device
	low, _ := d.number("VkPhysicalDeviceSubgroupSizeControlProperties.minSubgroupSize")
	high, ok := d.number("VkPhysicalDeviceSubgroupSizeControlProperties.maxSubgroupSize")
	size, has := d.number("VkPhysicalDeviceSubgroupProperties.subgroupSize")
	if has && ok && (size < low || size > high) {
		c.fail("subgroupSize", "VkPhysicalDeviceSubgroupSizeControlProperties", "%v is not from %v to %v", size, low, high)
	}
	if has && bits.OnesCount64(uint64(size)) != 1 {
		c.fail("subgroupSize", "VkPhysicalDeviceSubgroupProperties", "%v is no power of two", size)
	}
}

// number is a property of one number.
func (d *Device) number(key string) (float64, bool) {
	v, ok := d.Values[key]
	if m := registry().members[key]; ok && m != nil {
		if list := m.numbers(v); len(list) == 1 {
			return list[0], true
		}
	}
	return 0, false
}

// numbers are the elements of a value.
func (m *member) numbers(v Value) []float64 {
	list := slices.Clone(v.Floats)
	for _, w := range v.Words {
		if m.kind == kindInt {
			list = append(list, float64(int64(w)))
		} else {
			list = append(list, float64(w))
		}
	}
	return list
}

// identity holds the devices of a profile apart.
func (c *checker) identity(before []*Device) {
	const key = "VkPhysicalDeviceIDProperties.deviceUUID"
	own := c.device.Value(key)
	for i, other := range before {
		if own != "" && other.Value(key) == own {
			c.fail("deviceUUID", "VkPhysicalDeviceIDProperties", "device %d has the same: %s", i, own)
		}
	}
}

// ownInGroup are the properties by which the devices of a group are told apart.
var ownInGroup = map[string]bool{"deviceName": true, "deviceUUID": true, "deviceLUID": true, "deviceLUIDValid": true,
	"deviceNodeMask": true}

// alike holds the devices of a group to each other: "For two physical devices to be in the same device group, they must
// support identical extensions, features, and properties".
func (c *checker) alike(p *Profile) {
	const source = "chapter \"Device Creation\""
	g := c.device.Group
	if g == nil || g.Devices[0] == c.number {
		return
	}
	first := p.Devices[g.Devices[0]]
	differs := func(format string, args ...any) {
		c.fail("identical devices in a device group", source, "device %d of the group has "+format,
			append([]any{g.Devices[0]}, args...)...)
	}
	d := c.device
	for _, key := range sortedKeys(union(d.Values, first.Values)) {
		_, name, _ := strings.Cut(key, ".")
		if a, b := d.Value(key), first.Value(key); a != b && !ownInGroup[name] {
			differs("another %s: %s, not %s", key, quoted(b), quoted(a))
		}
	}
	for _, name := range sortedKeys(union(d.Features, first.Features)) {
		if d.claims(name) != first.claims(name) {
			differs("feature %s: %v", name, first.claims(name))
		}
	}
	for _, name := range sortedKeys(union(d.Extensions, first.Extensions)) {
		a, said := d.Extensions[name]
		if b, also := first.Extensions[name]; a != b || said != also {
			differs("revision %d of %s, not %d", b, name, a)
		}
	}
	switch {
	case !slices.Equal(d.Heaps, first.Heaps):
		differs("other memory heaps")
	case !slices.Equal(d.Types, first.Types):
		differs("other memory types")
	case !slices.Equal(d.Families, first.Families):
		differs("other queue families")
	}
}

// union has the keys of two maps.
func union[V any](a, b map[string]V) map[string]V {
	all := maps.Clone(a)
	maps.Copy(all, b)
	return all
}

// quoted is a value, or that the profile leaves it to the driver.
func quoted(value string) string {
	if value == "" {
		return "the driver's"
	}
	return value
}
