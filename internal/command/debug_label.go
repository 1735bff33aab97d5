package command

import "math"

// OpDebugLabel is a record that stands for the three commands of debug labels.
const OpDebugLabel Op = 1 << 16

// LabelKind says which of the debug label commands a DebugLabel is.
type LabelKind uint32

// The debug label commands.
const (
	LabelBegin  LabelKind = iota // vkCmdBeginDebugUtilsLabelEXT
	LabelEnd                     // vkCmdEndDebugUtilsLabelEXT, which has neither name nor color
	LabelInsert                  // vkCmdInsertDebugUtilsLabelEXT
)

// DebugLabel is a recorded debug label command.
type DebugLabel struct {
	Kind  LabelKind
	Color [4]float32
	Name  []byte // in the stream
}

// DebugLabel records a debug label command. It fails with ErrMemory.
func (s *Stream) DebugLabel(kind LabelKind, color [4]float32, name string) error {
	words := []uint64{uint64(kind), 0, 0, 0, 0, uint64(len(name))}
	for i, c := range color {
		words[1+i] = uint64(math.Float32bits(c))
	}
	return s.add(OpDebugLabel, words, []byte(name))
}

// DebugLabel reads a record of a debug label command into c, which is zero. It returns false when the record's length
// does not fit.
func (r *Record) DebugLabel(c *DebugLabel) (ok bool) {
	if r.Op != OpDebugLabel || len(r.words) < 6 {
		return false
	}
	c.Kind = LabelKind(r.words[0])
	for i := range c.Color {
		c.Color[i] = math.Float32frombits(uint32(r.words[1+i]))
	}
	rest := r.words[6:]
	if c.Name, rest, ok = array[byte](rest, r.words[5]); !ok {
		return false
	}
	return len(rest) == 0
}
