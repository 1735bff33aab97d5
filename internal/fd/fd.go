// Package fd has a type that owns a file descriptor.
//
// An [FD] has one owner, who closes it once or gives it away with [FD.Disown]. Every descriptor of an FD is 3 or
// above and close-on-exec. Descriptors 0 to 2 belong to the application, also while it has them closed: libraries
// write diagnostics to them without asking what they are.
//
// Methods may be called from any goroutine. Tests find leaks with package fdtest.
package fd

import (
	"errors"
	"fmt"
	"slices"
	"sync/atomic"

	"golang.org/x/sys/unix"
)

// lowest is the first descriptor that may be ours.
const lowest = 3

// FD owns an open file descriptor. The zero value and a nil *FD own none.
type FD struct {
	raw   atomic.Int32 // 0 for none
	_     noCopy
	trace *trace // nil unless a test traces
}

// noCopy makes go vet find copies of what has one owner.
type noCopy struct{}

func (*noCopy) Lock()   {}
func (*noCopy) Unlock() {}

// Own makes an FD of raw, an open descriptor that belongs to the caller, and owns it from then on. A raw of 0 to 2 is
// closed, and the FD has a duplicate of it. Own fails when no duplicate can be made (fcntl(2), F_DUPFD_CLOEXEC); then
// raw is as it was and still the caller's.
func Own(raw int) (*FD, error) {
	if raw < lowest {
		high, err := duplicate(raw)
		if err != nil {
			return nil, err
		}
		_ = unix.Close(raw)
		raw = high
	}
	f := &FD{trace: opened()}
	f.raw.Store(int32(raw))
	return f, nil
}

// Fresh makes an FD of what a system call has just returned:
//
//	f, err := fd.Fresh(unix.Eventfd(0, unix.EFD_CLOEXEC))
//
// It returns err if that is not nil, and otherwise fails as [Own] does, but leaves nothing open.
func Fresh(raw int, err error) (*FD, error) {
	if err != nil {
		return nil, err
	}
	f, err := Own(raw)
	if err != nil {
		_ = unix.Close(raw)
		return nil, err
	}
	return f, nil
}

// Open is open(2) with O_CLOEXEC.
func Open(name string, flags int, mode uint32) (*FD, error) {
	for {
		raw, err := unix.Open(name, flags|unix.O_CLOEXEC, mode)
		if err != unix.EINTR {
			return Fresh(raw, err)
		}
	}
}

