package memory

import (
	"unsafe"

	"golang.org/x/sys/unix"

	"farside/internal/fd"
	"farside/internal/vk"
)

// The ioctl of a dma-buf that surrounds accesses by the processor (linux/dma-buf.h).
const (
	dmaBufIoctlSync = 0x40086200 // DMA_BUF_IOCTL_SYNC: _IOW('b', 0, struct dma_buf_sync)
	dmaBufSyncRW    = 1 | 2      // DMA_BUF_SYNC_READ | DMA_BUF_SYNC_WRITE
	dmaBufSyncEnd   = 4          // DMA_BUF_SYNC_END
)

// FromDMABuf returns a payload over the first size bytes of a dma-buf, which the payload owns from now on. The caller
// has checked that it is a dma-buf of at least size bytes, which can be mapped. id names the dma-buf.
func FromDMABuf(file *fd.FD, size, id uint64) *Payload {
	p := FromFD(file, size, Metadata{ID: id})
	p.dmaBuf.Store(file)
	return p
}

// DMABuf returns the dma-buf of the payload's pages, which stays the payload's. The first call makes it, of the first
// size bytes of the payload's file, unless it is what was imported: who shares a dma-buf shares its fences. It fails as
// create does.
func (p *Payload) DMABuf(create func(file int, size uint64) (*fd.FD, error)) (*fd.FD, error) {
	if made := p.dmaBuf.Load(); made != nil {
		return made, nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if made := p.dmaBuf.Load(); made != nil {
		return made, nil
	}
	made, err := create(p.file.Int(), RoundUpToPage(p.size))
	if err == nil {
		p.dmaBuf.Store(made)
	}
	return made, err
}

// BeginAccess begins accesses by this process: what devices wrote to a dma-buf before becomes visible. It does nothing
// for other memory. It fails with ERROR_UNKNOWN when the buffer's driver refuses.
//
// It never waits for the work of a device, to which the dma-buf may have fences: Vulkan waits for what semaphores say
// alone. The kernel's call does wait, so that it is left out while there are such fences.
func (p *Payload) BeginAccess() error {
	file := p.dmaBuf.Load()
	if file == nil {
		return nil
	}
	// A dma-buf is ready for writing when none of its fences is pending (the kernel's
	// Documentation/driver-api/dma-buf.rst, "Implicit Fence Poll Support").
	set := []unix.PollFd{{Fd: int32(file.Int()), Events: unix.POLLOUT}}
	for {
		_, err := unix.Poll(set, 0)
		if err == nil {
			break
		}
		if err != unix.EINTR {
			return accessError("poll", err)
		}
	}
	if set[0].Revents&unix.POLLOUT == 0 {
		return nil
	}
	return syncDMABuf(file, dmaBufSyncRW)
}

// EndAccess ends accesses by this process: what it wrote to a dma-buf becomes visible to devices. It does nothing for
// other memory. Errors: as for BeginAccess.
func (p *Payload) EndAccess() error {
	file := p.dmaBuf.Load()
	if file == nil {
		return nil
	}
	return syncDMABuf(file, dmaBufSyncRW|dmaBufSyncEnd)
}

func syncDMABuf(file *fd.FD, flags uint64) error {
	for {
		_, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(file.Int()), dmaBufIoctlSync,
			uintptr(unsafe.Pointer(&flags)))
		switch errno {
		case 0:
			return nil
		case unix.EINTR, unix.EAGAIN: // linux/dma-buf.h: the call is to be repeated
		default:
			return accessError("DMA_BUF_IOCTL_SYNC", errno)
		}
	}
}

func accessError(call string, err error) error {
	return vk.Errorf(vk.ERROR_UNKNOWN, vk.NoVUID, "%s of a dma-buf: %w", call, err)
}
