package engine

import (
	"farside/internal/ibv"
	"farside/internal/journal"
	"farside/verbs/internal/packet"
)

// responder is the receiving side of a queue pair.
type responder struct {
	psn    uint32 // of the packet that is expected
	msn    uint32 // messages that are complete, 24 bits
	nakked bool   // the peer has been told that a packet is missing or that nothing was ready to receive

	message message
	srq     *SRQ    // of XRC: that of the request at hand
	have    bool    // wqe is taken
	wqe     recvWQE // that the message goes to
	off     uint64  // bytes of the message that have come
	address uint64  // of a write
	rkey    uint32
	length  uint64

	answers answers
	results []result // of the last atomics, for requests that come twice
	oldest  int      // of results, the next one to go
	pending int      // reads among answers
	depth   int      // max_dest_rd_atomic
}

// message is what the next packet continues.
type message uint8

const (
	noMessage message = iota
	sending
	writing
)

// result is what an atomic found.
type result struct {
	psn      uint32
	valid    bool
	original uint64
}

func (r *responder) reset(psn uint32) {
	r.psn, r.msn, r.nakked, r.message, r.have, r.pending = psn, 0, false, noMessage, false, 0
	r.srq = nil
	clear(r.results)
	r.answers.reset()
}

// setDepth is how many reads and atomics the peer may have under way.
func (r *responder) setDepth(n int) {
	r.depth, r.oldest = n, 0
	r.results = make([]result, n)
	r.answers.grow(2*n + 4)
}

// receiveRequest takes a request of a reliable peer. Under q.mu.
func (q *QP) receiveRequest(h *packet.Header, payload []byte) {
	r := &q.res
	switch ahead := (h.PSN - r.psn) & packet.PSNMask; {
	case ahead >= halfPSN:
		q.receiveAgain(h)
		return
	case ahead > 0:
		if !r.nakked {
			r.nakked = true
			q.tellPacket("a packet is missing", r.psn)
			q.answerNow(&answer{kind: answerAck, psn: r.psn, syndrome: packet.SyndromeNAK | packet.NAKSequence})
		}
		return
	}
	r.nakked = false
	if q.xrcd != nil && !q.aim(h) {
		q.refuse(h.PSN, packet.NAKInvalidRequest, ibv.WC_WR_FLUSH_ERR)
		return
	}
	switch o := h.Opcode.Operation(); o {
	case packet.ReadRequest:
		q.receiveReadRequest(h)
	case packet.CompareSwap, packet.FetchAdd:
		q.receiveAtomic(h)
	case packet.SendFirst, packet.SendMiddle, packet.SendLast, packet.SendLastImm, packet.SendOnly, packet.SendOnlyImm,
		packet.SendLastInv, packet.SendOnlyInv:
		q.receiveSend(h, payload)
	default:
		q.receiveWrite(h, payload)
	}
}

// receiveAgain answers a request that has been done already. Under q.mu.
func (q *QP) receiveAgain(h *packet.Header) {
	r := &q.res
	switch h.Opcode.Operation() {
	case packet.ReadRequest:
		// A read is done again, if it still may.
		if pd := q.domainOf(h); pd != nil {
			q.startRead(pd, h)
		}
	case packet.CompareSwap, packet.FetchAdd:
		for _, a := range r.results {
			if a.valid && a.psn == h.PSN {
				q.answerNow(&answer{kind: answerAtomic, psn: h.PSN, original: a.original})
				return
			}
		}
	default:
		q.answerNow(&answer{kind: answerAck, psn: (r.psn - 1) & packet.PSNMask, syndrome: packet.NoCredits})
	}
}

// refuse is an error of the peer's request: it gets a negative acknowledgement, and the queue pair ends. The receive
// that was under way ends with status. Under q.mu.
func (q *QP) refuse(psn uint32, nak uint8, status ibv.WCStatus) {
	q.answerNow(&answer{kind: answerAck, psn: psn, syndrome: packet.SyndromeNAK | nak})
	q.refused(nak, status)
}

// refused is what a refusal does to the queue pair. Under q.mu.
func (q *QP) refused(nak uint8, status ibv.WCStatus) {
	switch nak {
	case packet.NAKInvalidRequest:
		q.raise(ibv.EVENT_QP_REQ_ERR)
	case packet.NAKRemoteAccess:
		q.raise(ibv.EVENT_QP_ACCESS_ERR)
	}
	if q.res.have {
		q.endReceive(&entry{wc: WC{WC: ibv.WC{Status: status, Opcode: ibv.WC_RECV}}}, false)
	}
	q.toError()
}

// first and last say where in its message a packet is.
func first(o packet.Opcode) bool {
	switch o {
	case packet.SendFirst, packet.SendOnly, packet.SendOnlyImm, packet.SendOnlyInv, packet.WriteFirst, packet.WriteOnly,
		packet.WriteOnlyImm:
		return true
	}
	return false
}

