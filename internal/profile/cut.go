package profile

import (
	"fmt"
	"slices"

	"farside/internal/vk"
)

// Own is what the driver does, which no profile goes beyond.
type Own struct {
	Version uint32 // of Vulkan, packed
	// GraphicsVersion is that of devices which have what it requires, or 0: it is a later one.
	GraphicsVersion uint32
	Extensions      map[string]uint32 // the device's, with their revisions
	Instance        func(extension string) bool
	Features        map[string]bool
	Heaps           []Heap
	Types           []Type
	Families        []Family
	// MemoryFlags, HeapFlags and QueueFlags are those that mean something here.
	MemoryFlags vk.MemoryPropertyFlags
	HeapFlags   vk.MemoryHeapFlags
	QueueFlags  vk.QueueFlags
	MaxQueues   uint32 // of a family
	// Grouped is set for a device that is in a device group with others.
	Grouped bool
	// Properties answers for a device with these heaps: it fills the structures, by sType, that the driver knows. For
	// VkPhysicalDeviceProperties2 the bytes are those of its member properties.
	Properties func(heaps []Heap, structures map[vk.StructureType][]byte)
}

// Change is something that a profile claims and the driver doesn't do.
type Change struct {
	Kind    string // "property", "feature", "extension", "memory type", "queue family", "version"
	Name    string
	Claimed string
	Actual  string
	Why     string // "" where the driver does less
}

func (c Change) String() string {
	text := fmt.Sprintf("%s %s: the profile claims %s, the device has %s", c.Kind, c.Name, c.Claimed, c.Actual)
	if c.Why != "" {
		text += " (" + c.Why + ")"
	}
	return text
}

// Result is what a physical device answers: what the profile claims as far as the driver does it.
type Result struct {
	Version    uint32
	Extensions map[string]uint32
	Features   map[string]bool // those that are there
	Heaps      []Heap
	Types      []Type
	Families   []Family
	Changes    []Change

	patches map[vk.StructureType][]patch
	hidden  map[vk.StructureType]bool
}

// patch replaces bytes of a structure.
type patch struct {
	at    uintptr
	bytes []byte
}

// identity are the properties that say who a device is: they are as the profile has them.
var identity = map[string]bool{
	"deviceName": true, "vendorID": true, "deviceID": true, "deviceType": true, "driverVersion": true, "driverID": true,
	"driverName": true, "deviceUUID": true, "driverUUID": true, "deviceLUID": true, "deviceLUIDValid": true,
	"deviceNodeMask": true,
}

// kept are properties that stay the driver's own whatever a profile says, with the reason.
var kept = map[string]string{
	"apiVersion":         "the lesser version counts",
	"driverInfo":         "it says whose driver this is",
	"pipelineCacheUUID":  "it stands for what this driver's caches hold",
	"timestampPeriod":    "the device's clock counts nanoseconds",
	"conformanceVersion": "this driver was not submitted for conformance",
}

// Cut cuts a device down to what the driver does.
func Cut(d *Device, own *Own) *Result {
	r := &Result{Extensions: map[string]uint32{}, Features: map[string]bool{},
		patches: map[vk.StructureType][]patch{}, hidden: map[vk.StructureType]bool{}}
	r.cutVersion(d, own)
	r.cutExtensions(d, own)
	r.cutFeatures(d, own)
	r.cutMemory(d, own)
	r.cutFamilies(d, own)
	r.cutProperties(d, own)
	return r
}

func (r *Result) cut(kind, name, claimed, actual, why string) {
	r.Changes = append(r.Changes, Change{kind, name, claimed, actual, why})
}

func (r *Result) cutVersion(d *Device, own *Own) {
	r.Version = own.Version
	if d.meets(own, own.GraphicsVersion) {
		r.Version = own.GraphicsVersion
	}
	if v := d.Version(); v != 0 {
		if r.Version = min(v, r.Version); r.Version != v {
			r.cut("version", "apiVersion", versionText(v), versionText(r.Version), "")
		}
	}
}

// available says whether a version or a device extension is there after the cut.
func (r *Result) available(provider string) bool {
	if v, ok := versionNumber(provider); ok {
		return v <= r.Version
	}
	return r.Extensions[provider] != 0
}

// versionNumber reads VK_VERSION_1_2.
func versionNumber(name string) (uint32, bool) {
	var major, minor uint32
	n, err := fmt.Sscanf(name, "VK_VERSION_%d_%d", &major, &minor)
	return vk.MakeVersion(major, minor, 0), n == 2 && err == nil
}

