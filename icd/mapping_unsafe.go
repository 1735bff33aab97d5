package icd

import (
	"unsafe"

	"farside/internal/config"
	"farside/internal/guard"
	"farside/internal/vk"
	"farside/memory"
)

// mapping is where an application has mapped a memory object. The object's first one makes it, later ones use it again.
type mapping struct {
	at             unsafe.Pointer // nil while it is not mapped
	offset, length uint64         // the mapped range of the memory object, bytes
	own            bool           // it was mapped for the application alone: the device has other addresses for the memory
	area           *guard.Area    // with FARSIDE_STRICT=guard; nil for placed mappings and those of host pointers
}

// end ends the mapping of p for a command. On an error it is still there.
func (m *mapping) end(command string, p *memory.Payload, reserve bool) error {
	endHostAccess(p)
	switch {
	case m.area != nil:
		if err := m.endGuarded(command, reserve); err != nil {
			return err
		}
	case m.own:
		within := uint64(uintptr(m.at)) % memory.PageSize()
		if err := memory.Unmap(unsafe.Add(m.at, -int(within)), within+m.length, reserve); err != nil {
			return err
		}
	}
	return nil
}

// isMapped says whether the application has the memory mapped. The caller has mu.
func (m *deviceMemory) isMapped() bool { return m.mapping != nil && m.mapping.at != nil }

// endMapping ends the mapping for a command. The caller has mu.
func (m *deviceMemory) endMapping(command string, reserve bool) error {
	err := m.mapping.end(command, m.payload, reserve)
	if err == nil {
		m.mapping.at, m.mapping.area = nil, nil // the next mapping sets the rest
	}
	return err
}

// endHostAccess ends an access by the host. No command has a result for a dma-buf's driver that refuses.
func endHostAccess(p *memory.Payload) {
	if err := p.EndAccess(); err != nil {
		logger.Error("devices may not see what the host wrote", "error", err)
	}
}

// resolve checks a range against the allocation and resolves VK_WHOLE_SIZE.
func (m *deviceMemory) resolve(offset, size uint64) (uint64, error) {
	if offset >= m.size {
		return 0, vk.Errorf(vk.ERROR_MEMORY_MAP_FAILED, vk.VUID_VkMemoryMapInfo_offset_07959,
			"offset %d is not within the allocation of %d bytes", offset, m.size)
	}
	if size == vk.WHOLE_SIZE {
		return m.size - offset, nil
	}
	if size == 0 {
		return 0, vk.Errorf(vk.ERROR_MEMORY_MAP_FAILED, vk.VUID_VkMemoryMapInfo_size_07960, "a mapping of 0 bytes")
	}
	if size > m.size-offset {
		return 0, vk.Errorf(vk.ERROR_MEMORY_MAP_FAILED, vk.VUID_VkMemoryMapInfo_size_07961,
			"%d bytes from offset %d reach beyond the allocation of %d bytes", size, offset, m.size)
	}
	return size, nil
}

