package icd

import (
	"math"
	"sync"

	"farside/export"
	"farside/internal/vk"
	"farside/memory"
	"farside/rdmasim"
)

// The limits that bound allocations (VkPhysicalDeviceLimits, VkPhysicalDeviceMaintenance3Properties). The
// size limit is what a heap holds at most: a single allocation may fill it.
const maxMemoryAllocationCount = 65536

func (p *physicalDevice) maxMemoryAllocationSize() uint64 {
	var largest uint64
	for _, h := range p.profile.Heaps {
		largest = max(largest, h.Size)
	}
	return largest
}

// deviceMemory is a VkDeviceMemory: a reference to a payload, and what the allocation said about it.
type deviceMemory struct {
	handle        vk.DeviceMemory
	device        *device
	typeIndex     uint32
	heap          uint32
	size          uint64
	flags         vk.MemoryPropertyFlags
	payload       *memory.Payload
	imported      vk.ExternalMemoryHandleTypeFlags // the type it was imported from, 0 for none
	exportTypes   vk.ExternalMemoryHandleTypeFlags
	exportTypesNV vk.ExternalMemoryHandleTypeFlagsNV
	deviceAddress bool // VK_MEMORY_ALLOCATE_DEVICE_ADDRESS_BIT
	dedicatedTo   uint64

	mu      sync.Mutex
	mapping mapping         // the application's, guarded by mu
	region  *rdmasim.Region // made by the first vkGetMemoryRemoteAddressNV, guarded by mu
}

func allocateMemory(h vk.Device, info *vk.MemoryAllocateInfo, _ *vk.AllocationCallbacks, out *vk.DeviceMemory) vk.Result {
	*out = 0
	d := devices.Get(uintptr(h))
	if d == nil {
		return staleHandle("vkAllocateMemory", vk.OBJECT_TYPE_DEVICE, uint64(h))
	}
	m, err := d.newMemory(info)
	if err != nil {
		var heap uint32
		if info.MemoryTypeIndex < uint32(len(d.physical.profile.Types)) {
			heap = d.physical.profile.Types[info.MemoryTypeIndex].Heap
		}
		d.reportMemory(vk.DEVICE_MEMORY_REPORT_EVENT_TYPE_ALLOCATION_FAILED_EXT, 0, info.AllocationSize, vk.OBJECT_TYPE_DEVICE_MEMORY, 0, heap)
		return d.fail("vkAllocateMemory", err)
	}
	m.handle = vk.DeviceMemory(deviceMemories.Insert(m))
	*out = m.handle
	d.created(vk.OBJECT_TYPE_DEVICE_MEMORY, uint64(m.handle))
	event := vk.DEVICE_MEMORY_REPORT_EVENT_TYPE_ALLOCATE_EXT
	if m.imported != 0 {
		event = vk.DEVICE_MEMORY_REPORT_EVENT_TYPE_IMPORT_EXT
	}
	d.reportMemory(event, m.payload.ID(), m.size, vk.OBJECT_TYPE_DEVICE_MEMORY, uint64(m.handle), m.heap)
	return vk.SUCCESS
}

