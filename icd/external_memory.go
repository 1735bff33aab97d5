package icd

import (
	"fmt"
	"math/bits"

	"farside/export"
	"farside/internal/vk"
	"farside/rdmasim"
)

func getMemoryFdKHR(h vk.Device, info *vk.MemoryGetFdInfoKHR, out *int32) vk.Result {
	m := deviceMemories.Get(uint64(info.Memory))
	if m == nil {
		return staleHandle("vkGetMemoryFdKHR", vk.OBJECT_TYPE_DEVICE_MEMORY, uint64(info.Memory))
	}
	fd, err := m.exportFD(info.HandleType)
	if err != nil {
		return m.fail("vkGetMemoryFdKHR", err)
	}
	*out = int32(fd)
	return vk.SUCCESS
}

func (m *deviceMemory) exportFD(t vk.ExternalMemoryHandleTypeFlags) (int, error) {
	const posix = vk.EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT | vk.EXTERNAL_MEMORY_HANDLE_TYPE_DMA_BUF_BIT_EXT
	if t&posix == 0 || bits.OnesCount64(uint64(t)) != 1 {
		return 0, vk.Errorf(vk.ERROR_INVALID_EXTERNAL_HANDLE, "VUID-VkMemoryGetFdInfoKHR-handleType-00672",
			"%v is not a handle type that a POSIX file descriptor carries", t)
	}
	// Memory of the older NV extension leaves the process as an opaque descriptor too; no other extension
	// that fetches its handles exists on this system.
	carried := m.exportTypesNV != 0 && t == vk.EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT
	if m.exportTypes&t == 0 && !carried {
		return 0, vk.Errorf(vk.ERROR_INVALID_EXTERNAL_HANDLE, "VUID-VkMemoryGetFdInfoKHR-handleType-00671",
			"the memory was allocated to be exported as %v, not as %v", m.exportTypes, t)
	}
	return export.ExportFD(m.payload, t)
}

func getMemoryFdPropertiesKHR(h vk.Device, t vk.ExternalMemoryHandleTypeFlagBits, fd int32, out *vk.MemoryFdPropertiesKHR) vk.Result {
	d := devices.Get(uintptr(h))
	if d == nil {
		return staleHandle("vkGetMemoryFdPropertiesKHR", vk.OBJECT_TYPE_DEVICE, uint64(h))
	}
	types, err := export.FDProperties(int(fd), t, d.physical.profile.Types)
	if err != nil {
		return d.fail("vkGetMemoryFdPropertiesKHR", err)
	}
	out.MemoryTypeBits = types
	return vk.SUCCESS
}

// getMemoryRemoteAddressNV answers with the same address at every call; it lives as long as the memory
// object.
func getMemoryRemoteAddressNV(h vk.Device, info *vk.MemoryGetRemoteAddressInfoNV, out *vk.RemoteAddressNV) vk.Result {
	m := deviceMemories.Get(uint64(info.Memory))
	if m == nil {
		return staleHandle("vkGetMemoryRemoteAddressNV", vk.OBJECT_TYPE_DEVICE_MEMORY, uint64(info.Memory))
	}
	address, err := m.remoteAddress(info.HandleType)
	if err != nil {
		return m.fail("vkGetMemoryRemoteAddressNV", err)
	}
	*out = vk.RemoteAddressNV(address)
	return vk.SUCCESS
}

func (m *deviceMemory) remoteAddress(t vk.ExternalMemoryHandleTypeFlags) (uint64, error) {
	const rdma = vk.EXTERNAL_MEMORY_HANDLE_TYPE_RDMA_ADDRESS_BIT_NV
	if t != rdma || m.exportTypes&rdma == 0 {
		return 0, vk.Errorf(vk.ERROR_INVALID_EXTERNAL_HANDLE, "VUID-VkMemoryGetRemoteAddressInfoNV-handleType-04966",
			"the memory was allocated to be exported as %v, its address asked for as %v", m.exportTypes, t)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.region == nil {
		fd, ok := m.payload.FD()
		if !ok {
			return 0, vk.Errorf(vk.ERROR_INVALID_EXTERNAL_HANDLE, "", "the payload has no file that peers could map")
		}
		region, err := m.register(fd)
		if err != nil {
			return 0, vk.Errorf(vk.ERROR_UNKNOWN, "", "register with the fabric: %w", err)
		}
		m.region = region
		if name := rdmasim.FabricName(); name != "" {
			logger.Info("other hosts reach the memory", "fabric", name, "address", fmt.Sprintf("%#x", region.Address()))
		}
	}
	return m.region.Address(), nil
}

// register makes the memory a region of the fabric. Peers see the name that the memory has now, and its
// suffix may restrict what they can do.
func (m *deviceMemory) register(fd int) (*rdmasim.Region, error) {
	p := m.device.physical
	name := p.instance.nameOf(object{vk.OBJECT_TYPE_DEVICE_MEMORY, uint64(m.handle)})
	access, err := rdmasim.AccessFor(name)
	if err != nil {
		return nil, err
	}
	return rdmasim.Register(fd, 0, m.size, rdmasim.Attributes{Access: access, Name: name, DeviceUUID: p.deviceUUID})
}
