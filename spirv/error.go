package spirv

import "fmt"

// Error says what is wrong with a module, and where.
type Error struct {
	Offset  uint32 // in words from the start of the module, of the instruction's first one
	Op      Op     // of the instruction; nothing where Offset is in the header
	Message string
}

func (e *Error) Error() string {
	if e.Offset < headerWords {
		return fmt.Sprintf("word %d: %s", e.Offset, e.Message)
	}
	return fmt.Sprintf("word %d: %v: %s", e.Offset, e.Op, e.Message)
}

func errorAt(i *Instruction, format string, args ...any) *Error {
	return &Error{i.Offset, i.Op, fmt.Sprintf(format, args...)}
}
