package exec

import (
	"errors"
	"strings"
	"testing"
	"time"

	"farside/compute"
	"farside/internal/command"
	"farside/internal/descriptor"
	"farside/internal/syncobj"
	"farside/internal/vk"
	"farside/memory"
)

// empty is a program that does nothing.
func empty(lanes int) *compute.Program {
	p := new(compute.Program)
	p.Name, p.LocalSize, p.Lanes, p.SubgroupSize = "main", [3]uint32{uint32(lanes), 1, 1}, lanes, 32
	p.Mask, p.FileSize = compute.Register{Step: 32, Size: 32}, 4096
	p.Insts = []compute.Inst{{Code: compute.End}}
	return p
}

// endless is a program with a loop that nothing ends.
func endless() *compute.Program {
	p := empty(8)
	p.Loops = []compute.Loop{{Name: "endless.comp:3"}}
	p.Insts = []compute.Inst{{Code: compute.Again}, {Code: compute.Jump, Target: 0}}
	return p
}

// layout is one of a storage buffer at binding 0, a dynamic one at 1, and 16 bytes of an inline uniform block at 2.
func layout(t testing.TB) *descriptor.Layout {
	t.Helper()
	binding := func(n uint32, kind vk.DescriptorType, count uint32) descriptor.Binding {
		return descriptor.Binding{Number: n, Type: kind, Count: count,
			Stages: vk.ShaderStageFlags(vk.SHADER_STAGE_COMPUTE_BIT)}
	}
	l, err := descriptor.NewLayout(0, []descriptor.Binding{
		binding(0, vk.DESCRIPTOR_TYPE_STORAGE_BUFFER, 2), binding(1, vk.DESCRIPTOR_TYPE_STORAGE_BUFFER_DYNAMIC, 1),
		binding(2, vk.DESCRIPTOR_TYPE_INLINE_UNIFORM_BLOCK, 16),
	})
	must(t, err)
	return l
}

// failure executes commands and returns the rule that they break, or what else is wrong.
func (w *world) failure(t *testing.T, add func(s *command.Stream)) string {
	t.Helper()
	var told error
	w.Told = func(err error) { told = err }
	q := NewQueue(&w.Device)
	err := q.execute(w.record(t, add).stream, 1)
	switch {
	case err == nil && told != nil: // and executed
		return vk.VUIDOf(told).String()
	case err == nil:
		return ""
	case vk.ResultOf(err) != vk.ERROR_DEVICE_LOST:
		t.Errorf("%v has the result %v", err, vk.ResultOf(err))
	case vk.VUIDOf(err).String() == "":
		return err.Error()
	}
	return vk.VUIDOf(err).String()
}

