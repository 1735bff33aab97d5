package rdmasim

import (
	"context"
	"fmt"
	"path"
	"time"

	"farside/internal/fault"
	"farside/rdmasim/internal/verbs"
)

// errSevered is what a peer gets whose connection was cut on command.
var errSevered = fmt.Errorf("%w: the connection was cut on command", ErrUnreachable)

// targetOf is the name that faults have for an operation.
func targetOf(op Opcode) string {
	switch op {
	case OpRead:
		return "rdma.read"
	case OpWrite:
		return "rdma.write"
	}
	return "rdma.atomic"
}

// transferOnCommand does of an operation what its faults leave: b is its local memory.
func (p *Peer) transferOnCommand(op Opcode, address uint64, b []byte, do func(uint64, []byte) error) error {
	if p.severed.Load() {
		return failed(op, address, errSevered)
	}
	i, ok := p.faults.At(targetOf(op), func(c fault.Condition) bool {
		r, err := p.find(context.Background(), address, 0)
		if err != nil {
			return false
		}
		match, _ := path.Match(c.Text, r.Info.Name)
		return match
	})
	if !ok {
		return do(address, b)
	}
	p.faults.Tell(targetOf(op), &i)
	time.Sleep(i.Delay)
	switch {
	case i.Sever:
		p.sever()
		return failed(op, address, errSevered)
	case i.Partial:
		if n := min(i.Bytes, uint64(len(b))); n > 0 {
			if err := do(address, b[:n]); err != nil {
				return err
			}
		}
	case i.Status == 0:
		return do(address, b)
	}
	return failed(op, address, verbs.OnCommand(Status(i.Outcome())))
}

// resolveOnCommand fails where a question for a region is to fail.
func (p *Peer) resolveOnCommand() error {
	if p.severed.Load() {
		return errSevered
	}
	const target = "rdma.resolve"
	i, ok := p.faults.At(target, func(fault.Condition) bool { return false }) // the region isn't known yet
	if !ok {
		return nil
	}
	p.faults.Tell(target, &i)
	time.Sleep(i.Delay)
	switch {
	case i.Sever:
		p.sever()
		return errSevered
	case i.Status != 0:
		return verbs.OnCommand(Status(i.Status))
	}
	return nil
}

// sever lets the peer reach nobody any more. What its regions hold is given back when the last operation has left them.
func (p *Peer) sever() {
	if p.severed.CompareAndSwap(false, true) {
		p.table.DropIf(errSevered, func(*verbs.Region) bool { return true })
	}
}
