package command

import (
	"fmt"
	"iter"
	"math"
	"slices"

	"farside/internal/descriptor"
	"farside/internal/vk"
)

// OpPushDescriptorSet is a record that stands for vkCmdPushDescriptorSet and its likes.
const OpPushDescriptorSet Op = 1<<16 + 1

// PushDescriptorSet is a recorded vkCmdPushDescriptorSet. What a template pushes is recorded as the writes that it
// makes.
type PushDescriptorSet struct {
	PipelineBindPoint vk.PipelineBindPoint
	Layout            *descriptor.Layout // of the set
	Set               uint32
	words             []uint64 // the writes: two words and what describes the descriptors
}

// PushDescriptorSet records writes to the set that push descriptors make. The stream keeps the layout, which the
// application may destroy after the recording. It fails with ErrMemory, and for a write without what describes its
// descriptors; inline uniform blocks cannot be pushed.
func (s *Stream) PushDescriptorSet(point vk.PipelineBindPoint, layout *descriptor.Layout, set uint32,
	writes []descriptor.Write) error {
	size := 1 + 3
	for i := range writes {
		w := &writes[i]
		if !pushable(w.Type) || !w.Complete() {
			return fmt.Errorf("%d of %v cannot be pushed", w.Count, w.Type)
		}
		if size += 2 + int(w.Count)*descriptor.InfoSize(w.Type)/8; size > math.MaxUint32 {
			return fmt.Errorf("%w: a command of %d bytes", ErrMemory, size*8)
		}
	}
	record, err := s.room(size)
	if err != nil {
		return err
	}
	record[0] = uint64(OpPushDescriptorSet) | uint64(size)<<32
	record[1], record[2], record[3] = uint64(uint32(point)), s.keep(layout), uint64(set)
	rest := record[4:]
	for i := range writes {
		w := &writes[i]
		rest[0], rest[1] = uint64(w.Binding)|uint64(w.Element)<<32, uint64(w.Count)|uint64(uint32(w.Type))<<32
		rest = rest[2:]
		n := descriptor.InfoSize(w.Type)
		for at := range uint64(w.Count) {
			rest = rest[store(rest, w.Data[at*w.Stride:][:n]):]
		}
	}
	s.took(record)
	return nil
}

// pushable says whether descriptors of the type are described by whole words, as those of all types are that can be
// pushed.
func pushable(t vk.DescriptorType) bool {
	return descriptor.InfoSize(t)%8 == 0 && descriptor.InfoSize(t) > 0
}

// keep holds a layout for as long as there are records, and returns its number.
func (s *Stream) keep(layout *descriptor.Layout) uint64 {
	i := slices.Index(s.layouts, layout)
	if i < 0 {
		i = len(s.layouts)
		s.layouts = append(s.layouts, layout)
	}
	return uint64(i)
}

// PushDescriptorSet reads a record of vkCmdPushDescriptorSet into c. It returns false when the record's content does
// not fit.
func (r *Record) PushDescriptorSet(c *PushDescriptorSet) (ok bool) {
	if r.Op != OpPushDescriptorSet || len(r.words) < 3 || r.words[1] >= uint64(len(r.stream.layouts)) {
		return false
	}
	*c = PushDescriptorSet{
		PipelineBindPoint: vk.PipelineBindPoint(r.words[0]), Layout: r.stream.layouts[r.words[1]], Set: uint32(r.words[2]),
		words: r.words[3:],
	}
	for rest := c.words; len(rest) > 0; {
		if _, rest, ok = nextWrite(rest); !ok {
			return false
		}
	}
	return true
}

// Writes are the writes in their order. Their data is in the stream.
func (c *PushDescriptorSet) Writes() iter.Seq[descriptor.Write] {
	return func(yield func(descriptor.Write) bool) {
		for rest := c.words; len(rest) > 0; {
			w, behind, ok := nextWrite(rest)
			if !ok || !yield(w) {
				return
			}
			rest = behind
		}
	}
}

// nextWrite takes one write from the begin of words.
func nextWrite(words []uint64) (w descriptor.Write, rest []uint64, ok bool) {
	if len(words) < 2 {
		return w, nil, false
	}
	w = descriptor.Write{
		Binding: uint32(words[0]), Element: uint32(words[0] >> 32), Count: uint32(words[1]),
		Type: vk.DescriptorType(words[1] >> 32),
	}
	size := uint64(descriptor.InfoSize(w.Type))
	if !pushable(w.Type) {
		return w, nil, false
	}
	w.Stride = size
	w.Data, rest, ok = array[byte](words[2:], uint64(w.Count)*size)
	return w, rest, ok
}
