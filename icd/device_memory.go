package icd

import (
	"math"
	"sync"
	"sync/atomic"

	"farside/export"
	"farside/internal/config"
	"farside/internal/journal"
	"farside/internal/vk"
	"farside/memory"
	"farside/rdmasim"
)

// maxMemoryAllocationCount bounds what one device may have live.
const maxMemoryAllocationCount = 65536

// maxMemoryAllocationSize is what the largest heap holds, in bytes: a single allocation may fill it.
func (p *physicalDevice) maxMemoryAllocationSize() uint64 {
	largest := uint64(1) << 30 // "Required Limits", whatever the heaps hold
	for _, h := range p.profile.Heaps {
		largest = max(largest, h.Size)
	}
	return largest
}

// deviceMemory is a VkDeviceMemory: a reference to a payload, and what the allocation said about it.
type deviceMemory struct {
	child
	typeIndex     uint32
	size          uint64 // of an instance, bytes
	mask          uint32 // the physical devices with an instance, by device index
	payload       *memory.Payload
	own           memory.Payload                   // the payload of memory that can't leave the process
	imported      vk.ExternalMemoryHandleTypeFlags // the type it was imported from, 0 for none
	exports       export.Set
	deviceAddress bool        // VK_MEMORY_ALLOCATE_DEVICE_ADDRESS_BIT
	addressed     atomic.Bool // it is or was in device.addresses
	dedicatedTo   uint64
	revealed      atomic.Bool // other processes may have it; with FARSIDE_STRICT=async alone

	shadow atomic.Pointer[memory.Shadow] // the host's own view, nil for none: see shown
	file   *fileID                       // the payload's, with FARSIDE_STRICT=leaks

	held    atomic.Bool // mapping or region were set once
	mu      sync.Mutex
	mapping *mapping        // the application's, nil before the first, guarded by mu
	region  *rdmasim.Region // made by the first vkGetMemoryRemoteAddressNV, guarded by mu
}

// kind is the memory's type.
func (m *deviceMemory) kind() *memory.Type { return &m.device.physical.profile.Types[m.typeIndex] }

func allocateMemory(
	d *device, info *vk.MemoryAllocateInfo, _ *vk.AllocationCallbacks, out *vk.DeviceMemory,
) vk.Result {
	m, err := d.newMemory(info)
	if err != nil {
		var heap uint32
		if info.MemoryTypeIndex < uint32(len(d.physical.profile.Types)) {
			heap = d.physical.profile.Types[info.MemoryTypeIndex].Heap
		}
		d.reportMemory(vk.DEVICE_MEMORY_REPORT_EVENT_TYPE_ALLOCATION_FAILED_EXT, 0, info.AllocationSize,
			vk.OBJECT_TYPE_DEVICE_MEMORY, 0, heap)
		return d.fail("vkAllocateMemory", err)
	}
	*out = vk.DeviceMemory(d.add(m))
	m.allocated()
	return vk.SUCCESS
}

// allocated tells that the memory, which has its handle, is there.
func (m *deviceMemory) allocated() {
	m.journalMemory(journal.Allocate)
	event := vk.DEVICE_MEMORY_REPORT_EVENT_TYPE_ALLOCATE_EXT
	if m.imported != 0 {
		event = vk.DEVICE_MEMORY_REPORT_EVENT_TYPE_IMPORT_EXT
	}
	m.device.reportMemory(event, m.payload.ID(), m.size, vk.OBJECT_TYPE_DEVICE_MEMORY, m.handle, m.kind().Heap)
}

func (d *device) newMemory(info *vk.MemoryAllocateInfo) (_ *deviceMemory, err error) {
	p := d.physical
	if info.MemoryTypeIndex >= uint32(len(p.profile.Types)) {
		return nil, vk.Errorf(vk.ERROR_UNKNOWN, vk.VUID_vkAllocateMemory_pAllocateInfo_01714,
			"memory type %d does not exist, the device has %d", info.MemoryTypeIndex, len(p.profile.Types))
	}
	if info.AllocationSize == 0 {
		return nil, vk.Errorf(vk.ERROR_UNKNOWN, vk.VUID_VkMemoryAllocateInfo_allocationSize_07897, "an allocation of 0 bytes")
	}
	if most := p.limits.memory.MaxMemoryAllocationSize; info.AllocationSize > most {
		return nil, vk.Errorf(vk.ERROR_OUT_OF_DEVICE_MEMORY, vk.VUID_vkAllocateMemory_pAllocateInfo_01713,
			"%d bytes are more than maxMemoryAllocationSize, %d", info.AllocationSize, most)
	}
	m := &deviceMemory{child: child{device: d}, typeIndex: info.MemoryTypeIndex, size: info.AllocationSize}
	source, err := m.readExternal(info)
	if err != nil {
		return nil, err
	}
	f := vk.Find[vk.MemoryAllocateFlagsInfo](info.PNext)
	if err := m.readMask(f); err != nil {
		return nil, err
	}
	if f != nil {
		m.deviceAddress = f.Flags&vk.MEMORY_ALLOCATE_DEVICE_ADDRESS_BIT != 0
		if m.deviceAddress && !d.allows("bufferDeviceAddress", vk.VUID_VkMemoryAllocateInfo_flags_03331) {
			return nil, vk.Errorf(vk.ERROR_UNKNOWN, vk.VUID_VkMemoryAllocateInfo_flags_03331,
				"VK_MEMORY_ALLOCATE_DEVICE_ADDRESS_BIT needs the bufferDeviceAddress feature")
		}
	}
	if f := vk.Find[vk.MemoryPriorityAllocateInfoEXT](info.PNext); f != nil && !(f.Priority >= 0 && f.Priority <= 1) {
		return nil, vk.Errorf(vk.ERROR_UNKNOWN, vk.VUID_VkMemoryPriorityAllocateInfoEXT_priority_02602,
			"priority %v is not between 0 and 1", f.Priority)
	}
	dedicated, err := m.readDedicated(info)
	if err != nil {
		return nil, err
	}
	if err := m.back(source, dedicated); err != nil {
		return nil, err
	}
	return m, nil
}

