// Package profile says what a physical device claims to be: its name, heaps, memory types, queue families, limits,
// features and extensions. A [Profile] is read from what people have of a device ([Load]): the JSON or the text of
// vulkaninfo, a report of gpuinfo.org, or a TOML file of our own, which names one of these as its base. [Check] holds
// it to the rules of the specification, and [Cut] cuts it down to what the driver does, by the registry's limittype.
//
// A profile is data and has no locks: it doesn't change once Load has returned it.
package profile

import (
	"errors"
	"fmt"

	"farside/internal/vk"
)

// ErrProfile says that a profile can't be read. The error says where and why.
var ErrProfile = errors.New("profile")

// errorf makes an error that a reader puts a place before.
func errorf(format string, args ...any) error { return fmt.Errorf(format, args...) }

// Profile is one or more physical devices, in the order in which vkEnumeratePhysicalDevices returns them.
type Profile struct {
	Name    string
	Devices []*Device
}

// Default says whether the profile changes nothing: the driver's own device.
func (p *Profile) Default() bool { return len(p.Devices) == 1 && p.Devices[0].untouched() }

// Device is what one physical device claims. What is absent is as the driver has it, unless Whole is set.
type Device struct {
	// Whole is set where the source lists all features and extensions: one that it lacks isn't there.
	Whole      bool
	Values     map[string]Value  // properties and limits by STRUCT.member
	Features   map[string]bool   // by name, whichever structure it is in
	Reported   map[string]bool   // structures of features that the source has
	Extensions map[string]uint32 // revision by name; 0 removes it
	Heaps      []Heap            // nil: the driver's own
	Types      []Type            // nil: the driver's own
	Families   []Family          // nil: the driver's own
	// Group is the device group that the device belongs to; nil: to one of its own.
	Group *Group
	// Notes are what the source has and nobody here knows.
	Notes []string
}

// Group is a device group of several devices of a profile.
type Group struct {
	Devices []int // of the profile, in ascending order
}

// Heap is a VkMemoryHeap; Size is in bytes.
type Heap struct {
	Size  uint64
	Flags vk.MemoryHeapFlags
}

// Type is a VkMemoryType. Images of a tiling that it is not Optimal or Linear for can't lie in it.
type Type struct {
	Flags           vk.MemoryPropertyFlags
	Heap            uint32
	Optimal, Linear bool
}

// Family is a queue family.
type Family struct {
	Flags         vk.QueueFlags
	Count         uint32
	TimestampBits uint32
	Granularity   [3]uint32 // minImageTransferGranularity
}

func newDevice(whole bool) *Device {
	return &Device{Whole: whole, Values: map[string]Value{}, Features: map[string]bool{}, Reported: map[string]bool{},
		Extensions: map[string]uint32{}}
}

func (d *Device) untouched() bool {
	return !d.Whole && len(d.Values) == 0 && len(d.Features) == 0 && len(d.Extensions) == 0 && d.Heaps == nil &&
		d.Types == nil && d.Families == nil && d.Group == nil
}

// set reads a property, with those that repeat it. It is an error if nobody knows it.
func (d *Device) set(key string, words ...string) error {
	list, err := registry().find(key)
	if err != nil {
		return err
	}
	for _, m := range list {
		v, err := m.read(words)
		if err != nil {
			return err
		}
		d.Values[m.key()] = v
	}
	return nil
}

// note keeps what nobody knows, as far as somebody is going to read it.
func (d *Device) note(line int, err error) {
	const most = 200
	if len(d.Notes) < most {
		d.Notes = append(d.Notes, fmt.Sprintf("line %d: %v", line, err))
	}
}

// Value returns a property by STRUCT.member, as text; "" where the profile doesn't say.
func (d *Device) Value(key string) string {
	v, ok := d.Values[key]
	if m := registry().members[key]; ok && m != nil {
		return m.text(v)
	}
	return ""
}

// Name is what the device calls itself.
func (d *Device) Name() string { return d.Values["VkPhysicalDeviceProperties.deviceName"].Text }

// Version is the version of Vulkan that the device claims, packed; 0 where the profile doesn't say.
func (d *Device) Version() uint32 {
	if v := d.Values["VkPhysicalDeviceProperties.apiVersion"]; len(v.Words) == 1 {
		return uint32(v.Words[0])
	}
	return 0
}
