package syncobj

import (
	"fmt"
	"os"
	"sync"

	"golang.org/x/sys/unix"

	"farside/internal/fd"
	"farside/internal/vk"
)

// A sync file (VK_EXTERNAL_…_HANDLE_TYPE_SYNC_FD_BIT) is a copy of a payload: a descriptor that becomes
// readable at the signal. Ours is the read end of a pipe. The payload keeps both ends, so that a write never
// meets a pipe without a reader; the signal writes one byte, and what ends without a signal, such as a killed
// process, leaves a pipe that has hung up and holds no byte. It is told from the application's pipes by a mark.
type pipe struct{ read, write *fd.FD }

// syncFileMark is the time of access of our pipes, long before this driver was written. The kernel sets it to the time
// at which a pipe was made, and to that of a read later. A write leaves it alone, and it goes with all descriptors of
// the pipe, in every process.
var syncFileMark = unix.Timespec{Sec: 0x46617273, Nsec: 0x1de5f11e}

// newPipe makes a marked pipe. Its errors are those of systemError.
func newPipe() (pipe, error) {
	read, write, err := fd.Pipe(unix.O_NONBLOCK)
	if err != nil {
		return pipe{}, systemError("pipe2", err)
	}
	p := pipe{read, write}
	if err := setAccessTime(read.Int(), syncFileMark); err != nil {
		p.close()
		return pipe{}, systemError("utimensat", err)
	}
	return p, nil
}

func (p pipe) close() {
	_ = p.write.Close()
	_ = p.read.Close()
}

// ExportSyncFile returns a new close-on-exec descriptor that polls readable once the payload is signalled,
// even if the signal is taken back or consumed later; the caller owns it. It fails with
// ERROR_TOO_MANY_OBJECTS when the process or the system is out of descriptors, and with
// ERROR_INVALID_EXTERNAL_HANDLE for a timeline or a shared payload: a copy of what another process may signal
// is not supported.
func (p *Payload) ExportSyncFile() (int, error) {
	if p.kind == Timeline {
		return -1, vk.Errorf(vk.ERROR_INVALID_EXTERNAL_HANDLE, vk.VUID_VkSemaphoreGetFdInfoKHR_handleType_03253,
			"a timeline semaphore can't be exported as a sync file")
	}
	if p.shared != nil {
		return -1, vk.Errorf(vk.ERROR_INVALID_EXTERNAL_HANDLE, p.kind.vuidExported(),
			"a %v that is shared by opaque descriptors can't be exported as a sync file", p.kind)
	}
	if p.syncFile != nil {
		// Its own pipe would have to be kept until the import settles, also when nobody else keeps the
		// payload.
		if raw, err := watched.export(p); raw >= 0 || err != nil {
			return raw, err
		}
	}
	made, err := newPipe()
	if err != nil {
		return -1, err
	}
	raw, err := made.read.Export()
	if err != nil {
		made.close()
		return -1, systemError("F_DUPFD_CLOEXEC", err)
	}
	p.mu.Lock()
	p.pipes = append(p.pipes, made)
	p.piped.Store(true)
	p.mu.Unlock()
	// A signal that was too early to see the pipe is seen here.
	if signalled := p.Value() != 0; signalled || p.orphaned.Load() {
		p.closePipes(signalled)
	}
	return raw, nil
}

// closePipes ends the exported sync files, with the byte that stands for the signal or without.
func (p *Payload) closePipes(signalled bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, f := range p.pipes {
		if signalled {
			_, _ = unix.Write(f.write.Int(), []byte{1}) // an empty pipe takes a byte
		}
		f.close()
	}
	p.pipes = nil
	p.piped.Store(false)
}

// ImportSyncFile returns a local payload of kind Fence or Binary that is signalled when raw, a sync file of
// this or of another driver, becomes readable; -1 is a sync file that has been signalled. The payload is
// orphaned when raw hangs up without becoming readable, or is of a driver and its work failed. It owns raw if it
// succeeds. When it fails, with ERROR_INVALID_EXTERNAL_HANDLE or ERROR_TOO_MANY_OBJECTS, raw is still the caller's.
func ImportSyncFile(raw int, kind Kind) (*Payload, error) {
	if kind == Timeline {
		return nil, kind.invalid("a sync file can't be imported to a timeline semaphore")
	}
	if raw == -1 {
		return New(kind, 1), nil
	}
	if err := checkSyncFile(raw, kind); err != nil {
		return nil, err
	}
	p := New(kind, 0)
	if p.settle(raw) {
		_ = unix.Close(raw)
		return p, nil
	}
	file, err := fd.DupOf(raw)
	if err != nil {
		return nil, systemError("F_DUPFD_CLOEXEC", err)
	}
	if err := watched.add(p, file); err != nil {
		_ = file.Close()
		return nil, err
	}
	_ = unix.Close(raw)
	return p, nil
}

