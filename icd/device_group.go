package icd

import (
	"math/bits"
	"slices"

	"farside/internal/exec"
	"farside/internal/vk"
	"farside/memory"
)

// Logical devices of several physical devices. Memory of a heap with VK_MEMORY_HEAP_MULTI_INSTANCE_BIT has an instance
// for each physical device of its mask. All instances lie in one payload, one behind the other. A resource knows for
// each physical device where in the payload its memory begins, and so do views and exec.Resources, by device index.

// peerFeatures are what a physical device can do with the memory of another.
const peerFeatures = vk.PEER_MEMORY_FEATURE_COPY_SRC_BIT | vk.PEER_MEMORY_FEATURE_COPY_DST_BIT |
	vk.PEER_MEMORY_FEATURE_GENERIC_SRC_BIT | vk.PEER_MEMORY_FEATURE_GENERIC_DST_BIT

// join takes the physical devices of which the device is made, in the order of their indices.
func (d *device) join(info *vk.DeviceCreateInfo) error {
	d.members, d.uuid = []*physicalDevice{d.physical}, d.physical.deviceUUID
	g := vk.Find[vk.DeviceGroupDeviceCreateInfo](info.PNext)
	if g == nil || g.PhysicalDeviceCount == 0 {
		return nil
	}
	d.members = nil
	for _, h := range vk.Slice(g.PPhysicalDevices, g.PhysicalDeviceCount) {
		p := live(physicalDevices, h)
		switch {
		case slices.Contains(d.members, p):
			return vk.Errorf(vk.ERROR_INITIALIZATION_FAILED, vk.VUID_VkDeviceGroupDeviceCreateInfo_pPhysicalDevices_00375,
				"physical device %#x appears twice", uint64(h))
		case !slices.Contains(d.physical.group, p):
			return vk.Errorf(vk.ERROR_INITIALIZATION_FAILED, vk.VUID_VkDeviceGroupDeviceCreateInfo_pPhysicalDevices_00376,
				"physical device %#x is of another device group than %#x", uint64(h), uint64(d.physical.handle))
		}
		d.members = append(d.members, p)
	}
	if !slices.Contains(d.members, d.physical) {
		return vk.Errorf(vk.ERROR_INITIALIZATION_FAILED, vk.VUID_VkDeviceGroupDeviceCreateInfo_physicalDeviceCount_00377,
			"the physical device that the device is created from is none of the group's %d", len(d.members))
	}
	if d.several() {
		var all [][]byte
		for _, p := range d.members {
			all = append(all, p.deviceUUID[:])
		}
		d.uuid = hashUUID(all...)
	}
	return nil
}

// several says whether the device has several physical devices.
func (d *device) several() bool { return len(d.members) > 1 }

// everyDevice is the device mask of all physical devices.
func (d *device) everyDevice() uint32 { return 1<<len(d.members) - 1 }

// divide makes what the queues know of each physical device, when they share all else already.
func (d *device) divide() {
	if !d.several() {
		return
	}
	d.exec.Pieces = &d.pieces
	var others []exec.Resources
	for i := range d.members[1:] {
		others = append(others, &resources{d, uint32(i + 1)})
	}
	d.exec.Divide(others...)
}

// multiInstance says whether memory of a type has an instance on each physical device.
func (p *physicalDevice) multiInstance(memoryType uint32) bool {
	return p.profile.Heaps[p.profile.Types[memoryType].Heap].Flags&vk.MEMORY_HEAP_MULTI_INSTANCE_BIT != 0
}

// typesFor narrows memoryTypeBits to the types that can hold memory of every one of the handle types. A handle other
// than OPAQUE_FD is of one piece of memory, of which devices outside of Vulkan know: types with several instances have
// none.
func (d *device) typesFor(handleTypes vk.ExternalMemoryHandleTypeFlags) uint32 {
	types := d.physical.typesFor(handleTypes)
	if handleTypes&^vk.EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT != 0 {
		types = d.singleInstance(types)
	}
	return types
}

// singleInstance narrows memoryTypeBits to the types of which memory has one instance.
func (d *device) singleInstance(types uint32) uint32 {
	if d.several() {
		for i := range d.physical.profile.Types {
			if d.physical.multiInstance(uint32(i)) {
				types &^= 1 << i
			}
		}
	}
	return types
}

