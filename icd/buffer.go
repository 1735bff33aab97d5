package icd

import (
	"encoding/binary"
	"hash/fnv"
	"sync/atomic"

	"farside/export"
	"farside/internal/sampling"
	"farside/internal/vk"
	"farside/memory"
)

// A buffer's memory begins at any multiple of bufferAlignment, which suits every texel and every vector load.
const bufferAlignment = 64

// The usages and flags that a transfer-only device has a meaning for.
const (
	bufferUsages = vk.BUFFER_USAGE_TRANSFER_SRC_BIT | vk.BUFFER_USAGE_TRANSFER_DST_BIT |
		vk.BUFFER_USAGE_UNIFORM_TEXEL_BUFFER_BIT | vk.BUFFER_USAGE_STORAGE_TEXEL_BUFFER_BIT |
		vk.BUFFER_USAGE_UNIFORM_BUFFER_BIT | vk.BUFFER_USAGE_STORAGE_BUFFER_BIT |
		vk.BUFFER_USAGE_INDEX_BUFFER_BIT | vk.BUFFER_USAGE_VERTEX_BUFFER_BIT |
		vk.BUFFER_USAGE_INDIRECT_BUFFER_BIT | vk.BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT
)

// buffer is a VkBuffer.
type buffer struct {
	child
	size           uint64
	usage          vk.BufferUsageFlags
	excess         atomic.Uint32 // usages that it lacks, is used for all the same, and that a warning has named
	flags          vk.BufferCreateFlags
	externalTypes  vk.ExternalMemoryHandleTypeFlags
	memoryTypeBits uint32
	memory         atomic.Pointer[deviceMemory]
	place          // in memory, set before memory is
}

func createBuffer(d *device, info *vk.BufferCreateInfo, _ *vk.AllocationCallbacks, out *vk.Buffer) vk.Result {
	b, err := d.newBuffer(info)
	if err != nil {
		return d.fail("vkCreateBuffer", err)
	}
	*out = vk.Buffer(d.add(b))
	return vk.SUCCESS
}

func (d *device) newBuffer(info *vk.BufferCreateInfo) (*buffer, error) {
	b := &buffer{child: child{device: d}, size: info.Size, usage: bufferUsage(info.Usage, info.PNext), flags: info.Flags}
	if info.Size == 0 {
		return nil, vk.Errorf(vk.ERROR_UNKNOWN, vk.VUID_VkBufferCreateInfo_size_00912, "a buffer of 0 bytes")
	}
	if most := d.physical.limits.buffer.MaxBufferSize; info.Size > most {
		return nil, vk.Errorf(vk.ERROR_OUT_OF_DEVICE_MEMORY, vk.VUID_VkBufferCreateInfo_size_06409,
			"%d bytes are more than maxBufferSize, %d", info.Size, most)
	}
	if info.Flags != 0 {
		return nil, vk.Errorf(vk.ERROR_UNKNOWN, vk.VUID_VkBufferCreateInfo_flags_00915,
			"buffer flags %v belong to features that the device does not have", info.Flags)
	}
	if e := vk.Find[vk.ExternalMemoryBufferCreateInfo](info.PNext); e != nil {
		b.externalTypes = e.HandleTypes
		together := export.Together(e.HandleTypes)
		for left := e.HandleTypes; left != 0; left &= left - 1 {
			together = together && d.physical.externalMemory(left&-left).Features != 0
		}
		if !together {
			return nil, vk.Errorf(vk.ERROR_UNKNOWN, vk.VUID_VkBufferCreateInfo_pNext_00920,
				"handle types %v are not supported together", e.HandleTypes)
		}
	}
	if a := vk.Find[vk.BufferOpaqueCaptureAddressCreateInfo](info.PNext); a != nil && a.OpaqueCaptureAddress != 0 {
		return nil, vk.Errorf(vk.ERROR_INVALID_OPAQUE_CAPTURE_ADDRESS, vk.VUID_VkBufferCreateInfo_opaqueCaptureAddress_03337,
			"a capture address needs the bufferDeviceAddressCaptureReplay feature")
	}
	b.memoryTypeBits = d.typesFor(b.externalTypes)
	return b, nil
}

