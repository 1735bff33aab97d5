package export

import (
	"bytes"
	"strconv"
	"unsafe"

	"golang.org/x/sys/unix"

	"farside/internal/vk"
	"farside/memory"
)

const (
	vuidHostType    = "VUID-VkImportMemoryHostPointerInfoEXT-handleType-01747"
	vuidHostAligned = "VUID-VkImportMemoryHostPointerInfoEXT-pHostPointer-01749"
	vuidHostSize    = "VUID-VkMemoryAllocateInfo-allocationSize-01745"
	vuidHostRange   = "VUID-VkImportMemoryHostPointerInfoEXT-handleType-01750"
	vuidPropsType   = "VUID-vkGetMemoryHostPointerPropertiesEXT-handleType-01752"
	vuidPropsAlign  = "VUID-vkGetMemoryHostPointerPropertiesEXT-pHostPointer-01753"
	vuidPropsRange  = "VUID-vkGetMemoryHostPointerPropertiesEXT-handleType-01754"
)

// HostPointerAlignment returns minImportedHostPointerAlignment in bytes.
func HostPointerAlignment() uint64 { return memory.PageSize() }

// ImportHostPointer returns a payload over size bytes of the application's memory at addr, which stays the
// application's. The range must be mapped, readable and writable; addr and size are multiples of
// HostPointerAlignment. It fails with ERROR_INVALID_EXTERNAL_HANDLE.
func ImportHostPointer(addr unsafe.Pointer, size uint64, handleType vk.ExternalMemoryHandleTypeFlags) (*memory.Payload, error) {
	switch {
	case handleType != hostAlloc:
		return nil, invalid(vuidHostType, "handle type %v can't be imported from a host pointer", handleType)
	case addr == nil || uint64(uintptr(addr))%HostPointerAlignment() != 0:
		return nil, invalid(vuidHostAligned, "host pointer %p is not a multiple of %d", addr, HostPointerAlignment())
	case size == 0 || size%HostPointerAlignment() != 0:
		return nil, invalid(vuidHostSize, "%d bytes are not a multiple of %d", size, HostPointerAlignment())
	}
	if err := checkHostRange(uintptr(addr), size, vuidHostRange); err != nil {
		return nil, err
	}
	return memory.FromHostPointer(addr, size), nil
}

// HostPointerProperties answers vkGetMemoryHostPointerPropertiesEXT: the memory types, as bits, that the
// memory at addr can be imported with. It fails with ERROR_INVALID_EXTERNAL_HANDLE.
func HostPointerProperties(addr unsafe.Pointer, handleType vk.ExternalMemoryHandleTypeFlags, types []memory.Type) (uint32, error) {
	switch {
	case handleType != hostAlloc:
		return 0, invalid(vuidPropsType, "handle type %v is not a host allocation", handleType)
	case addr == nil || uint64(uintptr(addr))%HostPointerAlignment() != 0:
		return 0, invalid(vuidPropsAlign, "host pointer %p is not a multiple of %d", addr, HostPointerAlignment())
	}
	if err := checkHostRange(uintptr(addr), HostPointerAlignment(), vuidPropsRange); err != nil {
		return 0, err
	}
	return hostVisible(types), nil
}

// checkHostRange looks the range up in the kernel's list of mappings: touching it to find out would fault, or
// change what is there.
func checkHostRange(addr uintptr, size uint64, vuid string) error {
	end := uint64(addr) + size
	if end < size {
		return invalid(vuid, "host memory %#x with %d bytes wraps around", addr, size)
	}
	fd, err := unix.Open("/proc/self/maps", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return invalid(vuid, "host memory can't be checked: %w", err)
	}
	defer unix.Close(fd)
	next := uint64(addr)
	buf := make([]byte, 16<<10)
	for have := 0; ; {
		n, err := unix.Read(fd, buf[have:])
		if err != nil && err != unix.EINTR {
			return invalid(vuid, "host memory can't be checked: %w", err)
		}
		if err == nil && n == 0 {
			return invalid(vuid, "host memory at %#x is not mapped", next)
		}
		have += max(n, 0)
		text := buf[:have]
		for {
			line, rest, ok := bytes.Cut(text, []byte{'\n'})
			if !ok {
				break
			}
			text = rest
			low, high, writable, file := parseMapping(line)
			if high <= next {
				continue
			}
			if low > next {
				return invalid(vuid, "host memory at %#x is not mapped", next)
			}
			if !writable {
				return invalid(vuid, "host memory at %#x is not readable and writable", next)
			}
			if file && !lastPageExists(min(high, end)) {
				return invalid(vuid, "host memory before %#x lies beyond the end of its file", min(high, end))
			}
			if next = high; next >= end {
				return nil
			}
		}
		have = copy(buf, text)
		if have == len(buf) {
			return invalid(vuid, "host memory can't be checked: a mapping's name is too long")
		}
	}
}

// parseMapping reads one line of /proc/self/maps: "low-high perms offset device inode name".
func parseMapping(line []byte) (low, high uint64, writable, file bool) {
	f := bytes.Fields(line)
	if len(f) < 5 {
		return 0, 0, false, false
	}
	a, b, _ := bytes.Cut(f[0], []byte{'-'})
	low, _ = strconv.ParseUint(string(a), 16, 64)
	high, _ = strconv.ParseUint(string(b), 16, 64)
	return low, high, bytes.HasPrefix(f[1], []byte("rw")), string(f[4]) != "0"
}

// lastPageExists says whether the page that ends at end can be read: a mapping may be longer than its file,
// and what lies beyond the end of the file gives SIGBUS. Where the call is forbidden the answer is yes.
func lastPageExists(end uint64) bool {
	var b [1]byte
	local := []unix.Iovec{{Base: &b[0], Len: 1}}
	remote := []unix.RemoteIovec{{Base: uintptr(end - memory.PageSize()), Len: 1}}
	_, err := unix.ProcessVMReadv(unix.Getpid(), local, remote, 0)
	return err != unix.EFAULT
}