func (m *deviceMemory) mapRange(offset, size uint64, placedAt unsafe.Pointer) (unsafe.Pointer, error) {
	if m.kind().Flags&vk.MEMORY_PROPERTY_HOST_VISIBLE_BIT == 0 {
		return nil, vk.Errorf(vk.ERROR_MEMORY_MAP_FAILED, vk.VUID_VkMemoryMapInfo_memory_07962,
			"memory type %d is not host-visible", m.typeIndex)
	}
	if m.mask&(m.mask-1) != 0 {
		return nil, vk.Errorf(vk.ERROR_MEMORY_MAP_FAILED, vk.VUID_VkMemoryMapInfo_memory_07963,
			"the memory has %d instances", m.instances())
	}
	length, err := m.resolve(offset, size)
	if err != nil {
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.isMapped() {
		return nil, vk.Errorf(vk.ERROR_MEMORY_MAP_FAILED, vk.VUID_VkMemoryMapInfo_memory_07958,
			"the memory is mapped already")
	}
	// The host's accesses begin with the mapping and end with it: coherent memory knows nothing finer.
	if err := m.payload.BeginAccess(); err != nil {
		return nil, vk.Errorf(vk.ERROR_MEMORY_MAP_FAILED, vk.NoVUID, "%w", err)
	}
	shown := m.payload
	if m.device.strict(config.StrictNoncoherent) {
		shown, err = m.shown()
	}
	if m.mapping == nil {
		m.mapping = new(mapping)
		m.held.Store(true)
	}
	next := m.mapping
	next.offset, next.length, next.own = offset, length, true
	switch {
	case err != nil:
	case placedAt != nil:
		if err = shown.MapAt(placedAt, offset, length); err == nil {
			next.at = placedAt
		}
	case m.device.strict(config.StrictGuard) && !m.payload.Foreign():
		err = m.mapGuarded(shown, next)
	case m.device.reserves && !m.payload.Foreign():
		// The application may end the mapping with VK_MEMORY_UNMAP_RESERVE_BIT_EXT and use the addresses for something else.
		next.at, err = shown.MapAnywhere(offset, length)
	default:
		next.own = false
		if next.at, err = shown.Map(); err == nil {
			next.at = unsafe.Add(next.at, offset)
		}
	}
	if err != nil {
		next.at, next.area = nil, nil
		endHostAccess(m.payload)
		return nil, err
	}
	return next.at, nil
}

func mapMemory(
	_ *device, m *deviceMemory, offset, size vk.DeviceSize, _ vk.MemoryMapFlags, out *unsafe.Pointer,
) vk.Result {
	address, err := m.mapRange(offset, size, nil)
	if err != nil {
		return m.fail("vkMapMemory", err)
	}
	*out = address
	return vk.SUCCESS
}

func mapMemory2(_ *device, info *vk.MemoryMapInfo, out *unsafe.Pointer) vk.Result {
	m := live(deviceMemories, info.Memory)
	var at unsafe.Pointer
	if info.Flags&vk.MEMORY_MAP_PLACED_BIT_EXT != 0 {
		placed := vk.Find[vk.MemoryMapPlacedInfoEXT](info.PNext)
		if err := m.checkPlaced(info, placed); err != nil {
			return m.fail("vkMapMemory2", err)
		}
		at = placed.PPlacedAddress
	}
	address, err := m.mapRange(info.Offset, info.Size, at)
	if err != nil {
		return m.fail("vkMapMemory2", err)
	}
	*out = address
	return vk.SUCCESS
}

// checkPlaced holds a placed mapping to VK_EXT_map_memory_placed's rules before anything is mapped over.
func (m *deviceMemory) checkPlaced(info *vk.MemoryMapInfo, placed *vk.MemoryMapPlacedInfoEXT) error {
	const result = vk.ERROR_MEMORY_MAP_FAILED
	page := m.device.physical.limits.placed.MinPlacedMemoryMapAlignment
	switch {
	case !m.device.features["memoryMapPlaced"]:
		return vk.Errorf(result, vk.VUID_VkMemoryMapInfo_flags_09569, "placed mappings need the memoryMapPlaced feature")
	case placed == nil || placed.PPlacedAddress == nil:
		return vk.Errorf(result, vk.VUID_VkMemoryMapInfo_flags_09570,
			"a placed mapping needs VkMemoryMapPlacedInfoEXT with an address")
	case uint64(uintptr(placed.PPlacedAddress))%page != 0:
		return vk.Errorf(result, vk.VUID_VkMemoryMapPlacedInfoEXT_pPlacedAddress_09577, "address %p is not a multiple of %d",
			placed.PPlacedAddress, page)
	case m.payload.Foreign():
		return vk.Errorf(result, vk.VUID_VkMemoryMapInfo_flags_09575,
			"memory imported from a host pointer cannot be mapped elsewhere")
	case !m.device.features["memoryMapRangePlaced"] && info.Offset != 0:
		return vk.Errorf(result, vk.VUID_VkMemoryMapInfo_flags_09571, "offset %d needs the memoryMapRangePlaced feature",
			info.Offset)
	case info.Offset%page != 0:
		return vk.Errorf(result, vk.VUID_VkMemoryMapInfo_flags_09573, "offset %d is not a multiple of %d", info.Offset, page)
	case info.Size != vk.WHOLE_SIZE && info.Size%page != 0 && info.Offset+info.Size != m.size:
		return vk.Errorf(result, vk.VUID_VkMemoryMapInfo_flags_09574, "size %d is not a multiple of %d", info.Size, page)
	}
	return nil
}

func unmapMemory(_ *device, m *deviceMemory) {
	if err := m.unmap(false); err != nil {
		m.fail("vkUnmapMemory", err)
	}
}

func unmapMemory2(_ *device, info *vk.MemoryUnmapInfo) vk.Result {
	m := live(deviceMemories, info.Memory)
	if err := m.unmap(info.Flags&vk.MEMORY_UNMAP_RESERVE_BIT_EXT != 0); err != nil {
		return m.fail("vkUnmapMemory2", err)
	}
	return vk.SUCCESS
}

func (m *deviceMemory) unmap(reserve bool) error {
	if m.device.strictness != 0 {
		m.unseen("vkUnmapMemory")
		m.overrun("vkUnmapMemory")
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.isMapped() {
		return vk.Errorf(vk.ERROR_MEMORY_MAP_FAILED, vk.VUID_VkMemoryUnmapInfo_memory_07964, "the memory is not mapped")
	}
	if reserve && (!m.mapping.own || m.mapping.area != nil && !m.device.reserves) {
		if m.payload.Foreign() {
			return vk.Errorf(vk.ERROR_MEMORY_MAP_FAILED, vk.VUID_VkMemoryUnmapInfo_flags_09580,
				"the addresses of memory that was imported from a host pointer are the application's own")
		}
		return vk.Errorf(vk.ERROR_MEMORY_MAP_FAILED, vk.VUID_VkMemoryUnmapInfo_flags_09579,
			"VK_MEMORY_UNMAP_RESERVE_BIT_EXT needs the memoryUnmapReserve feature")
	}
	return m.endMapping("vkUnmapMemory", reserve)
}

// Flushing and invalidating move no data, as every mapping shows the payload's own pages, unless strictness has given
// the host a view of its own. The ranges are checked.
func flushMappedMemoryRanges(_ *device, count uint32, ranges *vk.MappedMemoryRange) vk.Result {
	return eachRange("vkFlushMappedMemoryRanges", count, ranges, (*deviceMemory).flush)
}

func invalidateMappedMemoryRanges(_ *device, count uint32, ranges *vk.MappedMemoryRange) vk.Result {
	for i := range vk.Slice(ranges, count) {
		r := &vk.Slice(ranges, count)[i]
		m := live(deviceMemories, r.Memory)
		m.hostReads(memory.Span{Offset: r.Offset, Size: min(r.Size, m.size-min(r.Offset, m.size))})
	}
	return eachRange("vkInvalidateMappedMemoryRanges", count, ranges, (*deviceMemory).invalidate)
}

func eachRange(command string, count uint32, ranges *vk.MappedMemoryRange,
	exchange func(*deviceMemory, *memory.Shadow, memory.Span)) vk.Result {
	for i := range vk.Slice(ranges, count) {
		r := &vk.Slice(ranges, count)[i]
		m := live(deviceMemories, r.Memory)
		if err := m.checkMapped(r.Offset, r.Size); err != nil {
			return m.fail(command, err)
		}
		if s := m.shadow.Load(); s != nil {
			var end uint64
			m.mu.Lock()
			if m.isMapped() { // nobody has ended it meanwhile
				end = m.mapping.offset + m.mapping.length
			}
			m.mu.Unlock()
			m.aligned(command, r)
			exchange(m, s, memory.Span{Offset: r.Offset, Size: min(r.Size, end-min(r.Offset, end))})
		}
	}
	return vk.SUCCESS
}

func (m *deviceMemory) checkMapped(offset, size uint64) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.isMapped() {
		return vk.Errorf(vk.ERROR_UNKNOWN, vk.VUID_VkMappedMemoryRange_memory_00684, "the memory is not mapped")
	}
	end := m.mapping.offset + m.mapping.length
	if size == vk.WHOLE_SIZE {
		if offset < m.mapping.offset || offset > end {
			return vk.Errorf(vk.ERROR_UNKNOWN, vk.VUID_VkMappedMemoryRange_size_00686,
				"offset %d is outside the mapped range [%d, %d)", offset, m.mapping.offset, end)
		}
		return nil
	}
	if offset < m.mapping.offset || offset > end || size > end-offset {
		return vk.Errorf(vk.ERROR_UNKNOWN, vk.VUID_VkMappedMemoryRange_size_00685,
			"%d bytes from offset %d reach outside the mapped range [%d, %d)", size, offset, m.mapping.offset, end)
	}
	return nil
}
