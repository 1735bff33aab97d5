package ofi

import (
	"context"
	"encoding/binary"
	"fmt"
)

// Word is an unsigned integer that atomics work on. In the target's memory it must be aligned, which isn't
// checked.
type Word interface{ uint32 | uint64 }

// Add adds to the word at an offset of a remote region and returns what was there before.
func Add[T Word](ctx context.Context, c *Conn, remote Remote, offset uint64, n T) (T, error) {
	return run(ctx, c, remote, offset, fiSum, n, 0)
}

// Swap puts a word at an offset of a remote region and returns what was there before.
func Swap[T Word](ctx context.Context, c *Conn, remote Remote, offset uint64, word T) (T, error) {
	return run(ctx, c, remote, offset, fiWrite, word, 0)
}

// CompareSwap puts a word at an offset of a remote region if another one is there, and returns what was
// there.
func CompareSwap[T Word](ctx context.Context, c *Conn, remote Remote, offset uint64, compare, word T) (T, error) {
	return run(ctx, c, remote, offset, fiCSwap, word, compare)
}

// And clears bits of the word at an offset of a remote region and returns what was there before.
func And[T Word](ctx context.Context, c *Conn, remote Remote, offset uint64, mask T) (T, error) {
	return run(ctx, c, remote, offset, fiAnd, mask, 0)
}

// Or sets bits of the word at an offset of a remote region and returns what was there before.
func Or[T Word](ctx context.Context, c *Conn, remote Remote, offset uint64, bits T) (T, error) {
	return run(ctx, c, remote, offset, fiOr, bits, 0)
}

// Xor flips bits of the word at an offset of a remote region and returns what was there before.
func Xor[T Word](ctx context.Context, c *Conn, remote Remote, offset uint64, bits T) (T, error) {
	return run(ctx, c, remote, offset, fiXor, bits, 0)
}

// run does an atomic. The library keeps no order between an atomic and what follows, so it is waited for.
func run[T Word](ctx context.Context, c *Conn, remote Remote, offset uint64, op int, operand, compare T) (T, error) {
	w := work{op: opFetch, remote: remote, offset: offset, atomic: op, size: binary.Size(operand)}
	if op == fiCSwap {
		w.op = opCompare
	}
	s, err := c.take(ctx, true)
	if err != nil {
		return 0, err
	}
	defer c.release(s)
	// In their first bytes, so that it is one for both sizes.
	_, _ = binary.Encode(s.operands.operand[:], binary.NativeEndian, operand)
	_, _ = binary.Encode(s.operands.compare[:], binary.NativeEndian, compare)
	posted := false
	if err = c.post(ctx, s, &w); err == nil {
		posted = true
		err = c.finish(ctx, s)
	}
	switch {
	case err == nil:
		var old T
		_, _ = binary.Decode(s.operands.result[:], binary.NativeEndian, &old)
		return old, nil
	case refused(err):
		return 0, fmt.Errorf("%w: %w", ErrRemoteAccess, err)
	case final(err):
		return 0, err
	case !posted:
		return 0, fmt.Errorf("%w: %w", ErrUnreachable, err)
	}
	// It may have taken effect, and can't be done again. Does the target live?
	return 0, c.again(ctx, func(*Conn) error { return ErrFlushed })
}
