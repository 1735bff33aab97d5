package exec

import (
	"runtime"
	"sync/atomic"
	"testing"

	"golang.org/x/sys/unix"

	"farside/internal/command"
	"farside/internal/syncobj"
	"farside/internal/vk"
)

// threadOf is a command buffer that notes which thread has executed it.
type threadOf struct {
	recorded
	thread atomic.Int64
}

func (r *threadOf) Completed(executed bool) {
	r.thread.Store(int64(unix.Gettid()))
	r.recorded.Completed(executed)
}

// TestHelp: whoever comes first executes what is left to the queue's goroutine, and each submission is executed once
// and in order, whether the helper goes on to the end or leaves in between.
func TestHelp(t *testing.T) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	w := newWorld(t)
	q := w.queue(t)
	b := w.buffer(t, 1, 1<<20)
	var helped int
	for round := range uint32(200) {
		var buffers [3]*threadOf
		var fence *syncobj.Payload
		for i := range buffers {
			// Longer than what a submitting thread executes.
			c := w.record(t, func(s *command.Stream) { must(t, s.FillBuffer(1, 0, vk.WHOLE_SIZE, 3*round+uint32(i))) })
			buffers[i] = &threadOf{recorded: recorded{stream: c.stream}}
			s := NewSubmission()
			s.Execute(buffers[i])
			if i == 1 {
				fence = syncobj.New(syncobj.Fence, 0)
				s.Signal(fence.Retain(), 1)
			}
			q.Submit(s)
		}
		q.Help(func() bool { return fence.Value() != 0 })
		wait(t, fence, 1)
		if word := uint32(b[0]) | uint32(b[1])<<8; word < (3*round+1)&0xffff {
			t.Fatalf("round %d: the fence is signalled, and the buffer has %d", round, word)
		}
		if buffers[1].thread.Load() == int64(unix.Gettid()) {
			helped++
		}
		must(t, q.WaitIdle())
		for i := range buffers {
			if n := buffers[i].completed.Load(); n != 1 {
				t.Fatalf("round %d: command buffer %d completed %d times", round, i, n)
			}
		}
		if word := uint32(b[0]) | uint32(b[1])<<8; word != (3*round+2)&0xffff {
			t.Fatalf("round %d: the buffer has %d at the end", round, word)
		}
		fence.Release()
	}
	if helped == 0 {
		t.Error("the waiting thread never was the first")
	}
	q.Help(func() bool { t.Error("an idle queue asks"); return true })
}
