package syncobj

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"

	"farside/export"
	"farside/internal/vk"
	"farside/memory"
)

// shared is what a payload has that other processes can hold: one page of a sealed memfd, which begins with
// the state block.
type shared struct {
	page []byte
	// fd is an open file description of this payload's own, which is never given away: it carries the lock
	// that tells the other holders that this one is alive.
	fd int
}

// seals make the file's size final; it stays writable.
const seals = unix.F_SEAL_SHRINK | unix.F_SEAL_GROW | unix.F_SEAL_SEAL

// The rules that an imported descriptor breaks, and those of exporting one: for a semaphore, for a fence.
func (k Kind) rule(semaphore, fence string) string {
	if k == Fence {
		return fence
	}
	return semaphore
}

func (k Kind) vuidHandle() string {
	return k.rule("VUID-VkImportSemaphoreFdInfoKHR-fd-01544", "VUID-VkImportFenceFdInfoKHR-fd-01541")
}

func (k Kind) vuidExported() string {
	return k.rule("VUID-VkSemaphoreGetFdInfoKHR-handleType-01132", "VUID-VkFenceGetFdInfoKHR-handleType-01453")
}

func (k Kind) invalid(format string, args ...any) error {
	return vk.Errorf(vk.ERROR_INVALID_EXTERNAL_HANDLE, k.vuidHandle(), format, args...)
}

// systemError gives a failed system call its VkResult.
func systemError(call string, err error) error {
	r := vk.ERROR_OUT_OF_HOST_MEMORY
	if errors.Is(err, unix.EMFILE) || errors.Is(err, unix.ENFILE) {
		r = vk.ERROR_TOO_MANY_OBJECTS
	}
	return vk.Errorf(r, "", "%s: %w", call, err)
}

