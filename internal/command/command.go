// Package command holds recorded commands: flat records in a stream that a queue replays any number of
// times. A record names the memory it works on by payload, so that what is replayed is what was bound when
// it was recorded.
package command

import (
	"bytes"
	"encoding/binary"
	"errors"

	"farside/memory"
)

// ErrPayload is what Replay's errors wrap when a payload cannot be reached any more.
var ErrPayload = errors.New("memory cannot be mapped")

// Range is a piece of a payload, in bytes.
type Range struct {
	Payload        *memory.Payload
	Offset, Length uint64
}

func (r Range) retain() Range {
	r.Payload.Retain()
	return r
}

func (r Range) bytes() ([]byte, error) {
	b, err := r.Payload.Bytes()
	if err != nil {
		return nil, errors.Join(ErrPayload, err)
	}
	return b[r.Offset : r.Offset+r.Length], nil
}

type kind uint8

const (
	fill kind = iota
	update
	copyRange
)

type record struct {
	kind     kind
	src, dst Range
	word     uint32
	data     []byte
}

// Stream is the sequence of commands that a command buffer holds. It holds a reference to every payload that
// it names, until Reset, so that replaying it after vkFreeMemory touches no memory that belongs to somebody
// else. The zero value is empty.
type Stream struct{ records []record }

// Reset empties the stream, drops its references and keeps its storage.
func (s *Stream) Reset() {
	for i := range s.records {
		r := &s.records[i]
		r.dst.Payload.Release()
		if r.kind == copyRange {
			r.src.Payload.Release()
		}
	}
	clear(s.records)
	s.records = s.records[:0]
}

// Len returns the number of commands.
func (s *Stream) Len() int { return len(s.records) }

// Fill records vkCmdFillBuffer: word over dst, whose length is a multiple of 4.
func (s *Stream) Fill(dst Range, word uint32) {
	s.records = append(s.records, record{kind: fill, dst: dst.retain(), word: word})
}

// Update records vkCmdUpdateBuffer: data, which is copied here, over dst of the same length.
func (s *Stream) Update(dst Range, data []byte) {
	s.records = append(s.records, record{kind: update, dst: dst.retain(), data: bytes.Clone(data)})
}

// Copy records one region of vkCmdCopyBuffer: src over dst of the same length.
func (s *Stream) Copy(dst, src Range) {
	s.records = append(s.records, record{kind: copyRange, dst: dst.retain(), src: src.retain()})
}

// Replay executes the commands in order.
func (s *Stream) Replay() error {
	for i := range s.records {
		r := &s.records[i]
		dst, err := r.dst.bytes()
		if err != nil {
			return err
		}
		switch r.kind {
		case fill:
			fillWords(dst, r.word)
		case update:
			copy(dst, r.data)
		case copyRange:
			src, err := r.src.bytes()
			if err != nil {
				return err
			}
			copy(dst, src)
		}
	}
	return nil
}

// fillWords doubles what is filled already, so that memmove does the work.
func fillWords(dst []byte, word uint32) {
	if len(dst) < 4 {
		return
	}
	binary.NativeEndian.PutUint32(dst, word)
	for n := 4; n < len(dst); n *= 2 {
		copy(dst[n:], dst[:n])
	}
}