func (r *Result) cutExtensions(d *Device, own *Own) {
	for name, revision := range own.Extensions {
		claimed, ok := d.Extensions[name]
		switch {
		case ok && claimed != 0:
			r.Extensions[name] = min(claimed, revision)
		case !ok && !d.Whole:
			r.Extensions[name] = revision
		}
	}
	// An extension goes with one that it depends on, which may be none that the driver lacks.
	why := map[string]string{}
	for gone := true; gone; {
		gone = false
		for _, name := range sortedKeys(r.Extensions) {
			depends := vk.ExtensionByName(name).Depends.String()
			if !satisfied(depends, func(on string) bool { return r.available(on) || own.Instance(on) }) {
				delete(r.Extensions, name)
				why[name], gone = "it depends on what is not there: "+depends, true
			}
		}
	}
	for _, name := range sortedKeys(d.Extensions) {
		switch claimed := d.Extensions[name]; {
		case claimed == 0:
		case r.Extensions[name] == 0:
			r.cut("extension", name, fmt.Sprintf("revision %d", claimed), "none", why[name])
		case r.Extensions[name] != claimed:
			r.cut("extension", name, fmt.Sprintf("revision %d", claimed), fmt.Sprintf("revision %d", r.Extensions[name]), "")
		}
	}
}

func (r *Result) cutFeatures(d *Device, own *Own) {
	for name, has := range own.Features {
		if has && d.claims(name) && r.provides(name) {
			r.Features[name] = true
		}
	}
	for _, name := range sortedKeys(d.Features) {
		if d.Features[name] && !r.Features[name] {
			why := ""
			if own.Features[name] {
				why = "its extension or version is not there"
			}
			r.cut("feature", name, "true", "false", why)
		}
	}
}

// claims says whether a device claims a feature. A source that lists all features doesn't know those of structures that
// are newer than itself: they are claimed with their extension or version.
func (d *Device) claims(feature string) bool {
	if on, ok := d.Features[feature]; ok || !d.Whole {
		return on || !ok
	}
	newer := false
	for _, s := range structuresOf(feature) {
		if d.Reported[s.Name.String()] {
			return false
		}
		for _, p := range registry().features[s.Name.String()].providers {
			v, ok := versionNumber(p)
			newer = newer || d.Extensions[p] != 0 || ok && v <= d.Version()
		}
	}
	return newer
}

// provides says whether the version or an extension that is there brings a feature.
func (r *Result) provides(feature string) bool {
	list := structuresOf(feature)
	for _, s := range list {
		if slices.ContainsFunc(registry().features[s.Name.String()].providers, r.available) {
			return true
		}
	}
	for i := range vk.CoreFeatures {
		if vk.CoreFeatures[i].Name.String() == feature {
			return true
		}
	}
	return false
}

// cutMemory takes heaps as they are. A type with properties that mean nothing here goes, since its memory would be
// another type's.
func (r *Result) cutMemory(d *Device, own *Own) {
	r.Heaps, r.Types = own.Heaps, own.Types
	if d.Types != nil {
		r.Heaps, r.Types = slices.Clone(d.Heaps), nil
		for i := range r.Heaps {
			if extra := r.Heaps[i].Flags &^ own.HeapFlags; extra != 0 {
				r.Heaps[i].Flags &= own.HeapFlags
				r.cut("memory heap", fmt.Sprint(i), extra.String(), "none of it", "")
			}
		}
	}
	if own.Grouped {
		r.Heaps = ofEach(r.Heaps)
	}
	types := r.Types
	if d.Types != nil {
		types = d.Types
	}
	r.Types = nil
	for i, t := range types {
		flags := own.MemoryFlags
		if r.Extensions[vk.NV_EXTERNAL_MEMORY_RDMA_EXTENSION_NAME] == 0 {
			flags &^= vk.MEMORY_PROPERTY_RDMA_CAPABLE_BIT_NV
		}
		if t.Flags&^flags == 0 {
			r.Types = append(r.Types, t)
			continue
		}
		if d.Types != nil {
			r.cut("memory type", fmt.Sprint(i), t.Flags.String(), "no such type", "")
		}
	}
}

// ofEach gives each device of a group device-local memory of its own, where no heap says which memory that is.
func ofEach(heaps []Heap) []Heap {
	const multi, local = vk.MEMORY_HEAP_MULTI_INSTANCE_BIT, vk.MEMORY_HEAP_DEVICE_LOCAL_BIT
	if slices.ContainsFunc(heaps, func(h Heap) bool { return h.Flags&multi != 0 }) {
		return heaps
	}
	heaps = slices.Clone(heaps)
	for i := range heaps {
		if heaps[i].Flags&local != 0 {
			heaps[i].Flags |= multi
		}
	}
	return heaps
}

