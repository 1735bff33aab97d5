package export

import (
	"unsafe"

	"golang.org/x/sys/unix"

	"farside/internal/fd"
	"farside/memory"
)

const (
	// linux/udmabuf.h: _IOW('u', 0x42, struct udmabuf_create)
	udmabufCreate      = 0x40187542
	udmabufFlagCloexec = 1
)

// udmabufRequest is linux/udmabuf.h's struct udmabuf_create.
type udmabufRequest struct {
	memfd  uint32
	flags  uint32
	offset uint64
	size   uint64
}

// makeDMABuf makes a dma-buf of a memfd's first size bytes, which are pinned for as long as it exists.
func makeDMABuf(memfd int, size uint64) (*fd.FD, error) {
	dev, err := fd.Open(udmabufDevice, unix.O_RDWR, 0)
	if err != nil {
		return nil, systemError("open "+udmabufDevice, err)
	}
	defer dev.Close()
	req := udmabufRequest{memfd: uint32(memfd), flags: udmabufFlagCloexec, size: size}
	made, err := fd.Fresh(ioctl(dev, udmabufCreate, unsafe.Pointer(&req)))
	if err != nil {
		return nil, systemError("UDMABUF_CREATE", err)
	}
	return made, nil
}

func ioctl(dev *fd.FD, request uintptr, arg unsafe.Pointer) (int, error) {
	r, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(dev.Int()), request, uintptr(arg))
	if errno != 0 {
		return -1, errno
	}
	return int(r), nil
}

// tryMap maps the first page of a file for reading and writing, and unmaps it. Errors: mmap(2).
func tryMap(raw int) error {
	page := uintptr(memory.PageSize())
	const rw = unix.PROT_READ | unix.PROT_WRITE
	addr, _, errno := unix.Syscall6(unix.SYS_MMAP, 0, page, rw, unix.MAP_SHARED, uintptr(raw), 0)
	if errno != 0 {
		return errno
	}
	unix.Syscall(unix.SYS_MUNMAP, addr, page, 0)
	return nil
}
