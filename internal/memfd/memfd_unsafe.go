// Package memfd makes the sealed memfds that memory, semaphores, fences and the fabric share with other processes,
// and checks those that come from other processes.
//
// What keeps a reader from writing:
//
//   - A read-only descriptor alone doesn't: whoever has it can open /proc/self/fd/N for writing if the file's mode
//     allows that.
//   - The mode [Private] and [DenyOthers] stop other users. They don't stop root, nor other processes of the user who
//     made the file.
//   - [SealWrites] stops everybody. Whoever maps the file for writing has to do so before. A process that may trace the
//     owner (ptrace(2)) can write to the owner's mapping.
//   - Only seals stop udmabuf. It makes a writable dma-buf of a descriptor that is read-only.
package memfd

import (
	"fmt"
	"math"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"

	"farside/internal/fd"
)

const (
	// sealsFixed make the file's size final.
	sealsFixed = unix.F_SEAL_SHRINK | unix.F_SEAL_GROW
	// Seals are what a file from another process must have: its size is final, and nobody can add a seal later.
	Seals = sealsFixed | unix.F_SEAL_SEAL
	// sealsReadOnly would let the import be read only.
	sealsReadOnly = unix.F_SEAL_WRITE | unix.F_SEAL_FUTURE_WRITE
)

// The modes of files.
const (
	// Private lets nobody but the user who made the file open it for writing. Others who were given a descriptor can
	// open it for reading: so can the owner's process after it has changed its user.
	Private = 0o644
	// Public lets everybody who was given a descriptor open the file again, for reading and writing.
	Public = 0o666
)

// Spec says what [Create] makes.
type Spec struct {
	Name    string // for people, in /proc/PID/maps; at most 31 bytes count
	Size    uint64 // bytes
	Mode    uint32 // Private or Public
	Content []byte // written at At; the rest is zeros
	At      uint64
	Open    bool // leave the choice between Seal and SealWrites to the caller
}

// Create makes a memfd of s.Size bytes with Seals, save for F_SEAL_SEAL if s.Open. Errors: those of memfd_create(2)
// and ftruncate(2); EFBIG if RLIMIT_FSIZE forbids the size, without the signal (SIGXFSZ) with which the kernel
// answers that.
func Create(s Spec) (*fd.FD, error) {
	f, err := fd.Fresh(create(s.Name))
	if err != nil {
		return nil, fmt.Errorf("memfd_create: %w", err)
	}
	if err := fill(f.Int(), &s); err != nil {
		_ = f.Close()
		return nil, err
	}
	return f, nil
}

// fill gives a new file its mode, size, content and seals.
func fill(raw int, s *Spec) error {
	if err := unix.Fchmod(raw, s.Mode); err != nil {
		return fmt.Errorf("fchmod: %w", err)
	}
	if err := checkLimit(s.Size); err != nil {
		return err
	}
	if err := unix.Ftruncate(raw, int64(s.Size)); err != nil {
		return fmt.Errorf("ftruncate to %d bytes: %w", s.Size, err)
	}
	if len(s.Content) > 0 {
		n, err := unix.Pwrite(raw, s.Content, int64(s.At))
		if err == nil && n != len(s.Content) {
			err = unix.ENOSPC
		}
		if err != nil {
			return fmt.Errorf("pwrite of %d bytes: %w", len(s.Content), err)
		}
	}
	if s.Open {
		return addSeals(raw, sealsFixed)
	}
	return addSeals(raw, Seals)
}

// checkLimit says whether the process may have a file of this size: ftruncate beyond the limit raises SIGXFSZ, which
// ends most programs.
func checkLimit(size uint64) error {
	if size > math.MaxInt64 {
		return fmt.Errorf("a file of %d bytes: %w", size, unix.EFBIG)
	}
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_FSIZE, &limit); err == nil && size > limit.Cur {
		return fmt.Errorf("a file of %d bytes, the limit of this process (RLIMIT_FSIZE, ulimit -f) is %d: %w",
			size, limit.Cur, unix.EFBIG)
	}
	return nil
}

// CreateMapped makes a memfd of zeros that nobody can write but through the mapping that is returned, which the
// caller ends with unix.Munmap. Errors: those of Create and mmap(2).
func CreateMapped(name string, size int) (*fd.FD, []byte, error) {
	f, err := Create(Spec{Name: name, Size: uint64(size), Mode: Private, Open: true})
	if err != nil {
		return nil, nil, err
	}
	mapping, err := unix.Mmap(f.Int(), 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		_ = f.Close()
		return nil, nil, fmt.Errorf("mmap of %d bytes: %w", size, err)
	}
	if err := SealWrites(f.Int()); err != nil {
		_ = unix.Munmap(mapping)
		_ = f.Close()
		return nil, nil, err
	}
	return f, mapping, nil
}