func last(o packet.Opcode) bool {
	switch o {
	case packet.SendFirst, packet.SendMiddle, packet.WriteFirst, packet.WriteMiddle:
		return false
	}
	return true
}

// fits says whether a packet may come now in a message of a kind, with a payload of n bytes. Under q.mu.
func (q *QP) fits(o packet.Opcode, kind message, n int) bool {
	if first(o) != (q.res.message == noMessage) || !first(o) && q.res.message != kind {
		return false
	}
	if last(o) {
		return n <= int(q.mtu)
	}
	return n == int(q.mtu)
}

// takeReceive makes the next receive the message's, and says whether there is one. Under q.mu.
func (q *QP) takeReceive() bool {
	r := &q.res
	switch {
	case r.have:
	case q.xrcd != nil:
		r.have = r.srq.take(&r.wqe)
	case q.init.SRQ != nil:
		r.have = q.init.SRQ.take(&r.wqe)
	default:
		r.have = q.rq.take(&r.wqe)
		r.wqe.slots = q.rq.done
	}
	return r.have
}

// notReady tells the peer to try again later. Under q.mu.
func (q *QP) notReady() {
	q.res.nakked = true
	q.answerNow(&answer{kind: answerAck, psn: q.res.psn, syndrome: packet.SyndromeRNR | q.attr.MinRNRTimer})
}

// receiveSend takes a packet of a send. Under q.mu.
func (q *QP) receiveSend(h *packet.Header, payload []byte) {
	r, o := &q.res, h.Opcode.Operation()
	if !q.fits(o, sending, len(payload)) {
		q.refuse(h.PSN, packet.NAKInvalidRequest, ibv.WC_WR_FLUSH_ERR)
		return
	}
	if first(o) {
		if !q.takeReceive() {
			q.notReady()
			return
		}
		r.message, r.off = sending, 0
	}
	if r.off+uint64(len(payload)) > r.wqe.room() {
		q.refuse(h.PSN, packet.NAKInvalidRequest, ibv.WC_LOC_LEN_ERR)
		return
	}
	if !q.scatter(r.wqe.sges, r.off, payload) {
		q.refuse(h.PSN, packet.NAKRemoteOp, ibv.WC_LOC_PROT_ERR)
		return
	}
	r.off += uint64(len(payload))
	if o == packet.SendLastInv || o == packet.SendOnlyInv {
		if !q.device.invalidate(q, h.Invalidate) {
			q.refuse(h.PSN, packet.NAKRemoteAccess, ibv.WC_LOC_ACCESS_ERR)
			return
		}
	}
	q.accept(h, last(o))
	if last(o) {
		e := entry{wc: WC{WC: ibv.WC{Opcode: ibv.WC_RECV, ByteLen: uint32(r.off)}}}
		setImmediate(&e, h)
		q.endReceive(&e, h.Solicited)
	}
	q.acknowledgeRequest(h)
}

// setImmediate puts what the last packet carries into a completion.
func setImmediate(e *entry, h *packet.Header) {
	switch h.Opcode.Operation() {
	case packet.SendLastImm, packet.SendOnlyImm, packet.WriteLastImm, packet.WriteOnlyImm:
		e.wc.WCFlags |= ibv.WC_WITH_IMM
		e.wc.ImmData = toBig(h.Immediate)
	case packet.SendLastInv, packet.SendOnlyInv:
		e.wc.WCFlags |= ibv.WC_WITH_INV
		e.wc.ImmData = h.Invalidate
	}
}

// accept moves on to the next packet. Under q.mu.
func (q *QP) accept(h *packet.Header, ends bool) {
	r := &q.res
	r.psn = (h.PSN + 1) & packet.PSNMask
	if ends {
		r.msn = (r.msn + 1) & packet.PSNMask
		r.message = noMessage
	}
}

// acknowledgeRequest acknowledges a packet if the peer wants that. Under q.mu.
func (q *QP) acknowledgeRequest(h *packet.Header) {
	if h.AckRequest && q.state != ibv.QPS_ERR {
		q.answerNow(&answer{kind: answerAck, psn: h.PSN, syndrome: packet.NoCredits})
	}
}

// endReceive ends the receive that was taken. Under q.mu.
func (q *QP) endReceive(e *entry, solicited bool) {
	r := &q.res
	r.have = false
	e.wc.WRID, e.slots = r.wqe.id, r.wqe.slots
	late, fails := false, false
	if q.device.options.Faults != nil {
		late, fails = q.receivedOnCommand(e, solicited)
	}
	if journal.On() {
		q.tellReceive(e)
	}
	if !late {
		q.completeReceive(r.srq, e, solicited)
	}
	if fails {
		q.failReceive()
	}
}

// flushReceives ends all receives that have been posted, but a shared queue's. Under q.mu.
func (q *QP) flushReceives() {
	for q.res.have || q.init.SRQ == nil && q.xrcd == nil && q.takeReceive() {
		q.endReceive(&entry{wc: WC{WC: ibv.WC{Status: ibv.WC_WR_FLUSH_ERR, Opcode: ibv.WC_RECV}}}, false)
	}
}

