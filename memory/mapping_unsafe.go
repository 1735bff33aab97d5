package memory

import (
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"

	"farside/internal/vk"
)

// base is the address of a payload's own mapping, nil before the first Map. It points outside Go's heap, so
// that it may be typed as a pointer.
type base struct{ p unsafe.Pointer }

func (b *base) load() unsafe.Pointer   { return atomic.LoadPointer(&b.p) }
func (b *base) store(p unsafe.Pointer) { atomic.StorePointer(&b.p, p) }

// pointer types an address that the kernel returned.
func pointer(addr uintptr) unsafe.Pointer { return *(*unsafe.Pointer)(unsafe.Pointer(&addr)) }

// FromHostPointer returns a payload over size bytes of the application's own memory at addr, which the
// caller has checked. The payload never unmaps it.
func FromHostPointer(addr unsafe.Pointer, size uint64) *Payload {
	p := &Payload{backing: backedForeign, size: size, id: newID()}
	p.base.store(addr)
	return p
}

// Map returns the address of the payload's first byte. The first call makes the mapping, which then stays at
// that address until the last Release. It fails with ERROR_MEMORY_MAP_FAILED.
func (p *Payload) Map() (unsafe.Pointer, error) {
	if a := p.base.load(); a != nil {
		return a, nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if a := p.base.load(); a != nil {
		return a, nil
	}
	flags := uintptr(unix.MAP_SHARED)
	switch p.backing {
	case backedPrivate:
		flags = unix.MAP_PRIVATE | unix.MAP_ANONYMOUS | unix.MAP_NORESERVE
	case backedAlias:
		flags = unix.MAP_SHARED | unix.MAP_ANONYMOUS | unix.MAP_NORESERVE
	}
	addr, err := mmap(0, uintptr(RoundUpToPage(p.size)), unix.PROT_READ|unix.PROT_WRITE, flags, p.file.Int(), 0)
	if err != nil {
		return nil, vk.Errorf(vk.ERROR_MEMORY_MAP_FAILED, vk.NoVUID, "mmap of %d bytes: %w", p.size, err)
	}
	if p.backing == backedPrivate && p.size >= hugePage {
		// Pages of 2 MiB, where the kernel has them for those who ask: accesses all over a large buffer then don't wait for
		// page tables. Without them the memory is as good.
		unix.Syscall(unix.SYS_MADVISE, addr, uintptr(RoundUpToPage(p.size)), unix.MADV_HUGEPAGE)
	}
	p.base.store(pointer(addr))
	return pointer(addr), nil
}

// hugePage is the size of a transparent huge page.
const hugePage = 2 << 20

// Bytes maps the payload and returns it as a slice, which is valid while the caller holds a reference.
func (p *Payload) Bytes() ([]byte, error) {
	a, err := p.Map()
	if err != nil {
		return nil, err
	}
	return unsafe.Slice((*byte)(a), p.size), nil
}

// MapAt maps size bytes of the payload, from offset on, at exactly addr, over whatever was mapped there
// (VK_EXT_map_memory_placed). addr and offset are multiples of the page size; a size that isn't one is only
// right where it reaches the payload's end. The mapping is the caller's, who ends it with Unmap. It fails with
// ERROR_MEMORY_MAP_FAILED.
func (p *Payload) MapAt(addr unsafe.Pointer, offset, size uint64) error {
	if uint64(uintptr(addr))%pageSize != 0 || offset%pageSize != 0 {
		return vk.Errorf(vk.ERROR_MEMORY_MAP_FAILED, vk.VUID_VkMemoryMapPlacedInfoEXT_pPlacedAddress_09577,
			"placed address %p and offset %#x must be multiples of %d", addr, offset, pageSize)
	}
	if size == 0 || offset >= p.size || size > RoundUpToPage(p.size)-offset {
		return vk.Errorf(vk.ERROR_MEMORY_MAP_FAILED, vk.VUID_VkMemoryMapInfo_size_07961,
			"bytes %#x to %#x are not in an allocation of %#x", offset, offset+size, p.size)
	}
	_, err := p.mapPages(uintptr(addr), offset, size)
	return err
}

// MapAnywhere maps size bytes of the payload, from offset on, at addresses that the kernel chooses, and returns where
// offset is. Neither needs to be a multiple of the page size. The mapping is the caller's, who ends it with Unmap, from
// the first byte of its first page on. It fails with ERROR_MEMORY_MAP_FAILED.
func (p *Payload) MapAnywhere(offset, size uint64) (unsafe.Pointer, error) {
	if size == 0 || offset >= p.size || size > p.size-offset {
		return nil, vk.Errorf(vk.ERROR_MEMORY_MAP_FAILED, vk.VUID_VkMemoryMapInfo_size_07961,
			"bytes %#x to %#x are not in an allocation of %#x", offset, offset+size, p.size)
	}
	within := offset % pageSize
	addr, err := p.mapPages(0, offset-within, within+size)
	if err != nil {
		return nil, err
	}
	return unsafe.Add(pointer(addr), within), nil
}

// mapPages maps the pages of size bytes from offset on, at addr over whatever is there, or anywhere if it is 0.
func (p *Payload) mapPages(addr uintptr, offset, size uint64) (uintptr, error) {
	length := uintptr(RoundUpToPage(size))
	var at uintptr
	var err error
	switch p.backing {
	case backedFile:
		at, err = p.mapFile(addr, offset, length)
	case backedAlias:
		at, err = p.mapAgain(addr, offset, length)
	case backedPrivate:
		return 0, vk.Errorf(vk.ERROR_MEMORY_MAP_FAILED, vk.NoVUID, "this memory was not allocated for further mappings")
	case backedForeign:
		return 0, vk.Errorf(vk.ERROR_MEMORY_MAP_FAILED, vk.VUID_VkMemoryMapInfo_flags_09575,
			"memory imported from a host pointer can't be mapped at another address")
	}
	if err != nil {
		return 0, vk.Errorf(vk.ERROR_MEMORY_MAP_FAILED, vk.NoVUID, "mapping of %d bytes at %#x: %w", size, addr, err)
	}
	return at, nil
}

// mapFile maps pages of the payload's file.
func (p *Payload) mapFile(addr uintptr, offset uint64, length uintptr) (uintptr, error) {
	p.mu.Lock()
	if p.closed {
		p.mu.Unlock()
		return p.mapAgain(addr, offset, length)
	}
	defer p.mu.Unlock()
	flags := uintptr(unix.MAP_SHARED)
	if addr != 0 {
		flags |= unix.MAP_FIXED
	}
	return mmap(addr, length, unix.PROT_READ|unix.PROT_WRITE, flags, p.file.Int(), int64(offset))
}

// mapAgain maps pages of the payload's own mapping a second time: a shared mapping that is moved with an old size of 0
// stays where it was and appears elsewhere too (mremap(2)). It needs no file, and asks no seal.
func (p *Payload) mapAgain(addr uintptr, offset uint64, length uintptr) (uintptr, error) {
	flags := uintptr(unix.MREMAP_MAYMOVE)
	if addr != 0 {
		flags |= unix.MREMAP_FIXED
	}
	own, err := p.Map()
	if err != nil {
		return 0, err
	}
	return mremap(uintptr(own)+uintptr(offset), 0, length, flags, addr)
}

// Unmap ends a mapping that MapAt or MapAnywhere made. addr is the first byte of its first page. With reserve
// (VK_MEMORY_UNMAP_RESERVE_BIT_EXT) an inaccessible mapping takes the addresses. Its error is ERROR_MEMORY_MAP_FAILED:
// the range is still mapped then.
func Unmap(addr unsafe.Pointer, size uint64, reserve bool) error {
	length := uintptr(RoundUpToPage(size))
	var err error
	if reserve {
		_, err = mmap(uintptr(addr), length, unix.PROT_NONE,
			unix.MAP_PRIVATE|unix.MAP_ANONYMOUS|unix.MAP_NORESERVE|unix.MAP_FIXED, -1, 0)
	} else {
		err = munmap(uintptr(addr), length)
	}
	if err != nil {
		return vk.Errorf(vk.ERROR_MEMORY_MAP_FAILED, vk.NoVUID, "unmapping %d bytes at %p: %w", size, addr, err)
	}
	return nil
}

// unmap ends the payload's own mapping, if it has one. The kernel refuses to only when it would have to split
// a mapping (it merges neighbours) and the process has vm.max_map_count of them; then the addresses stay taken,
// but not the pages.
func (p *Payload) unmap() {
	if a := p.base.load(); a != nil {
		p.base.store(nil)
		length := uintptr(RoundUpToPage(p.size))
		if munmap(uintptr(a), length) != nil {
			unix.Syscall(unix.SYS_MADVISE, uintptr(a), length, unix.MADV_DONTNEED)
		}
	}
}

// resident says whether the system has given any page for b, which begins with one. A page that was swapped out does
// not count.
func resident(b []byte) bool {
	pages := make([]byte, (uint64(len(b))+pageSize-1)/pageSize)
	_, _, e := unix.Syscall(unix.SYS_MINCORE, uintptr(unsafe.Pointer(unsafe.SliceData(b))), uintptr(len(b)),
		uintptr(unsafe.Pointer(unsafe.SliceData(pages))))
	if e != 0 {
		return true
	}
	for _, p := range pages {
		if p&1 != 0 {
			return true
		}
	}
	return false
}

// The system calls are made directly: x/sys/unix keeps a locked record of mappings.

func mmap(addr, length, prot, flags uintptr, fd int, offset int64) (uintptr, error) {
	r, _, e := unix.Syscall6(unix.SYS_MMAP, addr, length, prot, flags, uintptr(fd), uintptr(offset))
	if e != 0 {
		return 0, e
	}
	return r, nil
}

func munmap(addr, length uintptr) error {
	if _, _, e := unix.Syscall(unix.SYS_MUNMAP, addr, length, 0); e != 0 {
		return e
	}
	return nil
}

func mremap(old, oldLength, length, flags, fixed uintptr) (uintptr, error) {
	r, _, e := unix.Syscall6(unix.SYS_MREMAP, old, oldLength, length, flags, fixed, 0)
	if e != 0 {
		return 0, e
	}
	return r, nil
}
