package exec

import (
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"farside/internal/command"
	"farside/internal/descriptor"
	"farside/internal/pass"
	"farside/internal/sampling"
	"farside/internal/syncobj"
	"farside/internal/vk"
	"farside/memory"
)

// world is a Device and the resources on it; losses are what made it lost.
type world struct {
	Device
	buffers   map[vk.Buffer]*memory.Payload
	events    map[vk.Event]*syncobj.Payload
	pools     map[vk.QueryPool]*QueryPool
	secondary map[vk.CommandBuffer]*command.Stream
	pipelines map[vk.Pipeline]*Pipeline
	shaders   map[vk.ShaderEXT]*Shader
	sets      map[vk.DescriptorSet]*descriptor.Set
	inherits  map[vk.CommandBuffer]*Inheritance // of secondary
	ranges    []Range

	streams []*command.Stream // reset after the queues have ended

	mu     sync.Mutex
	losses []error
}

const all = vk.BUFFER_USAGE_TRANSFER_SRC_BIT | vk.BUFFER_USAGE_TRANSFER_DST_BIT | vk.BUFFER_USAGE_INDIRECT_BUFFER_BIT |
	vk.BUFFER_USAGE_VERTEX_BUFFER_BIT | vk.BUFFER_USAGE_INDEX_BUFFER_BIT

var errNone = errors.New("no such object")

func (w *world) Buffer(h vk.Buffer) (Buffer, error) {
	p := w.buffers[h]
	if p == nil || !p.TryRetain() {
		return Buffer{}, errNone
	}
	b, err := p.Bytes()
	if err != nil {
		return Buffer{}, err
	}
	return Buffer{Bytes: b, Usage: all, Payload: p}, nil
}

func (w *world) Image(vk.Image) (Image, error) { return Image{}, errNone }

func (w *world) ImageView(vk.ImageView) (View, error)   { return View{}, errNone }
func (w *world) BufferView(vk.BufferView) (View, error) { return View{}, errNone }

func (w *world) Attachment(vk.ImageView) (AttachmentView, error) { return AttachmentView{}, errNone }

func (w *world) RenderPass(vk.RenderPass) (*pass.RenderPass, error) { return nil, errNone }

func (w *world) Framebuffer(vk.Framebuffer) (*Framebuffer, error) { return nil, errNone }

func (w *world) Sampler(vk.Sampler) (*sampling.Sampler, error) { return nil, errNone }

func (w *world) Event(h vk.Event) (*syncobj.Payload, error) {
	if p := w.events[h]; p != nil {
		return p.Retain(), nil
	}
	return nil, errNone
}

func (w *world) Shader(h vk.ShaderEXT) (*Shader, error) {
	if s := w.shaders[h]; s != nil {
		return s, nil
	}
	return nil, errNone
}

func (w *world) QueryPool(h vk.QueryPool) (*QueryPool, error) {
	if p := w.pools[h]; p != nil {
		return p, nil
	}
	return nil, errNone
}

func (w *world) Secondary(h vk.CommandBuffer) (Secondary, error) {
	if s := w.secondary[h]; s != nil {
		return Secondary{s, w.inherits[h]}, nil
	}
	return Secondary{}, errNone
}

func (w *world) Pipeline(h vk.Pipeline) (*Pipeline, error) {
	if p := w.pipelines[h]; p != nil {
		return p, nil
	}
	return nil, errNone
}

func (w *world) DescriptorSet(h vk.DescriptorSet) (*descriptor.Set, error) {
	if s := w.sets[h]; s != nil {
		return s, nil
	}
	return nil, errNone
}

func (w *world) Physical(address uint64) (Range, bool) {
	for _, r := range w.ranges {
		if address-r.Address < uint64(len(r.Bytes)) && r.Payload.TryRetain() {
			return r, true
		}
	}
	return Range{}, false
}

