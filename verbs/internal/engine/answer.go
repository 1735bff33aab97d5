package engine

import (
	"time"

	"farside/internal/ibv"
	"farside/internal/late"
	"farside/verbs/internal/packet"
)

// answer is what a responder owes its peer: an acknowledgement, what an atomic found, or what a read asked for.
type answer struct {
	kind     answerKind
	psn      uint32 // of the next packet of it
	syndrome uint8
	original uint64

	// Of a read: what is left, and whether some has gone.
	pd      *PD
	address uint64
	rkey    uint32
	left    uint64
	begun   bool
	due     time.Duration // before which it isn't read, so that later writes may overtake it; 0 for at once
}

type answerKind uint8

const (
	answerAck answerKind = iota
	answerAtomic
	answerRead
)

// answers is a queue of them in a slice that doesn't grow while there is traffic.
type answers struct {
	slots    []answer
	first, n int
}

func (a *answers) reset() { a.first, a.n = 0, 0 }

func (a *answers) grow(n int) { a.slots, a.first, a.n = make([]answer, n), 0, 0 }

func (a *answers) at(i int) *answer { return &a.slots[(a.first+i)%len(a.slots)] }

// push adds an answer. An acknowledgement takes the place of one right before it, which it includes. It says false if
// there is no room: then the answer is lost, and the peer asks again.
func (a *answers) push(x *answer) bool {
	if a.n > 0 {
		if l := a.at(a.n - 1); l.kind == answerAck && x.kind == answerAck && l.syndrome == packet.NoCredits {
			*l = *x
			return true
		}
	}
	if a.n == len(a.slots) {
		return false
	}
	a.n++
	*a.at(a.n - 1) = *x
	return true
}

func (a *answers) pop() {
	a.first = (a.first + 1) % len(a.slots)
	a.n--
}

// answerNow answers at once, or when all before have been and the way has room. Under q.mu.
func (q *QP) answerNow(x *answer) {
	r := &q.res
	if r.answers.n == 0 && !q.blocked && x.kind != answerRead && q.sendAnswer(x) {
		return
	}
	if len(r.answers.slots) == 0 {
		return
	}
	if r.answers.push(x) && x.kind == answerRead {
		r.pending++
	}
	q.respond()
}

// respond sends what is owed, as far as the way has room. Under q.mu.
func (q *QP) respond() {
	r := &q.res
	if b := q.batch; b != nil && r.answers.n > 0 {
		b.Hold()
		defer b.Flush()
	}
	for r.answers.n > 0 && !q.blocked {
		a := r.answers.at(0)
		sent := false
		if a.due != 0 && a.due > q.device.timers.now() {
			q.schedule(a.due)
			return
		}
		if a.kind == answerRead {
			sent = q.sendRead(a)
		} else {
			sent = q.sendAnswer(a)
		}
		if !sent {
			continue // the way is full, or the answer is another one now
		}
		if a.kind == answerRead {
			r.pending--
		}
		r.answers.pop()
	}
}

// sendAnswer sends an acknowledgement, or what an atomic found, and says whether there was room. Under q.mu.
func (q *QP) sendAnswer(a *answer) bool {
	h := packet.Header{Opcode: packet.Acknowledge, PSN: a.psn, Syndrome: a.syndrome, MSN: q.res.msn}
	if a.kind == answerAtomic {
		h.Opcode, h.Original, h.Syndrome = packet.AtomicAcknowledge, a.original, packet.NoCredits
	}
	return q.send(&h, 0) == nil
}

// receiveReadRequest begins a read. Under q.mu.
func (q *QP) receiveReadRequest(h *packet.Header) {
	r := &q.res
	switch {
	case r.message != noMessage, r.pending >= r.depth, h.Length > maxMessage:
		q.refuse(h.PSN, packet.NAKInvalidRequest, ibv.WC_WR_FLUSH_ERR)
		return
	case !q.mayAccess(q.pd, h.RKey, h.Address, uint64(h.Length), ibv.ACCESS_REMOTE_READ):
		q.refuse(h.PSN, packet.NAKRemoteAccess, ibv.WC_WR_FLUSH_ERR)
		return
	}
	packets := max(1, uint32((uint64(h.Length)+uint64(q.mtu)-1)/uint64(q.mtu)))
	r.psn = (h.PSN + packets) & packet.PSNMask
	r.msn = (r.msn + 1) & packet.PSNMask
	due := time.Duration(0)
	if q.device.options.Late && late.Chance(2) == 0 {
		due = q.device.timers.now() + late.Between(late.Least, late.Most)
	}
	q.answerNow(&answer{kind: answerRead, psn: h.PSN, pd: q.pd, address: h.Address, rkey: h.RKey, left: uint64(h.Length),
		due: due})
}

// startRead does a read of a domain again. What is asked for may be a part of what was. Under q.mu.
func (q *QP) startRead(pd *PD, h *packet.Header) {
	r := &q.res
	if r.pending >= max(1, r.depth) || h.Length > maxMessage ||
		!q.mayAccess(pd, h.RKey, h.Address, uint64(h.Length), ibv.ACCESS_REMOTE_READ) {
		return
	}
	q.answerNow(&answer{kind: answerRead, psn: h.PSN, pd: pd, address: h.Address, rkey: h.RKey, left: uint64(h.Length)})
}

// sendRead sends the packets of a read, and says whether all are sent. Under q.mu.
func (q *QP) sendRead(a *answer) bool {
	for {
		n := min(uint64(q.mtu), a.left)
		h := packet.Header{PSN: a.psn, Syndrome: packet.NoCredits, MSN: q.res.msn}
		switch end := n == a.left; {
		case end && !a.begun:
			h.Opcode = packet.ReadResponseOnly
		case end:
			h.Opcode = packet.ReadResponseLast
		case !a.begun:
			h.Opcode = packet.ReadResponseFirst
		default:
			h.Opcode = packet.ReadResponseMiddle
		}
		err := q.sendPart(a, &h, n)
		if err == errFault {
			// The memory has gone since: the rest of this answer, and all behind it, is a refusal.
			*a = answer{kind: answerAck, psn: a.psn, syndrome: packet.SyndromeNAK | packet.NAKRemoteAccess}
			q.res.answers.n, q.res.pending = 1, 0
			q.refused(packet.NAKRemoteAccess, ibv.WC_WR_FLUSH_ERR)
		}
		if err != nil {
			return false
		}
		a.begun = true
		a.psn = (a.psn + 1) & packet.PSNMask
		a.address += n
		if a.left -= n; a.left == 0 {
			return true
		}
	}
}

// sendPart sends one packet of a read. Errors: as send. Under q.mu.
func (q *QP) sendPart(a *answer, h *packet.Header, n uint64) error {
	defer q.release()
	if n > 0 {
		b, ok := q.hold(q.device.keys.remote(q, a.pd, a.rkey, a.address, n, ibv.ACCESS_REMOTE_READ), a.address, n)
		if !ok {
			return errFault
		}
		q.pieces = append(q.pieces, b)
	}
	return q.send(h, n)
}