// requirements returns what VkMemoryRequirements says: size and alignment in bytes, and the memory types.
func (b *buffer) requirements() (size, alignment uint64, typeBits uint32) {
	return (b.size + bufferAlignment - 1) &^ (bufferAlignment - 1), bufferAlignment, b.memoryTypeBits
}

// parameterHash is equal for buffers of equal creation parameters, in every process of the same driver
// (VUID-VkMemoryDedicatedAllocateInfo-buffer-01879).
func (b *buffer) parameterHash() uint64 {
	h := fnv.New64a()
	binary.Write(h, binary.LittleEndian, []uint64{b.size, uint64(b.usage), uint64(b.flags), uint64(b.externalTypes)})
	return h.Sum64()
}

func getBufferMemoryRequirements(_ *device, b *buffer, out *vk.MemoryRequirements) {
	out.Size, out.Alignment, out.MemoryTypeBits = b.requirements()
}

func getBufferMemoryRequirements2(_ *device, info *vk.BufferMemoryRequirementsInfo2, out *vk.MemoryRequirements2) {
	b := live(buffers, info.Buffer)
	r := &out.MemoryRequirements
	r.Size, r.Alignment, r.MemoryTypeBits = b.requirements()
	if dedicated := vk.Find[vk.MemoryDedicatedRequirements](out.PNext); dedicated != nil {
		dedicated.PrefersDedicatedAllocation, dedicated.RequiresDedicatedAllocation = vk.FALSE, vk.FALSE
	}
}

func getDeviceBufferMemoryRequirements(
	d *device, info *vk.DeviceBufferMemoryRequirements, out *vk.MemoryRequirements2,
) {
	b, err := d.newBuffer(info.PCreateInfo)
	if err != nil {
		d.fail("vkGetDeviceBufferMemoryRequirements", err)
		return
	}
	r := &out.MemoryRequirements
	r.Size, r.Alignment, r.MemoryTypeBits = b.requirements()
	if dedicated := vk.Find[vk.MemoryDedicatedRequirements](out.PNext); dedicated != nil {
		dedicated.PrefersDedicatedAllocation, dedicated.RequiresDedicatedAllocation = vk.FALSE, vk.FALSE
	}
}

// boundTo returns the memory that the buffer is bound to, nil before it is bound and after the memory is freed.
func (b *buffer) boundTo() *deviceMemory {
	m := b.memory.Load()
	if m == nil || deviceMemories.Get(m.handle) != m {
		return nil
	}
	return m
}

// memoryRules are the rules of a command that binds memory. The second form of a command has rules of its own.
type memoryRules struct {
	command   string
	types     vk.VUID // the resource may lie in the memory's type
	alignment vk.VUID // the offset is a multiple of the resource's alignment
	size      vk.VUID // the resource ends within the memory
	dedicated vk.VUID // dedicated memory is the resource's, from its beginning
	exported  vk.VUID // the resource was created for a handle type as which the memory can be exported
	imported  vk.VUID // the same for the type as which it was imported
	bound     vk.VUID // the resource isn't bound
	address   vk.VUID // of buffers: one with an address is in memory that has addresses
}

