package conformance

import (
	"bytes"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"

	"farside/conformance/vulkan"
)

// The ioctls of who makes dma-bufs, from linux/udmabuf.h, linux/dma-heap.h, linux/dma-buf.h, drm/drm.h, drm/drm_mode.h
// and drm/vgem_drm.h.
const (
	ioctlUdmabufCreate     = 0x40187542 // UDMABUF_CREATE
	ioctlHeapAlloc         = 0xc0184800 // DMA_HEAP_IOCTL_ALLOC
	ioctlDMABufSync        = 0x40086200 // DMA_BUF_IOCTL_SYNC
	ioctlExportSyncFile    = 0xc0086202 // DMA_BUF_IOCTL_EXPORT_SYNC_FILE
	ioctlImportSyncFile    = 0x40086203 // DMA_BUF_IOCTL_IMPORT_SYNC_FILE
	ioctlDRMVersion        = 0xc0406400 // DRM_IOCTL_VERSION
	ioctlDRMClose          = 0x40086409 // DRM_IOCTL_GEM_CLOSE
	ioctlDRMExport         = 0xc00c642d // DRM_IOCTL_PRIME_HANDLE_TO_FD
	ioctlDRMCreateDumb     = 0xc02064b2 // DRM_IOCTL_MODE_CREATE_DUMB
	ioctlVgemFenceAttach   = 0xc0106441 // DRM_IOCTL_VGEM_FENCE_ATTACH
	ioctlVgemFenceSignal   = 0x40086442 // DRM_IOCTL_VGEM_FENCE_SIGNAL
	vgemFenceWrite         = 1
	dmaBufSyncRead         = 1
	dmaBufSyncWrite        = 2
	dmaBufSyncEnd          = 4
	udmabufDevice          = "/dev/udmabuf"
	heapDevice             = "/dev/dma_heap/system"
	vgemDevice             = "/dev/dri/card0"
	dmaBufExtension        = "VK_EXT_external_memory_dma_buf"
	drmModifierExtension   = "VK_EXT_image_drm_format_modifier"
	formatListExtension    = "VK_KHR_image_format_list"
	bytesPerTexel          = 4 // of the images in dma-bufs
	dumbBitsPerPixel       = 8 * bytesPerTexel
	dumbWidth, dumbSpacing = 128, 128 * bytesPerTexel
)

func ioctl[T any](fd int, request uintptr, arg *T) error {
	_, _, e := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), request, uintptr(unsafe.Pointer(arg)))
	if e != 0 {
		return e
	}
	return nil
}

// openDevice opens a device of this machine; the case is unsupported where it is missing.
func (c *Case) openDevice(path string) int {
	fd, err := unix.Open(path, unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		c.Unsupported(path + ": " + err.Error())
	}
	return fd
}

// A dmaSource makes dma-bufs of a size that is a multiple of the page's.
type dmaSource struct {
	name, device string
	make         func(c *Case, size int) int
}

// foreign are the dma-bufs that are not Farside's.
var foreign = []dmaSource{
	{"udmabuf", udmabufDevice, udmabuf},
	{"heap", heapDevice, heap},
	{"vgem", vgemDevice, func(c *Case, size int) int {
		v := c.vgem()
		defer v.close()
		handle := v.dumb(size)
		defer v.free(handle)
		return v.export(handle, unix.O_RDWR)
	}},
}

// heap makes a dma-buf of the system's heap.
func heap(c *Case, size int) int {
	dev := c.openDevice(heapDevice)
	defer unix.Close(dev)
	req := struct {
		size        uint64
		fd, fdFlags uint32
		heapFlags   uint64
	}{size: uint64(size), fdFlags: unix.O_RDWR | unix.O_CLOEXEC}
	c.system("DMA_HEAP_IOCTL_ALLOC", ioctl(dev, ioctlHeapAlloc, &req))
	return int(req.fd)
}

