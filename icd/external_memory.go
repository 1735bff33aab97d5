package icd

import (
	"fmt"

	"farside/export"
	"farside/internal/config"
	"farside/internal/journal"
	"farside/internal/vk"
	"farside/memory"
	"farside/rdmasim"
)

func getMemoryFdKHR(_ *device, info *vk.MemoryGetFdInfoKHR, out *int32) vk.Result {
	m := live(deviceMemories, info.Memory)
	made, err := export.Export(m, export.FileDescriptor, info.HandleType)
	if err != nil {
		return m.fail("vkGetMemoryFdKHR", err)
	}
	m.journalExport(vk.ExternalMemoryHandleTypeFlags(info.HandleType), 0)
	m.device.handOut("vkGetMemoryFdKHR", made.FD, m.object())
	m.reveal(info.HandleType, made.FD)
	*out = int32(made.FD)
	return vk.SUCCESS
}

// lendMemoryFD returns the descriptor that vkGetMemoryFdKHR would duplicate if the call is right, nobody observes it,
// and the command has nothing else to do.
func lendMemoryFD(h vk.Device, info *vk.MemoryGetFdInfoKHR) (int, bool) {
	d := devices.Get(uintptr(h))
	if d == nil || info == nil || observers.Load() != nil || journal.On() ||
		d.strict(config.StrictLeaks|config.StrictAsync) {
		return 0, false
	}
	m := deviceMemories.Get(uint64(info.Memory))
	if m == nil || m.owner() != d {
		return 0, false
	}
	return export.Lend(m, info.HandleType)
}

// Payload is for package export, like the two methods that follow.
func (m *deviceMemory) Payload() *memory.Payload { return m.payload }

// ExportSet returns what the allocation said that it will be exported as.
func (m *deviceMemory) ExportSet() export.Set { return m.exports }

func getMemoryFdPropertiesKHR(
	d *device, t vk.ExternalMemoryHandleTypeFlagBits, fd int32, out *vk.MemoryFdPropertiesKHR,
) vk.Result {
	types, err := export.Inspect(export.Handle{Type: t, By: export.FileDescriptor, FD: int(fd)}, d.physical.profile.Types)
	if err != nil {
		return d.fail("vkGetMemoryFdPropertiesKHR", err)
	}
	if t&^vk.EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT != 0 {
		types = d.singleInstance(types)
	}
	out.MemoryTypeBits = types
	return vk.SUCCESS
}

// getMemoryRemoteAddressNV answers with the same address at every call; it lives as long as the memory
// object.
func getMemoryRemoteAddressNV(_ *device, info *vk.MemoryGetRemoteAddressInfoNV, out *vk.RemoteAddressNV) vk.Result {
	m := live(deviceMemories, info.Memory)
	made, err := export.Export(m, export.RemoteAddress, info.HandleType)
	if err != nil {
		return m.fail("vkGetMemoryRemoteAddressNV", err)
	}
	m.journalExport(vk.ExternalMemoryHandleTypeFlags(info.HandleType), made.Address)
	*out = vk.RemoteAddressNV(made.Address)
	return vk.SUCCESS
}

// RemoteAddress registers the memory with the fabric at the first call.
func (m *deviceMemory) RemoteAddress() (uint64, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.region == nil {
		region, err := m.register()
		if err != nil {
			return 0, vk.Errorf(vk.ERROR_UNKNOWN, vk.NoVUID, "register with the fabric: %w", err)
		}
		m.region = region
		m.held.Store(true)
		if name := rdmasim.FabricName(); name != "" {
			logger.Info("other hosts reach the memory", "fabric", name, "address", fmt.Sprintf("%#x", region.Address()))
		}
	}
	return m.region.Address(), nil
}

// register makes the memory a region of the fabric. Peers see the name that the memory has now, and its
// suffix may restrict what they can do.
func (m *deviceMemory) register() (*rdmasim.Region, error) {
	p := m.device.physical
	name := p.instance.nameOf(object{vk.OBJECT_TYPE_DEVICE_MEMORY, uint64(m.handle)})
	access, err := rdmasim.AccessFor(name)
	if err != nil {
		return nil, err
	}
	if err := m.payload.Publish(access&(rdmasim.AccessWrite|rdmasim.AccessAtomic) == 0); err != nil {
		return nil, err
	}
	fd, _ := m.payload.FD() // memory that has an export set has a file
	// The host and the devices of other processes see the payload itself: what peers write can be kept from this one's
	// devices alone.
	holds := m.exports.AddressOnly() && m.imported == 0 && m.kind().Flags&vk.MEMORY_PROPERTY_HOST_VISIBLE_BIT == 0
	return rdmasim.Register(fd, 0, m.size, rdmasim.Attributes{Access: access, Name: name, DeviceUUID: p.deviceUUID,
		Holds: holds})
}