func (d *device) newMemory(info *vk.MemoryAllocateInfo) (_ *deviceMemory, err error) {
	p := d.physical
	if info.MemoryTypeIndex >= uint32(len(p.profile.Types)) {
		return nil, vk.Errorf(vk.ERROR_UNKNOWN, "VUID-vkAllocateMemory-pAllocateInfo-01714",
			"memory type %d does not exist, the device has %d", info.MemoryTypeIndex, len(p.profile.Types))
	}
	if info.AllocationSize == 0 {
		return nil, vk.Errorf(vk.ERROR_UNKNOWN, "VUID-VkMemoryAllocateInfo-allocationSize-07897", "an allocation of 0 bytes")
	}
	if info.AllocationSize > p.maxMemoryAllocationSize() {
		return nil, vk.Errorf(vk.ERROR_OUT_OF_DEVICE_MEMORY, "VUID-vkAllocateMemory-pAllocateInfo-01713",
			"%d bytes are more than maxMemoryAllocationSize, %d", info.AllocationSize, p.maxMemoryAllocationSize())
	}
	t := p.profile.Types[info.MemoryTypeIndex]
	m := &deviceMemory{device: d, typeIndex: info.MemoryTypeIndex, heap: t.Heap, size: info.AllocationSize, flags: t.Flags}
	if err := m.readExport(info); err != nil {
		return nil, err
	}
	if f := vk.Find[vk.MemoryAllocateFlagsInfo](info.PNext); f != nil {
		m.deviceAddress = f.Flags&vk.MEMORY_ALLOCATE_DEVICE_ADDRESS_BIT != 0
		if m.deviceAddress && !d.features["bufferDeviceAddress"] {
			return nil, vk.Errorf(vk.ERROR_UNKNOWN, "VUID-VkMemoryAllocateInfo-flags-03331",
				"VK_MEMORY_ALLOCATE_DEVICE_ADDRESS_BIT needs the bufferDeviceAddress feature")
		}
		if f.Flags&vk.MEMORY_ALLOCATE_DEVICE_MASK_BIT != 0 && f.DeviceMask != 1 {
			return nil, vk.Errorf(vk.ERROR_UNKNOWN, "VUID-VkMemoryAllocateFlagsInfo-deviceMask-00675",
				"device mask %#x names a device that the group of one does not have", f.DeviceMask)
		}
	}
	if f := vk.Find[vk.MemoryPriorityAllocateInfoEXT](info.PNext); f != nil && !(f.Priority >= 0 && f.Priority <= 1) {
		return nil, vk.Errorf(vk.ERROR_UNKNOWN, "VUID-VkMemoryPriorityAllocateInfoEXT-priority-02602",
			"priority %v is not between 0 and 1", f.Priority)
	}
	dedicated, err := m.readDedicated(info)
	if err != nil {
		return nil, err
	}
	if err := p.budget.Reserve(m.heap, m.size); err != nil {
		return nil, err
	}
	if err := m.readPayload(info, dedicated); err != nil {
		p.budget.Release(m.heap, m.size)
		return nil, err
	}
	return m, nil
}

// readExport takes the export structures of the chain.
func (m *deviceMemory) readExport(info *vk.MemoryAllocateInfo) error {
	if e := vk.Find[vk.ExportMemoryAllocateInfo](info.PNext); e != nil {
		m.exportTypes = e.HandleTypes
		if err := export.CheckExportSet(e.HandleTypes); err != nil {
			return err
		}
	}
	if e := vk.Find[vk.ExportMemoryAllocateInfoNV](info.PNext); e != nil {
		m.exportTypesNV = e.HandleTypes
		if err := export.CheckExportSetNV(e.HandleTypes); err != nil {
			return err
		}
	}
	if m.exportTypes != 0 && m.exportTypesNV != 0 {
		return vk.Errorf(vk.ERROR_INVALID_EXTERNAL_HANDLE, "VUID-VkMemoryAllocateInfo-pNext-00640",
			"VkExportMemoryAllocateInfo and VkExportMemoryAllocateInfoNV exclude each other")
	}
	if m.exportTypes&vk.EXTERNAL_MEMORY_HANDLE_TYPE_RDMA_ADDRESS_BIT_NV != 0 {
		if !m.device.features["externalMemoryRDMA"] {
			return vk.Errorf(vk.ERROR_INVALID_EXTERNAL_HANDLE, "VUID-VkExportMemoryAllocateInfo-handleTypes-09860",
				"remote addresses need the externalMemoryRDMA feature, which the device was created without")
		}
		if m.flags&vk.MEMORY_PROPERTY_RDMA_CAPABLE_BIT_NV == 0 {
			return vk.Errorf(vk.ERROR_INVALID_EXTERNAL_HANDLE, "VUID-VkExportMemoryAllocateInfo-handleTypes-09860",
				"memory type %d is not RDMA-capable, so memory of it has no remote address", m.typeIndex)
		}
	}
	return nil
}

