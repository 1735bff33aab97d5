// Package bell has the descriptors that applications poll while they wait for events: completion channels, asynchronous
// events, event channels of connections.
package bell

import (
	"encoding/binary"

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

// Silence takes back an event that nobody is to get. It never waits: another thread may be in Wait and have taken it.
func (b *Bell) Silence() {
	var count [8]byte
	_, err := unix.Preadv2(b.FD(), [][]byte{count[:]}, -1, unix.RWF_NOWAIT)
	if err != unix.EOPNOTSUPP && err != unix.ENOSYS {
		return
	}
	// Linux before 5.8 knows no such read of an eventfd. Between these two calls another thread may take the event.
	p := []unix.PollFd{{Fd: int32(b.FD()), Events: unix.POLLIN}}
	if n, err := unix.Poll(p, 0); n == 1 && err == nil {
		_ = b.Wait()
	}
}
