package export

import (
	"golang.org/x/sys/unix"

	"farside/internal/fd"
	"farside/internal/memfd"
	"farside/internal/vk"
	"farside/memory"
)

// opaqueFD is OPAQUE_FD: a descriptor of the payload's memfd. The memfd carries metadata that an import is held to.
type opaqueFD struct{}

// The rules that an imported descriptor breaks.
const (
	vuidFDValid  = vk.VUID_VkImportMemoryFdInfoKHR_handleType_00670
	vuidFDDevice = vk.VUID_VkImportMemoryFdInfoKHR_fd_01746
	vuidFDSize   = vk.VUID_VkMemoryAllocateInfo_allocationSize_01742
	vuidFDMask   = vk.VUID_VkMemoryAllocateInfo_None_00643
	vuidFDGroup  = vk.VUID_VkMemoryAllocateInfo_None_00644
	vuidFDImage  = vk.VUID_VkMemoryDedicatedAllocateInfo_image_01878
	vuidFDBuffer = vk.VUID_VkMemoryDedicatedAllocateInfo_buffer_01879
)

func (opaqueFD) traits() traits { return traits{names: namesFile, whole: true} }

func (opaqueFD) memoryTypes(types []memory.Type) uint32 { return allTypes(types) }

func (opaqueFD) export(m Memory) (Handle, error) {
	raw, err := m.Payload().Export()
	if err != nil {
		return Handle{}, systemError("F_DUPFD_CLOEXEC", err)
	}
	return Handle{Type: vk.EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT, By: FileDescriptor, FD: raw}, nil
}

// Lend returns the descriptor of which Export would make a duplicate, which stays the memory's; false if handles of the
// type are made otherwise, or if Export would fail.
func Lend(m Memory, t vk.ExternalMemoryHandleTypeFlags) (fd int, ok bool) {
	if t != vk.EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT || m.ExportSet().all()&t == 0 {
		return 0, false
	}
	return m.Payload().FD()
}

func (opaqueFD) payload(h Handle, want *Expect) (*memory.Payload, error) {
	m, err := readMetadata(h.FD)
	if err != nil {
		return nil, err
	}
	if err := checkMetadata(h.FD, &m, want); err != nil {
		return nil, err
	}
	return importFile(h.FD, m.Size, m)
}

// importFile makes a payload that owns raw.
func importFile(raw int, size uint64, m memory.Metadata) (*memory.Payload, error) {
	file, err := fd.Own(raw)
	if err != nil {
		return nil, systemError("F_DUPFD_CLOEXEC", err)
	}
	return memory.FromFD(file, size, m), nil
}

// readMetadata makes raw prove that it is a payload's file. The seals come before the size, and the metadata is
// copied before it is looked at: afterwards no other holder of the file can change what was checked.
func readMetadata(raw int) (memory.Metadata, error) {
	size, err := memfd.Check(raw)
	if err != nil {
		return memory.Metadata{}, invalid(vuidFDValid, "%w", err)
	}
	page := int64(memory.PageSize())
	if size%page != 0 || size < 2*page {
		return memory.Metadata{}, invalid(vuidFDValid,
			"fd %d has %d bytes, which is not a payload of whole pages and a page of metadata", raw, size)
	}
	var buf [memory.MetadataSize]byte
	if n, err := unix.Pread(raw, buf[:], size-page); err != nil || n != len(buf) {
		return memory.Metadata{}, invalid(vuidFDValid, "the metadata of fd %d can't be read (%d bytes, %w)", raw, n, err)
	}
	m, err := memory.ParseMetadata(buf[:])
	if err != nil {
		return memory.Metadata{}, invalid(vuidFDValid, "fd %d: %w", raw, err)
	}
	if uint64(size) != memory.RoundUpToPage(m.Size)+memory.PageSize() {
		return memory.Metadata{}, invalid(vuidFDValid,
			"fd %d has %d bytes, its metadata says that the payload has %d", raw, size, m.Size)
	}
	return m, nil
}

// checkMetadata holds what the file says about itself to the import's parameters.
func checkMetadata(raw int, m *memory.Metadata, want *Expect) error {
	const opaque = vk.EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT
	switch {
	case (Set{m.HandleTypes, m.HandleTypesNV}).all()&opaque == 0:
		return invalid(vuidFDValid, "fd %d was exported as handle types %v, not as OPAQUE_FD", raw, m.HandleTypes)
	case m.ID == 0:
		return invalid(vuidFDValid, "fd %d has no payload ID", raw)
	case m.DriverUUID != want.DriverUUID:
		return invalid(vuidFDDevice, "fd %d is from driver %x, this is %x", raw, m.DriverUUID, want.DriverUUID)
	case m.DeviceUUID != want.DeviceUUID && m.DeviceMask|want.DeviceMask != 0:
		return invalid(vuidFDGroup, "fd %d is from a device of other physical devices", raw)
	case m.DeviceUUID != want.DeviceUUID:
		return invalid(vuidFDDevice, "fd %d is from device %x, this is %x", raw, m.DeviceUUID, want.DeviceUUID)
	case m.DeviceMask != want.DeviceMask:
		return invalid(vuidFDMask, "fd %d was allocated with device mask %#b, the import says %#b", raw, m.DeviceMask,
			want.DeviceMask)
	case m.Size != want.Size:
		return invalid(vuidFDSize, "fd %d was allocated with %d bytes, the import says %d", raw, m.Size, want.Size)
	case m.MemoryType != want.MemoryType:
		return invalid(vuidFDSize, "fd %d was allocated with memory type %d, the import says %d",
			raw, m.MemoryType, want.MemoryType)
	case m.Properties != want.Properties:
		return invalid(vuidFDSize, "fd %d was allocated with memory property flags %v, here type %d has %v",
			raw, m.Properties, want.MemoryType, want.Properties)
	case want.Dedicated.Kind != memory.NotDedicated && want.Dedicated != m.Dedicated:
		vuid, what := vuidFDBuffer, "buffer"
		if want.Dedicated.Kind == memory.DedicatedImage {
			vuid, what = vuidFDImage, "image"
		}
		return invalid(vuid, "fd %d was not allocated for a %s with these creation parameters", raw, what)
	}
	return nil
}