func newWorld(t testing.TB) *world {
	w := &world{
		buffers: map[vk.Buffer]*memory.Payload{}, events: map[vk.Event]*syncobj.Payload{},
		pools: map[vk.QueryPool]*QueryPool{}, secondary: map[vk.CommandBuffer]*command.Stream{},
		pipelines: map[vk.Pipeline]*Pipeline{}, sets: map[vk.DescriptorSet]*descriptor.Set{},
	}
	w.Device = Device{Resources: w, MaxGroups: [3]uint32{MaxGroupsX, MaxGroupsYZ, MaxGroupsYZ},
		Stop: syncobj.New(syncobj.Fence, 0), Lost: func(_ CommandBuffer, err error) {
			w.mu.Lock()
			w.losses = append(w.losses, err)
			w.mu.Unlock()
			if err := w.Stop.Signal(1); err != nil {
				t.Error(err)
			}
		}}
	t.Cleanup(func() {
		for _, s := range w.streams {
			s.Reset()
		}
	})
	return w
}

func (w *world) buffer(t testing.TB, h vk.Buffer, size uint64) []byte {
	t.Helper()
	p, err := memory.NewAnonymous(size)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Release)
	w.buffers[h] = p
	b, err := p.Bytes()
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// queue makes a queue that the test's end stops and closes.
func (w *world) queue(t testing.TB) *Queue {
	q := NewQueue(&w.Device)
	t.Cleanup(func() {
		if err := w.Stop.Signal(1); err != nil {
			t.Error(err)
		}
		q.Close()
	})
	return q
}

// loss returns what made the device lost, and fails when nothing did.
func (w *world) loss(t testing.TB) string {
	t.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.losses) != 1 {
		t.Fatalf("the device was lost %d times, want once: %v", len(w.losses), w.losses)
	}
	if r := vk.ResultOf(w.losses[0]); r != vk.ERROR_DEVICE_LOST {
		t.Errorf("%v is a %v", w.losses[0], r)
	}
	return w.losses[0].Error()
}

// recorded is a command buffer.
type recorded struct {
	stream    *command.Stream
	completed atomic.Int32
}

func (r *recorded) Stream() *command.Stream { return r.stream }
func (r *recorded) Completed(bool)          { r.completed.Add(1) }

