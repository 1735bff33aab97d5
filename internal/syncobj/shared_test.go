package syncobj

import (
	"math"
	"os"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"farside/internal/memfd"
	"farside/internal/vk"
	"farside/memory"
)

func TestExportImport(t *testing.T) {
	id := Identity{[16]byte{1}, [16]byte{2}}
	for _, kind := range []Kind{Fence, Binary, Timeline} {
		before := descriptors(t)
		p, err := NewShared(kind, 1, id)
		if err != nil {
			t.Fatal(err)
		}
		fd, err := p.Export()
		if err != nil {
			t.Fatal(err)
		}
		if flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0); err != nil || flags&unix.FD_CLOEXEC == 0 {
			t.Errorf("%v: the descriptor is not close-on-exec: %v", kind, err)
		}
		q, err := Import(fd, kind, id)
		if err != nil {
			t.Fatal(err)
		}
		if q.Kind() != kind || !q.Shared() || q.Value() != 1 {
			t.Errorf("%v: imported as a %v with value %d", kind, q.Kind(), q.Value())
		}
		// Both hold the payload: the other's release is clean, and the last one keeps what there was.
		p.Release()
		if q.Orphaned() || q.Value() != 1 {
			t.Errorf("%v: orphaned %v, value %d after the exporter's release", kind, q.Orphaned(), q.Value())
		}
		fd, err = q.Export()
		if err != nil {
			t.Fatal(err)
		}
		unix.Close(fd)
		q.Release()
		if after := descriptors(t); after != before {
			t.Errorf("%v: %d descriptors before, %d after", kind, before, after)
		}
	}
	_, err := New(Binary, 0).Export()
	if vk.ResultOf(err) != vk.ERROR_INVALID_EXTERNAL_HANDLE ||
		vk.VUIDOf(err).String() != "VUID-VkSemaphoreGetFdInfoKHR-handleType-01132" {
		t.Errorf("a local payload: %v", err)
	}
}

func descriptors(t *testing.T) int {
	t.Helper()
	list, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(list)
}

