// Package command holds recorded commands: a stream of flat records outside of Go's heap, which the stubs of
// internal/cabi append to without entering Go, and which a queue reads any number of times.
//
// A record is a header word, the op below and the record's length in words above; one word for each argument
// that is no pointer, in the order of the command's declaration, without the command buffer; and what the
// pointers point to, in order, each padded with zeros to whole words. Structures with a pNext chain (barriers)
// and their counts are left out. Debug labels and push descriptors have records of their own. What a record names
// is looked up when it is executed, not when it is recorded.
//
// Reading trusts nothing: an application may have written anywhere. Whatever the bytes, a record lies within
// its chunk and what it decodes to lies within the record.
package command

import (
	"errors"
	"fmt"
	"iter"
	"math"
	"sync/atomic"

	"farside/internal/descriptor"
)

// ErrMemory is what the encoders and Begin fail with when the system gives no memory.
var ErrMemory = errors.New("no memory for recorded commands")

// ErrDamaged is what Stream.Err returns when something that is no record stands in a stream.
var ErrDamaged = errors.New("the recorded commands are damaged")

// Window is the room that a stream which is being recorded has left, as addresses: the next record goes to
// Cursor and must end at Limit or before. Both are 0 while the stream takes no records. It lies in the command
// buffer's slot, where the recording stubs find it.
type Window struct{ Cursor, Limit uintptr }

// Stream is the sequence of commands that a command buffer holds. It is recorded by one goroutine at a time,
// from Begin to End, and may then be read by any number.
type Stream struct {
	pool    *Pool
	window  *Window
	open    bool                 // from Begin to End; the window is touched then only
	chunks  []chunk              // all but the last are full
	layouts []*descriptor.Layout // those of sets that are pushed
	damaged atomic.Bool
}

// chunk is memory outside of Go's heap, of which the first used words are records.
type chunk struct {
	words []uint64
	used  int
}

// NewStream makes an empty stream that takes its memory from pool and shows its room in window.
func NewStream(pool *Pool, window *Window) *Stream { return &Stream{pool: pool, window: window} }

// Begin starts the recording of an empty stream. It fails with ErrMemory.
func (s *Stream) Begin() error {
	c, err := s.pool.takeFirst()
	if err != nil {
		return err
	}
	s.push(c)
	s.open = true
	return nil
}

// push opens the window on one more chunk.
func (s *Stream) push(words []uint64) {
	s.chunks = append(s.chunks, chunk{words: words})
	*s.window = Window{address(words), address(words) + uintptr(len(words))*8}
}

// End closes the stream for records.
func (s *Stream) End() {
	s.settle()
	s.close()
}

// close shuts the window, which may belong to somebody else from then on.
func (s *Stream) close() {
	if s.open {
		*s.window = Window{}
		s.open = false
	}
}

// Reset drops the records and gives the memory back to the pool; the stream takes no records until Begin.
func (s *Stream) Reset() {
	s.close()
	for i := range s.chunks {
		s.pool.give(s.chunks[i].words)
	}
	clear(s.chunks)
	s.chunks = s.chunks[:0]
	clear(s.layouts)
	s.layouts = s.layouts[:0]
	s.damaged.Store(false)
}

// last returns the chunk that is being filled and how many of its words are records. It is nil when the window
// does not point into it, which only a stray write of the application can bring about.
func (s *Stream) last() (*chunk, int) {
	if len(s.chunks) == 0 {
		return nil, 0
	}
	c := &s.chunks[len(s.chunks)-1]
	n := (s.window.Cursor - address(c.words)) / 8
	if n > uintptr(len(c.words)) {
		return nil, 0
	}
	return c, int(n)
}

// settle notes how far the stubs have filled the last chunk.
func (s *Stream) settle() {
	if c, n := s.last(); c != nil {
		c.used = n
	} else if len(s.chunks) > 0 {
		s.damaged.Store(true)
	}
}

// add appends a record. The window moves last: if copying from the application's memory faults, no half
// record is left.
func (s *Stream) add(op Op, args []uint64, tails ...[]byte) error {
	size := 1 + len(args)
	for _, t := range tails {
		size += (len(t) + 7) / 8
	}
	if size > math.MaxUint32 {
		return fmt.Errorf("%w: a command of %d bytes", ErrMemory, size*8)
	}
	record, err := s.room(size)
	if err != nil {
		return err
	}
	record[0] = uint64(op) | uint64(size)<<32
	at := 1 + copy(record[1:], args)
	for _, t := range tails {
		at += store(record[at:], t)
	}
	s.took(record)
	return nil
}

// room returns the words behind the last record.
func (s *Stream) room(size int) ([]uint64, error) {
	c, n := s.last()
	if c == nil || size > len(c.words)-n {
		next, err := s.pool.takeNext(size)
		if err != nil {
			return nil, err
		}
		s.settle()
		s.push(next)
		c, n = s.last()
	}
	return c.words[n : n+size], nil
}

// took makes what room returned a record.
func (s *Stream) took(record []uint64) {
	s.window.Cursor = address(record) + uintptr(len(record))*8
}

// Records yields the commands of a stream that is not being recorded, in order. It stops at the first thing
// that is no record, which Err then reports. What is yielded is one record that changes with each step: copies of it
// would take half of the time of a short command.
func (s *Stream) Records() iter.Seq[*Record] {
	return func(yield func(*Record) bool) {
		record := Record{stream: s}
		for i := range s.chunks {
			words := s.chunks[i].words[:s.chunks[i].used]
			for len(words) > 0 {
				size := words[0] >> 32
				if size == 0 || size > uint64(len(words)) {
					s.damaged.Store(true)
					return
				}
				record.Op, record.words = Op(uint32(words[0])), words[1:size:size]
				if !yield(&record) {
					return
				}
				words = words[size:]
			}
		}
	}
}

// Err returns ErrDamaged when a walk through the stream ended before its end.
func (s *Stream) Err() error {
	if s.damaged.Load() {
		return ErrDamaged
	}
	return nil
}

// Record is one command in a stream. The methods named after the commands read it; what they return points
// into the stream.
type Record struct {
	Op     Op
	words  []uint64 // behind the header
	stream *Stream
}
