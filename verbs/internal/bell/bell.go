// Package bell has the descriptors that applications poll while they wait for events: completion channels, asynchronous
// events, event channels of connections.
package bell

import (
	"encoding/binary"
	"errors"

	"golang.org/x/sys/unix"

	"farside/internal/fd"
)

// Bell is an eventfd that counts events; each Wait takes one. Its methods may be called from any goroutine. The
// application may make the descriptor blocking or non-blocking at any time (fcntl(2), O_NONBLOCK).
type Bell struct{ file *fd.FD }

// New makes a bell. Errors: eventfd(2).
func New() (*Bell, error) {
	f, err := fd.Fresh(unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_SEMAPHORE))
	if err != nil {
		return nil, err
	}
	return &Bell{f}, nil
}

// FD is the descriptor, -1 after Close.
func (b *Bell) FD() int { return b.file.Int() }

// Close closes the descriptor.
func (b *Bell) Close() error { return b.file.Close() }

// Ring adds an event.
func (b *Bell) Ring() {
	var one [8]byte
	binary.NativeEndian.PutUint64(one[:], 1)
	_, _ = unix.Write(b.FD(), one[:])
}

// Wait waits for an event, as the descriptor is set to, and takes it. Errors: EAGAIN, EINTR, EBADF.
func (b *Bell) Wait() error {
	var count [8]byte
	_, err := unix.Read(b.FD(), count[:])
	return err
}

// How an event is taken.
type Mode uint8

const (
	// Waits is Wait.
	Waits Mode = iota
	// Tries doesn't wait: the caller is to read 8 bytes from the descriptor, and to call again with Has.
	Tries
	// Has takes no event, since the caller has read one. It becomes Tries.
	Has
)

// ErrEmpty says that there is no event, and that the descriptor is one that waits.
var ErrEmpty = errors.New("bell: there is no event yet")

// Take takes an event. Errors: as Wait; ErrEmpty for Tries.
func (b *Bell) Take(m *Mode) error {
	switch *m {
	case Has:
		*m = Tries
		return nil
	case Waits:
		return b.Wait()
	}
	err := b.try()
	if err == unix.EAGAIN {
		if flags, failed := unix.FcntlInt(uintptr(b.FD()), unix.F_GETFL, 0); failed == nil && flags&unix.O_NONBLOCK == 0 {
			return ErrEmpty
		}
	}
	return err
}

// Silence takes back an event that nobody is to get. It never waits: another thread may be in Wait and have taken it.
func (b *Bell) Silence() { _ = b.try() }

// try takes an event if there is one. Errors: EAGAIN, EBADF.
func (b *Bell) try() error {
	var count [8]byte
	_, err := unix.Preadv2(b.FD(), [][]byte{count[:]}, -1, unix.RWF_NOWAIT)
	if err != unix.EOPNOTSUPP && err != unix.ENOSYS {
		return err
	}
	// Linux before 5.8 knows no such read of an eventfd. Between these two calls another thread may take the event.
	p := []unix.PollFd{{Fd: int32(b.FD()), Events: unix.POLLIN}}
	if n, err := unix.Poll(p, 0); n != 1 || err != nil {
		return unix.EAGAIN
	}
	return b.Wait()
}
