package syncobj

import (
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

// driverSyncFile is a sync file of the kernel, with the fences of a dma-buf that has none: it is signalled.
func driverSyncFile(t *testing.T) int {
	t.Helper()
	const udmabuf = "/dev/udmabuf"
	dev, err := unix.Open(udmabuf, unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Skipf("%s: %v", udmabuf, err)
	}
	defer unix.Close(dev)
	memfd, err := unix.MemfdCreate("pages", unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(memfd)
	size := unix.Getpagesize()
	if err := unix.Ftruncate(memfd, int64(size)); err != nil {
		t.Fatal(err)
	}
	if _, err := unix.FcntlInt(uintptr(memfd), unix.F_ADD_SEALS, unix.F_SEAL_SHRINK); err != nil {
		t.Fatal(err)
	}
	create := struct { // linux/udmabuf.h, UDMABUF_CREATE
		memfd, flags uint32
		offset, size uint64
	}{uint32(memfd), 1, 0, uint64(size)}
	dmaBuf, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(dev), 0x40187542, uintptr(unsafe.Pointer(&create)))
	if errno != 0 {
		t.Fatal(errno)
	}
	defer unix.Close(int(dmaBuf))
	export := struct { // linux/dma-buf.h, DMA_BUF_IOCTL_EXPORT_SYNC_FILE
		flags uint32
		fd    int32
	}{3, -1}
	if _, _, errno := unix.Syscall(unix.SYS_IOCTL, dmaBuf, 0xc0086202, uintptr(unsafe.Pointer(&export))); errno != 0 {
		t.Fatal(errno)
	}
	return int(export.fd)
}

func TestSyncFileOfADriver(t *testing.T) {
	file := driverSyncFile(t)
	if status, ok := fenceStatus(file); !ok || status != 1 {
		t.Errorf("status %d, %v; want 1", status, ok)
	}
	p, err := ImportSyncFile(file, Binary)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Release()
	if p.Value() != 1 || p.Orphaned() {
		t.Errorf("value %d, orphaned %v", p.Value(), p.Orphaned())
	}
}

func TestSyncFileStatusOfOthers(t *testing.T) {
	p := New(Binary, 1)
	defer p.Release()
	file := exportSyncFile(t, p)
	defer unix.Close(file)
	for _, raw := range []int{file, -1} {
		if status, ok := fenceStatus(raw); ok {
			t.Errorf("descriptor %d has status %d", raw, status)
		}
	}
}
