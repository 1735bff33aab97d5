package export

import (
	"sync"
	"unsafe"

	"golang.org/x/sys/unix"

	"farside/internal/vk"
	"farside/memory"
)

const (
	udmabufDevice = "/dev/udmabuf"
	dmaBufMagic   = 0x444d4142 // linux/magic.h: DMA_BUF_MAGIC
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

// DMABufAvailable says whether this machine can make dma-bufs of memory: VK_EXT_external_memory_dma_buf is
// exposed only then. The answer stays the same for the life of the process.
var DMABufAvailable = sync.OnceValue(func() bool {
	fd, err := unix.Open(udmabufDevice, unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		return false
	}
	unix.Close(fd)
	return true
})

// exportDMABuf makes a dma-buf of a memfd's first size bytes. The kernel's limit for one (64 MiB unless its
// size_limit_mb parameter says otherwise) gives ERROR_OUT_OF_HOST_MEMORY.
func exportDMABuf(memfd int, size uint64) (int, error) {
	dev, err := unix.Open(udmabufDevice, unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		return -1, exportError("open "+udmabufDevice, err)
	}
	defer unix.Close(dev)
	req := udmabufRequest{memfd: uint32(memfd), flags: udmabufFlagCloexec, size: size}
	fd, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(dev), udmabufCreate, uintptr(unsafe.Pointer(&req)))
	if errno != 0 {
		return -1, exportError("UDMABUF_CREATE", errno)
	}
	return int(fd), nil
}

// isDMABuf says whether a payload was imported from a dma-buf, which has no metadata.
func isDMABuf(p *memory.Payload) bool {
	_, ok := p.FD()
	m := p.Metadata()
	return ok && m.Size == 0
}

// checkDMABuf returns a number that names the dma-buf on this machine, and its size in bytes.
func checkDMABuf(fd int, vuid string) (id, size uint64, err error) {
	flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFL, 0)
	if err != nil {
		return 0, 0, invalid(vuid, "fd %d is not open: %w", fd, err)
	}
	var fs unix.Statfs_t
	if err := unix.Fstatfs(fd, &fs); err != nil || fs.Type != dmaBufMagic {
		return 0, 0, invalid(vuid, "fd %d is not a dma-buf (file system %#x)", fd, fs.Type)
	}
	if flags&unix.O_ACCMODE != unix.O_RDWR {
		return 0, 0, invalid(vuid, "fd %d is not open for reading and writing", fd)
	}
	// A dma-buf's size is fixed when it is made; seeking is how it is asked for.
	end, err := unix.Seek(fd, 0, unix.SEEK_END)
	if err != nil {
		return 0, 0, invalid(vuid, "the size of dma-buf %d: %w", fd, err)
	}
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return 0, 0, vk.Errorf(vk.ERROR_INVALID_EXTERNAL_HANDLE, vuid, "fstat of dma-buf %d: %w", fd, err)
	}
	// Every dma-buf has an inode of its own on the kernel's one dma-buf file system; the top bit keeps these
	// numbers apart from 0.
	return st.Ino | 1<<63, uint64(end), nil
}