func TestDispatchRules(t *testing.T) {
	w := newWorld(t)
	l := layout(t)
	other, err := descriptor.NewLayout(0, nil)
	must(t, err)
	w.buffer(t, 1, 64)
	w.sets[1], w.sets[2] = descriptor.NewSet(l, 0), descriptor.NewSet(other, 0)
	w.pipelines[1] = &Pipeline{Program: empty(1)}
	w.pipelines[2] = &Pipeline{Program: empty(1), Base: true}
	w.pipelines[3] = &Pipeline{Program: empty(1), Sets: []*descriptor.Layout{nil, l}, Uses: []uint32{1}}
	w.secondary[1] = w.record(t, func(s *command.Stream) { must(t, s.Dispatch(1, 1, 1)) }).stream
	w.secondary[2] = w.record(t, func(s *command.Stream) { must(t, s.BindPipeline(compute1, 1)) }).stream
	for _, test := range []struct {
		name string
		add  func(s *command.Stream) error
		want string
	}{
		{"a dispatch", func(s *command.Stream) error { return errors.Join(s.BindPipeline(compute1, 1), s.Dispatch(1, 2, 3)) },
			""},
		{"no workgroups",
			func(s *command.Stream) error { return errors.Join(s.BindPipeline(compute1, 1), s.Dispatch(1, 0, 3)) }, ""},
		{"no pipeline", func(s *command.Stream) error { return s.Dispatch(1, 1, 1) }, "VUID-vkCmdDispatch-None-08606"},
		{"a pipeline that is gone", func(s *command.Stream) error { return s.BindPipeline(compute1, 9) },
			"VUID-vkCmdBindPipeline-pipeline-parameter"},
		{"a graphics pipeline", func(s *command.Stream) error { return s.BindPipeline(vk.PIPELINE_BIND_POINT_GRAPHICS, 1) },
			"VUID-vkCmdBindPipeline-pipelineBindPoint-parameter"},
		{"too many workgroups", func(s *command.Stream) error {
			return errors.Join(s.BindPipeline(compute1, 1), s.Dispatch(1, MaxGroupsYZ+1, 1))
		}, "VUID-vkCmdDispatch-groupCountY-00387"},
		{"a base", func(s *command.Stream) error {
			return errors.Join(s.BindPipeline(compute1, 2), s.DispatchBase(1, 2, MaxGroupsYZ-1, 1, 2, 1))
		}, ""},
		{"a base of no pipeline for that", func(s *command.Stream) error {
			return errors.Join(s.BindPipeline(compute1, 1), s.DispatchBase(1, 0, 0, 1, 1, 1))
		}, "VUID-vkCmdDispatchBase-baseGroupX-00427"},
		{"a base that is too high", func(s *command.Stream) error {
			return errors.Join(s.BindPipeline(compute1, 2), s.DispatchBase(0, 0, MaxGroupsYZ, 1, 1, 1))
		}, "VUID-vkCmdDispatchBase-baseGroupZ-00423"},
		{"too many workgroups from a base on", func(s *command.Stream) error {
			return errors.Join(s.BindPipeline(compute1, 2), s.DispatchBase(0, 2, 0, 1, MaxGroupsYZ-1, 1))
		}, "VUID-vkCmdDispatchBase-groupCountY-00425"},
		{"a set", func(s *command.Stream) error {
			return errors.Join(s.BindPipeline(compute1, 3),
				s.BindDescriptorSets(compute1, 0, 1, []vk.DescriptorSet{1}, []uint32{4}), s.Dispatch(1, 1, 1))
		}, ""},
		{"a set before its pipeline", func(s *command.Stream) error {
			return errors.Join(s.BindDescriptorSets(compute1, 0, 0, []vk.DescriptorSet{0, 1}, []uint32{4}),
				s.BindPipeline(compute1, 3), s.Dispatch(1, 1, 1))
		}, ""},
		{"no set", func(s *command.Stream) error {
			return errors.Join(s.BindPipeline(compute1, 3),
				s.BindDescriptorSets(compute1, 0, 0, []vk.DescriptorSet{1}, []uint32{4}), s.Dispatch(1, 1, 1))
		}, "VUID-vkCmdDispatch-None-08600"},
		{"a set of another layout", func(s *command.Stream) error {
			return errors.Join(s.BindPipeline(compute1, 3), s.BindDescriptorSets(compute1, 0, 1, []vk.DescriptorSet{2}, nil),
				s.Dispatch(1, 1, 1))
		}, "VUID-vkCmdDispatch-None-08600"},
		{"a set that is gone", func(s *command.Stream) error {
			return s.BindDescriptorSets(compute1, 0, 1, []vk.DescriptorSet{9}, nil)
		}, "VUID-vkCmdBindDescriptorSets-pDescriptorSets-parameter"},
		{"sets beyond the last", func(s *command.Stream) error {
			return s.BindDescriptorSets(compute1, 0, MaxSets-1, []vk.DescriptorSet{2, 2}, nil)
		}, "VUID-vkCmdBindDescriptorSets-firstSet-00360"},
		{"too few offsets", func(s *command.Stream) error {
			return s.BindDescriptorSets(compute1, 0, 0, []vk.DescriptorSet{2, 1}, nil)
		}, "VUID-vkCmdBindDescriptorSets-dynamicOffsetCount-00359"},
		{"too many offsets", func(s *command.Stream) error {
			return s.BindDescriptorSets(compute1, 0, 0, []vk.DescriptorSet{1, 2}, []uint32{0, 0})
		}, "VUID-vkCmdBindDescriptorSets-dynamicOffsetCount-00359"},
		{"push constants beyond the last", func(s *command.Stream) error {
			return s.PushConstants(0, 0, MaxPushConstants-4, make([]byte, 8))
		}, "VUID-vkCmdPushConstants-size-00371"},
		{"push constants at an odd offset",
			func(s *command.Stream) error { return s.PushConstants(0, 0, 2, make([]byte, 8)) },
			"VUID-vkCmdPushConstants-offset-00368"},
		{"odd push constants", func(s *command.Stream) error { return s.PushConstants(0, 0, 4, make([]byte, 6)) },
			"VUID-vkCmdPushConstants-size-00369"},
		{"a secondary that inherits", func(s *command.Stream) error {
			return errors.Join(s.BindPipeline(compute1, 1), s.ExecuteCommands([]vk.CommandBuffer{1}))
		}, "VUID-vkCmdDispatch-None-08606"},
		{"what a secondary leaves", func(s *command.Stream) error {
			return errors.Join(s.ExecuteCommands([]vk.CommandBuffer{2}), s.Dispatch(1, 1, 1))
		}, "VUID-vkCmdDispatch-None-08606"},
		{"an indirect dispatch", func(s *command.Stream) error {
			return errors.Join(s.BindPipeline(compute1, 1), s.FillBuffer(1, 0, 64, 2), s.DispatchIndirect(1, 52))
		}, ""},
		{"an indirect dispatch beyond the end", func(s *command.Stream) error {
			return errors.Join(s.BindPipeline(compute1, 1), s.DispatchIndirect(1, 56))
		}, "VUID-vkCmdDispatchIndirect-offset-00407"},
		{"an indirect dispatch at an odd offset", func(s *command.Stream) error {
			return errors.Join(s.BindPipeline(compute1, 1), s.DispatchIndirect(1, 2))
		}, "VUID-vkCmdDispatchIndirect-offset-02710"},
		{"an indirect dispatch of too many", func(s *command.Stream) error {
			return errors.Join(s.BindPipeline(compute1, 1), s.FillBuffer(1, 0, 64, 65536), s.DispatchIndirect(1, 0))
		}, "VUID-VkDispatchIndirectCommand-y-00418"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Helper()
			if got := w.failure(t, func(s *command.Stream) { must(t, test.add(s)) }); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

const compute1 = vk.PIPELINE_BIND_POINT_COMPUTE

// TestBindings looks at what a dispatch finds behind its descriptors.
func TestBindings(t *testing.T) {
	w := newWorld(t)
	l := layout(t)
	w.buffer(t, 1, 64)
	set := descriptor.NewSet(l, 0)
	w.sets[1] = set
	at := func(binding, element uint32) *descriptor.Descriptor {
		d, ok := set.At(binding, element)
		if !ok {
			t.Fatalf("no element %d of binding %d", element, binding)
		}
		return d
	}
	*at(0, 0) = descriptor.Descriptor{Buffer: 1, Offset: 16, Range: vk.WHOLE_SIZE}
	*at(0, 1) = descriptor.Descriptor{Buffer: 7, Range: vk.WHOLE_SIZE}
	*at(1, 0) = descriptor.Descriptor{Buffer: 1, Offset: 8, Range: 32}
	q := NewQueue(&w.Device)
	r := &q.replay
	bind := func(offset uint32) {
		must(t, r.bindDescriptorSets(&command.BindDescriptorSets{
			PipelineBindPoint: compute1, FirstSet: 3, DescriptorSets: []vk.DescriptorSet{1}, DynamicOffsets: []uint32{offset}}))
	}
	size := func(set, binding, element uint32) uint64 { return r.bound.Memory(set, binding, element).Size }
	bind(4)
	for _, test := range []struct {
		what string
		got  uint64
		want uint64
	}{
		{"the rest of a buffer", size(3, 0, 0), 48},
		{"a buffer that is gone", size(3, 0, 1), 0},
		{"a dynamic offset", size(3, 1, 0), 32},
		{"an inline uniform block", size(3, 2, 0), 16},
		{"an element that does not exist", size(3, 0, 2), 0},
		{"a binding that does not exist", size(3, 9, 0), 0},
		{"a set that is not bound", size(0, 0, 0), 0},
		{"a set beyond the last", size(MaxSets, 0, 0), 0},
	} {
		if test.got != test.want {
			t.Errorf("%s: %d, want %d", test.what, test.got, test.want)
		}
	}
	bind(40)
	if got := size(3, 1, 0); got != 16 {
		t.Errorf("a range beyond the end of its buffer has %d bytes, want 16", got)
	}
	bind(64)
	if got := size(3, 1, 0); got != 0 {
		t.Errorf("a dynamic offset beyond the end leaves %d bytes", got)
	}
	r.release()
	r.bound.release()
	if size(3, 0, 0) != 0 || len(r.held) != 0 {
		t.Error("something stays bound when the command buffer has ended")
	}
}

func TestPhysical(t *testing.T) {
	w := newWorld(t)
	p, err := memory.NewAnonymous(4096)
	must(t, err)
	b, err := p.Bytes()
	must(t, err)
	w.ranges = []Range{{Address: 0x10000, Bytes: b[:100], Payload: p}}
	q := NewQueue(&w.Device)
	r := &q.replay
	for address, want := range map[uint64]bool{0x10000: true, 0x10063: true, 0x10064: false, 0xffff: false, 0: false,
		1<<64 - 1: false} {
		m, start, ok := r.bound.Physical(address)
		if ok != want || ok && (m.Size != 100 || start != 0x10000) {
			t.Errorf("address %#x: %d bytes from %#x on, %v", address, m.Size, start, ok)
		}
	}
	p.Release()
	if _, _, ok := r.bound.Physical(0x10010); !ok {
		t.Error("memory that was freed under way is not there until the command buffer ends")
	}
	r.release()
	r.bound.release()
	if _, _, ok := r.bound.Physical(0x10010); ok {
		t.Error("memory that was freed is still there")
	}
}

func TestWatchdog(t *testing.T) {
	w := newWorld(t)
	w.Watchdog = 20 * time.Millisecond
	w.pipelines[1] = &Pipeline{Program: endless()}
	got := w.failure(t, func(s *command.Stream) {
		must(t, s.BindPipeline(compute1, 1))
		must(t, s.Dispatch(1, 1, 1))
	})
	for _, want := range []string{"command 1, vkCmdDispatch", "20ms (FARSIDE_WATCHDOG)", `entry point "main"`,
		"endless.comp:3"} {
		if !strings.Contains(got, want) {
			t.Errorf("%q does not say %q", got, want)
		}
	}
}

// TestDispatchStops ends an endless dispatch by the loss of the device, which is no error of the dispatch.
func TestDispatchStops(t *testing.T) {
	w := newWorld(t)
	w.pipelines[1] = &Pipeline{Program: endless()}
	q := w.queue(t)
	fence := syncobj.New(syncobj.Fence, 0)
	s := NewSubmission()
	s.Execute(w.record(t, func(s *command.Stream) {
		must(t, s.BindPipeline(compute1, 1))
		must(t, s.Dispatch(1, 1, 1))
	}))
	s.Signal(fence.Retain(), 1)
	q.Submit(s) // returns, since a loop may take long
	time.Sleep(5 * time.Millisecond)
	if fence.Value() != 0 {
		t.Fatal("an endless dispatch has ended")
	}
	must(t, w.Stop.Signal(1))
	if err := q.WaitIdle(); !errors.Is(err, syncobj.ErrStopped) {
		t.Errorf("WaitIdle: %v", err)
	}
	if len(w.losses) > 0 {
		t.Errorf("the device is lost by %v", w.losses)
	}
}

// TestTable holds the cache's table against a map.
func TestTable(t *testing.T) {
	var c table[vk.Buffer, int]
	for round := range 3 {
		for i := range 2000 {
			h := vk.Buffer(uint64(i*i%7919+1) | 9<<56)
			if got := c.get(h); got != nil {
				continue
			}
			if got := *c.add(h, i); got != i {
				t.Fatalf("added %d, got %d", i, got)
			}
		}
		n := 0
		for i := range vk.Buffer(7920) {
			if v := c.get(i | 9<<56); v != nil {
				n++
				if vk.Buffer(*v**v%7919+1) != i {
					t.Fatalf("round %d: handle %d has value %d", round, i, *v)
				}
			}
		}
		if n != c.used || c.get(0) != nil || c.get(9<<56) != nil {
			t.Fatalf("%d handles found of %d", n, c.used)
		}
		c.clear()
		if c.used != 0 || c.get(1|9<<56) != nil || len(c.slots) > mostSlots {
			t.Fatal("clear leaves something")
		}
	}
}

// BenchmarkEmptyDispatch is a submission of one dispatch of a program that does nothing, and the wait for it.
func BenchmarkEmptyDispatch(b *testing.B) {
	w := newWorld(b)
	w.pipelines[1] = &Pipeline{Program: empty(64)}
	c := w.record(b, func(s *command.Stream) {
		must(b, s.BindPipeline(compute1, 1))
		must(b, s.Dispatch(1, 1, 1))
	})
	q := w.queue(b)
	b.ReportAllocs()
	for b.Loop() {
		s := NewSubmission()
		s.Execute(c)
		q.Submit(s)
		must(b, q.WaitIdle())
	}
}

// TestDispatchCost says which dispatches the submitting thread may run.
func TestDispatchCost(t *testing.T) {
	w := newWorld(t)
	w.pipelines[1] = &Pipeline{Program: empty(64), Base: true}
	w.pipelines[2] = &Pipeline{Program: endless()}
	for _, test := range []struct {
		what string
		add  func(s *command.Stream) error
		want bool
	}{
		{"a workgroup",
			func(s *command.Stream) error { return errors.Join(s.BindPipeline(compute1, 1), s.Dispatch(1, 1, 1)) }, true},
		{"a workgroup from a base on", func(s *command.Stream) error {
			return errors.Join(s.BindPipeline(compute1, 1), s.DispatchBase(9, 9, 9, 1, 1, 1))
		}, true},
		{"no workgroup",
			func(s *command.Stream) error { return errors.Join(s.BindPipeline(compute1, 2), s.Dispatch(1, 0, 1)) }, true},
		{"no pipeline", func(s *command.Stream) error { return s.Dispatch(1, 1, 1) }, true},
		{"many workgroups", func(s *command.Stream) error {
			return errors.Join(s.BindPipeline(compute1, 1), s.Dispatch(60, 60, 60))
		}, false},
		{"more than can be counted", func(s *command.Stream) error {
			return errors.Join(s.BindPipeline(compute1, 1), s.Dispatch(1<<31, 1<<31, 4))
		}, false},
		{"a loop", func(s *command.Stream) error { return errors.Join(s.BindPipeline(compute1, 2), s.Dispatch(1, 1, 1)) },
			false},
		{"as many as a buffer says", func(s *command.Stream) error {
			return errors.Join(s.BindPipeline(compute1, 1), s.DispatchIndirect(1, 0))
		}, false},
	} {
		if got := immediate(w.record(t, func(s *command.Stream) { must(t, test.add(s)) }).stream, w); got != test.want {
			t.Errorf("%s: the submitting thread runs it: %v", test.what, got)
		}
	}
}