// NewShared returns a payload that Export can share, with the given value and a reference count of 1. It
// fails with ERROR_TOO_MANY_OBJECTS when the process or the system is out of descriptors, and otherwise with
// ERROR_OUT_OF_HOST_MEMORY.
func NewShared(kind Kind, initial uint64, id Identity) (*Payload, error) {
	fd, err := unix.MemfdCreate("farside-sync", unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
	if err != nil {
		return nil, systemError("memfd_create", err)
	}
	encoded := (&metadata{kind, id}).encode()
	what := "ftruncate"
	if err = unix.Ftruncate(fd, int64(memory.PageSize())); err == nil {
		what = "pwrite of the metadata"
		if _, err = unix.Pwrite(fd, encoded[:], metadataOffset); err == nil {
			what = "F_ADD_SEALS"
			_, err = unix.FcntlInt(uintptr(fd), unix.F_ADD_SEALS, seals)
		}
	}
	if err != nil {
		unix.Close(fd)
		return nil, systemError(what, err)
	}
	p, err := hold(fd, kind)
	if err != nil {
		unix.Close(fd)
		return nil, err
	}
	p.state.value.Store(initial)
	p.state.wanted.Store(none)
	return p, nil
}

// Import returns the payload that fd, which came from an Export, refers to; kind and id must be the
// exporter's. It owns fd if it succeeds. When it fails, fd is as it was and still the caller's: a descriptor
// that does not prove what it is fails with ERROR_INVALID_EXTERNAL_HANDLE before anything of it is mapped.
func Import(fd int, kind Kind, id Identity) (*Payload, error) {
	if err := check(fd, kind, id); err != nil {
		return nil, err
	}
	own, err := reopen(fd)
	if err != nil {
		return nil, systemError("reopening the descriptor", err)
	}
	p, err := hold(own, kind)
	if err != nil {
		unix.Close(own)
		return nil, err
	}
	unix.Close(fd)
	return p, nil
}

// check makes fd prove that it is a payload of this driver and device, and the kind that is wanted. The seals
// come before the size, and the metadata is copied before it is looked at: afterwards no other holder of the
// file can change what was checked.
func check(fd int, kind Kind, id Identity) error {
	size, err := export.CheckSealedFile(fd, kind.vuidHandle())
	if err != nil {
		return err
	}
	if size != int64(memory.PageSize()) {
		return kind.invalid("fd %d has %d bytes, and a fence or semaphore has one page", fd, size)
	}
	var buf [metadataSize]byte
	if n, err := unix.Pread(fd, buf[:], metadataOffset); err != nil || n != len(buf) {
		return kind.invalid("the metadata of fd %d can't be read (%d bytes, %w)", fd, n, err)
	}
	m, err := parseMetadata(buf[:])
	switch {
	case err != nil:
		return kind.invalid("fd %d: %w", fd, err)
	case m.id.DriverUUID != id.DriverUUID:
		return kind.invalid("fd %d is from driver %x, this is %x", fd, m.id.DriverUUID, id.DriverUUID)
	case m.id.DeviceUUID != id.DeviceUUID:
		return kind.invalid("fd %d is from device %x, this is %x", fd, m.id.DeviceUUID, id.DeviceUUID)
	case m.kind != kind && m.kind != Fence && kind != Fence:
		return vk.Errorf(vk.ERROR_INVALID_EXTERNAL_HANDLE, "VUID-VkImportSemaphoreFdInfoKHR-handleType-03264",
			"fd %d was exported from a %v, it can't be imported to a %v", fd, m.kind, kind)
	case m.kind != kind:
		return kind.invalid("fd %d was exported from a %v, it can't be imported to a %v", fd, m.kind, kind)
	}
	return nil
}

// hold makes a payload of fd, which is an open file description of its own, and owns it unless it fails.
func hold(fd int, kind Kind) (*Payload, error) {
	// A sandbox may lack these locks: then nobody's death is seen, and waits end by their timeouts.
	lock := unix.Flock_t{Type: unix.F_RDLCK, Whence: unix.SEEK_SET, Len: 1}
	err := unix.FcntlFlock(uintptr(fd), unix.F_OFD_SETLK, &lock)
	if errors.Is(err, unix.EAGAIN) || errors.Is(err, unix.EACCES) {
		return nil, kind.invalid("another holder of the payload does not let it be locked: %w", err)
	}
	page, err := unix.Mmap(fd, 0, int(memory.PageSize()), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return nil, systemError("mmap", err)
	}
	p := &Payload{kind: kind, wakeOp: futexWake, state: stateAt(page), shared: &shared{page, fd}, syncFile: -1}
	p.state.holders.Add(1)
	p.refs.Store(1)
	return p, nil
}

// letGo is the clean release, which the other holders don't take for a death.
func (p *Payload) letGo() {
	p.state.holders.Add(^uint32(0))
	_ = unix.Munmap(p.shared.page) // it was mapped by Mmap, whole
	unix.Close(p.shared.fd)
}

// Export returns a new close-on-exec descriptor of a shared payload, which the caller owns. It fails with
// ERROR_TOO_MANY_OBJECTS when the process or the system is out of descriptors, with
// ERROR_INVALID_EXTERNAL_HANDLE for a local payload, and otherwise with ERROR_OUT_OF_HOST_MEMORY.
func (p *Payload) Export() (int, error) {
	if p.shared == nil {
		return -1, vk.Errorf(vk.ERROR_INVALID_EXTERNAL_HANDLE, p.kind.vuidExported(),
			"this %v was not created to be exported as an opaque descriptor", p.kind)
	}
	fd, err := reopen(p.shared.fd)
	if err != nil {
		return -1, systemError("a new descriptor", err)
	}
	return fd, nil
}

// reopen returns a new open file description of fd's file: a duplicate would share the lock.
func reopen(fd int) (int, error) {
	return unix.Open(fmt.Sprintf("/proc/self/fd/%d", fd), unix.O_RDWR|unix.O_CLOEXEC, 0)
}