// checkSyncFile accepts the read ends of this driver's pipes, also of other processes, and the sync files of graphics
// drivers.
func checkSyncFile(raw int, kind Kind) error {
	flags, err := unix.FcntlInt(uintptr(raw), unix.F_GETFL, 0)
	if err != nil {
		return kind.invalid("fd %d is not open: %w", raw, err)
	}
	if flags&unix.O_PATH != 0 {
		return kind.invalid("fd %d was opened with O_PATH: it can't be waited for", raw)
	}
	var st unix.Stat_t
	if err := unix.Fstat(raw, &st); err != nil {
		return kind.invalid("fd %d can't be looked at: %w", raw, err)
	}
	if st.Mode&unix.S_IFMT == unix.S_IFIFO {
		switch {
		case flags&unix.O_ACCMODE != unix.O_RDONLY:
			return kind.invalid("fd %d is not the read end of a pipe (flags %#x)", raw, flags)
		case st.Atim != syncFileMark:
			return kind.invalid("fd %d is a pipe that was not exported as a SYNC_FD", raw)
		}
		return nil
	}
	if name, err := os.Readlink(fmt.Sprintf("/proc/self/fd/%d", raw)); err == nil && name == "anon_inode:sync_file" {
		return nil
	}
	return kind.invalid("fd %d is not a sync file (mode %#o)", raw, st.Mode)
}

// settle signals p if raw is readable, orphans it if raw has hung up or is a driver's sync file with an error, and says
// whether it did one of them.
func (p *Payload) settle(raw int) bool {
	set := []unix.PollFd{{Fd: int32(raw), Events: unix.POLLIN}}
	for {
		if _, err := unix.Poll(set, 0); err != unix.EINTR {
			break
		}
	}
	switch events := set[0].Revents; {
	case events&unix.POLLIN != 0:
		if status, ok := fenceStatus(raw); ok && status < 0 {
			p.orphan()
			break
		}
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
	epoll  *fd.FD           // open while it runs, like bell
	bell   *fd.FD           // an eventfd that makes it look whether files is empty
	active bool
}

var watched = watcher{files: map[int]*Payload{}}

// add makes the watcher own file and settle p with it, unless it fails.
func (w *watcher) add(p *Payload, file *fd.FD) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.active {
		if err := w.start(); err != nil {
			return err
		}
	}
	if err := watch(w.epoll, file); err != nil {
		w.ring()
		return p.kind.invalid("the sync file can't be waited for: %w", err)
	}
	w.files[file.Int()] = p
	p.syncFile = file
	return nil
}

func watch(epoll, file *fd.FD) error {
	raw := file.Int()
	return unix.EpollCtl(epoll.Int(), unix.EPOLL_CTL_ADD, raw, &unix.EpollEvent{Events: unix.EPOLLIN, Fd: int32(raw)})
}

func (w *watcher) start() (err error) {
	if w.epoll, err = fd.Fresh(unix.EpollCreate1(unix.EPOLL_CLOEXEC)); err != nil {
		return systemError("epoll_create1", err)
	}
	what := "eventfd"
	if w.bell, err = fd.Fresh(unix.Eventfd(0, unix.EFD_CLOEXEC)); err == nil {
		what = "EPOLL_CTL_ADD"
		if err = watch(w.epoll, w.bell); err == nil {
			w.active = true
			go w.run(w.epoll)
			return nil
		}
		_ = w.bell.Close()
	}
	_ = w.epoll.Close()
	return systemError(what, err)
}

// ring makes the goroutine end if no file is left. mu is held.
func (w *watcher) ring() {
	if len(w.files) == 0 {
		_, _ = unix.Write(w.bell.Int(), []byte{1, 0, 0, 0, 0, 0, 0, 0}) // an eventfd takes 2^64 of them
	}
}

// export returns a new descriptor of p's file for the application, -1 when the watcher doesn't have it any more.
func (w *watcher) export(p *Payload) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.files[p.syncFile.Int()] != p {
		return -1, nil
	}
	raw, err := p.syncFile.Export()
	if err != nil {
		return -1, systemError("F_DUPFD_CLOEXEC", err)
	}
	return raw, nil
}

// forget takes p's file away from the watcher, if it is still there.
func (w *watcher) forget(p *Payload) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.files[p.syncFile.Int()] == p {
		w.drop(p)
		w.ring()
	}
}

// drop closes a watched file. The registration goes first, since it would outlive this descriptor if there
// are duplicates of it.
func (w *watcher) drop(p *Payload) {
	raw := p.syncFile.Int()
	delete(w.files, raw)
	_ = unix.EpollCtl(w.epoll.Int(), unix.EPOLL_CTL_DEL, raw, nil)
	_ = p.syncFile.Close()
}

// run settles what gets ready. epoll is open until handle has closed it.
func (w *watcher) run(epoll *fd.FD) {
	var events [32]unix.EpollEvent
	for {
		n, err := unix.EpollWait(epoll.Int(), events[:], -1)
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
		raw := int(events[i].Fd)
		if raw == w.bell.Int() {
			var count [8]byte
			_, _ = unix.Read(raw, count[:]) // it is readable: nobody else reads it
			continue
		}
		// The descriptor may have changed hands since: settle looks at what it is now.
		if p := w.files[raw]; p != nil && p.settle(raw) {
			w.drop(p)
		}
	}
	if len(w.files) > 0 {
		// A bell that was rung before the latest import is not meant for it.
		return false
	}
	w.active = false
	_ = w.epoll.Close()
	_ = w.bell.Close()
	return true
}
