package syncobj

import (
	"errors"

	"golang.org/x/sys/unix"

	"farside/internal/fd"
	"farside/internal/memfd"
	"farside/internal/vk"
	"farside/memory"
)

// shared is what a payload has that other processes can hold: one page of a sealed memfd, which begins with
// the state block.
type shared struct {
	page []byte
	// file is an open file description of this payload's own, which is never given away: it carries the lock
	// that tells the other holders that this one is alive.
	file *fd.FD
}

// The rules that an imported descriptor breaks, and those of exporting one: for a semaphore, for a fence.
func (k Kind) rule(semaphore, fence vk.VUID) vk.VUID {
	if k == Fence {
		return fence
	}
	return semaphore
}

func (k Kind) vuidHandle() vk.VUID {
	return k.rule(vk.VUID_VkImportSemaphoreFdInfoKHR_fd_01544, vk.VUID_VkImportFenceFdInfoKHR_fd_01541)
}

func (k Kind) vuidExported() vk.VUID {
	return k.rule(vk.VUID_VkSemaphoreGetFdInfoKHR_handleType_01132, vk.VUID_VkFenceGetFdInfoKHR_handleType_01453)
}

func (k Kind) invalid(format string, args ...any) error {
	return vk.Errorf(vk.ERROR_INVALID_EXTERNAL_HANDLE, k.vuidHandle(), format, args...)
}

// systemError gives a failed system call its VkResult.
func systemError(call string, err error) error {
	r := vk.ERROR_OUT_OF_HOST_MEMORY
	if fd.Exhausted(err) {
		r = vk.ERROR_TOO_MANY_OBJECTS
	}
	return vk.Errorf(r, vk.NoVUID, "%s: %w", call, err)
}

// NewShared returns a payload that Export can share, with the given value and a reference count of 1. It
// fails with ERROR_TOO_MANY_OBJECTS when the process or the system is out of descriptors, and otherwise with
// ERROR_OUT_OF_HOST_MEMORY.
func NewShared(kind Kind, initial uint64, id Identity) (*Payload, error) {
	encoded := (&metadata{kind, id}).encode()
	// Other users' processes may be given a semaphore, and each holder opens the file again.
	file, err := memfd.Create(memfd.Spec{
		Name: "farside-sync", Size: memory.PageSize(), Mode: memfd.Public, Content: encoded[:], At: metadataOffset,
	})
	if err != nil {
		return nil, systemError("create the payload's file", err)
	}
	p, err := hold(file, kind)
	if err != nil {
		_ = file.Close()
		return nil, err
	}
	p.state.value.Store(initial)
	p.state.wanted.Store(none)
	return p, nil
}

// Import returns the payload that raw, a descriptor which came from an Export, refers to; kind and id must be the
// exporter's. It owns raw if it succeeds. When it fails, raw is as it was and still the caller's: a descriptor
// that does not prove what it is fails with ERROR_INVALID_EXTERNAL_HANDLE before anything of it is mapped.
func Import(raw int, kind Kind, id Identity) (*Payload, error) {
	if err := check(raw, kind, id); err != nil {
		return nil, err
	}
	file, err := fd.Reopen(raw, unix.O_RDWR)
	if err != nil {
		return nil, systemError("open the payload's file again", err)
	}
	p, err := hold(file, kind)
	if err != nil {
		_ = file.Close()
		return nil, err
	}
	_ = unix.Close(raw)
	return p, nil
}

// check makes raw prove that it is a payload of this driver and device, and the kind that is wanted. The seals
// come before the size, and the metadata is copied before it is looked at: afterwards no other holder of the
// file can change what was checked.
func check(raw int, kind Kind, id Identity) error {
	size, err := memfd.Check(raw)
	if err != nil {
		return kind.invalid("%w", err)
	}
	if size != int64(memory.PageSize()) {
		return kind.invalid("fd %d has %d bytes, and a fence or semaphore has one page", raw, size)
	}
	var buf [metadataSize]byte
	if n, err := unix.Pread(raw, buf[:], metadataOffset); err != nil || n != len(buf) {
		return kind.invalid("the metadata of fd %d can't be read (%d bytes, %w)", raw, n, err)
	}
	m, err := parseMetadata(buf[:])
	switch {
	case err != nil:
		return kind.invalid("fd %d: %w", raw, err)
	case m.id.DriverUUID != id.DriverUUID:
		return kind.invalid("fd %d is from driver %x, this is %x", raw, m.id.DriverUUID, id.DriverUUID)
	case m.id.DeviceUUID != id.DeviceUUID:
		return kind.invalid("fd %d is from device %x, this is %x", raw, m.id.DeviceUUID, id.DeviceUUID)
	case m.kind != kind && m.kind != Fence && kind != Fence:
		return vk.Errorf(vk.ERROR_INVALID_EXTERNAL_HANDLE, vk.VUID_VkImportSemaphoreFdInfoKHR_handleType_03264,
			"fd %d was exported from a %v, it can't be imported to a %v", raw, m.kind, kind)
	case m.kind != kind:
		return kind.invalid("fd %d was exported from a %v, it can't be imported to a %v", raw, m.kind, kind)
	}
	return nil
}

// hold makes a payload of file, which is an open file description of its own, and owns it unless it fails.
func hold(file *fd.FD, kind Kind) (*Payload, error) {
	// A sandbox may lack these locks: then nobody's death is seen, and waits end by their timeouts.
	lock := unix.Flock_t{Type: unix.F_RDLCK, Whence: unix.SEEK_SET, Len: 1}
	err := unix.FcntlFlock(uintptr(file.Int()), unix.F_OFD_SETLK, &lock)
	if errors.Is(err, unix.EAGAIN) || errors.Is(err, unix.EACCES) {
		return nil, kind.invalid("another holder of the payload does not let it be locked: %w", err)
	}
	page, err := unix.Mmap(file.Int(), 0, int(memory.PageSize()), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return nil, systemError("mmap", err)
	}
	p := &Payload{kind: kind, wakeOp: futexWake, state: stateAt(page), shared: &shared{page, file}}
	p.state.holders.Add(1)
	p.refs.Store(1)
	return p, nil
}

// letGo is the clean release, which the other holders don't take for a death.
func (p *Payload) letGo() {
	p.state.holders.Add(^uint32(0))
	_ = unix.Munmap(p.shared.page) // it was mapped by Mmap, whole
	_ = p.shared.file.Close()
}

// inode is the number of the payload's file, 0 if the kernel doesn't tell.
func (s *shared) inode() uint64 {
	var st unix.Stat_t
	if unix.Fstat(s.file.Int(), &st) != nil {
		return 0
	}
	return st.Ino
}

// Export returns a new close-on-exec descriptor of a shared payload, which the caller owns. It fails with
// ERROR_TOO_MANY_OBJECTS when the process or the system is out of descriptors, with
// ERROR_INVALID_EXTERNAL_HANDLE for a local payload, and otherwise with ERROR_OUT_OF_HOST_MEMORY.
func (p *Payload) Export() (int, error) {
	if p.shared == nil {
		return -1, vk.Errorf(vk.ERROR_INVALID_EXTERNAL_HANDLE, p.kind.vuidExported(),
			"this %v was not created to be exported as an opaque descriptor", p.kind)
	}
	file, err := p.shared.file.Reopen(unix.O_RDWR) // a duplicate would share the lock
	if err != nil {
		return -1, systemError("open the payload's file again", err)
	}
	return file.Disown(), nil
}