func (w *world) record(t testing.TB, commands func(s *command.Stream)) *recorded {
	t.Helper()
	s := command.NewStream(new(command.Pool), new(command.Window))
	if err := s.Begin(); err != nil {
		t.Fatal(err)
	}
	commands(s)
	s.End()
	w.streams = append(w.streams, s)
	return &recorded{stream: s}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// wait is syncobj.Wait for one payload, bounded so that a bug does not hang the test.
func wait(t testing.TB, p *syncobj.Payload, value uint64) {
	t.Helper()
	must(t, syncobj.Wait([]syncobj.Point{{Payload: p, Value: value}}, true, uint64(time.Minute), nil))
}

func TestCommandsRunInOrder(t *testing.T) {
	w := newWorld(t)
	q := w.queue(t)
	a, b := w.buffer(t, 1, 4096), w.buffer(t, 2, 4096)
	c := w.record(t, func(s *command.Stream) {
		must(t, s.FillBuffer(1, 0, vk.WHOLE_SIZE, 0x01010101))
		data := []byte("abcdefgh")
		must(t, s.UpdateBuffer(1, 8, data))
		region := []vk.BufferCopy{{SrcOffset: 4, DstOffset: 100, Size: 20}}
		must(t, s.CopyBuffer(1, 2, region))
		must(t, s.FillBuffer(1, 8, 8, 0))
	})
	s := NewSubmission()
	s.Execute(c)
	q.Submit(s)
	must(t, q.WaitIdle())
	if got, want := string(b[100:120]), "\x01\x01\x01\x01abcdefgh\x01\x01\x01\x01\x01\x01\x01\x01"; got != want {
		t.Errorf("the copy is %q, want %q", got, want)
	}
	if b[99] != 0 || b[120] != 0 || a[8] != 0 || a[15] != 0 || a[16] != 1 || a[4095] != 1 {
		t.Error("bytes outside of the commands' ranges changed, or inside did not")
	}
	if n := c.completed.Load(); n != 1 {
		t.Errorf("Completed was called %d times", n)
	}
}

// TestSubmitDoesNotBlock submits work that waits for a semaphore, for an event and for a query, and only then
// lets it go on.
func TestSubmitDoesNotBlock(t *testing.T) {
	w := newWorld(t)
	b := w.buffer(t, 1, 64)
	w.events[7] = syncobj.New(syncobj.Fence, 0)
	q := w.queue(t)
	semaphore, fence := syncobj.New(syncobj.Binary, 0), syncobj.New(syncobj.Fence, 0)
	s := NewSubmission()
	s.Wait(semaphore.Retain(), 0)
	event := []vk.Event{7}
	s.Execute(w.record(t, func(s *command.Stream) {
		must(t, s.FillBuffer(1, 0, 4, 1))
		must(t, s.WaitEvents(event, 0, 0))
		must(t, s.FillBuffer(1, 4, 4, 1))
	}))
	s.Signal(fence.Retain(), 1)
	q.Submit(s)
	// A second submission, which could run, has to wait its turn.
	s = NewSubmission()
	s.Execute(w.record(t, func(s *command.Stream) { must(t, s.FillBuffer(1, 8, 4, 1)) }))
	q.Submit(s)
	time.Sleep(20 * time.Millisecond)
	if b[0] != 0 || b[8] != 0 || fence.Value() != 0 {
		t.Fatal("the queue did not wait for the semaphore")
	}
	must(t, semaphore.Signal(1))
	time.Sleep(20 * time.Millisecond)
	if b[4] != 0 || b[8] != 0 || fence.Value() != 0 {
		t.Fatal("the queue did not wait for the event")
	}
	must(t, w.events[7].Signal(1))
	wait(t, fence, 1)
	must(t, q.WaitIdle())
	if b[0] != 1 || b[4] != 1 || b[8] != 1 || semaphore.Value() != 0 {
		t.Fatalf("after all signals: bytes % x, semaphore %d", b[:12], semaphore.Value())
	}
}

func TestQueuesSignalEachOther(t *testing.T) {
	w := newWorld(t)
	b := w.buffer(t, 1, 4096)
	queues := []*Queue{w.queue(t), w.queue(t), w.queue(t)}
	timeline := syncobj.New(syncobj.Timeline, 0)
	const rounds = 300
	for i := range uint64(rounds) {
		// Out of order: what comes last is submitted first.
		for n := uint64(len(queues)); n > 0; n-- {
			v := i*uint64(len(queues)) + n
			s := NewSubmission()
			s.Wait(timeline.Retain(), v-1)
			s.Execute(w.record(t, func(s *command.Stream) { must(t, s.FillBuffer(1, 4*v, 4, uint32(v))) }))
			s.Signal(timeline.Retain(), v)
			queues[n-1].Submit(s)
		}
	}
	wait(t, timeline, rounds*uint64(len(queues)))
	must(t, WaitIdle(queues))
	for v := 1; v <= rounds*len(queues); v++ {
		if b[4*v] != byte(v) || b[4*v+1] != byte(v>>8) {
			t.Fatalf("word %d is % x", v, b[4*v:4*v+4])
		}
	}
}

func TestErrorsLoseTheDevice(t *testing.T) {
	region := []vk.BufferCopy{{Size: 65}}
	handle := []vk.CommandBuffer{5}
	for _, c := range []struct {
		name, says string
		record     func(s *command.Stream) error
	}{
		{"no buffer", "command 1, vkCmdFillBuffer: dstBuffer: no such object",
			func(s *command.Stream) error { return s.FillBuffer(9, 0, 4, 0) }},
		{"bounds", "command 1, vkCmdFillBuffer", func(s *command.Stream) error { return s.FillBuffer(1, 0, 68, 0) }},
		{"offset", "dstOffset 64", func(s *command.Stream) error { return s.FillBuffer(1, 64, 4, 0) }},
		{"alignment", "size 3", func(s *command.Stream) error { return s.FillBuffer(1, 0, 3, 0) }},
		{"copy", "command 1, vkCmdCopyBuffer", func(s *command.Stream) error { return s.CopyBuffer(1, 1, region) }},
		{"event", "vkCmdSetEvent", func(s *command.Stream) error { return s.SetEvent(3, 0) }},
		{"image", "vkCmdClearColorImage", func(s *command.Stream) error {
			return s.ClearColorImage(3, 0, new(vk.ClearColorValue), make([]vk.ImageSubresourceRange, 1))
		}},
		{"resolve", "vkCmdResolveImage in \"outer\": srcImage: no such object",
			func(s *command.Stream) error { return s.ResolveImage(3, 0, 3, 0, make([]vk.ImageResolve, 1)) }},
		{"pool", "vkCmdWriteTimestamp", func(s *command.Stream) error { return s.WriteTimestamp(0, 3, 0) }},
		{"secondary", "command 3, vkCmdFillBuffer in \"outer/inner\"",
			func(s *command.Stream) error { return s.ExecuteCommands(handle) }},
		{"no access", "panic", func(s *command.Stream) error { return s.FillBuffer(2, 0, 4, 0) }},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t)
			b := w.buffer(t, 1, 64)
			gone, err := unix.MmapPtr(-1, 0, nil, 4096, unix.PROT_NONE, unix.MAP_PRIVATE|unix.MAP_ANON)
			must(t, err)
			w.buffers[2] = memory.FromHostPointer(gone, 4096)
			t.Cleanup(func() { must(t, unix.MunmapPtr(gone, 4096)) })
			w.secondary[handle[0]] = w.record(t, func(s *command.Stream) {
				must(t, s.DebugLabel(command.LabelBegin, [4]float32{}, "inner"))
				must(t, s.FillBuffer(1, 0, 68, 0))
			}).stream
			q := w.queue(t)
			fence := syncobj.New(syncobj.Fence, 0)
			s := NewSubmission()
			broken := w.record(t, func(s *command.Stream) {
				must(t, s.DebugLabel(command.LabelBegin, [4]float32{}, "outer"))
				must(t, c.record(s))
				must(t, s.FillBuffer(1, 0, 64, 0xffffffff))
			})
			s.Execute(broken)
			s.Signal(fence.Retain(), 1)
			q.Submit(s)
			wait(t, q.progress, 1)
			says := c.says
			if strings.HasPrefix(says, "command 1, ") && !strings.Contains(says, " in ") {
				says, _, _ = strings.Cut(says, ":")
			}
			if got := w.loss(t); !strings.Contains(got, says) || !strings.Contains(got, "outer") {
				t.Errorf("lost by %q, want it to say %q and the label", got, c.says)
			}
			if b[0] != 0 || fence.Value() != 0 || broken.completed.Load() != 1 {
				t.Error("the command buffer went on after its error")
			}
			// What is submitted now is dropped.
			after := w.record(t, func(s *command.Stream) { must(t, s.FillBuffer(1, 0, 4, 1)) })
			s = NewSubmission()
			s.Execute(after)
			q.Submit(s)
			wait(t, q.progress, 2)
			if b[0] != 0 || after.completed.Load() != 1 {
				t.Error("a lost device executes")
			}
		})
	}
}