// ReadFile reads a file, such as one of the kernel's. Os.ReadFile would start the runtime's poller for it, and may take
// a descriptor below 3.
func ReadFile(name string) ([]byte, error) {
	f, err := Open(name, unix.O_RDONLY, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var text []byte
	for {
		if len(text) == cap(text) {
			text = slices.Grow(text, 512)
		}
		n, err := unix.Read(f.Int(), text[len(text):cap(text)])
		if err == unix.EINTR {
			continue
		}
		if n <= 0 {
			return text, err
		}
		text = text[:len(text)+n]
	}
}

// ReadRegular reads a regular file of at most so many bytes, such as one that a user names: no FIFO makes it wait, and
// no device gives bytes for ever. Errors: the operating system's, and for another kind of file or one that is too long.
func ReadRegular(name string, most int) ([]byte, error) {
	f, err := Open(name, unix.O_RDONLY|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var stat unix.Stat_t
	if err := unix.Fstat(f.Int(), &stat); err != nil {
		return nil, err
	}
	if stat.Mode&unix.S_IFMT != unix.S_IFREG || stat.Size > int64(most) {
		return nil, fmt.Errorf("not a regular file of at most %d MiB", most>>20)
	}
	data := make([]byte, 0, stat.Size+1)
	for len(data) <= most {
		data = slices.Grow(data, 1)
		n, err := unix.Read(f.Int(), data[len(data):cap(data)])
		if err == unix.EINTR {
			continue
		}
		if n <= 0 {
			return data, err
		}
		data = data[:len(data)+n]
	}
	return nil, fmt.Errorf("the file has more than %d MiB", most>>20)
}

// Pipe is pipe2(2) with O_CLOEXEC.
func Pipe(flags int) (read, write *FD, err error) {
	var ends [2]int
	if err := unix.Pipe2(ends[:], flags|unix.O_CLOEXEC); err != nil {
		return nil, nil, err
	}
	if read, err = Fresh(ends[0], nil); err != nil {
		_ = unix.Close(ends[1])
		return nil, nil, err
	}
	if write, err = Fresh(ends[1], nil); err != nil {
		_ = read.Close()
		return nil, nil, err
	}
	return read, write, nil
}

// Exhausted says whether err is that the process or the system has no descriptor left.
func Exhausted(err error) bool { return errors.Is(err, unix.EMFILE) || errors.Is(err, unix.ENFILE) }

// Int returns the descriptor for use in a system call; it stays f's. It is -1 when f owns none.
func (f *FD) Int() int {
	if f == nil {
		return -1
	}
	if raw := f.raw.Load(); raw != 0 {
		return int(raw)
	}
	return -1
}

// Dup returns a new descriptor of the same open file description. Errors: fcntl(2), F_DUPFD_CLOEXEC.
func (f *FD) Dup() (*FD, error) { return Fresh(duplicate(f.Int())) }

// DupOf is [FD.Dup] for a descriptor that is not ours.
func DupOf(raw int) (*FD, error) { return Fresh(duplicate(raw)) }

// Export is Dup for somebody who deals in plain descriptors, such as an application that asked for one. The
// descriptor is the caller's.
func (f *FD) Export() (int, error) {
	// Applications ask for descriptors often, and each return after a system call costs several ns: the processor has
	// forgotten where it came from. So this is duplicate once more, without a call in between.
	n, _, errno := unix.RawSyscall(unix.SYS_FCNTL, uintptr(f.Int()), unix.F_DUPFD_CLOEXEC, lowest)
	if errno != 0 {
		return -1, duplicateError(errno)
	}
	return int(n), nil
}

// Reopen returns a descriptor of a new open file description of the same file, with locks, an offset and access
// (O_RDONLY, O_WRONLY, O_RDWR) of its own. The file's mode must allow this user the access. Errors: open(2), and an
// error that says so when /proc is missing.
func (f *FD) Reopen(access int) (*FD, error) { return Reopen(f.Int(), access) }

// Reopen is [FD.Reopen] for a descriptor that is not ours.
func Reopen(raw, access int) (*FD, error) {
	n, err := Open(fmt.Sprintf("/proc/self/fd/%d", raw), access, 0)
	if errors.Is(err, unix.ENOENT) {
		if _, err := unix.FcntlInt(uintptr(raw), unix.F_GETFD, 0); err == nil {
			return nil, fmt.Errorf("descriptor %d can't be opened again, /proc is not mounted: %w", raw, unix.ENOENT)
		}
	}
	return n, err
}

// Disown gives the descriptor to the caller and leaves f with none.
func (f *FD) Disown() int {
	if f == nil {
		return -1
	}
	raw := f.raw.Swap(0)
	if raw == 0 {
		return -1
	}
	f.trace.closed()
	return int(raw)
}

// Close closes the descriptor. It does nothing if f owns none, so that of several calls one closes.
func (f *FD) Close() error {
	raw := f.Disown()
	if raw < 0 {
		return nil
	}
	return unix.Close(raw)
}

// duplicate makes a close-on-exec duplicate at or above lowest. The call never blocks, so that the scheduler need not
// hear of it: that is a fifth of its time.
func duplicate(raw int) (int, error) {
	n, _, errno := unix.RawSyscall(unix.SYS_FCNTL, uintptr(raw), unix.F_DUPFD_CLOEXEC, lowest)
	if errno != 0 {
		return -1, duplicateError(errno)
	}
	return int(n), nil
}

func duplicateError(errno unix.Errno) error {
	if errno == unix.EINVAL { // the limit of descriptors is not above lowest
		return unix.EMFILE
	}
	return errno
}