// back takes the memory from the budget and gives it its payload: a new one, or what source names.
func (m *deviceMemory) back(source export.Handle, dedicated memory.Dedicated) (err error) {
	if err := m.reserve(); err != nil {
		return err
	}
	if m.payload, err = m.newPayload(source, dedicated); err != nil {
		m.unreserve(m.mask)
		return err
	}
	if m.device.strict(config.StrictLeaks) {
		m.keep()
	}
	if raw, ok := m.payload.FD(); ok && m.imported != 0 {
		m.reveal(m.imported, raw)
	}
	if m.poisoned() {
		if err := m.poison(); err != nil {
			m.payload.Release()
			m.unreserve(m.mask)
			return err
		}
	}
	return nil
}

// readExternal takes the export and import structures of the chain, and returns the handle that is imported.
func (m *deviceMemory) readExternal(info *vk.MemoryAllocateInfo) (export.Handle, error) {
	if info.PNext == nil {
		return export.Handle{}, nil
	}
	source, err := export.ReadImport(info.PNext)
	if err != nil {
		return source, err
	}
	m.imported = source.Type
	if source.Type != 0 && source.By == export.HostPointer {
		if err := m.checkHostPointer(source); err != nil {
			return source, err
		}
	}
	if m.exports, err = export.ReadSet(info.PNext); err != nil {
		return source, err
	}
	for left := m.exports.Types | m.imported; left != 0; left &= left - 1 {
		if t := left & -left; m.device.physical.cut != nil && m.device.physical.externalMemory(t).Features == 0 {
			return source, vk.Errorf(vk.ERROR_INVALID_EXTERNAL_HANDLE, vk.VUID_VkExportMemoryAllocateInfo_handleTypes_09860,
				"the device's profile has nothing that carries %v", t)
		}
	}
	if types := m.exports.Types | m.imported; m.device.several() && m.device.typesFor(types)>>m.typeIndex&1 == 0 {
		return source, vk.Errorf(vk.ERROR_INVALID_EXTERNAL_HANDLE, vk.VUID_VkExportMemoryAllocateInfo_handleTypes_09860,
			"memory type %d has an instance on each physical device, and %v is of one piece of memory", m.typeIndex, types)
	}
	return source, m.exports.Check(&export.Allocation{
		Size: m.size, Imported: m.imported, Type: *m.kind(), Features: m.device.features,
	})
}

// readDedicated takes VkMemoryDedicatedAllocateInfo: what the allocation is dedicated to, as the payload's
// metadata carries it.
func (m *deviceMemory) readDedicated(info *vk.MemoryAllocateInfo) (memory.Dedicated, error) {
	i := vk.Find[vk.MemoryDedicatedAllocateInfo](info.PNext)
	if i == nil || (i.Image == 0 && i.Buffer == 0) {
		return memory.Dedicated{}, nil
	}
	if i.Image != 0 && i.Buffer != 0 {
		return memory.Dedicated{}, vk.Errorf(vk.ERROR_UNKNOWN, vk.VUID_VkMemoryDedicatedAllocateInfo_image_01432,
			"an allocation is dedicated to an image or to a buffer, not to both")
	}
	if i.Image != 0 {
		img := images.Get(uint64(i.Image))
		if img == nil {
			return memory.Dedicated{}, vk.Errorf(vk.ERROR_UNKNOWN, vk.VUID_VkMemoryDedicatedAllocateInfo_image_parameter,
				"image %#x does not exist", uint64(i.Image))
		}
		if img.disjoint() {
			return memory.Dedicated{}, vk.Errorf(vk.ERROR_UNKNOWN, vk.VUID_VkMemoryDedicatedAllocateInfo_image_01797,
				"image %#x is disjoint", uint64(i.Image))
		}
		if size, _, _ := img.requirements(0); size > m.size && vk.Find[vk.ImportMemoryFdInfoKHR](info.PNext) == nil {
			return memory.Dedicated{}, vk.Errorf(vk.ERROR_UNKNOWN, vk.VUID_VkMemoryDedicatedAllocateInfo_image_02964,
				"the dedicated allocation has %d bytes, its image needs %d", m.size, size)
		}
		m.dedicatedTo = uint64(i.Image)
		return memory.Dedicated{Kind: memory.DedicatedImage, Hash: img.parameterHash()}, nil
	}
	b := buffers.Get(uint64(i.Buffer))
	if b == nil {
		return memory.Dedicated{}, vk.Errorf(vk.ERROR_UNKNOWN, vk.VUID_VkMemoryDedicatedAllocateInfo_buffer_parameter,
			"buffer %#x does not exist", uint64(i.Buffer))
	}
	if size, _, _ := b.requirements(); size > m.size && vk.Find[vk.ImportMemoryFdInfoKHR](info.PNext) == nil {
		return memory.Dedicated{}, vk.Errorf(vk.ERROR_UNKNOWN, vk.VUID_VkMemoryDedicatedAllocateInfo_buffer_02965,
			"the dedicated allocation has %d bytes, its buffer needs %d", m.size, size)
	}
	m.dedicatedTo = uint64(i.Buffer)
	return memory.Dedicated{Kind: memory.DedicatedBuffer, Hash: b.parameterHash()}, nil
}

