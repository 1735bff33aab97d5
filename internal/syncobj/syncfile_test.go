package syncobj

import (
	"os"
	"runtime"
	"strconv"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"farside/internal/memfd"
	"farside/internal/vk"
)

func itoa(fd int) string { return strconv.Itoa(fd) }

// events polls fd for at most timeout milliseconds.
func events(t *testing.T, fd, timeout int) int16 {
	t.Helper()
	set := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
	for {
		_, err := unix.Poll(set, timeout)
		if err == nil {
			return set[0].Revents
		}
		if err != unix.EINTR {
			t.Fatal(err)
		}
	}
}

func exportSyncFile(t *testing.T, p *Payload) int {
	t.Helper()
	fd, err := p.ExportSyncFile()
	if err != nil {
		t.Fatal(err)
	}
	return fd
}

func importSyncFile(t *testing.T, fd int, kind Kind) *Payload {
	t.Helper()
	p, err := ImportSyncFile(fd, kind)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Release)
	return p
}

func TestExportedSyncFiles(t *testing.T) {
	before := descriptors(t)
	for _, kind := range []Kind{Fence, Binary} {
		p := New(kind, 0)
		early := []int{exportSyncFile(t, p), exportSyncFile(t, p), exportSyncFile(t, p)}
		for _, fd := range early {
			if e := events(t, fd, 0); e != 0 {
				t.Errorf("%v: events %#x before the signal", kind, e)
			}
			if flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0); err != nil || flags&unix.FD_CLOEXEC == 0 {
				t.Errorf("%v: the descriptor is not close-on-exec: %v", kind, err)
			}
		}
		p.Signal(1)
		late := exportSyncFile(t, p)
		p.Reset()
		// The copy stays signalled, and a second signal of the payload has nothing to do with it.
		unsignalled := exportSyncFile(t, p)
		for _, fd := range append(early, late) {
			if e := events(t, fd, 0); e&unix.POLLIN == 0 {
				t.Errorf("%v: events %#x after the signal", kind, e)
			}
			unix.Close(fd)
		}
		if e := events(t, unsignalled, 0); e != 0 {
			t.Errorf("%v: events %#x after a reset", kind, e)
		}
		p.Release()
		if e := events(t, unsignalled, 0); e&unix.POLLIN != 0 || e&unix.POLLHUP == 0 {
			t.Errorf("%v: events %#x after the release", kind, e)
		}
		unix.Close(unsignalled)
	}
	if after := descriptors(t); after != before {
		t.Errorf("%d descriptors before, %d after", before, after)
	}
}

func TestExportSyncFileRefuses(t *testing.T) {
	for _, c := range []struct {
		p    *Payload
		vuid string
	}{
		{New(Timeline, 0), "VUID-VkSemaphoreGetFdInfoKHR-handleType-03253"},
		{sharedPayload(t, Timeline, 0), "VUID-VkSemaphoreGetFdInfoKHR-handleType-03253"},
		{sharedPayload(t, Binary, 0), "VUID-VkSemaphoreGetFdInfoKHR-handleType-01132"},
		{sharedPayload(t, Fence, 0), "VUID-VkFenceGetFdInfoKHR-handleType-01453"},
	} {
		fd, err := c.p.ExportSyncFile()
		if fd != -1 || vk.ResultOf(err) != vk.ERROR_INVALID_EXTERNAL_HANDLE || vk.VUIDOf(err).String() != c.vuid {
			t.Errorf("%v: %d, %v", c.p.Kind(), fd, err)
		}
	}
}