// beginWrite takes the first packet of a write, and says whether the peer may write so. Under q.mu.
func (q *QP) beginWrite(h *packet.Header) bool {
	r := &q.res
	r.off, r.address, r.rkey, r.length = 0, h.Address, h.RKey, uint64(h.Length)
	return q.mayAccess(q.pd, h.RKey, h.Address, r.length, ibv.ACCESS_REMOTE_WRITE)
}

// mayAccess checks a range of a domain that a peer names. A range of no bytes needs no key. Under q.mu.
func (q *QP) mayAccess(pd *PD, key uint32, address, n uint64, need ibv.AccessFlags) bool {
	return q.attr.QPAccessFlags&need != 0 && (n == 0 || q.device.keys.remote(q, pd, key, address, n, need) != nil)
}

// place copies a part of a write, and says whether it could. Under q.mu.
func (q *QP) place(payload []byte) bool {
	r := &q.res
	n := uint64(len(payload))
	if n == 0 {
		return true
	}
	at := r.address + r.off
	return q.store(q.device.keys.remote(q, q.pd, r.rkey, at, n, ibv.ACCESS_REMOTE_WRITE), at, payload)
}

// receiveWrite takes a packet of a write. Under q.mu.
func (q *QP) receiveWrite(h *packet.Header, payload []byte) {
	r, o := &q.res, h.Opcode.Operation()
	if !q.fits(o, writing, len(payload)) {
		q.refuse(h.PSN, packet.NAKInvalidRequest, ibv.WC_WR_FLUSH_ERR)
		return
	}
	immediate := o == packet.WriteLastImm || o == packet.WriteOnlyImm
	if immediate && !q.takeReceive() {
		q.notReady()
		return
	}
	if first(o) && !q.beginWrite(h) {
		q.refuse(h.PSN, packet.NAKRemoteAccess, ibv.WC_WR_FLUSH_ERR)
		return
	}
	if end := r.off + uint64(len(payload)); end > r.length || last(o) && end != r.length {
		q.refuse(h.PSN, packet.NAKInvalidRequest, ibv.WC_WR_FLUSH_ERR)
		return
	}
	if !q.place(payload) {
		q.refuse(h.PSN, packet.NAKRemoteAccess, ibv.WC_WR_FLUSH_ERR)
		return
	}
	r.message = writing
	r.off += uint64(len(payload))
	q.accept(h, last(o))
	if immediate {
		e := entry{wc: WC{WC: ibv.WC{Opcode: ibv.WC_RECV_RDMA_WITH_IMM, ByteLen: uint32(r.length)}}}
		setImmediate(&e, h)
		q.endReceive(&e, h.Solicited)
	}
	q.acknowledgeRequest(h)
}

// receiveAtomic does an atomic, in one step with respect to every processor and to the shaders of this host. Under
// q.mu.
func (q *QP) receiveAtomic(h *packet.Header) {
	r := &q.res
	switch {
	case r.message != noMessage, h.Address&7 != 0, len(r.results) == 0:
		q.refuse(h.PSN, packet.NAKInvalidRequest, ibv.WC_WR_FLUSH_ERR)
		return
	case !q.mayAccess(q.pd, h.RKey, h.Address, 8, ibv.ACCESS_REMOTE_ATOMIC):
		q.refuse(h.PSN, packet.NAKRemoteAccess, ibv.WC_WR_FLUSH_ERR)
		return
	}
	original, ok := q.atomic(h)
	if !ok {
		q.refuse(h.PSN, packet.NAKRemoteAccess, ibv.WC_WR_FLUSH_ERR)
		return
	}
	r.results[r.oldest] = result{h.PSN, true, original}
	r.oldest = (r.oldest + 1) % len(r.results)
	q.accept(h, true)
	q.answerNow(&answer{kind: answerAtomic, psn: h.PSN, original: original})
}

func (q *QP) atomic(h *packet.Header) (original uint64, ok bool) {
	defer q.release()
	b, ok := q.hold(q.device.keys.remote(q, q.pd, h.RKey, h.Address, 8, ibv.ACCESS_REMOTE_ATOMIC), h.Address, 8)
	if !ok {
		return 0, false
	}
	original, err := apply(b, h)
	return original, err == nil
}

// apply does an atomic to the word at the start of b. A word that isn't aligned in this process, under an address that
// is, can't be done in one step.
func apply(b []byte, h *packet.Header) (original uint64, err error) {
	defer func() { accessFault(recover(), &err) }()
	w := word(b)
	switch {
	case w == nil:
		return 0, errFault
	case h.Opcode.Operation() == packet.FetchAdd:
		return w.Add(h.SwapAdd) - h.SwapAdd, nil
	}
	for {
		original = w.Load()
		if original != h.Compare || w.CompareAndSwap(original, h.SwapAdd) {
			return original, nil
		}
	}
}