// readDedicated takes VkMemoryDedicatedAllocateInfo: what the allocation is dedicated to, as the payload's
// metadata carries it.
func (m *deviceMemory) readDedicated(info *vk.MemoryAllocateInfo) (memory.Dedicated, error) {
	i := vk.Find[vk.MemoryDedicatedAllocateInfo](info.PNext)
	if i == nil || (i.Image == 0 && i.Buffer == 0) {
		return memory.Dedicated{}, nil
	}
	if i.Image != 0 && i.Buffer != 0 {
		return memory.Dedicated{}, vk.Errorf(vk.ERROR_UNKNOWN, "VUID-VkMemoryDedicatedAllocateInfo-image-01432",
			"an allocation is dedicated to an image or to a buffer, not to both")
	}
	if i.Image != 0 {
		img := images.Get(uint64(i.Image))
		if img == nil {
			return memory.Dedicated{}, vk.Errorf(vk.ERROR_UNKNOWN, "VUID-VkMemoryDedicatedAllocateInfo-image-parameter", "image %#x does not exist", uint64(i.Image))
		}
		if size, _, _ := img.requirements(); size > m.size && vk.Find[vk.ImportMemoryFdInfoKHR](info.PNext) == nil {
			return memory.Dedicated{}, vk.Errorf(vk.ERROR_UNKNOWN, "VUID-VkMemoryDedicatedAllocateInfo-image-02964",
				"the dedicated allocation has %d bytes, its image needs %d", m.size, size)
		}
		m.dedicatedTo = uint64(i.Image)
		return memory.Dedicated{Kind: memory.DedicatedImage, Hash: img.parameterHash()}, nil
	}
	b := buffers.Get(uint64(i.Buffer))
	if b == nil {
		return memory.Dedicated{}, vk.Errorf(vk.ERROR_UNKNOWN, "VUID-VkMemoryDedicatedAllocateInfo-buffer-parameter", "buffer %#x does not exist", uint64(i.Buffer))
	}
	if size, _, _ := b.requirements(); size > m.size && vk.Find[vk.ImportMemoryFdInfoKHR](info.PNext) == nil {
		return memory.Dedicated{}, vk.Errorf(vk.ERROR_UNKNOWN, "VUID-VkMemoryDedicatedAllocateInfo-buffer-02965",
			"the dedicated allocation has %d bytes, its buffer needs %d", m.size, size)
	}
	m.dedicatedTo = uint64(i.Buffer)
	return memory.Dedicated{Kind: memory.DedicatedBuffer, Hash: b.parameterHash()}, nil
}

// readPayload imports the payload that the chain names, or makes a new one.
func (m *deviceMemory) readPayload(info *vk.MemoryAllocateInfo, dedicated memory.Dedicated) (err error) {
	fd := vk.Find[vk.ImportMemoryFdInfoKHR](info.PNext)
	if fd != nil && fd.HandleType == 0 {
		fd = nil // ignored (VkImportMemoryFdInfoKHR, description)
	}
	host := vk.Find[vk.ImportMemoryHostPointerInfoEXT](info.PNext)
	if host != nil && host.HandleType == 0 {
		host = nil
	}
	p := m.device.physical
	switch {
	case fd != nil && host != nil:
		return vk.Errorf(vk.ERROR_INVALID_EXTERNAL_HANDLE, "VUID-VkMemoryAllocateInfo-None-06657",
			"an allocation imports from one handle, not from a descriptor and a host pointer")
	case fd != nil:
		m.imported = fd.HandleType
		if err := export.CheckReexport(m.imported, m.exportTypes); err != nil {
			return err
		}
		m.payload, err = export.ImportFD(int(fd.Fd), fd.HandleType, export.Expect{
			Size: m.size, MemoryType: m.typeIndex, Properties: m.flags, DriverUUID: p.driverUUID, DeviceUUID: p.deviceUUID, Dedicated: dedicated,
		})
		return err
	case host != nil:
		if dedicated.Kind != memory.NotDedicated {
			return vk.Errorf(vk.ERROR_INVALID_EXTERNAL_HANDLE, "VUID-VkMemoryAllocateInfo-pNext-02806",
				"an imported host pointer cannot be dedicated to a resource")
		}
		if m.flags&vk.MEMORY_PROPERTY_HOST_VISIBLE_BIT == 0 {
			return vk.Errorf(vk.ERROR_INVALID_EXTERNAL_HANDLE, "VUID-VkMemoryAllocateInfo-memoryTypeIndex-01744",
				"memory type %d is not host-visible, a host pointer cannot be imported into it", m.typeIndex)
		}
		m.imported = host.HandleType
		if err := export.CheckReexport(m.imported, m.exportTypes); err != nil {
			return err
		}
		m.payload, err = export.ImportHostPointer(host.PHostPointer, m.size, host.HandleType)
		return err
	case m.exportTypes != 0 || m.exportTypesNV != 0:
		m.payload, err = memory.NewShared(m.size, memory.Metadata{
			DriverUUID: p.driverUUID, DeviceUUID: p.deviceUUID, MemoryType: m.typeIndex, Properties: m.flags,
			HandleTypes: m.exportTypes, HandleTypesNV: m.exportTypesNV, Dedicated: dedicated,
		})
		return err
	case m.flags&vk.MEMORY_PROPERTY_HOST_VISIBLE_BIT != 0 &&
		(m.device.features["memoryMapPlaced"] || m.device.features["memoryUnmapReserve"]):
		m.payload, err = memory.NewPlaceable(m.size)
		return err
	default:
		m.payload, err = memory.NewAnonymous(m.size)
		return err
	}
}

