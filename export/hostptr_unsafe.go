package export

import (
	"bytes"
	"strconv"
	"unsafe"

	"golang.org/x/sys/unix"

	"farside/internal/fd"
	"farside/internal/vk"
	"farside/memory"
)

const (
	vuidHostAligned = vk.VUID_VkImportMemoryHostPointerInfoEXT_pHostPointer_01749
	vuidHostSize    = vk.VUID_VkMemoryAllocateInfo_allocationSize_01745
	vuidHostRange   = vk.VUID_VkImportMemoryHostPointerInfoEXT_handleType_01750
	vuidPropsAlign  = vk.VUID_vkGetMemoryHostPointerPropertiesEXT_pHostPointer_01753
	vuidPropsRange  = vk.VUID_vkGetMemoryHostPointerPropertiesEXT_handleType_01754
)

// hostAllocation is HOST_ALLOCATION: pages of the application, which stay the application's.
type hostAllocation struct{}

func (hostAllocation) traits() traits { return traits{names: namesPages} }

func (hostAllocation) memoryTypes(types []memory.Type) uint32 {
	return typesWith(types, vk.MEMORY_PROPERTY_HOST_VISIBLE_BIT)
}

// HostPointerAlignment returns minImportedHostPointerAlignment in bytes.
func HostPointerAlignment() uint64 { return memory.PageSize() }

// payload: the range must be mapped, readable and writable; address and size are multiples of HostPointerAlignment.
func (hostAllocation) payload(h Handle, want *Expect) (*memory.Payload, error) {
	switch {
	case want.Dedicated.Kind != memory.NotDedicated:
		return nil, invalid(vk.VUID_VkMemoryAllocateInfo_pNext_02806,
			"an imported host pointer cannot be dedicated to a resource")
	case want.Properties&vk.MEMORY_PROPERTY_HOST_VISIBLE_BIT == 0:
		return nil, invalid(vk.VUID_VkMemoryAllocateInfo_memoryTypeIndex_01744,
			"memory type %d is not host-visible, a host pointer cannot be imported into it", want.MemoryType)
	case !aligned(h.Pointer):
		return nil, invalid(vuidHostAligned, "host pointer %p is not a multiple of %d", h.Pointer, HostPointerAlignment())
	case want.Size == 0 || want.Size%HostPointerAlignment() != 0:
		return nil, invalid(vuidHostSize, "%d bytes are not a multiple of %d", want.Size, HostPointerAlignment())
	}
	if err := checkHostRange(uintptr(h.Pointer), want.Size, vuidHostRange); err != nil {
		return nil, err
	}
	return memory.FromHostPointer(h.Pointer, want.Size), nil
}

func (t hostAllocation) inspect(h Handle, types []memory.Type) (uint32, error) {
	if !aligned(h.Pointer) {
		return 0, invalid(vuidPropsAlign, "host pointer %p is not a multiple of %d", h.Pointer, HostPointerAlignment())
	}
	if err := checkHostRange(uintptr(h.Pointer), HostPointerAlignment(), vuidPropsRange); err != nil {
		return 0, err
	}
	return t.memoryTypes(types), nil
}

func aligned(p unsafe.Pointer) bool {
	return p != nil && uint64(uintptr(p))%HostPointerAlignment() == 0
}

// checkHostRange looks the range up in the kernel's list of mappings: touching it to find out would fault, or
// change what is there.
func checkHostRange(addr uintptr, size uint64, vuid vk.VUID) error {
	end := uint64(addr) + size
	if end < size {
		return invalid(vuid, "host memory %#x with %d bytes wraps around", addr, size)
	}
	maps, err := fd.Open("/proc/self/maps", unix.O_RDONLY, 0)
	if err != nil {
		return invalid(vuid, "host memory can't be checked: %w", err)
	}
	defer maps.Close()
	next := uint64(addr)
	buf := make([]byte, 16<<10)
	for have := 0; ; {
		n, err := unix.Read(maps.Int(), buf[have:])
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
