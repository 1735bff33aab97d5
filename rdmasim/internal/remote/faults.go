package remote

import (
	"path"
	"time"

	"farside/internal/fault"
	"farside/rdmasim/internal/exchange"
	"farside/rdmasim/internal/verbs"
)

// onCommand says what a call of a target gets, and takes its delay. Peers of a bridge that is to sever find nobody any
// more: it ends all of its connections.
func (b *Bridge) onCommand(target string, r *verbs.Region) (fault.Injection, bool) {
	i, ok := b.faults.At(target, func(c fault.Condition) bool {
		match, _ := path.Match(c.Text, regionName(r))
		return match
	})
	if ok {
		b.faults.Tell(target, &i)
		time.Sleep(i.Delay)
	}
	if i.Sever {
		_ = b.server.Sever() // and the bridge's user closes it: Close waits for the call that this is part of
	}
	return i, ok
}

func regionName(r *verbs.Region) string {
	if r == nil {
		return ""
	}
	return r.Info.Name
}

// transferOnCommand does of an operation what its faults leave.
func (h handler) transferOnCommand(target string, at exchange.Place, p []byte,
	do func([]byte) exchange.Outcome) exchange.Outcome {
	i, ok := h.onCommand(target, h.table.Lookup(at.Address))
	switch {
	case i.Sever:
		return outcomeOf(verbs.ErrClosed)
	case i.Partial:
		if o := do(p[:min(i.Bytes, uint64(len(p)))]); o != 0 {
			return o
		}
	case !ok || i.Status == 0:
		return do(p)
	}
	return onCommand + exchange.Outcome(i.Outcome())
}