// newPayload imports the payload that source names, or makes a new one.
func (m *deviceMemory) newPayload(source export.Handle, dedicated memory.Dedicated) (_ *memory.Payload, err error) {
	p := m.device.physical
	switch {
	case source.Type != 0:
		if source.By == export.FileDescriptor {
			defer func() { m.device.takeBack("vkAllocateMemory", source.FD, err != nil) }()
		}
		return export.Import(source, &export.Expect{
			Size: m.total(), MemoryType: m.typeIndex, Properties: m.kind().Flags, DriverUUID: p.driverUUID,
			DeviceUUID: m.device.uuid, DeviceMask: m.sharedMask(), Dedicated: dedicated,
		})
	case !m.exports.Empty():
		create := memory.NewShared
		if m.exports.AddressOnly() {
			create = memory.NewUnpublished
		}
		return create(m.total(), memory.Metadata{
			DriverUUID: p.driverUUID, DeviceUUID: m.device.uuid, DeviceMask: m.sharedMask(), MemoryType: m.typeIndex,
			Properties: m.kind().Flags, HandleTypes: m.exports.Types, HandleTypesNV: m.exports.NV, Dedicated: dedicated,
		})
	default:
		return m.own.Anonymous(m.total(), m.device.remaps && m.kind().Flags&vk.MEMORY_PROPERTY_HOST_VISIBLE_BIT != 0)
	}
}

// letGo ends what the application has of the memory: its mapping and its remote address.
func (m *deviceMemory) letGo() {
	m.mu.Lock()
	var unmapped error
	if m.isMapped() {
		unmapped = m.endMapping("vkFreeMemory", false)
	}
	region := m.region
	m.region = nil
	m.mu.Unlock()
	if unmapped != nil {
		m.device.fail("vkFreeMemory", unmapped)
	}
	if region != nil {
		if err := region.Close(); err != nil {
			m.device.fail("vkFreeMemory", vk.Errorf(vk.ERROR_UNKNOWN, vk.NoVUID, "remote address: %w", err))
		}
	}
}

// release ends the mapping and the remote address, and gives the payload back.
func (m *deviceMemory) release() {
	d := m.device
	d.addresses.remove(m)
	if m.held.Load() {
		m.unseen("vkFreeMemory")
		m.overrun("vkFreeMemory")
		m.letGo()
	}
	if s := m.shadow.Load(); s != nil {
		s.Release()
	}
	m.journalMemory(journal.Free)
	id := m.payload.ID()
	m.forget()
	if m.poisoned() && m.exports.Empty() {
		_ = m.poison() // it was mapped when it was fresh
	}
	if m.file != nil {
		m.kept()
	}
	m.payload.Release()
	m.unreserve(m.mask)
	event := vk.DEVICE_MEMORY_REPORT_EVENT_TYPE_FREE_EXT
	if m.imported != 0 {
		event = vk.DEVICE_MEMORY_REPORT_EVENT_TYPE_UNIMPORT_EXT
	}
	d.reportMemory(event, id, m.size, vk.OBJECT_TYPE_DEVICE_MEMORY, m.handle, m.kind().Heap)
}

func getDeviceMemoryCommitment(_ *device, m *deviceMemory, out *vk.DeviceSize) {
	*out = m.size
}

// getDeviceMemoryOpaqueCaptureAddress has nothing to replay: bufferDeviceAddressCaptureReplay is not advertised.
func getDeviceMemoryOpaqueCaptureAddress(*device, *vk.DeviceMemoryOpaqueCaptureAddressInfo) uint64 {
	return 0
}

func setDeviceMemoryPriorityEXT(_ *device, m *deviceMemory, priority float32) {
	if !(priority >= 0 && priority <= 1) || math.IsNaN(float64(priority)) {
		m.fail("vkSetDeviceMemoryPriorityEXT", vk.Errorf(vk.ERROR_UNKNOWN,
			vk.VUID_vkSetDeviceMemoryPriorityEXT_priority_06258,
			"priority %v is not between 0 and 1", priority))
	}
}