// readMask finds the physical devices on which the memory has an instance. Memory of a heap that all of them share has
// one, whatever the application says, and it is the first's.
func (m *deviceMemory) readMask(f *vk.MemoryAllocateFlagsInfo) error {
	d := m.device
	m.mask = 1
	multi := d.several() && d.physical.multiInstance(m.typeIndex)
	if multi {
		m.mask = d.everyDevice()
	}
	if f == nil || f.Flags&vk.MEMORY_ALLOCATE_DEVICE_MASK_BIT == 0 {
		return nil
	}
	switch {
	case f.DeviceMask&^d.everyDevice() != 0:
		return vk.Errorf(vk.ERROR_UNKNOWN, vk.VUID_VkMemoryAllocateFlagsInfo_deviceMask_00675,
			"device mask %#b names a device that the device group of %d does not have", f.DeviceMask, len(d.members))
	case f.DeviceMask == 0:
		return vk.Errorf(vk.ERROR_UNKNOWN, vk.VUID_VkMemoryAllocateFlagsInfo_deviceMask_00676, "the device mask is 0")
	case multi:
		m.mask = f.DeviceMask
	}
	return nil
}

// sharedMask is the mask as payloads carry it: 0 for a device of one.
func (m *deviceMemory) sharedMask() uint32 {
	if m.device.several() {
		return m.mask
	}
	return 0
}

// instances is how many instances the memory has.
func (m *deviceMemory) instances() uint64 { return uint64(bits.OnesCount32(m.mask)) }

// total is how many bytes all instances take together.
func (m *deviceMemory) total() uint64 {
	if n := m.instances(); n > 1 {
		return n * memory.RoundUpToPage(m.size)
	}
	return m.size
}

// noInstance is where an instance begins that was not allocated.
const noInstance = ^uint64(0)

// instance returns where in the payload the instance of a physical device begins, noInstance if there is none.
func (m *deviceMemory) instance(index uint32) uint64 {
	if index >= 32 || m.mask>>index&1 == 0 {
		return noInstance
	}
	return uint64(bits.OnesCount32(m.mask&(1<<index-1))) * memory.RoundUpToPage(m.size)
}

// reserve takes the memory from the budget of each physical device that has an instance.
func (m *deviceMemory) reserve() error {
	for left := m.mask; left != 0; left &= left - 1 {
		if err := m.device.members[bits.TrailingZeros32(left)].budget.Reserve(m.kind().Heap, m.size); err != nil {
			m.unreserve(m.mask &^ left)
			return err
		}
	}
	return nil
}

func (m *deviceMemory) unreserve(mask uint32) {
	for ; mask != 0; mask &= mask - 1 {
		m.device.members[bits.TrailingZeros32(mask)].budget.Release(m.kind().Heap, m.size)
	}
}

// place is where a resource lies in the payload of its memory: from offset on, or where it has several physical
// devices, by their indices.
type place struct {
	offset  uint64
	devices []uint64 // noInstance: nowhere
}

// of returns where the resource lies for a physical device.
func (p *place) of(index uint32) uint64 {
	if p.devices == nil {
		return p.offset
	}
	return p.devices[index]
}

// groupRules are the rules of the structures that say how a resource is bound on each physical device.
type groupRules struct{ count, index, allocated vk.VUID }

var (
	bufferGroupRules = groupRules{
		count:     vk.VUID_VkBindBufferMemoryDeviceGroupInfo_deviceIndexCount_01606,
		index:     vk.VUID_VkBindBufferMemoryDeviceGroupInfo_pDeviceIndices_01607,
		allocated: vk.VUID_VkBindBufferMemoryInfo_pNext_01605,
	}
	imageGroupRules = groupRules{
		count:     vk.VUID_VkBindImageMemoryDeviceGroupInfo_deviceIndexCount_01634,
		index:     vk.VUID_VkBindImageMemoryDeviceGroupInfo_pDeviceIndices_01635,
		allocated: vk.VUID_VkBindImageMemoryInfo_pNext_01626,
	}
)

// placed says where a resource lies that is bound to the memory at an offset; indices are pDeviceIndices.
func (m *deviceMemory) placed(rules *groupRules, offset uint64, indices []uint32) (place, error) {
	d := m.device
	p := place{offset: offset}
	if len(indices) != 0 && len(indices) != len(d.members) {
		return p, vk.Errorf(vk.ERROR_UNKNOWN, rules.count, "%d device indices for %d physical devices", len(indices),
			len(d.members))
	}
	for _, index := range indices {
		switch {
		case index >= uint32(len(d.members)):
			return p, vk.Errorf(vk.ERROR_UNKNOWN, rules.index, "device index %d of %d physical devices", index, len(d.members))
		case m.device.physical.multiInstance(m.typeIndex) && m.instance(index) == noInstance:
			return p, vk.Errorf(vk.ERROR_UNKNOWN, rules.allocated,
				"the memory has no instance on device %d: it was allocated with mask %#b", index, m.mask)
		}
	}
	if !d.several() {
		return p, nil
	}
	for i := range d.members {
		index := uint32(i)
		if len(indices) > 0 {
			index = indices[i]
		}
		if !d.physical.multiInstance(m.typeIndex) {
			index = 0 // all physical devices share the heap, and the one instance
		}
		at := m.instance(index)
		if at != noInstance {
			at += offset
		}
		p.devices = append(p.devices, at)
	}
	return p, nil
}