var (
	bindBufferMemoryRules = memoryRules{
		command: "vkBindBufferMemory",
		types:   vk.VUID_vkBindBufferMemory_memory_01035, alignment: vk.VUID_vkBindBufferMemory_None_10739,
		size: vk.VUID_vkBindBufferMemory_None_10741, dedicated: vk.VUID_vkBindBufferMemory_memory_01508,
		exported: vk.VUID_vkBindBufferMemory_memory_02726, imported: vk.VUID_vkBindBufferMemory_memory_02985,
		bound: vk.VUID_vkBindBufferMemory_buffer_07459, address: vk.VUID_vkBindBufferMemory_bufferDeviceAddress_03339,
	}
	bindBufferMemory2Rules = memoryRules{
		command: "vkBindBufferMemory2",
		types:   vk.VUID_VkBindBufferMemoryInfo_memory_01035, alignment: vk.VUID_VkBindBufferMemoryInfo_None_10739,
		size: vk.VUID_VkBindBufferMemoryInfo_None_10741, dedicated: vk.VUID_VkBindBufferMemoryInfo_memory_01508,
		exported: vk.VUID_VkBindBufferMemoryInfo_memory_02726, imported: vk.VUID_VkBindBufferMemoryInfo_memory_02985,
		bound: vk.VUID_VkBindBufferMemoryInfo_buffer_07459, address: vk.VUID_VkBindBufferMemoryInfo_bufferDeviceAddress_03339,
	}
	bindImageMemoryRules = memoryRules{
		command: "vkBindImageMemory",
		types:   vk.VUID_vkBindImageMemory_memory_01047, alignment: vk.VUID_vkBindImageMemory_None_10735,
		size: vk.VUID_vkBindImageMemory_None_10737, dedicated: vk.VUID_vkBindImageMemory_memory_02628,
		exported: vk.VUID_vkBindImageMemory_memory_02728, imported: vk.VUID_vkBindImageMemory_memory_02989,
		bound: vk.VUID_vkBindImageMemory_image_07460,
	}
	bindImageMemory2Rules = memoryRules{
		command: "vkBindImageMemory2",
		types:   vk.VUID_VkBindImageMemoryInfo_pNext_01615, alignment: vk.VUID_VkBindImageMemoryInfo_pNext_01616,
		size: vk.VUID_VkBindImageMemoryInfo_pNext_01617, dedicated: vk.VUID_VkBindImageMemoryInfo_memory_02628,
		exported: vk.VUID_VkBindImageMemoryInfo_memory_02728, imported: vk.VUID_VkBindImageMemoryInfo_memory_02989,
		bound: vk.VUID_VkBindImageMemoryInfo_image_07460,
	}
	bindImagePlaneRules = memoryRules{
		command: "vkBindImageMemory2",
		types:   vk.VUID_VkBindImageMemoryInfo_pNext_01619, alignment: vk.VUID_VkBindImageMemoryInfo_pNext_01620,
		size: vk.VUID_VkBindImageMemoryInfo_pNext_01621, dedicated: vk.VUID_VkBindImageMemoryInfo_memory_02628,
		exported: vk.VUID_VkBindImageMemoryInfo_memory_02728, imported: vk.VUID_VkBindImageMemoryInfo_memory_02989,
		bound: vk.VUID_VkBindImageMemoryInfo_image_07460,
	}
)

func bindBufferMemory(_ *device, b *buffer, m *deviceMemory, offset vk.DeviceSize) vk.Result {
	return bindBuffer(&bindBufferMemoryRules, b, m, offset, nil)
}

func bindBufferMemory2(_ *device, count uint32, infos *vk.BindBufferMemoryInfo) vk.Result {
	outcome := vk.SUCCESS
	for i := range vk.Slice(infos, count) {
		info := &vk.Slice(infos, count)[i]
		r := bindBuffer(&bindBufferMemory2Rules, live(buffers, info.Buffer), live(deviceMemories, info.Memory),
			info.MemoryOffset, bufferIndices(info))
		if status := vk.Find[vk.BindMemoryStatus](info.PNext); status != nil && status.PResult != nil {
			*status.PResult = r
		}
		if r != vk.SUCCESS {
			outcome = r
		}
	}
	return outcome
}

func bindBuffer(rules *memoryRules, b *buffer, m *deviceMemory, offset uint64, indices []uint32) vk.Result {
	size, alignment, typeBits := b.requirements()
	err := m.bindable(rules, resource{
		kind: "buffer", handle: b.handle, size: size, alignment: alignment, typeBits: typeBits,
		externalTypes: b.externalTypes,
	}, offset)
	switch {
	case err != nil:
	case b.usage&vk.BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT != 0 && b.device.features["bufferDeviceAddress"] &&
		!m.deviceAddress:
		err = vk.Errorf(vk.ERROR_UNKNOWN, rules.address,
			"the buffer has an address, its memory was allocated without VK_MEMORY_ALLOCATE_DEVICE_ADDRESS_BIT")
	case b.memory.Load() != nil:
		err = vk.Errorf(vk.ERROR_UNKNOWN, rules.bound, "the buffer is bound already")
	}
	var at place
	if err == nil {
		at, err = m.placed(&bufferGroupRules, offset, indices)
	}
	if err != nil {
		return b.device.physical.instance.fail(rules.command, err, object{vk.OBJECT_TYPE_BUFFER, b.handle},
			object{vk.OBJECT_TYPE_DEVICE_MEMORY, m.handle})
	}
	b.place = at
	b.memory.Store(m)
	return vk.SUCCESS
}