func TestStopEndsWaits(t *testing.T) {
	w := newWorld(t)
	w.events[1] = syncobj.New(syncobj.Fence, 0)
	event := []vk.Event{1}
	byEvent, bySemaphore := w.queue(t), w.queue(t)
	s := NewSubmission()
	s.Execute(w.record(t, func(s *command.Stream) { must(t, s.WaitEvents(event, 0, 0)) }))
	byEvent.Submit(s)
	s = NewSubmission()
	s.Wait(syncobj.New(syncobj.Timeline, 0), 5)
	bySemaphore.Submit(s)
	go func() {
		time.Sleep(10 * time.Millisecond)
		_ = w.Stop.Signal(1)
	}()
	if err := WaitIdle([]*Queue{byEvent, bySemaphore}); !errors.Is(err, syncobj.ErrStopped) {
		t.Fatalf("WaitIdle = %v, want ErrStopped", err)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.losses) != 0 {
		t.Errorf("stopping is no loss: %v", w.losses)
	}
}

func TestTimelineMustGrow(t *testing.T) {
	w := newWorld(t)
	q := w.queue(t)
	s := NewSubmission()
	s.Signal(syncobj.New(syncobj.Timeline, 5), 5)
	q.Submit(s)
	wait(t, w.Stop, 1)
	if got := w.loss(t); !strings.Contains(got, "signal of a semaphore") {
		t.Errorf("lost by %q", got)
	}
}

