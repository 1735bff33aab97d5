package spirv

import (
	"fmt"

	"farside/internal/vk"
)

// Error says what is wrong with a module, and where.
type Error struct {
	Offset  uint32 // in words from the start of the module, of the instruction's first one
	Op      Op     // of the instruction; nothing where Offset is in the header
	Message string
	VUID    vk.VUID // the rule of the Vulkan specification; none where it is one of SPIR-V's own
}

func (e *Error) Error() string {
	if e.Offset < headerWords {
		return fmt.Sprintf("word %d: %s", e.Offset, e.Message)
	}
	if e.VUID != vk.NoVUID {
		return fmt.Sprintf("word %d: %v: %s (%v)", e.Offset, e.Op, e.Message, e.VUID)
	}
	return fmt.Sprintf("word %d: %v: %s", e.Offset, e.Op, e.Message)
}

func errorAt(i *Instruction, format string, args ...any) *Error {
	return ruleAt(i, vk.NoVUID, format, args...)
}

// ruleAt is errorAt for a rule of the Vulkan specification.
func ruleAt(i *Instruction, vuid vk.VUID, format string, args ...any) *Error {
	return &Error{Offset: i.Offset, Op: i.Op, Message: fmt.Sprintf(format, args...), VUID: vuid}
}
