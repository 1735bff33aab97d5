package remote

import (
	"farside/rdmasim/internal/exchange"
	"farside/rdmasim/internal/verbs"
)

// strictView is a peer's way to a strict region of another host. Calls that wait are as those of view, and the bridge
// tells the owner of them; posted work is announced through the bridge. It implements verbs.StrictView.
type strictView struct{ *view }

func wireOperation(o *verbs.Operation) exchange.Operation {
	return exchange.Operation{Flow: o.Flow, Number: o.Number, Length: o.Length, Opcode: uint8(o.Opcode), Fence: o.Fence}
}

// Announce implements verbs.StrictView.
func (v strictView) Announce(o *verbs.Operation) error {
	return v.do(o.Offset, o.Length, o.Opcode.Need(), func(at exchange.Place) (exchange.Outcome, error) {
		return v.host.Announce(at, wireOperation(o))
	})
}

// Perform implements verbs.StrictView.
func (v strictView) Perform(o *verbs.Operation, p []byte, operand, compare uint64) (old uint64, err error) {
	err = v.do(o.Offset, uint64(len(p)), o.Opcode.Need(), func(at exchange.Place) (out exchange.Outcome, err error) {
		switch o.Opcode {
		case verbs.OpRead:
			return v.host.ReadOf(at, wireOperation(o), p)
		case verbs.OpWrite:
			return v.host.WriteOf(at, wireOperation(o), p)
		}
		a := exchange.Atomic{Place: at, Opcode: uint8(o.Opcode), Width: uint8(o.Length), Operand: operand, Compare: compare}
		old, out, err = v.host.AtomicOf(a, wireOperation(o))
		return out, err
	})
	return old, err
}

// Known implements verbs.StrictView. A bridge that is gone has told the owner that all has ended.
func (v strictView) Known(flow, number uint64) {
	_, _ = v.host.Known(exchange.Place{Address: v.info.Address, Key: v.info.Key}, flow, number)
}

// Announce implements exchange.StrictHandler.
func (h handler) Announce(at exchange.Place, o *exchange.Operation) exchange.Outcome {
	return h.do(at, func(v verbs.View, off uint64) error {
		if s, ok := v.(verbs.StrictView); ok && o.Flow != 0 {
			return s.Announce(&verbs.Operation{Flow: o.Flow, Number: o.Number, Opcode: verbs.Opcode(o.Opcode), Offset: off,
				Length: o.Length, Fence: o.Fence})
		}
		return nil
	})
}

// Perform implements exchange.StrictHandler.
func (h handler) Perform(at exchange.Place, o *exchange.Operation, p []byte, operand, compare uint64) (old uint64,
	_ exchange.Outcome) {
	op := verbs.Opcode(o.Opcode)
	switch {
	case op == 0 || op > verbs.OpFetchXor || op > verbs.OpWrite && len(p) != 4 && len(p) != 8:
		return 0, outcomeOf(verbs.ErrBadWork)
	case op > verbs.OpWrite && at.Address&uint64(len(p)-1) != 0:
		return 0, outcomeOf(verbs.ErrMisaligned)
	}
	apply := func(p []byte) exchange.Outcome {
		return h.do(at, func(v verbs.View, off uint64) (err error) {
			s, ok := v.(verbs.StrictView)
			if !ok {
				return verbs.ErrStale // another region has the address
			}
			old, err = s.Perform(&verbs.Operation{Flow: o.Flow, Number: o.Number, Opcode: op, Offset: off,
				Length: uint64(len(p))}, p, operand, compare)
			return err
		})
	}
	var out exchange.Outcome
	switch {
	case h.faults == nil:
		out = apply(p)
	case op == verbs.OpRead:
		out = h.transferOnCommand("rdma.read", at, p, apply)
	case op == verbs.OpWrite:
		out = h.transferOnCommand("rdma.write", at, p, apply)
	default:
		out = h.transferOnCommand("rdma.atomic", at, nil, func([]byte) exchange.Outcome { return apply(p) })
	}
	return old, out
}

// Known implements exchange.StrictHandler. It may be told of a region that has ended: its owner's others tell him.
func (h handler) Known(at exchange.Place, flow, number uint64) {
	if r := h.table.Lookup(at.Address); r != nil {
		if s, ok := r.View.(verbs.StrictView); ok {
			s.Known(flow, number)
		}
	}
}