func TestImportedSyncFiles(t *testing.T) {
	before := descriptors(t)
	for _, kind := range []Kind{Fence, Binary} {
		if p := importSyncFile(t, -1, kind); p.Value() != 1 {
			t.Errorf("%v: -1 is not signalled", kind)
		}
		origin := New(Fence, 0)
		p := importSyncFile(t, exportSyncFile(t, origin), kind)
		unused := importSyncFile(t, exportSyncFile(t, origin), kind)
		copied := importSyncFile(t, exportSyncFile(t, p), kind) // a copy of the copy
		if Wait([]Point{{Payload: p}, {Payload: copied}}, false, 0, nil) != ErrTimeout {
			t.Errorf("%v: signalled before the origin", kind)
		}
		// A copy of the copy does without the payload that it was made of.
		passing, err := ImportSyncFile(exportSyncFile(t, origin), kind)
		if err != nil {
			t.Fatal(err)
		}
		passed := importSyncFile(t, exportSyncFile(t, passing), kind)
		passing.Release()
		unused.Retain().Release()
		origin.Signal(1)
		if err := Wait([]Point{{Payload: p}, {Payload: copied}, {Payload: passed}}, true, uint64(time.Minute), nil); err !=
			nil {
			t.Errorf("%v: %v", kind, err)
		}
		if done := importSyncFile(t, exportSyncFile(t, p), kind); done.Value() != 1 {
			t.Errorf("%v: imported after the signal, and not signalled at once", kind)
		}
		origin.Release()
	}
	settled(t, before)
}

// settled waits until the watcher has ended and all descriptors of it and of others are closed.
func settled(t *testing.T, before int) {
	t.Helper()
	start := time.Now()
	for descriptors(t) != before {
		if time.Since(start) > late {
			t.Fatalf("%d descriptors before, %d after", before, descriptors(t))
		}
		runtime.Gosched()
	}
}

func TestOrphanedSyncFiles(t *testing.T) {
	before := descriptors(t)
	origin := New(Binary, 0)
	p := importSyncFile(t, exportSyncFile(t, origin), Binary)
	copied := importSyncFile(t, exportSyncFile(t, p), Fence)
	got := make(chan error)
	go func() { got <- Wait([]Point{{Payload: New(Fence, 0)}, {Payload: copied}}, true, never, nil) }()
	if p.Orphaned() {
		t.Error("orphaned while the origin is there")
	}
	origin.Release()
	if err := <-got; err != ErrOrphaned || !copied.Orphaned() {
		t.Errorf("the copy: %v, orphaned %v", err, copied.Orphaned())
	}
	if err := Wait([]Point{{Payload: p}}, true, uint64(time.Minute), nil); err != ErrOrphaned || !p.Orphaned() {
		t.Errorf("%v, orphaned %v", err, p.Orphaned())
	}
	gone := exportSyncFile(t, p)
	q := importSyncFile(t, gone, Fence)
	if !q.Orphaned() || Wait([]Point{{Payload: q}}, true, 0, nil) != ErrOrphaned {
		t.Error("not orphaned by a pipe that had hung up before")
	}
	settled(t, before)
}

// Imports that nobody signals go with their payloads, also while others come.
func TestReleasedSyncFiles(t *testing.T) {
	before := descriptors(t)
	for range 500 {
		origin := New(Fence, 0)
		for range 3 {
			p, err := ImportSyncFile(exportSyncFile(t, origin), Fence)
			if err != nil {
				t.Fatal(err)
			}
			p.Release()
		}
		p := importSyncFile(t, exportSyncFile(t, origin), Fence)
		origin.Signal(1)
		if err := Wait([]Point{{Payload: p}}, true, uint64(time.Minute), nil); err != nil {
			t.Fatal(err)
		}
	}
	settled(t, before)
}

func TestImportSyncFileRefuses(t *testing.T) {
	const (
		semaphoreRule = "VUID-VkImportSemaphoreFdInfoKHR-fd-01544"
		fenceRule     = "VUID-VkImportFenceFdInfoKHR-fd-01541"
	)
	file, err := os.CreateTemp(t.TempDir(), "")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	defer w.Close()
	memfd := forge(t, 4096, nil, 0, memfd.Seals)
	defer unix.Close(memfd)
	before := descriptors(t)
	for name, c := range map[string]struct {
		fd   int
		kind Kind
		vuid string
	}{
		"timeline":       {-1, Timeline, semaphoreRule},
		"closed":         {1 << 20, Fence, fenceRule},
		"negative":       {-2, Binary, semaphoreRule},
		"file":           {int(file.Fd()), Fence, fenceRule},
		"write end":      {int(w.Fd()), Binary, semaphoreRule},
		"opaque payload": {memfd, Binary, semaphoreRule},
	} {
		p, err := ImportSyncFile(c.fd, c.kind)
		if p != nil || vk.ResultOf(err) != vk.ERROR_INVALID_EXTERNAL_HANDLE || vk.VUIDOf(err).String() != c.vuid {
			t.Errorf("%s: %v (%s)", name, err, vk.VUIDOf(err).String())
		}
	}
	settled(t, before)
}

