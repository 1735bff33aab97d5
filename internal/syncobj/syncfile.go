package syncobj

import (
	"fmt"
	"os"
	"sync"

	"golang.org/x/sys/unix"

	"farside/internal/vk"
)

// A sync file (VK_EXTERNAL_…_HANDLE_TYPE_SYNC_FD_BIT) is a copy of a payload: a descriptor that becomes
// readable at the signal. Ours is the read end of a pipe. The payload keeps both ends, so that a write never
// meets a pipe without a reader; the signal writes one byte, and what ends without a signal, such as a killed
// process, leaves a pipe that has hung up and holds no byte.
type pipe struct{ read, write int }

// ExportSyncFile returns a new close-on-exec descriptor that polls readable once the payload is signalled,
// even if the signal is taken back or consumed later; the caller owns it. It fails with
// ERROR_TOO_MANY_OBJECTS when the process or the system is out of descriptors, and with
// ERROR_INVALID_EXTERNAL_HANDLE for a timeline or a shared payload: a copy of what another process may signal
// is not supported.
func (p *Payload) ExportSyncFile() (int, error) {
	if p.kind == Timeline {
		return -1, vk.Errorf(vk.ERROR_INVALID_EXTERNAL_HANDLE, "VUID-VkSemaphoreGetFdInfoKHR-handleType-03253",
			"a timeline semaphore can't be exported as a sync file")
	}
	if p.shared != nil {
		return -1, vk.Errorf(vk.ERROR_INVALID_EXTERNAL_HANDLE, p.kind.vuidExported(),
			"a %v that is shared by opaque descriptors can't be exported as a sync file", p.kind)
	}
	if p.syncFile >= 0 {
		// Its own pipe would have to be kept until the import settles, also when nobody else keeps the
		// payload.
		if fd, err := watched.duplicate(p); fd >= 0 || err != nil {
			return fd, err
		}
	}
	var ends [2]int
	if err := unix.Pipe2(ends[:], unix.O_CLOEXEC|unix.O_NONBLOCK); err != nil {
		return -1, systemError("pipe2", err)
	}
	fd, err := unix.FcntlInt(uintptr(ends[0]), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		unix.Close(ends[0])
		unix.Close(ends[1])
		return -1, systemError("F_DUPFD_CLOEXEC", err)
	}
	p.mu.Lock()
	p.pipes = append(p.pipes, pipe{ends[0], ends[1]})
	p.piped.Store(true)
	p.mu.Unlock()
	// A signal that was too early to see the pipe is seen here.
	if signalled := p.Value() != 0; signalled || p.orphaned.Load() {
		p.closePipes(signalled)
	}
	return fd, nil
}

// closePipes ends the exported sync files, with the byte that stands for the signal or without.
func (p *Payload) closePipes(signalled bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, f := range p.pipes {
		if signalled {
			_, _ = unix.Write(f.write, []byte{1}) // an empty pipe takes a byte
		}
		unix.Close(f.write)
		unix.Close(f.read)
	}
	p.pipes = nil
	p.piped.Store(false)
}

// ImportSyncFile returns a local payload of kind Fence or Binary that is signalled when fd, a sync file of
// this or of another driver, becomes readable; -1 is a sync file that has been signalled. The payload is
// orphaned when fd hangs up without becoming readable. It owns fd if it succeeds. When it fails, with
// ERROR_INVALID_EXTERNAL_HANDLE or ERROR_TOO_MANY_OBJECTS, fd is still the caller's.
func ImportSyncFile(fd int, kind Kind) (*Payload, error) {
	if kind == Timeline {
		return nil, kind.invalid("a sync file can't be imported to a timeline semaphore")
	}
	if fd == -1 {
		return New(kind, 1), nil
	}
	if err := checkSyncFile(fd, kind); err != nil {
		return nil, err
	}
	p := New(kind, 0)
	if p.settle(fd) {
		unix.Close(fd)
		return p, nil
	}
	if err := watched.add(p, fd); err != nil {
		return nil, err
	}
	return p, nil
}

// checkSyncFile accepts pipes and the sync files of graphics drivers.
func checkSyncFile(fd int, kind Kind) error {
	flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFL, 0)
	if err != nil {
		return kind.invalid("fd %d is not open: %w", fd, err)
	}
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return kind.invalid("fd %d can't be looked at: %w", fd, err)
	}
	if st.Mode&unix.S_IFMT == unix.S_IFIFO && flags&unix.O_ACCMODE == unix.O_RDONLY && flags&unix.O_PATH == 0 {
		return nil
	}
	if name, err := os.Readlink(fmt.Sprintf("/proc/self/fd/%d", fd)); err == nil && name == "anon_inode:sync_file" {
		return nil
	}
	return kind.invalid("fd %d is not a sync file (mode %#o, flags %#x)", fd, st.Mode, flags)
}

