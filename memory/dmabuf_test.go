package memory

import (
	"errors"
	"sync"
	"sync/atomic"
	"testing"

	"golang.org/x/sys/unix"

	"farside/internal/fd"
	"farside/internal/fd/fdtest"
	"farside/internal/vk"
)

// eventFD stands for a dma-buf. Like one it can be busy, that is not ready for writing, and it refuses
// DMA_BUF_IOCTL_SYNC, as the driver of a dma-buf may.
func eventFD(t *testing.T, busy bool) *fd.FD {
	t.Helper()
	f, err := fd.Fresh(unix.Eventfd(0, unix.EFD_CLOEXEC))
	if err != nil {
		t.Fatal(err)
	}
	if busy {
		full := []byte{0xfe, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff} // eventfd(2): a further write would block
		if _, err := unix.Write(f.Int(), full); err != nil {
			t.Fatal(err)
		}
	}
	return f
}

func TestAccessOfDMABufs(t *testing.T) {
	fdtest.NoLeaks(t)
	idle, busy := FromDMABuf(eventFD(t, false), 1, 1), FromDMABuf(eventFD(t, true), 1, 1)
	defer idle.Release()
	defer busy.Release()
	for what, err := range map[string]error{
		"begin": idle.BeginAccess(), "end": idle.EndAccess(), "end of a busy one": busy.EndAccess(),
	} {
		var e *vk.Error
		if !errors.As(err, &e) || e.Result != vk.ERROR_UNKNOWN || !errors.Is(err, unix.ENOTTY) {
			t.Errorf("%s: %v, want that the driver refuses", what, err)
		}
	}
	// The kernel's call would wait for the fences.
	if err := busy.BeginAccess(); err != nil {
		t.Errorf("begin of a busy one: %v", err)
	}
	private, err := NewAnonymous(1)
	if err != nil {
		t.Fatal(err)
	}
	defer private.Release()
	if err := errors.Join(private.BeginAccess(), private.EndAccess()); err != nil {
		t.Errorf("memory that is no dma-buf: %v", err)
	}
}

func TestDMABufIsMadeOnce(t *testing.T) {
	fdtest.NoLeaks(t)
	p, err := NewShared(5000, Metadata{})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Release()
	if _, err := p.DMABuf(func(int, uint64) (*fd.FD, error) { return nil, unix.EINVAL }); err != unix.EINVAL {
		t.Errorf("%v, want what the driver says", err)
	}
	var made atomic.Int32
	var got [8]*fd.FD
	var wg sync.WaitGroup
	for i := range got {
		wg.Go(func() {
			got[i], _ = p.DMABuf(func(file int, size uint64) (*fd.FD, error) {
				if own, _ := p.FD(); file != own || size != RoundUpToPage(5000) {
					t.Errorf("asked for %d bytes of file %d", size, file)
				}
				made.Add(1)
				return eventFD(t, false), nil
			})
		})
	}
	wg.Wait()
	for _, f := range got {
		if f == nil || f != got[0] {
			t.Errorf("two dma-bufs")
		}
	}
	if made.Load() != 1 {
		t.Errorf("made %d times", made.Load())
	}
}