// resource is what binding needs to know of a buffer or an image.
type resource struct {
	kind            string // "buffer" or "image"
	handle          uint64
	size, alignment uint64
	typeBits        uint32
	externalTypes   vk.ExternalMemoryHandleTypeFlags
}

// bindable says whether r may lie in m from offset on.
func (m *deviceMemory) bindable(rules *memoryRules, r resource, offset uint64) error {
	switch {
	case r.typeBits>>m.typeIndex&1 == 0:
		return vk.Errorf(vk.ERROR_UNKNOWN, rules.types, "the %s cannot lie in memory type %d, only in %#x", r.kind,
			m.typeIndex, r.typeBits)
	case offset%r.alignment != 0:
		return vk.Errorf(vk.ERROR_UNKNOWN, rules.alignment, "offset %d is not a multiple of %d", offset, r.alignment)
	case offset >= m.size || r.size > m.size-offset:
		return vk.Errorf(vk.ERROR_OUT_OF_DEVICE_MEMORY, rules.size,
			"the %s needs %d bytes from offset %d, the memory has %d", r.kind, r.size, offset, m.size)
	case m.dedicatedTo != 0 && (m.dedicatedTo != r.handle || offset != 0):
		return vk.Errorf(vk.ERROR_UNKNOWN, rules.dedicated,
			"the memory is dedicated to another resource, or offset %d is not 0", offset)
	case m.exports.Types != 0 && r.externalTypes&m.exports.Types == 0:
		return vk.Errorf(vk.ERROR_UNKNOWN, rules.exported, "the memory is exportable as %v, the %s was created for %v",
			m.exports.Types, r.kind, r.externalTypes)
	case m.imported != 0 && r.externalTypes&m.imported == 0:
		return vk.Errorf(vk.ERROR_UNKNOWN, rules.imported, "the memory was imported as %v, the %s was created for %v",
			m.imported, r.kind, r.externalTypes)
	}
	return nil
}

// getBufferOpaqueCaptureAddress has nothing to replay: bufferDeviceAddressCaptureReplay is not advertised.
func getBufferOpaqueCaptureAddress(*device, *vk.BufferDeviceAddressInfo) uint64 { return 0 }

// bufferView is a VkBufferView: texels of a format over a range of a buffer.
type bufferView struct {
	child
	buffer        *buffer
	format        vk.Format
	offset, bytes uint64

	built views // the buffer is bound for good
}

// texels references and maps the memory that the view's buffer is bound to, for a physical device.
func (v *bufferView) texels(index uint32) (*sampling.View, *memory.Payload, error) {
	p, bytes, err := mapped(v.buffer.boundTo(), v.buffer.of(index), v.buffer.size)
	if err != nil {
		return nil, nil, err
	}
	kept := v.built.of(index)
	built := kept.Load()
	if built == nil {
		if built, err = sampling.NewBufferView(bytes[v.offset:v.offset+v.bytes], v.format); err != nil {
			p.Release()
			return nil, nil, err
		}
		kept.Store(built)
	}
	return built, p, nil
}

func createBufferView(
	d *device, info *vk.BufferViewCreateInfo, _ *vk.AllocationCallbacks, out *vk.BufferView,
) vk.Result {
	b := live(buffers, info.Buffer)
	v, err := b.newView(info)
	if err != nil {
		return d.fail("vkCreateBufferView", err)
	}
	*out = vk.BufferView(d.add(v))
	return vk.SUCCESS
}