// SealWrites makes the mappings that exist the last ones through which a file can be written: write(2) and new
// writable mappings fail with EPERM for everybody. It takes a file that was created Open and was not sealed since.
func SealWrites(raw int) error { return addSeals(raw, unix.F_SEAL_FUTURE_WRITE|unix.F_SEAL_SEAL) }

// Seal completes the Seals of a file that was created Open.
func Seal(raw int) error { return addSeals(raw, unix.F_SEAL_SEAL) }

// DenyOthers takes away what the mode of a file allows other users beyond Private. Errors: fchmod(2), such as EPERM for
// a file of another user.
func DenyOthers(raw int) error {
	var st unix.Stat_t
	if err := unix.Fstat(raw, &st); err != nil {
		return fmt.Errorf("fstat: %w", err)
	}
	const allowed = Private | 0o111 // bits of execution can be sealed (F_SEAL_EXEC), and don't matter
	if st.Mode&0o777&^allowed == 0 {
		return nil
	}
	if err := unix.Fchmod(raw, st.Mode&allowed); err != nil {
		return fmt.Errorf("fchmod: %w", err)
	}
	return nil
}

// Check returns the size in bytes of a file that can be mapped for reading and writing and whose size is final. raw
// may be anything, from anywhere; it is not changed. The error says what it is not.
func Check(raw int) (int64, error) {
	flags, err := unix.FcntlInt(uintptr(raw), unix.F_GETFL, 0)
	if err != nil {
		return 0, fmt.Errorf("fd %d is not open: %w", raw, err)
	}
	if flags&unix.O_ACCMODE != unix.O_RDWR || flags&unix.O_PATH != 0 {
		return 0, fmt.Errorf("fd %d is not open for reading and writing", raw)
	}
	seals, err := unix.FcntlInt(uintptr(raw), unix.F_GET_SEALS, 0)
	if err != nil {
		return 0, fmt.Errorf("fd %d is not a memfd: it has no seals: %w", raw, err)
	}
	if seals&Seals != Seals {
		return 0, fmt.Errorf("fd %d is not sealed against resizing (seals %#x)", raw, seals)
	}
	if seals&sealsReadOnly != 0 {
		return 0, fmt.Errorf("fd %d is sealed against writing (seals %#x)", raw, seals)
	}
	// A memfd of huge pages has seals as well, and can't be mapped by the page.
	var fs unix.Statfs_t
	if err := unix.Fstatfs(raw, &fs); err != nil || fs.Type != unix.TMPFS_MAGIC {
		return 0, fmt.Errorf("fd %d is not a memfd of normal pages (file system %#x)", raw, fs.Type)
	}
	var st unix.Stat_t
	if err := unix.Fstat(raw, &st); err != nil || st.Mode&unix.S_IFMT != unix.S_IFREG {
		return 0, fmt.Errorf("fd %d is not a regular file (mode %#o)", raw, st.Mode)
	}
	return st.Size, nil
}

// executable is set on kernels older than 6.3, which don't know MFD_NOEXEC_SEAL.
var executable atomic.Bool

// create is memfd_create(2). The file can't be executed where the kernel knows of that: newer ones warn about others,
// or are set to refuse them (vm.memfd_noexec).
func create(name string) (int, error) {
	var text [32]byte // unix.MemfdCreate would allocate it
	copy(text[:len(text)-1], name)
	flags := uintptr(unix.MFD_CLOEXEC | unix.MFD_ALLOW_SEALING)
	if !executable.Load() {
		r, _, errno := unix.Syscall(unix.SYS_MEMFD_CREATE, uintptr(unsafe.Pointer(&text[0])), flags|unix.MFD_NOEXEC_SEAL, 0)
		if errno == 0 {
			return int(r), nil
		}
		if errno != unix.EINVAL {
			return -1, errno
		}
		executable.Store(true)
	}
	r, _, errno := unix.Syscall(unix.SYS_MEMFD_CREATE, uintptr(unsafe.Pointer(&text[0])), flags, 0)
	if errno != 0 {
		return -1, errno
	}
	return int(r), nil
}

func addSeals(raw, seals int) error {
	if _, err := unix.FcntlInt(uintptr(raw), unix.F_ADD_SEALS, seals); err != nil {
		return fmt.Errorf("F_ADD_SEALS of %#x: %w", seals, err)
	}
	return nil
}
