package icd

import (
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"farside/internal/config"
	"farside/internal/profile"
	"farside/internal/vk"
	"farside/memory"
)

const (
	// memoryFlags are the properties of memory types that mean something here.
	memoryFlags = vk.MEMORY_PROPERTY_DEVICE_LOCAL_BIT | vk.MEMORY_PROPERTY_HOST_VISIBLE_BIT |
		vk.MEMORY_PROPERTY_HOST_COHERENT_BIT | vk.MEMORY_PROPERTY_HOST_CACHED_BIT | vk.MEMORY_PROPERTY_RDMA_CAPABLE_BIT_NV

	// maxQueuesOfFamily bounds what a profile may ask for: each queue is a goroutine while it has work.
	maxQueuesOfFamily = 64
)

// ownFamilies are the queue families of the driver's own device.
var ownFamilies = []profile.Family{
	{Flags: vk.QUEUE_COMPUTE_BIT | vk.QUEUE_TRANSFER_BIT, Count: 4, TimestampBits: 64, Granularity: [3]uint32{1, 1, 1}},
	{Flags: vk.QUEUE_TRANSFER_BIT, Count: 2, TimestampBits: 64, Granularity: [3]uint32{1, 1, 1}},
}

// familiesOf are ownFamilies, with graphics in the first one unless FARSIDE_GRAPHICS is off.
func familiesOf(settings *config.Settings) []profile.Family {
	if !settings.Graphics {
		return ownFamilies
	}
	list := slices.Clone(ownFamilies)
	list[0].Flags |= vk.QUEUE_GRAPHICS_BIT
	return list
}

// newPhysicalDevices makes the devices that FARSIDE_PROFILE asks for. Errors: profile.ErrProfile, profile.ErrRule.
func newPhysicalDevices(settings *config.Settings) ([]*physicalDevice, error) {
	own := memory.DefaultProfile(settings.HeapDevice, settings.HeapHost)
	if settings.Profile == "" || settings.Profile == profile.DefaultName {
		p := &physicalDevice{settings: settings, profile: own, families: familiesOf(settings), optimalTypes: ^uint32(0),
			linearTypes: ^uint32(0)}
		p.settle(0)
		return []*physicalDevice{p}, nil
	}
	from, err := profile.Load(settings.Profile)
	if err == nil {
		err = profile.Check(from, HasFeature)
	}
	if err != nil {
		return nil, err
	}
	var list []*physicalDevice
	for i, d := range from.Devices {
		p := &physicalDevice{settings: settings, profileName: from.Name}
		settingsCount(d, settings)
		p.cut = profile.Cut(d, ownDevice(settings, own, i, d.Group != nil))
		p.take(d)
		p.settle(i)
		list = append(list, p)
	}
	for i, d := range from.Devices {
		if d.Group != nil {
			list[i].group = nil
			for _, n := range d.Group.Devices {
				list[i].group = append(list[i].group, list[n])
			}
		}
	}
	return list, usable(list)
}

// settingsCount lets FARSIDE_DRIVER_UUID and FARSIDE_DEVICE_UUID count instead of what the profile says.
func settingsCount(d *profile.Device, settings *config.Settings) {
	for _, structure := range [...]string{"VkPhysicalDeviceIDProperties.", "VkPhysicalDeviceVulkan11Properties."} {
		if settings.DriverUUID != nil {
			delete(d.Values, structure+"driverUUID")
		}
		if settings.DeviceUUID != nil {
			delete(d.Values, structure+"deviceUUID")
		}
	}
}

// usable says whether something can be done with each device: what the driver does of a profile may be too little.
func usable(list []*physicalDevice) error {
	for i, p := range list {
		if len(p.families) == 0 || len(p.profile.Types) == 0 {
			return fmt.Errorf("%w: device %d has %d queue families and %d memory types that this driver can serve",
				profile.ErrProfile, i, len(p.families), len(p.profile.Types))
		}
		for _, other := range list[:i] {
			if p.deviceUUID == other.deviceUUID {
				return fmt.Errorf("%w: deviceUUID: two devices of the profile have the same", profile.ErrRule)
			}
		}
	}
	return nil
}