func (b *buffer) newView(info *vk.BufferViewCreateInfo) (*bufferView, error) {
	const texels = vk.BUFFER_USAGE_UNIFORM_TEXEL_BUFFER_BIT | vk.BUFFER_USAGE_STORAGE_TEXEL_BUFFER_BIT
	f, ok := vk.FormatInfo(info.Format)
	features := bufferFeatures(info.Format)
	switch {
	case b.usage&texels == 0:
		return nil, vk.Errorf(vk.ERROR_UNKNOWN, vk.VUID_VkBufferViewCreateInfo_buffer_00932,
			"the buffer was created without a texel-buffer usage")
	case !ok:
		return nil, vk.Errorf(vk.ERROR_UNKNOWN, vk.VUID_VkBufferViewCreateInfo_format_parameter, "there is no format %v",
			info.Format)
	case b.usage&vk.BUFFER_USAGE_UNIFORM_TEXEL_BUFFER_BIT != 0 &&
		features&vk.FORMAT_FEATURE_2_UNIFORM_TEXEL_BUFFER_BIT == 0:
		return nil, vk.Errorf(vk.ERROR_UNKNOWN, vk.VUID_VkBufferViewCreateInfo_format_08778,
			"format %v is not for uniform texel buffers", info.Format)
	case b.usage&vk.BUFFER_USAGE_STORAGE_TEXEL_BUFFER_BIT != 0 &&
		features&vk.FORMAT_FEATURE_2_STORAGE_TEXEL_BUFFER_BIT == 0:
		return nil, vk.Errorf(vk.ERROR_UNKNOWN, vk.VUID_VkBufferViewCreateInfo_format_08779,
			"format %v is not for storage texel buffers", info.Format)
	case info.Offset >= b.size:
		return nil, vk.Errorf(vk.ERROR_UNKNOWN, vk.VUID_VkBufferViewCreateInfo_offset_00925,
			"offset %d is outside the buffer of %d bytes", info.Offset, b.size)
	}
	if err := b.checkViewOffset(info.Offset); err != nil {
		return nil, err
	}
	bytes := b.size - info.Offset
	if info.Range == vk.WHOLE_SIZE {
		bytes -= bytes % uint64(f.BlockSize)
	} else {
		if info.Range == 0 || info.Range%uint64(f.BlockSize) != 0 {
			return nil, vk.Errorf(vk.ERROR_UNKNOWN, vk.VUID_VkBufferViewCreateInfo_range_00929,
				"range %d is not a positive multiple of a texel, %d bytes", info.Range, f.BlockSize)
		}
		if info.Range > bytes {
			return nil, vk.Errorf(vk.ERROR_UNKNOWN, vk.VUID_VkBufferViewCreateInfo_offset_00931,
				"%d bytes from offset %d reach beyond the buffer of %d bytes", info.Range, info.Offset, b.size)
		}
		bytes = info.Range
	}
	if most := b.device.physical.limits.MaxTexelBufferElements; bytes/uint64(f.BlockSize) > uint64(most) {
		return nil, vk.Errorf(vk.ERROR_UNKNOWN, vk.VUID_VkBufferViewCreateInfo_range_00930,
			"%d texels are more than maxTexelBufferElements, %d", bytes/uint64(f.BlockSize), most)
	}
	v := &bufferView{child: child{device: b.device}, buffer: b, format: info.Format, offset: info.Offset, bytes: bytes}
	v.built.grow(b.device)
	return v, nil
}

// checkViewOffset holds the offset of a texel buffer to the alignments of the buffer's usages.
func (b *buffer) checkViewOffset(offset uint64) error {
	l := &b.device.physical.limits.texels
	if most := l.StorageTexelBufferOffsetAlignmentBytes; offset%most != 0 &&
		b.usage&vk.BUFFER_USAGE_STORAGE_TEXEL_BUFFER_BIT != 0 {
		return vk.Errorf(vk.ERROR_UNKNOWN, vk.VUID_VkBufferViewCreateInfo_buffer_02750, "offset %d is no multiple of %d",
			offset, most)
	}
	if most := l.UniformTexelBufferOffsetAlignmentBytes; offset%most != 0 &&
		b.usage&vk.BUFFER_USAGE_UNIFORM_TEXEL_BUFFER_BIT != 0 {
		return vk.Errorf(vk.ERROR_UNKNOWN, vk.VUID_VkBufferViewCreateInfo_buffer_02751, "offset %d is no multiple of %d",
			offset, most)
	}
	return nil
}
