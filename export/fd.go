package export

import (
	"errors"

	"golang.org/x/sys/unix"

	"farside/internal/vk"
	"farside/memory"
)

// The rules that a descriptor breaks.
const (
	vuidFDValid      = "VUID-VkImportMemoryFdInfoKHR-handleType-00670"
	vuidFDType       = "VUID-VkImportMemoryFdInfoKHR-handleType-00669"
	vuidFDSupported  = "VUID-VkImportMemoryFdInfoKHR-handleType-00667"
	vuidFDDevice     = "VUID-VkImportMemoryFdInfoKHR-fd-01746"
	vuidFDSize       = "VUID-VkMemoryAllocateInfo-allocationSize-01742"
	vuidFDImage      = "VUID-VkMemoryDedicatedAllocateInfo-image-01878"
	vuidFDBuffer     = "VUID-VkMemoryDedicatedAllocateInfo-buffer-01879"
	vuidGetFDType    = "VUID-VkMemoryGetFdInfoKHR-handleType-00672"
	vuidFDPropsValid = "VUID-vkGetMemoryFdPropertiesKHR-fd-00673"
	vuidFDPropsType  = "VUID-vkGetMemoryFdPropertiesKHR-handleType-00674"
)

const (
	// sealsNeeded make the file's size final.
	sealsNeeded = unix.F_SEAL_SHRINK | unix.F_SEAL_GROW | unix.F_SEAL_SEAL
	// sealsForbidden would let the import be read only.
	sealsForbidden = unix.F_SEAL_WRITE | unix.F_SEAL_FUTURE_WRITE
)

// ExportFD returns a new close-on-exec descriptor of the payload, which the caller owns. handleType is
// OPAQUE_FD or DMA_BUF; the caller has checked that it is in the allocation's export set. It fails with
// ERROR_TOO_MANY_OBJECTS when the process or the system is out of descriptors and with
// ERROR_OUT_OF_HOST_MEMORY otherwise.
func ExportFD(p *memory.Payload, handleType vk.ExternalMemoryHandleTypeFlags) (int, error) {
	fd, ok := p.FD()
	switch {
	case handleType != opaqueFD && handleType != dmaBuf:
		return -1, vk.Errorf(vk.ERROR_INVALID_EXTERNAL_HANDLE, vuidGetFDType,
			"handle type %v is not a file descriptor", handleType)
	case !ok:
		return -1, vk.Errorf(vk.ERROR_INVALID_EXTERNAL_HANDLE, "VUID-VkMemoryGetFdInfoKHR-handleType-00671",
			"this memory was not allocated to be exported")
	case handleType == dmaBuf && !isDMABuf(p):
		return exportDMABuf(fd, memory.RoundUpToPage(p.Size()))
	}
	// The call never blocks, so that the scheduler need not hear of it: that is a fifth of its time.
	dup, _, errno := unix.RawSyscall(unix.SYS_FCNTL, uintptr(fd), unix.F_DUPFD_CLOEXEC, 0)
	if errno != 0 {
		return -1, exportError("F_DUPFD_CLOEXEC", errno)
	}
	return int(dup), nil
}

func exportError(call string, err error) error {
	r := vk.ERROR_OUT_OF_HOST_MEMORY
	if errors.Is(err, unix.EMFILE) || errors.Is(err, unix.ENFILE) {
		r = vk.ERROR_TOO_MANY_OBJECTS
	}
	return vk.Errorf(r, "", "%s: %w", call, err)
}

// Expect is what the importing allocation says about the memory: for OPAQUE_FD it must be what the exporting
// one said.
type Expect struct {
	Size       uint64 // VkMemoryAllocateInfo::allocationSize, bytes
	MemoryType uint32
	Properties vk.MemoryPropertyFlags // the memory type's
	DriverUUID [16]byte
	DeviceUUID [16]byte
	// Dedicated is the resource of VkMemoryDedicatedAllocateInfo, the zero value without one.
	Dedicated memory.Dedicated
}

// ImportFD returns a payload over fd, whose owner it becomes. When it fails, fd is as it was and still the
// caller's. Every check is done before anything is mapped; each failure is ERROR_INVALID_EXTERNAL_HANDLE with
// the broken rule's VUID.
func ImportFD(fd int, handleType vk.ExternalMemoryHandleTypeFlags, want Expect) (*memory.Payload, error) {
	switch handleType {
	case opaqueFD:
		m, err := checkOpaque(fd, want)
		if err != nil {
			return nil, err
		}
		return memory.FromFD(fd, m.Size, m), nil
	case dmaBuf:
		if !DMABufAvailable() {
			return nil, invalid(vuidFDSupported, "dma-bufs are not supported: /dev/udmabuf can't be opened")
		}
		id, size, err := checkDMABuf(fd, vuidFDValid)
		if err != nil {
			return nil, err
		}
		if want.Size > size {
			return nil, invalid(vuidFDSize, "the dma-buf has %d bytes, %d are asked for", size, want.Size)
		}
		return memory.FromFD(fd, want.Size, memory.Metadata{ID: id}), nil
	}
	return nil, invalid(vuidFDType, "handle type %v can't be imported from a file descriptor", handleType)
}

func invalid(vuid, format string, args ...any) error {
	return vk.Errorf(vk.ERROR_INVALID_EXTERNAL_HANDLE, vuid, format, args...)
}

