package local

import (
	"context"
	"errors"
	"time"

	"golang.org/x/sys/unix"

	"farside/internal/late"
	"farside/internal/memfd"
	"farside/rdmasim/internal/verbs"
)

const (
	// mostPiece is what a packet brings of a write, bytes.
	mostPiece = 1 << 20
	// askTimeout bounds what an operation waits for the owner.
	askTimeout = 5 * time.Second
	// mostAlone is what an operation that its caller waits for takes longer, at most.
	mostAlone = 200 * time.Microsecond
)

// strictView is the View of a strict region: its operations go through the owner, who looks at their order. It
// implements verbs.StrictView.
type strictView struct{ *View }

// Announce implements verbs.StrictView.
func (v strictView) Announce(o *verbs.Operation) error {
	if !v.Alive() {
		return verbs.ErrStale
	}
	if !v.info.Covers(o.Offset, o.Length, o.Opcode.Need()) {
		return v.info.Refusal(o.Offset, o.Length, o.Opcode.Need())
	}
	err := v.ask(v.request(kindAnnounce, o))
	if errors.Is(err, verbs.ErrFreed) || errors.Is(err, verbs.ErrUnknownAddress) {
		return verbs.ErrStale
	}
	return err
}

// Perform implements verbs.StrictView. A read or an atomic asks the owner for what others have written before, and is
// then as without strictness; a write gives the owner the bytes.
func (v strictView) Perform(o *verbs.Operation, p []byte, operand, compare uint64) (old uint64, err error) {
	if !v.enter(classRead) {
		return 0, v.Failure()
	}
	defer v.abandon(classRead) // what counts is below
	if o.Opcode == verbs.OpWrite {
		return 0, v.write(o, p)
	}
	if err := v.ask(v.request(kindPerform, o)); err != nil {
		return 0, err
	}
	if o.Opcode == verbs.OpRead {
		err = v.View.Read(o.Offset, p)
	} else {
		old, err = v.View.Atomic(o.Opcode, o.Offset, o.Length, operand, compare)
	}
	return old, v.because(err)
}

// Known implements verbs.StrictView. Where the owner is gone there is nobody to tell.
func (v strictView) Known(flow, number uint64) {
	_ = v.ask(v.request(kindKnown, &verbs.Operation{Flow: flow, Number: number}))
}

func (v strictView) write(o *verbs.Operation, p []byte) error {
	if err := v.begin(classWrite, o.Offset, o.Length, verbs.AccessWrite); err != nil {
		return v.because(err)
	}
	v.entry.written.Add(o.Length)
	v.leave(classWrite)
	for at := 0; ; {
		piece := p[at:min(at+mostPiece, len(p))]
		file, err := memfd.Create(memfd.Spec{Name: "farside-rdma-write", Size: uint64(max(len(piece), 1)),
			Mode: memfd.Private})
		if err != nil {
			return verbs.OSError("send a write", err)
		}
		if err = pwrite(file.Int(), piece); err == nil {
			q := v.request(kindPerform, o)
			q.address, q.length = q.address+uint64(at), uint64(len(piece))
			at += len(piece)
			err = v.ask(q, file.Int())
		}
		_ = file.Close()
		if err != nil || at == len(p) {
			return err
		}
	}
}

// pwrite fills a file from local memory, which may be missing.
func pwrite(fd int, p []byte) error {
	for at := 0; at < len(p); {
		n, err := unix.Pwrite(fd, p[at:], int64(at))
		switch {
		case errors.Is(err, unix.EFAULT):
			return verbs.ErrLocalFault
		case errors.Is(err, unix.EINTR):
		case err != nil:
			return verbs.OSError("send a write", err)
		}
		at += max(n, 0)
	}
	return nil
}

func (v strictView) request(kind uint16, o *verbs.Operation) request {
	return request{kind: kind, address: v.info.Address + o.Offset, key: v.info.Key, opcode: o.Opcode, flow: o.Flow,
		number: o.Number, length: o.Length, fence: o.Fence}
}

// ask sends a request to the owner, with descriptors, and waits for the answer.
func (v strictView) ask(q request, files ...int) error {
	ctx, cancel := context.WithTimeoutCause(context.Background(), askTimeout, verbs.ErrTimeout)
	defer cancel()
	s := v.session
	if s.ended() {
		return v.Failure()
	}
	reply, tag, err := s.send(ctx, q, files...)
	a, err := s.wait(ctx, reply, tag, err)
	switch {
	case err != nil && ctx.Err() != nil:
		return verbs.ErrTimeout
	case err != nil:
		return err
	}
	a.drop()
	return wireErrors[a.status]
}

// alone is an operation that its caller waits for.
func (v strictView) alone(op verbs.Opcode, off uint64, p []byte, operand, compare uint64) (uint64, error) {
	o := &verbs.Operation{Flow: verbs.NewFlow(), Number: 1, Opcode: op, Offset: off, Length: uint64(len(p))}
	if err := v.Announce(o); err != nil {
		return 0, err
	}
	time.Sleep(late.Between(0, mostAlone))
	defer v.Known(o.Flow, o.Number)
	return v.Perform(o, p, operand, compare)
}

// because replaces verbs.ErrStale, which says that the operation has touched nothing, since the owner knows of it.
func (v strictView) because(err error) error {
	if err == verbs.ErrStale {
		return v.Failure()
	}
	return err
}

// Read implements verbs.View.
func (v strictView) Read(off uint64, p []byte) error {
	_, err := v.alone(verbs.OpRead, off, p, 0, 0)
	return err
}

// Write implements verbs.View.
func (v strictView) Write(off uint64, p []byte) error {
	_, err := v.alone(verbs.OpWrite, off, p, 0, 0)
	return err
}

// Atomic implements verbs.View.
func (v strictView) Atomic(op verbs.Opcode, off, width, operand, compare uint64) (uint64, error) {
	return v.alone(op, off, make([]byte, width), operand, compare)
}
