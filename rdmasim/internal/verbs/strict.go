package verbs

import "farside/internal/unlike"

// Operation is work on a strict region, of which its owner is told (FARSIDE_STRICT=rdma).
type Operation struct {
	Flow   uint64 // the queue pair, from NewFlow
	Number uint64 // in the flow, ascending from 1
	Opcode Opcode
	Offset uint64 // from the region's base, bytes
	Length uint64 // bytes
	Fence  bool   // reads and atomics of the flow before it are done when it begins
}

// StrictView is a View of a strict region. Read, Write and Atomic of a StrictView do all of the following by
// themselves, in a flow of their own. Errors are those of Read.
type StrictView interface {
	View
	// Announce tells the owner that the operation is under way from now on.
	Announce(o *Operation) error
	// Perform does what has been announced, with the local memory p.
	Perform(o *Operation, p []byte, operand, compare uint64) (old uint64, err error)
	// Known tells the owner that whoever uses the flow knows that all of it has ended, up to a number.
	Known(flow, number uint64)
}

// NewFlow returns a number that hardly another queue pair has, of any peer: a bridge is one peer to an owner. It is
// never 0.
func NewFlow() uint64 { return 1 + unlike.Uint64()>>32 }
