package engine

import (
	"slices"
	"time"

	"farside/internal/fault"
	"farside/internal/ibv"
	"farside/internal/late"
	"farside/verbs/internal/fabric"
	"farside/verbs/internal/packet"
)

// Faults on command, as docs/faults.md has them. Sends are counted when they begin, receives when they end, packets
// when they are sent.

// noCondition is for calls that have nothing that a condition asks for.
func noCondition(fault.Condition) bool { return false }

// begins says whether a send that is watched begins now, and does what its faults say before that. Under q.mu.
func (q *QP) begins(w *sendWQE) bool {
	x, now := w.watch, q.device.timers.now()
	if !x.asked {
		x.asked = true
		_, target := operationOf(w.wr.Opcode)
		if plan := q.device.options.Faults; plan != nil && target != "" {
			if i, ok := plan.At(target, noCondition); ok {
				plan.Tell(target, &i)
				x.effect = i.Effect
				if i.Delay > 0 {
					x.due = now + i.Delay
				}
			}
		}
		if q.device.options.Late && target != "" {
			x.due = max(x.due, now+late.Posted(q.sq.cursor == q.sq.done))
		}
	}
	if now < x.due {
		q.req.notBefore = x.due
		q.schedule(x.due)
		return false
	}
	q.started(w)
	switch e := &x.effect; {
	case e.Sever:
		if q.sq.cursor != q.sq.done {
			return false // what came before is to end well
		}
		q.severed = true
		if reliable(q.kind) {
			w.status = ibv.WC_RETRY_EXC_ERR
		}
	case e.Partial && e.Bytes > 0:
		w.length = min(w.length, e.Bytes)
		if w.wr.Opcode == ibv.WR_RDMA_WRITE_WITH_IMM {
			w.wr.Opcode = ibv.WR_RDMA_WRITE
		}
	case e.Partial || e.Status != 0:
		w.status = ibv.WCStatus(e.Outcome())
	}
	return true
}

// endWatched tells of a watched send that ends, and returns the status that it ends with on command. Under q.mu.
func (q *QP) endWatched(w *sendWQE, status ibv.WCStatus) ibv.WCStatus {
	q.started(w)
	if w.watch.sent != nil {
		if status == ibv.WC_SUCCESS {
			q.checkSent(w)
		}
		q.forgetSent(w)
	}
	if e := &w.watch.effect; status == ibv.WC_SUCCESS && e.Partial {
		status = ibv.WCStatus(e.Outcome())
	}
	q.tellSend(w, status)
	return status
}

// lateEntry is the completion of a receive that is told of late.
type lateEntry struct {
	entry     entry
	solicited bool
	due       time.Duration
	srq       *SRQ // of XRC
}

// receivedOnCommand is the end of a receive with faults in the plan. It says whether the completion comes later, and
// whether the queue pair fails by it. Under q.mu.
func (q *QP) receivedOnCommand(e *entry, solicited bool) (late, fails bool) {
	const target = "rdma.recv"
	due := time.Duration(0)
	if e.wc.Status == ibv.WC_SUCCESS {
		if i, ok := q.device.options.Faults.At(target, noCondition); ok {
			q.device.options.Faults.Tell(target, &i)
			if i.Delay > 0 {
				due = q.device.timers.now() + i.Delay
			}
			q.severed = q.severed || i.Sever
			e.wc.Status = ibv.WCStatus(i.Status)
			fails = i.Sever || i.Status != 0
		}
	}
	if n := len(q.late); n > 0 {
		due = max(due, q.late[n-1].due)
	}
	if due == 0 {
		return false, fails
	}
	q.late = append(q.late, lateEntry{*e, solicited, due, q.res.srq})
	q.schedule(due)
	return true, fails
}

// tellLate gives the completions whose time has come. Under q.mu.
func (q *QP) tellLate(now time.Duration) {
	for len(q.late) > 0 && q.state != ibv.QPS_RESET {
		x := q.late[0]
		if now < x.due {
			q.schedule(x.due)
			return
		}
		q.late = q.late[1:]
		q.completeReceive(x.srq, &x.entry, x.solicited)
	}
}

// failReceive ends the queue pair after a receive that failed on command. A reliable peer is told. Under q.mu.
func (q *QP) failReceive() {
	if reliable(q.kind) {
		q.answerNow(&answer{kind: answerAck, psn: (q.res.psn - 1) & packet.PSNMask,
			syndrome: packet.SyndromeNAK | packet.NAKRemoteOp})
	}
	q.toError()
}

// mostKept is how long a packet that is to come after the next one waits for that.
const mostKept = 10 * time.Millisecond

// keptPacket is one of these.
type keptPacket struct {
	path            fabric.Path
	header, payload []byte
}

// sendOnCommand sends a packet, or does what the faults of packets say. Errors are those of sendGuarded. A packet for
// which there was no room keeps its fate for the next one, so that packets are counted as they are sent. Under q.mu.
func (q *QP) sendOnCommand(p fabric.Path, header []byte, payload [][]byte) error {
	const target = "rdma.packet"
	if !q.fated {
		q.fate = fault.Unharmed
		if i, ok := q.device.options.Faults.At(target, noCondition); ok {
			q.device.options.Faults.Tell(target, &i)
			q.fate = i.Packet
		}
	}
	var err error
	switch q.fate {
	case fault.Drop:
	case fault.Reorder:
		return q.keep(p, header, payload)
	case fault.Duplicate:
		if err = sendGuarded(p, header, payload); err == nil {
			_ = sendGuarded(p, header, payload) // where there is no room for it, it is lost
		}
	default:
		err = sendGuarded(p, header, payload)
	}
	q.fated = err == fabric.ErrFull
	if !q.fated {
		q.sendKept()
	}
	return err
}

// keep keeps a packet until the next one has been sent. Under q.mu.
func (q *QP) keep(p fabric.Path, header []byte, payload [][]byte) error {
	q.sendKept()
	k := &keptPacket{path: p, header: slices.Clone(header)}
	for _, b := range payload {
		part := make([]byte, len(b))
		if !copyGuarded(part, b) {
			return errFault
		}
		k.payload = append(k.payload, part...)
	}
	q.kept = k
	time.AfterFunc(mostKept, func() {
		q.mu.Lock()
		defer q.mu.Unlock()
		if q.kept == k {
			q.sendKept()
		}
	})
	return nil
}

// sendKept sends the packet that waits. Where there is no room for it, it is lost. Under q.mu.
func (q *QP) sendKept() {
	if k := q.kept; k != nil {
		q.kept = nil
		_ = sendGuarded(k.path, k.header, [][]byte{k.payload})
	}
}