// bufferIndices are the device indices of a structure in the chain of vkBindBufferMemory2.
func bufferIndices(info *vk.BindBufferMemoryInfo) []uint32 {
	if g := vk.Find[vk.BindBufferMemoryDeviceGroupInfo](info.PNext); g != nil {
		return vk.Slice(g.PDeviceIndices, g.DeviceIndexCount)
	}
	return nil
}

func getDeviceGroupPeerMemoryFeatures(d *device, heap, local, remote uint32, out *vk.PeerMemoryFeatureFlags) {
	*out = 0
	var rule vk.VUID
	switch n := uint32(len(d.members)); {
	case heap >= uint32(len(d.physical.profile.Heaps)):
		rule = vk.VUID_vkGetDeviceGroupPeerMemoryFeatures_heapIndex_00691
	case local >= n:
		rule = vk.VUID_vkGetDeviceGroupPeerMemoryFeatures_localDeviceIndex_00692
	case remote >= n:
		rule = vk.VUID_vkGetDeviceGroupPeerMemoryFeatures_remoteDeviceIndex_00693
	case local == remote:
		rule = vk.VUID_vkGetDeviceGroupPeerMemoryFeatures_localDeviceIndex_00694
	default:
		*out = peerFeatures
		return
	}
	d.fail("vkGetDeviceGroupPeerMemoryFeatures", vk.Errorf(vk.ERROR_UNKNOWN, rule,
		"heap %d, local device %d and remote device %d: there are %d heaps and %d physical devices", heap, local, remote,
		len(d.physical.profile.Heaps), len(d.members)))
}

// enumeratePhysicalDeviceGroups lists each device group, in the order of their first devices.
func enumeratePhysicalDeviceGroups(i *instance, count *uint32, out *vk.PhysicalDeviceGroupProperties) vk.Result {
	var groups [][]*physicalDevice
	for _, p := range i.devices {
		if p.group[0] == p {
			groups = append(groups, p.group)
		}
	}
	all := uint32(len(groups))
	if out == nil {
		*count = all
		return vk.SUCCESS
	}
	*count = min(*count, all)
	for n := range vk.Slice(out, *count) {
		// Written field by field: sType and pNext are the application's.
		group := &vk.Slice(out, *count)[n]
		group.PhysicalDeviceCount = uint32(len(groups[n]))
		clear(group.PhysicalDevices[:])
		for k, p := range groups[n] {
			group.PhysicalDevices[k] = p.handle
		}
		group.SubsetAllocation = bool32(len(groups[n]) > 1)
	}
	if *count < all {
		return vk.INCOMPLETE
	}
	return vk.SUCCESS
}

// setMask is vkCmdSetDeviceMask. It records nothing for a device of one, where no mask leaves a choice.
func (b *commandBuffer) setMask(mask uint32) error {
	d := b.pool.device
	switch {
	case mask&^d.everyDevice() != 0:
		return vk.Errorf(vk.ERROR_UNKNOWN, vk.VUID_vkCmdSetDeviceMask_deviceMask_00108,
			"device mask %#b names a device that the device group of %d does not have", mask, len(d.members))
	case mask == 0:
		return vk.Errorf(vk.ERROR_UNKNOWN, vk.VUID_vkCmdSetDeviceMask_deviceMask_00109, "the device mask is 0")
	case mask&^b.mostDevices != 0:
		return vk.Errorf(vk.ERROR_UNKNOWN, vk.VUID_vkCmdSetDeviceMask_deviceMask_00110,
			"device mask %#b has more than the %#b with which the recording began", mask, b.mostDevices)
	case !d.several():
		return nil
	}
	return b.stream.DeviceMask(mask)
}