func freeMemory(h vk.Device, handle vk.DeviceMemory, _ *vk.AllocationCallbacks) {
	if handle == 0 {
		return
	}
	m := deviceMemories.Remove(uint64(handle))
	if m == nil {
		staleHandle("vkFreeMemory", vk.OBJECT_TYPE_DEVICE_MEMORY, uint64(handle))
		return
	}
	d := m.device
	d.destroyed(vk.OBJECT_TYPE_DEVICE_MEMORY, uint64(handle))
	d.addresses.remove(m)
	m.mu.Lock()
	if m.mapping.at != nil {
		if err := m.mapping.end(false); err != nil {
			d.fail("vkFreeMemory", err)
		}
	}
	region := m.region
	m.region = nil
	m.mu.Unlock()
	if region != nil {
		if err := region.Close(); err != nil {
			d.fail("vkFreeMemory", vk.Errorf(vk.ERROR_UNKNOWN, "", "remote address: %w", err))
		}
	}
	id := m.payload.ID()
	m.payload.Release()
	d.physical.budget.Release(m.heap, m.size)
	event := vk.DEVICE_MEMORY_REPORT_EVENT_TYPE_FREE_EXT
	if m.imported != 0 {
		event = vk.DEVICE_MEMORY_REPORT_EVENT_TYPE_UNIMPORT_EXT
	}
	d.reportMemory(event, id, m.size, vk.OBJECT_TYPE_DEVICE_MEMORY, uint64(handle), m.heap)
}

func getDeviceMemoryCommitment(h vk.Device, handle vk.DeviceMemory, out *vk.DeviceSize) {
	*out = 0
	m := deviceMemories.Get(uint64(handle))
	if m == nil {
		staleHandle("vkGetDeviceMemoryCommitment", vk.OBJECT_TYPE_DEVICE_MEMORY, uint64(handle))
		return
	}
	*out = m.size
}

func getDeviceMemoryOpaqueCaptureAddress(h vk.Device, info *vk.DeviceMemoryOpaqueCaptureAddressInfo) uint64 {
	// bufferDeviceAddressCaptureReplay is not advertised, so that there is nothing to replay: 0.
	if deviceMemories.Get(uint64(info.Memory)) == nil {
		staleHandle("vkGetDeviceMemoryOpaqueCaptureAddress", vk.OBJECT_TYPE_DEVICE_MEMORY, uint64(info.Memory))
	}
	return 0
}

func setDeviceMemoryPriorityEXT(h vk.Device, handle vk.DeviceMemory, priority float32) {
	m := deviceMemories.Get(uint64(handle))
	if m == nil {
		staleHandle("vkSetDeviceMemoryPriorityEXT", vk.OBJECT_TYPE_DEVICE_MEMORY, uint64(handle))
		return
	}
	if !(priority >= 0 && priority <= 1) || math.IsNaN(float64(priority)) {
		m.fail("vkSetDeviceMemoryPriorityEXT", vk.Errorf(vk.ERROR_UNKNOWN, "VUID-vkSetDeviceMemoryPriorityEXT-priority-06258",
			"priority %v is not between 0 and 1", priority))
	}
}

// fail reports err as the outcome of command on this memory.
func (m *deviceMemory) fail(command string, err error) vk.Result {
	return m.device.physical.instance.fail(command, err, object{vk.OBJECT_TYPE_DEVICE_MEMORY, uint64(m.handle)})
}