func TestQueries(t *testing.T) {
	w := newWorld(t)
	b := w.buffer(t, 1, 64)
	pool, err := NewQueryPool(vk.QUERY_TYPE_TIMESTAMP, 3)
	must(t, err)
	w.pools[1] = pool
	b[40] = 0xff
	before := Now()
	q := w.queue(t)
	s := NewSubmission()
	s.Execute(w.record(t, func(s *command.Stream) {
		must(t, s.ResetQueryPool(1, 0, 2))
		must(t, s.WriteTimestamp(0, 1, 0))
		must(t, s.WriteTimestamp2(0, 1, 1))
		must(t, s.CopyQueryPoolResults(1, 0, 2, 1, 16, 8, vk.QUERY_RESULT_64_BIT|vk.QUERY_RESULT_WAIT_BIT))
		must(t, s.CopyQueryPoolResults(1, 2, 1, 1, 32, 8, vk.QUERY_RESULT_64_BIT|vk.QUERY_RESULT_WITH_AVAILABILITY_BIT))
		must(t, s.WriteBufferMarkerAMD(0, 1, 60, 0xabcd))
	}))
	q.Submit(s)
	must(t, q.WaitIdle())
	first, second := uint64At(b[16:]), uint64At(b[24:])
	if first < before || second < first || second > Now() {
		t.Errorf("timestamps %d, %d; submitted at %d", first, second, before)
	}
	if b[40] != 0 {
		t.Error("a query that nobody wrote is copied as available")
	}
	if b[60] != 0xcd || b[61] != 0xab {
		t.Errorf("the marker is % x", b[60:])
	}
}

func uint64At(b []byte) (v uint64) {
	for i := range 8 {
		v |= uint64(b[i]) << (8 * i)
	}
	return v
}

// TestPayloadOutlivesItsOwner frees memory between two commands that use it: the replay still holds it.
func TestPayloadOutlivesItsOwner(t *testing.T) {
	w := newWorld(t)
	p, err := memory.NewAnonymous(4096)
	must(t, err)
	w.buffers[1] = p
	w.events[1], w.events[2] = syncobj.New(syncobj.Fence, 0), syncobj.New(syncobj.Fence, 0)
	second := []vk.Event{2}
	q := w.queue(t)
	s := NewSubmission()
	s.Execute(w.record(t, func(s *command.Stream) {
		must(t, s.FillBuffer(1, 0, 4, 1))
		must(t, s.SetEvent(1, 0))
		must(t, s.WaitEvents(second, 0, 0))
		must(t, s.FillBuffer(1, 4, 4, 1))
	}))
	q.Submit(s)
	wait(t, w.events[1], 1)
	p.Release()
	must(t, w.events[2].Signal(1))
	must(t, q.WaitIdle())
	if p.TryRetain() {
		t.Error("the queue kept the payload after the execution")
	}
}

func TestSubmitDoesNotAllocate(t *testing.T) {
	w := newWorld(t)
	w.buffer(t, 1, 4096)
	q := w.queue(t)
	fence := syncobj.New(syncobj.Fence, 0)
	c := w.record(t, func(s *command.Stream) {
		for i := range uint64(10) {
			must(t, s.FillBuffer(1, i*64, 64, 1))
		}
	})
	submit := func() {
		s := NewSubmission()
		s.Execute(c)
		s.Signal(fence.Retain(), 1)
		q.Submit(s)
		fence.Reset()
	}
	submit()
	if n := testing.AllocsPerRun(200, submit); n >= 1 { // the pool may lose its object to the collector
		t.Errorf("%v allocations a submission", n)
	}
}

func benchmark(b *testing.B, commands int, record1 func(s *command.Stream, i uint64) error) {
	w := newWorld(b)
	w.buffer(b, 1, 1<<20)
	w.buffer(b, 2, 1<<20)
	q := w.queue(b)
	c := w.record(b, func(s *command.Stream) {
		for i := range uint64(commands) {
			must(b, record1(s, i))
		}
	})
	for b.Loop() {
		s := NewSubmission()
		s.Execute(c)
		q.Submit(s)
		must(b, q.WaitIdle())
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(max(commands, 1)), "ns/command")
}

func BenchmarkEmptySubmit(b *testing.B) { benchmark(b, 0, nil) }

func BenchmarkFills(b *testing.B) {
	benchmark(b, 50000, func(s *command.Stream, i uint64) error { return s.FillBuffer(1, i%1024*64, 64, uint32(i)) })
}

func BenchmarkCopies(b *testing.B) {
	benchmark(b, 50000, func(s *command.Stream, i uint64) error {
		return s.CopyBuffer(1, 2, []vk.BufferCopy{{SrcOffset: i % 1024 * 64, DstOffset: 4096, Size: 64}})
	})
}
