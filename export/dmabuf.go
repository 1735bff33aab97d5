package export

import (
	"math"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/sys/unix"

	"farside/internal/fd"
	"farside/internal/vk"
	"farside/memory"
)

// dmaBuf is DMA_BUF: a dma-buf that udmabuf makes of a payload's memfd, or one that any driver made.
type dmaBuf struct{}

const (
	udmabufDevice = "/dev/udmabuf"
	dmaBufMagic   = 0x444d4142 // linux/magic.h: DMA_BUF_MAGIC

	vuidFDPropsValid = vk.VUID_vkGetMemoryFdPropertiesKHR_fd_00673
)

// DMABufAvailable says whether this machine can make dma-bufs of memory: VK_EXT_external_memory_dma_buf is
// exposed only then. The answer stays the same for the life of the process.
var DMABufAvailable = sync.OnceValue(func() bool {
	dev, err := fd.Open(udmabufDevice, unix.O_RDWR, 0)
	if err != nil {
		return false
	}
	_ = dev.Close()
	return true
})

// traits: an imported dma-buf may come from any driver, so that there is no memfd to export in another way.
func (dmaBuf) traits() traits {
	t := traits{names: namesFile}
	if !DMABufAvailable() {
		t.unavailable = udmabufDevice + " can't be opened"
	}
	return t
}

func (dmaBuf) memoryTypes(types []memory.Type) uint32 { return allTypes(types) }

// limit is the size in bytes of the largest dma-buf that udmabuf makes: its parameter size_limit_mb.
func (dmaBuf) limit() uint64 {
	text, err := fd.ReadFile("/sys/module/udmabuf/parameters/size_limit_mb")
	if err != nil {
		return math.MaxUint64
	}
	mib, err := strconv.ParseUint(strings.TrimSpace(string(text)), 10, 32)
	if err != nil {
		return math.MaxUint64
	}
	return mib << 20
}

func (dmaBuf) export(m Memory) (Handle, error) {
	made, err := m.Payload().DMABuf(makeDMABuf)
	if err != nil {
		return Handle{}, err
	}
	raw, err := made.Export()
	if err != nil {
		return Handle{}, systemError("F_DUPFD_CLOEXEC", err)
	}
	return Handle{Type: vk.EXTERNAL_MEMORY_HANDLE_TYPE_DMA_BUF_BIT_EXT, By: FileDescriptor, FD: raw}, nil
}

func (dmaBuf) payload(h Handle, want *Expect) (*memory.Payload, error) {
	id, size, err := checkDMABuf(h.FD, vuidFDValid)
	if err != nil {
		return nil, err
	}
	if want.Size > size {
		return nil, invalid(vuidFDSize, "the dma-buf has %d bytes, %d are asked for", size, want.Size)
	}
	if want.Properties&noDMABuf != 0 {
		return nil, invalid(vk.VUID_VkMemoryAllocateInfo_memoryTypeIndex_00648,
			"memory type %d is not one that vkGetMemoryFdPropertiesKHR gives for a dma-buf", want.MemoryType)
	}
	file, err := fd.Own(h.FD)
	if err != nil {
		return nil, systemError("F_DUPFD_CLOEXEC", err)
	}
	return memory.FromDMABuf(file, want.Size, id), nil
}

// noDMABuf are the properties of the memory types that no dma-buf can be imported with: the fabric has remote addresses
// of memfds alone. With any other it may: where a dma-buf lies nobody knows, and programs import theirs with the type
// that they have allocated it with.
const noDMABuf = vk.MEMORY_PROPERTY_RDMA_CAPABLE_BIT_NV

func (dmaBuf) inspect(h Handle, types []memory.Type) (uint32, error) {
	if _, _, err := checkDMABuf(h.FD, vuidFDPropsValid); err != nil {
		return 0, err
	}
	return allTypes(types) &^ typesWith(types, noDMABuf), nil
}

// checkDMABuf returns a number that names the dma-buf on this machine, and its size in bytes.
func checkDMABuf(raw int, vuid vk.VUID) (id, size uint64, err error) {
	flags, err := unix.FcntlInt(uintptr(raw), unix.F_GETFL, 0)
	if err != nil {
		return 0, 0, invalid(vuid, "fd %d is not open: %w", raw, err)
	}
	var fs unix.Statfs_t
	if err := unix.Fstatfs(raw, &fs); err != nil || fs.Type != dmaBufMagic {
		return 0, 0, invalid(vuid, "fd %d is not a dma-buf (file system %#x)", raw, fs.Type)
	}
	if flags&unix.O_ACCMODE != unix.O_RDWR {
		return 0, 0, invalid(vuid, "fd %d is not open for reading and writing", raw)
	}
	// A dma-buf's size is fixed when it is made; seeking is how it is asked for.
	end, err := unix.Seek(raw, 0, unix.SEEK_END)
	if err != nil {
		return 0, 0, invalid(vuid, "the size of dma-buf %d: %w", raw, err)
	}
	var st unix.Stat_t
	if err := unix.Fstat(raw, &st); err != nil {
		return 0, 0, invalid(vuid, "fstat of dma-buf %d: %w", raw, err)
	}
	// Not every driver lets the processor in, and nothing but a mapping shows it.
	if err := tryMap(raw); err == unix.ENOMEM {
		return 0, 0, systemError("mmap", err)
	} else if err != nil {
		return 0, 0, invalid(vuid, "dma-buf %d can't be mapped: %w", raw, err)
	}
	return dmaBufID(&st), uint64(end), nil
}

// dmaBufID is the number that names a dma-buf on this machine: each has an inode of its own on the kernel's one dma-buf
// file system. The top bit keeps these numbers apart from 0.
func dmaBufID(st *unix.Stat_t) uint64 { return st.Ino | 1<<63 }

// DMABufID is Payload.ID of whoever imports a dma-buf, 0 if raw can't be looked at.
func DMABufID(raw int) uint64 {
	var st unix.Stat_t
	if unix.Fstat(raw, &st) != nil {
		return 0
	}
	return dmaBufID(&st)
}
