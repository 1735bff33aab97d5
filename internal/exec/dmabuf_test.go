package exec

import (
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"farside/internal/command"
	"farside/internal/fd"
	"farside/internal/vk"
	"farside/memory"
)

// TestEndOfAccessFails executes commands on memory whose dma-buf's driver refuses the end of an access, as an eventfd
// does: nobody knows then what devices see.
func TestEndOfAccessFails(t *testing.T) {
	w := newWorld(t)
	p, err := memory.NewShared(4096, memory.Metadata{})
	must(t, err)
	t.Cleanup(p.Release)
	_, err = p.DMABuf(func(int, uint64) (*fd.FD, error) { return fd.Fresh(unix.Eventfd(0, unix.EFD_CLOEXEC)) })
	must(t, err)
	w.buffers[1] = p
	q := w.queue(t)
	s := NewSubmission()
	s.Execute(w.record(t, func(s *command.Stream) { must(t, s.FillBuffer(1, 0, vk.WHOLE_SIZE, 1)) }))
	q.Submit(s)
	wait(t, w.Stop, 1)
	if got := w.loss(t); !strings.Contains(got, "DMA_BUF_IOCTL_SYNC") {
		t.Errorf("lost because of %s", got)
	}
}