// cutFamilies takes families whose queues do something here.
func (r *Result) cutFamilies(d *Device, own *Own) {
	if d.Families == nil {
		r.Families = own.Families
		return
	}
	for i, f := range d.Families {
		was := f
		f.Flags &= own.QueueFlags
		f.Count = min(f.Count, own.MaxQueues)
		f.TimestampBits = own.Families[0].TimestampBits
		name := fmt.Sprint(i)
		if f.Flags == 0 {
			r.cut("queue family", name, was.Flags.String(), "no such family", "")
			continue
		}
		if was.Flags&^f.Flags != 0 {
			r.cut("queue family", name, was.Flags.String(), f.Flags.String(), "")
		}
		if was.Count != f.Count {
			r.cut("queue family", name, fmt.Sprintf("%d queues", was.Count), fmt.Sprintf("%d queues", f.Count), "")
		}
		if was.TimestampBits != f.TimestampBits {
			r.cut("queue family", name, fmt.Sprintf("timestampValidBits %d", was.TimestampBits),
				fmt.Sprintf("timestampValidBits %d", f.TimestampBits), "timestamps have 64 bits")
		}
		r.Families = append(r.Families, f)
	}
}

func (r *Result) cutProperties(d *Device, own *Own) {
	answers := answersOf(own, r.Heaps)
	for _, s := range registry().properties {
		answer := answers[s.sType]
		if answer == nil {
			continue
		}
		if !slices.ContainsFunc(s.providers, r.available) {
			r.hidden[s.sType] = true
			continue
		}
		for _, m := range s.members {
			r.cutMember(d, m, m.get(answer), answers)
		}
	}
}

// unanswered is in members before the driver answers.
const unanswered = 0x5a

// answersOf asks the driver for all structures of properties, and returns those that it knows.
func answersOf(own *Own, heaps []Heap) map[vk.StructureType][]byte {
	answers := map[vk.StructureType][]byte{}
	for _, s := range registry().properties {
		block := answers[s.sType]
		if block == nil {
			info, _ := vk.StructureByType(s.sType)
			block = make([]byte, info.Size)
			answers[s.sType] = block
		}
		// Pointers stay NULL: they are to memory of the application.
		for _, m := range s.members {
			for i := range uintptr(m.count) * m.size {
				block[m.offset+i] = unanswered
			}
		}
	}
	own.Properties(heaps, answers)
	for _, s := range registry().properties {
		known := false
		for _, m := range s.members {
			for i := range uintptr(m.count) * m.size {
				known = known || answers[s.sType] != nil && answers[s.sType][m.offset+i] != unanswered
			}
		}
		if !known {
			delete(answers, s.sType)
		}
	}
	return answers
}

// cutMember decides what a member is, of which the driver itself says has.
func (r *Result) cutMember(d *Device, m *member, has Value, answers map[vk.StructureType][]byte) {
	claimed, ok := d.Values[m.key()]
	if m.name == "apiVersion" {
		claimed, ok = Value{Words: []uint64{uint64(r.Version)}}, true
	}
	if !ok {
		return
	}
	is := claimed
	why := kept[baseName(m.name)]
	switch {
	case m.name == "apiVersion" || identity[m.name]:
	case why != "":
		is = has
	case m.name == "minMemoryMapAlignment":
		// Unlike other alignments, this one is what the driver gives: a smaller one promises less.
		if is.Words[0] == 0 || has.Words[0]%is.Words[0] != 0 {
			is = has
		}
	case m.name == "subgroupSize":
		if !subgroupSizeFits(is.Words[0], answers) {
			is = has
		}
	default:
		is = m.less(has, claimed)
	}
	if m.text(is) != m.text(claimed) {
		r.cut("property", m.key(), m.text(claimed), m.text(is), why)
	}
	if m.text(is) != m.text(has) {
		r.patches[m.structure.sType] = append(r.patches[m.structure.sType], patch{m.offset, m.put(is)})
	}
}

// subgroupSizeFits says whether shaders may have subgroups of that size here.
func subgroupSizeFits(size uint64, answers map[vk.StructureType][]byte) bool {
	low := registry().members["VkPhysicalDeviceSubgroupSizeControlProperties.minSubgroupSize"]
	high := registry().members["VkPhysicalDeviceSubgroupSizeControlProperties.maxSubgroupSize"]
	answer := answers[low.structure.sType]
	return answer != nil && size&(size-1) == 0 && size >= low.get(answer).Words[0] && size <= high.get(answer).Words[0]
}

// Hidden says whether the structure belongs to a version or an extension that isn't there.
func (r *Result) Hidden(t vk.StructureType) bool { return r.hidden[t] }

// Apply writes what differs from the driver's own answer into the bytes of a structure.
func (r *Result) Apply(t vk.StructureType, structure []byte) {
	for _, p := range r.patches[t] {
		if p.at+uintptr(len(p.bytes)) <= uintptr(len(structure)) {
			copy(structure[p.at:], p.bytes)
		}
	}
}

// Fingerprint is the same for devices that answer the same properties.
func (r *Result) Fingerprint() []byte {
	var all []byte
	for _, s := range registry().properties {
		for _, p := range r.patches[s.sType] {
			all = fmt.Appendf(all, "%d %d %x ", s.sType, p.at, p.bytes)
		}
	}
	return all
}