// take makes p what the cut says.
func (p *physicalDevice) take(d *profile.Device) {
	p.families = p.cut.Families
	p.profile = memory.Profile{}
	for i, t := range p.cut.Types {
		p.profile.Types = append(p.profile.Types, memory.Type{Flags: t.Flags, Heap: t.Heap})
		if t.Optimal {
			p.optimalTypes |= 1 << i
		}
		if t.Linear {
			p.linearTypes |= 1 << i
		}
	}
	for _, h := range p.cut.Heaps {
		p.profile.Heaps = append(p.profile.Heaps, memory.Heap{Size: h.Size, Flags: h.Flags})
	}
	if d.Heaps != nil {
		resize(p.profile.Heaps, p.settings)
	}
}

// resize lets FARSIDE_HEAP_DEVICE and FARSIDE_HEAP_HOST count for a profile's heaps, too: for the first that is device
// local, and for the first that isn't.
func resize(heaps []memory.Heap, settings *config.Settings) {
	local, host := settings.HeapDevice, settings.HeapHost
	for i := range heaps {
		size := &host
		if heaps[i].Flags&vk.MEMORY_HEAP_DEVICE_LOCAL_BIT != 0 {
			size = &local
		}
		if *size != 0 {
			heaps[i].Size, *size = *size, 0
		}
	}
}

// settle makes the parts of a device that follow from the others; index is its place in the instance.
func (p *physicalDevice) settle(index int) {
	p.index, p.group = index, []*physicalDevice{p}
	p.driverUUID = driverUUID(p.settings)
	p.deviceUUID = deviceUUID(p.settings, p.driverUUID, index)
	p.measure()
	p.budget = memory.NewBudget(p.profile, p.limits.MaxMemoryAllocationCount)
}

// ownDevice is what the driver does without a profile; grouped says that the device is in a group with others.
func ownDevice(settings *config.Settings, heaps memory.Profile, index int, grouped bool) *profile.Own {
	families := familiesOf(settings)
	own := &profile.Own{Version: computeVersion, Extensions: map[string]uint32{}, Instance: supportsInstance,
		Features: supportedFeatures(), Families: families, MemoryFlags: memoryFlags,
		HeapFlags:  vk.MEMORY_HEAP_DEVICE_LOCAL_BIT,
		QueueFlags: vk.QUEUE_COMPUTE_BIT | vk.QUEUE_TRANSFER_BIT | families[0].Flags, MaxQueues: maxQueuesOfFamily}
	extensions := deviceExtensions
	if settings.Graphics {
		own.GraphicsVersion = instanceVersion
		extensions = slices.Concat(extensions, graphicsExtensions)
		own.Features = maps.Clone(own.Features)
		maps.Copy(own.Features, graphicsFeatures)
	}
	for i := range extensions {
		if e := &extensions[i]; e.advertised() {
			own.Extensions[e.name] = vk.ExtensionByName(e.name).SpecVersion
		}
	}
	if own.Grouped = grouped; grouped {
		own.HeapFlags |= vk.MEMORY_HEAP_MULTI_INSTANCE_BIT
	}
	for _, h := range heaps.Heaps {
		own.Heaps = append(own.Heaps, profile.Heap{Size: h.Size, Flags: h.Flags})
	}
	for _, t := range heaps.Types {
		own.Types = append(own.Types, profile.Type{Flags: t.Flags, Heap: t.Heap, Optimal: true, Linear: true})
	}
	own.Properties = func(heaps []profile.Heap, blocks map[vk.StructureType][]byte) {
		p := &physicalDevice{settings: settings, index: index, families: families}
		for _, h := range heaps {
			p.profile.Heaps = append(p.profile.Heaps, memory.Heap{Size: h.Size, Flags: h.Flags})
		}
		p.driverUUID = driverUUID(settings)
		p.deviceUUID = deviceUUID(settings, p.driverUUID, index)
		p.fillBlocks(blocks)
	}
	return own
}