// settle signals p if fd is readable, orphans it if fd has hung up, and says whether it did one of them.
func (p *Payload) settle(fd int) bool {
	set := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
	for {
		if _, err := unix.Poll(set, 0); err != unix.EINTR {
			break
		}
	}
	switch events := set[0].Revents; {
	case events&unix.POLLIN != 0:
		_ = p.Signal(1) // p is no timeline, whose signal alone can fail
	case events&(unix.POLLHUP|unix.POLLERR|unix.POLLNVAL) != 0:
		p.orphan()
	default:
		return false
	}
	return true
}

// watcher is the goroutine that waits for the imported sync files of the process. It runs while there are
// any.
type watcher struct {
	mu     sync.Mutex
	files  map[int]*Payload // by descriptor, which is the watcher's
	epoll  int              // valid while it runs, like bell
	bell   int              // an eventfd that makes it look whether files is empty
	active bool
}

var watched = watcher{files: map[int]*Payload{}}

// add makes the watcher own fd and settle p with it.
func (w *watcher) add(p *Payload, fd int) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.active {
		if err := w.start(); err != nil {
			return err
		}
	}
	if err := unix.EpollCtl(w.epoll, unix.EPOLL_CTL_ADD, fd, &unix.EpollEvent{Events: unix.EPOLLIN, Fd: int32(fd)}); err != nil {
		w.ring()
		return p.kind.invalid("fd %d can't be waited for: %w", fd, err)
	}
	w.files[fd] = p
	p.syncFile = fd
	return nil
}

func (w *watcher) start() (err error) {
	if w.epoll, err = unix.EpollCreate1(unix.EPOLL_CLOEXEC); err != nil {
		return systemError("epoll_create1", err)
	}
	what := "eventfd"
	if w.bell, err = unix.Eventfd(0, unix.EFD_CLOEXEC); err == nil {
		what = "EPOLL_CTL_ADD"
		if err = unix.EpollCtl(w.epoll, unix.EPOLL_CTL_ADD, w.bell, &unix.EpollEvent{Events: unix.EPOLLIN, Fd: int32(w.bell)}); err == nil {
			w.active = true
			go w.run()
			return nil
		}
		unix.Close(w.bell)
	}
	unix.Close(w.epoll)
	return systemError(what, err)
}

// ring makes the goroutine end if no file is left. mu is held.
func (w *watcher) ring() {
	if len(w.files) == 0 {
		_, _ = unix.Write(w.bell, []byte{1, 0, 0, 0, 0, 0, 0, 0}) // an eventfd takes 2^64 of them
	}
}

// duplicate returns a new descriptor of p's file, -1 when the watcher doesn't have it any more.
func (w *watcher) duplicate(p *Payload) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.files[p.syncFile] != p {
		return -1, nil
	}
	fd, err := unix.FcntlInt(uintptr(p.syncFile), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return -1, systemError("F_DUPFD_CLOEXEC", err)
	}
	return fd, nil
}

// forget takes p's file away from the watcher, if it is still there.
func (w *watcher) forget(p *Payload) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.files[p.syncFile] == p {
		w.drop(p.syncFile)
		w.ring()
	}
}

// drop closes a watched file. The registration goes first, since it would outlive this descriptor if there
// are duplicates of it.
func (w *watcher) drop(fd int) {
	delete(w.files, fd)
	_ = unix.EpollCtl(w.epoll, unix.EPOLL_CTL_DEL, fd, nil)
	unix.Close(fd)
}

func (w *watcher) run() {
	var events [32]unix.EpollEvent
	epoll := w.epoll // this goroutine's, until it closes it
	for {
		n, err := unix.EpollWait(epoll, events[:], -1)
		if err != nil {
			n = 0 // EINTR
		}
		if w.handle(events[:n]) {
			return
		}
	}
}

// handle settles what is ready, and says whether it was the last.
func (w *watcher) handle(events []unix.EpollEvent) (last bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for i := range events {
		fd := int(events[i].Fd)
		if fd == w.bell {
			var count [8]byte
			_, _ = unix.Read(fd, count[:]) // it is readable: nobody else reads it
			continue
		}
		// The descriptor may have changed hands since: settle looks at what it is now.
		if p := w.files[fd]; p != nil && p.settle(fd) {
			w.drop(fd)
		}
	}
	if len(w.files) > 0 {
		// A bell that was rung before the latest import is not meant for it.
		return false
	}
	w.active = false
	unix.Close(w.epoll)
	unix.Close(w.bell)
	return true
}
