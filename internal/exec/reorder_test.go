package exec

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"farside/internal/command"
	"farside/internal/descriptor"
	"farside/internal/order"
	"farside/internal/syncobj"
	"farside/internal/vk"
)

// shuffledWorld is a world that puts commands in another order. order is that of the words of buffer 1 that commands
// have written; 100 stands for the signal that Submission.Signal is given.
func shuffledWorld(t *testing.T, seed uint64) (w *world, done func() []int) {
	w = newWorld(t)
	w.buffer(t, 1, 4096)
	random := rand.New(rand.NewPCG(seed, 0))
	var mu sync.Mutex
	var list []int
	w.Device.Shuffle = func(n int) int {
		mu.Lock()
		defer mu.Unlock()
		return random.IntN(n)
	}
	w.Device.Delay = func() { time.Sleep(100 * time.Microsecond) }
	w.Device.Order = order.NewTracker(0)
	w.Device.Watch = func(a *Access) {
		mu.Lock()
		defer mu.Unlock()
		list = append(list, int(a.Offset/4))
	}
	return w, func() []int {
		mu.Lock()
		defer mu.Unlock()
		return list
	}
}

// TestReorder: what submission order does not protect comes in any order, and what it does in its own.
func TestReorder(t *testing.T) {
	seen := map[string]bool{}
	for seed := range uint64(100) {
		w, executed := shuffledWorld(t, seed)
		q := w.queue(t)
		fill := func(words ...int) func(s *command.Stream) {
			return func(s *command.Stream) {
				for _, n := range words {
					if n < 0 {
						must(t, s.Barrier())
					} else {
						must(t, s.FillBuffer(1, uint64(n)*4, 4, uint32(n)))
					}
				}
			}
		}
		secondary := w.record(t, fill(3))
		w.secondary[1] = secondary.stream
		buffers := []*recorded{
			w.record(t, fill(0, 1)),
			w.record(t, func(s *command.Stream) {
				fill(2)(s)
				must(t, s.ExecuteCommands([]vk.CommandBuffer{1}))
				fill(-1, 4)(s)
			}),
			w.record(t, fill(5)),
			w.record(t, fill(6, 7)),
		}
		fence := syncobj.New(syncobj.Fence, 0)
		for i, c := range buffers {
			s := NewSubmission()
			s.Execute(c)
			if i == 2 {
				s.Signal(fence.Retain(), 0)
			}
			q.Submit(s)
		}
		wait(t, fence, 1)
		for _, c := range buffers[:3] {
			if c.completed.Load() != 1 {
				t.Fatal("a fence is signalled before its work has ended")
			}
		}
		before := executed()[:6]
		must(t, q.WaitIdle())
		after := executed()[6:]
		fence.Release()
		place := func(n int) int { return slices.Index(before, n) }
		for n := range 6 {
			if place(n) < 0 {
				t.Fatalf("command %d did not come before the fence: %v, then %v", n, before, after)
			}
		}
		if max(place(0), place(1), place(2), place(3)) > min(place(4), place(5)) || len(after) != 2 {
			t.Fatalf("seed %d: a barrier is broken: %v, then %v", seed, before, after)
		}
		if buffers[3].completed.Load() != 1 {
			t.Fatal("a queue is idle before its work has ended")
		}
		seen[fmt.Sprint(before[:4])] = true
	}
	if len(seen) < 6 {
		t.Errorf("only %d orders: %v", len(seen), seen)
	}
}

// TestReorderState: a dispatch that is put off finds what was bound where it stood.
func TestReorderState(t *testing.T) {
	w, _ := shuffledWorld(t, 0)
	w.Device.Shuffle = func(int) int { return 0 } // everything is put off, and done with the first at the end
	l := pushLayout(t, 2)
	w.pipelines[1] = &Pipeline{Program: empty(1), Sets: []*descriptor.Layout{l}, Uses: []uint32{0}}
	type found struct {
		sizes    [2]uint64
		constant byte
	}
	got := map[int]found{}
	w.Device.Around = func(q *Queue) func() {
		r := &q.replay
		if r.op == command.OpDispatch {
			got[r.index] = found{[2]uint64{r.bound.Memory(0, 0, 0).Size, r.bound.Memory(0, 0, 1).Size}, r.bound.constants[0]}
		}
		return func() {}
	}
	q := w.queue(t)
	c := w.record(t, func(s *command.Stream) {
		must(t, s.BindPipeline(compute1, 1))
		for i := range 3 {
			must(t, errors.Join(s.PushConstants(0, vk.SHADER_STAGE_COMPUTE_BIT, 0, []byte{byte(i + 1), 0, 0, 0}),
				s.PushDescriptorSet(compute1, l, 0, []descriptor.Write{bufferWrite(0, uint32(i%2), 1, 0, uint64(8*i+8))}),
				s.Dispatch(1, 1, 1)))
		}
	})
	s := NewSubmission()
	s.Execute(c)
	q.Submit(s)
	must(t, q.WaitIdle())
	want := map[int]found{3: {[2]uint64{8, 0}, 1}, 6: {[2]uint64{8, 16}, 2}, 9: {[2]uint64{24, 16}, 3}}
	for i, f := range want {
		if got[i] != f {
			t.Errorf("command %d finds %+v, want %+v", i, got[i], f)
		}
	}
}

// TestReorderLoss: a command that was put off and fails makes the device lost, by its own number.
func TestReorderLoss(t *testing.T) {
	w, _ := shuffledWorld(t, 0)
	w.Device.Shuffle = func(int) int { return 0 }
	q := w.queue(t)
	c := w.record(t, func(s *command.Stream) {
		must(t, s.FillBuffer(1, 0, 4, 0))
		must(t, s.FillBuffer(9, 0, 4, 0))
	})
	s := NewSubmission()
	s.Execute(c)
	q.Submit(s)
	if err := q.WaitIdle(); !errors.Is(err, syncobj.ErrStopped) {
		t.Errorf("the queue is idle: %v", err)
	}
	if text := w.loss(t); !strings.Contains(text, "command 1, vkCmdFillBuffer") {
		t.Errorf("the loss is %q", text)
	}
	// Who waits hears of the loss first.
	for end := time.Now().Add(10 * time.Second); c.completed.Load() != 1; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("the command buffer has not ended")
		}
	}
}
