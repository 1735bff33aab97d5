package command

import (
	"bytes"
	"slices"
	"testing"

	"farside/internal/descriptor"
	"farside/internal/vk"
)

func TestPushDescriptorSet(t *testing.T) {
	s := newRecorder(t)
	one, two := &descriptor.Layout{}, &descriptor.Layout{Flags: vk.DESCRIPTOR_SET_LAYOUT_CREATE_PUSH_DESCRIPTOR_BIT}
	data := make([]byte, 200)
	for i := range data {
		data[i] = byte(i)
	}
	writes := []descriptor.Write{
		{Binding: 1 << 31, Element: 7, Count: 2, Type: vk.DESCRIPTOR_TYPE_STORAGE_BUFFER, Data: data[8:], Stride: 100},
		{Binding: 2, Element: 1<<32 - 1, Count: 3, Type: vk.DESCRIPTOR_TYPE_UNIFORM_TEXEL_BUFFER, Data: data, Stride: 8},
		{Binding: 3, Type: vk.DESCRIPTOR_TYPE_SAMPLER},
	}
	for _, l := range []*descriptor.Layout{one, two, one} {
		if err := s.PushDescriptorSet(vk.PIPELINE_BIND_POINT_COMPUTE, l, 5, writes); err != nil {
			t.Fatal(err)
		}
	}
	list := s.records(t)
	if len(list) != 3 {
		t.Fatalf("%d records", len(list))
	}
	// Gathered: one structure behind the other.
	want := [][]byte{slices.Concat(data[8:32], data[108:132]), data[:24], nil}
	for i, l := range []*descriptor.Layout{one, two, one} {
		c := new(PushDescriptorSet)
		ok := list[i].PushDescriptorSet(c)
		if !ok || c.PipelineBindPoint != vk.PIPELINE_BIND_POINT_COMPUTE || c.Layout != l || c.Set != 5 {
			t.Errorf("record %d: %+v, %v", i, c, ok)
		}
		n := 0
		for w := range c.Writes() {
			from := &writes[n]
			if w.Binding != from.Binding || w.Element != from.Element || w.Count != from.Count || w.Type != from.Type ||
				!bytes.Equal(w.Data, want[n]) || !w.Complete() {
				t.Errorf("write %d is %+v, want %+v with %v", n, w, from, want[n])
			}
			n++
		}
		if n != len(writes) {
			t.Errorf("%d writes", n)
		}
	}
	whole := list[0].words
	fits := 0
	for n := range whole {
		if (&Record{Op: OpPushDescriptorSet, words: whole[:n], stream: s.Stream}).PushDescriptorSet(new(PushDescriptorSet)) {
			fits++
		}
	}
	if fits != 3 { // with none, one or two of the writes
		t.Errorf("%d shorter records are read", fits)
	}
	for place, value := range map[int]uint64{1: 2, 4: 1<<32 - 1 | 7<<32, 5: 0} {
		words := slices.Clone(whole)
		words[place] = value
		record := &Record{Op: OpPushDescriptorSet, words: words, stream: s.Stream}
		if c := new(PushDescriptorSet); record.PushDescriptorSet(c) && place != 5 {
			t.Errorf("with %#x as word %d it is read: %+v", value, place, c)
		}
	}

	s.Reset()
	s.begin(t)
	for _, w := range []descriptor.Write{
		{Count: 4, Type: vk.DESCRIPTOR_TYPE_INLINE_UNIFORM_BLOCK, Data: data},
		{Count: 1, Type: vk.DESCRIPTOR_TYPE_MUTABLE_EXT, Data: data},
		{Count: 9, Type: vk.DESCRIPTOR_TYPE_STORAGE_BUFFER, Data: data, Stride: 24},
		{Count: 1, Type: vk.DESCRIPTOR_TYPE_STORAGE_BUFFER},
	} {
		if err := s.PushDescriptorSet(1, one, 0, []descriptor.Write{w}); err == nil {
			t.Errorf("%+v is recorded", w)
		}
	}
	if list := s.records(t); len(list) != 0 {
		t.Errorf("%d records of writes that are refused", len(list))
	}
	if (&Record{Op: OpPushDescriptorSet, words: whole, stream: s.Stream}).PushDescriptorSet(new(PushDescriptorSet)) {
		t.Error("a layout outlives the records")
	}
}

func TestPushingDoesNotAllocate(t *testing.T) {
	s := newRecorder(t)
	l := &descriptor.Layout{}
	data := make([]byte, 48)
	if n := testing.AllocsPerRun(100, func() {
		var room [2]descriptor.Write
		list := append(room[:0], descriptor.Write{Count: 2, Type: vk.DESCRIPTOR_TYPE_STORAGE_BUFFER, Data: data, Stride: 24})
		if s.PushDescriptorSet(1, l, 0, list) != nil {
			t.Error("not recorded")
		}
	}); n != 0 {
		t.Errorf("%v allocations to record", n)
	}
	s.End()
	if n := testing.AllocsPerRun(100, func() {
		for r := range s.Records() {
			c := new(PushDescriptorSet)
			r.PushDescriptorSet(c)
			for w := range c.Writes() {
				if w.Count != 2 {
					t.Error("not read back")
				}
			}
		}
	}); n != 0 {
		t.Errorf("%v allocations to read", n)
	}
}