// udmabuf makes a dma-buf of a memfd's pages.
func udmabuf(c *Case, size int) int {
	dev := c.openDevice(udmabufDevice)
	defer unix.Close(dev)
	memfd, err := unix.MemfdCreate("source", unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
	c.system("memfd_create", err)
	defer unix.Close(memfd)
	c.system("ftruncate", unix.Ftruncate(memfd, int64(size)))
	_, err = unix.FcntlInt(uintptr(memfd), unix.F_ADD_SEALS, unix.F_SEAL_SHRINK)
	c.system("F_ADD_SEALS", err)
	req := struct {
		memfd, flags uint32
		offset, size uint64
	}{uint32(memfd), 1, 0, uint64(size)}
	fd, _, e := unix.Syscall(unix.SYS_IOCTL, uintptr(dev), ioctlUdmabufCreate, uintptr(unsafe.Pointer(&req)))
	if e != 0 {
		c.Fatalf("UDMABUF_CREATE of %d bytes: %v", size, e)
	}
	return int(fd)
}

// A vgem is the DRM device without hardware. Its buffers can be given fences that the application signals.
type vgem struct {
	c  *Case
	fd int
}

func (c *Case) vgem() *vgem {
	v := &vgem{c, c.openDevice(vgemDevice)}
	name := vulkan.Make[byte](&c.a, 16)
	version := struct {
		major, minor, patch, _ int32
		nameLength             uint64
		name                   uintptr
		dateLength             uint64
		date                   uintptr
		descLength             uint64
		desc                   uintptr
	}{nameLength: uint64(len(name)), name: uintptr(unsafe.Pointer(&name[0]))}
	if err := ioctl(v.fd, ioctlDRMVersion, &version); err != nil || !bytes.HasPrefix(name, []byte("vgem\x00")) {
		v.close()
		c.Unsupported(vgemDevice + " of vgem")
	}
	return v
}

func (v *vgem) close() { unix.Close(v.fd) }

// dumb makes a buffer of at least size bytes, as an image with rows of dumbSpacing bytes.
func (v *vgem) dumb(size int) (handle uint32) {
	req := struct {
		height, width, bpp, flags uint32
		handle, pitch             uint32
		size                      uint64
	}{height: uint32((size + dumbSpacing - 1) / dumbSpacing), width: dumbWidth, bpp: dumbBitsPerPixel}
	v.c.system("DRM_IOCTL_MODE_CREATE_DUMB", ioctl(v.fd, ioctlDRMCreateDumb, &req))
	if req.pitch != dumbSpacing || req.size < uint64(size) {
		v.c.Fatalf("a dumb buffer has rows of %d bytes and %d in all", req.pitch, req.size)
	}
	return req.handle
}

func (v *vgem) free(handle uint32) {
	v.c.system("DRM_IOCTL_GEM_CLOSE", ioctl(v.fd, ioctlDRMClose, &struct{ handle, pad uint32 }{handle: handle}))
}

// export returns the buffer as a dma-buf; access is O_RDWR or O_RDONLY.
func (v *vgem) export(handle uint32, access uint32) int {
	req := struct {
		handle, flags uint32
		fd            int32
	}{handle: handle, flags: access | unix.O_CLOEXEC}
	v.c.system("DRM_IOCTL_PRIME_HANDLE_TO_FD", ioctl(v.fd, ioctlDRMExport, &req))
	return int(req.fd)
}

// attach gives the buffer a fence for writing, which the kernel signals after 10 s if nobody has.
func (v *vgem) attach(handle uint32) (fence uint32) {
	req := struct{ handle, flags, fence, pad uint32 }{handle: handle, flags: vgemFenceWrite}
	v.c.system("DRM_IOCTL_VGEM_FENCE_ATTACH", ioctl(v.fd, ioctlVgemFenceAttach, &req))
	return req.fence
}

func (v *vgem) signal(fence uint32) {
	req := struct{ fence, flags uint32 }{fence: fence}
	v.c.system("DRM_IOCTL_VGEM_FENCE_SIGNAL", ioctl(v.fd, ioctlVgemFenceSignal, &req))
}

// syncFile returns a sync file of the dma-buf's fences, those for which a reader must wait.
func (c *Case) syncFile(dmaBuf int) int {
	req := struct {
		flags uint32
		fd    int32
	}{dmaBufSyncRead, -1}
	c.system("DMA_BUF_IOCTL_EXPORT_SYNC_FILE", ioctl(dmaBuf, ioctlExportSyncFile, &req))
	return int(req.fd)
}

// importSyncFile adds a sync file's fence to the dma-buf's, as a writer's.
func importSyncFile(dmaBuf, syncFile int) error {
	return ioctl(dmaBuf, ioctlImportSyncFile, &struct {
		flags uint32
		fd    int32
	}{dmaBufSyncWrite, int32(syncFile)})
}

// within maps the dma-buf as programs without Vulkan do, and calls f with its bytes.
func (c *Case) within(dmaBuf, size int, f func(b []byte)) {
	b, err := unix.Mmap(dmaBuf, 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	c.system("mmap of a dma-buf", err)
	defer unix.Munmap(b)
	flags := uint64(dmaBufSyncRead | dmaBufSyncWrite)
	c.system("DMA_BUF_IOCTL_SYNC", ioctl(dmaBuf, ioctlDMABufSync, &flags))
	f(b)
	flags |= dmaBufSyncEnd
	c.system("DMA_BUF_IOCTL_SYNC", ioctl(dmaBuf, ioctlDMABufSync, &flags))
}

// inode names a dma-buf: each has its own.
func (c *Case) inode(fd int) uint64 {
	var st unix.Stat_t
	c.system("fstat", unix.Fstat(fd, &st))
	return st.Ino
}

// duplicateOf is a second descriptor, for those who give the first away.
func (c *Case) duplicateOf(fd int) int {
	n, err := unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, 0)
	return sysFd(c, "F_DUPFD_CLOEXEC", n, err)
}

// missingDevice is the first of the devices that this machine lacks.
func missingDevice(d *definition) string {
	for _, device := range d.devices {
		if unix.Access(device, unix.R_OK|unix.W_OK) != nil {
			return device
		}
	}
	return ""
}

// isDMABuf says whether a mapping in /proc/self/maps is one of a dma-buf.
func isDMABuf(mapping string) bool { return strings.Contains(mapping, "/dmabuf:") }