func supportsInstance(extension string) bool { return supports(instanceExtensions, extension) }

// supports says whether the device advertises an extension.
func (p *physicalDevice) supports(extension string) bool {
	return (supports(deviceExtensions, extension) || p.graphics() && supports(graphicsExtensions, extension)) &&
		(p.cut == nil || p.cut.Extensions[extension] != 0)
}

// supportsFeature says whether the field named name of a feature structure is VK_TRUE.
func (p *physicalDevice) supportsFeature(structure vk.StructureType, name string) bool {
	return structure != otherExtension && p.hasFeature(name)
}

// hasFeature says whether a feature of this name is VK_TRUE in any structure.
func (p *physicalDevice) hasFeature(name string) bool {
	return (supportedFeatures()[name] || p.graphics() && graphicsFeatures[name]) &&
		(p.cut == nil || p.cut.Features[name])
}

// version is the version of Vulkan that the device has.
func (p *physicalDevice) version() uint32 {
	if p.cut == nil {
		return p.ownVersion()
	}
	return p.cut.Version
}

// ownVersion is the device's version without a profile.
func (p *physicalDevice) ownVersion() uint32 {
	if p.graphics() {
		return instanceVersion
	}
	return computeVersion
}

// extensionProperties are what vkEnumerateDeviceExtensionProperties lists.
func (p *physicalDevice) extensionProperties() []vk.ExtensionProperties {
	if p.cut == nil {
		if p.graphics() {
			return graphicsExtensionProperties()
		}
		return deviceExtensionProperties()
	}
	var list []vk.ExtensionProperties
	for _, e := range slices.Concat(deviceExtensions, graphicsExtensions) {
		if revision := p.cut.Extensions[e.name]; p.supports(e.name) {
			list = append(list, vk.ExtensionProperties{SpecVersion: revision})
			vk.CopyString(list[len(list)-1].ExtensionName[:], e.name)
		}
	}
	return list
}

// tellCuts logs what a device's profile claims and the driver doesn't do.
func (p *physicalDevice) tellCuts() {
	if p.cut == nil || logLevel.Level() > slog.LevelInfo {
		return
	}
	for _, c := range p.cut.Changes {
		logger.Info("cut from the profile", "profile", p.profileName, "device", p.index, "cut", c.String())
	}
}

// profileError is what vkCreateInstance returns for a profile that can't be used.
func profileError(err error) error {
	text := strings.ReplaceAll(err.Error(), "\n", "; ")
	if errors.Is(err, profile.ErrRule) && !strings.Contains(text, profile.ErrRule.Error()) {
		text = profile.ErrRule.Error() + ": " + text
	}
	return vk.Errorf(vk.ERROR_INITIALIZATION_FAILED, vk.NoVUID, "%s: %s", config.Profile, text)
}

// ShowProfile returns what each device of a profile becomes here, for the tool.
func ShowProfile(p *profile.Profile) []*profile.Result {
	settings := new(config.Settings)
	own := memory.DefaultProfile(0, 0)
	var list []*profile.Result
	for i, d := range p.Devices {
		list = append(list, profile.Cut(d, ownDevice(settings, own, i, d.Group != nil)))
	}
	return list
}

// HasFeature says whether the driver has a feature, for profile.Check.
func HasFeature(name string) bool { return supportedFeatures()[name] }

// driverInfo says whose driver this is, also behind the name of another.
func (p *physicalDevice) driverInfo() string {
	if p.cut == nil {
		return driverInfo()
	}
	return fmt.Sprintf("Farside %s, profile %s", driverInfo(), filepath.Base(p.profileName))
}
