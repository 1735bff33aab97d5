package exec

import (
	"encoding/binary"
	"errors"
	"testing"

	"farside/internal/command"
	"farside/internal/descriptor"
	"farside/internal/vk"
)

// bufferWrite writes a range of a buffer to an element of a binding of storage buffers.
func bufferWrite(binding, element uint32, buffer, offset, size uint64) descriptor.Write {
	var data []byte
	for _, word := range []uint64{buffer, offset, size} {
		data = binary.NativeEndian.AppendUint64(data, word)
	}
	return descriptor.Write{Binding: binding, Element: element, Count: 1, Type: vk.DESCRIPTOR_TYPE_STORAGE_BUFFER,
		Data: data, Stride: 24}
}

func pushLayout(t *testing.T, count uint32) *descriptor.Layout {
	t.Helper()
	l, err := descriptor.NewLayout(vk.DESCRIPTOR_SET_LAYOUT_CREATE_PUSH_DESCRIPTOR_BIT, []descriptor.Binding{
		{Type: vk.DESCRIPTOR_TYPE_STORAGE_BUFFER, Count: count},
		{Number: 1, Type: vk.DESCRIPTOR_TYPE_SAMPLER, Count: 1, Immutable: []vk.Sampler{5}},
	})
	must(t, err)
	return l
}

func TestPushDescriptors(t *testing.T) {
	w := newWorld(t)
	w.buffer(t, 1, 64)
	w.buffer(t, 2, 128)
	two, same, three := pushLayout(t, 2), pushLayout(t, 2), pushLayout(t, 3)
	w.sets[1] = descriptor.NewSet(layout(t), 0)
	q := NewQueue(&w.Device)
	r := &q.replay
	size := func(set, element uint32) uint64 { return r.bound.Memory(set, 0, element).Size }
	run := func(add func(s *command.Stream) error) {
		t.Helper()
		for record := range w.record(t, func(s *command.Stream) { must(t, add(s)) }).stream.Records() {
			must(t, r.command(record))
		}
	}
	check := func(what string, want ...uint64) {
		t.Helper()
		for i, n := range want {
			if got := size(4, uint32(i)); got != n {
				t.Errorf("%s: element %d has %d bytes, want %d", what, i, got, n)
			}
		}
	}
	push := func(s *command.Stream, l *descriptor.Layout, writes ...descriptor.Write) error {
		return s.PushDescriptorSet(compute1, l, 4, writes)
	}
	run(func(s *command.Stream) error { return push(s, two, bufferWrite(0, 0, 1, 16, vk.WHOLE_SIZE)) })
	check("one", 48, 0)
	if d, ok := r.bound.sets[4].At(1, 0); !ok || d.Sampler != 5 {
		t.Error("an immutable sampler is missing")
	}
	// What was pushed before stays, also when the layout is another of the same definition.
	run(func(s *command.Stream) error { return push(s, same, bufferWrite(0, 1, 2, 0, 32)) })
	check("another", 48, 32)
	run(func(s *command.Stream) error {
		return push(s, two, bufferWrite(0, 0, 2, 64, 8), bufferWrite(0, 0, 2, 0, 4), bufferWrite(0, 1, 9, 0, 4))
	})
	check("the last one counts", 4, 0)
	run(func(s *command.Stream) error { return push(s, three, bufferWrite(0, 2, 1, 0, 8)) })
	check("another layout", 0, 0, 8)
	// A set that is bound in between takes the place, and push descriptors write into one of their own again.
	run(func(s *command.Stream) error {
		return errors.Join(s.BindDescriptorSets(compute1, 0, 4, []vk.DescriptorSet{1}, []uint32{0}),
			push(s, three, bufferWrite(0, 0, 1, 0, 8)))
	})
	check("after a set", 8, 0, 0)
	if d, _ := w.sets[1].At(0, 0); d.Buffer != 0 {
		t.Error("a set was written to by push descriptors")
	}

	for vuid, add := range map[string]func(s *command.Stream) error{
		"VUID-vkCmdPushDescriptorSet-pipelineBindPoint-parameter": func(s *command.Stream) error {
			return s.PushDescriptorSet(vk.PIPELINE_BIND_POINT_GRAPHICS, two, 0, nil)
		},
		"VUID-vkCmdPushDescriptorSet-set-00364": func(s *command.Stream) error {
			return s.PushDescriptorSet(compute1, two, MaxSets, nil)
		},
		"VUID-VkWriteDescriptorSet-descriptorCount-00317": func(s *command.Stream) error {
			return push(s, two, bufferWrite(0, 1<<31, 1, 0, 4))
		},
	} {
		if got := w.failure(t, func(s *command.Stream) { must(t, add(s)) }); got != vuid {
			t.Errorf("%q, want %q", got, vuid)
		}
	}
	w.pipelines[1] = &Pipeline{Program: empty(1), Sets: []*descriptor.Layout{two}, Uses: []uint32{0}}
	use := func(l *descriptor.Layout) string {
		return w.failure(t, func(s *command.Stream) {
			must(t, errors.Join(s.PushDescriptorSet(compute1, l, 0, []descriptor.Write{bufferWrite(0, 0, 1, 0, 4)}),
				s.BindPipeline(compute1, 1), s.Dispatch(1, 1, 1)))
		})
	}
	if got := use(same); got != "" {
		t.Errorf("a pipeline with the layout: %s", got)
	}
	if got := use(three); got != "VUID-vkCmdDispatch-None-08600" {
		t.Errorf("a pipeline with another layout: %q", got)
	}
}