// foreign makes descriptors that are no sync files, each of which poll(2) can wait for.
var foreign = map[string]func(t *testing.T) int{
	"pipe":                  func(t *testing.T) int { return foreignPipe(t, 0, nil) },
	"pipe with a byte":      func(t *testing.T) int { return foreignPipe(t, 0, []byte{1}) },
	"pipe of packets":       func(t *testing.T) int { return foreignPipe(t, unix.O_DIRECT, nil) },
	"pipe without a writer": func(t *testing.T) int { return foreignPipe(t, -1, nil) },
	"pipe that was read": func(t *testing.T) int {
		raw := foreignPipe(t, 0, []byte{1})
		if _, err := unix.Read(raw, make([]byte, 1)); err != nil {
			t.Fatal(err)
		}
		return raw
	},
	"FIFO": func(t *testing.T) int {
		name := t.TempDir() + "/fifo"
		if err := unix.Mkfifo(name, 0o600); err != nil {
			t.Fatal(err)
		}
		return must(t)(unix.Open(name, unix.O_RDONLY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0))
	},
	"eventfd": func(t *testing.T) int { return must(t)(unix.Eventfd(1, unix.EFD_CLOEXEC)) },
	"timerfd": func(t *testing.T) int { return must(t)(unix.TimerfdCreate(unix.CLOCK_MONOTONIC, unix.TFD_CLOEXEC)) },
	"epoll":   func(t *testing.T) int { return must(t)(unix.EpollCreate1(unix.EPOLL_CLOEXEC)) },
	"socket": func(t *testing.T) int {
		return must(t)(unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0))
	},
	"ours, opened for writing": func(t *testing.T) int { return reopenedSyncFile(t, unix.O_WRONLY) },
	"ours, opened as a path":   func(t *testing.T) int { return reopenedSyncFile(t, unix.O_PATH) },
}

func must(t *testing.T) func(int, error) int {
	return func(raw int, err error) int {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return raw
	}
}

// foreignPipe is the read end of a pipe that holds content. With flags of -1 it has no writer.
func foreignPipe(t *testing.T, flags int, content []byte) int {
	t.Helper()
	var ends [2]int
	if err := unix.Pipe2(ends[:], unix.O_CLOEXEC|max(flags, 0)); err != nil {
		t.Fatal(err)
	}
	if flags < 0 {
		unix.Close(ends[1])
		return ends[0]
	}
	t.Cleanup(func() { unix.Close(ends[1]) })
	if _, err := unix.Write(ends[1], content); err != nil {
		t.Fatal(err)
	}
	return ends[0]
}

// reopenedSyncFile opens the pipe behind a SYNC_FD again.
func reopenedSyncFile(t *testing.T, access int) int {
	t.Helper()
	origin := New(Fence, 0)
	t.Cleanup(origin.Release)
	raw := exportSyncFile(t, origin)
	defer unix.Close(raw)
	return must(t)(unix.Open("/proc/self/fd/"+itoa(raw), access|unix.O_CLOEXEC, 0))
}

// What this driver did not export is refused, although it could be waited for, and stays what it was.
func TestImportSyncFileOfOthers(t *testing.T) {
	for name, descriptor := range foreign {
		t.Run(name, func(t *testing.T) {
			for kind, vuid := range map[Kind]string{
				Binary: "VUID-VkImportSemaphoreFdInfoKHR-fd-01544", Fence: "VUID-VkImportFenceFdInfoKHR-fd-01541",
			} {
				raw := descriptor(t)
				var before, after unix.Stat_t
				if err := unix.Fstat(raw, &before); err != nil {
					t.Fatal(err)
				}
				p, err := ImportSyncFile(raw, kind)
				if p != nil || vk.ResultOf(err) != vk.ERROR_INVALID_EXTERNAL_HANDLE || vk.VUIDOf(err).String() != vuid {
					t.Errorf("%v: %v (%s)", kind, err, vk.VUIDOf(err).String())
				}
				if err := unix.Fstat(raw, &after); err != nil || after != before {
					t.Errorf("%v: the descriptor is not what it was: %v", kind, err)
				}
				unix.Close(raw)
			}
		})
	}
}