// beginMask is the mask with which a recording begins.
func (d *device) beginMask(info *vk.CommandBufferBeginInfo) (uint32, error) {
	g := vk.Find[vk.DeviceGroupCommandBufferBeginInfo](info.PNext)
	switch {
	case g == nil:
		return d.everyDevice(), nil
	case g.DeviceMask&^d.everyDevice() != 0:
		return 0, vk.Errorf(vk.ERROR_UNKNOWN, vk.VUID_VkDeviceGroupCommandBufferBeginInfo_deviceMask_00106,
			"device mask %#b names a device that the device group of %d does not have", g.DeviceMask, len(d.members))
	case g.DeviceMask == 0:
		return 0, vk.Errorf(vk.ERROR_UNKNOWN, vk.VUID_VkDeviceGroupCommandBufferBeginInfo_deviceMask_00107,
			"the device mask is 0")
	}
	return g.DeviceMask, nil
}

// groupMasks are the masks of a batch's command buffers, by VkDeviceGroupSubmitInfo. Which physical device waits for a
// semaphore or signals it makes no difference: they go in step.
func (s *submission) groupMasks(info *vk.SubmitInfo) ([]uint32, error) {
	g := vk.Find[vk.DeviceGroupSubmitInfo](info.PNext)
	if g == nil {
		return nil, nil
	}
	d := s.queue.device
	var rule vk.VUID
	switch {
	case g.WaitSemaphoreCount != info.WaitSemaphoreCount:
		rule = vk.VUID_VkDeviceGroupSubmitInfo_waitSemaphoreCount_00082
	case g.CommandBufferCount != info.CommandBufferCount:
		rule = vk.VUID_VkDeviceGroupSubmitInfo_commandBufferCount_00083
	case g.SignalSemaphoreCount != info.SignalSemaphoreCount:
		rule = vk.VUID_VkDeviceGroupSubmitInfo_signalSemaphoreCount_00084
	default:
		masks := vk.Slice(g.PCommandBufferDeviceMasks, g.CommandBufferCount)
		for _, list := range [2][]uint32{vk.Slice(g.PWaitSemaphoreDeviceIndices, g.WaitSemaphoreCount),
			vk.Slice(g.PSignalSemaphoreDeviceIndices, g.SignalSemaphoreCount)} {
			for _, index := range list {
				if index >= uint32(len(d.members)) {
					return nil, vk.Errorf(vk.ERROR_UNKNOWN, vk.VUID_VkDeviceGroupSubmitInfo_pWaitSemaphoreDeviceIndices_00085,
						"device index %d of %d physical devices", index, len(d.members))
				}
			}
		}
		for _, mask := range masks {
			if mask&^d.everyDevice() != 0 {
				return nil, vk.Errorf(vk.ERROR_UNKNOWN, vk.VUID_VkDeviceGroupSubmitInfo_pCommandBufferDeviceMasks_00086,
					"device mask %#b names a device that the device group of %d does not have", mask, len(d.members))
			}
		}
		return masks, nil
	}
	return nil, vk.Errorf(vk.ERROR_UNKNOWN, rule,
		"VkDeviceGroupSubmitInfo has %d waits, %d command buffers and %d signals, VkSubmitInfo %d, %d and %d",
		g.WaitSemaphoreCount, g.CommandBufferCount, g.SignalSemaphoreCount, info.WaitSemaphoreCount,
		info.CommandBufferCount, info.SignalSemaphoreCount)
}

// checkIndex holds the deviceIndex of a VkSemaphoreSubmitInfo to its rules.
func (s *submission) checkIndex(info *vk.SemaphoreSubmitInfo) error {
	d := s.queue.device
	if info.DeviceIndex < uint32(len(d.members)) {
		return nil
	}
	rule := vk.VUID_VkSemaphoreSubmitInfo_device_03888
	if d.several() {
		rule = vk.VUID_VkSemaphoreSubmitInfo_device_03889
	}
	return vk.Errorf(vk.ERROR_UNKNOWN, rule, "device index %d of %d physical devices", info.DeviceIndex, len(d.members))
}

// maskOf is the mask of a VkCommandBufferSubmitInfo: 0 is all physical devices.
func (s *submission) maskOf(info *vk.CommandBufferSubmitInfo) (uint32, error) {
	every := s.queue.device.everyDevice()
	switch {
	case info.DeviceMask == 0:
		return every, nil
	case info.DeviceMask&^every != 0:
		return 0, vk.Errorf(vk.ERROR_UNKNOWN, vk.VUID_VkCommandBufferSubmitInfo_deviceMask_03891,
			"device mask %#b names a device that the device group of %d does not have", info.DeviceMask,
			len(s.queue.device.members))
	}
	return info.DeviceMask, nil
}