// checkOpaque makes fd prove that it is a payload of this driver and device, and the one that is wanted. The
// seals come before the size, and the metadata is copied before it is looked at: afterwards no other holder of
// the file can change what was checked.
func checkOpaque(fd int, want Expect) (memory.Metadata, error) {
	size, err := CheckSealedFile(fd, vuidFDValid)
	if err != nil {
		return memory.Metadata{}, err
	}
	page := int64(memory.PageSize())
	if size%page != 0 || size < 2*page {
		return memory.Metadata{}, invalid(vuidFDValid,
			"fd %d has %d bytes, which is not a payload of whole pages and a page of metadata", fd, size)
	}
	var buf [memory.MetadataSize]byte
	if n, err := unix.Pread(fd, buf[:], size-page); err != nil || n != len(buf) {
		return memory.Metadata{}, invalid(vuidFDValid, "the metadata of fd %d can't be read (%d bytes, %w)", fd, n, err)
	}
	m, err := memory.ParseMetadata(buf[:])
	if err != nil {
		return memory.Metadata{}, invalid(vuidFDValid, "fd %d: %w", fd, err)
	}
	return m, checkMetadata(fd, size, &m, &want)
}

// CheckSealedFile returns the size in bytes of a file that can be mapped for reading and writing and whose size
// is final. It fails with ERROR_INVALID_EXTERNAL_HANDLE and vuid, the rule that fd breaks otherwise.
func CheckSealedFile(fd int, vuid string) (int64, error) {
	flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFL, 0)
	if err != nil {
		return 0, invalid(vuid, "fd %d is not open: %w", fd, err)
	}
	if flags&unix.O_ACCMODE != unix.O_RDWR || flags&unix.O_PATH != 0 {
		return 0, invalid(vuid, "fd %d is not open for reading and writing", fd)
	}
	seals, err := unix.FcntlInt(uintptr(fd), unix.F_GET_SEALS, 0)
	if err != nil {
		return 0, invalid(vuid, "fd %d is not a memfd: it has no seals: %w", fd, err)
	}
	if seals&sealsNeeded != sealsNeeded {
		return 0, invalid(vuid, "fd %d is not sealed against resizing (seals %#x)", fd, seals)
	}
	if seals&sealsForbidden != 0 {
		return 0, invalid(vuid, "fd %d is sealed against writing (seals %#x)", fd, seals)
	}
	// A memfd of huge pages has seals as well, and can't be mapped by the page.
	var fs unix.Statfs_t
	if err := unix.Fstatfs(fd, &fs); err != nil || fs.Type != unix.TMPFS_MAGIC {
		return 0, invalid(vuid, "fd %d is not a memfd of normal pages (file system %#x)", fd, fs.Type)
	}
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil || st.Mode&unix.S_IFMT != unix.S_IFREG {
		return 0, invalid(vuid, "fd %d is not a regular file (mode %#o)", fd, st.Mode)
	}
	return st.Size, nil
}

// checkMetadata holds what the file says about itself to the file's size and to the import's parameters.
func checkMetadata(fd int, fileSize int64, m *memory.Metadata, want *Expect) error {
	switch {
	case uint64(fileSize) != memory.RoundUpToPage(m.Size)+memory.PageSize():
		return invalid(vuidFDValid, "fd %d has %d bytes, its metadata says that the payload has %d", fd, fileSize, m.Size)
	case m.HandleTypes&opaqueFD == 0 && m.HandleTypesNV == 0:
		return invalid(vuidFDValid, "fd %d was exported as handle types %v, not as OPAQUE_FD", fd, m.HandleTypes)
	case m.ID == 0:
		return invalid(vuidFDValid, "fd %d has no payload ID", fd)
	case m.DriverUUID != want.DriverUUID:
		return invalid(vuidFDDevice, "fd %d is from driver %x, this is %x", fd, m.DriverUUID, want.DriverUUID)
	case m.DeviceUUID != want.DeviceUUID:
		return invalid(vuidFDDevice, "fd %d is from device %x, this is %x", fd, m.DeviceUUID, want.DeviceUUID)
	case m.Size != want.Size:
		return invalid(vuidFDSize, "fd %d was allocated with %d bytes, the import says %d", fd, m.Size, want.Size)
	case m.MemoryType != want.MemoryType:
		return invalid(vuidFDSize, "fd %d was allocated with memory type %d, the import says %d",
			fd, m.MemoryType, want.MemoryType)
	case m.Properties != want.Properties:
		return invalid(vuidFDSize, "fd %d was allocated with memory property flags %v, here type %d has %v",
			fd, m.Properties, want.MemoryType, want.Properties)
	case want.Dedicated.Kind != memory.NotDedicated && want.Dedicated != m.Dedicated:
		vuid, what := vuidFDBuffer, "buffer"
		if want.Dedicated.Kind == memory.DedicatedImage {
			vuid, what = vuidFDImage, "image"
		}
		return invalid(vuid, "fd %d was not allocated for a %s with these creation parameters", fd, what)
	}
	return nil
}

// FDProperties answers vkGetMemoryFdPropertiesKHR: the memory types, as bits, that fd can be imported with. It
// fails with ERROR_INVALID_EXTERNAL_HANDLE.
func FDProperties(fd int, handleType vk.ExternalMemoryHandleTypeFlags, types []memory.Type) (uint32, error) {
	if handleType != dmaBuf || !DMABufAvailable() {
		return 0, invalid(vuidFDPropsType, "handle type %v has no queryable properties", handleType)
	}
	if _, _, err := checkDMABuf(fd, vuidFDPropsValid); err != nil {
		return 0, err
	}
	return hostVisible(types), nil
}

// hostVisible returns the memory types that the application's own pages may have.
func hostVisible(types []memory.Type) uint32 {
	var set uint32
	for i, t := range types {
		if t.Flags&vk.MEMORY_PROPERTY_HOST_VISIBLE_BIT != 0 {
			set |= 1 << i
		}
	}
	return set
}