// forge makes a file as NewShared does, but as the test wants it.
func forge(t *testing.T, size int64, content []byte, at int64, seals int) int {
	t.Helper()
	fd, err := unix.MemfdCreate("forged", unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
	if err != nil {
		t.Fatal(err)
	}
	if err := unix.Ftruncate(fd, size); err != nil {
		t.Fatal(err)
	}
	if _, err := unix.Pwrite(fd, content, at); err != nil {
		t.Fatal(err)
	}
	if _, err := unix.FcntlInt(uintptr(fd), unix.F_ADD_SEALS, seals); err != nil {
		t.Fatal(err)
	}
	return fd
}

func TestImportRefuses(t *testing.T) {
	const (
		semaphoreRule = "VUID-VkImportSemaphoreFdInfoKHR-fd-01544"
		typeRule      = "VUID-VkImportSemaphoreFdInfoKHR-handleType-03264"
		fenceRule     = "VUID-VkImportFenceFdInfoKHR-fd-01541"
	)
	page := int64(memory.PageSize())
	good := sample.encode()
	bad := good
	bad[20] ^= 1
	export := func(kind Kind) int {
		p, err := NewShared(kind, 0, sample.id)
		if err != nil {
			t.Fatal(err)
		}
		defer p.Release()
		fd, err := p.Export()
		if err != nil {
			t.Fatal(err)
		}
		return fd
	}
	readOnly := func() int {
		fd := export(Binary)
		defer unix.Close(fd)
		other, err := unix.Open("/proc/self/fd/"+itoa(fd), unix.O_RDONLY|unix.O_CLOEXEC, 0)
		if err != nil {
			t.Fatal(err)
		}
		return other
	}
	locked := func() int {
		fd := export(Binary)
		lock := unix.Flock_t{Type: unix.F_WRLCK, Len: 1}
		if err := unix.FcntlFlock(uintptr(fd), unix.F_OFD_SETLK, &lock); err != nil {
			t.Fatal(err)
		}
		return fd
	}
	null, err := unix.Open("/dev/null", unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name string
		fd   int
		kind Kind
		id   Identity
		vuid string
		says string
	}{
		{"closed", 1 << 20, Binary, sample.id, semaphoreRule, "not open"},
		{"minus one", -1, Binary, sample.id, semaphoreRule, "not open"},
		{"device", null, Timeline, sample.id, semaphoreRule, "not a memfd"},
		{"unsealed", forge(t, page, good[:], metadataOffset, 0), Binary, sample.id, semaphoreRule, "not sealed"},
		{"not writable", forge(t, page, good[:], metadataOffset, memfd.Seals|unix.F_SEAL_FUTURE_WRITE), Binary, sample.id,
			semaphoreRule, "sealed against writing"},
		{"read-only", readOnly(), Binary, sample.id, semaphoreRule, "reading and writing"},
		{"truncated", forge(t, metadataOffset+metadataSize, good[:], metadataOffset, memfd.Seals), Binary, sample.id,
			semaphoreRule, "one page"},
		{"empty", forge(t, 0, nil, 0, memfd.Seals), Binary, sample.id, semaphoreRule, "0 bytes"},
		{"two pages", forge(t, 2*page, good[:], metadataOffset, memfd.Seals), Fence, sample.id, fenceRule, "one page"},
		{"zeros", forge(t, page, nil, 0, memfd.Seals), Binary, sample.id, semaphoreRule, "magic"},
		{"forged", forge(t, page, bad[:], metadataOffset, memfd.Seals), Fence, sample.id, fenceRule, "checksum"},
		{"driver", export(Binary), Binary, Identity{[16]byte{9}, sample.id.DeviceUUID}, semaphoreRule, "from driver"},
		{"device UUID", export(Fence), Fence, Identity{sample.id.DriverUUID, [16]byte{9}}, fenceRule, "from device"},
		{"binary as timeline", export(Binary), Timeline, sample.id, typeRule, "binary semaphore"},
		{"timeline as binary", export(Timeline), Binary, sample.id, typeRule, "timeline semaphore"},
		{"fence as binary", export(Fence), Binary, sample.id, semaphoreRule, "a fence"},
		{"timeline as fence", export(Timeline), Fence, sample.id, fenceRule, "timeline semaphore"},
		{"locked", locked(), Binary, sample.id, semaphoreRule, "locked"},
	} {
		before := descriptors(t)
		p, err := Import(c.fd, c.kind, c.id)
		if p != nil || vk.ResultOf(err) != vk.ERROR_INVALID_EXTERNAL_HANDLE || vk.VUIDOf(err).String() != c.vuid ||
			!strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v (%s)", c.name, err, vk.VUIDOf(err).String())
		}
		if after := descriptors(t); after != before {
			t.Errorf("%s: %d descriptors before, %d after", c.name, before, after)
		}
		unix.Close(c.fd)
	}
}

// Whatever another holder writes into the state block, waits end by their timeout and nothing crashes.
func TestScribbledState(t *testing.T) {
	values := []uint64{0, 1, 2, math.MaxUint32, math.MaxUint64 - 1, math.MaxUint64}
	for _, kind := range []Kind{Fence, Binary, Timeline} {
		p := sharedPayload(t, kind, 0)
		fd, err := p.Export()
		if err != nil {
			t.Fatal(err)
		}
		peer, err := Import(fd, kind, Identity{})
		if err != nil {
			t.Fatal(err)
		}
		stop, quiet := make(chan struct{}), make(chan struct{})
		go func() {
			defer close(quiet)
			for i := 0; ; i++ {
				select {
				case <-stop:
					return
				default:
				}
				s := peer.state
				s.value.Store(values[i%len(values)])
				s.wanted.Store(values[i/2%len(values)])
				s.holders.Store(uint32(values[i/3%len(values)]))
				s.seq.Add(uint32(i))
			}
		}()
		for range 200 {
			start := time.Now()
			err := Wait([]Point{{p, math.MaxUint64}, {p, 3}}, true, uint64(time.Millisecond), nil)
			if err != nil && err != ErrTimeout || time.Since(start) > late {
				t.Fatalf("%v: %v after %v", kind, err, time.Since(start))
			}
			_ = p.Signal(5)
			p.TryWait(3)
			p.Reset()
			p.Orphaned()
		}
		close(stop)
		<-quiet
		peer.Release()
	}
}
